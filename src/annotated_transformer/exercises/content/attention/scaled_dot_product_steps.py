"""Attention in three steps that can be replaced one at a time: scores, weights, output.

A named mistake of `attention.scaled_dot_product` sits in one of them, so it states only what it
does differently and leaves the rest right.
"""

import math
from collections.abc import Callable

from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

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


def attention_of(
    scores: Callable[[Tensor, Tensor, Tensor], Tensor] = right_scores,
    weights: Callable[[Tensor, Mask], Tensor] = right_weights,
    output: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = right_output,
) -> Candidate:
    def implementation(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> tuple[Tensor, Tensor]:
        shares = weights(scores(q, k, v), mask)
        return output(shares, q, k, v), shares

    return implementation


def masked(scores: Tensor, mask: Mask, fill: float) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, fill)


def filled_with(value: float) -> Candidate:
    return attention_of(weights=lambda scores, mask: masked(scores, mask, value).softmax(-1))
