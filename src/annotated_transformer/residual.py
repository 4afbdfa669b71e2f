"""Residual connections and layer normalisation (sections 3.1 and 5.4)."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    """Give every position mean 0 and variance 1 over its features, then scale and shift.

    The teaching path; the module `LayerNorm` runs PyTorch's own. Source: Ba, Kiros and Hinton
    (2016), which the paper cites in section 3.1.

    Args:
        x: (..., d_model).
        gamma: the gain, (d_model,).
        beta: the shift, (d_model,).
        eps: added to the variance, inside the square root.
    """
    mean = x.mean(-1, keepdim=True)  # (..., 1)
    variance = (x - mean).square().mean(-1, keepdim=True)  # of the population: divided by d_model
    return gamma * (x - mean) / (variance + eps).sqrt() + beta


class LayerNorm(nn.Module):
    """Layer normalisation with a gain of ones and a shift of zeros at the start."""

    def __init__(self, d_model: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(d_model))
        self.beta = nn.Parameter(torch.zeros(d_model))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model), given back in x's precision."""
        normal = functional.layer_norm(x, self.gamma.shape, self.gamma, self.beta, self.eps)
        return normal.to(x.dtype)  # in mixed precision it may be wider


class ResidualConnection(nn.Module):
    """One sub-layer wrapped as in section 3.1: LayerNorm(x + Dropout(Sublayer(x))).

    Args:
        d_model: width of x.
        dropout: P_drop of section 5.4, on the sub-layer's output before it is added.
        norm: "post" is the paper's. "pre" is the later order x + Dropout(Sublayer(LayerNorm(x))).
            "none" leaves the normalisation out.
        eps: of the layer normalisation.
    """

    def __init__(
        self,
        d_model: int,
        dropout: float,
        norm: Literal["post", "pre", "none"] = "post",
        eps: float = 1e-6,
    ) -> None:
        super().__init__()
        self.norm = nn.Identity() if norm == "none" else LayerNorm(d_model, eps)
        self.dropout = nn.Dropout(dropout)
        self.norm_comes_first = norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """(batch, n, d_model) -> (batch, n, d_model)."""
        if self.norm_comes_first:
            normalised_input: Tensor = self.norm(x)
            return x + self.dropout(sublayer(normalised_input))
        output: Tensor = self.norm(x + self.dropout(sublayer(x)))
        return output
