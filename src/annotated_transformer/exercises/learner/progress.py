"""The learner's own table, chapter by chapter: what is solved, tried, open and due for review."""

import datetime
import html
import re
from dataclasses import asdict, dataclass

from annotated_transformer.exercises.catalogue import catalogue, chapter_of
from annotated_transformer.exercises.learner.records import (
    Record,
    progress_path,
    read_records,
    remark_on_file,
    short,
    today,
)
from annotated_transformer.exercises.learner.schedule import REVIEW_DAYS
from annotated_transformer.exercises.reports.card import Card, frame, prose, scrolling, show

_COLUMNS = ("Exercise", "State", "Next review", "Difficulty", "Minutes", "Attempts", "Hints")
_LEFT = ' class="at-left"'
_STYLE = """<style>
.at-card details.at-chapter{border-top:1px solid rgba(128,128,128,.35);padding:.3em 0}
.at-card .at-chapter summary{cursor:pointer;overflow-wrap:anywhere}
.at-card .at-chapter .at-counts{display:block;font-size:.9em}
.at-card .at-chapter th[scope="row"]{min-width:9.5em}
.at-card .at-chapter th code{overflow-wrap:normal}
.at-card .at-chapter td.at-left{white-space:nowrap}
.at-card ul.at-due{margin:.2em 0;padding-left:1.4em}
</style>"""


@dataclass(frozen=True)
class Row:
    """One exercise. state: "open", "tried", "solved", or "due" when a solved one is to be redone.

    due: the day of the next review. done: all reviews are behind. reviews: how many are done.
    overdue: days since it was due, 0 on the day itself and before.
    """

    id: str
    title: str
    chapter: str
    state: str
    difficulty: int
    minutes: int
    attempts: int
    hints: int
    solved: str | None
    reviews: int
    due: str | None
    done: bool
    overdue: int


@dataclass(frozen=True)
class Chapter:
    """The counts of one chapter. solved: those that are due included."""

    chapter: str
    title: str
    exercises: int
    solved: int
    due: int
    tried: int
    open: int
    minutes_left: int

    @property
    def counts(self) -> str:
        """The counts as words."""
        left = f"; about {self.minutes_left} minutes left" if self.minutes_left else ""
        return (
            f"{self.solved} of {self.exercises} solved, {self.due} due, {self.tried} tried, "
            f"{self.open} open{left}"
        )


def progress() -> None:
    """Show chapter by chapter what is solved, tried, open and due for review."""
    show(progress_card())


def progress_rows(day: datetime.date | None = None) -> list[Row]:
    """One row an exercise, in the order of the book, as it stands on `day` (default today)."""
    records, day = read_records(), day or today()
    rows = []
    for exercise in catalogue().values():
        record = records.get(exercise.id, Record())
        overdue = (day - datetime.date.fromisoformat(record.due)).days if record.due else -1
        state = "solved" if record.solved else "tried" if record.attempts else "open"
        rows.append(
            Row(
                id=exercise.id,
                title=exercise.title,
                chapter=chapter_of(exercise.id),
                state="due" if overdue >= 0 else state,
                difficulty=exercise.difficulty,
                minutes=exercise.minutes,
                attempts=record.attempts,
                hints=record.hints,
                solved=record.solved,
                reviews=max(record.level - 1, 0),  # the first rung is the day of solving
                due=record.due,
                done=record.done,
                overdue=max(overdue, 0),
            )
        )
    return rows


def due_rows(rows: list[Row]) -> list[Row]:
    """What is to be redone today, the longest overdue first."""
    return sorted((row for row in rows if row.state == "due"), key=lambda row: -row.overdue)


def chapters(rows: list[Row]) -> list[Chapter]:
    """The chapters that have exercises, in the order of the book, with their counts."""
    return [
        _summed(name, chapter_title(name), [row for row in rows if row.chapter == name])
        for name in dict.fromkeys(row.chapter for row in rows)
    ]


def chapter_title(name: str) -> str:
    """ "Chapter 2, attention" for "02_attention"."""
    number, _, words = name.partition("_")
    return f"Chapter {int(number)}, {words.replace('multi_', 'multi-').replace('_', ' ')}"


@dataclass(frozen=True)
class Asked:
    """The interview: how many questions were answered, would do, and are to be answered again.

    due: by their reviews; and those that would not do, from the next day on.
    """

    asked: int
    survived: int
    due: int

    @property
    def counts(self) -> str:
        """The counts as words."""
        return f"Interview: {self.asked} questions answered, {self.survived} well, {self.due} due"


def asked(day: datetime.date | None = None) -> Asked:
    """What the records say of the interview's questions as it stands on `day` (default today)."""
    now = (day or today()).isoformat()
    own = [record for name, record in read_records().items() if is_question(name)]
    return Asked(
        asked=sum(record.attempts > 0 for record in own),
        survived=sum(record.solved is not None for record in own),
        due=sum(due_again(record, now) for record in own),
    )


def is_question(name: str) -> bool:
    """Whether a record is of a question of the interview: not of a follow-up, not of a problem."""
    return bool(re.fullmatch(r"interview\.(?!problem\.)[a-z_]+\.[a-z_0-9]+", name))


