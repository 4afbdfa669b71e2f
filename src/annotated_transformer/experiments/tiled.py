"""Exact attention in memory that grows with n: tiles and an online softmax.

Equation 1 makes an n × n matrix of weights, and training keeps it for the backward pass. Here the
matrix exists one tile at a time. The softmax of a row is put together while its tiles go by: where
a larger score turns up, what was summed so far is scaled down (Milakov and Gimelshein, 2018). The
backward pass computes the tiles again (Rabe and Staats, 2021; Dao and others, 2022,
"FlashAttention"), from one number a query, the logarithm of its sum (Dao, 2023,
"FlashAttention-2"). The paper has none of this; the result is the same.

`attention.scaled_dot_product_attention` is the plain form; a test holds the two together.
"""

import math
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


def tiled_attention(query: Tensor, key: Tensor, value: Tensor, tile: int = 256) -> Tensor:
    """softmax(Q Kᵀ / sqrt(d_k)) V, tile by tile; no mask.

    Sums are kept in 32 bits at least, also where the tensors have 16: they grow from tile to tile,
    and each addition would round anew.

    Args:
        query: (..., n_queries, d_k). key: (..., n_keys, d_k). value: (..., n_keys, d_v). The
            leading sizes are the same, and so is the type, a floating-point one.
        tile: how many queries meet how many keys at a time; the last tile may be smaller.

    Returns:
        (..., n_queries, d_v), of the type of the query.

    Raises:
        ValueError: there is no key, a tile holds none, or shapes or types do not fit.
    """
    _check(query, key, value, tile)
    output: Tensor = _TiledAttention.apply(query, key, value, tile)  # type: ignore[no-untyped-call]
    return output


def _check(query: Tensor, key: Tensor, value: Tensor, tile: int) -> None:
    """Nothing is repeated to fit: the backward pass would not know how to add up."""
    if tile < 1 or key.size(-2) < 1:
        raise ValueError(
            f"tile = {tile} and {key.size(-2)} keys were given: both must be at least 1."
        )
    if (
        not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]
        or query.size(-1) != key.size(-1)
        or key.size(-2) != value.size(-2)
    ):
        raise ValueError(
            f"queries {tuple(query.shape)}, keys {tuple(key.shape)} and values "
            f"{tuple(value.shape)} were given: all sizes but the last two must be the same (use "
            "`expand`), a key as wide as a query, and keys and values equally many."
        )
    if not query.dtype == key.dtype == value.dtype or not query.is_floating_point():
        raise ValueError(
            f"{query.dtype}, {key.dtype} and {value.dtype} were given: queries, keys and values "
            "must be of one floating-point type."
        )


def online_softmax_attention(
    query: Tensor, key: Tensor, value: Tensor, tile: int
) -> tuple[Tensor, Tensor]:
    """The output for some queries in one walk over all keys, and what the backward pass needs.

    Args:
        query: (..., n_queries, d_k), few enough that (..., n_queries, tile) scores fit.

    Returns:
        The output (..., n_queries, d_v) and the logarithm of the sum of exp(score) over all keys,
        (..., n_queries, 1): with it a weight is exp(score - that number). Both are in 32 bits at
        least.
    """
    scale = 1 / math.sqrt(query.size(-1))
    wide = _type_of_sums(query)
    query = query.to(wide)
    largest = torch.full_like(query[..., :1], -math.inf)  # (..., n_queries, 1), so far
    total = torch.zeros_like(largest)  # sum of exp(score - largest), so far
    output = query.new_zeros(*query.shape[:-1], value.size(-1))  # values so weighted, so far
    for keys, values in _in_tiles(tile, key, value):
        keys, values = keys.to(wide), values.to(wide)
        scores = query @ keys.transpose(-2, -1) * scale  # (..., n_queries, tile)
        new_largest = torch.maximum(largest, scores.amax(-1, keepdim=True))
        correction = (largest - new_largest).exp()  # 1 where no larger score turned up
        parts = (scores - new_largest).exp()
        total = total * correction + parts.sum(-1, keepdim=True)
        output = output * correction + parts @ values
        largest = new_largest
    return output / total, largest + total.log()


class _TiledAttention(torch.autograd.Function):
    """Forward as above for one tile of queries after the other; backward by hand."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor, tile: int) -> Tensor:
        output = query.new_empty(*query.shape[:-1], value.size(-1))
        log_sums = torch.empty_like(query[..., :1], dtype=_type_of_sums(query))
        for rows, out, log_sum in _in_tiles(tile, query, output, log_sums):
            found, found_sum = online_softmax_attention(rows, key, value, tile)
            out.copy_(found)
            log_sum.copy_(found_sum)
        ctx.save_for_backward(query, key, value, output, log_sums)
        ctx.tile = tile
        return output

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        """With P the weights of a tile and dX the gradient of the loss with respect to X.

        dV = Pᵀ dO and dP = dO Vᵀ. Through a softmax, dS = P ∘ (dP - D), where D is the sum of
        P ∘ dP over a query's keys. As the output is P V, D is also the sum of dO ∘ O: no walk over
        the keys is needed for it. Then dQ = dS K / sqrt(d_k) and dK = dSᵀ Q / sqrt(d_k).
        """
        query, key, value, output, log_sums = ctx.saved_tensors
        scale, wide = 1 / math.sqrt(query.size(-1)), log_sums.dtype
        mean_grads = (grad * output.to(wide)).sum(-1, keepdim=True)  # D, (..., n_queries, 1)
        grads = [torch.zeros_like(x, dtype=wide) for x in (query, key, value)]
        grad_query, grad_key, grad_value = grads
        of_queries = (query, grad, log_sums, mean_grads, grad_query)
        of_keys = (key, value, grad_key, grad_value)
        for q, d_out, log_sum, mean_grad, d_q in _in_tiles(ctx.tile, *of_queries):
            q, d_out = q.to(wide), d_out.to(wide)
            for k, v, d_k, d_v in _in_tiles(ctx.tile, *of_keys):
                k, v = k.to(wide), v.to(wide)
                weights = (q @ k.transpose(-2, -1) * scale - log_sum).exp()  # (..., tile, tile)
                d_v += weights.transpose(-2, -1) @ d_out
                d_scores = weights * (d_out @ v.transpose(-2, -1) - mean_grad) * scale
                d_q += d_scores @ k
                d_k += d_scores.transpose(-2, -1) @ q
        return *(x.to(query.dtype) for x in grads), None  # type: ignore[return-value]


def _type_of_sums(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def _in_tiles(tile: int, *tensors: Tensor) -> Any:
    """Views of the same `tile` rows of each tensor (..., n, d), the last ones maybe fewer."""
    return zip(*(torch.split(x, tile, dim=-2) for x in tensors), strict=True)
