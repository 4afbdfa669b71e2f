"""`positional.sinusoidal`: the encoding of section 3.5, sines and cosines side by side."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def sinusoidal_encoding(n_positions: int, d_model: int) -> Tensor:
    pos = torch.arange(n_positions, dtype=torch.float64)[:, None]  # (n_positions, 1)
    two_i = torch.arange(0, d_model, 2, dtype=torch.float64)  # (d_model / 2,): 0, 2, 4, ...
    exponent = two_i / d_model  # from 0 to nearly 1
    stretch = 10000.0**exponent  # 1, then ever more: later pairs turn more slowly
    angle = pos / stretch  # (n_positions, d_model / 2)
    encoding = torch.zeros(n_positions, d_model)  # float32
    encoding[:, 0::2] = angle.sin()
    encoding[:, 1::2] = angle.cos()
    return encoding


def _by_loops(n_positions: int, d_model: int) -> Tensor:
    rows = []
    for pos in range(n_positions):
        row = []
        for column in range(d_model):
            angle = pos / 10000 ** (2 * (column // 2) / d_model)
            row.append(math.cos(angle) if column % 2 else math.sin(angle))
        rows.append(row)
    return torch.tensor(rows)


def _by_exp_of_log(n_positions: int, d_model: int) -> Tensor:
    position = torch.arange(n_positions).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
    pe = torch.zeros(n_positions, d_model)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def _by_stacking(n_positions: int, d_model: int) -> Tensor:
    i = torch.arange(d_model // 2)
    angle = torch.outer(torch.arange(n_positions).float(), 10000 ** (-2 * i / d_model))
    return torch.stack((angle.sin(), angle.cos()), dim=2).flatten(1)


def _by_numpy(n_positions: int, d_model: int) -> Tensor:
    column = np.arange(d_model)[None]
    angle = np.arange(n_positions)[:, None] / np.power(10000, 2 * (column // 2) / d_model)
    angle[:, 0::2] = np.sin(angle[:, 0::2])
    angle[:, 1::2] = np.cos(angle[:, 1::2])
    return torch.from_numpy(angle).float()


def _by_a_shifted_sine(n_positions: int, d_model: int) -> Tensor:
    column = torch.arange(d_model)
    rate = torch.tensor(10000.0).pow(-(column - column % 2) / d_model)
    return torch.sin(torch.arange(n_positions)[:, None] * rate + math.pi / 2 * (column % 2))


def _by_turning(n_positions: int, d_model: int) -> Tensor:
    turn = torch.polar(
        torch.ones(d_model // 2, dtype=torch.float64),
        10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model),
    )
    now = torch.ones_like(turn)
    rows = []
    for _ in range(n_positions):
        rows.append(torch.stack([now.imag, now.real], dim=-1).flatten())
        now = now * turn
    return torch.stack(rows).to(torch.float32)


def _sizes(
    n_positions: int,
    d_model: int,
    isolates: str | None = None,
    observe: Callable[..., Any] | None = None,
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(n_positions, d_model)

    what = "the dtype, with " if observe else ""
    name = f"{what}n_positions = {n_positions}, d_model = {d_model}"
    return Case(name, make, isolates=isolates, observe=observe, atol=1e-3)


def _dtype_of(candidate: Callable[..., Any], n_positions: int, d_model: int) -> object:
    result = candidate(n_positions, d_model)
    return str(result.dtype) if isinstance(result, Tensor) else result


SINUSOIDAL = Exercise(
    id="positional.sinusoidal",
    title="The sinusoidal encoding",
    kind="code",
    difficulty=2,
    minutes=10,
    signature=(
        "sinusoidal_encoding(n_positions: int, d_model: int) -> float32 (n_positions, d_model)"
    ),
    statement=(
        "Return the positional encoding of section 3.5 as float32 (n_positions, d_model). Row pos "
        "is position pos, counted from 0; sine and cosine are interleaved as in the paper: "
        "column 2i is sin(pos / 10000^(2i / d_model)), column 2i + 1 is the cosine of the same "
        "angle. d_model is even."
    ),
    objective="Turn the two formulas into columns, and know which index runs where.",
    prerequisite="chapter 4, the formula",
    hints=(
        "Write the row of position 1 for d_model = 4 by hand: which two angles occur, and which "
        "of the four columns use the first?",
        "i counts pairs of columns, from 0 to d_model / 2 - 1, so 2i takes the values 0, 2, 4, ... "
        "below d_model. Both columns of a pair share one angle.",
        "`angle = pos[:, None] / 10000 ** (torch.arange(0, d_model, 2) / d_model)`; then "
        "`encoding[:, 0::2] = angle.sin()` and `encoding[:, 1::2] = angle.cos()`.",
    ),
    reference=sinusoidal_encoding,
    explanation=(
        "Each pair of columns is the hand of a clock: (sin, cos) of one angle that grows with the "
        "position, fast in the first pair, slow in the last. The paper's index i counts pairs, "
        "which is where most slips come from: `arange(0, d_model, 2)` already holds 2i, so it is "
        "divided by d_model and not doubled again. Because both columns of a pair share one "
        "angle, going k positions further is a rotation, the same from everywhere."
    ),
    cases=(
        _sizes(2, 4),
        _sizes(1, 4, "position 0, where every sine is 0 and every cosine 1"),
        _sizes(4, 2, "the first pair of columns, whose angle is the position itself"),
        _sizes(3, 6),
        _sizes(2, 8),
        _sizes(3, 16),
        _sizes(10, 8),
        _sizes(3, 12),
        _sizes(40, 4),
        _sizes(5, 10, observe=_dtype_of),
    ),
    mistakes=page(__file__, sinusoidal_encoding),
    alternatives=(
        _by_loops,
        _by_exp_of_log,
        _by_stacking,
        _by_numpy,
        _by_a_shifted_sine,
        _by_turning,
    ),
    starter=(
        "def sinusoidal_encoding(n_positions, d_model):\n"
        '    """Two whole numbers -> float32 (n_positions, d_model); row 0 is position 0."""\n'
        "    ...  # your code"
    ),
)
