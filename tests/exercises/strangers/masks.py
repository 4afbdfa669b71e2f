"""Wrong answers of outsiders about masks, each with two mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor


def floats_without_diagonal(n: int) -> Tensor:
    """A position may not attend to itself.
    The mask is made of floats instead of booleans."""
    m = torch.zeros((n, n))
    for row in range(n):
        for col in range(row):
            m[row, col] = 1
    return m


def upper_half_with_a_batch_axis(n: int) -> Tensor:
    """Keys and queries are exchanged: what comes later may be seen.
    An axis too many stands in front."""
    steps = torch.arange(n)
    allowed = steps.unsqueeze(1) <= steps.unsqueeze(0)
    return allowed.unsqueeze(0)


def true_where_padded_one_axis_short(tokens: Tensor, pad_id: int = 0) -> Tensor:
    """True at the padding instead of at the words.
    The axis for the heads is missing."""
    return tokens.eq(pad_id).unsqueeze(1)


def zero_pads_counted_from_the_right(tokens: Tensor, pad_id: int = 0) -> Tensor:
    """Believes that padding always stands on the right.
    Takes 0 for padding, whatever pad_id says."""
    batch, n = tokens.shape
    mask = torch.zeros(batch, 1, 1, n, dtype=torch.bool)
    for b in range(batch):
        length = int((tokens[b] != 0).sum())
        mask[b, 0, 0, :length] = True
    return mask


def padded_queries_and_strict_past(tokens: Tensor, pad_id: int = 0) -> Tensor:
    """Hides the rows of padded queries instead of the columns of padded keys.
    A word may not see itself."""
    n = tokens.shape[1]
    past = torch.tril(torch.ones(n, n), diagonal=-1) == 1
    real = (tokens != pad_id).view(-1, 1, n, 1)
    return real & past


def either_is_enough_without_head_axis(tokens: Tensor, pad_id: int = 0) -> Tensor:
    """Lets a key through when one of the two conditions holds.
    The axis for the heads is missing."""
    position = torch.arange(tokens.shape[-1])
    not_later = position[None, :] <= position[:, None]
    not_pad = (tokens != pad_id)[:, None, :]
    return torch.logical_or(not_later, not_pad)


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "masks.causal": [floats_without_diagonal, upper_half_with_a_batch_axis],
    "masks.padding": [true_where_padded_one_axis_short, zero_pads_counted_from_the_right],
    "masks.target": [padded_queries_and_strict_past, either_is_enough_without_head_axis],
}
