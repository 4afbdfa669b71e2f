"""Parts that the paper does not have, put in place of its own to see what they were good for.

Each is the paper's part with one method changed. A configuration names them (`attention`,
`residual`); the layers are built with them and know nothing of it.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.attention import MultiHeadAttention, masked_softmax
from annotated_transformer.residual import ResidualConnection


class DotProductAttention(MultiHeadAttention):
    """Section 3.2.1 without its scaling: softmax(Q Kᵀ) V in every head."""

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """(batch, num_heads, n_queries, d_v)."""
        d_k = queries.size(-1)  # equation 1 divides by its root, so that this cancels
        return super().attend(queries * math.sqrt(d_k), keys, values, mask)


class AdditiveAttention(MultiHeadAttention):
    """The other attention of section 3.2.1: a small network scores each query with each key.

    The score is vᵀ tanh(q + k), with a vector v for every head. The projections of queries and
    keys are its first layer. Source: Bahdanau et al. (2014), the paper's reference 2.

    Arguments as in `MultiHeadAttention`.
    """

    def __init__(self, d_model: int, num_heads: int, *sizes: Any, **options: Any) -> None:
        super().__init__(d_model, num_heads, *sizes, **options)
        width = self.query_projection.out_features // num_heads  # d_k
        self.vectors = nn.Parameter(torch.empty(num_heads, width).normal_(std=width**-0.5))

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """(batch, num_heads, n_queries, d_v)."""
        vectors = self.vectors[:, None, :, None]  # (num_heads, 1, d_k, 1)
        scores = additive_scores(queries, keys, vectors).squeeze(-1)
        weights = masked_softmax(scores, mask)  # (batch, num_heads, n_queries, n_keys)
        if self.keep_weights:
            self.weights = weights.detach()
        heads: Tensor = self.dropout(weights) @ values
        return heads


def additive_scores(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """vᵀ tanh(q + k) for each query q and each key k; (..., n_queries, n_keys).

    Args:
        queries: (..., n_queries, width).
        keys: (..., n_keys, width).
        vector: v, (width,), or (..., width, 1) for one of each head.
    """
    hidden = torch.tanh(queries[..., :, None, :] + keys[..., None, :, :])
    return hidden @ vector  # from (..., n_queries, n_keys, width)


class SublayerAlone(ResidualConnection):
    """Section 3.1 without its residual connection: LayerNorm(Dropout(Sublayer(x)))."""

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(batch, n, d_model) -> (batch, n, d_model)."""
        if self.norm_comes_first:
            branch: Tensor = self.dropout(sublayer(self.norm(x)))
            return branch
        output: Tensor = self.norm(self.dropout(sublayer(x)))
        return output


# By the names of the configuration.
ATTENTIONS: dict[str, type[MultiHeadAttention]] = {
    "scaled-dot-product": MultiHeadAttention,
    "dot-product": DotProductAttention,
    "additive": AdditiveAttention,
}
