"""Wrong answers of outsiders to the warm-up, each with two mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor


def transposed_table_of_float32(a: Tensor, b: Tensor) -> Tensor:
    """Rows of the result belong to b, columns to a.
    The result is always float32."""
    n, m = a.shape[-2], b.shape[-2]
    out = torch.zeros(*a.shape[:-2], m, n)
    for i in range(n):
        for j in range(m):
            out[..., j, i] = (a[..., i, :] * b[..., j, :]).sum(-1)
    return out


def scaled_and_without_the_first_feature(a: Tensor, b: Tensor) -> Tensor:
    """Counts the features from 1, so the first is left out.
    Divides by the number of features, as if a mean were asked for."""
    d = a.shape[-1]
    result = a.new_zeros(*a.shape[:-1], b.shape[-2])
    for f in range(1, d):
        result = result + a[..., :, None, f] * b[..., None, :, f]
    return (result / d).to(a.dtype)


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "warmup.pairwise_dot": [transposed_table_of_float32, scaled_and_without_the_first_feature],
}
