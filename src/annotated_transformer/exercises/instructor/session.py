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
ALL_WALLS = ("namespaces", "mounts", "files", "limits")
GRACE = 2.0  # the worker stops a slow candidate itself; this much later we stop the worker
SEND_BUFFER = 8192  # bytes: one who does not read what he asked for is soon noticed
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
        ours.setblocking(False)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        self._socket, self.channel = ours, Channel(ours.fileno())
        self.started = False
        self.candidate_end: CandidateEndedError | None = None
        self.process = subprocess.Popen(
            [sys.executable, "-I", str(WORKER), str(theirs.fileno()), self.scratch],
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
            "seconds": limits.seconds,
            "limits": asdict(replace(limits, seconds=seconds)),
        }
        with contextlib.suppress(ClosedError, TooLateError):
            self.channel.send(wire.READY, json.dumps(job).encode(), self.deadline)

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
        while not self.end:
            try:
                event = self._next_event()
            except TooLateError:
                self.end = "time"
            except Exception:  # the stream has ended, or holds what no worker of ours sends
                self.end = "crashed"
            else:
                if event is not None:
                    yield event
        self.stop()

    def _next_event(self) -> Event | None:
        """The next frame as an event; None for one that is none."""
        kind, data = self.channel.receive(self.deadline)
        if kind == wire.READY and not self.started:
            self.started = True
            self.walls = [str(wall) for wall in unpack(data) if wall in ALL_WALLS]
            self.deadline = time.monotonic() + self.seconds
        elif kind == wire.READY:
            raise ValueError("damaged value: a second beginning")
        elif kind == wire.CHECK:
            exercise_id, seed = unpack(data)
            return Checked(str(exercise_id), int(seed))
        elif kind == wire.CELL_FAILED:
            number, skipped, failure = unpack(data)
            error = f"{failure['class_name']}: {failure['message']}"
            return CellFailed(int(number), bool(skipped), error[:300])
        elif kind == wire.DONE:
            self.end = "finished"
        return None

    def grade(self, exercise: Exercise) -> Report:
        """The report on the candidate that is being checked. Call it once after each `Checked`."""
        run, self.candidate_end = Run(), None
        try:
            told = self._ask(wire.LOOK, pack(exercise.starter))
            is_open, is_callable, class_name = told
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
        except (ValueError, TypeError):
            run.end = "damaged"
        finally:
            self.decline()
        with pristine():
            return judge(exercise, run, self.limits)

    def decline(self) -> None:
        """Let the notebook go on: nothing more is asked of the candidate."""
        with contextlib.suppress(ClosedError, TooLateError):
            self.channel.send(wire.FINISH, deadline=min(self.deadline, time.monotonic() + GRACE))

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

        result = run_once(lambda *args, **kwargs: observe(candidate, *args, **kwargs), make, False)
        if self.candidate_end is not None:  # which `run_once` has taken for the candidate's own
            raise self.candidate_end
        return result

    def _call(self, dtype: str, given: Any, gradient: bool) -> dict[str, Any]:
        functions: list[Callable[..., Any]] = []
        data = wire.pack_arguments([dtype, gradient, given], functions)
        reply = self._ask(wire.RUN, data, functions)
        if not isinstance(reply, dict):
            raise ValueError("damaged value: no result")
        return reply

    def _ask(self, kind: int, data: bytes, functions: Sequence[Callable[..., Any]] = ()) -> Any:
        """Send a request and serve what the candidate asks meanwhile, until its answer comes.

        Raises CandidateEndedError, now and whenever this candidate is asked again.
        """
        if self.candidate_end is None:
            try:
                return self._served_reply(kind, data, functions)
            except TooLateError:
                self.stop()
                self.candidate_end = CandidateEndedError("time")
            except ClosedError:
                self.candidate_end = CandidateEndedError("crashed")
            except ValueError:  # frames of its own making; what else stands in the stream is open
                self.stop()
                self.candidate_end = CandidateEndedError("damaged")
            except CandidateEndedError as ended:
                self.candidate_end = ended
        raise self.candidate_end

    def _served_reply(self, kind: int, data: bytes, functions: Sequence[Callable[..., Any]]) -> Any:
        graphs: dict[int, tuple[list[Tensor], list[Tensor]]] = {}
        deadline = min(self.deadline, time.monotonic() + self.limits.seconds + GRACE)
        self.channel.send(kind, data, deadline)
        for _ in range(MAX_CALLS):
            kind, answer = self.channel.receive(deadline)
            if kind == wire.REPLY:
                return unpack(answer)
            if kind == wire.CALL:
                self.channel.send(wire.REPLY, _served(answer, functions, graphs), deadline)
            elif kind == wire.BACKWARD:
                self.channel.send(wire.REPLY, _gradients(answer, graphs), deadline)
            elif kind == wire.CHECKED:
                raise CandidateEndedError(_end(unpack(answer)))
            else:
                break
        raise ValueError("damaged value: an unexpected frame, or too many calls")

    def _drain(self) -> None:
        """Read what the notebook prints and forget it, so that it never has to wait for us."""
        assert self.process.stdout is not None
        with contextlib.suppress(OSError, ValueError), self.process.stdout as stream:
            while os.read(stream.fileno(), 65536):
                pass


def _end(told: Any) -> str:
    """Why the candidate's process ended, from the CHECKED frame, which may be forged."""
    if not isinstance(told, list) or len(told) != 2 or not isinstance(told[1], int):
        return "damaged"
    return "time" if told[0] == "time" else end_of(told[1])


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
        if _numbers((args, kwargs)) > MAX_CALL_NUMBERS:
            raise ValueError(f"a given function was called on over {MAX_CALL_NUMBERS} numbers")
        for leaf, wanted in zip(leaves, differentiated, strict=False):
            leaf.requires_grad_(wanted is True)
        value = functions[number](*args, **kwargs)
        if any(differentiated):
            graphs[call] = (floating_tensors(value), leaves)
        return pack({"value": value})
    except Exception as error:
        return pack({"failure": describe_failure(error)})


def _numbers(tree: Any) -> int:
    """How many numbers the tensors within lists, tuples and dictionaries hold."""
    if isinstance(tree, Tensor):
        return tree.numel()
    if isinstance(tree, dict):
        tree = list(tree.values())
    return sum(map(_numbers, tree)) if isinstance(tree, (list, tuple)) else 0


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
