"""The backward pass of layer normalisation with paths that can be replaced, and wrong paths."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate


@dataclass(frozen=True)
class _Parts:
    """What a derivation works with; `axis` is the one over which means are taken."""

    x: Tensor
    grad: Tensor
    centred: Tensor
    variance: Tensor
    root: Tensor
    y: Tensor
    axis: int | tuple[int, ...]

    def mean(self, values: Tensor) -> Tensor:
        return values.mean(self.axis, keepdim=True)

    def sum(self, values: Tensor) -> Tensor:
        return values.sum(self.axis, keepdim=True)


Path = Callable[[_Parts], Any]


def _through_mean(p: _Parts) -> Tensor:
    return p.mean(p.grad)


def _through_variance(p: _Parts) -> Tensor:
    return p.y * p.mean(p.grad * p.y)


def _scale(p: _Parts) -> Tensor:
    return 1 / p.root


def _nothing(p: _Parts) -> float:
    return 0.0


def backward_of(
    direct: Path = lambda p: p.grad,
    mean: Path = _through_mean,
    variance: Path = _through_variance,
    scale: Path = _scale,
    *,
    root: Callable[[Tensor, float], Tensor] = lambda variance, eps: (variance + eps).sqrt(),
    correction: int = 0,
    axis: int | tuple[int, ...] = -1,
) -> Candidate:
    """The backward pass with some of its parts replaced."""

    def implementation(x: Tensor, grad: Tensor, eps: float) -> Tensor:
        centred = x - x.mean(axis, keepdim=True)
        spread = x.var(axis, correction=correction, keepdim=True)
        divisor = root(spread, eps)
        p = _Parts(x, grad, centred, spread, divisor, centred / divisor, axis)
        result: Tensor = (direct(p) - mean(p) - variance(p)) * scale(p)
        return result

    return implementation


def _diagonal(p: _Parts) -> Tensor:
    return p.grad * p.y.square() / p.x.size(-1)


_NO_VARIANCE_PATH = (
    "The path through the variance is missing: the root is treated as a constant. But every "
    "feature changes the variance, and with it all outputs of its token: subtract "
    "y * mean(grad * y)."
)
_VARIANCE_FACTOR = (
    "The path through the variance has a wrong factor. The 2 of the square and the 1/2 of the "
    "root cancel: what is subtracted is y * mean(grad * y), once."
)
_VARIANCE_SIGN = (
    "The path through the variance has the wrong sign. A larger variance makes the outputs "
    "smaller, so this part is subtracted: the derivative of (variance + eps)^(-1/2) is "
    "*minus* 1/2 (variance + eps)^(-3/2)."
)
_VARIANCE_POWER = (
    "The path through the variance has a wrong power of the root. The derivative of "
    "(variance + eps)^(-1/2) is -1/2 (variance + eps)^(-3/2): three powers of the root, of which "
    "two turn x - mean into y."
)
_SUMS = (
    "A sum over the features is taken where a mean belongs: the factor 1/d is missing. It comes "
    "from mean = sum / d, and likewise from the variance."
)

# A name, what to say, and what is replaced.
WRONG_PATHS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "mean-and-variance-constant",
        "Mean and variance are treated as constants, so only grad / root is left. Both depend "
        "on every feature of the token: subtract mean(grad) for the path through the mean and "
        "y * mean(grad * y) for the path through the variance.",
        {"mean": _nothing, "variance": _nothing},
    ),
    (
        "mean-constant",
        "The path through the mean is missing: the mean is treated as a constant. Every feature "
        "changes it, and with it all outputs of its token: subtract mean(grad).",
        {"mean": _nothing},
    ),
    ("variance-constant", _NO_VARIANCE_PATH, {"variance": _nothing}),
    (
        "diagonal-only",
        "Only the diagonal of the Jacobian is used: each output's derivative by its own feature, "
        "times grad. Every output depends on every feature of its token, so for x_j the "
        "contributions of all outputs have to be added up.",
        {"mean": lambda p: p.grad / p.x.size(-1), "variance": _diagonal},
    ),
    (
        "mean-added",
        "The path through the mean has the wrong sign: raising x_j raises the mean and lowers "
        "all outputs, so mean(grad) is subtracted.",
        {"mean": lambda p: -_through_mean(p)},
    ),
    ("variance-added", _VARIANCE_SIGN, {"variance": lambda p: -_through_variance(p)}),
    (
        "both-added",
        "Both indirect paths have the wrong sign: mean(grad) and y * mean(grad * y) are "
        "subtracted from grad, because x_j raises mean and variance and so lowers the outputs.",
        {"mean": lambda p: -_through_mean(p), "variance": lambda p: -_through_variance(p)},
    ),
    (
        "opposite",
        "Every sign is reversed: this is minus the gradient, the step of a descent. Return the "
        "gradient itself.",
        {"scale": lambda p: -1 / p.root},
    ),
    ("variance-doubled", _VARIANCE_FACTOR, {"variance": lambda p: 2 * _through_variance(p)}),
    ("variance-halved", _VARIANCE_FACTOR, {"variance": lambda p: _through_variance(p) / 2}),
    ("variance-quartered", _VARIANCE_FACTOR, {"variance": lambda p: _through_variance(p) / 4}),
    ("variance-added-twice", _VARIANCE_SIGN, {"variance": lambda p: -2 * _through_variance(p)}),
    ("mean-sum", _SUMS, {"mean": lambda p: p.sum(p.grad)}),
    ("variance-sum", _SUMS, {"variance": lambda p: p.y * p.sum(p.grad * p.y)}),
    (
        "both-sums",
        _SUMS,
        {"mean": lambda p: p.sum(p.grad), "variance": lambda p: p.y * p.sum(p.grad * p.y)},
    ),
    (
        "times-d",
        "The result is d times too large: with sums instead of means, d * grad - sum(grad) - "
        "y * sum(grad * y), the whole has to be divided by d as well as by the root.",
        {"scale": lambda p: p.x.size(-1) / p.root},
    ),
    (
        "divided-by-d",
        "The result is divided by d once too often. The means have divided already; or, with "
        "sums, d * grad has to stand in the first place.",
        {"scale": lambda p: 1 / (p.root * p.x.size(-1))},
    ),
    (
        "direct-part-not-times-d",
        "Sums over the features are subtracted from grad and all is divided by d. The direct "
        "part then needs the factor d: d * grad - sum(grad) - y * sum(grad * y).",
        {"direct": lambda p: p.grad / p.x.size(-1)},
    ),
    (
        "not-divided-by-the-root",
        "The division by the root is missing at the end. y = (x - mean) / root, so every path "
        "carries a factor 1 / root.",
        {"scale": lambda p: 1.0},
    ),
    (
        "times-the-root",
        "The result is multiplied by the root instead of divided by it. A token with large "
        "features is scaled down, and so is its gradient.",
        {"scale": lambda p: p.root},
    ),
    (
        "divided-by-the-variance",
        "The result is divided by variance + eps, the square of the root. Divide by the root.",
        {"scale": lambda p: 1 / p.root.square()},
    ),
    (
        "direct-part-alone-scaled",
        "Only grad is divided by the root; the two parts that are subtracted are not. All three "
        "paths carry the factor 1 / root: put the brackets round all of them.",
        {"direct": lambda p: p.grad / p.root, "scale": lambda p: 1.0},
    ),
    (
        "mean-twice",
        "mean(grad) is subtracted twice. The path through the mean counts once: the variance's "
        "path adds none, since the centred features add up to 0.",
        {"mean": lambda p: 2 * _through_mean(p)},
    ),
    (
        "variance-alone-scaled",
        "Only the path through the variance is divided by the root; grad and its mean are not. "
        "All three paths carry the factor 1 / root: put the brackets round all of them.",
        {
            "variance": lambda p: _through_variance(p) / p.root,
            "scale": lambda p: 1.0,
        },
    ),
    (
        "mean-alone-scaled",
        "Only the path through the mean is divided by the root; the other two are not. All three "
        "paths carry the factor 1 / root: put the brackets round all of them.",
        {"mean": lambda p: _through_mean(p) / p.root, "scale": lambda p: 1.0},
    ),
    (
        "direct-part-not-scaled",
        "grad is not divided by the root, what is subtracted is. All three paths carry the factor "
        "1 / root: put the brackets round all of them.",
        {"direct": lambda p: p.grad * p.root},
    ),
    (
        "variance-not-scaled",
        "The path through the variance lacks one division by the root. The derivative of "
        "(variance + eps)^(-1/2) is -1/2 (variance + eps)^(-3/2): three powers of the root, of "
        "which two turn x - mean into y and one divides all three paths.",
        {"variance": lambda p: _through_variance(p) * p.root},
    ),
    (
        "mean-not-scaled",
        "The path through the mean is not divided by the root, the other two are. All three "
        "carry the factor 1 / root.",
        {"mean": lambda p: _through_mean(p) * p.root},
    ),
    (
        "variance-power-one",
        _VARIANCE_POWER,
        {"variance": lambda p: p.centred * p.mean(p.grad * p.centred)},
    ),
    (
        "variance-power-two",
        _VARIANCE_POWER,
        {"variance": lambda p: p.y * p.mean(p.grad * p.y) / p.root},
    ),
    (
        "variance-power-five-halves",
        _VARIANCE_POWER,
        {"variance": lambda p: p.y * p.mean(p.grad * p.y) / p.root.square()},
    ),
    (
        "x-for-y",
        "x itself stands where y belongs, in the path through the variance. What is subtracted is "
        "y * mean(grad * y), with the normalised features y of the forward pass.",
        {"variance": lambda p: p.x * p.mean(p.grad * p.x)},
    ),
    (
        "x-within-the-mean",
        "In the path through the variance the mean is taken of grad * x. It is of grad * y, with "
        "the normalised features y.",
        {"variance": lambda p: p.y * p.mean(p.grad * p.x)},
    ),
    (
        "x-outside-the-mean",
        "In the path through the variance the mean of grad * y is multiplied by x. It is "
        "multiplied by y, the normalised features.",
        {"variance": lambda p: p.x * p.mean(p.grad * p.y)},
    ),
    (
        "y-missing",
        "The path through the variance is mean(grad * y) alone. It has to be multiplied by y: a "
        "feature far from the mean moves the variance more.",
        {"variance": lambda p: p.mean(p.grad * p.y)},
    ),
    (
        "grad-missing-in-the-mean",
        "The path through the variance is y * mean(grad): the y inside the mean is missing. It "
        "is y * mean(grad * y).",
        {"variance": lambda p: p.y * p.mean(p.grad)},
    ),
    (
        "not-summed",
        "In the path through the variance no mean is taken: y * grad * y. The outputs of a token "
        "share one variance, so their contributions are collected: y * mean(grad * y).",
        {"variance": lambda p: p.y * p.grad * p.y},
    ),
    (
        "rms-norm",
        "This is the gradient of a normalisation that does not subtract the mean (RMSNorm). Here "
        "y = (x - mean) / root, so y is centred and mean(grad) is subtracted too.",
        {
            "mean": _nothing,
            "variance": lambda p: (
                p.x * p.mean(p.grad * p.x) / (p.mean(p.x.square()) + p.root**2 - p.variance)
            ),
            "scale": lambda p: (p.mean(p.x.square()) + p.root**2 - p.variance).rsqrt(),
        },
    ),
)
