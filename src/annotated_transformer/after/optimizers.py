"""An optimizer that came after Adam."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.optim import Muon

from annotated_transformer.transformer import Transformer

MEAN = {"momentum_buffer"}  # what Muon keeps of a matrix


class MuonAndAdam(torch.optim.Optimizer):
    """Muon for the matrices inside the layers, Adam for embeddings, gains and biases.

    Muon keeps one running mean of each matrix's gradients, and steps by that matrix with all its
    singular values brought near 1: no direction is learned faster than another. Source: Jordan et
    al. (2024); scaled so that a step is as long as Adam's, at the same rate (Liu et al., 2025).

    Args:
        model: whose parameters are learned; the matrices of its two stacks are Muon's.
        weight_decay: what a step takes of each of Muon's matrices, times the rate.
        adam: the options of Adam.
    """

    def __init__(self, model: Transformer, weight_decay: float, **adam: Any) -> None:
        layers = [*model.encoder.modules(), *model.decoder.modules()]
        matrices = [layer.weight for layer in layers if isinstance(layer, nn.Linear)]
        inside = {id(matrix) for matrix in matrices}
        others = [weight for weight in model.parameters() if id(weight) not in inside]
        rate = adam["lr"]
        self.parts: tuple[torch.optim.Optimizer, ...] = (
            Muon(matrices, rate, weight_decay, adjust_lr_fn="match_rms_adamw"),
            torch.optim.Adam(others, **adam),
        )
        super().__init__(model.parameters(), {})
        # One state and one list of groups: whoever sets a rate or keeps the moments sees both.
        self.param_groups = [group for part in self.parts for group in part.param_groups]
        self._share()
        self.param_groups[0]["keeps"] = MEAN  # Muon's group, the first

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As of any optimizer: both go on with the moments and rates that were loaded."""
        super().load_state_dict(state_dict)
        self._share()

    def _share(self) -> None:
        groups = iter(self.param_groups)
        for part in self.parts:
            part.state = self.state
            part.param_groups = [next(groups) for _ in part.param_groups]

    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Let each take its step, on the same gradients."""
        loss = None if closure is None else closure()
        for part in self.parts:
            part.step()
        return loss
