"""The online softmax in steps that can be replaced one at a time."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Blocks = Callable[[int, int], list[slice]]  # n_k, block_size -> the keys of each step


def right_blocks(n_k: int, block_size: int) -> list[slice]:
    return [slice(start, start + block_size) for start in range(0, n_k, block_size)]


def right_scores(q: Tensor, k: Tensor, block_size: int) -> Tensor:
    return q @ k.mT / math.sqrt(q.size(-1))


def row_maximum(scores: Tensor) -> Tensor:
    return scores.amax(-1, keepdim=True)


def right_factor(old: Tensor, new: Tensor) -> Tensor:
    return torch.exp(old - new)


def no_factor(old: Tensor, new: Tensor) -> Tensor:
    return torch.ones_like(new)


def divided(output: Tensor, total: Tensor) -> Tensor:
    return output / total


def tiled_of(
    *,
    first_maximum: float = float("-inf"),
    blocks: Blocks = right_blocks,
    scores: Callable[[Tensor, Tensor, int], Tensor] = right_scores,
    maximum: Callable[[Tensor], Tensor] = row_maximum,
    next_maximum: Callable[[Tensor, Tensor], Tensor] = torch.maximum,
    of_total: Callable[[Tensor, Tensor], Tensor] = right_factor,
    of_output: Callable[[Tensor, Tensor], Tensor] = right_factor,
    of_own_total: Callable[[Tensor, Tensor], Tensor] = no_factor,
    of_own_output: Callable[[Tensor, Tensor], Tensor] = no_factor,
    shift: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda old, new, block: new,
    summed: Callable[[Tensor], Tensor] = lambda shares: shares.sum(-1, keepdim=True),
    values: Callable[[Tensor, Tensor], Tensor] = lambda keys, values: values,
    finish: Callable[[Tensor, Tensor], Any] = divided,
) -> Candidate:
    """of_own_total, of_own_output: what the terms of the new block are multiplied by.

    shift: what is subtracted from the scores, of the old maximum, the new one, the block's.
    values: what the weights average, of the keys and values of the block.
    """

    def implementation(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Any:
        largest = torch.full_like(q[..., :1], first_maximum)
        total = torch.zeros_like(q[..., :1])
        output = q.new_zeros(*q.shape[:-1], v.size(-1))
        for block in blocks(k.size(-2), block_size):
            part = scores(q, k[..., block, :], block_size)
            own = maximum(part)
            new = next_maximum(largest, own)
            shares = torch.exp(part - shift(largest, new, own))
            own_total = summed(shares) * of_own_total(largest, new)
            own_output = shares @ values(k[..., block, :], v[..., block, :])
            total = total * of_total(largest, new) + own_total
            output = output * of_output(largest, new) + own_output * of_own_output(largest, new)
            largest = new
        return finish(output, total)

    return implementation
