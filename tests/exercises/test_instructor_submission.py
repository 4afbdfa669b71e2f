"""Notebooks that are handed in: what is none, what it may hold, and what is not waited for."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from annotated_transformer.exercises.instructor import marking
from annotated_transformer.exercises.instructor.marking import mark_submission
from annotated_transformer.exercises.instructor.submission import (
    Submission,
    UnreadableError,
    read_submission,
)
from small_notebooks import IMPORTS, of_cells

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")


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
    begun = time.process_time()
    assert len(read_submission(path).cells()) == 1
    assert time.process_time() - begun < 5


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
    begun = time.process_time()
    for cells in ([long], [medium] * 300):
        assert Submission("x", json.dumps(of_cells(*cells)).encode()).cells()
    assert time.process_time() - begun < 60
