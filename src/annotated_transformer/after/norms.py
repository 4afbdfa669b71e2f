"""Norms that came after the paper's LayerNorm."""

import torch
from torch import Tensor, nn


class RMSNorm(nn.Module):
    """x divided by the root of the mean of its squares, times a learned gain.

    The mean is not taken away and there is no shift. Source: Zhang and Sennrich (2019).

    Args:
        d_model: width of x.
        eps: added to the mean of the squares, inside the root.
    """

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model), given back in x's precision."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))  # squares overflow in 16 bits
        mean_square = wide.square().mean(-1, keepdim=True)  # (..., 1)
        normal = wide / (mean_square + self.eps).sqrt()
        return (self.gamma * normal).to(x.dtype)
