"""Wrong forms of `beyond.alibi_bias`: other slopes, other distances, other ways to join them."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.beyond.drawn import then
from annotated_transformer.exercises.exercise import Candidate, Mistake

Slope = Callable[[int, int], float]  # of head i = 1, 2, ..., h among h heads
Distances = Callable[[Tensor, Tensor], Tensor]  # of queries (n_q, 1) and keys (1, n_k)


def _slope(i: int, h: int) -> float:
    return float(2 ** (-8 * i / h))


def _back(query: Tensor, key: Tensor) -> Tensor:
    return query - key


def _alibi(
    slope: Slope = _slope,
    distances: Distances = _back,
    join: Callable[[Tensor, Tensor], Tensor] = lambda slopes, back: -slopes * back,
) -> Candidate:
    def implementation(n_heads: int, n_q: int, n_k: int) -> Tensor:
        slopes = torch.tensor([slope(i, n_heads) for i in range(1, n_heads + 1)])
        back = distances(torch.arange(n_q)[:, None], torch.arange(n_k)[None, :])
        return join(slopes[:, None, None], back)

    return implementation


def _slopes_of_the_authors(i: int, h: int) -> float:
    """Their code's slopes: those of the power of two below h, then every other one of twice it."""
    power = 2 ** math.floor(math.log2(h))
    return _slope(i, power) if i <= power else _slope(2 * (i - power) - 1, 2 * power)


def _exchanged(bias: Candidate) -> Candidate:
    return lambda n_heads, n_q, n_k: bias(n_heads, n_k, n_q)


def _first_row(sign: float) -> Candidate:
    return then(_alibi(), lambda bias: sign * bias[:, :1])


_PLUS = (
    "The sign is wrong: far keys are given a bonus, so that the farthest word gets most of the "
    "attention. The bias takes away: -slope · (i - j), zero on the diagonal and negative to the "
    "left of it."
)
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
_FROM_THE_END = (
    "The queries are taken as the last of the n_k positions, as in decoding with a cache. Here "
    "queries and keys are both counted from position 0, so the distance is i - j."
)
_KEYS_ONLY = (
    "The bias depends on the key alone, slope · j. After a causal softmax that comes to the same, "
    "since every query's row is shifted by one number; asked for is the bias itself, with "
    "zeros on the diagonal."
)
_REVERSED = (
    "The heads are in reverse order: the flat slope comes first. Head 1 is the steepest, "
    "2^(-8/h), and the last head has 2^-8."
)
_SIGN_OF_SLOPE = "The exponent is positive, so the slopes grow to 256. It is -8i/h."

