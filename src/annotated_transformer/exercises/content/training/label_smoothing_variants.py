"""The smoothed loss with every part replaceable, from which its mistakes are made."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate


def log_softmax(logits: Tensor, pad_id: int) -> Tensor:
    return logits.log_softmax(-1)


def smoothed_loss(
    logits: Tensor,
    target: Tensor,
    eps: float = 0.1,
    pad_id: int = 0,
    *,
    share: Callable[[float, int], float] = lambda eps, size: eps / (size - 2),
    on_target: Callable[[float, float], float] = lambda eps, share: 1 - eps,
    pad_column: bool = True,  # set to 0 in q
    log_p: Callable[[Tensor, int], Tensor] = log_softmax,
    less_entropy: bool = False,
    sign: float = -1.0,
    drop_pads: bool = True,  # from the sum
    mean: str = "real",
    column_id: int | None = None,
    row_id: int | None = None,
) -> Tensor:
    size = logits.size(-1)
    small = share(eps, size)
    logs = log_p(logits, pad_id)
    q = torch.full_like(logs, small).scatter(-1, target[..., None], on_target(eps, small))
    if pad_column:
        column = torch.arange(size) == (pad_id if column_id is None else column_id)
        q = q.masked_fill(column, 0.0)
    loss = sign * (q * logs).sum(-1)  # (B, n)
    if less_entropy:
        loss = loss + torch.xlogy(q, q).sum(-1)
    real = target != (pad_id if row_id is None else row_id)
    kept = loss * real if drop_pads else loss
    if mean == "sentence":
        return (kept.sum(1) / real.sum(1).clamp(min=1)).mean()
    if mean == "position":
        return (kept.sum(0) / real.sum(0).clamp(min=1)).mean()
    if mean in ("largest", "median"):
        return loss[real].max() if mean == "largest" else loss[real].median()
    if mean in ("first", "last"):
        return loss[:, 0 if mean == "first" else -1].mean()
    if mean == "each":
        return loss[real]
    if mean == "none":
        return kept
    divisors: dict[str, float | Tensor] = {
        "real": real.sum(),
        "all": float(target.numel()),
        "batch": float(target.size(0)),
        "length": float(target.size(1)),
        "vocabulary": real.sum() * size,
        "everything": float(logits.numel()),
        "sum": 1.0,
        "pads": (~real).sum().clamp(min=1),
        "real + 1": real.sum() + 1,
    }
    return kept.sum() / divisors[mean]


def loss_with(**parts: Any) -> Candidate:
    return partial(smoothed_loss, **parts)


PAD_MASS = (
    "Pad gets a share of eps as if it were a word. It is never an answer: q is 0 in the column of "
    "pad, and eps is shared by the V-2 tokens that are neither pad nor the target."
)
PADS_COUNT = (
    "Positions whose target is pad count in the loss. There is nothing to predict: leave them out, "
    "`loss[target != pad_id].mean()`."
)
