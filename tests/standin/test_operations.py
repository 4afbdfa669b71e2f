"""Each operation of the stand-in against PyTorch: numbers, dtype, shape, memory, gradients.

The expressions stand in `expressions_*.txt`, one a line; the names are those of
`both_torches.inputs`.
"""

from pathlib import Path
from typing import Any

import pytest

from annotated_transformer.standin import torch as standin
from both_torches import LIBRARIES, difference, inputs, names, outcome, told

# No gradient here, and said so.
WITHOUT_GRADIENT = (
    "torch.linalg.pinv(x)",
    "torch.linalg.lstsq(s, s).solution",
    "F.cross_entropy(s, i[0], weight=p[0])",
    "torch.func.jacrev(lambda r: r.softmax(-1))(v)",
)
MEMORY_ORDER_MAY_DIFFER = (
    "rot90",
    "einsum",
    "flip",
    "roll",
    "@",
    "mm(",
    "linalg",
    "solve",
    "scaled_dot",
)


EXPRESSIONS = [
    line
    for page in sorted(Path(__file__).parent.glob("expressions_*.txt"))
    for line in page.read_text().splitlines()
]


def _steps_matter(expression: str) -> bool:
    return not any(part in expression for part in MEMORY_ORDER_MAY_DIFFER)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_is_worth_the_same(expression: str) -> None:
    for kind, relative in (("float64", 1e-9), ("float32", 2e-4)):
        one, other = (
            outcome(expression, torch, inputs(torch, kind)) for torch in LIBRARIES.values()
        )
        assert not difference(one, other, relative, _steps_matter(expression)), kind


def _weights(part: Any, torch: Any) -> Any:
    places = torch.arange(1.0, part.numel() + 1, dtype=torch.float64)
    return places.cos().reshape(part.shape)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_its_gradients_are_the_same(expression: str) -> None:
    found = []
    for torch in LIBRARIES.values():
        given = inputs(torch)
        leaves = [given[name].requires_grad_() for name in "xysvwcdznp"]
        try:
            value = eval(expression, {**names(torch), **given})
            parts = value if isinstance(value, (list, tuple)) else [value]
            total = sum(
                (part * _weights(part, torch)).sum().real.double()
                for part in parts
                if isinstance(part, torch.Tensor) and part.requires_grad
            )
            wanted = isinstance(total, torch.Tensor)
            sent = torch.autograd.grad(total, leaves, allow_unused=True) if wanted else ()
            found.append(told(list(sent), torch))
        except Exception as error:
            found.append(f"{type(error).__name__}: {error}")
        except standin.NotInThisPage:
            assert expression in WITHOUT_GRADIENT
            return
    relative = 1e-5 if "float32" in expression else 1e-7
    assert not difference(*found, relative, steps=False)
