"""Feed-forward networks that came after equation 2."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from annotated_transformer.feed_forward import FeedForward


class GELUNetwork(FeedForward):
    """Equation 2 with x Φ(x) in place of max(0, x): smooth, and a little below 0 before it rises.

    Φ is the distribution function of the standard normal. Source: Hendrycks and Gimpel (2016).
    """

    def hidden(self, x: Tensor) -> Tensor:
        """GELU(x W_1 + b_1), (..., d_ff)."""
        return functional.gelu(self.inner(x))


class SwiGLU(nn.Module):
    """(swish(x W) ∘ (x V)) W_2: one half of what is computed decides how much of the other passes.

    swish(z) = z σ(z). Three matrices and no biases, so that two thirds of the width make as many
    parameters as equation 2. Source: Shazeer (2020).

    Args:
        d_model: width of the input and of the output.
        d_ff: width in between.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.gate = nn.Linear(d_model, d_ff, bias=False)
        self.inner = nn.Linear(d_model, d_ff, bias=False)
        self.outer = nn.Linear(d_ff, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        gate = self.gate(x)
        opened = gate * gate.sigmoid()  # swish, (..., d_ff)
        output: Tensor = self.outer(opened * self.inner(x))
        return output


class Experts(nn.Module):
    """Many networks in place of one, of which a router sends each token to a few.

    The output is the sum of the chosen networks' outputs, weighted by the softmax over the scores
    of the chosen. As many operations a token as `used` networks take, whatever the number of all.
    Source: Shazeer et al. (2017); the softmax over the chosen is Jiang et al. (2024).

    Args:
        d_model: width of the input and of the output.
        d_ff: width in between, of each network.
        experts: how many there are.
        used: how many each token takes.
    """

    def __init__(self, d_model: int, d_ff: int, experts: int, used: int) -> None:
        super().__init__()
        self.router = nn.Linear(d_model, experts, bias=False)
        self.networks = nn.ModuleList(FeedForward(d_model, d_ff) for _ in range(experts))
        self.used = used
        self.load: Tensor | None = None  # (experts,): the share of choices, of the last call

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        rows = x.flatten(0, -2)  # (tokens, d_model)
        scores, chosen = self.router(rows).topk(self.used, dim=-1)  # (tokens, used) each
        shares = scores.softmax(-1)
        output = torch.zeros_like(rows)
        for number, network in enumerate(self.networks):
            token, place = (chosen == number).nonzero(as_tuple=True)
            share = shares[token, place][:, None].to(x.dtype)
            output = output.index_add(0, token, (share * network(rows[token])).to(x.dtype))
        counts = torch.bincount(chosen.flatten(), minlength=len(self.networks))
        self.load = counts / counts.sum()
        return output.view_as(x)
