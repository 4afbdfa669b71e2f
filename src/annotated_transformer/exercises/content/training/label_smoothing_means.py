"""Mistakes of `training.label_smoothing_loss` in the mean over real tokens."""

import torch
from torch import Tensor

from annotated_transformer.exercises.content.training.label_smoothing_variants import (
    PAD_MASS,
    PADS_COUNT,
    loss_with,
)
from annotated_transformer.exercises.exercise import Mistake


def _pads_as_targets(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    """The column of pad is zeroed before the targets are written, so that pads are targets."""
    log_p = logits.log_softmax(-1)
    q = torch.full_like(log_p, eps / (logits.size(-1) - 2))
    q[..., pad_id] = 0.0
    q.scatter_(-1, target[..., None], 1 - eps)
    return -(q * log_p).sum(-1).mean()


_MEAN = (
    "The sum is divided by {}. The mean goes over the targets that are not pad: divide by "
    "`(target != pad_id).sum()`, or the loss depends on how much a batch is padded."
)


MEANS = (
    Mistake("mean-over-all", loss_with(mean="all"), _MEAN.format("all positions, B times n")),
    Mistake("mean-over-batch", loss_with(mean="batch"), _MEAN.format("the number of sentences")),
    Mistake("mean-over-length", loss_with(mean="length"), _MEAN.format("the length n")),
    Mistake(
        "mean-over-vocabulary",
        loss_with(mean="vocabulary"),
        _MEAN.format("the number of tokens times V (a mean over every entry of q * log_p)"),
    ),
    Mistake(
        "mean-over-everything",
        loss_with(mean="everything"),
        _MEAN.format(
            "B times n times V, every entry of q * log_p (`.mean()` without the `.sum(-1)`)"
        ),
    ),
    Mistake("mean-over-pads", loss_with(mean="pads"), _MEAN.format("the number of pads")),
    Mistake(
        "one-too-many", loss_with(mean="real + 1"), _MEAN.format("one more than the real tokens")
    ),
    Mistake("sum", loss_with(mean="sum"), _MEAN.format("nothing")),
    Mistake("sum-over-pads-too", loss_with(mean="sum", drop_pads=False), PADS_COUNT),
    Mistake(
        "mean-of-sentences",
        loss_with(mean="sentence"),
        "Each sentence is averaged on its own, then the sentences are averaged. A word in a short "
        "sentence then weighs more than one in a long sentence: take one mean over all real "
        "tokens.",
    ),
    Mistake(
        "mean-of-positions",
        loss_with(mean="position"),
        "Each position is averaged over the batch on its own, then the positions are averaged. "
        "Take one mean over all real tokens.",
    ),
    Mistake(
        "largest", loss_with(mean="largest"), "The largest loss is returned instead of the mean."
    ),
    Mistake("median", loss_with(mean="median"), "The median is returned instead of the mean."),
    Mistake(
        "first-position",
        loss_with(mean="first"),
        "Only the first position counts. The mean goes over all targets that are not pad.",
    ),
    Mistake(
        "last-position",
        loss_with(mean="last"),
        "Only the last position counts. The mean goes over all targets that are not pad.",
    ),
    Mistake(
        "not-reduced",
        loss_with(mean="none"),
        "The loss of every position is returned, (B, n). Asked for is one number, the mean over "
        "the targets that are not pad.",
    ),
    Mistake(
        "not-reduced-pads-too",
        loss_with(mean="none", drop_pads=False),
        "The loss of every position is returned, (B, n). Asked for is one number, the mean over "
        "the targets that are not pad.",
    ),
    Mistake(
        "not-reduced-flat",
        loss_with(mean="each"),
        "The loss of every real token is returned. Asked for is one number, their mean: `.mean()`.",
    ),
    Mistake("pads-are-targets", _pads_as_targets, PADS_COUNT),
    Mistake("pads-in-the-mean", loss_with(mean="all", drop_pads=False), PADS_COUNT),
    Mistake(
        "pads-in-the-sum",
        loss_with(drop_pads=False),
        "Positions whose target is pad are in the sum, though not in the number by which it is "
        "divided. Leave them out of both: `loss[target != pad_id].mean()`.",
    ),
    Mistake(
        "pads-and-their-column",
        loss_with(mean="all", drop_pads=False, pad_column=False),
        PAD_MASS + " And positions whose target is pad count in the mean; leave them out.",
    ),
)
