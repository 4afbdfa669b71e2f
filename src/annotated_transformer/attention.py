"""Attention (section 3.2): scaled dot-product attention and multi-head attention.

Two functions compute the same thing. `scaled_dot_product_attention` is written to be read and
returns the weights; `fused_attention` is what training runs. A test holds them together.
"""

import math
from collections.abc import Callable

from torch import Tensor, nn
from torch.nn import functional


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Exponentials divided by their sum along `dim`.

    The maximum is subtracted first: it changes nothing in the quotient, and no exponential can
    overflow.
    """
    exponentials = (x - x.amax(dim, keepdim=True)).exp()
    return exponentials / exponentials.sum(dim, keepdim=True)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Equation 1: softmax(Q Kᵀ / sqrt(d_k)) V, the teaching path.

    Args:
        query: (..., n_queries, d_k).
        key: (..., n_keys, d_k).
        value: (..., n_keys, d_v).
        mask: bool, broadcastable to (..., n_queries, n_keys), True = may attend. A query that may
            attend to nothing gets zeros.

    Returns:
        The output (..., n_queries, d_v) and the weights (..., n_queries, n_keys).
    """
    d_k = query.size(-1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)  # (..., n_queries, n_keys)
    weights = masked_softmax(scores, mask)
    return weights @ value, weights


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """From scores to weights: the softmax over the keys that a query may attend to.

    Args:
        scores: (..., n_queries, n_keys).
        mask: as in `scaled_dot_product_attention`.
    """
    if mask is None:
        return softmax(scores)
    weights = softmax(scores.masked_fill(~mask, float("-inf")))
    nothing_to_attend_to = ~mask.any(dim=-1, keepdim=True)
    return weights.masked_fill(nothing_to_attend_to, 0.0)  # else 0 / 0 = nan


def fused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Equation 1 by PyTorch's own fused call, which never shows its weights.

    Arguments and output as in `scaled_dot_product_attention`.
    """
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(batch, n, num_heads * d_head) -> (batch, num_heads, n, d_head), head after head."""
    batch, n, width = x.shape
    return x.view(batch, n, num_heads, width // num_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(batch, num_heads, n, d_head) -> (batch, n, num_heads * d_head): the heads side by side."""
    batch, num_heads, n, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, n, num_heads * d_head)


class MultiHeadAttention(nn.Module):
    """Section 3.2.2: attention by `num_heads` heads at once, each in its own small space.

    MultiHead(Q, K, V) = Concat(head_1, ..., head_h) W^O with
    head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V). The h matrices W_i^Q stand side by side in one
    linear layer, and so do those of the keys and of the values.

    Args:
        d_model: width of the inputs and of the output.
        num_heads: h. Must divide d_model unless both d_k and d_v are given.
        d_k: width of a query and a key in one head; d_model / num_heads if None.
        d_v: width of a value in one head; d_model / num_heads if None.
        bias: whether the four projections have biases. The paper's have none.
        dropout: dropout on the attention weights. The paper's translation models name none.

    Raises:
        ValueError: if num_heads does not divide d_model and d_k or d_v is missing.
    """

    # What attends where nobody asks for the weights; another function may be put in its place.
    without_weights: Callable[..., Tensor] = staticmethod(fused_attention)

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_k: int | None = None,
        d_v: int | None = None,
        bias: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if (d_k is None or d_v is None) and d_model % num_heads:
            raise ValueError(
                f"d_model = {d_model} cannot be shared evenly by num_heads = {num_heads}: "
                "choose a number of heads that divides d_model, or give d_k and d_v."
            )
        d_k = d_model // num_heads if d_k is None else d_k
        d_v = d_model // num_heads if d_v is None else d_v
        self.num_heads = num_heads
        self.query_projection = nn.Linear(d_model, num_heads * d_k, bias=bias)
        self.key_projection = nn.Linear(d_model, num_heads * d_k, bias=bias)
        self.value_projection = nn.Linear(d_model, num_heads * d_v, bias=bias)
        self.output_projection = nn.Linear(num_heads * d_v, d_model, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.keep_weights = False  # inspection.recording_attention sets it
        self.weights: Tensor | None = None  # (batch, num_heads, n_queries, n_keys)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
    ) -> Tensor:
        """Attend from each query to the keys; (batch, n_queries, d_model).

        Args:
            query: (batch, n_queries, d_model).
            key: (batch, n_keys, d_model).
            value: (batch, n_keys, d_model).
            mask: bool, broadcastable to (batch, num_heads, n_queries, n_keys).
        """
        queries = self.project_query(query)
        keys, values = self.project_key_value(key, value)
        return self.combine(self.attend(queries, keys, values, mask))

    def project_query(self, query: Tensor) -> Tensor:
        """(batch, n_queries, d_model) -> (batch, num_heads, n_queries, d_k)."""
        return split_heads(self.query_projection(query), self.num_heads)

    def project_key_value(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keys (batch, num_heads, n_keys, d_k) and values (batch, num_heads, n_keys, d_v)."""
        keys = split_heads(self.key_projection(key), self.num_heads)
        values = split_heads(self.value_projection(value), self.num_heads)
        return keys, values

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Equation 1 in every head; (batch, num_heads, n_queries, d_v)."""
        drops = self.training and self.dropout.p > 0
        needs_weights = self.keep_weights or drops
        if not needs_weights:
            return self.without_weights(queries, keys, values, mask)
        heads, weights = scaled_dot_product_attention(queries, keys, values, mask)
        if drops:
            heads = self.dropout(weights) @ values
        if self.keep_weights:
            self.weights = weights.detach()
        return heads

    def combine(self, heads: Tensor) -> Tensor:
        """Concat(head_1, ..., head_h) W^O; (batch, n_queries, d_model)."""
        return self.output_projection(merge_heads(heads))
