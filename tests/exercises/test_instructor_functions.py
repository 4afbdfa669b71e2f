"""Functions that stay with the marker, what crosses over, and what comes back is bounded."""

import json
import struct
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Call, Case, Exercise, Report, call
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.values import pack, unpack
from annotated_transformer.exercises.instructor.serving import MAX_GRAPHS, Service
from annotated_transformer.exercises.instructor.session import Checked, Session
from annotated_transformer.exercises.instructor.walls import without
from small_notebooks import IMPORTS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")


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
