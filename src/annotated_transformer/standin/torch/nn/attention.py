"""`nn.MultiheadAttention`, as far as one call and a count of its parameters need it."""

import math
from typing import Any

from ..dtypes import bool_
from ..errors import NotInThisPage
from ..operations import FUNCTIONS, METHODS
from ..tensor import Tensor
from . import functional as F  # noqa: N812
from . import init
from .layers import Linear, _parameter
from .module import Module


class MultiheadAttention(Module):
    """Several attentions side by side, between two linear maps."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.head_dim, self.batch_first = embed_dim // num_heads, batch_first
        self.in_proj_weight = _parameter((3 * embed_dim, embed_dim), 0.0, dtype, device)
        self.in_proj_bias = _parameter((3 * embed_dim,), 0.0, dtype, device) if bias else None
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype)
        init.xavier_uniform_(self.in_proj_weight)
        if self.out_proj.bias is not None:
            init.zeros_(self.out_proj.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """In the masks True means: may not be seen."""
        if query.ndim != 3 or is_causal or (attn_mask is not None and attn_mask.ndim != 2):
            raise NotInThisPage("this use of nn.MultiheadAttention")
        given = [query, key, value]
        if not self.batch_first:
            given = [METHODS["transpose"](one, 0, 1) for one in given]
        weights = METHODS["chunk"](self.in_proj_weight, 3)
        biases = (
            (None,) * 3 if self.in_proj_bias is None else METHODS["chunk"](self.in_proj_bias, 3)
        )
        q, k, v = (
            self._heads(F.linear(one, weight, bias))
            for one, weight, bias in zip(given, weights, biases, strict=True)
        )
        scores = q @ METHODS["transpose"](k, -2, -1) / math.sqrt(self.head_dim)
        for mask, index in ((attn_mask, ...), (key_padding_mask, (slice(None), None, None))):
            if mask is not None:
                scores = _masked(scores, mask[index])
        shares = METHODS["softmax"](scores, -1)
        mixed = F.dropout(shares, self.dropout, self.training) @ v
        joined = METHODS["flatten"](METHODS["transpose"](mixed, 1, 2), 2)
        output = self.out_proj(joined)
        if not self.batch_first:
            output = METHODS["transpose"](output, 0, 1)
        if not need_weights:
            return output, None
        return output, METHODS["mean"](shares, 1) if average_attn_weights else shares

    def _heads(self, x: Tensor) -> Tensor:
        split = METHODS["unflatten"](x, -1, (self.num_heads, self.head_dim))
        return METHODS["transpose"](split, 1, 2)  # type: ignore[no-any-return]


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    if mask._dtype is bool_:
        return METHODS["masked_fill"](scores, mask, FUNCTIONS["tensor"](-math.inf))  # type: ignore[no-any-return]
    return scores + mask
