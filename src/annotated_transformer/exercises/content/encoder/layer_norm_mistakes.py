"""The named mistakes of `encoder.layer_norm`: wrong steps, alone and two together, and odd ones."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.encoder.layer_norm_spreads import (
    IGNORED,
    SPREADS,
    Step,
    mean_of,
    norm_of,
    root_of,
    variance_of,
)
from annotated_transformer.exercises.exercise import Mistake


def _bare(normalised: Tensor, gamma: Tensor, beta: Tensor) -> Tensor:
    return normalised


def _in_place(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    x -= mean_of(x)
    return gamma * x / root_of(variance_of(x), eps) + beta


def _all_in_place(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    x -= mean_of(x)
    x /= root_of(variance_of(x), eps)
    x *= gamma
    x += beta
    return x


def _two_axes_only(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    _, d = x.shape
    return F.layer_norm(x, (d,), gamma, beta, eps)


def _three_axes_only(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    _, _, d = x.shape
    return F.layer_norm(x, (d,), gamma, beta, eps)


def _third_axis(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    variance, mean = torch.var_mean(x, dim=2, correction=0, keepdim=True)
    return gamma * (x - mean) / torch.sqrt(variance + eps) + beta


def _without_keepdim(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    return gamma * (x - x.mean(-1)) / torch.sqrt(x.var(-1, correction=0) + eps) + beta


def _gain_first(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    return F.layer_norm(gamma * x, (x.size(-1),), None, beta, eps)


def _affine_first(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    return F.layer_norm(gamma * x + beta, (x.size(-1),), None, None, eps)


def _right(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    return F.layer_norm(x, (x.size(-1),), gamma, beta, eps)


def _twice(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    return _right(_right(x, gamma, beta, eps), gamma, beta, eps)


def _to_zero_and_one(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    return gamma * (x - low) / (high - low + eps) + beta


_BARE = (
    "The gain and the shift are missing: gamma and beta are not used. After the normalisation "
    "multiply by gamma and add beta. "
)
DEFAULT = (
    "The default of eps is {value}, not 1e-6. It shows where the variance is about as small: "
    "write `eps=1e-6` in the signature. "
)
_CHANGED = (
    "The values are right, but x itself is changed: `-=`, `/=` and `*=` write into the caller's "
    "tensor, which the residual connection still needs. Write `x = x - mean`, which makes a new "
    "one. "
)
_AXES = (
    "The code unpacks x.shape into a fixed number of axes, but x may have any number before the "
    "last: use `x.size(-1)` and `dim=-1`. "
)

AFFINES: dict[str, tuple[str, Step]] = {
    "no-gain-no-shift": (_BARE, _bare),
    "no-gain": (
        "The gain is missing: gamma is not used. Multiply the normalised features by gamma, "
        "then add beta. ",
        lambda normalised, gamma, beta: normalised + beta,
    ),
    "no-shift": (
        "The shift is missing: beta is not used. Add it at the end. ",
        lambda normalised, gamma, beta: gamma * normalised,
    ),
    "gain-and-shift-exchanged": (
        "gamma and beta are exchanged: gamma is the factor, beta is what is added. ",
        lambda normalised, gamma, beta: beta * normalised + gamma,
    ),
    "shift-inside": (
        "beta is added before the multiplication, gamma * (normalised + beta), so that it is "
        "scaled too. First the gain, then the shift. ",
        lambda normalised, gamma, beta: gamma * (normalised + beta),
    ),
    "shift-subtracted": (
        "beta is subtracted. The shift is added: gamma * normalised + beta. ",
        lambda normalised, gamma, beta: gamma * normalised - beta,
    ),
    "gain-plus-one": (
        "The gain is taken as 1 + gamma, as some later models store it. Here gamma itself is the "
        "factor. ",
        lambda normalised, gamma, beta: (1 + gamma) * normalised + beta,
    ),
    "gain-added": (
        "gamma is added to the normalised features. The gain is a factor: multiply by it. ",
        lambda normalised, gamma, beta: normalised + gamma + beta,
    ),
    "gain-divides": (
        "The normalised features are divided by gamma. The gain is a factor: multiply by it. ",
        lambda normalised, gamma, beta: normalised / gamma + beta,
    ),
    "gain-in-both-places": (
        "gamma stands in both places; beta is not used. gamma is the factor, beta is added. ",
        lambda normalised, gamma, beta: gamma * normalised + gamma,
    ),
    "shift-in-both-places": (
        "beta stands in both places; gamma is not used. gamma is the factor, beta is added. ",
        lambda normalised, gamma, beta: beta * normalised + beta,
    ),
    "shift-twice": (
        "beta is added twice. Once is right: gamma * normalised + beta. ",
        lambda normalised, gamma, beta: gamma * normalised + 2 * beta,
    ),
    "gain-twice": (
        "The result is multiplied by gamma twice. Once is right: gamma * normalised + beta. ",
        lambda normalised, gamma, beta: gamma * gamma * normalised + beta,
    ),
    "gain-summed": (
        "`@` multiplies with gamma and adds the features up, one number for a token. The gain is "
        "applied feature by feature: `*`. ",
        lambda normalised, gamma, beta: (normalised @ gamma).unsqueeze(-1) + beta,
    ),
    "gain-as-column": (
        "gamma and beta are turned into columns, (d, 1), so they meet the tokens and not the "
        "features. They are (d,) and broadcast over the last axis as they are. ",
        lambda normalised, gamma, beta: gamma[:, None] * normalised + beta[:, None],
    ),
    "mean-gain": (
        "The mean of gamma and of beta is used for all features. Each feature has an entry of its "
        "own: `gamma * normalised + beta`. ",
        lambda normalised, gamma, beta: gamma.mean() * normalised + beta.mean(),
    ),
    "first-gain-only": (
        "Only the first entry of gamma and beta is used. They have one for each feature. ",
        lambda normalised, gamma, beta: gamma[0] * normalised + beta[0],
    ),
}

# Two mistakes that are often made together.
_PAIRS = (
    *((spread, "no-gain-no-shift") for spread in SPREADS),
    ("unbiased", "no-shift"),
    ("unbiased", "no-gain"),
    ("unbiased-and-eps-outside", "no-shift"),
    ("eps-outside", "no-shift"),
    ("no-eps", "no-shift"),
    ("unbiased", "gain-and-shift-exchanged"),
    ("unbiased-and-eps-outside", "gain-and-shift-exchanged"),
    ("unbiased", "shift-inside"),
    ("rms-norm", "no-shift"),
)


def _pair(spread: str, affine: str) -> Mistake:
    (one, steps), (other, step) = SPREADS[spread], AFFINES[affine]
    implementation = norm_of(**steps, affine=step)
    return Mistake(f"{spread}+{affine}", implementation, (one + other).strip())


def _default(value: float) -> Mistake:
    sentence = DEFAULT.format(value=f"{value:g}").strip()
    return Mistake(f"default-{value:g}", norm_of(default=value), sentence)


_BRACKETS = (
    "The brackets are in the wrong place: it is gamma * ((x - mean) / sqrt(variance + eps)) + "
    "beta. "
)

LAYER_NORM_MISTAKES = (
    *(Mistake(name, norm_of(**steps), text.strip()) for name, (text, steps) in SPREADS.items()),
    *(Mistake(name, norm_of(affine=step), text.strip()) for name, (text, step) in AFFINES.items()),
    *(_pair(*names) for names in _PAIRS),
    *(Mistake(f"eps-{v:g}-fixed", norm_of(fixed=v), IGNORED.strip()) for v in (1e-3, 1e-8, 1e-12)),
    *(_default(value) for value in (1e-5, 1e-3, 1e-8, 1e-12)),
    Mistake("x-changed", _in_place, _CHANGED.strip()),
    Mistake("x-changed-and-returned", _all_in_place, _CHANGED.strip()),
    Mistake("two-axes-only", _two_axes_only, _AXES.strip()),
    Mistake("three-axes-only", _three_axes_only, _AXES.strip()),
    Mistake(
        "third-axis",
        _third_axis,
        "Mean and variance are taken over dim=2, which is the last axis only where x has three. "
        "x may have any number: the features are always the last, `dim=-1`.",
    ),
    Mistake(
        "eps-in-the-numerator",
        lambda x, gamma, beta, eps=1e-6: (
            gamma * (x - mean_of(x) + eps) / root_of(variance_of(x), eps) + beta
        ),
        "eps is added above the fraction as well. It belongs under the root only: "
        "(x - mean) / sqrt(variance + eps).",
    ),
    Mistake(
        "flattened",
        lambda x, gamma, beta, eps=1e-6: _right(x, gamma, beta, eps).reshape(-1, x.size(-1)),
        "The tokens of all sentences come back in one axis: x was flattened to (B·n, d) and not "
        "put back. Return the shape of x.",
    ),
    Mistake(
        "without-keepdim",
        _without_keepdim,
        "The mean or the variance lost its last axis: `mean(-1)` of a (2, 3) tensor is (2,), "
        "which meets the features and not the tokens. Add `keepdim=True`.",
    ),
    Mistake(
        "gain-before-normalising",
        _gain_first,
        "x is multiplied by gamma before it is normalised, which changes the mean and the "
        "variance. First normalise, then the gain, then the shift.",
    ),
    Mistake(
        "gain-and-shift-before-normalising",
        _affine_first,
        "The gain and the shift are applied to x before it is normalised, and the normalisation "
        "then undoes most of them. First normalise, then gamma * ... + beta.",
    ),
    Mistake(
        "normalised-twice",
        _twice,
        "The whole normalisation is applied twice. Once is asked for.",
    ),
    Mistake(
        "minimum-to-maximum",
        _to_zero_and_one,
        "The features are scaled between the token's minimum and maximum. Asked for are mean 0 "
        "and variance 1.",
    ),
    Mistake(
        "softmax",
        lambda x, gamma, beta, eps=1e-6: gamma * x.softmax(-1) + beta,
        "A softmax is taken: positive shares that add up to 1. Asked for are mean 0 and variance "
        "1: subtract the mean, divide by sqrt(variance + eps).",
    ),
    Mistake(
        "only-the-mean-divided",
        lambda x, gamma, beta, eps=1e-6: (
            gamma * (x - mean_of(x) / root_of(variance_of(x), eps)) + beta
        ),
        _BRACKETS + "Here only the mean is divided by the root.",
    ),
    Mistake(
        "mean-subtracted-late",
        lambda x, gamma, beta, eps=1e-6: (
            gamma * x / root_of(variance_of(x), eps) - mean_of(x) + beta
        ),
        _BRACKETS + "Here the mean is subtracted after the division.",
    ),
    Mistake(
        "shift-divided",
        lambda x, gamma, beta, eps=1e-6: (
            (gamma * (x - mean_of(x)) + beta) / root_of(variance_of(x), eps)
        ),
        _BRACKETS + "Here beta is divided by the root as well.",
    ),
    Mistake(
        "length-one",
        lambda x, gamma, beta, eps=1e-6: gamma * F.normalize(x, dim=-1, eps=eps) + beta,
        "x is divided by its length (`F.normalize`), without taking the mean out. Asked for are "
        "mean 0 and variance 1: subtract the mean, divide by sqrt(variance + eps).",
    ),
    Mistake(
        "residual-added",
        lambda x, gamma, beta, eps=1e-6: x + _right(x, gamma, beta, eps),
        "x is added to the result. The residual connection is a step of its own: here return the "
        "normalised features alone, with gain and shift.",
    ),
    Mistake(
        "statistics-returned-too",
        lambda x, gamma, beta, eps=1e-6: (_right(x, gamma, beta, eps), mean_of(x), variance_of(x)),
        "Mean and variance are returned along with the result. Return the result alone.",
    ),
    Mistake(
        "unchanged",
        lambda x, gamma, beta, eps=1e-6: x,
        "x comes back as it was: nothing is normalised. Subtract the mean, divide by "
        "sqrt(variance + eps), then the gain and the shift.",
    ),
    Mistake(
        "affine-only",
        lambda x, gamma, beta, eps=1e-6: gamma * x + beta,
        "Only the gain and the shift are applied; nothing is normalised. First subtract the mean "
        "and divide by sqrt(variance + eps).",
    ),
)
