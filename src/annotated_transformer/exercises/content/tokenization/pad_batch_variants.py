"""Padding with every part replaceable, from which the mistakes are made."""

from collections.abc import Callable

import torch
from torch import Tensor

Rows = list[list[int]]


def pad_with(
    rows: Rows,
    pad_id: int = 0,
    *,
    length: Callable[[list[int]], int] = max,
    left: bool = False,
    both: bool = False,
    fill: Callable[[list[int]], int] | None = None,
) -> Tensor:
    """Rows cut or filled to one length, which is a function of their lengths."""
    width = length([len(row) for row in rows])
    filled = []
    for row in rows:
        row = row[:width]
        missing = width - len(row)
        before = missing if left else missing // 2 if both else 0
        value = pad_id if fill is None else fill(row)
        filled.append([value] * before + row + [value] * (missing - before))
    return torch.tensor(filled, dtype=torch.long)
