"""The dtype of a result: every pair of dtypes, tensors with and without axes, Python's numbers."""

import itertools
from typing import Any

import pytest

from annotated_transformer.standin.torch import NotInThisPage
from both_torches import LIBRARIES
from told import difference, outcome

KINDS = (
    "bool",
    "uint8",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
)
OPERATORS = (
    "a + b",
    "a * b",
    "a / b",
    "a - b",
    "a == b",
    "torch.where(a > 0, a, b)",
    "a // b",
    "a ** b",
)
NUMBERS = ("True", "2", "1.5", "np.float64(1.5)", "np.int64(2)", "1j")


def _given(torch: Any, kind: str, axes: int) -> Any:
    return torch.ones((2,) * axes).to(getattr(torch, kind))


@pytest.mark.parametrize(("one", "other"), list(itertools.product(KINDS, KINDS)))
def test_two_tensors(one: str, other: str) -> None:
    for axes, operator in itertools.product(((1, 1), (1, 0), (0, 1), (0, 0)), OPERATORS):
        found = _both(operator, f"{one} {other}", a=(one, axes[0]), b=(other, axes[1]))
        assert not difference(*found, 1e-3), (operator, axes)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tensor_and_a_number(kind: str) -> None:
    for number, operator, axes in itertools.product(NUMBERS, OPERATORS, (0, 1)):
        code = operator.replace("b)", f"{number})").replace(" b", f" {number}")
        turned = code.replace("a", "@").replace(number, "a").replace("@", number)
        for text in (code,) if "where" in code else (code, turned):
            assert not difference(*_both(text, kind, a=(kind, axes)), 1e-3), (text, axes)


@pytest.mark.parametrize(("one", "other"), list(itertools.product(KINDS, KINDS)))
def test_conversions(one: str, other: str) -> None:
    assert not difference(*_both(f"a.to(torch.{other})", one, a=(one, 1)))


def _both(code: str, kind: str, **given: tuple[str, int]) -> list[Any]:
    """What the code is worth with either library; the same where the stand-in says it cannot.

    That is complex numbers of half precision alone, which NumPy has not. Of bfloat16's, which came
    with PyTorch 2.14, no sum is made even there.
    """
    complex_ = "complex" in kind or "j" in code
    if "bfloat16" in kind and complex_ and hasattr(LIBRARIES["torch"], "bcomplex32"):
        return ["", ""]
    try:
        return [
            _kind_of_error(
                outcome(code, torch, {name: _given(torch, *of) for name, of in given.items()})
            )
            for torch in LIBRARIES.values()
        ]
    except NotInThisPage:
        assert "float16" in kind
        assert complex_
        return ["", ""]


def _kind_of_error(result: Any) -> Any:
    """The class of an error: its words differ from kernel to kernel where dtypes are exotic."""
    return result.partition(":")[0] if isinstance(result, str) else result
