"""What a notebook calls: `check`, `hint` and `solution`."""

import html
import textwrap
from collections.abc import Callable

from annotated_transformer.errors import CallError
from annotated_transformer.exercises.catalogue import find
from annotated_transformer.exercises.exercise import Candidate, Exercise
from annotated_transformer.exercises.grader.grading import grade, unknown
from annotated_transformer.exercises.learner.records import (
    Record,
    change_record,
    read_records,
    today,
)
from annotated_transformer.exercises.notebooks import solution_source
from annotated_transformer.exercises.reports.card import (
    Card,
    calls_as_code,
    frame,
    prose,
    report_card,
    show,
)

_hints_given: dict[str, int] = {}  # in this kernel, for a learner whose progress cannot be stored
_remarks_made: set[str] = set()


def check(exercise_id: str, candidate: Candidate, *, seed: int = 0) -> None:
    """Grade `candidate`, show the report as a card and record the attempt.

    What is shown depends on the candidate alone, never on what has been recorded before, so that it
    can stand in a stored notebook.
    """
    report = grade(exercise_id, candidate, seed=seed)
    if report.attempted:
        _record(
            report.exercise_id,
            lambda record: record.update(report.passed, today(), report.mistakes),
        )
    show(report_card(report))


def hint(exercise_id: str, step: int | None = None) -> None:
    """Show the next hint of the exercise, after the last the last again; or hint `step`, from 1.

    Raises CallError if there is no such exercise or no such step.
    """
    exercise = _find_or_raise(exercise_id)
    last = len(exercise.hints)
    if step is not None and step not in range(1, last + 1):
        raise CallError(f"step = {step!r}: {exercise.id} has hints 1 to {last}.")
    seen = max(read_records().get(exercise.id, Record()).hints, _hints_given.get(exercise.id, 0))
    step = step or min(seen + 1, last)
    _hints_given[exercise.id] = max(seen, step)

    def count(record: Record) -> None:
        record.hints = max(record.hints, step)

    _record(exercise.id, count)
    show(hint_card(exercise, step - 1))


def hint_card(exercise: Exercise, number: int) -> Card:
    """Hint `number`, counted from 0."""
    title = f"Hint {number + 1} of {len(exercise.hints)} for {exercise.id}"
    further = (
        f'hint("{exercise.id}") again gives the next one.'
        if number + 1 < len(exercise.hints)
        else f'This was the last; solution("{exercise.id}") shows the solution.'
    )
    text = f"{title}\n{exercise.hints[number]}\n{further}"
    inner = f"<p><strong>{html.escape(title)}</strong></p>{prose(exercise.hints[number])}"
    return Card(text, frame(inner + prose(calls_as_code(further)), title))


def solution(exercise_id: str, *, seed: int = 0) -> None:
    """Show the reference solution with its explanation, and record that it was seen."""
    exercise = _find_or_raise(exercise_id, seed)

    def seen(record: Record) -> None:
        record.solution_seen = True

    _record(exercise.id, seen)
    show(solution_card(exercise))


def solution_card(exercise: Exercise) -> Card:
    """The source of the reference, folded in HTML, and why it is so."""
    source = solution_source(exercise)
    title = f"Solution of {exercise.id}"
    text = f"{title}\n\n{textwrap.indent(source, '    ')}\n\n{exercise.explanation}"
    inner = (
        f"<details><summary>{html.escape(title)}</summary>"
        f"<pre>{html.escape(source)}</pre>{prose(exercise.explanation)}</details>"
    )
    return Card(text, frame(inner, title))


def _record(exercise_id: str, change: Callable[[Record], None]) -> None:
    """Store it, and say once in this kernel where that went not smoothly."""
    remark = change_record(exercise_id, change)
    if remark and remark not in _remarks_made:
        _remarks_made.add(remark)
        print(remark)


def _find_or_raise(exercise_id: str, seed: int = 0) -> Exercise:
    exercise = find(exercise_id, seed)
    if exercise is None:
        raise CallError(unknown(exercise_id).message)
    return exercise
