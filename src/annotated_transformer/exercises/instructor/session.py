"""The marker's side of one notebook's process: start it, answer it, ask its candidates, end it.

Nothing that arrives is trusted: frames have a bound, values are plain data, functions that stayed
here are called on small arguments only and a limited number of times, and the clock is ours.
"""

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import torch

from annotated_transformer.exercises.exercise import Exercise, Report
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.grading import judge, not_attempted, not_callable
from annotated_transformer.exercises.grader.outcomes import (
    cases_of,
    make_call,
    on_what_it_takes,
)
from annotated_transformer.exercises.grader.pristine import pristine
from annotated_transformer.exercises.grader.running import IN_NUMPY, run_once
from annotated_transformer.exercises.grader.sandbox import Run, end_of
from annotated_transformer.exercises.grader.values import (
    Array,
    Foreign,
    Packer,
    pack,
    to_tensors,
    unpack,
)
from annotated_transformer.exercises.grader.watching import ResultAnd
from annotated_transformer.exercises.instructor import ALL_WALLS, wire
from annotated_transformer.exercises.instructor.process import (
    GRACE,
    STARTING_SECONDS,
    NotebookProcess,
)
from annotated_transformer.exercises.instructor.serving import MAX_CALLS, Service
from annotated_transformer.exercises.instructor.wire import Channel, ClosedError, TooLateError

CHECK_PATIENCE = 6.0  # times the processor time of a check: the clock's, on a busy machine
PATIENCE = 3.0  # the same of a whole notebook
IDLE = 0.01  # who has used less of the clock's time on the processor has slept


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
    """The candidate's process ended before it had answered; `end` as in `Run`.

    by_the_clock: as in `Session`.
    """

    def __init__(self, end: str, by_the_clock: bool = False) -> None:
        super().__init__(end)
        self.end, self.by_the_clock = end, by_the_clock


