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


class SiLUNetwork(FeedForward):
    """Equation 2 with x σ(x), which is also called swish, in place of max(0, x): Marian's.

    Source: Elfwing et al. (2017).
    """

    def hidden(self, x: Tensor) -> Tensor:
        """SiLU(x W_1 + b_1), (..., d_ff)."""
        return functional.silu(self.inner(x))


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
    of the chosen (Jiang et al., 2024); of a single one by the softmax over all, or its weight would
    be 1 and the router learn nothing (Fedus et al., 2021). As many operations a token as `used`
    networks take, whatever the number of all. Source: Shazeer et al. (2017).

    Left alone, a router may send all tokens to the same few. With `balance`, each batch in training
    raises the bias of an expert that too few tokens went to and lowers that of one with too many,
    padding counted as a token. The bias acts on the choice alone, not on the weights (Wang et al.,
    2024).

    Args:
        d_model: width of the input and of the output.
        d_ff: width in between, of each network.
        experts: how many there are.
        used: how many each token takes.
        balance: by how much a batch raises or lowers a bias.
    """

    def __init__(
        self, d_model: int, d_ff: int, experts: int, used: int, balance: float = 0.0
    ) -> None:
        super().__init__()
        self.router = nn.Linear(d_model, experts, bias=False)
        self.networks = nn.ModuleList(FeedForward(d_model, d_ff) for _ in range(experts))
        self.used, self.balance = used, balance
        self.expert_bias: nn.Parameter | None = None
        if balance:  # kept with the weights, but no gradient moves it
            self.expert_bias = nn.Parameter(torch.zeros(experts), requires_grad=False)
        self.load: Tensor | None = None  # (experts,): the share of choices, of the last call

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        rows = x.flatten(0, -2)  # (tokens, d_model)
        scores = self.router(rows)  # (tokens, experts)
        biased = scores if self.expert_bias is None else scores + self.expert_bias
        chosen = biased.topk(self.used, dim=-1).indices  # (tokens, used)
        if self.used == 1:
            shares = scores.softmax(-1).gather(-1, chosen)
        else:
            shares = scores.gather(-1, chosen).softmax(-1)
        output = torch.zeros_like(rows)
        for number, network in enumerate(self.networks):
            token, place = (chosen == number).nonzero(as_tuple=True)
            share = shares[token, place][:, None].to(x.dtype)
            output = output.index_add(0, token, (share * network(rows[token])).to(x.dtype))
        counts = torch.bincount(chosen.flatten(), minlength=len(self.networks))
        self.load = counts / counts.sum()
        if self.training and self.expert_bias is not None:
            with torch.no_grad():
                self.expert_bias.add_((counts.float().mean() - counts).sign(), alpha=self.balance)
        return output.view_as(x)
