"""`attention.softmax_jacobian`: the derivative of the softmax, written with its own output."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Invariant, call


def softmax_jacobian(p: Tensor) -> Tensor:
    diagonal = torch.diag(p)  # (n, n): p_i where i == j, of the numerator
    products = torch.outer(p, p)  # (n, n): p_i p_j, of the denominator
    return diagonal - products


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
    mistakes=page(__file__, softmax_jacobian),
    alternatives=(_by_identity, _by_loops, _by_autograd, _by_einsum),
    starter=(
        "def softmax_jacobian(p):\n"
        '    """p = softmax(s), (n,) -> the matrix of dp_i / ds_j, (n, n)."""\n'
        "    ...  # your code"
    ),
)
