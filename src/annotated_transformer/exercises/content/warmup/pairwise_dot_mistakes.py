"""The wrong products for `warmup.pairwise_dot`."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.exercises.content.faults import Fault, single
from annotated_transformer.exercises.content.warmup.pairwise_dot_matrices import FOR_TWO_MATRICES
from annotated_transformer.exercises.content.warmup.pairwise_dot_numbers import (
    OTHER_NUMBERS,
    product,
)
from annotated_transformer.exercises.exercise import Mistake


def _with(
    a: Tensor,
    b: Tensor,
    *,
    of_a: Any = lambda x: x,
    of_b: Any = lambda x: x,
    combine: Any = product,
    after: Any = lambda z: z,
) -> Any:
    return after(combine(of_a(a), of_b(b)))


def _matrices_by_shape(a: Tensor, b: Tensor) -> Tensor:
    n, _d = a.shape
    m, _d = b.shape
    return torch.stack([(a[i] * b[j]).sum() for i in range(n) for j in range(m)]).reshape(n, m)


def _batches_by_shape(a: Tensor, b: Tensor) -> Tensor:
    _batch, _n, _d = a.shape
    return product(a, b)


def _viewed(a: Tensor, b: Tensor) -> Tensor:
    return a @ b.reshape(*b.shape[:-2], b.size(-1), b.size(-2))


def _in_place(a: Tensor, b: Tensor) -> Tensor:
    result = product(a, b)
    a /= a.size(-1)
    return result


def _all_batches_added(a: Tensor, b: Tensor) -> Tensor:
    return product(a, b).reshape(-1, a.size(-2), b.size(-2)).sum(0)


def _first_batch_only(a: Tensor, b: Tensor) -> Tensor:
    return product(a, b).reshape(-1, a.size(-2), b.size(-2))[0]


def _without_the_last(z: Tensor) -> Tensor:
    return torch.cat([z[..., :-1], torch.zeros_like(z[..., -1:])], dim=-1)


def _down(b: Tensor) -> list[int]:
    return list(range(b.dim()))[::-1]


_DOT_T = (
    "`.T` reverses all axes of b, those of the batch too (and is deprecated for more than two). "
    "Exchange the last two only: `b.transpose(-2, -1)` or `b.mT`."
)
_FIXED_AXES = (
    "Axes {} are exchanged, which are the last two of a tensor with {} axes and of no other. "
    "Count from the end: `transpose(-2, -1)`."
)

_THREE_AXES = (
    "This takes exactly three axes (`permute(0, 2, 1)`, `bmm`, `bnd,bmd->bnm`). None "
    "or several may stand before the last two: `a @ b.transpose(-2, -1)` serves all."
)
_FOUR_AXES = (
    "This takes exactly four axes (`permute(0, 1, 3, 2)`, `bhnd,bhmd->bhnm`). None or "
    "several may stand before the last two: `a @ b.transpose(-2, -1)` serves all."
)
_OTHER_AXIS = (
    "The products are added up over the rows. A dot product adds up over the last axis, d, and "
    "leaves a number for each pair of rows: (..., n, m)."
)

MISTAKES = (
    *single(
        _with,
        (
            Fault("reversed-axes", {"combine": lambda a, b: a @ b.permute(*_down(b))}, _DOT_T),
            Fault(
                "not-transposed",
                {"combine": lambda a, b: a @ b},
                "b is not transposed: `@` pairs the rows of a with the *columns* of b. Rows with "
                "rows needs (..., d, m) on the right: `b.transpose(-2, -1)`.",
            ),
            Fault(
                "axes-0-and-1",
                {"of_b": lambda b: b.transpose(0, 1), "combine": torch.matmul},
                _FIXED_AXES.format("0 and 1", "two"),
            ),
            Fault(
                "axes-1-and-2",
                {"of_b": lambda b: b.transpose(1, 2), "combine": torch.matmul},
                _FIXED_AXES.format("1 and 2", "three"),
            ),
            Fault(
                "axes-2-and-3",
                {"of_b": lambda b: b.transpose(2, 3), "combine": torch.matmul},
                _FIXED_AXES.format("2 and 3", "four"),
            ),
            Fault(
                "three-axes-only",
                {"of_b": lambda b: b.permute(0, 2, 1), "combine": torch.matmul},
                _THREE_AXES,
            ),
            Fault(
                "four-axes-only",
                {"of_b": lambda b: b.permute(0, 1, 3, 2), "combine": torch.matmul},
                _FOUR_AXES,
            ),
            Fault(
                "first-and-last-axis",
                {"of_b": lambda b: b.transpose(0, -1), "combine": torch.matmul},
                "The first axis of b is exchanged with the last. In a batch the first is the "
                "batch: exchange the last two, `transpose(-2, -1)`.",
            ),
            Fault(
                "three-axes-counted-from-the-left",
                {"combine": lambda a, b: torch.bmm(a, b.transpose(1, 2))},
                _THREE_AXES,
            ),
            Fault(
                "three-axes-by-name",
                {"combine": lambda a, b: torch.einsum("bnd,bmd->bnm", a, b)},
                _THREE_AXES,
            ),
            Fault(
                "four-axes-by-name",
                {"combine": lambda a, b: torch.einsum("bhnd,bhmd->bhnm", a, b)},
                _FOUR_AXES,
            ),
            Fault(
                "numpys-dot",
                {"combine": lambda a, b: torch.from_numpy(np.dot(a.numpy(), b.numpy().T))},
                _DOT_T + " And `np.dot` does not take leading axes side by side: use `@`.",
            ),
            Fault(
                "summed-over-rows-of-b",
                {"combine": lambda a, b: (a.unsqueeze(-2) * b.unsqueeze(-3)).sum(-2)},
                _OTHER_AXIS,
            ),
            Fault(
                "summed-over-rows-of-a",
                {"combine": lambda a, b: (a.unsqueeze(-2) * b.unsqueeze(-3)).sum(-3)},
                _OTHER_AXIS,
            ),
            Fault(
                "all-rows-of-all-matrices",
                {"combine": lambda a, b: a.reshape(-1, a.size(-1)) @ b.reshape(-1, b.size(-1)).T},
                "The leading axes are joined with the rows, so rows of different matrices meet. "
                "They go along side by side: (..., n, m).",
            ),
            Fault(
                "outer-product",
                {"combine": lambda a, b: torch.outer(a.flatten(), b.flatten())},
                "This is the outer product of all numbers. A dot product is a sum over the last "
                "axis, one for each pair of rows.",
            ),
            Fault(
                "first-matrix-of-b",
                {"combine": lambda a, b: a @ b.reshape(-1, *b.shape[-2:])[0].T},
                "Every matrix of a meets the first matrix of b. The leading axes go along side by "
                "side: each with its own.",
            ),
            Fault(
                "squared",
                {"after": torch.square},
                "The products are squared. Plain dot products are asked for.",
            ),
            Fault(
                "numpy-array",
                {"after": lambda z: z.detach().numpy()},
                "This is a NumPy array. Return a tensor: `torch.from_numpy(...)`, or stay in "
                "torch.",
            ),
            Fault(
                "float32",
                {"after": lambda z: z.float()},
                "The numbers are right but always float32 (`.float()`). Keep the dtype of the "
                "inputs.",
            ),
            Fault(
                "float64",
                {"after": lambda z: z.double()},
                "The numbers are right but always float64 (`.double()`, or a way through NumPy). "
                "Keep the dtype of the inputs.",
            ),
            Fault(
                "last-row-left-out",
                {"after": lambda z: _without_the_last(z)},
                "The last row of b is left out: its column stays 0. The rows have the numbers 0 "
                "to m - 1, which is what `range(m)` gives.",
            ),
            Fault(
                "last-row-of-a-left-out",
                {"after": lambda z: _without_the_last(z.mT).mT},
                "The last row of a is left out and stays 0. The rows have the numbers 0 to n - 1, "
                "which is what `range(n)` gives.",
            ),
            Fault(
                "matrices-only",
                {"combine": lambda a, b: torch.einsum("nd,md->nm", a, b)},
                "The product takes matrices only (`mm`, `t()`, `nd,md->nm`, `torch.dot` of two "
                "rows). Leading axes have to go along: `@` with `transpose(-2, -1)`, or "
                "`...nd,...md->...nm`.",
            ),
            Fault(
                "of-a-transposed",
                {"combine": lambda a, b: a.transpose(-2, -1) @ b},
                "a is transposed instead of b: that sums over the rows and needs n = m. The sum "
                "runs over d: `a @ b.transpose(-2, -1)`.",
            ),
            Fault(
                "exchanged",
                {"combine": lambda a, b: product(b, a)},
                "Rows and columns are exchanged: (..., m, n). The rows of the result belong to a: "
                "`a @ b.transpose(-2, -1)`.",
            ),
            Fault(
                "a-with-itself",
                {"combine": lambda a, b: product(a, a)},
                "a is multiplied with itself; b is not used.",
            ),
            Fault(
                "b-with-itself",
                {"combine": lambda a, b: product(b, b)},
                "b is multiplied with itself; a is not used.",
            ),
            Fault(
                "row-by-row",
                {"combine": lambda a, b: (a * b).sum(-1)},
                "Row i of a meets row i of b only, which needs n = m. Every row meets every row: "
                "a table of n times m numbers.",
            ),
            Fault(
                "elementwise",
                {"combine": lambda a, b: a * b},
                "The entries are multiplied one by one. A dot product adds up over the last axis, "
                "and every row of a meets every row of b.",
            ),
            Fault(
                "not-summed",
                {"combine": lambda a, b: a.unsqueeze(-2) * b.unsqueeze(-3)},
                "The products are not added up: the shape is (..., n, m, d). A dot product sums "
                "over d: `.sum(-1)`.",
            ),
            Fault(
                "sum-kept",
                {"after": lambda z: z.unsqueeze(-1)},
                "The axis that was summed over is kept, (..., n, m, 1). Sum without `keepdim`.",
            ),
            Fault(
                "axis-in-front",
                {"after": lambda z: z[None]},
                "There is one axis too many in front: asked for is (..., n, m).",
            ),
            *OTHER_NUMBERS,
            Fault(
                "viewed",
                {"combine": _viewed},
                "b is reshaped to (..., d, m) instead of transposed: the shape is right, but a "
                "reshape moves nothing, so numbers of different rows are mixed.",
            ),
            Fault(
                "shapes-of-matrices",
                {"combine": _matrices_by_shape},
                "`n, d = a.shape` takes two axes only. Count from the end, `a.shape[-2]`, and take "
                "leading axes along.",
            ),
            Fault(
                "shapes-of-batches",
                {"combine": _batches_by_shape},
                "`batch, n, d = a.shape` takes three axes only. Nothing here needs them by name: "
                "`a @ b.transpose(-2, -1)`.",
            ),
            Fault(
                "batches-added",
                {"combine": _all_batches_added},
                "The leading axes are summed over (as `tensordot` or `einsum` without them in the "
                "result do). They go along untouched.",
            ),
            Fault(
                "first-of-the-batch",
                {"combine": _first_batch_only},
                "Only the first entry of the batch is computed. The leading axes go along "
                "untouched.",
            ),
            Fault(
                "batch-flattened",
                {"after": lambda z: z.reshape(-1, *z.shape[-2:])},
                "The leading axes are joined into one. They go along untouched: give the result "
                "the shape (..., n, m).",
            ),
            Fault(
                "every-batch-with-every-batch",
                {"combine": lambda a, b: torch.tensordot(a, b, dims=([-1], [-1]))},
                "Every entry of the batch meets every other (`tensordot` does that): the leading "
                "axes appear twice. They go along side by side: `@`.",
            ),
            Fault(
                "squeezed",
                {"after": torch.squeeze},
                "Axes of length 1 are squeezed away. They stay: (..., n, m) also for n = 1.",
            ),
            Fault(
                "added-up",
                {"after": lambda z: z.sum(-1)},
                "The products are added up over m. Each pair of rows has its own number.",
            ),
            Fault(
                "lists",
                {"after": lambda z: z.tolist()},
                "These are nested lists. Return a tensor, without `tolist()`.",
            ),
            Fault(
                "integers",
                {"after": lambda z: z.long()},
                "The result is made of integers. Keep the dtype of the inputs.",
            ),
        ),
    ),
    *FOR_TWO_MATRICES,
    Mistake(
        "in-place",
        _in_place,
        "The values are right, but a itself is changed on the way (`/=`, `*=`). Work on new "
        "tensors.",
    ),
)
