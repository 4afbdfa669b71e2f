"""Markers side by side: one that hangs, dies or is slow costs nobody else a mark."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from annotated_transformer.cli import grade as command
from annotated_transformer.cli import main
from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.instructor import markers, session
from annotated_transformer.exercises.instructor.assignment import Assignment
from annotated_transformer.exercises.instructor.markers import mark_all
from annotated_transformer.exercises.instructor.marking import (
    TOO_SLOW,
    Mark,
    Verdict,
    mark_submission,
)
from annotated_transformer.exercises.instructor.submission import Submission, read_submission
from annotated_transformer.exercises.instructor.summary import as_text
from annotated_transformer.exercises.notebooks import IMPORTS, code_solved

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")
GOOD = code_solved(catalogue()["masks.causal"])
LOOP = "def causal_mask(n):\n    while True:\n        pass\ncheck('masks.causal', causal_mask)"
CALL = "import sys; from annotated_transformer.cli import main; sys.exit(main())"


def write(path: Path, *sources: str) -> Path:
    cells = [{"cell_type": "code", "metadata": {}, "source": source} for source in sources]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(notebook))
    return path


@pytest.mark.slow
def test_a_marker_has_a_clock(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ipynb", IMPORTS, GOOD, "while True:\n    pass")
    (mark,) = mark_all([path], seconds=60, jobs=1, clock=3)
    assert mark.end == "failed"
    assert "took over 3 seconds" in mark.problem


@pytest.mark.slow
def test_only_those_beside_a_marker_that_dies_are_marked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The marks of those that were done before stay, the rest is marked as if nothing were."""
    monkeypatch.setattr(markers, "_by_the_clock", _dies_at_three)
    work = [(number, Submission(str(number), b"x")) for number in range(6)]
    found = list(markers._marked(work, 1, Assignment({}), 60, 2))
    assert sorted(number for number, _ in found) == list(range(6))
    lost = {number for number, mark in found if mark is None}
    assert 3 in lost
    assert len(lost) <= 2  # it, and the one beside it


def _dies_at_three(submission: Submission, *rest: Any) -> Mark:
    if submission.name == "3":
        os.kill(os.getpid(), signal.SIGKILL)
    return Mark(submission.name)


def _marks_patiently(submission: Submission, seconds: float, *rest: Any) -> Mark:
    """By the processor: on a busy machine the clock's limit could come before."""
    session.CHECK_PATIENCE = session.PATIENCE = 120.0
    return mark_submission(submission, seconds, Limits(seconds=1))


