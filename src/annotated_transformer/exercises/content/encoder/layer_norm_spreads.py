"""Layer normalisation with steps that can be replaced, and the wrong means, variances, roots."""

from collections.abc import Callable
from typing import Any

from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Step = Callable[..., Any]


def mean_of(x: Tensor) -> Tensor:
    return x.mean(-1, keepdim=True)


def variance_of(x: Tensor) -> Tensor:
    return x.var(-1, correction=0, keepdim=True)


def root_of(variance: Tensor, eps: float) -> Tensor:
    return (variance + eps).sqrt()


def affine_of(normalised: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    return gamma * normalised + beta


def norm_of(
    mean: Step = mean_of,
    variance: Step = variance_of,
    divisor: Step = root_of,
    affine: Step = affine_of,
    default: float = 1e-6,
    fixed: float | None = None,
) -> Candidate:
    """Layer normalisation with some of its steps replaced; `fixed` is an eps that is not read."""

    def implementation(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = default) -> Tensor:
        eps = eps if fixed is None else fixed
        normalised = (x - mean(x)) / divisor(variance(x), eps)
        result: Tensor = affine(normalised, gamma, beta)
        return result

    return implementation


def _over(*dims: int, correction: int = 0) -> dict[str, Step]:
    """Mean and variance over these axes."""
    return {
        "mean": lambda x: x.mean(dims, keepdim=True),
        "variance": lambda x: x.var(dims, correction=correction, keepdim=True),
    }


def _unbiased(x: Tensor) -> Tensor:
    return x.var(-1, keepdim=True)


def _unbiased_over_tokens(x: Tensor) -> Tensor:
    rows = x.reshape(-1, x.size(-1))
    return (rows - rows.mean(0)).square().sum(0) / (len(rows) - 1)  # NaN for a single token


def _zero(x: Tensor) -> float:
    return 0.0


def _mean_square(x: Tensor) -> Tensor:
    return x.square().mean(-1, keepdim=True)


def _sum_of_squares(x: Tensor) -> Tensor:
    return (x - mean_of(x)).square().sum(-1, keepdim=True)


def _eps_outside(variance: Tensor, eps: float) -> Tensor:
    return variance.sqrt() + eps


def _no_eps(variance: Tensor, eps: float) -> Tensor:
    return variance.sqrt()


_UNBIASED = (
    "The variance is divided by d - 1 (the unbiased estimate, which `x.var(-1)` and `x.std(-1)` "
    "give unless told otherwise). Layer normalisation divides by d: these d features are all "
    "there are, nothing is estimated. Use `correction=0` (or `unbiased=False`), or take "
    "`.mean(-1)` of the squares. "
)
_EPS_OUTSIDE = (
    "eps is added after the root: sqrt(variance) + eps. It belongs inside, sqrt(variance + eps). "
    "The two differ most where it matters, for tokens whose features are nearly equal. "
)
_NO_EPS = (
    "eps is not used. A token whose features are all equal then gives 0 / 0, which is NaN. Divide "
    "by sqrt(variance + eps). "
)
IGNORED = (
    "The argument eps is not read: a number of your own stands in its place, or the default of a "
    "library. Pass the eps that was given on to the root: sqrt(variance + eps). "
)
_FIRST_AXIS = (
    "Mean and variance are taken over the first axis (dim=0), so each feature is normalised "
    "across the batch: that is batch normalisation, and a sentence's result depends on its "
    "neighbours. Here each token stands alone: `dim=-1`. "
)
_ALL = (
    "One mean and one variance are taken over the whole tensor. Every token has its own, over "
    "its d features: `dim=-1, keepdim=True`. "
)
_BATCH_NORM = (
    "Mean and variance are taken for each feature over all tokens (every axis but the last): that "
    "is batch normalisation. Layer normalisation takes them for each token over its features: "
    "`dim=-1`. "
)
_FIRST_TWO_AXES = (
    "Mean and variance are taken over the axes (0, 1), sentences and words where x has three axes: "
    "that is batch normalisation, and a word's result depends on all the others. Layer "
    "normalisation takes them for each token over its features: `dim=-1`. "
)
_BUT_FIRST = (
    "Mean and variance are taken over every axis but the first (`x.shape[1:]`), so the words of a "
    "sentence share them. Every token has its own, over the last axis alone: `(x.size(-1),)`. "
)
_NOT_CENTRED = (
    "The mean is not subtracted from x. A token has to come out with mean 0 before the gain and "
    "the shift: the numerator is x - mean. "
)

# What to say, and the replaced steps.
SPREADS: dict[str, tuple[str, dict[str, Any]]] = {
    "unbiased": (_UNBIASED, {"variance": _unbiased}),
    "eps-outside": (_EPS_OUTSIDE, {"divisor": _eps_outside}),
    "unbiased-and-eps-outside": (
        "This is (x - mean) / (x.std(-1) + eps), as in a well-known listing. `std` divides by "
        "d - 1 instead of d, and eps stands outside the root. Asked for is sqrt(variance + eps) "
        "with the variance divided by d (`correction=0`). ",
        {"variance": _unbiased, "divisor": _eps_outside},
    ),
    "no-eps": (_NO_EPS, {"divisor": _no_eps}),
    "unbiased-and-no-eps": (_UNBIASED + _NO_EPS, {"variance": _unbiased, "divisor": _no_eps}),
    "eps-1e-6-fixed": (IGNORED, {"fixed": 1e-6}),
    "eps-1e-5-fixed": (IGNORED, {"fixed": 1e-5}),
    "first-axis": (_FIRST_AXIS, _over(0)),
    "first-axis-unbiased": (_FIRST_AXIS + _UNBIASED, _over(0, correction=1)),
    "first-two-axes": (_FIRST_TWO_AXES, _over(0, 1)),
    "first-two-axes-unbiased": (_FIRST_TWO_AXES + _UNBIASED, _over(0, 1, correction=1)),
    "axis-before-last": (
        "Mean and variance are taken over the positions (dim=-2): each feature is normalised "
        "along the sentence, so a word's result depends on the other words. Take them over the "
        "features of each token: `dim=-1`. ",
        _over(-2),
    ),
    "second-axis": (
        "Mean and variance are taken over dim=1. Counted from the front that is the last axis "
        "only where x has two. The features are always the last: `dim=-1`. ",
        _over(1),
    ),
    "whole-tensor": (
        _ALL,
        {"mean": lambda x: x.mean(), "variance": lambda x: x.var(correction=0)},
    ),
    "whole-tensor-unbiased": (
        _ALL + _UNBIASED,
        {"mean": lambda x: x.mean(), "variance": lambda x: x.var()},
    ),
    "each-sentence": (
        "Mean and variance are taken over the last two axes together, one pair for a whole "
        "sentence. Every token has its own: `dim=-1` alone. ",
        _over(-2, -1),
    ),
    "batch-norm": (
        _BATCH_NORM,
        {
            "mean": lambda x: x.reshape(-1, x.size(-1)).mean(0),
            "variance": lambda x: x.reshape(-1, x.size(-1)).var(0, correction=0),
        },
    ),
    "batch-norm-unbiased": (
        _BATCH_NORM + _UNBIASED,
        {
            "mean": lambda x: x.reshape(-1, x.size(-1)).mean(0),
            "variance": _unbiased_over_tokens,
        },
    ),
    "rms-norm": (
        "The mean is not subtracted, in the numerator or in the variance: this is RMSNorm, x / "
        "sqrt(mean(x²) + eps), a later invention. Layer normalisation centres first. ",
        {"mean": _zero, "variance": _mean_square},
    ),
    "not-centred": (_NOT_CENTRED, {"mean": _zero}),
    "not-centred-unbiased": (_NOT_CENTRED + _UNBIASED, {"mean": _zero, "variance": _unbiased}),
    "variance-not-centred": (
        "The numerator is centred, but the variance is the mean of x², without the mean taken "
        "out. Square the differences from the mean: ((x - mean) ** 2).mean(-1). ",
        {"variance": _mean_square},
    ),
    "variance-minus-mean": (
        "The variance is computed as mean(x²) - mean(x): the second mean has to be squared. Or "
        "take the mean of (x - mean) ** 2. ",
        {"variance": lambda x: _mean_square(x) - mean_of(x)},
    ),
    "variance-negative": (
        "The variance has the wrong sign, mean(x)² - mean(x²), and its root is NaN. It is the "
        "mean of the squares minus the square of the mean. ",
        {"variance": lambda x: mean_of(x).square() - _mean_square(x)},
    ),
    "sum-of-squares": (
        "The squared differences are added up, but not divided by d: every token gets length 1 "
        "instead of variance 1. Take their mean. ",
        {"variance": _sum_of_squares},
    ),
    "norm-plus-eps": (
        "x - mean is divided by its length (`norm`), the root of the *sum* of the squares. Take "
        "the root of their mean, with eps inside it. ",
        {"variance": _sum_of_squares, "divisor": _eps_outside},
    ),
    "mean-absolute-deviation": (
        "The differences are divided by their mean absolute value. Asked for is the root of "
        "their mean square. ",
        {
            "variance": lambda x: (x - mean_of(x)).abs().mean(-1, keepdim=True),
            "divisor": lambda deviation, eps: deviation + eps,
        },
    ),
    "median": (
        "The median of the features is subtracted. Asked for is their mean: x - mean. ",
        {"mean": lambda x: x.median(-1, keepdim=True).values},
    ),
    "all-but-the-first-axis": (
        _BUT_FIRST,
        {
            "mean": lambda x: x.mean(tuple(range(1, x.dim())), keepdim=True),
            "variance": lambda x: x.var(tuple(range(1, x.dim())), correction=0, keepdim=True),
        },
    ),
    "all-but-the-first-axis-fixed-eps": (
        _BUT_FIRST + IGNORED,
        {
            "mean": lambda x: x.mean(tuple(range(1, x.dim())), keepdim=True),
            "variance": lambda x: x.var(tuple(range(1, x.dim())), correction=0, keepdim=True),
            "fixed": 1e-5,
        },
    ),
    "mean-of-all": (
        "The mean is taken over the whole tensor, the variance over each token. Both are the "
        "token's own: `dim=-1, keepdim=True`. ",
        {"mean": lambda x: x.mean()},
    ),
    "variance-of-all": (
        "The variance is taken over the whole tensor, the mean over each token. Both are the "
        "token's own: `dim=-1, keepdim=True`. ",
        {"variance": lambda x: x.var(correction=0)},
    ),
    "no-root": (
        "x - mean is divided by the variance itself. The root is missing: divide by "
        "sqrt(variance + eps). ",
        {"divisor": lambda variance, eps: variance + eps},
    ),
    "root-of-the-deviation": (
        "The root is taken twice: of the standard deviation instead of the variance "
        "(`std + eps` under the root). ",
        {"divisor": lambda variance, eps: (variance.sqrt() + eps).sqrt()},
    ),
    "deviation-squared-eps": (
        "eps is squared: sqrt(variance + eps²). It is added to the variance as it is. ",
        {"divisor": lambda variance, eps: (variance + eps * eps).sqrt()},
    ),
    "roots-added": (
        "The root is taken of the variance and of eps separately, and then added. It is the "
        "root of the sum: sqrt(variance + eps). ",
        {"divisor": lambda variance, eps: variance.sqrt() + eps**0.5},
    ),
    "eps-subtracted": (
        "eps is subtracted: sqrt(variance - eps), which is NaN for small variances. Add it. ",
        {"divisor": lambda variance, eps: (variance - eps).sqrt()},
    ),
    "eps-on-both-sides": (
        "eps is added twice, inside the root and after it. Inside is right, and enough. ",
        {"divisor": lambda variance, eps: (variance + eps).sqrt() + eps},
    ),
    "variance-clamped": (
        "The variance is clamped to at least eps instead of having eps added: sqrt(max(variance, "
        "eps)). Write sqrt(variance + eps). ",
        {"divisor": lambda variance, eps: variance.clamp(min=eps).sqrt()},
    ),
    "deviation-clamped": (
        "The standard deviation is clamped to at least eps. Add eps to the variance, inside the "
        "root: sqrt(variance + eps). ",
        {"divisor": lambda variance, eps: variance.sqrt().clamp(min=eps)},
    ),
    "no-division": (
        "x is centred but not divided by anything: its variance stays what it was. Divide by "
        "sqrt(variance + eps). ",
        {"divisor": lambda variance, eps: 1.0},
    ),
    "multiplied": (
        "x - mean is multiplied by the root. Divide by it: that is what makes the variance 1. ",
        {"divisor": lambda variance, eps: 1 / (variance + eps).sqrt()},
    ),
    "mean-added": (
        "The mean is added to x instead of subtracted: the numerator is x - mean. ",
        {"mean": lambda x: -mean_of(x)},
    ),
    "numerator-reversed": (
        "The numerator is mean - x: every sign is reversed. It is x - mean. ",
        {"divisor": lambda variance, eps: -(variance + eps).sqrt()},
    ),
}
