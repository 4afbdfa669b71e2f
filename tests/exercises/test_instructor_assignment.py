"""What an assignment counts: points, lateness, times, seeds; and calls that are wrong."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.cli import main
from annotated_transformer.errors import CallError
from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.instructor.assignment import (
    EXAMPLE,
    Assignment,
    read_assignment,
    read_times,
    times_of,
)
from annotated_transformer.exercises.instructor.marking import mark_submission
from annotated_transformer.exercises.instructor.submission import Submission
from annotated_transformer.exercises.notebooks import code_solved
from small_notebooks import IMPORTS, of_cells

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")
NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


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
