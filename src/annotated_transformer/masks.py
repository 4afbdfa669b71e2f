"""Masks: who may attend to whom (sections 3.1 and 3.2.3).

A mask is boolean and True means "may attend". It broadcasts to the shape of the attention weights,
(batch, num_heads, n_queries, n_keys).
"""

import torch
from torch import Tensor


def causal_mask(n: int, device: torch.device | str | None = None) -> Tensor:
    """Position i may attend to position j only if j <= i (section 3.2.3).

    Args:
        n: the length of the sequence.
        device: where the mask is made.

    Returns:
        bool (n, n), True on and below the diagonal.
    """
    return torch.ones(n, n, dtype=torch.bool, device=device).tril()


def padding_mask(tokens: Tensor, pad_id: int = 0) -> Tensor:
    """Keys that are padding may not be attended to, wherever the padding stands.

    Args:
        tokens: integers (batch, n).

    Returns:
        bool (batch, 1, 1, n): one row a sentence, the same for every head and every query.
    """
    return (tokens != pad_id)[:, None, None, :]


def target_mask(tokens: Tensor, pad_id: int = 0) -> Tensor:
    """What a target position may attend to: itself and what stands before it, never padding.

    Args:
        tokens: integers (batch, n), the decoder's input.

    Returns:
        bool (batch, 1, n, n).
    """
    n = tokens.size(1)
    return padding_mask(tokens, pad_id) & causal_mask(n, tokens.device)
