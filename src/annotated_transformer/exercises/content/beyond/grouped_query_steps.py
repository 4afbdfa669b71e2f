"""Grouped-query attention in steps that can be replaced one at a time."""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Mask = Tensor | None
Sharing = Callable[[Tensor, int], Tensor]  # heads (B, g, n_k, d) and h -> (B, h, n_k, d)


def in_runs(heads: Tensor, h: int) -> Tensor:
    return heads.repeat_interleave(h // heads.size(1), dim=1)


def scaled_scores(q: Tensor, k: Tensor, g: int) -> Tensor:
    return q @ k.mT / math.sqrt(q.size(-1))


def right_weights(scores: Tensor, mask: Mask) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def attention_of(
    keys: Sharing = in_runs,
    values: Sharing | None = None,
    scores: Callable[[Tensor, Tensor, int], Tensor] = scaled_scores,
    weights: Callable[[Tensor, Mask], Tensor] = right_weights,
    finish: Callable[[Tensor, Tensor, int], Any] = lambda output, weights, g: output,
) -> Candidate:
    """values: how they are shared, as the keys are where it is left out."""

    def implementation(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Any:
        h, g = q.size(1), k.size(1)
        shares = weights(scores(q, keys(k, h), g), mask)
        return finish(shares @ (values or keys)(v, h), shares, g)

    return implementation


def masked(scores: Tensor, mask: Mask, fill: float) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, fill)
