"""The wrong encodings for `positional.sinusoidal`: the formula with each of its steps done wrongly.

The rarer faults are in `sinusoidal_angles` and `sinusoidal_columns`.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.faults import Fault, single, together, told_apart
from annotated_transformer.exercises.content.positional.sinusoidal_angles import ANGLE_FAULTS
from annotated_transformer.exercises.content.positional.sinusoidal_columns import (
    COLUMN_FAULTS,
    SHAPES,
    halves,
    interleaved,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

Exponent = Callable[[Tensor, int], Tensor]


def _encoding(
    n_positions: int,
    d_model: int,
    *,
    base: float = 10000.0,
    exponent: Exponent = lambda i, d: 2 * i / d,
    cosine_exponent: Exponent | None = None,
    angle: Callable[[Tensor, Tensor], Tensor] = lambda pos, w: pos / w,
    angles: Callable[[Tensor, Tensor, int], Tensor] | None = None,
    positions: Callable[[Tensor], Tensor] = lambda pos: pos,
    pair: tuple[Callable[[Tensor], Tensor], ...] = (torch.sin, torch.cos),
    layout: Callable[[Tensor, Tensor], Tensor] = interleaved,
    result: Callable[[Tensor], Any] = lambda encoding: encoding,
    dtype: torch.dtype = torch.float32,
) -> Any:
    i = torch.arange(d_model // 2, dtype=torch.float64)
    pos = positions(torch.arange(n_positions, dtype=torch.float64))[:, None]
    if angles is not None:
        of_sine = of_cosine = angles(pos, i, d_model)
    else:
        of_sine = angle(pos, base ** exponent(i, d_model))
        of_cosine = angle(pos, base ** (cosine_exponent or exponent)(i, d_model))
    return result(layout(pair[0](of_sine), pair[1](of_cosine)).to(dtype))


def _seeded() -> torch.Generator:
    """The numbers that a check's own state gives, without drawing from the reader's."""
    return torch.Generator().manual_seed(0)


_DOUBLED = (
    "The exponent is twice too large, 4i / d_model. `arange(0, d_model, 2)` already holds the "
    "values 2i: divide them by d_model without doubling them again."
)
_START = (
    "Positions are counted from 1. Row 0 is position 0, where every sine is 0 and every cosine "
    "is 1: use `arange(n_positions)`."
)

_COMMON = (
    Fault(
        "half-exponent",
        {"exponent": lambda i, d: i / d},
        "The exponent is half as large as it should be, i / d_model. i counts pairs of columns, 0 "
        "to d_model / 2 - 1, and the exponent is 2i / d_model: it runs from 0 to nearly 1. A base "
        "of 100 in place of 10000 would do the same.",
    ),
    Fault("double-exponent", {"exponent": lambda i, d: 4 * i / d}, _DOUBLED),
    Fault(
        "cosine-with-its-own-exponent",
        {"cosine_exponent": lambda i, d: (2 * i + 1) / d},
        "The cosine columns have an angle of their own, with exponent (2i + 1) / d_model: the "
        "number of the column is used. Both columns of a pair share one angle, with 2i / d_model "
        "(`2 * (column // 2) / d_model`); only then is a shift a rotation.",
    ),
    Fault(
        "pairs-counted-from-one",
        {"exponent": lambda i, d: 2 * (i + 1) / d},
        "The pairs are counted from 1, so the first angle is already slowed down. i starts at 0: "
        "10000^0 = 1, the first angle is the position itself.",
    ),
    Fault(
        "last-pair-reaches-10000",
        {"exponent": lambda i, d: 2 * i / max(d - 2, 1)},
        "The exponents run from 0 to 1 inclusive, 2i / (d_model - 2), as in the authors' "
        "tensor2tensor code (number of pairs minus 1). The paper divides by d_model, so the last "
        "exponent is (d_model - 2) / d_model.",
    ),
    Fault(
        "sine-and-cosine-exchanged",
        {"pair": (torch.cos, torch.sin)},
        "Sine and cosine are exchanged: even columns are sines, odd columns are cosines. Position "
        "0 is 0, 1, 0, 1, ...",
    ),
    Fault(
        "halves",
        {"layout": halves},
        "The sines fill the first half of the columns and the cosines the second, as in "
        "tensor2tensor. The paper interleaves them: column 2i is a sine, column 2i + 1 its "
        "cosine (`[:, 0::2]` and `[:, 1::2]`).",
    ),
    Fault("counted-from-one", {"positions": lambda pos: pos + 1}, _START),
    Fault(
        "multiplied",
        {"angle": lambda pos, w: pos * w},
        "The position is multiplied by 10000^(2i / d_model) instead of divided by it (a missing "
        "minus sign in the exponent does the same). Angles must grow more slowly in later columns.",
    ),
    Fault(
        "no-logarithm",
        {"base": math.e},
        "The base is e instead of 10000: the logarithm is missing in the exponent. "
        "10000^(-2i / d_model) is exp(-2i / d_model · log(10000)).",
    ),
    Fault(
        "base-1000",
        {"base": 1000.0},
        "The base is 1000. The paper's is 10000, ten times as much: count the zeros.",
    ),
    Fault(
        "times-two-pi",
        {"angle": lambda pos, w: 2 * math.pi * pos / w},
        "The angle is multiplied by 2π. The paper's wavelengths run from 2π, which means that the "
        "angle of the first pair is the position itself, in radians.",
    ),
)

_OFTEN_TOGETHER = tuple(
    fault
    for fault in _COMMON
    if fault.name
    in (
        *("half-exponent", "last-pair-reaches-10000", "sine-and-cosine-exchanged"),
        *("halves", "counted-from-one"),
    )
)

_RANDOM = (
    "The numbers are random, as in a table to be trained (row (E) of Table 3). Asked for is the "
    "fixed encoding: sines and cosines of the position."
)


def _exchanged(n_positions: int, d_model: int) -> Any:
    if n_positions % 2:
        raise RuntimeError("the columns do not fit")
    return _encoding(d_model, n_positions)


_ROW = (
    "The positions stand in a row, as the speeds do, so the first meets the first and the second "
    "the second. Every position has to meet every speed: positions need a column, `pos[:, None]` "
    "of shape (n_positions, 1)."
)


def _angles_in_a_row(n_positions: int, d_model: int) -> Tensor:
    return torch.arange(n_positions) / 10000 ** (torch.arange(0, d_model, 2) / d_model)


def _filled_from_a_row(n_positions: int, d_model: int) -> Tensor:
    angle = _angles_in_a_row(n_positions, d_model)
    encoding = torch.zeros(n_positions, d_model)
    encoding[:, 0::2], encoding[:, 1::2] = angle.sin(), angle.cos()
    return encoding


def _stacked_from_a_row(n_positions: int, d_model: int) -> Tensor:
    angle = _angles_in_a_row(n_positions, d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)


_ODD = (
    Mistake("positions-in-a-row", _filled_from_a_row, _ROW),
    Mistake("positions-in-a-row-and-stacked", _stacked_from_a_row, _ROW),
    Mistake(
        "arguments-exchanged",
        _exchanged,
        "The arguments are exchanged: rows are counted by d_model, columns by n_positions. The "
        "first argument is the number of positions, which are the rows.",
    ),
    Mistake("random", lambda n, d: torch.randn(n, d, generator=_seeded()), _RANDOM),
    Mistake(
        "random-between-0-and-1",
        lambda n, d: torch.rand(n, d, generator=_seeded()),
        _RANDOM,
    ),
    Mistake(
        "zeros",
        lambda n, d: torch.zeros(n, d),
        "Every number is 0: the tensor is made and never filled.",
    ),
)

_PROBES = ((2, 4), (4, 2), (3, 6), (3, 16), (10, 8), (3, 12), (40, 4))


def mistakes_against(reference: Candidate) -> tuple[Mistake, ...]:
    """Each fault alone, the common ones in twos and with the usual wrong shapes."""
    mistakes = [
        *single(_encoding, (*_COMMON, *SHAPES, *ANGLE_FAULTS, *COLUMN_FAULTS)),
        *_ODD,
        *together(_encoding, _COMMON, 2),
        *together(_encoding, _OFTEN_TOGETHER, 3),
        *(
            mistake
            for shape in SHAPES
            for fault in _COMMON
            for mistake in together(_encoding, (fault, shape), 2)
        ),
    ]
    return told_apart(mistakes, reference, _PROBES)
