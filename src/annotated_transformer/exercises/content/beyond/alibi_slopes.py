"""Wrong slopes of `beyond.alibi_bias`: of head i among h heads."""

import math
from collections.abc import Callable
from functools import partial

Slope = Callable[[int, int], float]  # of head i = 1, 2, ..., h among h heads


def right_slope(i: int, h: int) -> float:
    return float(2 ** (-8 * i / h))


def _slopes_of_the_authors(i: int, h: int) -> float:
    """Their code's slopes: those of the power of two below h, then every other one of twice it."""
    power = 2 ** math.floor(math.log2(h))
    return right_slope(i, power) if i <= power else right_slope(2 * (i - power) - 1, 2 * power)


def _with_another_number(number: int, i: int, h: int) -> float:
    return float(2 ** (-number * i / h))


_FROM_ZERO = (
    "The heads are counted from i = 0: the first slope is 2^0 = 1 and the last one, 2^-8, is "
    "missing. Count i from 1 to h: with 8 heads the slopes are 1/2, 1/4, ..., 1/256."
)
_NOT_DIVIDED = (
    "The exponent is not divided by the number of heads. It is -8i/h: whatever h is, the last "
    "head has the slope 2^-8."
)
_NO_EIGHT = (
    "The 8 is missing from the exponent, so the slopes lie between 1/2 and 1. It is -8i/h: the "
    "last head has the slope 2^-8."
)
_EXP = "The slopes are powers of e (`exp`). They are powers of 2: 2^(-8i/h)."
_REVERSED = (
    "The heads are in reverse order: the flat slope comes first. Head 1 is the steepest, "
    "2^(-8/h), and the last head has 2^-8."
)
_SIGN_OF_SLOPE = "The exponent is positive, so the slopes grow to 256. It is -8i/h."

