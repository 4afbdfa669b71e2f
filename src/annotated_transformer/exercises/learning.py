"""What a notebook calls besides `grade`: `check`, `hint`, `solution` and `progress`."""

import html
import inspect
import textwrap
from pathlib import Path

from annotated_transformer.errors import CallError
from annotated_transformer.exercises.card import (
    Card,
    calls_as_code,
    frame,
    prose,
    report_card,
    scrolling,
    show,
)
from annotated_transformer.exercises.catalogue import catalogue, find
from annotated_transformer.exercises.exercise import Candidate, Exercise
from annotated_transformer.exercises.grading import grade, unknown
from annotated_transformer.exercises.records import (
    Record,
    change_record,
    progress_path,
    read_records,
    today,
)


def check(exercise_id: str, candidate: Candidate, *, seed: int = 0) -> None:
    """Grade `candidate`, show the report as a card and record the attempt.

    What is shown depends on the candidate alone, never on what has been recorded before, so that it
    can stand in a stored notebook.
    """
    report = grade(exercise_id, candidate, seed=seed)
    if report.attempted:
        change_record(exercise_id, lambda record: record.update(report.passed, today()))
    show(report_card(report))


def hint(exercise_id: str) -> None:
    """Show the next hint of the exercise; after the last, the last again."""
    exercise = _find_or_raise(exercise_id)
    seen = min(read_records().get(exercise_id, Record()).hints, len(exercise.hints) - 1)

    def count(record: Record) -> None:
        record.hints = min(record.hints + 1, len(exercise.hints))

    change_record(exercise_id, count)
    show(hint_card(exercise, seen))


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

    change_record(exercise_id, seen)
    show(solution_card(exercise))


def solution_card(exercise: Exercise) -> Card:
    """The source of the reference, folded in HTML, and why it is so."""
    source = textwrap.dedent(inspect.getsource(exercise.reference)).rstrip()
    title = f"Solution of {exercise.id}"
    text = f"{title}\n\n{textwrap.indent(source, '    ')}\n\n{exercise.explanation}"
    inner = (
        f"<details><summary>{html.escape(title)}</summary>"
        f"<pre>{html.escape(source)}</pre>{prose(exercise.explanation)}</details>"
    )
    return Card(text, frame(inner, title))


def progress() -> None:
    """Show what is solved, tried and due for review."""
    show(progress_card())


def progress_rows() -> list[dict[str, object]]:
    """One row an exercise, in the order of the book: id, title, state, attempts, hints, due."""
    records, day = read_records(), today().isoformat()
    rows: list[dict[str, object]] = []
    for exercise in catalogue().values():
        record = records.get(exercise.id, Record())
        state = "solved" if record.solved else "tried" if record.attempts else "open"
        if record.solved and record.due is not None and record.due <= day:
            state = "review"
        rows.append(
            {
                "id": exercise.id,
                "title": exercise.title,
                "state": state,
                "difficulty": exercise.difficulty,
                "minutes": exercise.minutes,
                "attempts": record.attempts,
                "hints": record.hints,
                "due": record.due if record.solved else None,
            }
        )
    return rows


def progress_card() -> Card:
    """The table of all exercises and a line that sums it up."""
    rows = progress_rows()
    solved = sum(row["state"] in ("solved", "review") for row in rows)
    due = sum(row["state"] == "review" for row in rows)
    store = str(progress_path()).replace(str(Path.home()), "~")  # no reader's name in a saved page
    summary = f"{solved} of {len(rows)} solved, {due} due for review (stored in {store})"
    columns = ("id", "title", "state", "attempts", "hints", "due")
    table = [[str(row[name] if row[name] is not None else "") for name in columns] for row in rows]
    widths = [
        max(len(line[position]) for line in [list(columns), *table])
        for position in range(len(columns))
    ]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in [list(columns), *table]
    ]
    head = "".join(f'<th scope="col" class="at-left">{name}</th>' for name in columns)
    body = "".join(
        "<tr>" + "".join(f'<td class="at-left">{html.escape(cell)}</td>' for cell in line) + "</tr>"
        for line in table
    )
    markup = (
        f"<table><caption>{html.escape(summary)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
    return Card("\n".join([*lines, summary]), frame(scrolling(markup, "Progress"), "Exercises"))


def _find_or_raise(exercise_id: str, seed: int = 0) -> Exercise:
    exercise = find(exercise_id, seed)
    if exercise is None:
        raise CallError(unknown(exercise_id).message)
    return exercise