def due_again(record: Record, now: str) -> bool:
    """Whether a question is to be answered again on a day: what would not do from the next on."""
    if record.solved is None:
        return record.last is not None and record.last < now
    return record.due is not None and record.due <= now


def progress_tree(day: datetime.date | None = None) -> dict[str, object]:
    """All of it for a program: what `annotated-transformer progress --format json` prints."""
    rows = progress_rows(day)
    return {
        "path": str(progress_path()),
        "day": (day or today()).isoformat(),
        "remark": remark_on_file(),
        "due": [row.id for row in due_rows(rows)],
        "chapters": [asdict(chapter) for chapter in chapters(rows)],
        "exercises": [asdict(row) for row in rows],
        "interview": asdict(asked(day)),
    }


def progress_card(day: datetime.date | None = None) -> Card:
    """What is due by name, a table for each chapter, and a line that sums it up."""
    rows = progress_rows(day)
    due, remark = due_rows(rows), remark_on_file()
    summary = _summed("", "", rows).counts + f" (stored in {short(progress_path())})"
    first = [f"Redo today: {_named(row)}" for row in due] or [_nothing_due(rows)]
    lines = [*([remark] if remark else []), *first]
    inner = [prose(remark)] if remark else []
    if due:
        items = "".join(f"<li>{html.escape(_named(row))}</li>" for row in due)
        inner.append(f'<p><strong>Redo today:</strong></p><ul class="at-due">{items}</ul>')
    else:
        inner.append(prose(first[0]))
    for chapter in chapters(rows):
        own = [row for row in rows if row.chapter == chapter.chapter]
        lines += ["", f"{chapter.title}: {chapter.counts}", *_as_text(own)]
        inner.append(_as_details(chapter, own))
    interview = asked(day)
    if interview.asked:
        lines += ["", interview.counts]
        inner.append(f"<p>{html.escape(interview.counts)}</p>")
    again = [f"Redo today: {', '.join(row.id for row in due)}"] if due else []
    lines += ["", *([remark] if remark else []), *again, summary]  # a terminal shows the end
    inner.append(f"<p><strong>{html.escape(summary)}</strong></p>")
    return Card("\n".join(lines), _STYLE + frame("".join(inner), "Progress"))


def _summed(name: str, title: str, rows: list[Row]) -> Chapter:
    states = [row.state for row in rows]
    return Chapter(
        chapter=name,
        title=title,
        exercises=len(rows),
        solved=states.count("solved") + states.count("due"),
        due=states.count("due"),
        tried=states.count("tried"),
        open=states.count("open"),
        minutes_left=sum(row.minutes for row in rows if row.state in ("open", "tried")),
    )


def _named(row: Row) -> str:
    days = {0: "today", 1: "since yesterday"}
    when = days.get(row.overdue, f"since {row.due}, {row.overdue} days")
    return f"{row.id} ({row.title}), due {when}"


def _nothing_due(rows: list[Row]) -> str:
    following = min((row for row in rows if row.due), key=lambda r: r.due or "", default=None)
    if following is None:
        return "Nothing is due for review."
    return f"Nothing is due today. Next: {following.id} ({following.title}) on {following.due}."


def _next_review(row: Row) -> str:
    if row.done:
        return f"done, all {len(REVIEW_DAYS) - 1}"
    return "today" if row.state == "due" else row.due or ""


def _cells(row: Row) -> list[str]:
    numbers = [row.difficulty, row.minutes, row.attempts, row.hints]
    return [row.state, _next_review(row), *map(str, numbers)]


def _as_text(rows: list[Row]) -> list[str]:
    head = ["exercise", "title", *(name.lower() for name in _COLUMNS[1:])]
    table = [head, *([row.id, row.title, *_cells(row)] for row in rows)]
    widths = [max(len(line[place]) for line in table) for place in range(len(head))]
    return [
        "  " + "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip()
        for line in table
    ]


def _as_details(chapter: Chapter, rows: list[Row]) -> str:
    """A chapter to unfold, open where something was begun."""
    begun = " open" if chapter.solved or chapter.tried else ""
    left = (0, 1, 2)  # the columns of words
    head = "".join(
        f'<th scope="col"{_LEFT if place in left else ""}>{name}</th>'
        for place, name in enumerate(_COLUMNS)
    )
    body = []
    for row in rows:
        breakable = re.sub(r"([._])", r"\1<wbr>", html.escape(row.id))
        name = f"<code>{breakable}</code><br>{html.escape(row.title)}"
        cells = "".join(
            f"<td{_LEFT if place in left else ''}>{html.escape(cell)}</td>"
            for place, cell in enumerate(_cells(row), 1)
        )
        body.append(f'<tr><th scope="row"{_LEFT}>{name}</th>{cells}</tr>')
    title = html.escape(chapter.title)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return (
        f'<details class="at-chapter"{begun}><summary><strong>{title}</strong> '
        f'<span class="at-counts">{html.escape(chapter.counts)}</span></summary>'
        f"{scrolling(table, chapter.title)}</details>"
    )