class Session:
    """One notebook in a process of its own. Use it as a context; iterate over `events()`."""

    def __init__(self, cells: Sequence[tuple[int, str]], limits: Limits, seconds: float) -> None:
        """limits: of one check. seconds: of the whole notebook. Both of processor time; by the
        clock it may be a few times that, since other work slows a notebook down."""
        self.limits, self.patience = limits, limits.seconds * CHECK_PATIENCE
        self.deadline = time.monotonic() + STARTING_SECONDS
        self.seconds = seconds
        self.walls: list[str] = []
        self.end = ""  # once it has ended: "finished", "crashed" or a word of `endings`
        self.started = self.was_too_slow = False  # too slow: the candidate graded last
        self.by_the_clock = False  # it stopped something at work, which may need less another time
        self.at_start: float | None = None  # processor time used when the first cell began
        self.candidate_end: CandidateEndedError | None = None
        self.process = NotebookProcess()
        self.channel = Channel(self.process.descriptor)
        job = {
            "cells": list(cells),
            "seconds": limits.seconds,
            "patience": self.patience,
            "limits": asdict(replace(limits, seconds=seconds)),
        }
        with contextlib.suppress(ClosedError, TooLateError):
            self.channel.send(wire.READY, json.dumps(job).encode(), self.deadline)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *error: object) -> None:
        self.process.close()

    def events(self) -> Iterator[Event]:
        """What happens in the notebook, in order; ends with it, and says in `end` how."""
        while not self.end:
            try:
                event = self._next_event()
            except TooLateError:
                self.end = "time"
                self.by_the_clock |= self._has_worked()
            except ClosedError:
                self.end = self.process.ending() or "crashed"
            except Exception:  # the stream has ended, or holds what no worker of ours sends
                self.end = "crashed"
            else:
                if event is not None:
                    yield event
        self.process.stop()

    def _next_event(self) -> Event | None:
        """The next frame as an event; None for one that is none."""
        kind, data = self.channel.receive(self.deadline)
        if kind == wire.READY and not self.started:
            self.started = True
            self.walls = [str(wall) for wall in unpack(data) if wall in ALL_WALLS]
            self.deadline = time.monotonic() + self.seconds * PATIENCE
            self.at_start = self.process.processor_seconds()
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

    def _has_worked(self) -> bool:
        """Has the notebook used the processor, or does nobody know?"""
        used = self.process.processor_seconds()
        if used is None:
            return True
        return used - (self.at_start or 0.0) > IDLE * self.seconds * PATIENCE

    def grade(self, exercise: Exercise) -> Report:
        """The report on the candidate that is being checked. Call it once after each `Checked`."""
        run, self.candidate_end, self.was_too_slow = Run(), None, False
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
                    if sum(map(len, run.outcomes.values())) > self.limits.result:
                        raise ValueError("damaged value: more than any result holds")
            run.end = "finished"
        except CandidateEndedError as ended:
            run.end = ended.end
            self.by_the_clock |= ended.by_the_clock
        except (ValueError, TypeError):
            run.end = "damaged"
        finally:
            self.decline()
        self.was_too_slow = run.end == "time"
        with pristine():
            return judge(exercise, run, self.limits)

    def decline(self) -> None:
        """Let the notebook go on: nothing more is asked of the candidate."""
        with contextlib.suppress(ClosedError, TooLateError):
            self.channel.send(wire.FINISH, deadline=min(self.deadline, time.monotonic() + GRACE))

    def _run_case(self, exercise: Exercise, index: int) -> bytes:
        """Call the candidate on one case.

        Where the case observes it, the observer runs here; one that watches torch operations works
        on what was seen over there.
        """
        case = cases_of(exercise)[index]
        constants = None if case.gradient == "ignored" else list(case.constants)

        def run(dtype: torch.dtype, arrays: bool) -> dict[str, Any]:
            name, observe = str(case.dtype or dtype).removeprefix("torch."), case.observe
            if observe is None or isinstance(observe, ResultAnd):
                arguments = make_call(exercise, index, dtype)
                given = [list(arguments.args), dict(arguments.kwargs)]
                reply = self._call(name, given, constants, observe is not None, arrays)
                if observe is not None and not reply.get("failure"):
                    reply["value"] = observe.of(reply.get("value"))
                return {**reply, "dtype": name}
            return {"dtype": name, **self._observed(exercise, index, dtype, arrays)}

        return _PlainPacker().to_bytes(on_what_it_takes(case, run))

    def _observed(
        self, exercise: Exercise, index: int, dtype: torch.dtype, arrays: bool
    ) -> dict[str, Any]:
        observe = cases_of(exercise)[index].observe
        assert observe is not None
        told: dict[str, Any] = IN_NUMPY if arrays else {}

        def candidate(*args: Any, **kwargs: Any) -> Any:
            nonlocal told
            name, given = str(dtype).removeprefix("torch."), [list(args), kwargs]
            reply = self._call(name, given, arrays=arrays)
            if reply.get("asks_for_arrays"):
                told = {"asks_for_arrays": True}
            if reply.get("failure"):
                raise _as_exception(reply["failure"])
            return _as_returned(reply.get("value"))

        def make() -> Any:
            arguments = make_call(exercise, index, dtype)
            return arguments.args, dict(arguments.kwargs)

        result = run_once(candidate, make, None, partial(partial, observe))
        if self.candidate_end is not None:  # which `run_once` has taken for the candidate's own
            raise self.candidate_end
        return {**result, **told}

    def _call(
        self,
        dtype: str,
        given: Any,
        constants: Sequence[int] | None = None,
        watched: bool = False,
        arrays: bool = False,
    ) -> dict[str, Any]:
        functions: list[Callable[..., Any]] = []
        data = wire.pack_arguments([dtype, constants, watched, arrays, given], functions)
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
                self.process.stop()
                self.candidate_end = CandidateEndedError("time", by_the_clock=True)
            except ClosedError:
                self.candidate_end = CandidateEndedError("crashed")
            except ValueError:  # frames of its own making; what else stands in the stream is open
                self.process.stop()
                self.candidate_end = CandidateEndedError("damaged")
            except CandidateEndedError as ended:
                self.candidate_end = ended
        raise self.candidate_end

    def _served_reply(self, kind: int, data: bytes, functions: Sequence[Callable[..., Any]]) -> Any:
        service = Service(functions)
        deadline = min(self.deadline, time.monotonic() + self.patience + GRACE)
        self.channel.send(kind, data, deadline)
        for _ in range(MAX_CALLS):
            kind, answer = self.channel.receive(deadline)
            if kind == wire.REPLY:
                return unpack(answer)
            if kind == wire.CALL:
                self.channel.send(wire.REPLY, service.value(answer), deadline)
            elif kind == wire.BACKWARD:
                self.channel.send(wire.REPLY, service.gradients(answer), deadline)
            elif kind == wire.CHECKED:
                raise _ended(unpack(answer), self.patience)
            else:
                break
        raise ValueError("damaged value: an unexpected frame, or too many calls")


def _ended(told: Any, patience: float) -> CandidateEndedError:
    """Why the candidate's process ended, from the CHECKED frame, which may be forged."""
    kinds = list(map(type, told)) if isinstance(told, list) else []
    if kinds != [str, int, float]:
        return CandidateEndedError("damaged")
    how, status, seconds = told
    if how == "time":
        return CandidateEndedError("time", by_the_clock=seconds > IDLE * patience)
    return CandidateEndedError(end_of(status))


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
