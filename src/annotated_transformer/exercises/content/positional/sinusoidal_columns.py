"""The faults of `positional.sinusoidal` after the angles: functions, columns, shape and dtype."""

import math
from functools import partial

import torch
from torch import Tensor

from annotated_transformer.exercises.content.faults import Fault


def interleaved(sines: Tensor, cosines: Tensor) -> Tensor:
    """As in the paper: column 2i a sine, column 2i + 1 its cosine."""
    return torch.stack([sines, cosines], dim=-1).flatten(1)


def halves(sines: Tensor, cosines: Tensor) -> Tensor:
    """All sines, then all cosines."""
    return torch.cat([sines, cosines], dim=-1)


def _by_position(sines: Tensor, cosines: Tensor) -> Tensor:
    """Sines in even rows, cosines in odd rows, each angle in two columns."""
    even = torch.arange(sines.size(0))[:, None] % 2 == 0
    return torch.where(even, sines, cosines).repeat_interleave(2, dim=1)


def _repeated(sines: Tensor, cosines: Tensor) -> Tensor:
    """As if the angles stood twice, one row of them after the other, before sine and cosine."""
    column = torch.arange(2 * sines.size(1))
    angle = column % sines.size(1)
    return torch.where(column % 2 == 0, sines[:, angle], cosines[:, angle])


def _overwritten(sines: Tensor, cosines: Tensor) -> Tensor:
    """Sine i in column i and cosine i in column i + 1, one after the other."""
    result = torch.zeros(sines.size(0), 2 * sines.size(1), dtype=sines.dtype)
    for i in range(sines.size(1)):
        result[:, i], result[:, i + 1] = sines[:, i], cosines[:, i]
    return result


def _without_last_pair(sines: Tensor, cosines: Tensor) -> Tensor:
    return torch.cat([interleaved(sines, cosines)[:, :-2], torch.zeros(len(sines), 2)], dim=1)


def _always(n_rows: int, positions: Tensor) -> Tensor:
    return torch.arange(n_rows, dtype=positions.dtype)


def _zeros(angle: Tensor) -> Tensor:
    return torch.zeros_like(angle)


def _minus_cosine(angle: Tensor) -> Tensor:
    return -angle.cos()


def _minus_sine(angle: Tensor) -> Tensor:
    return -angle.sin()


def _root_of_the_rest(angle: Tensor) -> Tensor:
    return (1 - angle.sin() ** 2).clamp(min=0).sqrt()


_COLUMNS = (
    "Only half of the columns are there, d_model / 2. Sine and cosine both have d_model / 2 "
    "columns; together they fill d_model."
)

SHAPES = (
    Fault(
        "batch-axis",
        {"result": lambda e: e[None]},
        "There is an axis for the batch in front, (1, n_positions, d_model). Asked for is the "
        "matrix alone, (n_positions, d_model); it broadcasts over a batch by itself.",
    ),
    Fault(
        "axis-in-the-middle",
        {"result": lambda e: e[:, None]},
        "There is an axis in the middle, (n_positions, 1, d_model), made for batches that have "
        "positions first. Asked for is (n_positions, d_model).",
    ),
    Fault(
        "transposed",
        {"result": lambda e: e.T},
        "The matrix is transposed, (d_model, n_positions). Rows are positions: "
        "(n_positions, d_model).",
    ),
    Fault(
        "float64",
        {"dtype": torch.float64},
        "The numbers are right but they are float64. Compute in float64 if you like, and return "
        "float32, the dtype of the embeddings they are added to: `.float()`.",
    ),
)

