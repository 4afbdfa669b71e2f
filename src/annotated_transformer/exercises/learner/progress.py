"""The learner's own table: what is solved, tried and due for review."""

import html
from pathlib import Path

from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.learner.records import (
    Record,
    progress_path,
    read_records,
    today,
)
from annotated_transformer.exercises.reports.card import Card, frame, scrolling, show


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
