"""The named mistakes of `attention.softmax`."""

from functools import partial

import torch
from torch import Tensor

from annotated_transformer.exercises.content.attention.softmax_shift_mistakes import (
    GLOBAL_MAX,
    SHIFT_MISTAKES,
    normalised,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

_OVERFLOW = (
    "The exponential is taken of x itself, without subtracting the maximum. exp overflows to inf "
    "above 709 in float64 (88 in float32) and inf / inf is NaN; for very negative x it underflows "
    "to 0 / 0. Subtract the largest entry along `dim` first: the result is the same."
)


def _over(x: Tensor, dim: int = -1, *, axis: int | None = None, stable: bool = True) -> Tensor:
    """A softmax that ignores `dim`; axis None is the whole tensor."""
    axes = tuple(range(x.dim())) if axis is None else axis
    return normalised(x, x.amax(dim=axes, keepdim=True) if stable else 0.0, axes)


# The axis a learner normalises over in place of `dim`, and what to say about it.
_WRONG_AXES: tuple[tuple[str, int | None, str], ...] = (
    (
        "last-axis",
        -1,
        "The argument `dim` is ignored: the code always normalises over the last axis, -1. "
        "With another axis the sums over `dim` are not 1. Pass `dim` on to the maximum and to "
        "the sum.",
    ),
    (
        "first-axis",
        0,
        "The argument `dim` is ignored: the code always normalises over axis 0, the rows or the "
        "batch, which mixes different examples. Pass `dim` on to the maximum and to the sum.",
    ),
    (
        "second-axis",
        1,
        "The argument `dim` is ignored: the code always normalises over axis 1. That is the last "
        "axis of a matrix only. Pass `dim` on to the maximum and to the sum.",
    ),
    (
        "all-axes",
        None,
        "The sum runs over the whole tensor: all entries together sum to 1, instead of every "
        "slice along `dim`. Give `sum` the axis: `sum(dim=dim, keepdim=True)`.",
    ),
)


def _axis_mistakes() -> tuple[Mistake, ...]:
    """The wrong axes, with the maximum subtracted and without."""
    return tuple(
        Mistake(
            name if stable else f"{name}-overflow",
            partial(_over, axis=axis, stable=stable),
            sentence if stable else f"{sentence} Besides: {_OVERFLOW}",
        )
        for name, axis, sentence in _WRONG_AXES
        for stable in (True, False)
    )


def _shifted_in_place(x: Tensor, dim: int = -1) -> Tensor:
    x -= x.amax(dim=dim, keepdim=True)
    return x.exp() / x.exp().sum(dim=dim, keepdim=True)


def _all_in_place(x: Tensor, dim: int = -1) -> Tensor:
    x.sub_(x.amax(dim=dim, keepdim=True)).exp_()
    return x.div_(x.sum(dim=dim, keepdim=True))


def _max_over_another_axis(x: Tensor, dim: int = -1) -> Tensor:
    other = 0 if dim % x.dim() else -1
    return normalised(x, x.amax(dim=other, keepdim=True), dim)


def _sum_over_another_axis(x: Tensor, dim: int = -1) -> Tensor:
    other = 0 if dim % x.dim() else -1
    exponentials = (x - x.amax(dim=dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim=other, keepdim=True)


def _one_hot(x: Tensor, dim: int = -1) -> Tensor:
    return torch.zeros_like(x).scatter(dim, x.argmax(dim, keepdim=True), 1.0)


def _sum_with(epsilon: float, stable: bool = True) -> Candidate:
    def implementation(x: Tensor, dim: int = -1) -> Tensor:
        exponentials = (x - x.amax(dim=dim, keepdim=True) if stable else x).exp()
        return exponentials / (exponentials.sum(dim=dim, keepdim=True) + epsilon)

    return implementation


_VISIBLE_EPSILON = (
    "A small number is added to the denominator, large enough to see: the weights sum to less than "
    "1. With the maximum subtracted one exponential of every slice is 1, so the sum can not be 0: "
    "divide by the plain sum."
)


def _l2(x: Tensor, dim: int = -1) -> Tensor:
    exponentials = torch.softmax(x, dim)
    return exponentials / exponentials.norm(dim=dim, keepdim=True)


MISTAKES = (
    Mistake("overflow", lambda x, dim=-1: normalised(x, 0.0, dim), _OVERFLOW),
    Mistake("global-max", lambda x, dim=-1: normalised(x, x.max(), dim), GLOBAL_MAX),
    *_axis_mistakes(),
    Mistake(
        "max-over-another-axis",
        _max_over_another_axis,
        "The maximum is taken over another axis than the sum. What is subtracted must be the same "
        "number for all entries of a slice, else it does not cancel. Use the same `dim` in both.",
    ),
    Mistake(
        "max-over-last-axis",
        lambda x, dim=-1: normalised(x, x.amax(dim=-1, keepdim=True), dim),
        "The maximum is always taken over the last axis, while the sum runs over `dim`. What is "
        "subtracted must be the same number for all entries of a slice, else it does not cancel. "
        "Give the maximum `dim` too.",
    ),
    Mistake(
        "sum-over-last-axis",
        lambda x, dim=-1: (lambda e: e / e.sum(-1, keepdim=True))(
            (x - x.amax(dim, keepdim=True)).exp()
        ),
        "The sum always runs over the last axis, while the maximum is taken over `dim`. The "
        "weights have to sum to 1 along `dim`: give the sum `dim` too.",
    ),
    Mistake(
        "sum-over-another-axis",
        _sum_over_another_axis,
        "The sum runs over another axis than `dim`: the weights sum to 1 across the wrong slices. "
        "Use the same `dim` in the maximum and in the sum.",
    ),
    Mistake(
        "sum-over-everything",
        lambda x, dim=-1: (lambda e: e / e.sum())((x - x.amax(dim, keepdim=True)).exp()),
        "The maximum is right, but the sum runs over the whole tensor, so that only all entries "
        "together sum to 1. Sum along the axis: `sum(dim=dim, keepdim=True)`.",
    ),
    Mistake(
        "sum-without-keepdim",
        lambda x, dim=-1: (lambda e: e / e.sum(dim))((x - x.amax(dim, keepdim=True)).exp()),
        "The sum is taken without `keepdim=True`, so it has one axis less and broadcasting lines "
        "it up with the wrong axis: an error on most shapes, and silently wrong numbers on square "
        "ones. Keep the summed axis.",
    ),
    Mistake(
        "max-without-keepdim",
        lambda x, dim=-1: normalised(x, x.amax(dim), dim),
        "The maximum is taken without `keepdim=True`, so broadcasting lines it up with the wrong "
        "axis: an error on most shapes, and silently wrong numbers on square ones. Keep the axis.",
    ),
    Mistake(
        "both-without-keepdim",
        lambda x, dim=-1: (lambda e: e / e.sum(dim))((x - x.amax(dim)).exp()),
        "Maximum and sum are taken without `keepdim=True`, so broadcasting lines them up with the "
        "wrong axis: an error on most shapes, silently wrong numbers on square ones. Keep the "
        "axis in both.",
    ),
    Mistake(
        "overflow-without-keepdim",
        lambda x, dim=-1: x.exp() / x.exp().sum(dim),
        "The sum is taken without `keepdim=True`, so broadcasting lines it up with the wrong "
        "axis; square shapes go wrong silently. And no maximum is subtracted, so exp overflows "
        "for large x.",
    ),
    Mistake(
        "not-normalised",
        lambda x, dim=-1: (x - x.amax(dim, keepdim=True)).exp(),
        "The exponentials are not divided by their sum (they come back as they are, or divided by "
        "their largest): the largest weight is 1 and the weights do not sum to 1. Divide by the "
        "sum along `dim`.",
    ),
    Mistake(
        "only-exponential",
        lambda x, dim=-1: x.exp(),
        "Only exp(x) is returned: nothing is divided by the sum along `dim`, and without "
        "subtracting the maximum it overflows for large x.",
    ),
    Mistake(
        "divided-by-mean",
        lambda x, dim=-1: torch.softmax(x, dim) * x.size(dim),
        "The exponentials are divided by their mean, not by their sum: the weights sum to the "
        "number of entries instead of 1. Use `sum`, along `dim`.",
    ),
    Mistake(
        "divided-by-count",
        lambda x, dim=-1: (x - x.amax(dim, keepdim=True)).exp() / x.size(dim),
        "The exponentials are divided by the number of entries instead of by their sum, so the "
        "weights do not sum to 1. Divide by `exponentials.sum(dim, keepdim=True)`.",
    ),
    Mistake(
        "divided-by-size-of-tensor",
        lambda x, dim=-1: (x - x.amax(dim, keepdim=True)).exp() / x.numel(),
        "The exponentials are divided by the number of entries of the tensor instead of by their "
        "sum, so the weights do not sum to 1. Divide by `exponentials.sum(dim, keepdim=True)`.",
    ),
    Mistake(
        "one-added-to-denominator",
        lambda x, dim=-1: (lambda e: e / (1 + e.sum(dim, keepdim=True)))(
            (x - x.amax(dim, keepdim=True)).exp()
        ),
        "1 is added to the denominator, so the weights sum to less than 1. Divide by the plain "
        "sum of the exponentials; the maximum subtracted, it can not be 0.",
    ),
    *(
        Mistake(f"{epsilon}-added-to-denominator", _sum_with(epsilon), _VISIBLE_EPSILON)
        for epsilon in (0.1, 1e-2, 1e-3, 1e-4)
    ),
    *(
        Mistake(
            f"{epsilon}-added-to-denominator-overflow",
            _sum_with(epsilon, stable=False),
            f"{_VISIBLE_EPSILON} As it stands exp overflows for large x besides.",
        )
        for epsilon in (0.1, 1e-2, 1e-3, 1e-4)
    ),
    Mistake(
        "last-entry-subtracted",
        lambda x, dim=-1: normalised(x, x.narrow(dim, x.size(dim) - 1, 1), dim),
        "The last entry of every slice is subtracted, not the largest: where another lies far "
        "above it, exp still overflows. Subtract the maximum along `dim`.",
    ),
    Mistake(
        "first-entry-subtracted",
        lambda x, dim=-1: normalised(x, x.narrow(dim, 0, 1), dim),
        "The first entry of every slice is subtracted, not the largest: where another lies far "
        "above it, exp still overflows. Subtract the maximum along `dim`.",
    ),
    Mistake(
        "running-sum",
        lambda x, dim=-1: (lambda e: e / e.cumsum(dim))((x - x.amax(dim, keepdim=True)).exp()),
        "The exponentials are divided by a running sum (`cumsum`), which differs from entry to "
        "entry. All entries of a slice share one sum: `sum(dim=dim, keepdim=True)`.",
    ),
    Mistake(
        "default-axis-first",
        lambda x, dim=0: torch.softmax(x, dim),
        "Where `dim` is left out it is axis 0 here. The default asked for is the last axis: "
        "`dim=-1` in the first line of the function.",
    ),
    Mistake(
        "default-axis-second",
        lambda x, dim=1: torch.softmax(x, dim),
        "Where `dim` is left out it is axis 1 here, which a vector does not have. The default "
        "asked for is the last axis: `dim=-1` in the first line of the function.",
    ),
    Mistake(
        "axis-not-moved-back",
        lambda x, dim=-1: torch.softmax(x.transpose(dim, -1), -1),
        "The axis `dim` is moved to the end for the softmax but not moved back, so the result is "
        "transposed. Move it back, or pass `dim` to the maximum and to the sum instead.",
    ),
    Mistake(
        "two-norm",
        _l2,
        "The exponentials are divided by their length (the 2-norm), so their squares sum to 1. "
        "A softmax divides by the plain sum along `dim`.",
    ),
    Mistake(
        "log-softmax",
        lambda x, dim=-1: torch.log_softmax(x, dim),
        "This is the logarithm of the softmax (`x - logsumexp(x)`): all entries are negative or "
        "0. Take `exp` of it, or divide the exponentials by their sum.",
    ),
    Mistake(
        "negative-log-softmax",
        lambda x, dim=-1: -torch.log_softmax(x, dim),
        "This is the negative logarithm of the softmax (`logsumexp(x) - x`), a loss. Take "
        "`exp(x - logsumexp(x))`, or divide the exponentials by their sum.",
    ),
    Mistake(
        "log-sum-exp",
        lambda x, dim=-1: torch.logsumexp(x, dim),
        "This is the logarithm of the denominator, one number a slice. Every entry of x gets a "
        "weight: `exp(x - logsumexp(x, dim, keepdim=True))`.",
    ),
    Mistake(
        "sigmoid",
        lambda x, dim=-1: torch.sigmoid(x),
        "This is a sigmoid: each entry is squashed by itself, so nothing makes a slice sum to 1. "
        "In a softmax the entries along `dim` compete: divide by the sum of their exponentials.",
    ),
    Mistake(
        "no-exponential",
        lambda x, dim=-1: x / x.sum(dim, keepdim=True),
        "x is divided by its sum without the exponential, so negative entries give negative "
        "weights and a sum near 0 explodes. Take exp of x (less its maximum) first.",
    ),
    Mistake(
        "shifted-no-exponential",
        lambda x, dim=-1: (lambda s: s / s.sum(dim, keepdim=True))(x - x.amax(dim, keepdim=True)),
        "The exponential is missing: x less its maximum is divided by its sum, so the largest "
        "entry gets weight 0. Take exp of the difference first.",
    ),
    Mistake(
        "squares",
        lambda x, dim=-1: x.square() / x.square().sum(dim, keepdim=True),
        "Squares are normalised instead of exponentials, so -3 weighs as much as 3. Take exp.",
    ),
    Mistake(
        "rectified",
        lambda x, dim=-1: x.relu() / x.relu().sum(dim, keepdim=True),
        "Negative entries are cut off (ReLU) and the rest divided by its sum. A softmax takes the "
        "exponential, which is positive for every number, so every entry gets a share.",
    ),
    Mistake(
        "between-minimum-and-maximum",
        lambda x, dim=-1: (
            (x - x.amin(dim, keepdim=True))
            / (x.amax(dim, keepdim=True) - x.amin(dim, keepdim=True))
        ),
        "x is stretched between its minimum and maximum, so the entries lie in [0, 1] but do not "
        "sum to 1. Take the exponential and divide by its sum along `dim`.",
    ),
    Mistake(
        "absolute-values",
        lambda x, dim=-1: torch.softmax(x.abs(), dim),
        "The sign of x is lost: the exponential is taken of |x|, so a very negative score gets a "
        "large weight. Use x itself, less its maximum.",
    ),
    *SHIFT_MISTAKES,
    Mistake(
        "twice",
        lambda x, dim=-1: torch.softmax(torch.softmax(x, dim), dim),
        "The softmax is applied twice. The second one takes weights between 0 and 1 for scores "
        "and flattens them. Normalise once.",
    ),
    Mistake(
        "one-hot",
        _one_hot,
        "This is the position of the maximum (argmax), a hard choice. A softmax is its smooth "
        "form: every entry gets a share, and a gradient.",
    ),
    Mistake(
        "powers-of-two",
        lambda x, dim=-1: torch.softmax(x * 0.6931471805599453, dim),
        "The powers are of base 2, not e: the weights are too flat. Use `exp`, not `exp2`.",
    ),
    Mistake(
        "powers-of-ten",
        lambda x, dim=-1: torch.softmax(x * 2.302585092994046, dim),
        "The powers are of base 10, not e: the weights are too sharp. Use `exp`.",
    ),
    Mistake(
        "scaled",
        lambda x, dim=-1: torch.softmax(x / x.size(dim) ** 0.5, dim),
        "x is divided by the root of its size first. The scale 1 / sqrt(d_k) belongs to "
        "attention, before it calls the softmax; here x is taken as it comes.",
    ),
    Mistake(
        "in-place-shift",
        _shifted_in_place,
        "`x -= ...` subtracts the maximum from the caller's own tensor, which is changed after "
        "the call (and autograd refuses it). Write `x = x - ...`, which makes a new one.",
    ),
    Mistake(
        "in-place",
        _all_in_place,
        "The operations ending in `_` work in place: they overwrite the caller's x, which is "
        "changed after the call (and autograd refuses it). Use `x - ...`, `exp` and `/`.",
    ),
    Mistake(
        "detached",
        lambda x, dim=-1: torch.softmax(x.detach(), dim),
        "The values are right, but `detach` (or `.data`, `no_grad`) cuts the graph: no "
        "gradient reaches x, and nothing before the softmax learns. Leave it out.",
    ),
)
