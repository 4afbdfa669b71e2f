"""`attention.softmax_jacobian`: the derivative of the softmax, written with its own output."""

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Call, Case, Exercise, Invariant, Mistake, call


def softmax_jacobian(p: Tensor) -> Tensor:
    return torch.diag(p) - torch.outer(p, p)  # (n, n): p_i (1 if i == j else 0) - p_i p_j


def _by_identity(p: Tensor) -> Tensor:
    return p[:, None] * (torch.eye(p.numel(), dtype=p.dtype) - p[None, :])


def _by_loops(p: Tensor) -> Tensor:
    n = p.numel()
    rows = [
        torch.stack([p[i] * ((1.0 if i == j else 0.0) - p[j]) for j in range(n)]) for i in range(n)
    ]
    return torch.stack(rows)


def _by_autograd(p: Tensor) -> Tensor:
    jacobian: Tensor = torch.autograd.functional.jacobian(  # type: ignore[no-untyped-call]
        lambda scores: torch.softmax(scores, 0), p.log()
    )
    return jacobian


def _by_einsum(p: Tensor) -> Tensor:
    jacobian = -torch.einsum("i,j->ij", p, p)
    jacobian.diagonal().add_(p)
    return jacobian


def _eye(p: Tensor) -> Tensor:
    return torch.eye(p.numel(), dtype=p.dtype)


_DIAGONAL_ONLY = (
    "Only the diagonal is filled: each weight is taken to depend on its own score alone. Raising "
    "one score takes weight away from all others, through the sum in the denominator: off the "
    "diagonal stands -p_i p_j."
)

