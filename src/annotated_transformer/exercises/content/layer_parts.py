"""The parts that a layer is put together from: attention, feed-forward network, norms."""

from collections.abc import Callable
from typing import Protocol

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.drawn import drawn, gain_and_shift


class Attention(Protocol):
    """Attention as a layer gets it."""

    def __call__(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor: ...


Network = Callable[[Tensor], Tensor]
Norm = Callable[[Tensor], Tensor]


def attention_part(generator: torch.Generator, dtype: torch.dtype, d: int) -> Attention:
    """Attention with weights of its own; a query that may attend to nothing gets zeros."""
    w_q, w_k, w_v = drawn(generator, dtype, 3, d, d)

    def attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
        scores = (query @ w_q).unsqueeze(1) @ (key @ w_k).unsqueeze(1).mT / d**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        weights = scores.softmax(-1).nan_to_num(0.0)  # (B, 1, n_q, n_k), as with one head
        return (weights @ (value @ w_v).unsqueeze(1)).squeeze(1)

    return attention


def silent_attention(generator: torch.Generator, dtype: torch.dtype, d: int) -> Attention:
    """Attention that adds nothing."""

    def attention_returning_zeros(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        return torch.zeros_like(query)

    return attention_returning_zeros


def network_part(generator: torch.Generator, dtype: torch.dtype, d: int) -> Network:
    """A feed-forward network."""
    w_1, b_1 = drawn(generator, dtype, d, 2 * d), drawn(generator, dtype, 2 * d)
    w_2, b_2 = drawn(generator, dtype, 2 * d, d), drawn(generator, dtype, d)

    def feed_forward(x: Tensor) -> Tensor:
        return torch.relu(x @ w_1 + b_1) @ w_2 + b_2

    return feed_forward


def silent_network(generator: torch.Generator, dtype: torch.dtype, d: int) -> Network:
    """A network that adds nothing."""

    def feed_forward_returning_zeros(x: Tensor) -> Tensor:
        return torch.zeros_like(x)

    return feed_forward_returning_zeros


def no_norm(generator: torch.Generator, dtype: torch.dtype, d: int) -> Norm:
    """A norm that returns what it is given."""

    def norm_that_does_nothing(x: Tensor) -> Tensor:
        return x.clone()

    return norm_that_does_nothing


def norm_part(generator: torch.Generator, dtype: torch.dtype, d: int) -> Norm:
    """A layer normalisation with a gain and a shift of its own."""
    gamma, beta = gain_and_shift(generator, dtype, d)

    def layer_norm(x: Tensor) -> Tensor:
        return F.layer_norm(x, (d,), gamma, beta, 1e-6)

    return layer_norm
