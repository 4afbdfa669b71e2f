"""An answer that was written in a web page, checked in that page.

A page has one process, and it is the learner's own browser: the answer runs in it beside the
grader, on the stand-in for torch. Whoever calls `check_answer` watches the clock: it is told when
the answer runs and when the grader does, so that only an answer is ended for taking long.
"""

import contextlib
import html
import io
import json
import linecache
import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from types import FunctionType
from typing import Any, Literal

from annotated_transformer import exercises
from annotated_transformer.exercises.catalogue import find
from annotated_transformer.exercises.exercise import Candidate, Exercise, Report
from annotated_transformer.exercises.grader.child import PRINTED_ON
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.grading import judge, not_attempted
from annotated_transformer.exercises.grader.outcomes import (
    NOT_IN_THIS_PAGE,
    Failure,
    cases_of,
    read_outcome,
    run_case,
)
from annotated_transformer.exercises.grader.pristine import (
    pristine,
    random_states_kept,
    restore_libraries,
    torch_defaults,
)
from annotated_transformer.exercises.grader.sandbox import Run
from annotated_transformer.exercises.grader.stubs import is_stub, is_unchanged
from annotated_transformer.exercises.notebooks import function_name
from annotated_transformer.exercises.reports.card import STYLE, frame, prose, report_card

State = Literal["passed", "wrong", "to do", "does not run", "not here"]
SECONDS = 7.0  # that an answer may run: a page is slower than a notebook
Say = Callable[[str], object]

FILE = "<your answer>"  # how a traceback calls what was written
NOT_HERE = (NOT_IN_THIS_PAGE, "ModuleNotFoundError")  # raised for a part of torch, for a library
# What NumPy says of places that it takes where addresses have 64 bits; and Python, of threads.
OF_PAGES = re.compile(
    r"Cannot cast array data from dtype\('int64'\) to dtype\('int32'\)|can't start new thread"
)
IMPORTS = """\
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
"""
_NEEDED = {  # modules that the next answer is judged with
    name: sys.modules[name]
    for name in (
        *("torch", "torch.nn", "torch.nn.functional"),
        *("numpy", "math", "linecache", __name__),
    )
}
OF_NOTEBOOKS = ("check", "hint", "solution", "progress")  # a cell that was copied may call them


@dataclass(frozen=True)
class Verdict:
    """What the page shows and keeps. markup: the card. mistakes: the named ones.

    state: "does not run" where there is no function to check yet; "not here" where the answer uses
    what the page has not, so that nothing can be said of it. spent: whether the answer has changed
    this process, so that the next one wants another.
    """

    state: State
    markup: str
    mistakes: tuple[str, ...] = ()
    spent: bool = False


def begin() -> str:
    """Make this process a page's; as JSON what the page has to know."""
    for name in OF_NOTEBOOKS:  # a page has none of them, and a cell that was copied imports them
        setattr(exercises, name, _nothing)
    return json.dumps({"seconds": SECONDS, "style": STYLE})


def check_answer(exercise_id: str, source: str, say: Say = lambda _: None) -> str:
    """Check an answer as it was written; a `Verdict` as JSON.

    `say` is called with "answer" before code of the learner's runs, with "grader" after.
    Raises KeyError where there is no such exercise, nothing for what the answer does.
    """
    exercise = find(exercise_id)
    if exercise is None:
        raise KeyError(exercise_id)
    try:
        with random_states_kept(), torch_defaults():
            verdict = _verdict(exercise, source, say)
    finally:
        restore_libraries()
    return json.dumps(asdict(replace(verdict, spent=_is_spent())))


def _verdict(exercise: Exercise, source: str, say: Say) -> Verdict:
    printed = _Printed()
    say("answer")
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(_Printed()):
            candidate = _candidate(exercise, source)
    except BaseException as error:  # SystemExit too
        say("grader")
        if type(error).__name__ in NOT_HERE:
            return not_here(exercise, str(error))
        return _does_not_run(exercise, error)
    say("grader")
    if is_stub(candidate) or is_unchanged(candidate, exercise.starter):
        return _of_report(not_attempted(exercise))
    say("answer")
    run = run_here(exercise, candidate, printed)
    say("grader")
    return verdict_on(exercise, run)


