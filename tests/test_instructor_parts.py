"""The parts of instructor mode one by one: what counts, what is written, what crosses over."""

import contextlib
import csv
import io
import json
import os
import struct
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.cli import main
from annotated_transformer.errors import CallError
from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Report, call
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.values import pack, unpack
from annotated_transformer.exercises.instructor import marking
from annotated_transformer.exercises.instructor.assignment import (
    EXAMPLE,
    Assignment,
    read_assignment,
    read_times,
    times_of,
)
from annotated_transformer.exercises.instructor.marking import Mark, Verdict, mark_submission
from annotated_transformer.exercises.instructor.serving import MAX_GRAPHS, Service
from annotated_transformer.exercises.instructor.session import Checked, Session
from annotated_transformer.exercises.instructor.submission import (
    Submission,
    UnreadableError,
    read_submission,
)
from annotated_transformer.exercises.instructor.summary import as_csv, as_text, as_tree
from annotated_transformer.exercises.instructor.walls import without
from annotated_transformer.exercises.notebooks import code_solved

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
IMPORTS = "import torch\nfrom annotated_transformer.exercises import check"


def of_cells(*sources: str) -> dict[str, Any]:
    cells = [{"cell_type": "code", "metadata": {}, "source": s} for s in sources]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


# --- what counts ----------------------------------------------------------------------------------


