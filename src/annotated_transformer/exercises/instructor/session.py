"""The marker's side of one notebook's process: start it, answer it, ask its candidates, end it.

Nothing that arrives is trusted: frames have a bound, values are plain data, functions that stayed
here are called on small arguments only and a limited number of times, and the clock is ours.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Exercise, Report
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.failures import describe_failure
from annotated_transformer.exercises.grader.grading import judge, not_attempted, not_callable
from annotated_transformer.exercises.grader.outcomes import (
    cases_of,
    in_a_dtype_it_takes,
    make_call,
)
from annotated_transformer.exercises.grader.pristine import pristine
from annotated_transformer.exercises.grader.running import floating_tensors, run_once
from annotated_transformer.exercises.grader.sandbox import Run, end_of
from annotated_transformer.exercises.grader.values import (
    Array,
    Foreign,
    Packer,
    pack,
    to_tensors,
    unpack,
)
from annotated_transformer.exercises.instructor import wire
from annotated_transformer.exercises.instructor.wire import Channel, ClosedError, TooLateError

WORKER = Path(__file__).with_name("worker.py")
STARTING_SECONDS = 60.0
GRACE = 2.0  # the worker stops a slow candidate itself; this much later we stop the worker
MAX_CALLS = 20_000  # of functions that stayed here, by one candidate
MAX_CALL_NUMBERS = 5_000  # in the arguments of one such call


@dataclass(frozen=True)
class Checked:
    """A cell has called `check`. The candidate waits to be asked."""

    exercise_id: str
    seed: int


@dataclass(frozen=True)
class CellFailed:
    """A cell raised. skipped: it used something that is not there while a notebook is graded."""

    number: int
    skipped: bool
    error: str


Event = Checked | CellFailed


class CandidateEndedError(Exception):
    """The candidate's process ended before it had answered; `end` as in `Run`."""

    def __init__(self, end: str) -> None:
        super().__init__(end)
        self.end = end


class Session:
    """One notebook in a process of its own. Use it as a context; iterate over `events()`."""

    def __init__(self, cells: Sequence[tuple[int, str]], limits: Limits, seconds: float) -> None:
        """limits: of one check. seconds: of the whole notebook."""
        self.limits = limits
        self.deadline = time.monotonic() + seconds + STARTING_SECONDS
        self.seconds = seconds
        self.walls: list[str] = []
        self.end = ""  # "finished", "time", "crashed" once it has ended
        self.scratch = tempfile.mkdtemp(prefix="annotated-transformer-")
        ours, theirs = socket.socketpair()
        self._socket, self.channel = ours, Channel(ours.fileno())
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(WORKER), str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            start_new_session=True,
            cwd=self.scratch,
            env=_environment(self.scratch),
        )
        theirs.close()
        threading.Thread(target=self._drain, daemon=True).start()
        job = {
            "cells": list(cells),
            "scratch": self.scratch,
            "seconds": limits.seconds,
            "limits": asdict(replace(limits, seconds=seconds)),
        }
        with contextlib.suppress(ClosedError):
            self.channel.send(wire.READY, json.dumps(job).encode())

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()
        self._socket.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def stop(self) -> None:
        """End the process and all that it has started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()

    def events(self) -> Iterator[Event]:
        """What happens in the notebook, in order; ends with it, and says in `end` how."""
        try:
            while not self.end:
                kind, data = self._receive(self.deadline)
                if kind == wire.READY:
                    self.walls = [str(wall) for wall in unpack(data)]
                    self.deadline = time.monotonic() + self.seconds
                elif kind == wire.CHECK:
                    exercise_id, seed = unpack(data)
                    yield Checked(str(exercise_id), int(seed))
                elif kind == wire.CELL_FAILED:
                    number, skipped, failure = unpack(data)
                    text = f"{failure['class_name']}: {failure['message']}"
                    yield CellFailed(int(number), bool(skipped), text[:300])
                elif kind == wire.DONE:
                    self.end = "finished"
        except (ClosedError, TooLateError, ValueError, TypeError, KeyError) as problem:
            self.end = "time" if isinstance(problem, TooLateError) else "crashed"
        self.stop()

    def grade(self, exercise: Exercise) -> Report:
        """The report on the candidate that is being checked. Call it once after each `Checked`."""
        run = Run()
        try:
            is_open, is_callable, class_name = self._ask(wire.LOOK, pack(exercise.starter))
            if is_open is True:
                return not_attempted(exercise)
            if is_callable is not True:
                return not_callable(exercise, str(class_name))
            with pristine():
                for index in range(len(cases_of(exercise))):
                    run.current = index
                    run.outcomes[index] = self._run_case(exercise, index)
            run.end = "finished"
        except CandidateEndedError as ended:
            run.end = ended.end
        except (ValueError, TypeError, KeyError):
            run.end = "damaged"
        finally:
            with contextlib.suppress(ClosedError):
                self.channel.send(wire.FINISH)
        with pristine():
            return judge(exercise, run, self.limits)

    def decline(self) -> None:
        """Let the notebook go on without asking its candidate: there is no such exercise."""
        with contextlib.suppress(ClosedError):
            self.channel.send(wire.FINISH)

    def _run_case(self, exercise: Exercise, index: int) -> bytes:
        """Call the candidate on one case; where the case observes it, the observer runs here."""
        case = cases_of(exercise)[index]

        def run(dtype: torch.dtype) -> dict[str, Any]:
            name = str(case.dtype or dtype).removeprefix("torch.")
            if case.observe is None:
                arguments = make_call(exercise, index, dtype)
                given = [list(arguments.args), dict(arguments.kwargs)]
                reply = self._call(name, given, case.gradient != "ignored")
                return {**reply, "dtype": name}
            return {"dtype": name, **self._observed(exercise, index, dtype)}

        return _PlainPacker().to_bytes(in_a_dtype_it_takes(case, run))

    def _observed(self, exercise: Exercise, index: int, dtype: torch.dtype) -> dict[str, Any]:
        observe = cases_of(exercise)[index].observe
        assert observe is not None

        def candidate(*args: Any, **kwargs: Any) -> Any:
            reply = self._call(str(dtype).removeprefix("torch."), [list(args), kwargs], False)
            if reply.get("failure"):
                raise _as_exception(reply["failure"])
            return _as_returned(reply.get("value"))

        def make() -> Any:
            arguments = make_call(exercise, index, dtype)
            return arguments.args, dict(arguments.kwargs)

        return run_once(lambda *args, **kwargs: observe(candidate, *args, **kwargs), make, False)

    def _call(self, dtype: str, given: Any, gradient: bool) -> dict[str, Any]:
        functions: list[Callable[..., Any]] = []
        data = wire.pack_arguments([dtype, gradient, given], functions)
        reply = self._ask(wire.RUN, data, functions)
        if not isinstance(reply, dict):
            raise ValueError("damaged value: no result")
        return reply

    def _ask(self, kind: int, data: bytes, functions: Sequence[Callable[..., Any]] = ()) -> Any:
        """Send a request and serve what the candidate asks meanwhile, until its answer comes."""
        graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        deadline = min(self.deadline, time.monotonic() + self.limits.seconds + GRACE)
        try:
            self.channel.send(kind, data)
            for _ in range(MAX_CALLS):
                kind, answer = self._receive(deadline)
                if kind == wire.REPLY:
                    return unpack(answer)
                if kind == wire.CALL:
                    self.channel.send(wire.REPLY, _served(answer, functions, graphs))
                elif kind == wire.BACKWARD:
                    self.channel.send(wire.REPLY, _gradients(answer, graphs))
                elif kind == wire.CHECKED:
                    end, status = unpack(answer)
                    raise CandidateEndedError("time" if end == "time" else end_of(int(status)))
                else:
                    raise ValueError("damaged value: an unexpected frame")
        except ClosedError:
            raise CandidateEndedError("crashed") from None
        except TooLateError:
            self.stop()
            raise CandidateEndedError("time") from None
        raise ValueError("damaged value: too many calls")

    def _receive(self, deadline: float) -> tuple[int, bytes]:
        return self.channel.receive(deadline)

    def _drain(self) -> None:
        """Read what the notebook prints and forget it, so that it never has to wait for us."""
        assert self.process.stdout is not None
        with contextlib.suppress(OSError, ValueError), self.process.stdout as stream:
            while os.read(stream.fileno(), 65536):
                pass


def _environment(scratch: str) -> dict[str, str]:
    """Nothing of ours: no keys, no paths but those that Python needs to start."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SYSTEMROOT") if name in os.environ}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**kept, **threads, "HOME": scratch, "TMPDIR": scratch}


