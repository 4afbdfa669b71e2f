"""Wrong forms of `beyond.rope`: other positions, other angles, the wrong axis."""

import math

import torch
from torch import Tensor

from annotated_transformer.exercises.content.beyond.rope_steps import (
    Rates,
    halves,
    interleaved,
    one_after_the_other,
    right_rates,
    rope_of,
    side_by_side,
    turned,
    turned_back,
)
from annotated_transformer.exercises.exercise import Mistake


def _along_second_axis(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """As for (B, n, h, d): the positions belong to the last axis but two."""
    if x.dim() < 3:
        return rope_of()(x, positions, base)
    return rope_of()(x.transpose(-2, -3), positions, base).transpose(-2, -3)


def _along_first_axis(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    if x.dim() < 3:
        return rope_of()(x, positions, base)
    return rope_of()(x.transpose(0, -2), positions, base).transpose(0, -2)


def _the_table(x: Tensor, positions: Tensor, base: float = 10000.0) -> tuple[Tensor, Tensor]:
    angles = positions[:, None] * right_rates(torch.arange(x.size(-1) // 2), x.size(-1), base)
    return angles.cos(), angles.sin()


_IGNORED = (
    "`positions` is not used: the rows are counted 0, 1, 2, ... instead. With a cache the new "
    "token stands at position t, not 0, and padding on the left shifts every row. Take the "
    "angles from `positions`."
)
_BASE = (
    "`base` is not used: 10000 is written into the function. Models for long texts use "
    "500000 and more; take the argument."
)
_NO_2 = (
    "The 2 is missing from the exponent, which is -2i/d for pair number i = 0, ..., d/2 - 1. "
    "The angles now fall only to 1/sqrt(base) and not nearly to 1/base."
)
_TWICE_2 = (
    "The exponent has the 2 twice: `torch.arange(0, d, 2)` is 2i already, and it is divided "
    "by d, not by d/2. The exponent is -2i/d for pair number i."
)
_WAVELENGTH = (
    "The angle grows with i: the exponent has the wrong sign. It is base^(-2i/d), so the first "
    "pair turns fastest and the last one slowest."
)
_AXIS = (
    "The positions run along a wrong axis: heads or sentences are turned as if they were "
    "positions. x is (..., n, d): position is the last axis but one."
)

_RATES: tuple[tuple[str, Rates, str], ...] = (
    ("exponent-without-2", lambda i, d, base: base ** (-i / d), _NO_2),
    ("exponent-with-2-twice", lambda i, d, base: base ** (-4 * i / d), _TWICE_2),
    ("positive-exponent", lambda i, d, base: base ** (2 * i / d), _WAVELENGTH),
    (
        "no-exponent",
        lambda i, d, base: torch.ones_like(i),
        "All pairs turn by the same angle, the position itself. Each pair has its own rate, "
        "base^(-2i/d).",
    ),
    (
        "pairs-from-1",
        lambda i, d, base: right_rates(i + 1, d, base),
        "The pairs are counted from i = 1. The first pair has i = 0 and turns by one radian a "
        "step.",
    ),
    (
        "exponent-of-the-column",
        lambda i, d, base: base ** (-(2 * i + 1) / d),
        "The exponent takes the odd column, 2i + 1. Both numbers of a pair have the even one: "
        "-2i/d.",
    ),
    (
        "rates-reversed",
        lambda i, d, base: right_rates(i, d, base).flip(0),
        "The rates are in reverse order: the first pair turns slowest. Pair i turns by "
        "base^(-2i/d), the first one by one radian a step.",
    ),
    (
        "exponent-reaches-1",
        lambda i, d, base: base ** (-i / max(d // 2 - 1, 1)),
        "The exponents run up to 1 (division by d/2 - 1, or `linspace`). They are 2i/d and "
        "stay below 1.",
    ),
    (
        "exponent-reaches-1-over-d",
        lambda i, d, base: base ** (-2 * i / max(d - 1, 1)),
        "The exponent is divided by d - 1. It is -2i/d.",
    ),
    (
        "exponent-with-d-squared",
        lambda i, d, base: base ** (-2 * i / d**2),
        "The exponent is divided by d twice. It is -2i/d.",
    ),
    (
        "exponent-not-divided",
        lambda i, d, base: base ** (-2 * i),
        "The exponent is not divided by d. It is -2i/d, so that the rates reach from 1 down to "
        "nearly 1/base whatever the width.",
    ),
    (
        "power-of-e",
        lambda i, d, base: torch.exp(-2 * i / d),
        "The base is e: `exp(-2i/d)`. With `exp` the exponent needs the logarithm: "
        "exp(-2i/d * log(base)).",
    ),
    (
        "logarithm-to-base-2",
        lambda i, d, base: torch.exp(-2 * i / d * math.log2(base)),
        "The logarithm is to base 2 but the power is one of e. Use `math.log`.",
    ),
    (
        "logarithm-to-base-10",
        lambda i, d, base: torch.exp(-2 * i / d * math.log10(base)),
        "The logarithm is to base 10 but the power is one of e. Use `math.log`.",
    ),
    (
        "straight-line",
        lambda i, d, base: 1 / (base * 2 * i / d + 1),
        "The rates are not powers of the base. Pair i turns by base to the power of -2i/d.",
    ),
    (
        "turns-in-place-of-radians",
        lambda i, d, base: 2 * math.pi * right_rates(i, d, base),
        "The angles are multiplied by 2π. They are in radians as they stand: position * "
        "base^(-2i/d).",
    ),
    (
        "degrees",
        lambda i, d, base: right_rates(i, d, base) * math.pi / 180,
        "The angles are converted from degrees. They are in radians as they stand.",
    ),
    (
        "angle-doubled",
        lambda i, d, base: 2 * right_rates(i, d, base),
        "Every angle is doubled. It is position * base^(-2i/d); a rotation that is applied "
        "twice does this too.",
    ),
    (
        "angle-halved",
        lambda i, d, base: right_rates(i, d, base) / 2,
        "Every angle is halved. It is position * base^(-2i/d).",
    ),
    (
        "angle-divided-by-root-d",
        lambda i, d, base: right_rates(i, d, base) / d**0.5,
        "The angle is divided by sqrt(d). It is position * base^(-2i/d); the scale of the "
        "scores is another matter.",
    ),
)

_WRONG_POSITIONS = (
    (
        "positions-ignored",
        lambda at, x: torch.arange(x.size(-2)),
        _IGNORED,
    ),
    (
        "positions-ignored-from-1",
        lambda at, x: torch.arange(1, x.size(-2) + 1),
        _IGNORED + " They are counted from 1 besides.",
    ),
    (
        "positions-from-1",
        lambda at, x: at + 1,
        "Every position is one too large. `positions` holds what is meant: at position 0 "
        "nothing is turned.",
    ),
    (
        "positions-one-less",
        lambda at, x: at - 1,
        "Every position is one too small. `positions` holds what is meant: at position 0 "
        "nothing is turned.",
    ),
    (
        "positions-from-the-first",
        lambda at, x: at - at[0],
        "The first position is subtracted from all. In one call that changes no score between "
        "these rows, but cached keys were turned by their absolute positions: use `positions` as "
        "given.",
    ),
    (
        "first-position-and-on",
        lambda at, x: at[0] + torch.arange(len(at)),
        "Only the first position is read, and the rest counted on from it. `positions` need not "
        "be consecutive: use each entry.",
    ),
    (
        "first-position-for-all",
        lambda at, x: at[:1].expand(len(at)),
        "All rows are turned by the first position. Each row has its own entry of `positions`.",
    ),
    (
        "last-position-for-all",
        lambda at, x: at[-1:].expand(len(at)),
        "All rows are turned by the last position. Each row has its own entry of `positions`.",
    ),
    (
        "positions-sorted",
        lambda at, x: at.sort().values,
        "The positions are sorted. Row number r belongs to positions[r], in whatever order.",
    ),
    (
        "positions-reversed",
        lambda at, x: at.flip(0),
        "The positions are read from the end. Row number r belongs to positions[r].",
    ),
    (
        "positions-scaled",
        lambda at, x: at / x.size(-2),
        "The positions are divided by the length. They are used as they are.",
    ),
    (
        "positions-scaled-by-the-largest",
        lambda at, x: at / at.max().clamp(min=1),
        "The positions are divided by the largest. They are used as they are.",
    ),
)

_TURNED_BACK = " And the rotation runs backwards: the minus stands in the first component."
_AND_THE_POSITIONS = (
    ("backwards", turned_back, _TURNED_BACK),
    (
        "both-plus",
        lambda u, v, a: (turned_back(u, v, a)[0], turned(u, v, a)[1]),
        " And the first component has a plus where u cos a - v sin a is right.",
    ),
)

ANGLE_MISTAKES = (
    *(Mistake(name, rope_of(rates), sentence) for name, rates, sentence in _RATES),
    *(
        Mistake(name, rope_of(positions=positions), sentence)
        for name, positions, sentence in _WRONG_POSITIONS
    ),
    Mistake("base-ignored", rope_of(base_is=lambda base: 10000.0), _BASE),
    Mistake(
        "base-of-100",
        rope_of(base_is=lambda base: 100.0),
        "`base` is not used: 100 is written into the function. Take the argument.",
    ),
    Mistake(
        "base-of-1000",
        rope_of(base_is=lambda base: 1000.0),
        "`base` is not used: 1000 is written into the function. Take the argument.",
    ),
    Mistake(
        "base-is-500000",
        rope_of(base_is=lambda base: 500000.0),
        "`base` is not used: 500000, the base of some later models, is written into the function. "
        "Take the argument; its default is 10000.",
    ),
    *(
        Mistake(
            f"half-split-{name}",
            rope_of(rates, pairs=halves, join=one_after_the_other),
            "The pairs are (x[i], x[i + d/2]), the half-split layout; pair neighbours instead, "
            f"x[2i] and x[2i+1]. {sentence}",
        )
        for name, rates, sentence in _RATES
        if name in ("exponent-without-2", "exponent-with-2-twice", "positive-exponent")
    ),
    *(
        Mistake(f"backwards-{name}", rope_of(rates, rotation=turned_back), sentence + _TURNED_BACK)
        for name, rates, sentence in _RATES
        if name in ("exponent-without-2", "exponent-with-2-twice")
    ),
    Mistake(
        "half-split-positions-ignored",
        rope_of(
            positions=lambda at, x: torch.arange(x.size(-2)),
            pairs=halves,
            join=one_after_the_other,
        ),
        _IGNORED + " The layout is the half-split one besides: pair neighbours, x[2i] and x[2i+1].",
    ),
    Mistake(
        "half-split-base-ignored",
        rope_of(base_is=lambda base: 10000.0, pairs=halves, join=one_after_the_other),
        "The pairs are (x[i], x[i + d/2]), the half-split layout; pair neighbours instead, x[2i] "
        "and x[2i+1]. " + _BASE,
    ),
    *(
        Mistake(
            f"{name}-positions-ignored",
            rope_of(positions=lambda at, x: torch.arange(x.size(-2)), rotation=rotation),
            _IGNORED + sentence,
        )
        for name, rotation, sentence in _AND_THE_POSITIONS
    ),
    Mistake(
        "backwards-positions-from-1",
        rope_of(positions=lambda at, x: at + 1, rotation=turned_back),
        "The rotation runs backwards: the minus stands in the first component. And every position "
        "is one too large: at position 0 nothing is turned.",
    ),
    Mistake(
        "backwards-base-ignored",
        rope_of(base_is=lambda base: 10000.0, rotation=turned_back),
        "The rotation runs backwards: the minus stands in the first component. " + _BASE,
    ),
    Mistake(
        "positions-and-base-ignored",
        rope_of(positions=lambda at, x: torch.arange(x.size(-2)), base_is=lambda base: 10000.0),
        _IGNORED + " And `base` is not used either.",
    ),
)

OTHER_MISTAKES = (
    Mistake("second-axis", _along_second_axis, _AXIS),
    Mistake("first-axis", _along_first_axis, _AXIS),
    Mistake(
        "tables-returned",
        _the_table,
        "These are the cosines and sines. They still have to be applied to x: return the turned "
        "x, (..., n, d).",
    ),
    Mistake(
        "angles-cut-short",
        lambda x, at, base=10000.0: side_by_side(
            *turned(
                *interleaved(x),
                at[:, None] * right_rates(torch.arange(x.size(-1) // 2), x.size(-1), base).round(),
            )
        ),
        "The rates are whole numbers, so that all but the first pair stand still. Compute "
        "base^(-2i/d) in floating point.",
    ),
    Mistake(
        "scaled",
        lambda x, at, base=10000.0: rope_of()(x, at, base) / x.size(-1) ** 0.5,
        "The result is divided by sqrt(d). A rotation keeps lengths; the scale belongs to the "
        "scores.",
    ),
)
