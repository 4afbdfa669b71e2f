"""The loss of micro-batches with every part replaceable, from which its mistakes are made."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Tensors = list[Tensor]


def token_losses(
    logits: Tensors,
    targets: Tensors,
    pad_id: int,
    log_p: Callable[[Tensor], Tensor] = lambda part: part.log_softmax(-1),
) -> Tensors:
    return [
        -log_p(part).gather(-1, target[..., None]).squeeze(-1)
        for part, target in zip(logits, targets, strict=True)
    ]


def combined_losses(
    logits: Tensors,
    targets: Tensors,
    pad_id: int = 0,
    *,
    combine: Callable[[Tensors, Tensors], Any],
    drop_pads: bool = True,
    **options: Any,
) -> Any:
    """combine: of each micro-batch's losses (0 at pads) and its tokens that count (0 or 1)."""
    losses = token_losses(logits, targets, pad_id, **options)
    real = [
        (target != pad_id).to(part.dtype) if drop_pads else torch.ones_like(part)
        for part, target in zip(losses, targets, strict=True)
    ]
    return combine([part * kept for part, kept in zip(losses, real, strict=True)], real)


def combined_with(combine: Callable[[Tensors, Tensors], Any], **options: Any) -> Candidate:
    return partial(combined_losses, combine=combine, **options)


def total_of(parts: Tensors) -> Tensor:
    return torch.stack([part.sum() for part in parts]).sum()


def means_of(losses: Tensors, real: Tensors) -> Tensor:
    return torch.stack([a.sum() / b.sum() for a, b in zip(losses, real, strict=True)])


def right_mean(losses: Tensors, real: Tensors) -> Tensor:
    return total_of(losses) / total_of(real)


def plain_loss(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    result: Tensor = combined_losses(logits, targets, pad_id, combine=right_mean)
    return result