MISTAKES = (
    Mistake("diagonal-only", lambda p: torch.diag(p * (1 - p)), _DIAGONAL_ONLY),
    Mistake(
        "diagonal-of-p",
        lambda p: torch.diag(p),
        "Only diag(p) is there, as if the softmax were an exponential without a denominator. The "
        "denominator contributes - p p^T.",
    ),
    Mistake(
        "diagonal-vector",
        lambda p: p * (1 - p),
        "A vector of p_i (1 - p_i) is returned, the diagonal alone. Every weight depends on every "
        "score: the Jacobian is a matrix (n, n), with -p_i p_j off the diagonal.",
    ),
    Mistake(
        "outer-product",
        lambda p: torch.outer(p, p),
        "This is the outer product p p^T alone, with the wrong sign. It is subtracted from "
        "diag(p).",
    ),
    Mistake(
        "only-negative-outer",
        lambda p: -torch.outer(p, p),
        "The diagonal part is missing: -p p^T says that raising a score lowers every weight, its "
        "own too. Add diag(p).",
    ),
    Mistake(
        "plus-for-minus",
        lambda p: torch.diag(p) + torch.outer(p, p),
        "The outer product is added, so raising one score would raise all weights. They sum to 1, "
        "so what one gains the others lose: diag(p) *minus* p p^T.",
    ),
    Mistake(
        "lists",
        lambda p: softmax_jacobian(p).tolist(),
        "These are nested Python lists. The numbers are right; asked for is a tensor (n, n): wrap "
        "them in `torch.tensor`, or write `torch.diag(p)` less an outer product.",
    ),
    Mistake(
        "sign-turned",
        lambda p: torch.outer(p, p) - torch.diag(p),
        "The sign is turned: raising a score raises its own weight, so the diagonal is positive, "
        "p_i (1 - p_i).",
    ),
    Mistake(
        "identity-minus-outer",
        lambda p: _eye(p) - torch.outer(p, p),
        "The identity stands where diag(p) belongs: I - p p^T. With saturated weights that would "
        "let gradients through, where really none are left.",
    ),
    Mistake(
        "identity",
        _eye,
        "This is the identity: gradients would pass through the softmax unchanged, however "
        "saturated it is. They do not: where one weight is near 1 the whole Jacobian is near 0, "
        "which is why the scores are scaled.",
    ),
    Mistake(
        "not-multiplied-by-p",
        lambda p: _eye(p) - p[None, :],
        "The factor p_i is missing: it is p_i (delta_ij - p_j), not delta_ij - p_j, which is the "
        "Jacobian of the log-softmax. Without it a saturated softmax would still pass gradients.",
    ),
    Mistake(
        "not-multiplied-by-p-transposed",
        lambda p: _eye(p) - p[:, None],
        "One factor is missing: it is p_i (delta_ij - p_j), not delta_ij - p_i. Without it a "
        "saturated softmax would still pass gradients on.",
    ),
    Mistake(
        "row-index-twice",
        lambda p: torch.diag(p) - (p * p)[:, None],
        "p_i (delta_ij - p_i): both factors have the index i of the row, so every row holds one "
        "number off the diagonal. The subtracted one belongs to the column: p_i (delta_ij - p_j), "
        "with `p[:, None]` and `p[None, :]`.",
    ),
    Mistake(
        "column-without-second-factor",
        lambda p: torch.diag(p) - p[:, None],
        "diag(p) - p_i: the second factor p_j is forgotten. p_i is broadcast over its row, where "
        "the product p_i p_j belongs: `p[:, None] * p[None, :]`.",
    ),
    Mistake(
        "row-without-first-factor",
        lambda p: torch.diag(p) - p[None, :],
        "diag(p) - p_j: the factor p_i is forgotten. p_j is broadcast over the rows, where the "
        "product p_i p_j belongs: `p[:, None] * p[None, :]`.",
    ),
    Mistake(
        "off-diagonal-positive",
        lambda p: torch.outer(p, p) * (1 - 2 * _eye(p)) + torch.diag(p),
        "The entries off the diagonal are positive: raising another score would raise this "
        "weight. It loses what the other gains: -p_i p_j.",
    ),
    Mistake(
        "diagonal-too-small",
        lambda p: torch.diag(p) * (1 - p) - torch.outer(p, p),
        "p_i squared is subtracted from the diagonal twice: p_i (1 - p_i) already holds it, and "
        "the outer product takes it once more. Either diag(p) - p p^T, or fill the two parts "
        "separately.",
    ),
    Mistake(
        "diagonal-zero",
        lambda p: -torch.outer(p, p) * (1 - _eye(p)),
        "The diagonal is 0 (diag(p**2) - p p^T leaves nothing there). A weight depends on its own "
        "score most of all: p_i (1 - p_i).",
    ),
    Mistake(
        "softmax-again",
        lambda p: softmax_jacobian(torch.softmax(p, 0)),
        "A softmax is taken of p once more. p is already the softmax's output: use it as it is.",
    ),
    Mistake(
        "sigmoid",
        lambda p: torch.diag(torch.sigmoid(p) * (1 - torch.sigmoid(p))),
        "This is the derivative of a sigmoid, entry by entry. In a softmax the entries compete: "
        "diag(p) - p p^T.",
    ),
    Mistake(
        "unit-diagonal",
        lambda p: torch.diag(1 - p) - torch.outer(p, p) * (1 - _eye(p)),
        "The diagonal is 1 - p_i; it is p_i (1 - p_i). Near p_i = 1 and near p_i = 0 it vanishes.",
    ),
    Mistake(
        "complement-for-p",
        lambda p: torch.diag(1 - p) - torch.outer(p, p),
        "diag(1 - p) stands where diag(p) belongs, so the rows do not sum to 0. It is diag(p) "
        "minus the outer product; the factor 1 - p_i comes out of the two by itself.",
    ),
    Mistake(
        "half",
        lambda p: (torch.diag(p) - torch.outer(p, p)) / 2,
        "Everything is half of what it should be. There is no factor in diag(p) - p p^T.",
    ),
    Mistake(
        "one-minus-on-both",
        lambda p: torch.outer(p, 1 - p),
        "p_i (1 - p_j) stands everywhere. That is right on the diagonal only; off it delta_ij is "
        "0, which leaves -p_i p_j.",
    ),
    Mistake(
        "dot-product",
        lambda p: torch.diag(p) - (p @ p),
        "`p @ p` of two vectors is a single number, their dot product. Needed is the outer "
        "product, (n, n): `torch.outer(p, p)` or `p[:, None] * p[None, :]`.",
    ),
    Mistake(
        "elementwise-product",
        lambda p: torch.diag(p) - p * p,
        "`p * p` is a vector and is broadcast over the rows. Needed is the outer product, (n, n): "
        "`torch.outer(p, p)` or `p[:, None] * p[None, :]`.",
    ),
    Mistake(
        "floor-added",
        lambda p: softmax_jacobian(p + 1e-2),
        "A small number is added to p so that gradients do not vanish. The saturation is real: "
        "a weight of 0 or 1 has derivative 0. The remedy is to scale the scores.",
    ),
)


