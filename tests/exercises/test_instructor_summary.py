"""What is written about the marks: a table, a text, a tree, and no name that forges a line."""

import contextlib
import csv
import io
import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from annotated_transformer.exercises.instructor.assignment import Assignment
from annotated_transformer.exercises.instructor.endings import ENDINGS
from annotated_transformer.exercises.instructor.marking import Mark, Verdict
from annotated_transformer.exercises.instructor.summary import _ENDS, as_csv, as_text, as_tree
from sampling import one_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
WEEK = Assignment({"masks.causal": 1.0, "attention.predict_shapes": 4.0}, title="Week", due=NOON)
PASSED = Verdict("masks.causal", "passed", 1.0)
HALF = Verdict("attention.predict_shapes", "wrong", 0.5, ("square-scores",), "2 of 4 right.")
MARKS = [
    Mark(
        "=a.ipynb",
        "00",
        {"masks.causal": PASSED},
        walls=("namespaces", "mounts", "files", "limits"),
    ),
    Mark("b.ipynb", "01", {HALF.exercise_id: HALF}, end="time", walls=("limits",)),
    Mark("c.ipynb", end="unreadable", problem="is not a notebook"),
]


def test_a_table_of_grades_holds_no_formula() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(MARKS, WEEK))))
    assert [row["notebook"] for row in rows] == ["'=a.ipynb", "b.ipynb", "c.ipynb"]
    assert [float(row["points"]) for row in rows] == [1.0, 2.0, 0.0]
    assert [float(row["masks.causal"]) for row in rows] == [1.0, 0.0, 0.0]


def test_the_text_says_state_reason_and_missing_walls() -> None:
    text = as_text(MARKS, WEEK)
    assert "b.ipynb: 2 of 5 points" in text
    assert "square-scores" in text
    assert "stopped at its time limit" in text
    assert "not graded: it is not a notebook" in text
    assert "missing: namespaces, mounts, files, calls" in text


@pytest.mark.parametrize("end", [*ENDINGS.values(), "crashed"])
def test_every_end_reaches_text_tree_and_table(end: str) -> None:
    mark = Mark("b.ipynb", "01", {HALF.exercise_id: HALF}, end=end, walls=("limits",))
    (line,) = [one for one in as_text([mark], WEEK).splitlines() if "no verdict" in one]
    assert line.startswith(f"  {_ENDS[end]}; ")
    assert as_tree([mark], WEEK)["notebooks"][0]["end"] == end
    assert [row["end"] for row in csv.DictReader(io.StringIO(as_csv([mark], WEEK)))] == [end]


def test_the_guide_for_instructors_names_every_end() -> None:
    guide = (Path(__file__).parents[2] / "book" / "instructors.md").read_text("utf-8")
    for end in ("finished", *_ENDS, "unreadable", "failed"):
        assert f"| `{end}` |" in guide


def test_what_a_notebook_says_stays_on_its_line() -> None:
    forged = "x\nb.ipynb: 5 of 5 points\r\x1b[31m"
    verdict = Verdict("masks.causal", "wrong", finding=forged)
    mark = Mark(f"a{forged}", "00", {"masks.causal": verdict}, failed_cells=((1, forged),))
    text = as_text([mark], WEEK)
    assert not [line for line in text.splitlines() if line.startswith("b.ipynb")]
    assert "\x1b" not in text
    assert len(text.splitlines()) == 6


def test_late_work_keeps_its_share() -> None:
    late = replace(MARKS[0], submitted=NOON + timedelta(hours=1))
    half_a_day = replace(WEEK, percent_per_day=50)
    assert late.points(half_a_day) == 0.5
    assert "late: 50% of the points count" in as_text([late], half_a_day)
    assert as_tree([late], half_a_day)["notebooks"][0]["late_share"] == 0.5


def test_the_same_file_twice_is_said() -> None:
    marks = [replace(MARKS[1], name="a/x.ipynb"), MARKS[1], replace(MARKS[0], digest="1")]
    assert as_tree(marks, WEEK)["same_file"] == [["a/x.ipynb", "b.ipynb"]]
    assert "The same file, byte for byte: a/x.ipynb, b.ipynb" in as_text(marks, WEEK)
    assert "same file" not in as_text(MARKS, WEEK)


NAMES = ["\udcff.ipynb", "a\x1b[2J\nb,5,5,finished.ipynb", "＝cmd.ipynb", "@x", " =x", "Ω.ipynb"]


def test_no_name_is_a_formula_or_a_line_of_its_own() -> None:
    text = as_csv([replace(MARKS[0], name=name) for name in NAMES], WEEK)
    assert len(text.splitlines()) == len(NAMES) + 1
    names = [row[0] for row in csv.reader(io.StringIO(text))][1:]
    assert names[2:] == ["'＝cmd.ipynb", "'@x", "' =x", "Ω.ipynb"]
    assert names[:2] == [r"\udcff.ipynb", r"a\x1b[2J\nb,5,5,finished.ipynb"]


@pytest.mark.parametrize("form", one_in(3, ["csv", "json", "text"]))
def test_a_name_of_any_bytes_loses_no_marks(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    for name in NAMES:
        name = name if name.endswith(".ipynb") else f"{name}.ipynb"
        with contextlib.suppress(OSError):  # a system whose names are text
            (folder / name).write_bytes(b"[]")
    command = "import sys; from annotated_transformer.cli import main; sys.exit(main())"
    call = [sys.executable, "-c", command, "grade", folder, "--format", form, "--jobs", "1"]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run(
        [*map(str, call), "--exercises", "masks.causal"], capture_output=True, env=ascii_only
    )
    assert done.returncode == 1, done.stderr.decode()
    assert b"\x1b" not in done.stdout + done.stderr
    if form == "csv":
        rows = list(csv.reader(io.StringIO(done.stdout.decode())))
        assert len(rows) == len(list(folder.iterdir())) + 1
        assert not [row for row in rows if row[0].lstrip()[:1] in "=+-@＝＋－＠"]
        assert len(done.stdout.splitlines()) == len(rows)
