"""Wrong answers of outsiders about several heads, each with two mistakes."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Attend = Callable[[Tensor], Tensor]


def every_hth_column_positions_first(x: Tensor, n_heads: int) -> Tensor:
    """Deals the columns out in turn: head i gets i, i + h, i + 2h, ...
    The heads stand behind the positions."""
    heads = [x[:, :, i::n_heads] for i in range(n_heads)]
    return torch.stack(heads, dim=2)


def overlapping_runs_in_float32(x: Tensor, n_heads: int) -> Tensor:
    """Head i starts at column i instead of i * d_k.
    Is written into a tensor of float32."""
    b, n, d = x.shape
    d_k = d // n_heads
    out = torch.zeros(b, n_heads, n, d_k)
    for i in range(n_heads):
        out[:, i] = x[:, :, i : i + d_k]
    return out


def columns_in_turn_batch_lost(x: Tensor) -> Tensor:
    """Column j of all heads side by side, instead of head by head.
    The batch axis is melted into the positions."""
    h, d_k = x.shape[1], x.shape[3]
    y = x.permute(0, 2, 3, 1)
    return y.reshape(-1, h * d_k)


def reshaped_at_once_through_numpy(x: Tensor) -> Tensor:
    """A reshape without the transpose before it mixes tokens.
    Goes through NumPy, so no gradient comes back."""
    b, h, n, d = x.shape
    array = x.detach().numpy()
    return torch.from_numpy(array.reshape(b, n, h * d).copy())


def whole_width_and_no_output_projection(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Tensor | None = None,
) -> Tensor:
    """Scales by the root of the whole width d instead of d_k.
    The last projection, with w_o, is forgotten."""
    batch, n_q, d = query.shape
    n_k = key.shape[1]
    d_k = d // n_heads
    qs = (query @ w_q).view(batch, n_q, n_heads, d_k)
    ks = (key @ w_k).view(batch, n_k, n_heads, d_k)
    vs = (value @ w_v).view(batch, n_k, n_heads, d_k)
    energy = torch.einsum("bihd,bjhd->bhij", qs, ks) / math.sqrt(d)
    if mask is not None:
        energy = energy.masked_fill(mask.logical_not(), -math.inf)
    attn = energy.softmax(-1).nan_to_num(0.0)
    context = torch.einsum("bhij,bjhd->bihd", attn, vs)
    return context.reshape(batch, n_q, d)


def values_from_keys_and_an_average_of_nothing(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Tensor | None = None,
) -> Tensor:
    """The values are projected from key, not from value.
    A query without any key gets the average of all values instead of zeros."""
    d_k = query.shape[-1] // n_heads
    q, k, v = query @ w_q, key @ w_k, key @ w_v
    shape = (query.shape[0], n_heads, query.shape[1], key.shape[1])
    keep = None if mask is None else mask.expand(shape)
    outputs = []
    for h in range(n_heads):
        cols = slice(h * d_k, (h + 1) * d_k)
        scores = q[..., cols] @ k[..., cols].transpose(1, 2) / math.sqrt(d_k)
        if keep is not None:
            scores = scores.masked_fill(~keep[:, h], -1e9)
        outputs.append(torch.softmax(scores, 2) @ v[..., cols])
    return torch.cat(outputs, dim=-1) @ w_o


def back_again_and_signed(attend: Attend, x: Tensor, perm: Tensor) -> float:
    """Reorders the results the other way round, with the inverse of perm.
    The largest signed difference, without the absolute value."""
    shuffled = attend(x[perm])
    inverse = torch.argsort(perm)
    gap = shuffled - attend(x)[inverse]
    return float(gap.max())


def never_reordered_after_and_averaged(attend: Attend, x: Tensor, perm: Tensor) -> float:
    """The results of the second way are not reordered.
    The mean of the differences instead of the largest."""
    one = attend(torch.stack([x[i] for i in perm.tolist()]))
    two = attend(x)
    return torch.mean(torch.abs(one - two)).item()


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "multihead.split_heads": [every_hth_column_positions_first, overlapping_runs_in_float32],
    "multihead.merge_heads": [columns_in_turn_batch_lost, reshaped_at_once_through_numpy],
    "multihead.attention": [
        whole_width_and_no_output_projection,
        values_from_keys_and_an_average_of_nothing,
    ],
    "multihead.equivariance": [back_again_and_signed, never_reordered_after_and_averaged],
}
