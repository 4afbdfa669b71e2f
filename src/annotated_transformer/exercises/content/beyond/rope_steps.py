"""Rotary positions in steps that can be replaced one at a time: angles, pairs, rotation, order."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Pair = tuple[Tensor, Tensor]
Rates = Callable[[Tensor, int, float], Tensor]  # i = 0, ..., d/2 - 1, d, base
Rotation = Callable[[Tensor, Tensor, Tensor], Pair]  # u, v, angle
Positions = Callable[[Tensor, Tensor], Tensor]  # positions, x


def right_rates(i: Tensor, d: int, base: float) -> Tensor:
    return base ** (-2 * i / d)


def given_positions(positions: Tensor, x: Tensor) -> Tensor:
    return positions


def interleaved(x: Tensor) -> Pair:
    return x[..., 0::2], x[..., 1::2]


def side_by_side(u: Tensor, v: Tensor) -> Tensor:
    return torch.stack((u, v), dim=-1).flatten(-2)


def halves(x: Tensor) -> Pair:
    half = x.size(-1) // 2
    return x[..., :half], x[..., half:]


def one_after_the_other(u: Tensor, v: Tensor) -> Tensor:
    return torch.cat((u, v), dim=-1)


def turned(u: Tensor, v: Tensor, angle: Tensor) -> Pair:
    return u * angle.cos() - v * angle.sin(), u * angle.sin() + v * angle.cos()


def turned_back(u: Tensor, v: Tensor, angle: Tensor) -> Pair:
    return turned(u, v, -angle)


def rope_of(
    rates: Rates = right_rates,
    positions: Positions = given_positions,
    pairs: Callable[[Tensor], Pair] = interleaved,
    rotation: Rotation = turned,
    join: Callable[[Tensor, Tensor], Tensor] = side_by_side,
    base_is: Callable[[float], float] = lambda base: base,
    spread: Callable[[Tensor], Tensor] = lambda angles: angles,
) -> Candidate:
    def implementation(x: Tensor, at: Tensor, base: float = 10000.0) -> Tensor:
        d = x.size(-1)
        rate = rates(torch.arange(d // 2, dtype=x.dtype), d, base_is(base))
        angles = spread(positions(at, x).to(x.dtype)[:, None] * rate)
        return join(*rotation(*pairs(x), angles))

    return implementation
