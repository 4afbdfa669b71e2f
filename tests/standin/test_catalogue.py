"""The real grader on the real exercises, with torch and with the stand-in as `torch`.

Each library runs in a process of its own, which imports it as `torch`; see `catalogue_run`.
"""

import functools
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import annotated_transformer.standin

RUN = Path(__file__).with_name("catalogue_run.py")
FOLDER = Path(annotated_transformer.standin.__file__).parent
A_FEW = ("masks.causal", "attention.softmax", "encoder.layer_norm", "training.adam_step")
# Right forms that use what the stand-in has not, and says so: the meta device, a counter of FLOPs.
RIGHT_BUT_NOT_HERE = {
    ("decoding.cache_bytes", "right form 2"),
    ("ablations.attention_flops", "right form 4"),
}
NAMED_THE_SAME = 0.99


@functools.cache
def _runs(exercises: tuple[str, ...] | None, mistakes: int | None) -> tuple[Any, Any]:
    """What the grader says with torch, and with the stand-in."""
    what = {"exercises": exercises, "mistakes": mistakes, "inputs": True}
    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder, "torch.json"), Path(folder, "stand-in.json")
        called = [sys.executable, RUN, json.dumps(what)]
        with subprocess.Popen([*called, one]) as beside:
            subprocess.run([*called, other, "--standin", FOLDER], check=True)
        assert beside.returncode == 0
        return json.loads(one.read_text()), json.loads(other.read_text())


def _pairs(runs: tuple[Any, Any]) -> list[tuple[str, str, Any, Any]]:
    return [
        (name, candidate, report, runs[1][name]["verdicts"][candidate])
        for name, of_one in runs[0].items()
        for candidate, report in of_one["verdicts"].items()
    ]


def _check_inputs(runs: tuple[Any, Any]) -> None:
    for name, of_one in runs[0].items():
        for number, inputs in enumerate(of_one["inputs"]):
            assert _nearly(inputs, runs[1][name]["inputs"][number]), f"{name}, case {number}"


def _nearly(one: Any, other: Any) -> bool:
    """The same numbers but for the last digits of a normal one: see `test_random`."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_nearly, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_nearly(one[key], other[key]) for key in one)
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=4e-6, abs_tol=1e-6) or one != one
    return bool(one == other)


def _check_verdicts(runs: tuple[Any, Any]) -> None:
    pairs = _pairs(runs)
    passed = [(n, c, own["state"]) for n, c, one, own in pairs if one["state"] == "passed"]
    assert {(n, c) for n, c, state in passed if state == "not here"} <= RIGHT_BUT_NOT_HERE
    assert not [(n, c) for n, c, state in passed if state not in ("passed", "not here")]
    assert not [(n, c) for n, c, one, own in pairs if own["state"] == "passed" != one["state"]], (
        "passed wrongly"
    )
    mistakes = [(one, own) for _, c, one, own in pairs if c.startswith("mistake")]
    same = sum(one["mistakes"] == own["mistakes"] for one, own in mistakes)
    assert same >= NAMED_THE_SAME * len(mistakes)


def test_a_few_exercises() -> None:
    """Some ten seconds: two new processes, each with its torch and the real grader."""
    runs = _runs(A_FEW, 4)
    assert list(runs[1]) == [*runs[0]]
    _check_inputs(runs)
    _check_verdicts(runs)
    for name, candidate, one, own in _pairs(runs):
        assert one["markup"] == own["markup"], (name, candidate)


@pytest.mark.slow
@pytest.mark.timeout(7200)  # 5,500 mistakes, each graded twice in a process of its own
def test_all_exercises() -> None:
    runs = _runs(None, None)
    assert list(runs[1]) == [*runs[0]]
    _check_inputs(runs)
    _check_verdicts(runs)


def test_it_needs_numpy_alone() -> None:
    """The page has Python's library and NumPy, and finds the package by the name `torch`."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import torch; "
        "import torch.nn.functional as F; from torch import Tensor, nn; "
        "assert torch.ones(2).sum() == 2; assert type(torch.ones(1)) is Tensor; "
        "print([m for m in sys.modules if m.partition('.')[0] in "
        "('annotated_transformer', 'scipy', 'typing_extensions')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, FOLDER], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
