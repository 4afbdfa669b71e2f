"""Wrong forms of `beyond.grouped_query_attention`: the scores and the shape of the result."""

import math
from collections.abc import Callable
from functools import partial

from torch import Tensor

from annotated_transformer.exercises.content.beyond.grouped_query_steps import (
    Mask,
    attention_of,
    masked,
)
from annotated_transformer.exercises.exercise import Mistake


def _over_heads_and_width(q: Tensor, k: Tensor, g: int) -> Tensor:
    return q @ k.mT / math.sqrt(q.size(1) * q.size(-1))


def _unstable(scores: Tensor, mask: Mask) -> Tensor:
    shares = masked(scores, mask, float("-inf")).exp()
    total = shares.sum(-1, keepdim=True)
    return shares / total.masked_fill(total == 0, 1.0)


def _over_queries(
    scores: Tensor, mask: Mask, *, fill: float, after: Callable[[Tensor, Mask], Tensor]
) -> Tensor:
    return after(masked(scores, mask, fill).softmax(-2), mask)


def _empty_rows_zero(shares: Tensor, mask: Mask) -> Tensor:
    return shares if mask is None else shares.masked_fill(~mask.any(-1, keepdim=True), 0.0)


_UNSCALED = (
    "The scores are not divided by sqrt(d). Dot products of d terms grow with d, and the softmax "
    "becomes all but a maximum: divide by `math.sqrt(q.size(-1))`."
)
_ALL_HEADS = (
    "The scores are divided by the root of the width of all heads together. Each score is a dot "
    "product of one head, d terms: divide by sqrt(d)."
)

SCORE_MISTAKES = (
    Mistake("unscaled", attention_of(scores=lambda q, k, g: q @ k.mT), _UNSCALED),
    Mistake(
        "scaled-by-d",
        attention_of(scores=lambda q, k, g: q @ k.mT / q.size(-1)),
        "The scores are divided by d, not by its root. Their standard deviation is sqrt(d).",
    ),
    Mistake(
        "multiplied-by-root-d",
        attention_of(scores=lambda q, k, g: q @ k.mT * math.sqrt(q.size(-1))),
        "The scores are multiplied by sqrt(d). Divide by it.",
    ),
    Mistake("scaled-by-h-times-d", attention_of(scores=_over_heads_and_width), _ALL_HEADS),
    Mistake(
        "scaled-by-g-times-d",
        attention_of(scores=lambda q, k, g: q @ k.mT / math.sqrt(g * q.size(-1))),
        _ALL_HEADS,
    ),
    Mistake(
        "scaled-by-number-of-heads",
        attention_of(scores=lambda q, k, g: q @ k.mT / math.sqrt(q.size(1))),
        "The scores are divided by the root of the number of heads (axis 1). Divide by the root "
        "of the width of a head: `math.sqrt(q.size(-1))`.",
    ),
    Mistake(
        "scaled-by-number-of-keys",
        attention_of(scores=lambda q, k, g: q @ k.mT / math.sqrt(k.size(-2))),
        "The scores are divided by the root of the number of keys. Divide by the root of the "
        "width of a head: `math.sqrt(q.size(-1))`.",
    ),
    Mistake(
        "scaled-by-number-of-queries",
        attention_of(scores=lambda q, k, g: q @ k.mT / math.sqrt(q.size(-2))),
        "The scores are divided by the root of the number of queries. Divide by the root of the "
        "width of a head: `math.sqrt(q.size(-1))`.",
    ),
    Mistake(
        "negated",
        attention_of(scores=lambda q, k, g: -q @ k.mT / math.sqrt(q.size(-1))),
        "The scores have the wrong sign: the least similar key gets most of the weight.",
    ),
    *(
        Mistake(
            f"softmax-over-queries{name}",
            attention_of(weights=partial(_over_queries, fill=fill, after=after)),
            "The softmax runs over the queries (axis -2). Each query shares 1 among its keys: "
            "`dim=-1`.",
        )
        for name, fill, after in (
            ("", float("-inf"), lambda shares, mask: shares),
            ("-nan-to-zero", float("-inf"), lambda shares, mask: shares.nan_to_num(0.0)),
            ("-empty-rows-zero", float("-inf"), _empty_rows_zero),
            ("-filled-with-minus-1e9", -1e9, lambda shares, mask: shares),
            ("-filled-with-minus-1e9-empty-rows-zero", -1e9, _empty_rows_zero),
        )
    ),
    Mistake(
        "softmax-over-heads",
        attention_of(weights=lambda scores, mask: masked(scores, mask, float("-inf")).softmax(1)),
        "The softmax runs over the heads. Each query of each head shares 1 among its keys: "
        "`dim=-1`.",
    ),
    Mistake(
        "no-softmax",
        attention_of(weights=lambda scores, mask: masked(scores, mask, 0.0)),
        "There is no softmax: the values are added up with the bare scores. Each query shares 1 "
        "among its keys.",
    ),
    Mistake(
        "unstable-softmax",
        attention_of(weights=_unstable),
        "The exponentials of large scores overflow to infinity. Subtract the row's maximum "
        "first, or use `torch.softmax`.",
    ),
    Mistake(
        "weights-returned-too",
        attention_of(finish=lambda output, weights, g: (output, weights)),
        "Output and weights are returned. Only the output is asked for.",
    ),
    Mistake(
        "weights-alone",
        attention_of(finish=lambda output, weights, g: weights),
        "These are the weights. Average the values with them: `weights @ v`.",
    ),
    Mistake(
        "heads-merged",
        attention_of(finish=lambda output, weights, g: output.transpose(1, 2).flatten(2)),
        "The heads are merged into (B, n_q, h·d). That comes later; asked for is (B, h, n_q, d).",
    ),
    Mistake(
        "positions-before-heads",
        attention_of(finish=lambda output, weights, g: output.transpose(1, 2)),
        "The shape is (B, n_q, h, d). Keep the heads before the positions: (B, h, n_q, d).",
    ),
)
