"""Attention in bfloat16 on a CPU, where PyTorch's fused kernel is slower than plain operations."""

import torch
from torch import Tensor
from torch.nn import functional

from annotated_transformer.attention import fused_attention

SHORT_ROW = 16  # numbers below which PyTorch's softmax takes them one by one on a CPU


def attention_by_precision(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """`fused_attention`, but in three operations for bfloat16 on a CPU.

    Both give the same numbers up to rounding. Arguments and output as in
    `scaled_dot_product_attention`.
    """
    if query.dtype == torch.bfloat16 and query.device.type == "cpu":
        return unfused_attention(query, key, value, mask)
    return fused_attention(query, key, value, mask)


def unfused_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Equation 1 in three operations.

    For bfloat16 on a CPU it takes about a twelfth of the fused kernel's time for sentences of 14
    tokens, about a third for 128 and half or more for 256 (benchmarks/README.md).
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
    that for float32 where it is shorter than 16: attention as a whole takes up to half of the time
    with it (benchmarks/README.md).
    """
    n_keys = scores.size(-1)
    rows = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if n_keys < SHORT_ROW:
        rows = functional.pad(rows, (0, SHORT_ROW - n_keys), value=float("-inf"))
    return rows.softmax(-1)[..., :n_keys].to(scores.dtype)
