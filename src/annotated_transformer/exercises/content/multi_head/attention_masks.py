"""Named mistakes of `multihead.attention` in mask, softmax and values, and in what is returned."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.multi_head.attention_steps import (
    Mask,
    filled_with,
    layer_of,
    masked,
    right_merge,
    right_split,
    right_weights,
    scaled_scores,
)
from annotated_transformer.exercises.exercise import Mistake


def _softmax_over(axis: int) -> Callable[[Tensor, Mask], Tensor]:
    def weights(scores: Tensor, mask: Mask) -> Tensor:
        shares = masked(scores, mask, -1e30).softmax(axis)
        return shares if mask is None else shares * mask

    return weights


def _softmax_over_everything(scores: Tensor, mask: Mask) -> Tensor:
    shares = masked(scores, mask, -1e30).flatten(1).softmax(-1).reshape(scores.shape)
    return shares if mask is None else shares * mask


def _mask_on_first_head(scores: Tensor, mask: Mask) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    return torch.cat([right_weights(scores, mask)[:, :1], scores[:, 1:].softmax(-1)], dim=1)


def _first_heads_mask(scores: Tensor, mask: Mask) -> Tensor:
    own = mask[:, :1] if mask is not None and mask.dim() == 4 else mask
    return right_weights(scores, own)


def _first_sentences_mask(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores, mask[:1] if mask is not None and mask.dim() == 4 else mask)


def _mask_after(scores: Tensor, mask: Mask) -> Tensor:
    weights = scores.softmax(-1)
    return weights if mask is None else weights * mask


def _additive(scores: Tensor, mask: Mask) -> Tensor:
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * -1e9
    return scores.softmax(-1)


def _small_number_but_zeros(scores: Tensor, mask: Mask) -> Tensor:
    weights = masked(scores, mask, -1e4).softmax(-1)
    return weights if mask is None else weights * mask.any(-1, keepdim=True)


def _small_number_then_zeros(scores: Tensor, mask: Mask) -> Tensor:
    weights = masked(scores, mask, -1e4).softmax(-1)
    return weights if mask is None else weights * mask


MASK_MISTAKES = (
    Mistake(
        "mask-ignored",
        layer_of(weights=lambda scores, mask: scores.softmax(-1)),
        "The mask is ignored: forbidden keys keep their weight. Hand it on to the attention of "
        "the heads.",
    ),
    Mistake(
        "mask-inverted",
        layer_of(
            weights=lambda scores, mask: right_weights(scores, None if mask is None else ~mask)
        ),
        "The mask is inverted: allowed keys are forbidden and forbidden ones allowed. True means "
        "may attend: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "mask-inverted-large",
        layer_of(
            weights=lambda scores, mask: (
                scores if mask is None else scores.masked_fill(mask, -1e9)
            ).softmax(-1)
        ),
        "The mask is inverted: `masked_fill(mask, ...)` forbids where it is True. True means may "
        "attend: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "mask-on-first-head",
        layer_of(weights=_mask_on_first_head),
        "The mask is applied to the first head only; the others see everything. It broadcasts "
        "over (B, n_heads, n_q, n_k): use it on all heads at once.",
    ),
    Mistake(
        "first-heads-mask",
        layer_of(weights=_first_heads_mask),
        "The first head's mask is used for all heads. A mask may differ from head to head: let it "
        "broadcast as it is.",
    ),
    Mistake(
        "first-sentences-mask",
        layer_of(weights=_first_sentences_mask),
        "The first sentence's mask is used for the whole batch. Each sentence has its own "
        "padding: let the mask broadcast as it is.",
    ),
    Mistake(
        "mask-after-softmax",
        layer_of(weights=_mask_after),
        "The mask is applied after the softmax: forbidden weights become 0, but the rest no "
        "longer sums to 1. Mask the scores before the softmax.",
    ),
    Mistake(
        "mask-fills-zero",
        filled_with(0.0),
        "Forbidden scores are set to 0 (or multiplied by the mask). exp(0) is 1, so a forbidden "
        "key keeps a share. Use -inf.",
    ),
    Mistake(
        "mask-added",
        layer_of(
            weights=lambda scores, mask: (scores if mask is None else scores + mask).softmax(-1)
        ),
        "The boolean mask is added to the scores as 0 and 1, which forbids nothing. Replace "
        "forbidden scores by -inf: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "mask-fills-small-number",
        filled_with(-1e4),
        "Forbidden scores are set to an ordinary number such as -100 or -10000. Real scores can "
        "lie below it, and then the forbidden keys win; a row with nothing allowed becomes uniform "
        "besides. Use -inf, which is below every score, and give such rows zeros.",
    ),
    Mistake(
        "mask-fills-small-number-but-zeros",
        layer_of(weights=_small_number_but_zeros),
        "Forbidden scores are set to an ordinary number such as -100 or -10000. Real scores can "
        "lie below it, and then the forbidden keys win. Use -inf, which is below every score.",
    ),
    Mistake(
        "mask-fills-small-number-then-zeros",
        layer_of(weights=_small_number_then_zeros),
        "Forbidden scores are set to an ordinary number such as -100 or -10000, and the forbidden "
        "weights to 0 after the softmax. Real scores can lie below it, and then nothing is left. "
        "Use -inf, which is below every score.",
    ),
    Mistake(
        "empty-row-nan",
        filled_with(float("-inf")),
        "A fully masked row comes out as NaN: where everything is forbidden the softmax of -inf "
        "alone is 0 / 0. Such a query gets zeros: set its weights to 0 where "
        "`mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "empty-row-uniform",
        filled_with(-1e9),
        "Where everything is forbidden the weights come out uniform: with -1e9 in the whole row "
        "all scores are equal, and the query attends to all the forbidden keys. Such a query gets "
        "zeros: set its weights to 0 where `mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "empty-row-unmasked",
        layer_of(weights=_additive),
        "Where everything is forbidden the weights come out as if nothing were: -1e9 added to the "
        "whole row cancels in the softmax. Such a query gets zeros: set its weights to 0 where "
        "`mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "softmax-over-queries",
        layer_of(weights=_softmax_over(-2)),
        "The softmax runs over the queries (dim=-2). Each query shares 1 among the keys, the last "
        "axis: dim=-1.",
    ),
    Mistake(
        "softmax-over-heads",
        layer_of(weights=_softmax_over(1)),
        "The softmax runs over the heads (dim=1), so heads compete for each key. Each query of "
        "each head shares 1 among the keys: dim=-1.",
    ),
    Mistake(
        "softmax-over-batch",
        layer_of(weights=_softmax_over(0)),
        "The softmax runs over the batch (dim=0). Each query shares 1 among the keys: dim=-1.",
    ),
    Mistake(
        "softmax-over-everything",
        layer_of(weights=_softmax_over_everything),
        "The softmax runs over heads, queries and keys together. Each query's row has to sum to 1 "
        "by itself: dim=-1.",
    ),
    Mistake(
        "no-softmax",
        layer_of(weights=lambda scores, mask: masked(scores, mask, 0.0)),
        "The softmax is missing: raw scores are used as weights.",
    ),
    Mistake(
        "scores-transposed",
        layer_of(scores=lambda q, k, n_heads: k @ q.mT / math.sqrt(q.size(-1))),
        "The scores are transposed, k q^T: keys stand in the rows. Rows are queries: "
        "`q @ k.transpose(-2, -1)`.",
    ),
    Mistake(
        "keys-as-values",
        layer_of(mix=lambda weights, q, k, v: weights @ k),
        "The weights mix the projected keys instead of the values: `weights @ v`.",
    ),
    Mistake(
        "queries-as-values",
        layer_of(mix=lambda weights, q, k, v: weights @ q),
        "The weights mix the projected queries instead of the values: `weights @ v`.",
    ),
    Mistake(
        "attention-weights-transposed",
        layer_of(mix=lambda weights, q, k, v: weights.mT @ v),
        "The attention weights are transposed before they meet the values. Row i mixes the values "
        "for query i: `weights @ v`.",
    ),
)


def _with_residual(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Mask = None,
) -> Tensor:
    attended: Tensor = layer_of()(query, key, value, w_q, w_k, w_v, w_o, n_heads, mask)
    return query + attended


def _returning_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Mask = None,
) -> tuple[Tensor, Tensor]:
    q, k = right_split(query @ w_q, n_heads), right_split(key @ w_k, n_heads)
    weights = right_weights(scaled_scores(q, k, n_heads), mask)
    return right_merge(weights @ right_split(value @ w_v, n_heads)) @ w_o, weights


def _unsqueezed(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores, None if mask is None else mask.unsqueeze(1))


def _reshaped(heads: Tensor) -> Tensor:
    """Merged by sizes that come from the first input, whatever became of the axes between."""
    batch, width = heads.size(0), heads.size(-1) * heads.size(-3)
    return heads.transpose(1, 2).reshape(batch, -1, width)


_UNSQUEEZED = (
    "The mask gets one axis more, `mask.unsqueeze(1)`, for the heads. It has that axis already: it "
    "broadcasts to (B, n_heads, n_q, n_k) as it comes. Use it as it is."
)
OTHER_MISTAKES = (
    Mistake("mask-unsqueezed", layer_of(weights=_unsqueezed), _UNSQUEEZED),
    Mistake(
        "mask-unsqueezed-and-reshaped",
        layer_of(weights=_unsqueezed, merge=_reshaped),
        _UNSQUEEZED,
    ),
    Mistake(
        "returns-weights-too",
        _returning_weights,
        "Two things are returned, output and weights. Asked for is the output alone, (B, n_q, d).",
    ),
    Mistake(
        "residual-added",
        _with_residual,
        "The query is added to the result (a residual connection). That belongs to the sub-layer "
        "around it; here the result is `merged @ w_o`.",
    ),
    Mistake(
        "dropout",
        layer_of(weights=lambda scores, mask: F.dropout(right_weights(scores, mask), 0.1)),
        "Dropout is applied to the weights, so the result is random. None is asked for, and the "
        "paper's has none at this place.",
    ),
    Mistake(
        "detached",
        lambda query, key, value, w_q, w_k, w_v, w_o, n_heads, mask=None: layer_of()(
            query, key, value, w_q, w_k, w_v, w_o, n_heads, mask
        ).detach(),
        "The values are right, but `detach` (or `no_grad`, `.data`) cuts the graph: no "
        "gradient reaches the weights, and the layer never learns. Leave it out.",
    ),
)
