"""Named mistakes of `attention.softmax` in what is subtracted before the exponential."""

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Mistake


def normalised(x: Tensor, shift: Tensor | float, dim: int | tuple[int, ...]) -> Tensor:
    exponentials = (x - shift).exp()
    return exponentials / exponentials.sum(dim=dim, keepdim=True)


GLOBAL_MAX = (
    "One maximum, that of the whole tensor, is subtracted from every slice (global max). "
    "Nothing overflows, but a slice that lies far below it underflows: all its exponentials are "
    "0, and 0 / 0 is NaN. Each slice needs its own maximum along `dim`, with keepdim=True."
)


def _scaled_by_own_maximum(x: Tensor, dim: int = -1) -> Tensor:
    return normalised(x / x.amax(dim=dim, keepdim=True), 0.0, dim)


def _nan_to_zero(x: Tensor, dim: int = -1) -> Tensor:
    return torch.nan_to_num(normalised(x, 0.0, dim))


SHIFT_MISTAKES = (
    Mistake(
        "negated",
        lambda x, dim=-1: torch.softmax(-x, dim),
        "The sign is turned: the smallest entry gets the largest weight. It is `x - max`, not "
        "`max - x`.",
    ),
    Mistake(
        "negated-overflow",
        lambda x, dim=-1: normalised(-x, 0.0, dim),
        "The sign is turned (exp(-x)): the smallest entry gets the largest weight. And no maximum "
        "is subtracted, so it overflows for large x.",
    ),
    Mistake(
        "maximum-added",
        lambda x, dim=-1: normalised(x, -x.amax(dim, keepdim=True), dim),
        "The maximum is added instead of subtracted. For moderate x it cancels, but it doubles "
        "large numbers, so exp overflows even sooner. Write `x - x.amax(dim, keepdim=True)`.",
    ),
    Mistake(
        "minimum-subtracted",
        lambda x, dim=-1: normalised(x, x.amin(dim, keepdim=True), dim),
        "The minimum is subtracted, not the maximum: the largest difference is still large and "
        "exp overflows to inf. Subtract the maximum along `dim`, so that the largest exponent "
        "is 0.",
    ),
    Mistake(
        "mean-subtracted",
        lambda x, dim=-1: normalised(x, x.mean(dim, keepdim=True), dim),
        "The mean is subtracted, not the maximum: an entry far above the mean still overflows. "
        "Subtract the maximum along `dim`, so that the largest exponent is 0.",
    ),
    Mistake(
        "standardised",
        lambda x, dim=-1: torch.softmax(
            (x - x.mean(dim, keepdim=True)) / (x.std(dim, keepdim=True, correction=0) + 1e-9), dim
        ),
        "x is standardised (divided by its deviation) before the exponential. That changes the "
        "weights; only subtracting a constant leaves a softmax as it is. Subtract the maximum.",
    ),
    Mistake(
        "largest-magnitude-subtracted",
        lambda x, dim=-1: normalised(x, x.abs().amax(dim, keepdim=True), dim),
        "The largest absolute value is subtracted. In a slice of very negative numbers that makes "
        "them more negative still: all exponentials underflow to 0 and 0 / 0 is NaN. Subtract the "
        "maximum itself, not of |x|.",
    ),
    Mistake(
        "divided-by-maximum",
        _scaled_by_own_maximum,
        "x is divided by its maximum instead of having it subtracted. That changes the ratios of "
        "the exponentials, and with them the weights. Subtraction cancels, division does not.",
    ),
    Mistake(
        "divided-by-largest-magnitude",
        lambda x, dim=-1: normalised(x / x.abs().max(), 0.0, dim),
        "x is divided by its largest absolute value instead of having its maximum subtracted. "
        "That changes the ratios of the exponentials, and with them the weights.",
    ),
    Mistake(
        "maximum-subtracted-late",
        lambda x, dim=-1: (lambda e: (e - e.amax(dim, keepdim=True)) / e.sum(dim, keepdim=True))(
            x.exp()
        ),
        "The maximum is subtracted after the exponential, from the exponentials. There it neither "
        "prevents the overflow nor cancels. Subtract it from x, before exp.",
    ),
    Mistake(
        "denominator-without-shift",
        lambda x, dim=-1: (x - x.amax(dim, keepdim=True)).exp() / x.exp().sum(dim, keepdim=True),
        "The maximum is subtracted in the numerator only; the denominator sums exp(x). They have "
        "to be the same exponentials, so that the shift cancels and nothing overflows.",
    ),
    Mistake(
        "numerator-without-shift",
        lambda x, dim=-1: x.exp() / (x - x.amax(dim, keepdim=True)).exp().sum(dim, keepdim=True),
        "The maximum is subtracted in the denominator only; the numerator is exp(x). They have to "
        "be the same exponentials, so that the shift cancels and nothing overflows.",
    ),
    Mistake(
        "clamped",
        lambda x, dim=-1: normalised(x.clamp(max=80.0), 0.0, dim),
        "x is clamped to keep exp from overflowing, so all entries above the bound get the same "
        "weight, and very negative slices still give 0 / 0. Subtract the maximum instead: that is "
        "exact.",
    ),
    Mistake(
        "clamped-both-sides",
        lambda x, dim=-1: normalised(x.clamp(-50.0, 50.0), 0.0, dim),
        "x is clamped to keep exp from overflowing, so all entries beyond the bound get the same "
        "weight. Subtract the maximum along `dim` instead: that is exact.",
    ),
    Mistake(
        "nan-hidden",
        _nan_to_zero,
        "The exponential overflows and the NaN is replaced afterwards by a number. It hides the "
        "overflow and loses the largest weight. Subtract the maximum along `dim` before exp, and "
        "there is no NaN to hide.",
    ),
    Mistake(
        "nan-replaced-by-one",
        lambda x, dim=-1: torch.nan_to_num(normalised(x, 0.0, dim), nan=1.0),
        "The exponential overflows and the NaN is replaced afterwards by a number. It hides the "
        "overflow and loses the ratios of the weights. Subtract the maximum along `dim` before "
        "exp, and there is no NaN to hide.",
    ),
    Mistake(
        "global-max-and-small-denominator",
        lambda x, dim=-1: (lambda e: e / (e.sum(dim, keepdim=True) + 1e-9))((x - x.max()).exp()),
        GLOBAL_MAX
        + " A small number in the denominator, or replacing the NaN afterwards, only turns "
        "it into weights of 0.",
    ),
    Mistake(
        "overflow-in-the-logarithm",
        lambda x, dim=-1: (x - x.exp().sum(dim, keepdim=True).log()).exp(),
        "The logarithm of the sum is taken of exp(x) itself: without subtracting the maximum the "
        "sum overflows to inf (or underflows to 0) before its logarithm is taken. Use "
        "`torch.logsumexp`, or subtract the maximum along `dim` first.",
    ),
    Mistake(
        "small-denominator",
        lambda x, dim=-1: (lambda e: e / (e.sum(dim, keepdim=True) + 1e-9))(x.exp()),
        "A small number in the denominator avoids 0 / 0, but exp still overflows for large x, and "
        "a very negative slice gives weights 0 instead of a sum of 1: without subtracting the "
        "maximum it is not stable. With the maximum subtracted the sum is at least 1 and no such "
        "number is needed.",
    ),
)
