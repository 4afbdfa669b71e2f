"""Wrong answers of outsiders about positions, each with two mistakes."""

import math
from collections.abc import Callable

import torch
from torch import Tensor


def halves_counted_from_one(n_positions: int, d_model: int) -> Tensor:
    """All sines first, then all cosines, instead of interleaved.
    The first row is position 1."""
    p = torch.arange(1, n_positions + 1).float().unsqueeze(1)
    freq = torch.exp(-math.log(10000.0) * torch.arange(0, d_model, 2).float() / d_model)
    angles = p * freq
    return torch.cat([torch.sin(angles), torch.cos(angles)], dim=1)


def own_angle_each_and_cosine_first(n_positions: int, d_model: int) -> Tensor:
    """An odd column has an angle of its own, by its own number.
    Even columns hold the cosine, odd ones the sine."""
    pe = torch.zeros(n_positions, d_model)
    for pos in range(n_positions):
        for col in range(d_model):
            a = pos / 10000 ** (col / d_model)
            pe[pos, col] = math.cos(a) if col % 2 == 0 else math.sin(a)
    return pe


def backwards_with_doubled_exponent(k: int, d_model: int) -> Tensor:
    """The minus stands in the wrong corner: it goes k positions back.
    The two of 2i counts twice in the exponent."""
    m = torch.eye(d_model)
    for i in range(0, d_model, 2):
        w = 1 / 10000 ** (2 * i / d_model)
        m[i, i] = math.cos(k * w)
        m[i, i + 1] = -math.sin(k * w)
        m[i + 1, i] = math.sin(k * w)
        m[i + 1, i + 1] = math.cos(k * w)
    return m


def halves_and_growing_rates(k: int, d_model: int) -> Tensor:
    """Pairs column i with column i + d/2, as if all sines came first.
    Multiplies by 10000 to the power where it should divide."""
    half = d_model // 2
    i = torch.arange(half, dtype=torch.float64)
    theta = k * 10000 ** (2 * i / d_model)
    c, s = torch.diag(theta.cos()), torch.diag(theta.sin())
    top = torch.cat([c, s], dim=1)
    bottom = torch.cat([-s, c], dim=1)
    return torch.cat([top, bottom], dim=0)


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "positional.sinusoidal": [halves_counted_from_one, own_angle_each_and_cosine_first],
    "positional.shift_matrix": [backwards_with_doubled_exponent, halves_and_growing_rates],
}
