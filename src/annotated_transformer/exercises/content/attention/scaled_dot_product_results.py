"""Named mistakes of `attention.scaled_dot_product` after the weights: output, what is returned."""

import math
from collections.abc import Callable
from typing import Any

import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.attention.scaled_dot_product_steps import (
    Mask,
    attention_of,
    masked,
    right_scores,
    right_weights,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


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
        attention_of(output=lambda weights, q, k, v: weights @ k),
        "The weights mix the keys instead of the values, `weights @ k`. Keys only decide how "
        "much; what is handed over are the values: `weights @ v`.",
    ),
    Mistake(
        "queries-as-values",
        attention_of(output=lambda weights, q, k, v: weights @ q),
        "The weights mix the queries instead of the values, `weights @ q`. What is handed over "
        "are the values: `weights @ v`.",
    ),
    Mistake(
        "weights-transposed",
        attention_of(output=lambda weights, q, k, v: weights.mT @ v),
        "The weights are transposed before they meet the values. Row i of the weights mixes the "
        "values for query i: `weights @ v`.",
    ),
    Mistake(
        "output-transposed",
        attention_of(output=lambda weights, q, k, v: (weights @ v).mT),
        "The output is transposed, (d_v, n_q). Rows are queries: `weights @ v`, (..., n_q, d_v).",
    ),
    Mistake(
        "output-scaled",
        attention_of(output=_by_scale),
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
        attention_of(output=lambda weights, q, k, v: (weights @ v) / v.size(-2)),
        "The output is divided by the number of keys. The weights already sum to 1, so "
        "`weights @ v` is an average.",
    ),
    Mistake(
        "plain-mean",
        attention_of(
            output=lambda weights, q, k, v: v.mean(-2, keepdim=True).expand(
                *weights.shape[:-1], v.size(-1)
            )
        ),
        "The output is the plain mean of the values; the weights are not used. It is "
        "`weights @ v`, an average weighted for each query.",
    ),
    Mistake(
        "residual-added",
        attention_of(
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
            attention_of(weights=_dropped(rate)),
            "Dropout is applied to the weights, so the result is random and the weights no longer "
            "sum to 1. The function asked for has no dropout, and the paper's has none at this "
            "place.",
        )
        for rate in (0.1, 0.5)
    ),
    Mistake(
        "dropout-on-output",
        attention_of(output=lambda weights, q, k, v: F.dropout(weights, 0.1) @ v),
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
            lambda output, weights, scores, mask: (output, masked(scores, mask, float("-inf")))
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
        lambda q, k, v, mask=None: attention_of()(q.detach(), k.detach(), v.detach(), mask),
        "The values are right, but `detach` (or `no_grad`, `.data`) cuts the graph: no "
        "gradient reaches q, k and v, and nothing learns. Leave it out.",
    ),
    Mistake(
        "weights-without-gradient",
        lambda q, k, v, mask=None: attention_of()(q.detach(), k.detach(), v, mask),
        "The weights are computed without a gradient (`no_grad` or `detach`): none reaches q and "
        "k, so the model can never learn where to look. Leave it out.",
    ),
    Mistake(
        "weights-detached",
        attention_of(output=lambda weights, q, k, v: weights.detach() @ v),
        "The weights are detached before they mix the values: no gradient reaches q and k, so "
        "the model can never learn where to look. Leave `detach` out.",
    ),
)