@pytest.mark.slow
def test_a_verdict_by_the_processor_stands_and_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another time would change nothing."""
    monkeypatch.setattr(markers, "_by_the_clock", _marks_patiently)
    names = ("a", "b")
    paths = [write(tmp_path / f"{n}.ipynb", IMPORTS, LOOP if n == "a" else GOOD) for n in names]
    order: list[str] = []
    marks = mark_all(
        paths, seconds=60, jobs=1, told=lambda mark: order.append(Path(mark.name).stem)
    )
    assert order == ["a", "b"]
    assert marks[0].verdict("masks.causal").remarks == (TOO_SLOW,)
    assert TOO_SLOW in as_text(marks, Assignment({"masks.causal": 1}))


BY_THE_CLOCK = {
    # at work, but for a small share of the time, as on a busy machine
    "shared": ("time.sleep(0.01)\n        sum(range(60_000))", True),
    "sleeps": ("time.sleep(1)", False),
    "works": ("pass", False),
}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who has worked")
@pytest.mark.parametrize("where", ["check", pytest.param("cell", marks=pytest.mark.slow)])
@pytest.mark.parametrize("what", BY_THE_CLOCK)
@pytest.mark.slow
def test_only_what_the_clock_stopped_at_work_may_differ(
    what: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, differs = BY_THE_CLOCK[what]
    source = "import time\n" + LOOP.replace("pass", line)
    if where == "cell":
        source = f"import time\nwhile True:\n        {line}"
    # Where it works the processor's limit has to come first; where it sleeps, the time that its
    # beginning takes, on a busy machine too, has to be a small share of the patience.
    patience = {"works": 120.0, "sleeps": 10.0, "shared": 3.0}[what]
    monkeypatch.setattr(session, "CHECK_PATIENCE", patience)
    monkeypatch.setattr(session, "PATIENCE", patience)
    cells = [{"cell_type": "code", "metadata": {}, "source": one} for one in (IMPORTS, source)]
    tree = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    submission = Submission("x.ipynb", json.dumps(tree).encode())
    mark = mark_submission(submission, 1 if where == "cell" else 60, Limits(seconds=1))
    assert mark.by_the_clock is differs
    if where == "cell":
        assert mark.end == "time"
    else:
        assert mark.verdict("masks.causal").remarks == (TOO_SLOW,)


SLOW = Mark("a", "1", {"x": Verdict("x", "wrong", remarks=(TOO_SLOW,))}, by_the_clock=True)


@pytest.mark.parametrize("first", [SLOW, Mark("a", "1", end="killed")])
def test_the_second_verdict_counts(
    first: Mark, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    good = Mark("a", "1", {"x": Verdict("x", "passed", 1.0)})
    rounds = iter([[(0, first)], [(0, good)]])
    asked: list[int] = []

    def marked(work: Any, seconds: float, assignment: Any, clock: float, jobs: int) -> Any:
        asked.append(jobs)
        return iter(next(rounds))

    monkeypatch.setattr(markers, "_marked", marked)
    (mark,) = mark_all([write(tmp_path / "a.ipynb", "")], seconds=1, jobs=4)
    assert mark.verdict("x").state == "passed"
    assert asked == [4, 1]


def test_second_verdicts_take_no_longer_than_the_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """One whose marker was lost is marked in any case, and before the others."""
    asked: list[int] = []
    now = [0.0]
    monkeypatch.setattr(markers, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def marked(work: Any, seconds: float, assignment: Any, clock: float, jobs: int) -> Any:
        numbers = [number for number, _ in work]
        if len(numbers) > 1:
            return iter([(number, None if number == 3 else SLOW) for number in numbers])
        asked.extend(numbers)
        now[0] += 0.2
        return iter([(numbers[0], SLOW)])

    monkeypatch.setattr(markers, "_marked", marked)
    paths = [write(tmp_path / f"{n}.ipynb", "") for n in range(4)]
    assert len(mark_all(paths, seconds=1, jobs=4, clock=0.3)) == 4
    assert asked == [3, 0]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory there is")
def test_the_memory_of_a_marker_has_a_bound() -> None:
    eats = (
        "from annotated_transformer.exercises.instructor import markers\n"
        "markers._begin()\n"
        "try:\n    bytearray(markers.MARKER_MEMORY + 2**30)\n"
        "except MemoryError:\n    print('bounded')"
    )
    done = subprocess.run([sys.executable, "-c", eats], capture_output=True, text=True, check=True)
    assert done.stdout == "bounded\n"


@pytest.mark.slow
def test_a_busy_machine_makes_no_answer_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other work takes the clock's time, and an answer is asked for the processor's.

    With more patience than is usual, since this machine may be busy already.
    """
    for name in ("CHECK_PATIENCE", "PATIENCE"):
        monkeypatch.setattr(session, name, 60.0)
    monkeypatch.setattr(session, "STARTING_SECONDS", 600.0)
    hogs = [
        subprocess.Popen([sys.executable, "-c", "while True: pass"])
        for _ in range(3 * (os.cpu_count() or 1))
    ]
    try:
        body = (
            "    start = time.process_time()\n    while time.process_time() - start < 0.4: pass\n"
        )
        slow = "import time\n" + GOOD.replace("):\n", "):\n" + body, 1)
        mark = mark_submission(read_submission(write(tmp_path / "a.ipynb", IMPORTS, slow)), 60)
    finally:
        for hog in hogs:
            hog.kill()
            hog.wait()
    assert mark.verdict("masks.causal").state == "passed", mark


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child of its parent's end")
@pytest.mark.slow
def test_nothing_is_left_of_a_grade_that_is_killed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.ipynb", IMPORTS, "while True:\n    pass")
    with subprocess.Popen([sys.executable, "-c", CALL, "grade", str(path)]) as grade:
        here = psutil.Process(grade.pid)
        deadline = time.monotonic() + 300
        children: list[psutil.Process] = []
        while time.monotonic() < deadline:
            with contextlib.suppress(psutil.NoSuchProcess):
                children = here.children(recursive=True)
                if sum("worker.py" in " ".join(one.cmdline()) for one in children) >= 2:
                    break
            time.sleep(0.1)
        time.sleep(1)
        grade.kill()
    _, alive = psutil.wait_procs(children, timeout=60)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []


# --- where nothing keeps notebooks apart ----------------------------------------------------------


@pytest.mark.parametrize(
    ("walls", "options", "jobs"),
    [
        (["limits"], [], 1),
        (["limits"], ["--jobs", "2", "--trust"], 2),
        (["limits"], ["--jobs", "1"], 1),
        (["calls", "limits"], ["--jobs", "2"], 2),
        (["namespaces"], ["--jobs", "2"], 2),
        (["limits"], ["--jobs", "2"], None),
    ],
)
def test_side_by_side_only_behind_walls(
    walls: list[str],
    options: list[str],
    jobs: int | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked: list[int] = []

    def marked(paths: list[Path], *, jobs: int, **rest: Any) -> list[Mark]:
        asked.append(jobs)
        return [Mark(str(path)) for path in paths]

    monkeypatch.setattr(markers, "mark_all", marked)
    monkeypatch.setattr(markers, "walls_here", lambda: walls)
    monkeypatch.setattr(markers, "usual_jobs", lambda: 8)
    for name in ("a", "b"):
        write(tmp_path / f"{name}.ipynb", "x = 1")
    status = main(["grade", str(tmp_path), "--exercises", "masks.causal", *options])
    assert asked == ([] if jobs is None else [jobs])
    assert status == (2 if jobs is None else 0)
    if jobs is None:
        assert "no wall keeps notebooks" in capsys.readouterr().err


def test_the_folder_given_names_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "bob").mkdir()
    path = write(tmp_path / "bob" / "week3.ipynb", "x = 1")
    assert command._notebooks([str(tmp_path), str(path)]) == [(path, "bob/week3.ipynb")]


def test_the_doctor_says_which_walls_can_be_put_up(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(markers, "walls_here", lambda: ["files", "limits"])
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert "walls around a notebook: files, limits; missing: namespaces, mounts, calls" in said
    assert "Not every wall around notebooks of others can be put up here" in said