_SLOPES: tuple[tuple[str, Slope, str], ...] = (
    ("heads-from-0", lambda i, h: _slope(i - 1, h), _FROM_ZERO),
    (
        "heads-from-2",
        lambda i, h: _slope(i + 1, h),
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
        lambda i, h: _slope(1, h),
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
        "one-over-i",
        lambda i, h: 1 / i,
        "The slopes are 1/i. They form a geometric sequence: 2^(-8i/h).",
    ),
    (
        "one-over-i-plus-1",
        lambda i, h: 1 / (i + 1),
        "The slopes are 1/2, 1/3, 1/4, ... They form a geometric sequence: 2^(-8i/h).",
    ),
    ("reversed", lambda i, h: _slope(h + 1 - i, h), _REVERSED),
    (
        "reversed-from-0",
        lambda i, h: _slope(h - i, h),
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

_DISTANCES: tuple[tuple[str, Distances, str], ...] = (
    (
        "keys-only",
        lambda query, key: -key.expand(query.size(0), -1),
        _KEYS_ONLY,
    ),
    (
        "keys-only-negative",
        lambda query, key: key.expand(query.size(0), -1),
        "The bias depends on the key alone, -slope · j, and favours the start of the sentence. "
        "It grows with the distance from the query: -slope · (i - j).",
    ),
    (
        "queries-only",
        lambda query, key: query.expand(-1, key.size(1)),
        "The bias depends on the query alone. The softmax does not see what all keys have in "
        "common: take the distance i - j.",
    ),
    (
        "keys-from-the-end",
        lambda query, key: (key.max() - key).expand(query.size(0), -1),
        _KEYS_ONLY,
    ),
    ("from-the-end", lambda q, k: k.size(1) - q.size(0) + q - k, _FROM_THE_END),
    (
        "one-more",
        lambda query, key: query - key + 1,
        "The distance is one too large: the query's own key loses a slope. It lies at distance "
        "0: i - j.",
    ),
    (
        "one-less",
        lambda query, key: query - key - 1,
        "The distance is one too small. The key just before lies at distance 1: i - j.",
    ),
    (
        "one-less-from-0",
        lambda query, key: (query - key - 1).clamp(min=0),
        "The distance is one too small. The key just before lies at distance 1: i - j.",
    ),
    (
        "added-positions",
        lambda query, key: query + key,
        "The positions are added. What counts is how far apart they are: i - j.",
    ),
    (
        "squared",
        lambda query, key: (query - key) ** 2,
        "The distance is squared. The penalty is linear, as the name says: attention with "
        "*linear* biases.",
    ),
    (
        "logarithm",
        lambda query, key: (1.0 + (query - key).abs()).log(),
        "The logarithm of the distance is taken. The penalty is linear in i - j.",
    ),
    (
        "root",
        lambda query, key: (query - key).abs().sqrt(),
        "The root of the distance is taken. The penalty is linear in i - j.",
    ),
    (
        "divided-by-length",
        lambda query, key: (query - key) / key.size(1),
        "The distance is divided by the number of keys. The penalty of a key must not change "
        "when the text grows: take i - j as it is.",
    ),
    (
        "one-step",
        lambda query, key: (query > key).long(),
        "All earlier keys lose the same, however far they are. The penalty grows with the "
        "distance i - j.",
    ),
    (
        "past-clamped-away",
        lambda query, key: (query - key).clamp(max=0),
        "The bias is zero for all keys in the past: the clamp keeps the wrong side. For j <= i "
        "it is -slope · (i - j).",
    ),
)

# What stands at j > i, in results whose shape is wrong and which are looked at as a whole.
_FUTURES: tuple[tuple[str, Distances], ...] = (
    ("", _back),
    ("-future-zero", lambda query, key: (query - key).clamp(min=0)),
    ("-both-sides", lambda query, key: (query - key).abs()),
)
_SHAPES: tuple[tuple[str, Callable[[Tensor], Tensor], str], ...] = (
    (
        "heads-last",
        lambda bias: bias.permute(1, 2, 0),
        "The shape is (n_q, n_k, n_heads). Heads come first, as in the scores: "
        "(n_heads, n_q, n_k).",
    ),
    (
        "batch-axis",
        lambda bias: bias[None],
        "The values are right, but the shape is (1, n_heads, n_q, n_k). Leave out the first axis: "
        "the bias broadcasts over sentences by itself.",
    ),
    (
        "last-row",
        lambda bias: bias[:, -1:],
        "Only the row of the last query is returned, (n_heads, 1, n_k). Each query has its own: "
        "(n_heads, n_q, n_k).",
    ),
)

MISTAKES = (
    Mistake("plus", _alibi(join=torch.mul), _PLUS),
    *(Mistake(name, _alibi(slope=slope), sentence) for name, slope, sentence in _SLOPES),
    Mistake(
        "plus-from-0",
        _alibi(lambda i, h: _slope(i - 1, h), join=torch.mul),
        _PLUS + " And the heads are counted from 0: count from 1.",
    ),
    *(
        Mistake(name, _alibi(distances=distances), sentence)
        for name, distances, sentence in _DISTANCES
    ),
    Mistake(
        "factor",
        _alibi(join=lambda slopes, back: torch.exp(-slopes * back)),
        "This is a factor, exp(-slope · (i - j)). ALiBi adds to the scores before the softmax, "
        "and the softmax takes the exponential: return -slope · (i - j).",
    ),
    Mistake(
        "sum-of-slope-and-distance",
        _alibi(join=lambda slopes, back: -slopes - back),
        "Slope and distance are added. The slope says how much *each* step costs: multiply.",
    ),
    *(
        Mistake(f"{name}{ending}", then(_alibi(distances=distances), change), sentence)
        for name, change, sentence in _SHAPES
        for ending, distances in _FUTURES
    ),
    *(
        Mistake(
            f"queries-and-keys-exchanged{ending}",
            _exchanged(_alibi(distances=distances)),
            "The shape is (n_heads, n_k, n_q). Rows are queries and columns are keys, as in q k^T.",
        )
        for ending, distances in _FUTURES
    ),
    *(
        Mistake(
            f"keys-row{ending}",
            _first_row(sign),
            _KEYS_ONLY + " Its shape is (n_heads, 1, n_k) here; asked for is (n_heads, n_q, n_k).",
        )
        for ending, sign in (("", 1.0), ("-negative", -1.0))
    ),
    *(
        Mistake(f"plus-{name}", _alibi(slope, join=torch.mul), f"{_PLUS} Besides: {sentence}")
        for name, slope, sentence in _SLOPES
        if name in ("always-halved", "not-divided-by-h", "no-8", "one-slope", "reversed")
    ),
    Mistake(
        "slopes-alone",
        lambda h, n_q, n_k: torch.tensor([_slope(i, h) for i in range(1, h + 1)]),
        "These are the slopes alone. Multiply them by the distances: (n_heads, n_q, n_k).",
    ),
    Mistake(
        "one-matrix",
        lambda h, n_q, n_k: -_back(torch.arange(n_q)[:, None], torch.arange(n_k)).float(),
        "This is one matrix for all heads, without slopes. Each head has its own slope: "
        "(n_heads, n_q, n_k).",
    ),
)
