"""Wrong forms of `beyond.alibi_bias`: other slopes, other distances, other ways to join them."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.beyond.alibi_slopes import SLOPES, Slope, right_slope
from annotated_transformer.exercises.content.beyond.drawn import then
from annotated_transformer.exercises.exercise import Candidate, Mistake

Distances = Callable[[Tensor, Tensor], Tensor]  # of queries (n_q, 1) and keys (1, n_k)


def _back(query: Tensor, key: Tensor) -> Tensor:
    return query - key


def _alibi(
    slope: Slope = right_slope,
    distances: Distances = _back,
    join: Callable[[Tensor, Tensor], Tensor] = lambda slopes, back: -slopes * back,
) -> Candidate:
    def implementation(n_heads: int, n_q: int, n_k: int) -> Tensor:
        slopes = torch.tensor([slope(i, n_heads) for i in range(1, n_heads + 1)])
        back = distances(torch.arange(n_q)[:, None], torch.arange(n_k)[None, :])
        return join(slopes[:, None, None], back)

    return implementation


def _exchanged(bias: Candidate) -> Candidate:
    return lambda n_heads, n_q, n_k: bias(n_heads, n_k, n_q)


def _square(distances: Distances, of_queries: bool) -> Candidate:
    bias = _alibi(distances=distances)

    def implementation(n_heads: int, n_q: int, n_k: int) -> Any:
        n = n_q if of_queries else n_k
        return bias(n_heads, n, n)

    return implementation


def _first_row(sign: float) -> Candidate:
    return then(_alibi(), lambda bias: sign * bias[:, :1])


_PLUS = (
    "The sign is wrong: far keys are given a bonus, so that the farthest word gets most of the "
    "attention. The bias takes away: -slope · (i - j), zero on the diagonal and negative to the "
    "left of it."
)
_FROM_THE_END = (
    "The queries are taken as the last of the n_k positions, as in decoding with a cache. Here "
    "queries and keys are both counted from position 0, so the distance is i - j."
)
_KEYS_ONLY = (
    "The bias depends on the key alone, slope · j. After a causal softmax that comes to the same, "
    "since every query's row is shifted by one number; asked for is the bias itself, with "
    "zeros on the diagonal."
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
        "running-sum",
        lambda query, key: (query - key) * (query - key + 1) / 2,
        "The distances are summed up, 0, 1, 3, 6, ... (`cumsum` twice?). The penalty is linear: "
        "every step back costs the same slope.",
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
    *(Mistake(name, _alibi(slope=slope), sentence) for name, slope, sentence in SLOPES),
    Mistake(
        "plus-from-0",
        _alibi(lambda i, h: right_slope(i - 1, h), join=torch.mul),
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
        "softmax-taken",
        _alibi(join=lambda slopes, back: torch.softmax(-slopes * back, dim=-1)),
        "A softmax is taken of the bias. The bias is added to the scores, and the softmax comes "
        "after that: return -slope · (i - j).",
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
            f"square-of-{side}{ending}",
            _square(distances, of_queries=side == "queries"),
            f"The distances are those of {side} to {side}, so both axes have the same length. "
            "Queries and keys may differ in number: (n_heads, n_q, n_k).",
        )
        for side in ("queries", "keys")
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
        for name, slope, sentence in SLOPES
        if name in ("always-halved", "not-divided-by-h", "no-8", "one-slope", "reversed")
    ),
    Mistake(
        "slopes-alone",
        lambda h, n_q, n_k: torch.tensor([right_slope(i, h) for i in range(1, h + 1)]),
        "These are the slopes alone. Multiply them by the distances: (n_heads, n_q, n_k).",
    ),
    Mistake(
        "one-matrix",
        lambda h, n_q, n_k: -_back(torch.arange(n_q)[:, None], torch.arange(n_k)).float(),
        "This is one matrix for all heads, without slopes. Each head has its own slope: "
        "(n_heads, n_q, n_k).",
    ),
)