SLOPES: tuple[tuple[str, Slope, str], ...] = (
    ("heads-from-0", lambda i, h: right_slope(i - 1, h), _FROM_ZERO),
    (
        "heads-from-2",
        lambda i, h: right_slope(i + 1, h),
        "The heads are counted from i = 2: the first slope, 2^(-8/h), is missing. Count from 1.",
    ),
    ("not-divided-by-h", lambda i, h: 2.0 ** (-8 * i), _NOT_DIVIDED),
    (
        "always-halved",
        lambda i, h: 2.0**-i,
        "The slopes are 2^-i, which is right for 8 heads only. In general the exponent is -8i/h, "
        "so that the last head has the slope 2^-8.",
    ),
    (
        "always-halved-from-0",
        lambda i, h: 2.0 ** (1 - i),
        "The slopes are 1, 1/2, 1/4, ...: the heads are counted from 0, and the exponent is not "
        "8i/h. Head i = 1, ..., h has the slope 2^(-8i/h).",
    ),
    ("no-8", lambda i, h: 2.0 ** (-i / h), _NO_EIGHT),
    ("no-8-from-0", lambda i, h: 2.0 ** (-(i - 1) / h), _NO_EIGHT + " And i starts at 1, not 0."),
    (
        "h-in-place-of-8",
        lambda i, h: 2.0 ** (-h * i / 8),
        "The fraction is upside down: the exponent is -8i/h, not -h·i/8.",
    ),
    (
        "divided-by-i",
        lambda i, h: 2.0 ** (-8 / i),
        "The exponent is -8/i. The number of the head belongs above the fraction: -8i/h.",
    ),
    ("positive-exponent", lambda i, h: 2.0 ** (8 * i / h), _SIGN_OF_SLOPE),
    (
        "one-slope",
        lambda i, h: right_slope(1, h),
        "All heads have the slope of the first, 2^(-8/h). Each head has its own, so that some "
        "look near and some far: 2^(-8i/h).",
    ),
    (
        "last-slope",
        lambda i, h: 2.0**-8,
        "All heads have the slope 2^-8. Each head has its own: 2^(-8i/h).",
    ),
    (
        "no-slope",
        lambda i, h: 1.0,
        "There are no slopes: all heads have the same bias, the bare distance. Head i has the "
        "slope 2^(-8i/h).",
    ),
    (
        "linear-slopes",
        lambda i, h: i / h,
        "The slopes are equally spaced, i/h. They form a geometric sequence: 2^(-8i/h).",
    ),
    (
        "falling-linear-slopes",
        lambda i, h: -8 * i / h,
        "The exponent stands for the slope itself: 2 to the power of -8i/h is meant.",
    ),
    (
        "exponent-as-slope",
        lambda i, h: 8 * i / h,
        "The exponent stands for the slope itself: 2 to the power of -8i/h is meant.",
    ),
    *(
        (
            f"{number}-in-place-of-8",
            partial(_with_another_number, number),
            f"The exponent is -{number}i/h here. It is -8i/h: the last head has the slope 2^-8.",
        )
        for number in (2, 4, 16)
    ),
    (
        "i-over-8",
        lambda i, h: 2.0 ** (-i / 8),
        "The 8 is in the wrong place, and h is not used: the exponent is -8i/h, not -i/8.",
    ),
    (
        "multiples-of-the-first",
        lambda i, h: i * right_slope(1, h),
        "The slopes are multiples of the first, i · 2^(-8/h). They are its powers, 2^(-8i/h): the "
        "number of the head belongs into the exponent.",
    ),
    (
        "multiples-of-the-last",
        lambda i, h: i * 2.0**-8,
        "The slopes are multiples of 2^-8. They form a geometric sequence: 2^(-8i/h).",
    ),
    (
        "one-over-i",
        lambda i, h: 1 / i,
        "The slopes are 1/i. They form a geometric sequence: 2^(-8i/h).",
    ),
    (
        "one-over-i-plus-1",
        lambda i, h: 1 / (i + 1),
        "The slopes are 1/2, 1/3, 1/4, ... They form a geometric sequence: 2^(-8i/h).",
    ),
    ("reversed", lambda i, h: right_slope(h + 1 - i, h), _REVERSED),
    (
        "reversed-from-0",
        lambda i, h: right_slope(h - i, h),
        _REVERSED + " And the heads are counted from 0.",
    ),
    ("powers-of-e", lambda i, h: math.exp(-8 * i / h), _EXP),
    ("powers-of-e-from-0", lambda i, h: math.exp(-8 * (i - 1) / h), _EXP + " And i starts at 1."),
    (
        "powers-of-10000",
        lambda i, h: 10000.0 ** (-i / h),
        "The slopes are powers of 10000, as in sinusoidal encodings. ALiBi's are 2^(-8i/h).",
    ),
    (
        "h-minus-1",
        lambda i, h: 2.0 ** (-8 * (i - 1) / max(h - 1, 1)),
        "The exponents run from 0 to -8 (`linspace`, h - 1 steps). They run from -8/h to -8: "
        "-8i/h for i = 1, ..., h.",
    ),
    (
        "h-plus-1",
        lambda i, h: 2.0 ** (-8 * i / (h + 1)),
        "The exponent is divided by h + 1. The last head has the slope 2^-8: divide by h.",
    ),
    (
        "from-1-to-8",
        lambda i, h: 2.0 ** -(1 + 7 * (i - 1) / max(h - 1, 1)),
        "The exponents run from -1 to -8 in equal steps, which is right for 8 heads only. They "
        "are -8i/h for i = 1, ..., h.",
    ),
    (
        "whole-exponents",
        lambda i, h: 2.0 ** -((8 * i) // h),
        "The exponent is rounded to a whole number (`//`). Divide exactly: -8 * i / h.",
    ),
    (
        "whole-exponents-rounded-down",
        lambda i, h: 2.0 ** ((-8 * i) // h),
        "The exponent is rounded to a whole number (`//`). Divide exactly: -8 * i / h.",
    ),
    (
        "whole-ratio",
        lambda i, h: 2.0 ** (-i * (8 // h)),
        "8 / h is rounded down to a whole number (`//`), which is right only where h divides 8. "
        "Divide exactly: -8 * i / h.",
    ),
    (
        "slopes-of-the-authors-code",
        _slopes_of_the_authors,
        "These are the slopes of the authors' code, which treats numbers of heads that are no "
        "power of two differently. Here 2^(-8i/h) holds for every h.",
    ),
)
