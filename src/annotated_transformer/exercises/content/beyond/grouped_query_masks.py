"""Wrong forms of `beyond.grouped_query_attention`: the mask."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.beyond.grouped_query_steps import (
    Mask,
    attention_of,
    masked,
    right_weights,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _filled_with(fill: float) -> Candidate:
    return attention_of(weights=lambda scores, mask: masked(scores, mask, fill).softmax(-1))


def _with_mask(change: Callable[[Tensor, Tensor, Tensor], Tensor | None]) -> Candidate:
    """The right attention under a mask changed by `change(mask, q, k)`."""

    def implementation(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
        return attention_of()(q, k, v, None if mask is None else change(mask, q, k))

    return implementation


def _heads_dealt_out(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
    """The mask's heads in the order of `repeat` while keys and values follow the other one."""
    h, g = q.size(1), k.size(1)
    full = mask.expand(q.size(0), h, q.size(2), k.size(2))
    order = torch.arange(h).reshape(h // g, g).T.flatten()
    return full[:, order]


def _first_head_of_each_group(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
    h, g = q.size(1), k.size(1)
    full = mask.expand(q.size(0), h, q.size(2), k.size(2))
    return full[:, :: h // g].repeat_interleave(h // g, dim=1)


def _first_head(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
    return mask[:, :1] if mask.dim() == 4 else mask


def _shared_heads(mask: Tensor, q: Tensor, k: Tensor) -> Tensor:
    return mask.repeat_interleave(q.size(1) // k.size(1), dim=1) if mask.dim() == 4 else mask


def _always_causal(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    causal = torch.ones(q.size(-2), k.size(-2), dtype=torch.bool).tril()
    return attention_of()(q, k, v, causal if mask is None else causal & mask)


def _after_softmax(scores: Tensor, mask: Mask) -> Tensor:
    weights = scores.softmax(-1)
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


def _renormalised_keeping_empty(scores: Tensor, mask: Mask) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights.masked_fill(~mask, 1.0 / mask.size(-1))


def _added(scores: Tensor, mask: Mask) -> Tensor:
    return (scores if mask is None else scores + mask.to(scores)).softmax(-1)


def _any_key(scores: Tensor, mask: Mask) -> Tensor:
    """Zeros for every query beside which some key is forbidden."""
    weights = right_weights(scores, mask)
    return weights if mask is None else weights.masked_fill(~mask.all(-1, keepdim=True), 0.0)


_IGNORED = "The mask is not used. Where it is False the score has to be -inf before the softmax."
_EMPTY = (
    "A query that may attend to nothing gives NaN: its row holds -inf alone, and the softmax "
    "divides 0 by 0. Such a query gets zeros: set its weights to 0 after the softmax."
)
_UNIFORM = (
    "A query that may attend to nothing gets the average of all values: filled with one large "
    "negative number, its scores are all equal. It gets zeros: set its weights to 0 after the "
    "softmax."
)
_INVERTED = (
    "The mask is inverted: here True means may attend, so the scores are filled where it is "
    "False: `masked_fill(~mask, ...)`."
)
_AFTER = (
    "The mask is applied after the softmax, so that the weights of a query no longer sum to 1. "
    "Fill the scores with -inf before the softmax."
)
_ZERO_SCORE = (
    "Forbidden scores become 0, which is an ordinary score: exp(0) = 1 still gets weight. They "
    "have to be -inf before the softmax. (1e-9 is such a number too, -1e9 is meant; and a score "
    "times a mask of zeros is 0.)"
)


def _zeroed_by_head(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    output: Tensor = attention_of()(q, k, v, mask)
    if mask is None:
        return output
    rows = mask.expand(*q.shape[:3], k.size(2)).any(-1)
    return output * rows.all(-1)[..., None, None]


MASK_MISTAKES = (
    Mistake("mask-ignored", _with_mask(lambda mask, q, k: None), _IGNORED),
    Mistake("empty-rows-nan", _filled_with(float("-inf")), _EMPTY),
    Mistake("empty-rows-uniform", _filled_with(-1e9), _UNIFORM),
    Mistake("mask-inverted", _with_mask(lambda mask, q, k: ~mask), _INVERTED),
    Mistake(
        "mask-inverted-empty-rows-nan",
        attention_of(
            weights=lambda scores, mask: masked(
                scores, None if mask is None else ~mask, float("-inf")
            ).softmax(-1)
        ),
        _INVERTED,
    ),
    Mistake(
        "mask-inverted-empty-rows-uniform",
        attention_of(
            weights=lambda scores, mask: masked(
                scores, None if mask is None else ~mask, -1e9
            ).softmax(-1)
        ),
        _INVERTED,
    ),
    Mistake("mask-after-softmax", attention_of(weights=_after_softmax), _AFTER),
    Mistake("filled-with-zero", _filled_with(0.0), _ZERO_SCORE),
    Mistake(
        "filled-with-zero-empty-rows-zero",
        attention_of(
            weights=lambda scores, mask: (
                masked(scores, mask, 0.0)
                .softmax(-1)
                .mul(1 if mask is None else mask.any(-1, keepdim=True))
            )
        ),
        _ZERO_SCORE,
    ),
    Mistake(
        "filled-with-a-small-number",
        _filled_with(-1.0),
        "Forbidden scores become -1, which is an ordinary score and still gets weight. They have "
        "to be -inf before the softmax.",
    ),
    Mistake(
        "filled-with-minus-10",
        _filled_with(-10.0),
        "Forbidden scores become -10, which is an ordinary score and still gets a little weight. "
        "They have to be -inf before the softmax.",
    ),
    Mistake(
        "filled-with-plus-infinity",
        _filled_with(float("inf")),
        "Forbidden scores become +inf, which takes all the weight (and gives NaN). They have to "
        "be -inf.",
    ),
    Mistake(
        "mask-added",
        attention_of(weights=_added),
        "The mask is added to the scores as 0 and 1: forbidden keys still get weight. Fill them "
        "with -inf: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "forbidden-get-a-share",
        attention_of(weights=_renormalised_keeping_empty),
        "Forbidden keys are given a fixed share after the softmax. Their weight has to be 0.",
    ),
    Mistake(
        "zeros-for-partly-masked",
        attention_of(weights=_any_key),
        "A query gets zeros as soon as one key is forbidden (`all` where `any` is meant). Only a "
        "query without a single allowed key gets zeros: `~mask.any(-1, keepdim=True)`.",
    ),
    Mistake(
        "mask-of-the-first-head",
        _with_mask(_first_head),
        "All heads use the mask of the first. The mask may differ from head to head: it is "
        "broadcastable to (B, h, n_q, n_k).",
    ),
    Mistake(
        "mask-of-the-group",
        _with_mask(_first_head_of_each_group),
        "All query heads of a group use the mask of its first head. Only keys and values are "
        "shared; the mask has h heads.",
    ),
    Mistake(
        "mask-dealt-out",
        _with_mask(_heads_dealt_out),
        "The mask's heads are in another order than the query heads. Head i of the mask belongs "
        "to query head i; with an axis for the groups, reshape it to (B, g, h // g, n_q, n_k).",
    ),
    Mistake(
        "mask-repeated",
        _with_mask(_shared_heads),
        "The mask's heads are repeated as if there were g of them. It is broadcastable to "
        "(B, h, n_q, n_k) already: use it as it is.",
    ),
    Mistake(
        "mask-transposed",
        _with_mask(lambda mask, q, k: mask.mT),
        "The mask is transposed. Its rows are queries and its columns keys, as in the scores.",
    ),
    Mistake(
        "mask-given-an-axis",
        _with_mask(lambda mask, q, k: mask.unsqueeze(1)),
        "The mask is given another axis. It is broadcastable to (B, h, n_q, n_k) as it is.",
    ),
    Mistake(
        "always-causal",
        _always_causal,
        "The future is hidden whatever the mask says. This function knows no order: only `mask` "
        "forbids.",
    ),
    Mistake(
        "first-mask-for-all",
        _with_mask(lambda mask, q, k: mask[:1]),
        "The mask of the first sentence is used for the whole batch. Each sentence has its own.",
    ),
    Mistake(
        "first-mask-for-all-heads",
        _with_mask(lambda mask, q, k: mask[:, :1]),
        "The mask of the first head is used for all. Where the mask has heads, each query head has "
        "its own.",
    ),
    Mistake(
        "heads-with-an-empty-row-zeroed",
        _zeroed_by_head,
        "One query that may attend to nothing makes its whole head zero. Only that query gets "
        "zeros: ask for each row, `mask.any(-1, keepdim=True)`.",
    ),
)
