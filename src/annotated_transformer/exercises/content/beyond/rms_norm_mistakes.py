"""Wrong forms of `beyond.rms_norm`: one computation with its steps replaced one at a time."""

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.beyond.rms_norm_steps import (
    Steps,
    centred,
    in_place,
    mean_square,
    of_centred,
    rms_norm_of,
    unbiased,
    with_eps,
)
from annotated_transformer.exercises.exercise import Mistake

_CENTRED = (
    "The mean of each vector is subtracted: that is layer normalisation. RMSNorm leaves the mean "
    "in place and divides by the root of the mean square of x itself. Drop the centring."
)
_CENTRED_SIZE = (
    "Each vector is divided by its standard deviation, the root of the mean square *after* the "
    "mean was subtracted. RMSNorm takes the mean square of x as it is: `x.pow(2).mean(-1)`, not "
    "`x.var(-1)`."
)
_SUM = (
    "The squares are summed, not averaged: each vector is divided by its length, which is sqrt(d) "
    "times too much. RMS is the root of the *mean* square: use `mean(-1, keepdim=True)`."
)
_ROOT_FIRST = (
    "The root of the sum is divided by d: the 1/d stands outside the root. The mean is taken of "
    "the squares first, and then the root: sqrt(sum(x²) / d + eps)."
)
_EPS_OUTSIDE = (
    "eps is added to the root. Asked for is eps under the root, sqrt(mean(x²) + eps), which shows "
    "for small x and large eps. Add it to the mean square before `sqrt`."
)
_EPS_FIXED = (
    "The given `eps` is not used: another number is written into the function. Callers pass "
    "eps because papers and models differ in it. Add the argument `eps` under the root."
)
_NO_EPS = (
    "eps is not added at all. A vector of zeros then gives 0 / 0 = NaN, and small vectors come "
    "out too large. Add `eps` to the mean square, under the root."
)
_WRONG_AXIS = (
    "The mean square is taken over a wrong axis: numbers of different positions or sentences are "
    "mixed. Each vector is normalised on its own, over the last axis: `dim=-1`."
)
_KEEPDIM = (
    "The mean square has lost its last axis, so it is lined up with the features and not with the "
    "positions: a square x is divided along the wrong axis, any other shape raises an "
    "error. Keep the axis: `mean(-1, keepdim=True)`."
)
_WHOLE = (
    "One mean square is taken over the whole tensor, so a position depends on all others "
    "and on the batch. Each vector is normalised on its own: `mean(-1, keepdim=True)`."
)
_ONE_PLUS_GAIN = (
    "The result is multiplied by 1 + gain, a variant in which the gain is stored as its "
    "difference from 1. Here `gain` is the factor itself: multiply by `gain`."
)

# What is often wrong in pairs: the size, the place of eps, the gain.
_SIZES: tuple[tuple[str, Steps, str], ...] = (
    ("centring", {"numerator": centred, "size": of_centred(mean_square)}, _CENTRED),
    ("deviation", {"size": of_centred(mean_square)}, _CENTRED_SIZE),
    ("unbiased-deviation", {"size": of_centred(unbiased)}, _CENTRED_SIZE),
    ("sum", {"size": lambda x: x.pow(2).sum(-1, keepdim=True)}, _SUM),
    ("whole", {"size": lambda x: x.pow(2).mean()}, _WHOLE),
)
_EPS: tuple[tuple[str, Steps, str], ...] = (
    ("outer-eps", {"root": lambda s, eps: s.sqrt() + eps}, _EPS_OUTSIDE),
    ("without-eps", {"root": lambda s, eps: s.sqrt()}, _NO_EPS),
)
_ROOTS: tuple[tuple[str, Callable[[Tensor, float], Tensor], str], ...] = (
    ("and-eps-outside", lambda s, eps: s.sqrt() + eps, " eps belongs under the root, too."),
    ("and-no-eps", lambda s, eps: s.sqrt(), " And eps is not added: put it under the root."),
)
_GAINS: tuple[tuple[str, Callable[[Tensor, Tensor], Tensor], str], ...] = (
    ("and-no-gain", lambda y, gain: y, " And the gain is not used: multiply by it."),
    (
        "and-one-plus-gain",
        lambda y, gain: y * (1 + gain),
        " And the factor is `gain`, not 1 + gain.",
    ),
)

