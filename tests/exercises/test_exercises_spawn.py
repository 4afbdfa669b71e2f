"""The grader where there is no fork, as on macOS and Windows: a new Python gets the candidate.

Each check starts a Python that imports torch, so candidates are few and chosen.
"""

import functools
import importlib
import linecache
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from annotated_transformer.exercises.exercise import Report
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.grading import grade

EXERCISE = "attention.softmax"


def spawned(candidate: Callable[..., Any], **options: Any) -> Report:
    return grade(EXERCISE, candidate, method="spawn", **options)


def from_a_notebook(source: str) -> Callable[..., Any]:
    """The function `softmax` of a cell: it lives in `__main__`, its text in memory only."""
    cell = f"<cell-{abs(hash(source))}>"
    space: dict[str, Any] = {"__name__": "__main__", "torch": torch}
    linecache.cache[cell] = (len(source), None, source.splitlines(keepends=True), cell)
    exec(compile(source, cell, "exec"), space)
    candidate: Callable[..., Any] = space["softmax"]
    return candidate


# --- right ones, of every make --------------------------------------------------------------------


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    exponentials = (x - x.amax(dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


def closure() -> Callable[..., Any]:
    shift = torch.zeros(())  # a closure brings its tensors along

    def candidate(x: Tensor, dim: int = -1) -> Tensor:
        return softmax(x + shift.to(x.dtype), dim)

    return candidate


class Softmax(nn.Module):
    """With a weight, so that a state has to travel."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones((), dtype=torch.float64))

    def forward(self, x: Tensor, dim: int = -1) -> Tensor:
        return softmax(x * self.scale.to(x.dtype), dim)


RIGHT: dict[str, Callable[..., Any]] = {
    "of a notebook": from_a_notebook(
        "def shifted(x, dim):\n"
        "    return x - x.amax(dim, keepdim=True)\n"
        "\n"
        "def softmax(x, dim=-1):\n"
        "    e = shifted(x, dim).exp()\n"
        "    return e / e.sum(dim, keepdim=True)\n"
    ),
    "a lambda": lambda x, dim=-1: x.softmax(dim),
    "a closure": closure(),
    "a partial": functools.partial(softmax),
    "a module": Softmax(),
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.slow
def test_a_right_candidate_passes_in_a_new_python(name: str) -> None:
    report = spawned(RIGHT[name])
    assert report.passed, report.message


@pytest.mark.slow
def test_a_candidate_beside_the_notebook_passes_though_its_file_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both the function itself and what it calls through the module's name."""
    file = tmp_path / "helpers_of_the_learner.py"
    file.write_text(
        "import torch\n"
        "def top(x, dim):\n    return x.amax(dim, keepdim=True)\n"
        "def candidate(x, dim=-1):\n    return torch.softmax(x - top(x, dim), dim)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    helpers: Any = importlib.import_module(file.stem)
    file.unlink()
    monkeypatch.syspath_prepend(tmp_path / "nothing")
    try:
        assert (report := spawned(helpers.candidate)).passed, report.message
        report = spawned(lambda x, dim=-1: helpers.candidate(x, dim))
        assert report.passed, report.message
    finally:
        del sys.modules[file.stem]


# --- wrong ones: the report is that of a fork -----------------------------------------------------


def without_the_shift(x: Tensor, dim: int = -1) -> Tensor:
    return x.exp() / x.exp().sum(dim, keepdim=True)


WRONG: dict[str, Callable[..., Any]] = {
    "a named mistake": without_the_shift,
    "an exception in a file": lambda x, dim=-1: x.softmax(dim) @ torch.ones(99, dtype=x.dtype),
    "an exception in a notebook": from_a_notebook(
        "def softmax(x, dim=-1):\n    shape = x.shape\n    return x.soft_max(dim)\n"
    ),
}


@pytest.mark.skipif(sys.platform != "linux", reason="compares with a fork")
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.slow
def test_the_report_is_the_one_of_a_fork(name: str) -> None:
    ours, theirs = spawned(WRONG[name]), grade(EXERCISE, WRONG[name], method="fork")
    assert not ours.passed
    assert ours.message == theirs.message
    assert ours.mistakes == theirs.mistakes


def test_a_named_mistake_gets_its_sentence() -> None:
    report = spawned(without_the_shift)
    assert report.mistakes == ("overflow",)
    assert "printed" not in report.message  # nor did anything but the candidate


@pytest.mark.slow
def test_an_exception_is_shown_with_its_line() -> None:
    message = spawned(WRONG["an exception in a notebook"]).message
    assert "AttributeError in line 3 (`return x.soft_max(dim)`)" in message


# --- those that end badly -------------------------------------------------------------------------


@pytest.mark.slow
def test_an_endless_loop_ends() -> None:
    def candidate(x: Tensor, dim: int = -1) -> None:
        while True:
            pass

    begun = time.monotonic()
    report = spawned(candidate, limits=Limits(seconds=1.0))
    assert "had not returned after 1 seconds" in report.message
    assert time.monotonic() - begun < 300  # once torch is imported, however long that takes


@pytest.mark.slow
def test_the_time_that_python_takes_to_start_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sleeps longer at its start than the limit is, which leaves time for a slow check."""
    (tmp_path / "sitecustomize.py").write_text("import time; time.sleep(9)")
    monkeypatch.syspath_prepend(tmp_path)

    def candidate(x: Tensor, dim: int = -1) -> Tensor:
        return x.softmax(dim)

    begun = time.monotonic()
    assert (report := spawned(candidate, limits=Limits(seconds=6))).passed, report.message
    assert time.monotonic() - begun > 9


@pytest.mark.parametrize("status", [0, 3])
@pytest.mark.slow
def test_a_process_that_is_ended_is_said(status: int) -> None:
    report = spawned(lambda x, dim=-1: os._exit(status))
    assert "ended the whole Python process" in report.message


def test_what_cannot_be_copied_is_said() -> None:
    lock = threading.Lock()

    def candidate(x: Tensor, dim: int = -1) -> Tensor:
        with lock:
            return softmax(x, dim)

    report = spawned(candidate)
    assert not report.passed
    assert "cannot be copied to a process of its own" in report.message
    assert "lock" in report.message


class OnlyHere:
    """Can be sent and cannot be made again: what it needs is known to this process alone."""

    def __init__(self, process: int) -> None:
        if process != os.getpid():
            raise RuntimeError("made for another process")
        self.process = process

    def __reduce__(self) -> tuple[Any, ...]:
        return OnlyHere, (self.process,)

    def __call__(self, x: Tensor, dim: int = -1) -> Tensor:
        return softmax(x, dim)


@pytest.mark.slow
def test_what_cannot_be_made_again_is_said() -> None:
    report = spawned(OnlyHere(os.getpid()))
    assert "cannot be copied to a process of its own" in report.message
    assert "RuntimeError: made for another process" in report.message


@pytest.mark.slow
def test_a_new_python_is_confined_too(tmp_path: Path) -> None:
    target = tmp_path / "written"

    def candidate(x: Tensor, dim: int = -1) -> Tensor:
        print("printed " * 10_000)
        target.write_text("by a candidate")
        return softmax(x, dim)

    report = spawned(candidate)
    assert "PermissionError" in report.message
    assert not target.exists()


@pytest.mark.slow
def test_a_patched_library_does_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    def candidate(x: Tensor, dim: int = -1) -> Tensor:
        torch.softmax = lambda *_, **__: x  # type: ignore[assignment]
        math.exp = lambda _: 1.0
        return x

    assert not spawned(candidate).passed
    assert torch.softmax(torch.zeros(2), 0).tolist() == [0.5, 0.5]
