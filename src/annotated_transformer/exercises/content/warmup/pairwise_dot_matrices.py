"""The products for `warmup.pairwise_dot` that are right for two matrices and for nothing else."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Mistake

Rows = Callable[[Any, Any], Any]

_ROWS = (
    "This is written for two matrices: there `a[i]` is a row, in a batch it is a matrix. Leading "
    "axes have to go along. Count the axes from the end: one product, `a @ b.transpose(-2, -1)`, "
    "serves all."
)
_BROADCAST = (
    "This is written for two matrices: `a[:, None]` and `b[None]` put the new axes where two axes "
    "need them. Leading axes have to go along. Count from the end: `a.unsqueeze(-2)` and "
    "`b.unsqueeze(-3)`."
)
_LISTS = (
    "This is right for two matrices, and it gives nested lists. Return a tensor: fill "
    "`torch.zeros(n, m, dtype=a.dtype)`, or `torch.tensor(...)` at the end. With batch axes in "
    "front, do it for each index there, or count the axes from the end: one product, "
    "`a @ b.transpose(-2, -1)`, serves all."
)
_FLOAT32 = " And the result is always float32: give new tensors `dtype=a.dtype`."


def _by_the_loop(a: Any, b: Any) -> list[list[Any]]:
    """The loop of the chapter, over lists or over tensors."""
    result = [[0.0] * len(b) for _ in a]
    for i, row in enumerate(a):
        for j, other_row in enumerate(b):
            for p, q in zip(row, other_row, strict=False):
                result[i][j] += p * q
    return result


def _loop_over_tensors(a: Tensor, b: Tensor) -> Tensor:
    return torch.tensor(_by_the_loop(a.detach(), b.detach()), dtype=a.dtype)


def _loop_over_lists(a: Tensor, b: Tensor) -> Tensor:
    return torch.tensor(_by_the_loop(a.tolist(), b.tolist()), dtype=a.dtype)


def _loop_over_indices(a: Tensor, b: Tensor) -> Tensor:
    def dot(i: int, j: int) -> Any:
        return sum(a.detach()[i][k] * b.detach()[j][k] for k in range(len(a[i])))

    return torch.tensor([[dot(i, j) for j in range(len(b))] for i in range(len(a))], dtype=a.dtype)


def _three_loops(a: Tensor, b: Tensor) -> Tensor:
    out = torch.zeros(a.size(0), b.size(0), dtype=a.dtype)
    for i in range(a.size(0)):
        for j in range(b.size(0)):
            for k in range(a.size(1)):
                out[i, j] += a[i, k] * b[j, k]
    return out


def _stacked(of_rows: Rows) -> Rows:
    return lambda a, b: torch.stack([torch.stack([of_rows(i, j) for j in b]) for i in a])


def _listed(of_rows: Rows) -> Rows:
    return lambda a, b: torch.tensor(
        [[of_rows(i, j) for j in b.detach()] for i in a.detach()], dtype=a.dtype
    )


def _filled(of_rows: Rows) -> Rows:
    def products(a: Tensor, b: Tensor) -> Tensor:
        out = torch.zeros(len(a), len(b), dtype=a.dtype)
        for i, row in enumerate(a):
            for j, other_row in enumerate(b):
                out[i, j] = of_rows(row, other_row)
        return out

    return products


def _in_float32(products: Rows) -> Rows:
    return lambda a, b: products(a, b).float()


def _in_lists(of_rows: Rows) -> Rows:
    return lambda a, b: [[of_rows(row, other) for other in b] for row in a]


_LISTS_OF: dict[str, Rows] = {
    "chapters-loop": _by_the_loop,
    "chapters-loop-over-lists": lambda a, b: _by_the_loop(a.tolist(), b.tolist()),
    "sums-of-rows-in-lists": _in_lists(lambda row, other: (row * other).sum()),
    "products-of-rows-in-lists": _in_lists(torch.matmul),
    "numbers-in-lists": _in_lists(lambda row, other: (row @ other).item()),
}

_LOOPS: dict[str, Rows] = {
    "loop-over-tensors": _loop_over_tensors,
    "loop-over-lists": _loop_over_lists,
    "loop-over-indices": _loop_over_indices,
    "three-loops": _three_loops,
    "sums-of-rows": _stacked(lambda row, other: (row * other).sum()),
    "products-of-rows-stacked": _stacked(torch.matmul),
    "products-of-rows-listed": _listed(torch.matmul),
    "products-of-rows-as-numbers": _listed(lambda row, other: (row @ other).item()),
    "products-of-rows-filled-in": _filled(torch.matmul),
}

FOR_TWO_MATRICES = (
    *(Mistake(name, products, _ROWS) for name, products in _LOOPS.items()),
    *(
        Mistake(f"{name}-float32", _in_float32(products), _ROWS + _FLOAT32)
        for name, products in _LOOPS.items()
    ),
    *(Mistake(name, products, _LISTS) for name, products in _LISTS_OF.items()),
    Mistake(
        "broadcast-of-matrices",
        lambda a, b: (a[:, None] * b[None]).sum(-1),
        _BROADCAST,
    ),
    Mistake(
        "torchs-dot",
        torch.dot,
        "`torch.dot` takes two vectors, one axis each, and nothing else. Every row with every row "
        "is a product of matrices: `a @ b.transpose(-2, -1)`.",
    ),
)
