"""A cached attention step in parts that can be replaced one at a time.

A named mistake of `decoding.cached_step` sits in one of them, so it states only what it does
differently and leaves the rest right.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Cache = tuple[Tensor, Tensor] | None
Projections = tuple[Tensor, Tensor, Tensor]


def position(x: Tensor, pe: Tensor, cache: Cache) -> Tensor:
    return pe[0 if cache is None else cache[0].size(1)]


def projected(x: Tensor, at: Tensor, w: Projections) -> Projections:
    placed = x + at
    return placed @ w[0], placed @ w[1], placed @ w[2]


def appended(cached: Tensor | None, new: Tensor) -> Tensor:
    return new if cached is None else torch.cat([cached, new], dim=1)


def scaled(q: Tensor, keys: Tensor) -> Tensor:
    return q @ keys.mT / math.sqrt(q.size(-1))


def mixed(weights: Tensor, keys: Tensor, values: Tensor, x: Tensor) -> Tensor:
    return weights @ values


Seen = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class Steps:
    """One cached step; the defaults are the right one.

    unpack: the given cache. place: the position's vector. project: q and the new k and v. append:
    cached and new. see: which of all keys and values are attended to. score, weigh, mix: the
    attention. present: what is returned, of the output, all keys and values, and the new ones.
    """

    unpack: Callable[[Cache], Cache] = lambda cache: cache
    place: Callable[[Tensor, Tensor, Cache], Tensor] = position
    project: Callable[[Tensor, Tensor, Projections], Projections] = projected
    append: Callable[[Tensor | None, Tensor], Tensor] = appended
    see: Callable[[Seen, Seen, Cache], Seen] = lambda every, new, cache: every
    score: Callable[[Tensor, Tensor], Tensor] = scaled
    weigh: Callable[[Tensor], Tensor] = lambda scores: scores.softmax(-1)
    mix: Callable[[Tensor, Tensor, Tensor, Tensor], Any] = mixed
    present: Callable[[Tensor, Seen, Seen, Cache], Any] = lambda out, every, new, cache: (
        out,
        every,
    )


def step_of(**steps: Any) -> Candidate:
    """The step with some parts replaced, with the signature of the exercise."""
    return _step(Steps(**steps))


def _step(steps: Steps) -> Candidate:
    def implementation(
        x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
    ) -> Any:
        cache = steps.unpack(cache)
        q, *new = steps.project(x, steps.place(x, pe, cache), (w_q, w_k, w_v))
        old = (None, None) if cache is None else cache
        keys, values = (steps.append(*both) for both in zip(old, new, strict=True))
        keys_seen, values_seen = steps.see((keys, values), (new[0], new[1]), cache)
        weights = steps.weigh(steps.score(q, keys_seen))
        output = steps.mix(weights, keys_seen, values_seen, x)
        return steps.present(output, (keys, values), (new[0], new[1]), cache)

    return implementation
