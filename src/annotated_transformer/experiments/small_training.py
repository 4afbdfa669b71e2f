"""Training a small model in a moment: Adam, a rate that rises and then falls to nearly nothing."""

from collections.abc import Callable

import torch
from torch import Tensor, nn


def train_briefly(
    model: nn.Module, draw_loss: Callable[[], Tensor], steps: int, peak: float, warmup: int
) -> None:
    """Take so many steps, each down the gradient of a loss that is drawn for it.

    Args:
        draw_loss: of the model, on a batch of its own at each call.
        steps: how many.
        peak: the learning rate from which it falls in a line over all steps.
        warmup: steps in which it rises to that line.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=peak, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warmup, 1 - 0.99 * step / steps)
    )
    for _ in range(steps):
        loss = draw_loss()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()
