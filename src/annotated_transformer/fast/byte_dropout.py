"""Dropout from one random byte an element: a named departure that saves time on a CPU.

PyTorch draws one Bernoulli number an element on the CPU. Eight bytes of one 64-bit draw do the
same work in less than half the time (benchmarks/README.md), but a probability is then a multiple of
1/256.
"""

import torch
from torch import Tensor, nn

SMALLEST = torch.iinfo(torch.int64).min


class ByteDropout(nn.Module):
    """Dropout whose probability is rounded to a multiple of 1/256."""

    def __init__(self, p: float) -> None:
        super().__init__()
        self.threshold = round(256 * p)  # bytes below it are dropped
        self.p = self.threshold / 256

    def forward(self, x: Tensor) -> Tensor:
        """(...) -> (...)."""
        if not self.training or self.threshold == 0:
            return x
        draws = torch.empty((x.numel() + 7) // 8, dtype=torch.int64, device=x.device)
        draws.random_(SMALLEST, None)  # the full range: every byte is uniform
        # Every type of x holds the numbers to 255 exactly, and compares faster than it takes bools.
        kept = draws.view(torch.uint8)[: x.numel()].view(x.shape).to(x.dtype).ge_(self.threshold)
        return x * kept.mul_(1 / (1 - self.p))


def use_byte_dropout(model: nn.Module) -> None:
    """Replace every dropout of the model, in place."""
    for module in model.modules():
        for name, child in module.named_children():
            if isinstance(child, nn.Dropout):
                setattr(module, name, ByteDropout(child.p))
