"""Multi-head attention in steps that can be replaced one at a time.

A named mistake of `multihead.attention` sits in one of them, so it states only what it does
differently and leaves the rest right.
"""

import math
from collections.abc import Callable
from typing import Any

from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Mask = Tensor | None
Triple = tuple[Tensor, Tensor, Tensor]
Projections = tuple[Tensor, Tensor, Tensor, Tensor]  # w_q, w_k, w_v, w_o


def right_projection(query: Tensor, key: Tensor, value: Tensor, w: Projections) -> Triple:
    return query @ w[0], key @ w[1], value @ w[2]


def right_split(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(*x.shape[:2], n_heads, -1).transpose(1, 2)


def scaled_scores(q: Tensor, k: Tensor, n_heads: int) -> Tensor:
    return q @ k.mT / math.sqrt(q.size(-1))


def right_weights(scores: Tensor, mask: Mask) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def _mix(weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return weights @ v


def right_merge(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(2)


def _finish(merged: Tensor, w_o: Tensor) -> Tensor:
    return merged @ w_o


def layer_of(
    project: Callable[[Tensor, Tensor, Tensor, Projections], Triple] = right_projection,
    split: Callable[[Tensor, int], Tensor] = right_split,
    scores: Callable[[Tensor, Tensor, int], Tensor] = scaled_scores,
    weights: Callable[[Tensor, Mask], Tensor] = right_weights,
    mix: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = _mix,
    merge: Callable[[Tensor], Tensor] = right_merge,
    finish: Callable[[Tensor, Tensor], Any] = _finish,
) -> Candidate:
    def implementation(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        w_q: Tensor,
        w_k: Tensor,
        w_v: Tensor,
        w_o: Tensor,
        n_heads: int,
        mask: Mask = None,
    ) -> Any:
        projected = project(query, key, value, (w_q, w_k, w_v, w_o))
        q, k, v = (split(x, n_heads) for x in projected)
        shares = weights(scores(q, k, n_heads), mask)
        return finish(merge(mix(shares, q, k, v)), w_o)

    return implementation


def masked(scores: Tensor, mask: Mask, fill: float) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, fill)


def filled_with(fill: float) -> Candidate:
    return layer_of(weights=lambda scores, mask: masked(scores, mask, fill).softmax(-1))
