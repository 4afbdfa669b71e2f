"""Marks written down: as text for a reader, JSON for programs, CSV for a table of grades."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.instructor import ALL_WALLS
from annotated_transformer.exercises.instructor.assignment import Assignment
from annotated_transformer.exercises.instructor.marking import Mark

_FORMULAS = tuple("=+-@＝＋－＠|\t\r\n")
_ENDS = {
    "time": "stopped at its time limit",
    "memory": "stopped at its limit of memory, of all its processes together",
    "processes": "stopped at its limit of processes and threads",
    "killed": "killed by the system, most likely for want of memory",
    "crashed": "its process ended itself",
}


def as_tree(marks: Sequence[Mark], assignment: Assignment) -> dict[str, Any]:
    """Everything, as one JSON object. The same notebooks give the same object."""
    return {
        "format": 1,
        "title": assignment.title,
        "points": dict(assignment.points),
        "walls": _walls(marks),
        "same_file": same_files(marks),
        "notebooks": [_notebook(mark, assignment) for mark in marks],
        "misconceptions": [
            {"exercise": exercise, "mistake": mistake, "notebooks": count, "sentence": sentence}
            for (exercise, mistake), count, sentence in misconceptions(marks, assignment)
        ],
    }


def _notebook(mark: Mark, assignment: Assignment) -> dict[str, Any]:
    return {
        "notebook": mark.name,
        "sha256": mark.digest,
        "end": mark.end,
        "problem": mark.problem,
        "submitted": mark.submitted.isoformat() if mark.submitted else None,
        "late_share": assignment.share(mark.submitted),
        "points": mark.points(assignment),
        "of": _total(assignment),
        "failed_cells": [{"cell": number, "error": text} for number, text in mark.failed_cells],
        "exercises": [
            {
                "id": name,
                "state": (verdict := mark.verdict(name)).state,
                "points": round(points * verdict.share, 2),
                "of": points,
                "mistakes": list(verdict.mistakes),
                "finding": verdict.finding,
                "message": verdict.message,
                "remarks": list(verdict.remarks),
            }
            for name, points in assignment.points.items()
        ],
    }


def as_csv(marks: Sequence[Mark], assignment: Assignment) -> str:
    """One line a notebook: its name, points, end, and the points of each exercise."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["notebook", "points", "of", "end", "late_share", *assignment.points])
    for mark in marks:
        shares = [
            round(points * mark.verdict(name).share, 2)
            for name, points in assignment.points.items()
        ]
        late = assignment.share(mark.submitted)
        row = [
            shown(mark.name),
            mark.points(assignment),
            _total(assignment),
            mark.end,
            late,
            *shares,
        ]
        writer.writerow([_harmless(item) for item in row])
    return text.getvalue()


def _harmless(item: Any) -> Any:
    """A name that a spreadsheet would take for a formula is quoted."""
    return f"'{item}" if isinstance(item, str) and item.lstrip()[:1] in _FORMULAS else item


def shown(name: str) -> str:
    """A file's name with everything that is no plain character written out: \\n, \\x1b, \\udcff."""
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode()
        for c in name
    )


def same_files(marks: Sequence[Mark]) -> list[list[str]]:
    """The names of those notebooks that are the same file, byte for byte."""
    by_digest: dict[str, list[str]] = {}
    for mark in marks:
        if mark.digest:
            by_digest.setdefault(mark.digest, []).append(mark.name)
    return [names for names in by_digest.values() if len(names) > 1]


def as_text(marks: Sequence[Mark], assignment: Assignment) -> str:
    """A paragraph a notebook, then what the class has in common."""
    lines = [assignment.title, ""] if assignment.title else []
    for mark in marks:
        lines += [*_paragraph(mark, assignment), ""]
    found = misconceptions(marks, assignment)
    if len(marks) > 1 and found:
        lines.append("What the class has in common:")
        for (exercise, mistake), count, sentence in found[:15]:
            lines.append(f"  {count} of {len(marks)}  {exercise}: {mistake}. {sentence}")
        lines.append("")
    for names in same_files(marks):
        lines += [f"The same file, byte for byte: {', '.join(map(shown, names))}", ""]
    missing = [wall for wall in ALL_WALLS if wall not in _walls(marks)]
    if missing and _walls(marks):
        lines.append(
            f"Not every wall stood around these notebooks (missing: {', '.join(missing)}). Grade "
            "work that you do not trust in a container; the guide for instructors says how."
        )
    return "\n".join(lines).rstrip() + "\n"


def _paragraph(mark: Mark, assignment: Assignment) -> list[str]:
    late = assignment.share(mark.submitted)
    share = f", late: {late:.0%} of the points count" if late < 1 else ""
    points = f"{mark.points(assignment):g} of {_total(assignment):g} points{share}"
    lines = [f"{shown(mark.name)}: {points}"]
    if mark.problem:
        lines.append(f"  not graded: it {one_line(mark.problem)}")
    if mark.end in _ENDS:
        lines.append(f"  {_ENDS[mark.end]}; what comes after has no verdict")
    width = max((len(name) for name in assignment.points), default=0)
    for name, of in assignment.points.items():
        verdict = mark.verdict(name)
        why = one_line(", ".join(verdict.mistakes) or verdict.finding)
        why = f"  {why}" if verdict.state == "wrong" else ""
        earned = f"{of * verdict.share:g}/{of:g}"
        lines.append(f"  {name.ljust(width)}  {earned:>7}  {verdict.state}{why}")
        lines += [f"  {' ' * width}           ({one_line(remark)})" for remark in verdict.remarks]
    lines += [f"  cell {number} raised {one_line(text)}" for number, text in mark.failed_cells]
    return lines


def one_line(text: str) -> str:
    """Text that a notebook or a file's name brought in, so that it can pretend to be no other."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def misconceptions(
    marks: Sequence[Mark], assignment: Assignment
) -> list[tuple[tuple[str, str], int, str]]:
    """(exercise, mistake), in how many notebooks, and its sentence; the most frequent first."""
    counts = Counter(
        (name, mistake)
        for mark in marks
        for name in assignment.points
        for mistake in set(mark.verdict(name).mistakes)
    )
    known = {
        (exercise.id, mistake.name): mistake.sentence
        for exercise in catalogue().values()
        for mistake in exercise.mistakes
    }
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [(which, count, known.get(which, "")) for which, count in ordered]


def _total(assignment: Assignment) -> float:
    return round(sum(assignment.points.values()), 2)


def _walls(marks: Sequence[Mark]) -> list[str]:
    """The walls that stood around every notebook that was run."""
    run = [mark for mark in marks if mark.end not in ("unreadable", "failed")]
    return [wall for wall in ALL_WALLS if run and all(wall in mark.walls for mark in run)]