def run_here(exercise: Exercise, candidate: Candidate, printed: "_Printed | None" = None) -> Run:
    """Run `candidate` on every case in this process: what `run_isolated` does in another."""
    printed = printed or _Printed()
    run = Run(end="finished")
    with (
        random_states_kept(),
        torch_defaults(),
        contextlib.redirect_stdout(printed),
        contextlib.redirect_stderr(_Printed()),
    ):
        for index in range(len(cases_of(exercise))):
            printed.write(PRINTED_ON.format(index))
            run.outcomes[index] = run_case(exercise, index, candidate)
    run.printed = printed.getvalue()
    return run


def verdict_on(exercise: Exercise, run: Run) -> Verdict:
    """What the grader says of a run, unless the run asked for what is not here."""
    for data in run.outcomes.values():
        with contextlib.suppress(ValueError):  # damaged: the judge says so
            outcome = read_outcome(data)
            for failure in (outcome.failure, outcome.gradient_failure):
                if failure is not None and _is_missing(failure):
                    return not_here(exercise, failure.message)
    with pristine():
        return _of_report(judge(exercise, run, Limits()))


def _of_report(report: Report) -> Verdict:
    state: State = "passed" if report.passed else "wrong" if report.attempted else "to do"
    finding = report.finding.replace("run the cell again", "check again")
    shown = replace(report, finding=finding, next_hint=None)  # the page has buttons for hints
    return Verdict(state, report_card(shown).markup, report.mistakes)


def _is_missing(failure: Failure) -> bool:
    return failure.class_name in NOT_HERE or OF_PAGES.search(failure.message) is not None


def _is_spent() -> bool:
    """Has an answer replaced modules, or what tracebacks are quoted from?"""
    kept = all(sys.modules.get(name) is module for name, module in _NEEDED.items())
    return not (kept and isinstance(linecache.cache, dict))


def not_here(exercise: Exercise, message: str) -> Verdict:
    """Nothing is said of the answer, but that this page cannot check it."""
    said = (
        f"This page cannot check your answer, right or wrong: {message}\n"
        "It has Python's own modules, NumPy and some of PyTorch; a notebook has the rest."
    )
    return Verdict("not here", _card(exercise, "?", "not in this page", prose(said)))


def _does_not_run(exercise: Exercise, error: BaseException) -> Verdict:
    if isinstance(error, _NoFunctionError):
        told = prose(str(error))
    else:
        lines = "".join(traceback.format_exception_only(error)).strip()
        frames = traceback.extract_tb(error.__traceback__)
        own = [entry.lineno for entry in frames if entry.filename == FILE]
        where = f" Line {own[-1]} raised this:" if own else ""
        told = prose(f"It stops before there is a function to check.{where}")
        told += f"<pre>{html.escape(lines)}</pre>"
    return Verdict("does not run", _card(exercise, "✗", "does not run yet", told, "wrong"))


def _card(exercise: Exercise, mark: str, state: str, inner: str, css: str = "") -> str:
    title = html.escape(f"{exercise.id} · {exercise.title}")
    head = f"<p><strong>{mark} {state}</strong> · {title}</p>"
    return frame(head + inner, f"{exercise.id}: {state}", css)


class _NoFunctionError(Exception):
    """What was written defines nothing to check."""


def _candidate(exercise: Exercise, source: str) -> Candidate:
    """Run what was written; the function of the stub's name, or the only one that there is."""
    space: dict[str, Any] = {"__name__": "__main__"}
    exec(IMPORTS, space)
    space.update(dict.fromkeys(OF_NOTEBOOKS, _nothing))
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    exec(compile(source, FILE, "exec"), space)
    name = function_name(exercise)
    if name in space:
        return space[name]  # whatever it is: the grader says what is wrong with it
    own = [v for v in space.values() if type(v) is FunctionType and v.__code__.co_filename == FILE]
    if len(own) == 1:
        return own[0]
    raise _NoFunctionError(f"There is no function `{name}` in your answer: that one is checked.")


def _nothing(*_args: object, **_kwargs: object) -> None:
    """In a page the buttons do it."""


class _Printed(io.StringIO):
    """Keeps the start of what is printed: an answer may print without end."""

    def write(self, text: str) -> int:
        """Keep it while there is room; say that all was written."""
        if self.tell() < 8 * Limits().printed:
            super().write(text)
        return len(text)
