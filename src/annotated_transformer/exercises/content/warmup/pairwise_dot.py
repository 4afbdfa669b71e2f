"""`warmup.pairwise_dot`: every row with every row, whatever stands before them."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Gradient, call


def pairwise_dot(a: Tensor, b: Tensor) -> Tensor:
    products = a @ b.transpose(-2, -1)  # (..., n, d) times (..., d, m)
    return products  # (..., n, m): the leading axes go along


def _by_einsum(a: Tensor, b: Tensor) -> Tensor:
    return torch.einsum("...nd,...md->...nm", a, b)


def _by_broadcasting(a: Tensor, b: Tensor) -> Tensor:
    return (a.unsqueeze(-2) * b.unsqueeze(-3)).sum(dim=-1)  # (..., n, 1, d) with (..., 1, m, d)


def _by_recursion(a: Tensor, b: Tensor) -> Tensor:
    if a.dim() > 2:
        return torch.stack([_by_recursion(one, other) for one, other in zip(a, b, strict=True)])
    return torch.stack([torch.stack([(row * other).sum() for other in b]) for row in a])


def _by_flattening(a: Tensor, b: Tensor) -> Tensor:
    products = torch.bmm(
        a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]).permute(0, 2, 1)
    )
    return products.reshape(*a.shape[:-1], b.size(-2))


def _by_filling(a: Tensor, b: Tensor) -> Tensor:
    out = torch.zeros(*a.shape[:-1], b.shape[-2], dtype=a.dtype)
    for i in range(a.shape[-2]):
        for j in range(b.shape[-2]):
            out[..., i, j] = torch.sum(a[..., i, :] * b[..., j, :], -1)
    return out


def _of_shapes(a: tuple[int, ...], b: tuple[int, ...], **options: Any) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        draw = partial(torch.randn, generator=generator, dtype=dtype)
        return call(draw(*a), draw(*b))

    name = options.pop("name", f"a of shape {a}, b of shape {b}")
    gradient: Gradient = "ignored" if "observe" in options else "noted"
    return Case(name, make, gradient=gradient, **options)


def _dtype_of(candidate: Callable[..., Any], a: Tensor, b: Tensor) -> object:
    result = candidate(a, b)
    return str(result.dtype) if isinstance(result, Tensor) else result


def _by_hand(generator: torch.Generator, dtype: torch.dtype) -> Call:
    a = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, -1.0]], dtype=dtype)
    b = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [2.0, 0.0, 5.0]]
    return call(a, torch.tensor(b, dtype=dtype))


def _not_contiguous(generator: torch.Generator, dtype: torch.dtype) -> Call:
    draw: Callable[..., Tensor] = partial(torch.randn, generator=generator, dtype=dtype)
    return call(draw(4, 3, 2).transpose(0, 2), draw(4, 2, 5).permute(1, 2, 0))


PAIRWISE_DOT = Exercise(
    id="warmup.pairwise_dot",
    title="Every row with every row",
    kind="code",
    difficulty=1,
    minutes=5,
    signature="pairwise_dot(a: (..., n, d), b: (..., m, d)) -> (..., n, m)",
    statement=(
        "Return the dot product of every row of a with every row of b: entry [..., i, j] is the "
        "sum over the last axis of a[..., i, :] times b[..., j, :]. There may be batch axes in "
        "front, the same for a and b, or none; they go along untouched. The kind of number (dtype) "
        "stays."
    ),
    objective="Write one product that works for a matrix, a batch, and a batch of heads.",
    prerequisite="chapter 0, the ladder",
    hints=(
        "For two matrices this is a product you know. Which of the two has to be transposed?",
        "`.T` turns all axes round, those of the batch too. Which two axes of b should change "
        "places, however many stand before them?",
        "`b.transpose(-2, -1)` (or `b.mT`) exchanges the last two axes; `@` multiplies the last "
        "two and takes the others along.",
    ),
    reference=pairwise_dot,
    explanation=(
        "`@` multiplies matrices in the last two axes and takes all others along, so b needs its "
        "last two axes exchanged and nothing else: (..., d, m). Axes counted from the end, -2 and "
        "-1, mean the same however many stand before them; that is why the code of attention is "
        "full of them. This product is the first half of attention: queries with keys."
    ),
    cases=(
        Case("two rows and four rows of three numbers", _by_hand, gradient="noted"),
        _of_shapes((2, 2, 3), (2, 4, 3)),
        _of_shapes((3, 5, 4), (3, 2, 4)),
        _of_shapes((2, 3, 4, 5), (2, 3, 6, 5)),
        _of_shapes((2, 2, 2), (2, 2, 2)),
        _of_shapes((2, 2, 2, 2), (2, 2, 2, 2)),
        _of_shapes((2, 2, 3, 3), (2, 2, 3, 3)),
        _of_shapes((1, 4), (1, 4)),
        _of_shapes((3, 1), (5, 1)),
        _of_shapes((2, 3, 2, 2, 3), (2, 3, 2, 4, 3)),
        _of_shapes((2, 3), (4, 3), name="the dtype of the result", observe=_dtype_of),
        _of_shapes(
            (2, 3),
            (4, 3),
            name="the dtype of the result for float32",
            observe=_dtype_of,
            dtype=torch.float32,
        ),
        _of_shapes((2, 3, 4), (2, 5, 4), name="float32", stage="other", dtype=torch.float32),
        Case("views that are not contiguous", _not_contiguous, stage="other"),
    ),
    mistakes=page(__file__, pairwise_dot),
    alternatives=(
        _by_einsum,
        _by_broadcasting,
        _by_recursion,
        _by_flattening,
        _by_filling,
    ),
    starter=(
        "def pairwise_dot(a, b):\n"
        '    """a (..., n, d), b (..., m, d) -> (..., n, m)."""\n'
        "    ...  # your code"
    ),
)
