"""The named mistakes of `attention.scaled_dot_product`.

Attention has three steps, and a mistake sits in one of them: the scores, the weights (mask and
softmax), the mixing of the values. `_attention` puts an implementation together from three such
steps, so that each mistake states only what it does differently.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake

Mask = Tensor | None


def right_scores(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return q @ k.mT / math.sqrt(q.size(-1))


def right_weights(scores: Tensor, mask: Mask) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def right_output(weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return weights @ v


def _attention(
    scores: Callable[[Tensor, Tensor, Tensor], Tensor] = right_scores,
    weights: Callable[[Tensor, Mask], Tensor] = right_weights,
    output: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = right_output,
) -> Candidate:
    def implementation(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> tuple[Tensor, Tensor]:
        shares = weights(scores(q, k, v), mask)
        return output(shares, q, k, v), shares

    return implementation


def _scale(name: str, divisor: Callable[[Tensor, Tensor, Tensor], float], said: str) -> Mistake:
    """The scores divided by another number than sqrt(d_k)."""
    implementation = _attention(scores=lambda q, k, v: q @ k.mT / divisor(q, k, v))
    sentence = f"{said} Scale with `math.sqrt(q.size(-1))`, the root of d_k."
    return Mistake(name, implementation, sentence)


def _heads(q: Tensor) -> int:
    return q.size(-3) if q.dim() > 2 else 1


SCALE_MISTAKES = (
    _scale(
        "no-scale",
        lambda q, k, v: 1.0,
        "The scores are not divided by sqrt(d_k): the scale is missing. A dot product of d_k "
        "terms has a standard deviation of about sqrt(d_k), which drives the softmax into its "
        "flat ends, where gradients vanish.",
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
        _attention(scores=lambda q, k, v: q @ k / math.sqrt(q.size(-1))),
        "The keys are not transposed: `q @ k` multiplies queries with columns of k. It raises an "
        "error unless n_k happens to equal d_k, and then it is silently wrong. Every query with "
        "every key is `q @ k.transpose(-2, -1)`.",
    ),
    Mistake(
        "reshape-for-transpose",
        _attention(scores=_view_for_transpose),
        "The keys are reshaped (`view` or `reshape`) to (d_k, n_k) instead of transposed: the "
        "shape is right, but the numbers of different keys are mixed. Exchange the axes with "
        "`k.transpose(-2, -1)`.",
    ),
    Mistake(
        "transpose-all-axes",
        _attention(
            scores=lambda q, k, v: q @ k.permute(*reversed(range(k.dim()))) / math.sqrt(q.size(-1))
        ),
        "`.T` reverses all axes, the batch included. That works for a single matrix only. "
        "Exchange just the last two: `k.transpose(-2, -1)` or `k.mT`.",
    ),
    Mistake(
        "transpose-first-axes",
        _attention(scores=lambda q, k, v: q @ k.transpose(0, 1) / math.sqrt(q.size(-1))),
        "`k.transpose(0, 1)` exchanges the first two axes, which are keys and width only where "
        "there is no batch. Count from the end: `k.transpose(-2, -1)`.",
    ),
    Mistake(
        "transpose-axes-one-and-two",
        _attention(
            scores=lambda q, k, v: (
                q @ (k.transpose(1, 2) if k.dim() > 2 else k.mT) / math.sqrt(q.size(-1))
            )
        ),
        "`k.transpose(1, 2)` exchanges keys and width only with exactly one leading axis; with "
        "heads it exchanges heads and keys. Count from the end: `k.transpose(-2, -1)`.",
    ),
    Mistake(
        "permute-three-axes",
        _attention(scores=lambda q, k, v: q @ k.permute(0, 2, 1) / math.sqrt(q.size(-1))),
        "`k.permute(0, 2, 1)` works for exactly three axes; matrices without a batch and inputs "
        "with heads fail. Count from the end: `k.transpose(-2, -1)`.",
    ),
    Mistake(
        "permute-four-axes",
        _attention(scores=lambda q, k, v: q @ k.permute(0, 1, 3, 2) / math.sqrt(q.size(-1))),
        "`k.permute(0, 1, 3, 2)` works for exactly four axes; inputs without heads fail. Count "
        "from the end: `k.transpose(-2, -1)`.",
    ),
    Mistake(
        "scores-transposed",
        _attention(scores=lambda q, k, v: k @ q.mT / math.sqrt(q.size(-1))),
        "The scores are transposed: `k @ q^T` has a row for each key, (n_k, n_q). Rows are "
        "queries: `q @ k.transpose(-2, -1)`, (n_q, n_k).",
    ),
    Mistake(
        "queries-as-keys",
        _attention(scores=lambda q, k, v: q @ q.mT / math.sqrt(q.size(-1))),
        "The queries are compared with themselves, `q @ q^T`; the keys are not used. Scores "
        "compare every query with every key.",
    ),
    Mistake(
        "keys-as-queries",
        _attention(scores=lambda q, k, v: k @ k.mT / math.sqrt(q.size(-1))),
        "The keys are compared with themselves, `k @ k^T`; the queries are not used. Scores "
        "compare every query with every key.",
    ),
    Mistake(
        "values-as-keys",
        _attention(scores=lambda q, k, v: q @ v.mT / math.sqrt(q.size(-1))),
        "The queries are compared with the values, `q @ v^T`. Keys are what a query is matched "
        "against; values are what is handed over: `q @ k.transpose(-2, -1)`.",
    ),
    Mistake(
        "cosine-similarity",
        _attention(scores=lambda q, k, v: F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT),
        "Queries and keys are brought to length 1 first (cosine similarity). The paper takes the "
        "plain dot product, divided by sqrt(d_k).",
    ),
    Mistake(
        "distance",
        _attention(scores=_distances),
        "The scores are negative squared distances between queries and keys. The paper takes the "
        "dot product, `q @ k.transpose(-2, -1)`.",
    ),
    Mistake(
        "negative-scores",
        _attention(scores=lambda q, k, v: -right_scores(q, k, v)),
        "The sign of the scores is turned, so the least similar key gets the largest weight.",
    ),
    Mistake(
        "absolute-scores",
        _attention(scores=lambda q, k, v: right_scores(q, k, v).abs()),
        "The absolute value of the scores is taken: an opposite key weighs as much as a similar "
        "one. The sign is part of the score.",
    ),
    Mistake(
        "rectified-scores",
        _attention(scores=lambda q, k, v: right_scores(q, k, v).relu()),
        "A ReLU cuts off the negative scores before the softmax. They are wanted: they make a "
        "weight small.",
    ),
    Mistake(
        "scaled-twice",
        _attention(scores=lambda q, k, v: right_scores(q, k, v) / q.size(-1)),
        "The scale is applied several times (once to the queries, once to the keys, once to the "
        "product). The product is divided by sqrt(d_k) once.",
    ),
)


def _masked(scores: Tensor, mask: Mask, fill: float) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, fill)


def _softmax_over(*axes: int) -> Callable[[Tensor, Mask], Tensor]:
    """A softmax over other axes than the keys, forbidden weights 0."""

    def weights(scores: Tensor, mask: Mask) -> Tensor:
        given = axes or tuple(range(scores.dim()))
        scores = _masked(scores, mask, -1e30)
        exponentials = (scores - scores.amax(given, keepdim=True)).exp()
        shares = exponentials / exponentials.sum(given, keepdim=True)
        return shares if mask is None else shares * mask

    return weights


def _unmasked_softmax(scores: Tensor, mask: Mask) -> Tensor:
    return scores.softmax(-1)


def _mask_after_softmax(scores: Tensor, mask: Mask) -> Tensor:
    weights = scores.softmax(-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


def _inverted(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores, None if mask is None else ~mask)


def _additive_large(scores: Tensor, mask: Mask) -> Tensor:
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * -1e9
    return scores.softmax(-1)


def _minus_infinity(scores: Tensor, mask: Mask) -> Tensor:
    return _masked(scores, mask, float("-inf")).softmax(-1)


def _zero_times_infinity(scores: Tensor, mask: Mask) -> Tensor:
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * float("-inf")
    return scores.softmax(-1)


def _transposed_mask(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores, None if mask is None else mask.mT)


def _plain_exponentials(scores: Tensor, mask: Mask) -> Tensor:
    exponentials = scores.exp()
    if mask is not None:
        exponentials = exponentials * mask
    total = exponentials.sum(-1, keepdim=True)
    return torch.where(total == 0, torch.zeros_like(exponentials), exponentials / total)


def _small_denominator(scores: Tensor, mask: Mask) -> Tensor:
    weights = _mask_after_softmax(scores, mask)
    return weights / (weights.sum(-1, keepdim=True) + 0.1)


def _largest_subtracted_from_all(scores: Tensor, mask: Mask) -> Tensor:
    exponentials = (_masked(scores, mask, float("-inf")) - scores.max()).exp()
    total = exponentials.sum(-1, keepdim=True)
    return torch.where(total == 0, torch.zeros_like(exponentials), exponentials / total)


def _empty_rows_everywhere(scores: Tensor, mask: Mask) -> Tensor:
    weights = right_weights(scores, mask)
    return weights if mask is None else weights.masked_fill(~mask.all(-1, keepdim=True), 0.0)


def _empty_columns(scores: Tensor, mask: Mask) -> Tensor:
    weights = torch.nan_to_num(_minus_infinity(scores, mask), nan=1.0 / scores.size(-1))
    return weights if mask is None else weights.masked_fill(~mask.any(-2, keepdim=True), 0.0)


def _sigmoid(scores: Tensor, mask: Mask) -> Tensor:
    weights = scores.sigmoid()
    return weights if mask is None else weights * mask


def _log_softmax(scores: Tensor, mask: Mask) -> Tensor:
    return _masked(scores, mask, -1e9).log_softmax(-1)


def _raw(scores: Tensor, mask: Mask) -> Tensor:
    return _masked(scores, mask, 0.0)


def _divided_by_sum(scores: Tensor, mask: Mask) -> Tensor:
    scores = _masked(scores, mask, 0.0)
    return scores / scores.sum(-1, keepdim=True)


def _hard(scores: Tensor, mask: Mask) -> Tensor:
    best = _masked(scores, mask, float("-inf")).argmax(-1)
    weights = F.one_hot(best, scores.size(-1)).to(scores.dtype)
    return weights if mask is None else weights * mask


def _softmax_twice(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(right_weights(scores, mask), mask)


def _mask_added(scores: Tensor, mask: Mask) -> Tensor:
    return (scores if mask is None else scores + mask).softmax(-1)


def _axis_added(scores: Tensor, mask: Mask) -> Tensor:
    scores = scores if mask is None else scores.masked_fill(~mask.unsqueeze(1), float("-inf"))
    return scores.softmax(-1).nan_to_num(0.0)


def _first_row_for_all(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores, None if mask is None else mask[..., :1, :])


def _first_sentence_for_all(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores, mask[:1] if mask is not None and mask.dim() > 2 else mask)


def _causal_always(scores: Tensor, mask: Mask) -> Tensor:
    causal = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return right_weights(scores, causal if mask is None else mask & causal)


def _fill(value: float) -> Candidate:
    return _attention(weights=lambda scores, mask: _masked(scores, mask, value).softmax(-1))


def _small_fill_with_zeros(scores: Tensor, mask: Mask) -> Tensor:
    weights = _masked(scores, mask, -1e4).softmax(-1)
    return weights if mask is None else weights * mask.any(-1, keepdim=True)


WEIGHT_MISTAKES = (
    Mistake(
        "softmax-over-queries",
        _attention(weights=_softmax_over(-2)),
        "The softmax runs over the queries (dim=-2): columns sum to 1 instead of rows. Each query "
        "shares 1 among the keys, so it runs over the last axis of the scores, dim=-1.",
    ),
    Mistake(
        "softmax-over-first-axis",
        _attention(weights=_softmax_over(0)),
        "The softmax runs over axis 0, the batch: different sentences share one sum. Each query "
        "shares 1 among its keys: dim=-1.",
    ),
    Mistake(
        "softmax-over-second-axis",
        _attention(weights=_softmax_over(1)),
        "The softmax runs over axis 1 (dim=1), which are the keys only in a single matrix; here "
        "it is heads or queries. Count from the end: dim=-1, the keys.",
    ),
    Mistake(
        "softmax-over-third-axis",
        _attention(
            weights=lambda scores, mask: _softmax_over(2 if scores.dim() > 2 else -1)(scores, mask)
        ),
        "The softmax runs over axis 2 (dim=2), which are the keys only with exactly one leading "
        "axis; with heads it is the queries. Count from the end: dim=-1, the keys.",
    ),
    Mistake(
        "softmax-over-everything",
        _attention(weights=_softmax_over()),
        "The softmax runs over the whole tensor, so that all weights of the batch together sum to "
        "1. Every query's row has to sum to 1 by itself: dim=-1.",
    ),
    Mistake(
        "softmax-over-both-axes",
        _attention(weights=_softmax_over(-2, -1)),
        "The softmax runs over queries and keys together: a whole matrix sums to 1. Every query's "
        "row has to sum to 1 by itself: dim=-1.",
    ),
    Mistake(
        "mask-ignored",
        _attention(weights=_unmasked_softmax),
        "The mask is ignored: forbidden keys keep their weight. Before the softmax, set the "
        "scores where the mask is False to -inf (`masked_fill(~mask, ...)`).",
    ),
    Mistake(
        "mask-inverted",
        _attention(weights=_inverted),
        "The mask is inverted: allowed keys are forbidden and forbidden ones allowed. True means "
        "may attend, so fill where it is False: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "mask-inverted-nan",
        _attention(
            weights=lambda scores, mask: _minus_infinity(scores, None if mask is None else ~mask)
        ),
        "The mask is inverted: allowed keys are forbidden and forbidden ones allowed. True means "
        "may attend, so fill where it is False: `masked_fill(~mask, ...)`. A row of -inf alone "
        "gives NaN besides.",
    ),
    Mistake(
        "mask-inverted-large",
        _attention(
            weights=lambda scores, mask: (
                scores if mask is None else scores.masked_fill(mask, -1e9)
            ).softmax(-1)
        ),
        "The mask is inverted: `masked_fill(mask, -1e9)` forbids where the mask is True. Here "
        "True means may attend, so fill where it is False: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "mask-after-softmax",
        _attention(weights=_mask_after_softmax),
        "The mask is applied after the softmax: forbidden weights are set to 0, but they had "
        "already taken their share, so the remaining ones no longer sum to 1. Mask the scores "
        "before the softmax.",
    ),
    Mistake(
        "mask-fills-small-number-but-zeros",
        _attention(weights=_small_fill_with_zeros),
        "Forbidden scores are set to an ordinary number such as -5, -100 or -10000. Real scores "
        "can lie below it, and then the forbidden keys win. Use -inf, which is below every score.",
    ),
    Mistake(
        "mask-fills-small-number",
        _fill(-1e4),
        "Forbidden scores are set to an ordinary number such as -5, -100 or -10000. Real scores "
        "can lie below it, and then the forbidden keys win; a row with nothing allowed becomes "
        "uniform besides. Use -inf, which is below every score, and give such rows zeros.",
    ),
    Mistake(
        "mask-fills-zero",
        _fill(0.0),
        "Forbidden scores are set to 0, by filling with 0 or by multiplying the scores with the "
        "mask. exp(0) is 1, so a forbidden key keeps a share, and beats every negative score. "
        "Replace them by -inf, whose exponential is 0: `masked_fill(~mask, float('-inf'))`.",
    ),
    Mistake(
        "mask-added",
        _attention(weights=_mask_added),
        "The boolean mask is added to the scores as 0 and 1 (or subtracted), which shifts them a "
        "little and forbids nothing. Replace the forbidden scores by -inf: "
        "`masked_fill(~mask, float('-inf'))`.",
    ),
    *(
        Mistake(
            f"mask-fills-minus-{size}",
            _fill(-float(size)),
            f"Forbidden scores are set to -{size}, an ordinary score: such a key keeps a share, "
            "and attention leaks. Use -inf, whose exponential is exactly 0.",
        )
        for size in (1, 2, 3, 5, 10, 20)
    ),
    Mistake(
        "mask-fills-one",
        _fill(1.0),
        "Forbidden scores are set to 1, which raises many of them. Use -inf, whose exponential "
        "is exactly 0.",
    ),
    Mistake(
        "mask-fills-plus-infinity",
        _attention(
            weights=lambda scores, mask: torch.nan_to_num(
                _masked(scores, mask, 1e30).softmax(-1), nan=0.0
            )
        ),
        "Forbidden scores are set to a huge positive number, so the forbidden keys take all the "
        "weight. It must be negative: -inf.",
    ),
    Mistake(
        "empty-row-uniform",
        _fill(-1e9),
        "Where everything is forbidden the weights come out uniform: with -1e9 (or the dtype's "
        "smallest number) in the whole row all scores are equal, so the query attends to all the "
        "forbidden keys. Such a row has to be zeros: set the weights to 0 where "
        "`mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "empty-row-unmasked",
        _attention(weights=_additive_large),
        "Where everything is forbidden the weights come out as if nothing were: -1e9 added to "
        "every score of the row cancels in the softmax. Such a row has to be zeros: set the "
        "weights to 0 where `mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "empty-row-nan",
        _attention(weights=_minus_infinity),
        "A fully masked row comes out as NaN: where everything is forbidden the softmax of -inf "
        "alone is 0 / 0. Such a query gets zeros: set the weights to 0 where "
        "`mask.any(-1, keepdim=True)` is False, before they meet the values.",
    ),
    Mistake(
        "empty-row-nan-in-weights",
        lambda q, k, v, mask=None: (
            torch.nan_to_num(_attention(weights=_minus_infinity)(q, k, v, mask)[0], nan=0.0),
            _attention(weights=_minus_infinity)(q, k, v, mask)[1],
        ),
        "Where everything is forbidden the output is zeros but the weights returned are NaN. Set "
        "the weights to 0 first, where `mask.any(-1, keepdim=True)` is False; the output then "
        "is 0 by itself.",
    ),
    Mistake(
        "empty-row-nan-in-output",
        lambda q, k, v, mask=None: (
            _attention(weights=_minus_infinity)(q, k, v, mask)[0],
            torch.nan_to_num(_attention(weights=_minus_infinity)(q, k, v, mask)[1], nan=0.0),
        ),
        "Where everything is forbidden the weights returned are zeros but the output is NaN: it "
        "was made before the weights were cleaned. Set the weights to 0 first.",
    ),
    Mistake(
        "empty-row-uniform-in-weights",
        lambda q, k, v, mask=None: (
            _attention()(q, k, v, mask)[0],
            _fill(-1e9)(q, k, v, mask)[1],
        ),
        "Where everything is forbidden the output is zeros but the weights returned are uniform. "
        "Set the weights to 0 first, where `mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "empty-row-everywhere",
        _attention(weights=_empty_rows_everywhere),
        "Every row in which *something* is forbidden is set to zero (`mask.all`). Only a row in "
        "which *everything* is forbidden is: `~mask.any(-1, keepdim=True)`.",
    ),
    Mistake(
        "empty-columns",
        _attention(weights=_empty_columns),
        "Rows with nothing allowed are looked for along the queries (`any(-2)`), so a fully "
        "masked query still gets weights. Ask each query: `mask.any(-1, keepdim=True)`.",
    ),
    Mistake(
        "zero-times-infinity",
        _attention(weights=_zero_times_infinity),
        "The mask is turned into numbers and multiplied by -inf: 0 times infinity is NaN, at the "
        "very places that are allowed. Use `masked_fill(~mask, float('-inf'))`.",
    ),
    Mistake(
        "mask-axis-added",
        _attention(weights=_axis_added),
        "An axis is put into the mask (`unsqueeze(1)`), as some libraries do for masks without a "
        "head axis. Here the mask already broadcasts to (..., n_q, n_k): use it as it comes.",
    ),
    Mistake(
        "mask-transposed",
        _attention(weights=_transposed_mask),
        "The mask is transposed: keys are masked where queries should be. Its rows are queries "
        "and its columns keys, as in the scores; use it as it comes.",
    ),
    Mistake(
        "mask-first-row",
        _attention(weights=_first_row_for_all),
        "Only the first row of the mask is used, for all queries. Each query has its own row: "
        "let the mask broadcast as it is.",
    ),
    Mistake(
        "mask-first-sentence",
        _attention(weights=_first_sentence_for_all),
        "Only the first sentence's mask is used, for the whole batch. Each sentence has its own: "
        "let the mask broadcast as it is.",
    ),
    Mistake(
        "causal-always",
        _attention(weights=_causal_always),
        "A causal mask is built in, whether asked for or not. What is hidden is said by `mask` "
        "alone; with mask=None every query sees every key.",
    ),
    Mistake(
        "softmax-overflow",
        _attention(weights=_plain_exponentials),
        "The softmax is written as exp(scores) / sum without subtracting the row's maximum: large "
        "scores overflow to inf, very negative ones underflow to 0 / 0. Subtract the largest "
        "score of the row first, or call your own stable softmax.",
    ),
    Mistake(
        "largest-of-all-subtracted",
        _attention(weights=_largest_subtracted_from_all),
        "One maximum, that of the whole tensor, is subtracted before exp (global max): a row far "
        "below it underflows to 0. Subtract each row's own maximum, along dim=-1.",
    ),
    Mistake(
        "large-epsilon",
        _attention(weights=_small_denominator),
        "The number added to the denominator is large enough to see: the weights sum to less than "
        "1. Mask before the softmax and none is needed.",
    ),
    Mistake(
        "sigmoid",
        _attention(weights=_sigmoid),
        "A sigmoid stands in place of the softmax: each key is weighed by itself, and a query's "
        "weights do not sum to 1. Use softmax over the keys, dim=-1.",
    ),
    Mistake(
        "log-softmax",
        _attention(weights=_log_softmax),
        "`log_softmax` returns logarithms of weights, negative numbers. Attention mixes the "
        "values with the weights themselves: `softmax`.",
    ),
    Mistake(
        "no-softmax",
        _attention(weights=_raw),
        "The softmax is missing: the raw scores are used as weights, so they can be negative and "
        "do not sum to 1.",
    ),
    Mistake(
        "divided-by-sum",
        _attention(weights=_divided_by_sum),
        "The scores are divided by their sum without the exponential. Negative scores give "
        "negative weights and a sum near 0 explodes: use softmax.",
    ),
    Mistake(
        "hard-maximum",
        _attention(weights=_hard),
        "The key with the largest score gets weight 1 (argmax). Attention is soft: a softmax "
        "gives every key a share, and a gradient.",
    ),
    Mistake(
        "softmax-twice",
        _attention(weights=_softmax_twice),
        "The softmax is applied twice, the second time to weights between 0 and 1, which flattens "
        "them. Once is right.",
    ),
)


def _dropped(rate: float) -> Callable[[Tensor, Mask], Tensor]:
    return lambda scores, mask: F.dropout(right_weights(scores, mask), rate)


def _by_scale(weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return weights @ v / math.sqrt(q.size(-1))


def _scale_after_softmax(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Any:
    weights = right_weights(q @ k.mT, mask) / math.sqrt(q.size(-1))
    return weights @ v, weights


def _unscaled_scaled_values(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Any:
    weights = right_weights(q @ k.mT, mask)
    return weights @ v / math.sqrt(q.size(-1)), weights


OUTPUT_MISTAKES = (
    Mistake(
        "keys-as-values",
        _attention(output=lambda weights, q, k, v: weights @ k),
        "The weights mix the keys instead of the values, `weights @ k`. Keys only decide how "
        "much; what is handed over are the values: `weights @ v`.",
    ),
    Mistake(
        "queries-as-values",
        _attention(output=lambda weights, q, k, v: weights @ q),
        "The weights mix the queries instead of the values, `weights @ q`. What is handed over "
        "are the values: `weights @ v`.",
    ),
    Mistake(
        "weights-transposed",
        _attention(output=lambda weights, q, k, v: weights.mT @ v),
        "The weights are transposed before they meet the values. Row i of the weights mixes the "
        "values for query i: `weights @ v`.",
    ),
    Mistake(
        "output-transposed",
        _attention(output=lambda weights, q, k, v: (weights @ v).mT),
        "The output is transposed, (d_v, n_q). Rows are queries: `weights @ v`, (..., n_q, d_v).",
    ),
    Mistake(
        "output-scaled",
        _attention(output=_by_scale),
        "The output is divided by sqrt(d_k) besides. The scale belongs to the scores, before the "
        "softmax, and nowhere else.",
    ),
    Mistake(
        "scale-after-softmax",
        _scale_after_softmax,
        "The division by sqrt(d_k) comes after the softmax: it shrinks the weights, which then do "
        "not sum to 1, and does nothing against a saturated softmax. Scale the scores.",
    ),
    Mistake(
        "scale-on-output-only",
        _unscaled_scaled_values,
        "The division by sqrt(d_k) is applied to the output (or the values), not to the scores. "
        "It is there to keep the softmax from saturating, so it comes before it.",
    ),
    Mistake(
        "values-averaged",
        _attention(output=lambda weights, q, k, v: (weights @ v) / v.size(-2)),
        "The output is divided by the number of keys. The weights already sum to 1, so "
        "`weights @ v` is an average.",
    ),
    Mistake(
        "plain-mean",
        _attention(
            output=lambda weights, q, k, v: v.mean(-2, keepdim=True).expand(
                *weights.shape[:-1], v.size(-1)
            )
        ),
        "The output is the plain mean of the values; the weights are not used. It is "
        "`weights @ v`, an average weighted for each query.",
    ),
    Mistake(
        "residual-added",
        _attention(
            output=lambda weights, q, k, v: (
                weights @ v + q if q.shape == (weights @ v).shape else weights @ v
            )
        ),
        "The queries are added to the output (a residual connection). That belongs to the layer "
        "around attention; here it is `weights @ v` alone.",
    ),
    *(
        Mistake(
            f"dropout-{rate}-on-weights",
            _attention(weights=_dropped(rate)),
            "Dropout is applied to the weights, so the result is random and the weights no longer "
            "sum to 1. The function asked for has no dropout, and the paper's has none at this "
            "place.",
        )
        for rate in (0.1, 0.5)
    ),
    Mistake(
        "dropout-on-output",
        _attention(output=lambda weights, q, k, v: F.dropout(weights, 0.1) @ v),
        "Dropout is applied to the weights, so the result is random. The function asked for has "
        "no dropout, and the paper's has none at this place.",
    ),
)


def _returning(
    pick: Callable[[Tensor, Tensor, Tensor, Mask], Any],
) -> Candidate:
    """The right computation with something else returned: pick(output, weights, scores, mask)."""

    def implementation(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Any:
        scores = right_scores(q, k, v)
        weights = right_weights(scores, mask)
        return pick(weights @ v, weights, scores, mask)

    return implementation


def _in_place_scale(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Any:
    q /= math.sqrt(q.size(-1))
    weights = right_weights(q @ k.mT, mask)
    return weights @ v, weights


def _in_place_mask(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Any:
    scores = right_scores(q, k, v)
    if mask is None:
        return scores.softmax(-1) @ v, scores.softmax(-1)
    empty = ~mask.any(-1, keepdim=True)
    scores = scores.masked_fill(mask.logical_not_(), float("-inf"))
    weights = scores.softmax(-1).masked_fill(empty, 0.0)
    return weights @ v, weights


RETURN_MISTAKES = (
    Mistake(
        "returns-swapped",
        _returning(lambda output, weights, scores, mask: (weights, output)),
        "The two results are swapped: weights first, output second. Return `output, weights`.",
    ),
    Mistake(
        "returns-output-only",
        _returning(lambda output, weights, scores, mask: output),
        "Only the output is returned. Asked for are two things, `return output, weights`.",
    ),
    Mistake(
        "returns-weights-only",
        _returning(lambda output, weights, scores, mask: weights),
        "Only the weights are returned. Asked for are two things, `return output, weights`.",
    ),
    Mistake(
        "returns-scores",
        _returning(lambda output, weights, scores, mask: (output, scores)),
        "The second result are the scores, before mask and softmax. Asked for are the weights "
        "that mixed the values.",
    ),
    Mistake(
        "returns-masked-scores",
        _returning(
            lambda output, weights, scores, mask: (output, _masked(scores, mask, float("-inf")))
        ),
        "The second result are the masked scores, before the softmax. Asked for are the weights "
        "that mixed the values.",
    ),
    Mistake(
        "returns-unmasked-weights",
        _returning(lambda output, weights, scores, mask: (output, scores.softmax(-1))),
        "The weights returned are those before the mask; the output was made with others. Return "
        "the masked weights, which are 0 where attention is forbidden.",
    ),
    Mistake(
        "returns-three",
        _returning(lambda output, weights, scores, mask: (output, weights, scores)),
        "Three things are returned. Asked for are two, `return output, weights`.",
    ),
    Mistake(
        "returns-transposed-weights",
        _returning(lambda output, weights, scores, mask: (output, weights.mT)),
        "The weights are returned transposed, (n_k, n_q). Rows are queries: (..., n_q, n_k).",
    ),
    Mistake(
        "returns-averaged-heads",
        _returning(
            lambda output, weights, scores, mask: (
                output,
                weights.mean(-3) if weights.dim() > 3 else weights,
            )
        ),
        "The weights returned are averaged over the heads, as `torch.nn.MultiheadAttention` does. "
        "Asked for are the weights themselves, one matrix for each leading axis.",
    ),
    Mistake(
        "output-unmasked",
        lambda q, k, v, mask=None: (
            right_scores(q, k, v).softmax(-1) @ v,
            right_weights(right_scores(q, k, v), mask),
        ),
        "The output is mixed with the weights before the mask; only the weights returned are "
        "masked. Use the masked weights for both.",
    ),
    Mistake(
        "in-place-scale",
        _in_place_scale,
        "`q /= ...` scales the caller's own queries in place: they are changed after the call, "
        "and a second call gives another result. Write `q = q / ...` or scale the scores.",
    ),
    Mistake(
        "in-place-mask",
        _in_place_mask,
        "The mask is turned around in place (`logical_not_`, `~` into itself): the caller's mask "
        "is inverted after the call, and the next layer gets it wrong. Use `~mask`, which makes "
        "a new one.",
    ),
    Mistake(
        "detached",
        lambda q, k, v, mask=None: _attention()(q.detach(), k.detach(), v.detach(), mask),
        "The values are right, but `detach` (or `no_grad`, `.data`, NumPy) cuts the graph: no "
        "gradient reaches q, k and v, and nothing learns. Leave it out.",
    ),
    Mistake(
        "weights-without-gradient",
        lambda q, k, v, mask=None: _attention()(q.detach(), k.detach(), v, mask),
        "The weights are computed without a gradient (`no_grad` or `detach`): none reaches q and "
        "k, so the model can never learn where to look. Leave it out.",
    ),
    Mistake(
        "weights-detached",
        _attention(output=lambda weights, q, k, v: weights.detach() @ v),
        "The weights are detached before they mix the values: no gradient reaches q and k, so "
        "the model can never learn where to look. Leave `detach` out.",
    ),
)

MISTAKES = (
    *SCALE_MISTAKES,
    *SCORE_MISTAKES,
    *WEIGHT_MISTAKES,
    *OUTPUT_MISTAKES,
    *RETURN_MISTAKES,
)
