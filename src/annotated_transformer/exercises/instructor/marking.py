"""Marks: what the process of one notebook gave, as states, shares and remarks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from annotated_transformer.exercises.catalogue import find
from annotated_transformer.exercises.exercise import Report
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.instructor.assignment import Assignment
from annotated_transformer.exercises.instructor.session import CellFailed, Checked, Session
from annotated_transformer.exercises.instructor.submission import Submission, UnreadableError

MISSING = "missing"
MAX_FAILED_CELLS = 50
TOO_SLOW = "stopped at the limit of time"


@dataclass(frozen=True)
class Verdict:
    """Of one exercise in one notebook.

    state: "passed", "wrong", "not attempted", or "missing" where no check gave a verdict. share: of
    the points, 1 where passed; of several named answers those that are right. mistakes: names of
    the misconceptions. message: the whole report as the learner would see it. remarks: what a
    reader of the marks should know besides.
    """

    exercise_id: str
    state: str
    share: float = 0.0
    mistakes: tuple[str, ...] = ()
    finding: str = ""
    message: str = ""
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Mark:
    """Of one notebook.

    verdicts: by exercise, the last check of each. end: "finished"; "time", "memory",
    "processes" (stopped at that limit); "killed" (by the system, which does so where memory runs
    out); "crashed" (its process ended itself); "unreadable" (no notebook); "failed" (the marker
    did). failed_cells: what cells that check something raised, but for those that use what is not
    there while a notebook is graded. walls: what stood around the process. by_the_clock: it stopped
    something at work, which on a less busy machine may need less; the processor's time does not
    depend on that.
    """

    name: str
    digest: str = ""
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    end: str = "finished"
    problem: str = ""
    failed_cells: tuple[tuple[int, str], ...] = ()
    walls: tuple[str, ...] = ()
    submitted: datetime | None = None
    by_the_clock: bool = False

    @property
    def may_differ(self) -> bool:
        """Could it be another mark when the machine has nothing else to do?"""
        return self.by_the_clock or self.end == "killed"

    def verdict(self, exercise_id: str) -> Verdict:
        """Of this exercise; "missing" where the notebook gave none."""
        return self.verdicts.get(exercise_id, Verdict(exercise_id, MISSING))

    def points(self, assignment: Assignment) -> float:
        """What the notebook earns, lateness taken off, to a hundredth."""
        earned = sum(p * self.verdict(name).share for name, p in assignment.points.items())
        return round(earned * assignment.share(self.submitted), 2)


def mark_submission(
    submission: Submission,
    seconds: float,
    limits: Limits | None = None,
    assignment: Assignment | None = None,
) -> Mark:
    """Run one notebook and grade what it checks. Raises nothing: what goes wrong is in the mark.

    seconds: for all its cells and checks. limits: of each check. assignment: says the seeds.
    """
    assignment = assignment or Assignment({})
    try:
        return _mark(submission, submission.cells(), seconds, limits or Limits(), assignment)
    except UnreadableError as error:
        return Mark(submission.name, submission.digest, end="unreadable", problem=str(error))
    except Exception as error:  # ours; the marks of the others are not to be lost over it
        return failed(submission, f"{type(error).__name__}: {error}")


def failed(submission: Submission, why: str) -> Mark:
    """The mark of a notebook that was not graded through no fault that is known."""
    problem = f"made the marker fail ({why[:200]}); grade it by itself, and tell us"
    return Mark(submission.name, submission.digest, end="failed", problem=problem)


def _mark(
    submission: Submission,
    cells: list[tuple[int, str]],
    seconds: float,
    limits: Limits,
    assignment: Assignment,
) -> Mark:
    verdicts: dict[str, Verdict] = {}
    raised: list[tuple[int, str]] = []
    sources = dict(cells)
    with Session(cells, limits, seconds) as session:
        for event in session.events():
            if isinstance(event, Checked):
                seed = assignment.seed(event.exercise_id, event.seed)
                exercise = find(event.exercise_id, seed)
                if exercise is None:
                    session.decline()
                    continue
                report, remarks = session.grade(exercise), []
                if session.was_too_slow:
                    remarks.append(TOO_SLOW)
                if exercise.vary is not None and (seed or event.seed):
                    named = f"; its cell names {event.seed}" if seed != event.seed else ""
                    remarks.append(f"graded with seed {seed}{named}"[:80])
                remarks += report.notes
                verdicts[exercise.id] = _verdict(report, remarks)
            elif _is_told(event, sources) and len(raised) < MAX_FAILED_CELLS:
                raised.append((event.number, event.error))
    return Mark(
        submission.name,
        submission.digest,
        verdicts,
        session.end,
        failed_cells=tuple(raised),
        walls=tuple(session.walls),
        by_the_clock=session.by_the_clock,
    )


def _is_told(event: CellFailed, sources: Mapping[int, str]) -> bool:
    """Does it matter to a reader of the marks that this cell raised?"""
    return not event.skipped and "check(" in sources.get(event.number, "")


def _verdict(report: Report, remarks: list[str]) -> Verdict:
    state = "passed" if report.passed else "wrong" if report.attempted else "not attempted"
    return Verdict(
        report.exercise_id,
        state,
        report.share,
        report.mistakes,
        report.finding,
        report.message,
        tuple(remarks),
    )
