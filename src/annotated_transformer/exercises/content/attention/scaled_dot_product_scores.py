"""Named mistakes of `attention.scaled_dot_product` in the scores: scale and products."""

import math
from collections.abc import Callable

import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.attention.scaled_dot_product_steps import (
    attention_of,
    right_scores,
)
from annotated_transformer.exercises.exercise import Mistake


def _scale(name: str, divisor: Callable[[Tensor, Tensor, Tensor], float], said: str) -> Mistake:
    """The scores divided by another number than sqrt(d_k)."""
    implementation = attention_of(scores=lambda q, k, v: q @ k.mT / divisor(q, k, v))
    sentence = f"{said} Scale with `math.sqrt(q.size(-1))`, the root of d_k."
    return Mistake(name, implementation, sentence)


def _heads(q: Tensor) -> int:
    return q.size(1) if q.dim() == 4 else 1


SCALE_MISTAKES = (
    _scale(
        "no-scale",
        lambda q, k, v: 1.0,
        "The scores are not divided by sqrt(d_k): the scale is missing. A dot product of d_k "
        "terms has a standard deviation of about sqrt(d_k): at 64 more than a third of the queries "
        "start with nearly all their weight on one key, where the softmax passes no gradient.",
    ),
    _scale(
        "scale-by-d_k",
        lambda q, k, v: q.size(-1),
        "The scores are divided by d_k, not by sqrt(d_k). The variance of a dot product grows "
        "with d_k, its standard deviation with the square root; dividing by d_k flattens the "
        "weights.",
    ),
    _scale(
        "scale-multiplied",
        lambda q, k, v: q.size(-1) ** -0.5,
        "The scores are multiplied by sqrt(d_k) instead of divided by it, which makes the softmax "
        "nearly one-hot.",
    ),
    _scale(
        "scale-multiplied-by-d_k",
        lambda q, k, v: 1 / q.size(-1),
        "The scores are multiplied by d_k. They have to be divided, and by the square root.",
    ),
    _scale(
        "scale-by-sqrt-d_v",
        lambda q, k, v: math.sqrt(v.size(-1)),
        "The scale is sqrt(d_v), the width of the values. It belongs to the dot product of "
        "queries and keys, whose width is d_k; the two are often equal, which hides this.",
    ),
    _scale(
        "scale-by-d_v",
        lambda q, k, v: v.size(-1),
        "The scores are divided by d_v, the width of the values, and without a square root. The "
        "scale belongs to the dot product of queries and keys.",
    ),
    _scale(
        "scale-by-sqrt-n_k",
        lambda q, k, v: math.sqrt(k.size(-2)),
        "The scale is sqrt(n_k), the root of the number of keys. A dot product sums over the d_k "
        "coordinates of a vector, not over positions, so the length of the sequence must not "
        "matter.",
    ),
    _scale(
        "scale-by-sqrt-n_q",
        lambda q, k, v: math.sqrt(q.size(-2)),
        "The scale is sqrt(n_q), the root of the number of queries (size(-2)). A dot product sums "
        "over the d_k coordinates of a vector, the last axis, not over positions.",
    ),
    _scale(
        "scale-by-n_k",
        lambda q, k, v: k.size(-2),
        "The scores are divided by the number of keys, n_k, as if averaging. The softmax makes "
        "the shares by itself; the scale is for the width of the vectors, d_k.",
    ),
    _scale(
        "scale-by-sqrt-batch",
        lambda q, k, v: math.sqrt(q.size(0)),
        "The scale is the root of the first axis, `size(0)`, the batch. The width d_k is the last "
        "axis.",
    ),
    _scale(
        "scale-by-sqrt-second-axis",
        lambda q, k, v: math.sqrt(q.size(1)),
        "The scale is the root of the second axis, `size(1)`: d_k only where there is no batch, "
        "else positions or heads.",
    ),
    _scale(
        "scale-by-sqrt-third-axis",
        lambda q, k, v: math.sqrt(q.size(2 if q.dim() > 2 else -1)),
        "The scale is the root of axis 2, `size(2)`: d_k only with exactly one axis before the "
        "positions. With heads it is the number of queries.",
    ),
    _scale(
        "scale-by-sqrt-d_model",
        lambda q, k, v: math.sqrt(q.size(-1) * _heads(q)),
        "The scale is sqrt(d_model), the width of all heads together. Each head's dot product has "
        "d_k terms only.",
    ),
    _scale(
        "scale-by-8",
        lambda q, k, v: 8.0,
        "The scale is written as a fixed number, 8 = sqrt(64). That is right for the paper's "
        "d_k = 64 and for no other width.",
    ),
    _scale(
        "scale-by-sqrt-512",
        lambda q, k, v: math.sqrt(512),
        "The scale is written as a fixed number, sqrt(512): the paper's d_model. It has to be "
        "computed from d_k.",
    ),
    _scale(
        "scale-rounded-down",
        lambda q, k, v: int(math.sqrt(q.size(-1))),
        "The scale is a whole number, sqrt(d_k) rounded down (`int`, `//` or `isqrt`). That is "
        "right only when d_k is a square such as 64.",
    ),
    _scale(
        "scale-fourth-root",
        lambda q, k, v: q.size(-1) ** 0.25,
        "The scale is the fourth root of d_k: queries or keys alone are divided by d_k ** 0.25, "
        "or the root is taken twice. Both together, or the product once, by sqrt(d_k).",
    ),
    _scale(
        "scale-half",
        lambda q, k, v: q.size(-1) / 2,
        "The scores are divided by d_k / 2; `d_k * 0.5` is not `d_k ** 0.5`.",
    ),
    _scale(
        "scale-squared",
        lambda q, k, v: q.size(-1) ** 2,
        "The scores are divided by d_k squared; that is nearly 0 for all of them, and the weights "
        "are nearly equal.",
    ),
    _scale(
        "scale-logarithm",
        lambda q, k, v: math.log(q.size(-1)),
        "The scores are divided by log(d_k). The standard deviation of a dot product grows with "
        "the square root.",
    ),
)