COLUMN_FAULTS = (
    Fault(
        "sines-only",
        {"pair": (torch.sin, torch.sin)},
        "Odd columns hold the sine too. Column 2i + 1 is the cosine of the angle of column 2i.",
    ),
    Fault(
        "cosines-only",
        {"pair": (torch.cos, torch.cos)},
        "Even columns hold the cosine too. Column 2i is the sine of the angle.",
    ),
    Fault(
        "odd-columns-empty",
        {"pair": (torch.sin, _zeros)},
        "The odd columns are still 0. Fill them with the cosines: `[:, 1::2]`.",
    ),
    Fault(
        "even-columns-empty",
        {"pair": (_zeros, torch.cos)},
        "The even columns are still 0. Fill them with the sines: `[:, 0::2]`.",
    ),
    Fault(
        "cosines-over-the-sines",
        {"pair": (torch.cos, _zeros)},
        "The cosines are written over the sines, and the odd columns are still 0: `[:, 0::2]` "
        "stands twice. The cosines belong to `[:, 1::2]`.",
    ),
    Fault(
        "sines-after-the-cosines",
        {"pair": (_zeros, torch.sin)},
        "The sines stand in the odd columns and the even ones are still 0. Even columns are "
        "sines, `[:, 0::2]`, odd columns cosines, `[:, 1::2]`.",
    ),
    Fault(
        "quarter-turn-in-degrees",
        {"pair": (torch.sin, lambda a: (a + 90).sin())},
        "The cosine is written as the sine of the angle plus 90. Angles are in radians: a quarter "
        "turn is π / 2. Or use `cos`.",
    ),
    Fault(
        "angles-repeated",
        {"layout": _repeated},
        "The angles are put down twice, one row after the other (`cat`), as rotary positions with "
        "halves do. Here the two columns of a pair stand side by side: `repeat_interleave(2)`, or "
        "fill `[:, 0::2]` and `[:, 1::2]`.",
    ),
    Fault(
        "columns-overwritten",
        {"layout": _overwritten},
        "Sine and cosine of pair i are written to columns i and i + 1, so each pair overwrites "
        "part of the one before and the last columns stay 0. They belong to columns 2i and 2i + 1.",
    ),
    Fault(
        "last-pair-empty",
        {"layout": _without_last_pair},
        "The last pair of columns is still 0: the loop ends one pair too early. i runs from 0 to "
        "d_model / 2 - 1.",
    ),
    Fault(
        "tangents",
        {"pair": (torch.sin, torch.tan)},
        "The odd columns hold tangents. They hold the cosine of the angle.",
    ),
    Fault(
        "minus-cosine",
        {"pair": (torch.sin, _minus_cosine)},
        "The cosines have the wrong sign: position 0 is 0, 1, 0, 1, ...",
    ),
    Fault(
        "cosine-from-the-sine",
        {"pair": (torch.sin, _root_of_the_rest)},
        "The cosine is computed as sqrt(1 - sin²), which is never negative. A cosine is: take it "
        "of the angle.",
    ),
    Fault(
        "angles-alone",
        {"pair": (lambda a: a, lambda a: a)},
        "These are the angles. Take their sines in even columns, their cosines in odd ones.",
    ),
    Fault(
        "sine-or-cosine-by-position",
        {"layout": _by_position},
        "Sine and cosine alternate with the position, down the rows. They alternate with the "
        "column: every row has d_model / 2 of each.",
    ),
    Fault(
        "stacked-first-then-reshaped",
        {"layout": lambda s, c: torch.stack([s, c]).reshape(s.size(0), -1)},
        "Sines and cosines are stacked as the first axis and then reshaped, which mixes the rows. "
        "Stack them last, `dim=-1`, before `flatten(1)`.",
    ),
    Fault(
        "pairs-not-joined",
        {"layout": lambda s, c: torch.stack([s, c], dim=-1)},
        "The pairs have an axis of their own, (n_positions, d_model / 2, 2). Join it with the "
        "columns: `.flatten(1)`.",
    ),
    Fault(
        "joined-below",
        {"layout": lambda s, c: torch.cat([s, c], dim=0)},
        "The cosines stand below the sines (`cat` along dim 0). They are columns of the same row.",
    ),
    Fault("sine-half-alone", {"layout": lambda s, c: s}, _COLUMNS),
    Fault("cosine-half-alone", {"layout": lambda s, c: c}, _COLUMNS),
    Fault(
        "added",
        {"layout": lambda s, c: (s + c).repeat_interleave(2, dim=1)},
        "Sine and cosine are added up. They stand side by side, in columns of their own.",
    ),
    Fault(
        "times-root",
        {"result": lambda e: e * math.sqrt(e.size(-1))},
        "The encoding is multiplied by sqrt(d_model). That factor belongs to the embedding of the "
        "words.",
    ),
    Fault(
        "a-tenth",
        {"result": lambda e: 0.1 * e},
        "The encoding is multiplied by 0.1. Sine and cosine stay as they are.",
    ),
    Fault(
        "divided-by-root",
        {"result": lambda e: e / math.sqrt(e.size(-1))},
        "The encoding is divided by sqrt(d_model). Sine and cosine stay as they are.",
    ),
    Fault(
        "rows-of-length-one",
        {"result": lambda e: e / e.norm(dim=-1, keepdim=True)},
        "Each row is divided by its length. Sine and cosine stay as they are.",
    ),
    Fault(
        "first-row-zero",
        {"result": lambda e: torch.cat([torch.zeros_like(e[:1]), e[1:]])},
        "Row 0 is set to zeros, as if it were padding. Position 0 is a position: 0, 1, 0, 1, ...",
    ),
    Fault(
        "last-row-zero",
        {"result": lambda e: torch.cat([e[:-1], torch.zeros_like(e[:1])])},
        "The last row is still 0: the loop ends one position too early. Positions run from 0 to "
        "n_positions - 1.",
    ),
    *(
        Fault(
            f"always-{rows}-rows",
            {"positions": partial(_always, rows)},
            f"There are {rows} rows, whatever n_positions is: the argument is not used. A table "
            "made in advance is cut off: `[:n_positions]`.",
        )
        for rows in (512, 1024, 5000)
    ),
    Fault(
        "sines-twice-in-halves",
        {"pair": (torch.sin, torch.sin), "layout": halves},
        "Both halves of the columns hold sines. The paper's column 2i is a sine and column 2i + 1 "
        "the cosine of the same angle.",
    ),
    Fault(
        "last-row-missing",
        {"result": lambda e: e[:-1]},
        "The last row is missing: there are n_positions rows, 0 to n_positions - 1.",
    ),
    Fault(
        "one-row-too-many",
        {"result": lambda e: torch.cat([e, e[-1:]])},
        "There is one row too many: n_positions rows, 0 to n_positions - 1.",
    ),
    Fault(
        "last-row-alone",
        {"result": lambda e: e[-1]},
        "One row is returned. Asked for is a row for every position.",
    ),
    Fault(
        "float16",
        {"dtype": torch.float16},
        "The numbers are float16, which has three digits. Return float32.",
    ),
    Fault(
        "integers",
        {"result": lambda e: e.long()},
        "The result is made of integers, so nearly everything is cut off to 0. Make the tensor "
        "that you fill with `dtype=torch.float32`.",
    ),
    Fault(
        "numpy-array",
        {"result": lambda e: e.numpy()},
        "This is a NumPy array. Turn it into a tensor: `torch.from_numpy(...).float()`.",
    ),
    Fault(
        "lists",
        {"result": lambda e: e.tolist()},
        "These are nested lists. Turn them into a tensor: `torch.tensor(...)`.",
    ),
)