def _served(
    data: bytes,
    functions: Sequence[Callable[..., Any]],
    graphs: dict[int, tuple[list[Tensor], list[Tensor]]],
) -> bytes:
    """The value of a function that stayed here, on the arguments that the candidate gave it."""
    try:
        number, call, args, kwargs, differentiated = to_tensors(unpack(data))
        leaves = floating_tensors((args, kwargs))
        if sum(leaf.numel() for leaf in leaves) > MAX_CALL_NUMBERS:
            raise ValueError(f"a given function was called on over {MAX_CALL_NUMBERS} numbers")
        for leaf, wanted in zip(leaves, differentiated, strict=False):
            leaf.requires_grad_(wanted is True)
        value = functions[number](*args, **kwargs)
        if any(differentiated):
            graphs[call] = (floating_tensors(value), leaves)
        return pack({"value": value})
    except Exception as error:
        return pack({"failure": describe_failure(error)})


def _gradients(data: bytes, graphs: dict[int, tuple[list[Tensor], list[Tensor]]]) -> bytes:
    """The gradients of an earlier call with respect to its floating arguments."""
    try:
        call, gradients = to_tensors(unpack(data))
        outputs, leaves = graphs[call]
        pairs = [(o, g) for o, g in zip(outputs, gradients, strict=True) if o.requires_grad]
        wanted = [leaf for leaf in leaves if leaf.requires_grad]
        found = iter(
            torch.autograd.grad(
                [o for o, _ in pairs],
                wanted,
                [g for _, g in pairs],
                retain_graph=True,
                allow_unused=True,
            )
        )
        return pack({"value": [next(found) if leaf.requires_grad else None for leaf in leaves]})
    except Exception as error:
        return pack({"failure": describe_failure(error)})


class _PlainPacker(Packer):
    """Packs also what was unpacked before, as it came."""

    def pack(self, value: Any, depth: int = 0) -> dict[str, Any]:
        if isinstance(value, Array):
            return self.pack_array(value.array, value.dtype, value.shape, value.form)
        if isinstance(value, Foreign):
            return {"t": "foreign", "v": value.class_name}
        return super().pack(value, depth)


def _as_returned(value: Any) -> Any:
    """Plain data as an observer sees what the candidate returned."""
    if isinstance(value, Array) and value.form != "tensor":
        return value.array
    return to_tensors(value)


def _as_exception(failure: dict[str, Any]) -> Exception:
    """An exception with the class name and the message of the candidate's own."""
    found: type[Exception] = type(str(failure.get("class_name")), (Exception,), {})
    return found(str(failure.get("message")))