def _view_for_transpose(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    turned = k.reshape(*k.shape[:-2], k.size(-1), k.size(-2))
    return q @ turned / math.sqrt(q.size(-1))


def _distances(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return -(q[..., :, None, :] - k[..., None, :, :]).square().sum(-1) / math.sqrt(q.size(-1))


SCORE_MISTAKES = (
    Mistake(
        "key-not-transposed",
        attention_of(scores=lambda q, k, v: q @ k / math.sqrt(q.size(-1))),
        "The keys are not transposed: `q @ k` multiplies queries with columns of k. It raises an "
        "error unless n_k happens to equal d_k, and then it is silently wrong. Every query with "
        "every key is `q @ k.transpose(-2, -1)`.",
    ),
    Mistake(
        "reshape-for-transpose",
        attention_of(scores=_view_for_transpose),
        "The keys are reshaped (`view` or `reshape`) to (d_k, n_k) instead of transposed: the "
        "shape is right, but the numbers of different keys are mixed. Exchange the axes with "
        "`k.transpose(-2, -1)`.",
    ),
    Mistake(
        "transpose-all-axes",
        attention_of(
            scores=lambda q, k, v: q @ k.permute(*reversed(range(k.dim()))) / math.sqrt(q.size(-1))
        ),
        "`.T` reverses all axes, the batch included. That works for a single matrix only. "
        "Exchange just the last two: `k.transpose(-2, -1)` or `k.mT`.",
    ),
    Mistake(
        "transpose-first-axes",
        attention_of(scores=lambda q, k, v: q @ k.transpose(0, 1) / math.sqrt(q.size(-1))),
        "`k.transpose(0, 1)` exchanges the first two axes, which are keys and width only where "
        "there is no batch. Count from the end: `k.transpose(-2, -1)`.",
    ),
    Mistake(
        "transpose-axes-one-and-two",
        attention_of(
            scores=lambda q, k, v: (
                q @ (k.transpose(1, 2) if k.dim() > 2 else k.mT) / math.sqrt(q.size(-1))
            )
        ),
        "`k.transpose(1, 2)` exchanges keys and width only with exactly one leading axis; with "
        "heads it exchanges heads and keys. Count from the end: `k.transpose(-2, -1)`.",
    ),
    Mistake(
        "permute-three-axes",
        attention_of(scores=lambda q, k, v: q @ k.permute(0, 2, 1) / math.sqrt(q.size(-1))),
        "`k.permute(0, 2, 1)` works for exactly three axes; matrices without a batch and inputs "
        "with heads fail. Count from the end: `k.transpose(-2, -1)`.",
    ),
    Mistake(
        "permute-four-axes",
        attention_of(scores=lambda q, k, v: q @ k.permute(0, 1, 3, 2) / math.sqrt(q.size(-1))),
        "`k.permute(0, 1, 3, 2)` works for exactly four axes; inputs without heads fail. Count "
        "from the end: `k.transpose(-2, -1)`.",
    ),
    Mistake(
        "scores-transposed",
        attention_of(scores=lambda q, k, v: k @ q.mT / math.sqrt(q.size(-1))),
        "The scores are transposed: `k @ q^T` has a row for each key, (n_k, n_q). Rows are "
        "queries: `q @ k.transpose(-2, -1)`, (n_q, n_k).",
    ),
    Mistake(
        "queries-as-keys",
        attention_of(scores=lambda q, k, v: q @ q.mT / math.sqrt(q.size(-1))),
        "The queries are compared with themselves, `q @ q^T`; the keys are not used. Scores "
        "compare every query with every key.",
    ),
    Mistake(
        "keys-as-queries",
        attention_of(scores=lambda q, k, v: k @ k.mT / math.sqrt(q.size(-1))),
        "The keys are compared with themselves, `k @ k^T`; the queries are not used. Scores "
        "compare every query with every key.",
    ),
    Mistake(
        "values-as-keys",
        attention_of(scores=lambda q, k, v: q @ v.mT / math.sqrt(q.size(-1))),
        "The queries are compared with the values, `q @ v^T`. Keys are what a query is matched "
        "against; values are what is handed over: `q @ k.transpose(-2, -1)`.",
    ),
    Mistake(
        "cosine-similarity",
        attention_of(scores=lambda q, k, v: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT),
        "Queries and keys are brought to length 1 first (cosine similarity). The paper takes the "
        "plain dot product, divided by sqrt(d_k).",
    ),
    Mistake(
        "distance",
        attention_of(scores=_distances),
        "The scores are negative squared distances between queries and keys. The paper takes the "
        "dot product, `q @ k.transpose(-2, -1)`.",
    ),
    Mistake(
        "negative-scores",
        attention_of(scores=lambda q, k, v: -right_scores(q, k, v)),
        "The sign of the scores is turned, so the least similar key gets the largest weight.",
    ),
    Mistake(
        "absolute-scores",
        attention_of(scores=lambda q, k, v: right_scores(q, k, v).abs()),
        "The absolute value of the scores is taken: an opposite key weighs as much as a similar "
        "one. The sign is part of the score.",
    ),
    Mistake(
        "rectified-scores",
        attention_of(scores=lambda q, k, v: right_scores(q, k, v).relu()),
        "A ReLU cuts off the negative scores before the softmax. They are wanted: they make a "
        "weight small.",
    ),
    Mistake(
        "scaled-twice",
        attention_of(scores=lambda q, k, v: right_scores(q, k, v) / q.size(-1)),
        "The scale is applied several times (once to the queries, once to the keys, once to the "
        "product). The product is divided by sqrt(d_k) once.",
    ),
)
