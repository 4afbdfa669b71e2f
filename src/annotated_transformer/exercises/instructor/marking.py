"""Marks: every notebook in a process of its own, several side by side, each verdict made here."""

import os
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path

from annotated_transformer.exercises.catalogue import find
from annotated_transformer.exercises.exercise import Report
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.instructor.assignment import Assignment
from annotated_transformer.exercises.instructor.session import Checked, Session
from annotated_transformer.exercises.instructor.submission import (
    Submission,
    UnreadableError,
    read_submission,
)

MISSING = "missing"
MAX_FAILED_CELLS = 50


@dataclass(frozen=True)
class Verdict:
    """Of one exercise in one notebook.

    state: "passed", "wrong", "not attempted", or "missing" where no check gave a verdict. share: of
    the points, 1 where passed; of several named answers those that are right. mistakes: names of
    the misconceptions. message: the whole report as the learner would see it.
    """

    exercise_id: str
    state: str
    share: float = 0.0
    mistakes: tuple[str, ...] = ()
    finding: str = ""
    message: str = ""


@dataclass(frozen=True)
class Mark:
    """Of one notebook.

    verdicts: by exercise, the last check of each. end: "finished", "time" (stopped at its limit),
    "crashed" (its process ended itself), "unreadable" (no notebook), "failed" (the marker did).
    failed_cells: what cells that check something raised, but for those that use what is not there
    while a notebook is graded. walls: what stood around the process.
    """

    name: str
    digest: str = ""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    end: str = "finished"
    problem: str = ""
    failed_cells: tuple[tuple[int, str], ...] = ()
    walls: tuple[str, ...] = ()
    submitted: datetime | None = None

    def verdict(self, exercise_id: str) -> Verdict:
        """Of this exercise; "missing" where the notebook gave none."""
        return self.verdicts.get(exercise_id, Verdict(exercise_id, MISSING))

    def points(self, assignment: Assignment) -> float:
        """What the notebook earns, lateness taken off, to a hundredth."""
        earned = sum(p * self.verdict(name).share for name, p in assignment.points.items())
        return round(earned * assignment.share(self.submitted), 2)


def mark_submission(submission: Submission, seconds: float, limits: Limits | None = None) -> Mark:
    """Run one notebook and grade what it checks. Raises nothing: what goes wrong is in the mark.

    seconds: for all its cells and checks. limits: of each check.
    """
    try:
        return _mark(submission, submission.cells(), seconds, limits or Limits())
    except UnreadableError as error:
        return Mark(submission.name, submission.digest, end="unreadable", problem=str(error))
    except Exception as error:  # ours; the marks of the others are not to be lost over it
        return _failed(submission, f"{type(error).__name__}: {error}")


def _failed(submission: Submission, why: str) -> Mark:
    problem = f"made the marker fail ({why[:200]}); grade it by itself, and tell us"
    return Mark(submission.name, submission.digest, end="failed", problem=problem)


def _mark(
    submission: Submission, cells: list[tuple[int, str]], seconds: float, limits: Limits
) -> Mark:
    verdicts: dict[str, Verdict] = {}
    failed: list[tuple[int, str]] = []
    sources = defaultdict(str, cells)
    with Session(cells, limits, seconds) as session:
        for event in session.events():
            if isinstance(event, Checked):
                exercise = find(event.exercise_id, event.seed)
                if exercise is not None:
                    verdicts[exercise.id] = _verdict(session.grade(exercise))
                else:
                    session.decline()
            elif not event.skipped and "check(" in sources[event.number]:
                failed.append((event.number, event.error))
    return Mark(
        submission.name,
        submission.digest,
        verdicts,
        session.end,
        failed_cells=tuple(failed[:MAX_FAILED_CELLS]),
        walls=tuple(session.walls),
    )


def _verdict(report: Report) -> Verdict:
    state = "passed" if report.passed else "wrong" if report.attempted else "not attempted"
    return Verdict(
        report.exercise_id,
        state,
        report.share,
        report.mistakes,
        report.finding,
        report.message,
    )


def mark_all(
    paths: Sequence[Path],
    *,
    seconds: float,
    jobs: int,
    times: Mapping[str, datetime],
    told: Callable[[Mark], None] = lambda mark: None,
) -> list[Mark]:
    """Mark every notebook, `jobs` side by side; in the order given. `told` hears of each.

    Each marker is a process of its own, and so is each notebook: what one does reaches no other.
    """
    submissions = [read_submission(path) for path in paths]  # all, before the first is run
    marks: dict[int, Mark] = {}

    def keep(number: int, mark: Mark) -> None:
        path = paths[number]
        submitted = times.get(str(path), times.get(path.name))
        marks[number] = replace(mark, submitted=submitted)
        told(marks[number])

    again = []  # those whose marker ended, with the ones beside them
    with ProcessPoolExecutor(max_workers=jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(mark_submission, s, seconds): i for i, s in enumerate(submissions)}
        for future in as_completed(running):
            try:
                keep(running[future], future.result())
            except BrokenProcessPool:
                again.append(running[future])
    for number in sorted(again):
        with ProcessPoolExecutor(max_workers=1, mp_context=get_context("spawn")) as pool:
            try:
                keep(number, pool.submit(mark_submission, submissions[number], seconds).result())
            except BrokenProcessPool:
                keep(number, _failed(submissions[number], "its process ended"))
    return [marks[number] for number in range(len(paths))]


def usual_jobs() -> int:
    """As many notebooks side by side as there are cores."""
    return os.cpu_count() or 1