def _given(name: str, p: list[float], isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(torch.tensor(p, dtype=dtype))

    return Case(name, make, isolates=isolates)


def _drawn(generator: torch.Generator, dtype: torch.dtype) -> Call:
    scores = torch.randn(6, generator=generator, dtype=torch.float64)
    return call(scores.softmax(0).to(dtype))


def _rows_sum_to_zero(given: Call, output: Tensor) -> bool:
    return bool((output.double().sum(-1).abs() < 1e-3).all())


SOFTMAX_JACOBIAN = Exercise(
    id="attention.softmax_jacobian",
    title="The Jacobian of the softmax",
    kind="gradient",
    difficulty=3,
    minutes=15,
    signature="softmax_jacobian(p: (n,)) -> (n, n)",
    statement=(
        "p = softmax(s) is given, a vector of n weights. Return the (n, n) matrix of the "
        "derivatives of p_i with respect to s_j, written with p alone. The dtype of p is kept."
    ),
    objective="See from the formula why a saturated softmax passes no gradient back.",
    prerequisite="attention.softmax",
    hints=(
        "p_i = exp(s_i) / sum_j exp(s_j). In how many places does s_i stand? And s_j, for "
        "another j?",
        "Quotient rule, two cases. For i = j you get p_i - p_i p_i, for i != j only the "
        "denominator counts: -p_i p_j.",
        "Both cases in one line: the diagonal matrix of p minus the outer product of p with "
        "itself.",
    ),
    reference=softmax_jacobian,
    explanation=(
        "The numerator gives diag(p), the denominator - p p^T. Every row sums to 0, because the "
        "weights always sum to 1. When one weight is near 1 and the others near 0, all entries "
        "are near 0: no gradient comes back through a saturated softmax. That is what dividing "
        "the scores by sqrt(d_k) prevents."
    ),
    cases=(
        _given("p = [0.5, 0.5]", [0.5, 0.5], "the smallest softmax: two equal weights"),
        _given("p = [0.5, 0.3, 0.2]", [0.5, 0.3, 0.2], "diagonal and the rest, three weights"),
        _given("p = [1.0], a single weight", [1.0], "a single weight, which can not change"),
        _given(
            "saturated weights, p = [0.9998, 0.0001, 0.0001]",
            [0.9998, 0.0001, 0.0001],
            "saturation: nearly all weight on one key",
        ),
        Case("6 drawn weights", _drawn),
    ),
    invariants=(
        Invariant(
            "rows-sum-to-zero",
            _rows_sum_to_zero,
            "The rows do not sum to 0. The weights always sum to 1, so what one gains the others "
            "lose.",
        ),
    ),
    mistakes=MISTAKES,
    alternatives=(_by_identity, _by_loops, _by_autograd, _by_einsum),
    starter=(
        "def softmax_jacobian(p):\n"
        '    """p = softmax(s), (n,) -> the matrix of dp_i / ds_j, (n, n)."""\n'
        "    ...  # your code"
    ),
)
