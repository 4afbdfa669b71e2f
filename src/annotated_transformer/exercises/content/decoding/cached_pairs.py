"""Two mistakes of `decoding.cached_step` at once, nearly always one of them in the position."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.decoding import cached_mistakes as say
from annotated_transformer.exercises.content.decoding.cached_places import (
    FURTHER,
    NO_POSITION,
    ONE_BACK,
    ZERO,
)
from annotated_transformer.exercises.content.decoding.cached_steps import (
    Cache,
    Projections,
    projected,
    step_of,
)
from annotated_transformer.exercises.exercise import Mistake


def _at(row: Callable[[int], int]) -> Callable[[Tensor, Tensor, Cache], Tensor]:
    return lambda x, pe, cache: pe[row(0 if cache is None else cache[0].size(1))]


def _nowhere(x: Tensor, pe: Tensor, cache: Cache) -> Tensor:
    return torch.zeros_like(pe[0])


def _transposed(x: Tensor, at: Tensor, w: Projections) -> Projections:
    return projected(x, at, (w[0].T, w[1].T, w[2].T))


_PLACES = (
    ("position-zero", _at(lambda t: 0), ZERO),
    ("position-one-further", _at(lambda t: t + 1), FURTHER),
    ("position-one-back", _at(lambda t: max(t - 1, 0)), ONE_BACK),
    ("no-position", _nowhere, NO_POSITION),
)
_OTHERS: tuple[tuple[str, Mapping[str, Any], str], ...] = (
    ("unscaled", {"score": say.unscaled}, say.SCALE),
    ("scaled-by-d", {"score": lambda q, keys: q @ keys.mT / q.size(-1)}, say.BY_D),
    ("own-key-missing", {"see": say.own_key_missing}, say.OWN_KEY),
    ("own-key-only", {"see": lambda every, new, cache: new}, say.OWN_ONLY),
    ("first-key-only", {"see": say.first_key_only}, say.CAUSAL),
    ("softmax-over-queries", {"weigh": lambda scores: scores.softmax(1)}, say.AXIS_OF_SOFTMAX),
    ("keys-mixed", {"mix": lambda weights, keys, values, x: weights @ keys}, say.VALUES),
    ("transposed-weights", {"project": _transposed}, say.TRANSPOSED),
    (
        "old-cache-returned",
        {"present": lambda out, every, new, cache: (out, cache or every)},
        say.NOT_RETURNED,
    ),
    ("new-ones-returned", {"present": lambda out, every, new, cache: (out, new)}, say.NEW_ONLY),
    (
        "exchanged-on-return",
        {"present": lambda out, every, new, cache: (out, every[::-1])},
        say.EXCHANGED,
    ),
)
PAIRS = (
    *(
        Mistake(f"{one}-{other}", step_of(place=place, **steps), f"{first} Besides: {second}")
        for one, place, first in _PLACES
        for other, steps, second in _OTHERS
    ),
    Mistake(
        "own-key-missing-unscaled",
        step_of(see=say.own_key_missing, score=say.unscaled),
        f"{say.OWN_KEY} Besides: {say.SCALE}",
    ),
)
