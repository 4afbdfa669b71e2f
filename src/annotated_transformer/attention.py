"""Attention (section 3.2): scaled dot-product attention and multi-head attention.

Two functions compute the same thing. `scaled_dot_product_attention` is written to be read and
returns the weights; `fused_attention` is what training runs, but for bfloat16 on a CPU, where
`packing.packed_attention` leaves the padding out too. Tests hold all three together.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from annotated_transformer.fast.packing import SHORT_ROW, PackedMask, packed_attention


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
    """Equation 1 by PyTorch's fused kernels: the fast path, which never shows its weights.

    PyTorch picks among its kernels by device, precision and mask. One case is kept from them:
    bfloat16 on a CPU, where the kernel is slower than plain operations, so `_unfused_attention`
    runs instead. Both give the same numbers up to rounding.

    Arguments and output as in `scaled_dot_product_attention`.
    """
    if query.dtype == torch.bfloat16 and query.device.type == "cpu":
        return _unfused_attention(query, key, value, mask)
    return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


def _unfused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """What `fused_attention` runs for bfloat16 on a CPU: Equation 1 in three operations.

    There it takes about a twelfth of the fused kernel's time for sentences of 14 tokens, about a
    third for 128 and half or more for 256 (benchmarks/README.md). Elsewhere nothing calls it.
    """
    scores = (query * query.size(-1) ** -0.5) @ key.transpose(-2, -1)  # (..., n_queries, n_keys)
    if mask is None or mask.all():  # batches of one length have no padding to hide
        return softmax_in_float32(scores) @ value
    weights = softmax_in_float32(scores.masked_fill(~mask, float("-inf")))
    something_to_attend_to = mask.any(dim=-1, keepdim=True)
    if not something_to_attend_to.all():
        weights = weights.masked_fill(~something_to_attend_to, 0.0)
    return weights @ value


def softmax_in_float32(scores: Tensor) -> Tensor:
    """softmax(scores) over the last dimension, computed in float32 at least; like scores.

    PyTorch's kernel for bfloat16 is slow on a CPU where a row is no multiple of 32 numbers, and
    that for float32 where it is shorter than 16: up to ten times (benchmarks/attention.py).
    """
    n_keys = scores.size(-1)
    rows = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if n_keys < SHORT_ROW:
        rows = functional.pad(rows, (0, SHORT_ROW - n_keys), value=float("-inf"))
    return rows.softmax(-1)[..., :n_keys].to(scores.dtype)


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """(batch, n, num_heads * d_head) -> (batch, num_heads, n, d_head), head after head."""
    batch, n, width = x.shape
    return x.view(batch, n, num_heads, width // num_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """(batch, num_heads, n, d_head) -> (batch, n, num_heads * d_head): the heads side by side."""
    batch, num_heads, n, d_head = x.shape
    return x.transpose(1, 2).reshape(batch, n, num_heads * d_head)


def project(x: Tensor, *projections: nn.Linear) -> Tensor:
    """What several linear layers make of the same x, side by side, by one product.

    (rows, d_model) -> (rows, sum of their widths).
    """
    weights: list[Tensor] = [projection.weight for projection in projections]
    biases: list[Tensor] = [each.bias for each in projections if each.bias is not None]
    return functional.linear(x, torch.cat(weights), torch.cat(biases) if biases else None)


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
        mask: Tensor | PackedMask | None = None,
    ) -> Tensor:
        """Attend from each query to the keys; (batch, n_queries, d_model).

        Args:
            query: (batch, n_queries, d_model).
            key: (batch, n_keys, d_model).
            value: (batch, n_keys, d_model).
            mask: bool, broadcastable to (batch, num_heads, n_queries, n_keys). With a `PackedMask`
                all others are (rows, d_model), and so is the output.
        """
        if isinstance(mask, PackedMask):
            return self._forward_packed(query, key, value, mask)
        queries = self.project_query(query)
        keys, values = self.project_key_value(key, value)
        return self.combine(self.attend(queries, keys, values, mask))

    def _forward_packed(
        self, query: Tensor, key: Tensor, value: Tensor, packed: PackedMask
    ) -> Tensor:
        """`forward` for rows without padding, (rows, d_model).

        What reads the same rows is projected by one product: keys and values, and in self-attention
        queries too. The weights are not recorded.
        """
        if value is not key:
            raise ValueError("packed rows: keys and values have to be made from the same rows.")
        of_memory = self.key_projection, self.value_projection
        if key is query:
            own = project(query, self.query_projection, *of_memory)
            heads = packed_attention(own, None, packed)
        else:
            memory = project(key, *of_memory)
            heads = packed_attention(self.query_projection(query), memory, packed)
        output: Tensor = self.output_projection(heads)
        return output

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
        attention_dropout = self.training and self.dropout.p > 0
        if not (self.keep_weights or attention_dropout):
            return fused_attention(queries, keys, values, mask)
        heads, weights = scaled_dot_product_attention(queries, keys, values, mask)
        if self.keep_weights:
            self.weights = weights.detach()
        return self.dropout(weights) @ values if attention_dropout else heads

    def combine(self, heads: Tensor) -> Tensor:
        """Concat(head_1, ..., head_h) W^O; (batch, n_queries, d_model)."""
        return self.output_projection(merge_heads(heads))
