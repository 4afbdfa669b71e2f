"""Wrong answers of outsiders about attention, each with two mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor


def last_axis_and_overflow(x: Tensor, dim: int = -1) -> Tensor:
    """Adds up along the last axis, whatever dim says.
    Takes no maximum off, so large scores overflow."""
    e = torch.exp(x)
    z = e.sum(-1, keepdim=True)
    return e / z


def one_maximum_without_gradient(x: Tensor, dim: int = -1) -> Tensor:
    """Takes off one maximum of the whole tensor, so low rows become 0 / 0.
    Works on a detached copy: no gradient comes back."""
    y = x.detach().clone()
    y -= y.max()
    y = y.exp()
    return y / torch.sum(y, dim, keepdim=True)


def diagonal_without_square_and_plus(p: Tensor) -> Tensor:
    """On the diagonal stands p_i, not p_i - p_i squared.
    Off the diagonal the minus is forgotten."""
    n = len(p)
    jac = p.new_zeros(n, n)
    for i in range(n):
        for j in range(n):
            jac[i, j] = p[i] if i == j else p[i] * p[j]
    return jac


def only_the_diagonal_in_float32(p: Tensor) -> Tensor:
    """Everything off the diagonal is left at 0.
    The result is always float32."""
    size = p.shape[0]
    out = torch.zeros(size, size)
    for k in range(size):
        out[k, k] = p[k] * (1 - p[k])
    return out


def divided_by_dk_over_queries(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Divides by d_k instead of its root.
    The softmax runs over the queries."""
    s = torch.einsum("...id,...jd->...ij", q, k) / k.shape[-1]
    if mask is not None:
        s = torch.where(mask, s, torch.full_like(s, -torch.inf))
    att = torch.nn.functional.softmax(s, dim=-2)
    att = torch.nan_to_num(att)
    if mask is not None:
        att = att * mask.any(dim=-1, keepdim=True)
    return torch.einsum("...ij,...jd->...id", att, v), att


def masked_too_late_scaled_by_dv(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Masks the weights after the softmax, so a row no longer sums to 1.
    Takes the root of the width of the values instead of that of the keys."""
    width = v.shape[-1]
    similarity = (q @ k.mT) * width**-0.5
    similarity = similarity - similarity.amax(-1, keepdim=True)
    p = similarity.exp()
    p = p / p.sum(-1, keepdim=True)
    if mask is not None:
        p = p * mask
    return p @ v, p


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "attention.softmax": [last_axis_and_overflow, one_maximum_without_gradient],
    "attention.softmax_jacobian": [
        diagonal_without_square_and_plus,
        only_the_diagonal_in_float32,
    ],
    "attention.scaled_dot_product": [
        divided_by_dk_over_queries,
        masked_too_late_scaled_by_dv,
    ],
}
