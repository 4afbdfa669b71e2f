"""`attention.softmax`: the softmax of equation (1), over any axis and without overflow."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import (
    Call,
    Case,
    Exercise,
    Gradient,
    Invariant,
    Stage,
    call,
)


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    shifted = x - x.amax(dim=dim, keepdim=True)  # the largest entry of every slice is now 0
    exponentials = shifted.exp()  # in (0, 1]: nothing overflows
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


def _by_torch(x: Tensor, dim: int = -1) -> Tensor:
    return torch.softmax(x, dim=dim)


def _by_log_sum_exp(x: Tensor, dim: int = -1) -> Tensor:
    return torch.exp(x - torch.logsumexp(x, dim=dim, keepdim=True))


def _by_moving_the_axis(x: Tensor, dim: int = -1) -> Tensor:
    last = x.movedim(dim, -1)
    largest, _ = torch.max(last, dim=-1)
    weights = torch.exp(last - largest[..., None])
    weights = weights / weights.sum(-1)[..., None]
    return weights.movedim(-1, dim)


def _by_slices(x: Tensor, dim: int = -1) -> Tensor:
    slices = x.unbind(dim)
    largest = slices[0]
    for entry in slices[1:]:
        largest = torch.maximum(largest, entry)
    exponentials = [torch.exp(entry - largest) for entry in slices]
    total = sum(exponentials[1:], start=exponentials[0])
    return torch.stack([entry / total for entry in exponentials], dim=dim)


def _by_pairwise_differences(x: Tensor, dim: int = -1) -> Tensor:
    last = x.movedim(dim, -1)
    ratios = torch.exp(last[..., None, :] - last[..., :, None])  # exp(x_j - x_i)
    return (1 / ratios.sum(-1)).movedim(-1, dim)


def _random(
    name: str,
    shape: tuple[int, ...],
    *dim: int,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        x = torch.randn(shape, generator=generator, dtype=torch.float64) * 2
        return call(x.to(dtype), *dim)

    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype, gradient=gradient)


def _given(name: str, rows: list[list[float]], *dim: int, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(torch.tensor(rows, dtype=dtype), *dim)

    return Case(name, make, isolates=isolates)


def _small(generator: torch.Generator, dtype: torch.dtype) -> Call:
    return call(torch.rand(2, 3, generator=generator, dtype=torch.float64).to(dtype), 0)


def _not_contiguous(generator: torch.Generator, dtype: torch.dtype) -> Call:
    return call(torch.randn(4, 3, 2, generator=generator, dtype=dtype).transpose(0, 2), 1)


def _slices_sum_to_one(given: Call, output: Tensor) -> bool:
    dim = given.args[1] if len(given.args) > 1 else given.kwargs.get("dim", -1)
    sums = output.double().sum(dim)
    return bool(((sums - 1).abs() < 1e-2).all())


SOFTMAX = Exercise(
    id="attention.softmax",
    title="A stable softmax",
    kind="code",
    difficulty=2,
    minutes=10,
    signature="softmax(x: Tensor, dim: int = -1) -> Tensor",
    statement=(
        "Return exp(x) divided by its sum along `dim`: same shape and dtype as x, stable for |x| "
        "around 10,000, x left untouched. Write it with exp, max and sum. Gradients have to flow "
        "back to its inputs: it is trained through. A tensor from NumPy is accepted with a remark."
    ),
    objective="Turn scores into weights that sum to 1, whatever their size and along any axis.",
    prerequisite="warm-up: broadcasting and keepdim",
    hints=(
        "What is exp(1000) in a float64? And what do you get when you divide it by itself?",
        "Adding the same number to all entries of a slice changes nothing in the quotient. Which "
        "number makes every exponent at most 0?",
        "Subtract `x.amax(dim=dim, keepdim=True)`, take exp, divide by its sum along the same "
        "`dim`, again with keepdim=True.",
    ),
    reference=softmax,
    explanation=(
        "exp(x - c) / sum exp(x - c) is the same for every c, because exp(-c) cancels. With c the "
        "maximum of the slice the largest exponent is 0: nothing overflows, and the sum is at "
        "least 1, so nothing is divided by 0. The maximum must be the slice's own: with one for "
        "the whole tensor a slice far below it underflows to 0 / 0. keepdim=True keeps maximum "
        "and sum beside the entries they belong to."
    ),
    cases=(
        _random("x of shape (2, 3)", (2, 3), isolates="the plain formula along the last axis"),
        _random("x of shape (3, 2), dim=0", (3, 2), 0, isolates="the axis: `dim` is 0 here"),
        _random(
            "x of shape (2, 3, 4), dim=1",
            (2, 3, 4),
            1,
            isolates="the axis: `dim` is 1 here",
            gradient="in torch",
        ),
        _random("x of shape (3, 3), dim=-1", (3, 3), -1, isolates="keepdim: the shape is square"),
        _random("x of shape (2, 2, 2), dim=1", (2, 2, 2), 1, isolates="the axis and keepdim"),
        _given(
            "large numbers, two rows of (2, 3)",
            [[10000.0, 10001.0, 9998.0], [9999.5, 10000.0, 10001.5]],
            -1,
            isolates="overflow: exp meets numbers around 10,000, so the maximum has to be "
            "subtracted first",
        ),
        _given(
            "very negative numbers, two rows of (2, 3)",
            [[-10000.0, -9999.0, -10002.0], [-10001.5, -10000.0, -9999.5]],
            -1,
            isolates="underflow: exp of numbers around -10,000 is 0, and 0 / 0 is NaN, so the "
            "maximum itself has to be subtracted first",
        ),
        _given(
            "numbers far apart, dim=0",
            [[10000.0, -20.0, 1.0], [-10000.0, -21.0, 1000.0], [9999.0, -10000.0, 1001.0]],
            0,
            isolates="slices far apart: each needs its own maximum along `dim`, a global one "
            "underflows",
        ),
        _random("one entry a row, (2, 1)", (2, 1), -1, isolates="the sum: one entry weighs 1"),
        _random("x of shape (5,)", (5,)),
        _random("x of shape (2, 3, 4, 5), dim=-2", (2, 3, 4, 5), -2),
        _random("float32, x of shape (2, 3)", (2, 3), -1, stage="other", dtype=torch.float32),
        Case(
            "float16, x of shape (2, 3), dim=0",
            _small,
            stage="other",
            dtype=torch.float16,
            rtol=0.05,
            atol=1e-3,
        ),
        Case("x not contiguous, dim=1", _not_contiguous, stage="other"),
    ),
    invariants=(
        Invariant(
            "sums-to-one",
            _slices_sum_to_one,
            "The weights do not sum to 1 along `dim`: every slice along `dim` is divided by its "
            "own sum, so its sum must be 1.",
        ),
    ),
    mistakes=page(__file__, softmax),
    alternatives=(
        _by_torch,
        _by_log_sum_exp,
        _by_moving_the_axis,
        _by_slices,
        _by_pairwise_differences,
    ),
    starter=(
        "def softmax(x, dim=-1):\n"
        '    """exp(x) / sum(exp(x)) along dim; stable for |x| ~ 1e4; x is left untouched."""\n'
        "    ...  # your code"
    ),
)