def test_the_example_of_an_assignment_is_one(tmp_path: Path) -> None:
    path = tmp_path / "week.toml"
    path.write_text(EXAMPLE)
    assignment = read_assignment(path)
    assert assignment.points == {"attention.softmax": 2, "attention.predict_shapes": 3}
    assert (assignment.seeds, assignment.any_seed) == ({"attention.predict_shapes": 7}, False)
    assert assignment.due == datetime(2026, 11, 30, 23, 59, tzinfo=UTC)
    assert assignment.grace == timedelta(minutes=15)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("points = 3", "wrong kind"),
        ("[points]", "no exercise is named"),
        ("[points]\n'masks.causl' = 1", "no exercise 'masks.causl'"),
        ("[points]\n'masks.causal' = -1", "expected a number"),
        ("[points]\n'masks.causal' = true", "expected a number"),
        ("due = 3\n[points]\n'masks.causal' = 1", "due is 3"),
        ("late = 3\n[points]\n'masks.causal' = 1", "'late' is not known"),
        ("[points", "not a TOML file"),
    ],
)
def test_a_wrong_assignment_says_what_is_wrong(text: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "week.toml"
    path.write_text(text)
    with pytest.raises(CallError, match=why):
        read_assignment(path)


@given(
    minutes=st.integers(-10_000, 20_000),
    grace=st.integers(0, 600),
    percent=st.floats(0, 100),
    refused=st.none() | st.integers(0, 10),
)
def test_lateness_never_pays(minutes: int, grace: int, percent: float, refused: int | None) -> None:
    assignment = Assignment(
        {},
        due=NOON,
        grace=timedelta(minutes=grace),
        percent_per_day=percent,
        refused_after=None if refused is None else timedelta(days=refused),
    )
    share = assignment.share(NOON + timedelta(minutes=minutes))
    later = assignment.share(NOON + timedelta(minutes=minutes + 1))
    assert 0 <= later <= share <= 1
    if minutes <= grace:
        assert share == 1


def test_each_day_that_has_begun_costs() -> None:
    assignment = Assignment({}, due=NOON, percent_per_day=10, refused_after=timedelta(days=3))
    hours = {0: 1.0, 1: 0.9, 24: 0.9, 25: 0.8, 72: 0.7, 73: 0.0}
    for late, share in hours.items():
        assert assignment.share(NOON + timedelta(hours=late)) == pytest.approx(share)
    assert assignment.share(None) == 1


def test_times_are_read_and_a_wrong_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "times.csv"
    path.write_text("notebook,submitted\na.ipynb,2026-11-30T12:00:00\n")
    assert read_times(path) == {"a.ipynb": NOON}
    path.write_text("notebook,submitted\na.ipynb,2026-11-30T12:00:00Z\nb.ipynb,yesterday\n")
    with pytest.raises(CallError, match="line 3"):
        read_times(path)


# --- what is written ------------------------------------------------------------------------------

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


# --- notebooks that are none, and what they may hold ----------------------------------------------


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"{}", b'{"cells": 3}', b"\xff\xfe", b"[" * 100_000, b'{"cells": {}}']
)
def test_what_is_no_notebook_is_refused(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    path.write_bytes(data)
    with pytest.raises(UnreadableError):
        read_submission(path).cells()


def test_odd_cells_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    cells = [3, {}, {"cell_type": "code"}, {"cell_type": "code", "source": [1, "x = 1"]}]
    path.write_text(json.dumps({"cells": cells}))
    ((number, source),) = read_submission(path).cells()
    assert (number, source.strip()) == (4, "x = 1")


def test_magics_and_shell_lines_do_not_stop_a_cell(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    mask = "def causal_mask(n):\n    return torch.ones(n, n).tril().bool()\n"
    cells = ["%matplotlib inline\n!pip install x\n" + IMPORTS, f"%%time\n{mask}", "%pinfo mask"]
    path.write_text(json.dumps(of_cells(*cells, "check('masks.causal', causal_mask)")))
    mark = mark_submission(read_submission(path), 60)
    assert mark.verdict("masks.causal").state == "passed"
    assert mark.failed_cells == ()


def test_very_many_magics_are_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    path.write_text(json.dumps(of_cells("x = !ls\n" * 5000)))
    begun = time.monotonic()
    assert len(read_submission(path).cells()) == 1
    assert time.monotonic() - begun < 5


def test_a_cell_with_a_syntax_error_costs_its_own_exercise_only(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    mask = "def causal_mask(n):\n    return torch.ones(n, n).tril().bool()\n"
    broken = "def padding_mask(t:\ncheck('masks.padding', padding_mask)"
    good = f"{mask}check('masks.causal', causal_mask)"
    path.write_text(json.dumps(of_cells(IMPORTS, broken, good)))
    mark = mark_submission(read_submission(path), 60)
    assert mark.verdict("masks.causal").state == "passed"
    assert mark.verdict("masks.padding").state == "missing"
    assert [number for number, _ in mark.failed_cells] == [2]


def test_an_unknown_exercise_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.ipynb"
    good = "check('masks.causal', lambda n: torch.ones(n, n).tril().bool())"
    path.write_text(json.dumps(of_cells(IMPORTS, "check('no.such', print)", "check(3)", good)))
    assert set(mark_submission(read_submission(path), 60).verdicts) == {"masks.causal"}


def test_a_marker_that_fails_loses_no_other_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*arguments: object) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr(marking, "_mark", breaks)
    mark = mark_submission(Submission("x.ipynb", b'{"cells": []}'), 60)
    assert mark.end == "failed"
    assert "OverflowError: too large" in mark.problem


# --- functions that stay with the marker ----------------------------------------------------------


def calls_a_function(x: Tensor, functions: dict[str, Any]) -> Tensor:
    value: Tensor = functions["double"](x) + functions["pair"](x, scale=3.0)[1]
    return value


def make_functions(generator: torch.Generator, dtype: torch.dtype) -> Call:
    w = torch.randn(3, 3, generator=generator, dtype=dtype)
    functions = {
        "double": lambda x: 2 * x @ w,
        "pair": lambda x, scale: (x.sum(), (x * scale).tanh()),
    }
    return call(torch.randn(2, 3, generator=generator, dtype=dtype), functions)


REMOTE = Exercise(
    *("remote.calls", "Calls", "code", 1, 1, "f(x, functions)", "Add.", "Add.", "None"),
    ("a", "b", "c"),
    calls_a_function,
    "Because.",
    (),
    (),
    "def f(x, functions):\n    ...",
    cases=(Case("x of shape (2, 3)", make_functions, gradient="required"),),
)


def graded(source: str, exercise: Exercise = REMOTE) -> Report:
    cells = [(1, IMPORTS), (2, source), (3, f"check({exercise.id!r}, f)")]
    with Session(cells, Limits(), 60) as session:
        for event in session.events():
            if isinstance(event, Checked):
                return session.grade(exercise)
    raise AssertionError("the notebook checked nothing")


def test_a_gradient_flows_through_a_function_that_stayed_outside() -> None:
    call_both = "functions['double'](x) + functions['pair'](x, scale=3.0)[1]"
    report = graded(f"def f(x, functions):\n    return {call_both}")
    assert report.passed, report.message


def test_a_gradient_that_is_cut_is_noticed() -> None:
    source = (
        "def f(x, functions):\n"
        "    return functions['double'](x) + functions['pair'](x, scale=3.0)[1].detach()"
    )
    assert graded(source).rung == "gradient"


def test_what_a_function_outside_raises_is_raised_inside() -> None:
    source = (
        "def f(x, functions):\n"
        "    try:\n"
        "        functions['double'](x[:, :2])\n"
        "    except RuntimeError:\n"
        "        return functions['double'](x) + functions['pair'](x, scale=3.0)[1]"
    )
    assert graded(source).passed


def test_a_function_outside_is_not_called_on_large_inputs() -> None:
    source = "def f(x, functions):\n    return functions['double'](torch.ones(100_000, 3))"
    report = graded(source)
    assert not report.passed
    assert "over 5000 numbers" in report.message


def test_inputs_keep_their_layout() -> None:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(torch.arange(6.0, dtype=dtype).reshape(2, 3).T)

    exercise = replace(
        REMOTE, reference=lambda x: x.reshape(-1), cases=(Case("a transposed x", make),)
    )
    assert graded("def f(x):\n    return x.reshape(-1)", exercise).passed
    assert graded("def f(x):\n    return x.view(-1)", exercise).rung == "returns"


# --- files that are handed in ---------------------------------------------------------------------


def test_a_link_or_a_pipe_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text(json.dumps(of_cells("x = 1")))
    (tmp_path / "link.ipynb").symlink_to("a.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    os.mkfifo(tmp_path / "pipe.ipynb")
    wanted = {"link": "is a link", "folder": "no ordinary file", "pipe": "no ordinary file"}
    for name, why in wanted.items():
        with pytest.raises(UnreadableError, match=why):
            read_submission(tmp_path / f"{name}.ipynb").cells()


def test_a_large_file_is_asked_for_without_its_outputs(tmp_path: Path) -> None:
    (tmp_path / "x.ipynb").write_bytes(b" " * (4 * 2**20 + 1))
    submission = read_submission(tmp_path / "x.ipynb")
    assert submission.data == b""
    with pytest.raises(UnreadableError, match="larger than 4 MiB; clear its outputs"):
        submission.cells()


def test_long_cells_with_magics_are_not_waited_for() -> None:
    long = "\n".join(["!ls"] * 50 + ["x = f(1, 2, 3) + y[4] * (z - 5)"] * 8000)
    medium = "\n".join(["!ls"] * 40 + ["x = f(1, 2, 3) + y[4] * (z - 5)"] * 300)
    begun = time.monotonic()
    for cells in ([long], [medium] * 300):
        assert Submission("x", json.dumps(of_cells(*cells)).encode()).cells()
    assert time.monotonic() - begun < 60


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


def test_a_name_of_any_bytes_loses_no_marks(tmp_path: Path) -> None:
    folder = tmp_path / "names"
    folder.mkdir()
    for name in NAMES:
        name = name if name.endswith(".ipynb") else f"{name}.ipynb"
        with contextlib.suppress(OSError):  # a system whose names are text
            (folder / name).write_bytes(b"[]")
    command = "import sys; from annotated_transformer.cli import main; sys.exit(main())"
    for form in ("csv", "text", "json"):
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


# --- when it was handed in ------------------------------------------------------------------------


def found_in(folder: str, *names: str) -> list[tuple[Path, str]]:
    return [(Path(folder) / name, name) for name in names]


@pytest.mark.parametrize("row", ["bob/week3.ipynb", "late/bob/week3.ipynb", "./bob//week3.ipynb"])
def test_a_time_is_found_by_every_name_of_a_notebook(row: str) -> None:
    assert times_of(found_in("late", "bob/week3.ipynb"), {row: NOON}) == [NOON]
    assert times_of(found_in("late", "bob/week3.ipynb"), {"week3.ipynb": NOON}) == [NOON]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (["a/x.ipynb"], "Notebooks without a time: 'in/b/x.ipynb'"),
        (["a/x.ipynb", "b/x.ipynb", "c/x.ipynb"], "Rows without a notebook: 'c/x.ipynb'"),
        (["x.ipynb"], "without a time: 'in/a/x.ipynb', 'in/b/x.ipynb'\nRows .*: 'x.ipynb'"),
        ([], "Notebooks without a time"),
    ],
)
def test_times_that_do_not_match_stop_the_call(rows: list[str], why: str) -> None:
    with pytest.raises(CallError, match=why):
        times_of(found_in("in", "a/x.ipynb", "b/x.ipynb"), dict.fromkeys(rows, NOON))


def test_two_times_for_one_notebook_stop_the_call(tmp_path: Path) -> None:
    times = {"a/x.ipynb": NOON, "in/a/x.ipynb": NOON + timedelta(days=1)}
    with pytest.raises(CallError, match="more than one time"):
        times_of(found_in("in", "a/x.ipynb"), times)
    path = tmp_path / "times.csv"
    path.write_text("notebook,submitted\nx,2026-11-30\nx,2026-12-30\n")
    with pytest.raises(CallError, match="two times"):
        read_times(path)


# --- seeds ----------------------------------------------------------------------------------------

DRAWN = "attention.predict_shapes"


@pytest.mark.parametrize(
    ("seeds", "any_seed", "named", "wanted"),
    [({}, False, 7, 0), ({DRAWN: 5}, False, 7, 5), ({DRAWN: 5}, True, 7, 7), ({}, True, 0, 0)],
)
def test_the_assignment_says_the_seed(
    seeds: dict[str, int], any_seed: bool, named: int, wanted: int
) -> None:
    assert Assignment({}, seeds=seeds, any_seed=any_seed).seed(DRAWN, named) == wanted


def test_an_answer_to_another_instance_does_not_count() -> None:
    exercise = catalogue()[DRAWN]
    assert exercise.vary is not None
    cell = code_solved(exercise).replace(
        f'check("{DRAWN}",', f'check("{DRAWN}", seed=7, candidate='
    )
    assert "seed=7" in cell
    submission = Submission("x", json.dumps(of_cells(IMPORTS, cell)).encode())
    as_printed = mark_submission(submission, 60).verdict(DRAWN)
    assert as_printed.state == "passed"
    assert as_printed.remarks == ("graded with seed 0; its cell names 7",)
    own = mark_submission(submission, 60, assignment=Assignment({}, any_seed=True)).verdict(DRAWN)
    assert own.state == "wrong"
    assert own.remarks == ("graded with seed 7",)


# --- walls ----------------------------------------------------------------------------------------


def test_all_but_a_hidden_folder(tmp_path: Path) -> None:
    for name in ("a/b/secret/x", "a/b/open/x", "a/c/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    hidden = tmp_path / "a" / "b" / "secret"
    here = tmp_path / "a"
    assert sorted(without(here, [hidden, tmp_path / "d"])) == [here / "b" / "open", here / "c"]
    assert without(here, [hidden, here / "c"]) == [here / "b" / "open"]
    assert without(here / "c", [hidden]) == [here / "c"]
    assert without(hidden, [hidden]) == []
    assert without(hidden / "x", [hidden]) == []


# --- wrong calls ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["none.ipynb"], "no file or folder"),
        (["."], "no notebook"),
        (["x.ipynb", "--timeout", "0"], "--timeout is 0"),
        (["x.ipynb", "--jobs", "0"], "--jobs is 0"),
        (["x.ipynb", "--exercises", "masks.causl"], "no exercise 'masks.causl'"),
        (["x.ipynb", "--assignment", "none.toml"], "none.toml cannot be read"),
        (["x.ipynb", "--submitted", "none.csv"], "none.csv cannot be read"),
        (["x.ipynb", "--exercises", "a", "--assignment", "b"], "not both"),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    arguments: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    if arguments[0] == "x.ipynb":
        (tmp_path / "x.ipynb").write_text(json.dumps(of_cells("x = 1")))
    assert main(["grade", *arguments]) == 2
    assert why in capsys.readouterr().err


# --- what comes back is bounded -------------------------------------------------------------------


def frame(arrays: int, numbers: int, blob: int = 0) -> bytes:
    """A list of arrays which all name one blob."""
    array = {"t": "array", "dtype": "float64", "shape": [numbers], "blob": blob, "form": "tensor"}
    text = json.dumps({"t": "list", "v": [array] * arrays}).encode()
    data = bytes(8 * numbers)
    return struct.pack("<II", len(text), 1) + text + struct.pack("<Q", len(data)) + data


def test_numbers_are_read_once() -> None:
    ((array,), _) = unpack(frame(1, 3)), None
    assert array.array.tolist() == [0, 0, 0]
    for damaged in (frame(2, 3), frame(400, 1000), frame(1, 3, -2), frame(1, 3, 1)):
        with pytest.raises(ValueError, match="damaged"):
            unpack(damaged)


def test_a_value_takes_no_more_memory_than_its_bytes() -> None:
    data = frame(60, 1_000_000)
    tracemalloc.start()
    with pytest.raises(ValueError, match="damaged"):
        unpack(data)
    assert tracemalloc.get_traced_memory()[1] < 2 * len(data)
    answer = unpack(Service([]).value(data))
    assert "failure" in answer
    assert tracemalloc.get_traced_memory()[1] < 2 * len(data)
    tracemalloc.stop()


@pytest.mark.parametrize("shape", [[-1], [10**9, 10**9], [1] * 100, [-1, -1], "3"])
def test_a_shape_that_no_tensor_has_is_refused(shape: object) -> None:
    array = {"t": "array", "dtype": "float64", "shape": shape, "blob": 0, "form": "tensor"}
    text = json.dumps(array).encode()
    with pytest.raises(ValueError, match=r"damaged|reshape"):
        unpack(struct.pack("<II", len(text), 1) + text + struct.pack("<Q", 8) + bytes(8))


def test_functions_that_stayed_keep_few_graphs() -> None:
    service = Service([lambda x: x * 2])
    told = [unpack(service.value(pack([0, n, [torch.ones(2)], {}, [True]]))) for n in range(600)]
    assert len(service.graphs) == MAX_GRAPHS
    assert "value" in told[0]
    assert "over 500 times" in told[-1]["failure"]["message"]