MISTAKES = (
    Mistake(
        "centred", partial(rms_norm_of, numerator=centred, size=of_centred(mean_square)), _CENTRED
    ),
    Mistake("centred-numerator", partial(rms_norm_of, numerator=centred), _CENTRED),
    Mistake(
        "standard-deviation", partial(rms_norm_of, size=of_centred(mean_square)), _CENTRED_SIZE
    ),
    Mistake(
        "unbiased-standard-deviation",
        partial(rms_norm_of, size=of_centred(unbiased)),
        _CENTRED_SIZE + " `var` and `std` of torch also divide by d - 1.",
    ),
    Mistake(
        "layer-norm-unbiased",
        partial(rms_norm_of, numerator=centred, size=of_centred(unbiased)),
        _CENTRED + " The squares are also divided by d - 1 instead of d.",
    ),
    Mistake(
        "layer-norm-unbiased-eps-outside",
        partial(
            rms_norm_of,
            numerator=centred,
            size=of_centred(unbiased),
            root=lambda s, eps: s.sqrt() + eps,
        ),
        _CENTRED + " The squares are also divided by d - 1, and eps stands outside the root.",
    ),
    Mistake(
        "sum-for-mean", partial(rms_norm_of, size=lambda x: x.pow(2).sum(-1, keepdim=True)), _SUM
    ),
    Mistake(
        "normalize",
        lambda x, gain, eps: F.normalize(x, dim=-1, eps=eps) * gain,
        _SUM + " `F.normalize` does this, and takes eps as a lower bound.",
    ),
    Mistake(
        "centred-sum",
        partial(
            rms_norm_of, numerator=centred, size=lambda x: centred(x).pow(2).sum(-1, keepdim=True)
        ),
        _CENTRED + " And the squares are summed where their mean is asked for.",
    ),
    Mistake(
        "divided-by-d-minus-1",
        partial(rms_norm_of, size=unbiased),
        "The squares are divided by d - 1. That correction belongs to a variance around an "
        "estimated mean; here nothing is estimated. The mean square divides by d: `mean(-1)`.",
    ),
    Mistake(
        "root-outside-the-mean",
        partial(
            rms_norm_of,
            size=lambda x: x.pow(2).sum(-1, keepdim=True) / x.size(-1) ** 2,
            root=lambda s, eps: s.sqrt() + eps,
        ),
        _ROOT_FIRST,
    ),
    Mistake(
        "root-outside-the-mean-eps-inside",
        partial(
            rms_norm_of,
            size=lambda x: x.pow(2).sum(-1, keepdim=True),
            numerator=lambda x: x * x.size(-1),
        ),
        _ROOT_FIRST,
    ),
    Mistake("eps-outside", partial(rms_norm_of, root=lambda s, eps: s.sqrt() + eps), _EPS_OUTSIDE),
    Mistake(
        "eps-squared",
        partial(rms_norm_of, root=lambda s, eps: (s + eps**2).sqrt()),
        "eps is squared before it is added. Asked for is sqrt(mean(x²) + eps): eps itself.",
    ),
    Mistake(
        "eps-subtracted",
        partial(rms_norm_of, root=lambda s, eps: (s - eps).sqrt()),
        "eps is subtracted. It is there to keep the root away from 0: add it.",
    ),
    Mistake(
        "eps-as-lower-bound",
        partial(rms_norm_of, root=lambda s, eps: s.clamp(min=eps).sqrt()),
        "eps is used as a lower bound of the mean square (`clamp` or `max`). It is added to "
        "every mean square, small or large: sqrt(mean(x²) + eps).",
    ),
    Mistake(
        "eps-as-lower-bound-of-the-root",
        partial(rms_norm_of, root=lambda s, eps: s.sqrt().clamp(min=eps)),
        "eps is used as a lower bound of the root (`clamp` or `max`). It is added to "
        "every mean square, small or large: sqrt(mean(x²) + eps).",
    ),
    Mistake(
        "eps-in-the-sum",
        partial(
            rms_norm_of,
            size=lambda x: x.pow(2).sum(-1, keepdim=True),
            root=lambda s, eps: (s + eps).sqrt(),
            numerator=lambda x: x * x.size(-1) ** 0.5,
        ),
        "eps is added to the sum of the squares and divided by d with it. Average first, "
        "then add eps: sqrt(mean(x²) + eps).",
    ),
    Mistake("no-eps", partial(rms_norm_of, root=lambda s, eps: s.sqrt()), _NO_EPS),
    *(
        Mistake(f"eps-is-{fixed:g}", with_eps(fixed), _EPS_FIXED)
        for fixed in (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1.0)
    ),
    Mistake(
        "mean-of-sizes",
        partial(
            rms_norm_of, size=lambda x: x.abs().mean(-1, keepdim=True), root=lambda s, eps: s + eps
        ),
        "Each vector is divided by the mean of its absolute values. RMS squares first, "
        "averages, and takes the root: large components count more.",
    ),
    Mistake(
        "largest",
        partial(
            rms_norm_of, size=lambda x: x.abs().amax(-1, keepdim=True), root=lambda s, eps: s + eps
        ),
        "Each vector is divided by its largest component. RMS is the root of the mean of all "
        "squares.",
    ),
    Mistake(
        "squared-mean",
        partial(rms_norm_of, size=lambda x: x.mean(-1, keepdim=True).pow(2)),
        "The mean is squared, not the numbers: that is the absolute value of the mean, and "
        "near 0 where signs cancel. Square first, then average: `x.pow(2).mean(-1)`.",
    ),
    Mistake(
        "no-root",
        partial(rms_norm_of, root=lambda s, eps: s + eps),
        "The root is missing: x is divided by the mean square. The result then shrinks when x "
        "grows, instead of keeping one size. Take `sqrt(mean(x²) + eps)`.",
    ),
    Mistake(
        "root-twice",
        partial(rms_norm_of, root=lambda s, eps: (s + eps).sqrt().sqrt()),
        "The root is taken twice. `rsqrt` and `sqrt` are one root each; one of them is enough.",
    ),
    Mistake(
        "multiplied",
        partial(rms_norm_of, root=lambda s, eps: (s + eps).rsqrt()),
        "x is multiplied by its root mean square instead of divided by it: large vectors get "
        "larger still. Divide by sqrt(...), or multiply by `rsqrt(...)`.",
    ),
    Mistake(
        "gain-forgotten",
        partial(rms_norm_of, finish=lambda y, gain: y),
        "The gain is not used. After the division every feature has its own learned factor: "
        "multiply by `gain`.",
    ),
    Mistake(
        "gain-added",
        partial(rms_norm_of, finish=torch.add),
        "The gain is added. It is a factor for each feature, and RMSNorm has no bias: "
        "multiply by `gain`.",
    ),
    Mistake(
        "gain-divides",
        partial(rms_norm_of, finish=torch.div),
        "The result is divided by the gain. It is a factor for each feature: multiply.",
    ),
    Mistake(
        "one-plus-gain", partial(rms_norm_of, finish=lambda y, gain: y * (1 + gain)), _ONE_PLUS_GAIN
    ),
    Mistake(
        "gain-as-matrix-product",
        partial(rms_norm_of, finish=lambda y, gain: (y @ gain)[..., None].expand_as(y)),
        "The gain enters by a dot product, which mixes the features into one number. Each "
        "feature has its own factor: multiply entry by entry with `*`.",
    ),
    Mistake(
        "gain-as-dot-product",
        partial(rms_norm_of, finish=torch.matmul),
        "The gain enters by a dot product (`@`), which makes one number of the features. Each "
        "feature has its own factor: multiply entry by entry with `*`.",
    ),
    Mistake(
        "gain-twice",
        partial(rms_norm_of, finish=lambda y, gain: y * gain * gain),
        "The result is multiplied by the gain twice. Once is enough.",
    ),
    Mistake(
        "gain-before",
        lambda x, gain, eps: rms_norm_of(x * gain, torch.ones_like(gain), eps),
        "The gain is applied first and normalised away in part. Normalise x, and multiply by "
        "`gain` afterwards.",
    ),
    Mistake(
        "gain-in-the-size",
        lambda x, gain, eps: x * gain / (mean_square(x * gain) + eps).sqrt() * gain,
        "The gain is applied both before the normalisation and after it. Normalise x as it "
        "is, and multiply by `gain` once.",
    ),
    Mistake(
        "first-axis",
        partial(rms_norm_of, size=lambda x: x.pow(2).mean(0, keepdim=True)),
        _WRONG_AXIS,
    ),
    Mistake(
        "position-axis",
        partial(rms_norm_of, size=lambda x: x.pow(2).mean(-2, keepdim=True)),
        _WRONG_AXIS,
    ),
    Mistake(
        "second-axis",
        partial(rms_norm_of, size=lambda x: x.pow(2).mean(1, keepdim=True)),
        _WRONG_AXIS,
    ),
    Mistake(
        "whole-tensor",
        partial(rms_norm_of, size=lambda x: x.pow(2).mean()),
        _WHOLE,
    ),
    Mistake(
        "all-but-the-batch",
        partial(rms_norm_of, size=lambda x: x.pow(2).mean(tuple(range(1, x.dim())), keepdim=True)),
        "One mean square is taken over all positions of a sentence. Each vector is normalised "
        "on its own: `mean(-1, keepdim=True)`.",
    ),
    Mistake("keepdim-missing", partial(rms_norm_of, size=lambda x: x.pow(2).mean(-1)), _KEEPDIM),
    Mistake(
        "in-place",
        in_place,
        "x itself is overwritten (`/=`, `*=`, `div_`). The caller still needs it, for the "
        "residual connection: make a new tensor.",
    ),
    Mistake(
        "in-place-before-the-gain",
        lambda x, gain, eps: x.div_((mean_square(x) + eps).sqrt()) * gain,
        "x itself is overwritten (`/=`, `*=`, `div_`). The caller still needs it, for the "
        "residual connection: make a new tensor.",
    ),
    Mistake(
        "not-normalised",
        lambda x, gain, eps: x * gain,
        "x is only multiplied by the gain. It has to be divided by its root mean square first.",
    ),
    Mistake(
        "only-the-size",
        lambda x, gain, eps: (mean_square(x) + eps).sqrt(),
        "This is the root mean square alone. x has to be divided by it and multiplied by the gain.",
    ),
    *(
        Mistake(f"{name}-{ending}", partial(rms_norm_of, **steps, root=root), sentence + also)
        for name, steps, sentence in _SIZES
        for ending, root, also in _ROOTS
    ),
    *(
        Mistake(f"{name}-{ending}", partial(rms_norm_of, **steps, finish=finish), sentence + also)
        for name, steps, sentence in (*_SIZES, *_EPS)
        for ending, finish, also in _GAINS
    ),
    Mistake(
        "fourth-powers",
        partial(
            rms_norm_of,
            size=lambda x: x.pow(4).mean(-1, keepdim=True),
            root=lambda s, eps: (s + eps) ** 0.25,
        ),
        "Fourth powers are averaged. The S of RMS is for squares: sqrt(mean(x²) + eps).",
    ),
    Mistake(
        "each-by-itself",
        partial(rms_norm_of, size=lambda x: x.pow(2)),
        "Nothing is averaged: each number is divided by its own size, and little but signs is "
        "left. Take the mean of the squares over the last axis first.",
    ),
    Mistake(
        "normalised-twice",
        lambda x, gain, eps: rms_norm_of(rms_norm_of(x, torch.ones_like(gain), eps), gain, eps),
        "The vector is normalised twice, and eps acts a second time. Divide once.",
    ),
)
