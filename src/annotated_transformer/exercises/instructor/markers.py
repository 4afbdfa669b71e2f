"""Markers side by side: every notebook in a process of its own, marked by a process of its own.

What one does reaches no other: a marker that dies, hangs or eats memory costs its own notebook one
more try, alone, after all others. So does a verdict by the clock, or by a system that was short of
memory: the machine may have been busy.
"""

import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from datetime import datetime
from multiprocessing import get_context
from pathlib import Path

from annotated_transformer.exercises.grader.confinement import Limits, address_space
from annotated_transformer.exercises.instructor.assignment import Assignment
from annotated_transformer.exercises.instructor.marking import Mark, failed, mark_submission
from annotated_transformer.exercises.instructor.process import STARTING_SECONDS
from annotated_transformer.exercises.instructor.session import PATIENCE, Session
from annotated_transformer.exercises.instructor.submission import Submission, read_submission
from annotated_transformer.exercises.instructor.walls import die_with_parent, limit_memory

MARKER_MEMORY = 4 * 2**30  # bytes of address space, on top of what it has at its start


def mark_all(
    paths: Sequence[Path],
    *,
    seconds: float,
    jobs: int,
    submitted: Sequence[datetime] = (),
    assignment: Assignment | None = None,
    told: Callable[[Mark], None] = lambda mark: None,
    clock: float | None = None,
) -> list[Mark]:
    """Mark every notebook, `jobs` side by side; in the order given. `told` hears of each.

    seconds: of processor time, for a notebook. submitted: when each was handed in, where that is
    known. clock: seconds after which a marker that has not finished is stopped.
    """
    submissions = [read_submission(path) for path in paths]  # all, before the first is run
    clock = clock or 2 * STARTING_SECONDS + seconds * PATIENCE * 1.5
    marks: dict[int, Mark] = {}

    def keep(number: int, mark: Mark) -> None:
        marks[number] = replace(mark, submitted=submitted[number] if submitted else None)
        told(marks[number])

    def rounds(numbers: list[int], side_by_side: int) -> Iterator[tuple[int, Mark | None]]:
        work = [(number, submissions[number]) for number in numbers]
        return _marked(work, seconds, assignment or Assignment({}), clock, side_by_side)

    again: dict[int, Mark | None] = {}
    start = time.monotonic()
    for number, mark in rounds(list(range(len(paths))), jobs):
        if mark is None or mark.may_differ:
            again[number] = mark
        else:
            keep(number, mark)
    now = time.monotonic()
    last = now + max(now - start, clock)  # so a class takes at most about twice its time
    for number, first in sorted(again.items(), key=lambda item: (item[1] is not None, item[0])):
        if first is not None and time.monotonic() > last:
            keep(number, first)
            continue
        ((_, second),) = rounds([number], 1)
        why = f"its marker ended, or took over {clock:g} seconds"
        keep(number, second or first or failed(submissions[number], why))
    return [marks[number] for number in range(len(paths))]


def usual_jobs() -> int:
    """As many notebooks side by side as there are cores."""
    return os.cpu_count() or 1


def walls_here() -> list[str]:
    """The walls that this machine lets be put up around a notebook."""
    with Session([], Limits(), 60) as session:
        list(session.events())
        return session.walls


def _marked(
    work: Sequence[tuple[int, Submission]],
    seconds: float,
    assignment: Assignment,
    clock: float,
    jobs: int,
) -> Iterator[tuple[int, Mark | None]]:
    """The mark of each; None where its marker died, or that of one beside it."""
    waiting = deque(work)
    while waiting:
        running: dict[Future[Mark], int] = {}
        with ProcessPoolExecutor(jobs, get_context("spawn"), initializer=_begin) as pool:
            with contextlib.suppress(BrokenProcessPool):
                while waiting or running:
                    while waiting and len(running) < jobs:
                        number, submission = waiting[0]
                        task = (submission, seconds, assignment, clock)
                        running[pool.submit(_by_the_clock, *task)] = number
                        waiting.popleft()
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        mark = future.result()
                        yield running.pop(future), mark
            yield from ((number, None) for number in running.values())


def _begin() -> None:
    """A new marker: it ends with `grade`, and its memory has a bound."""
    die_with_parent()
    size = address_space()
    if size is not None:
        limit_memory(size + MARKER_MEMORY)


def _by_the_clock(
    submission: Submission, seconds: float, assignment: Assignment, clock: float
) -> Mark:
    """`mark_submission`; past `clock` seconds the kernel ends this process, whatever it is at."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, clock)
    try:
        return mark_submission(submission, seconds, assignment=assignment)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
