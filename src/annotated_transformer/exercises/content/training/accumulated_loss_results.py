"""Mistakes of `training.accumulated_loss` in the losses themselves and in what comes back."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.training.accumulated_loss_variants import (
    Tensors,
    combined_with,
    means_of,
    plain_loss,
    right_mean,
)
from annotated_transformer.exercises.exercise import Mistake


def _padded_dropped(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    whole = [(target != pad_id).all(1) for target in targets]
    return plain_loss(
        [part[kept] for part, kept in zip(logits, whole, strict=True)],
        [target[kept] for target, kept in zip(targets, whole, strict=True)],
        pad_id,
    )


def _emptied(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    loss = plain_loss(logits, targets, pad_id)
    logits.clear()
    targets.clear()
    return loss


def _smoothed(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    parts = [part.flatten(0, 1) for part in logits]
    labels = torch.cat([target.flatten() for target in targets])
    return F.cross_entropy(torch.cat(parts), labels, ignore_index=pad_id, label_smoothing=0.1)


def _shifted(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    if min(target.size(1) for target in targets) < 2:
        return logits[0].sum() * float("nan")
    before, after = [part[:, :-1] for part in logits], [target[:, 1:] for target in targets]
    return plain_loss(before, after, pad_id)


def _changed(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    loss = plain_loss(logits, targets, pad_id)
    for target in targets:
        target[target == pad_id] = -100
    return loss


_LOGS = "The cross-entropy needs log-probabilities: `log_softmax` of the logits over V. "


def _kept(logits: Tensors, targets: Tensors) -> tuple[Tensor, Tensor]:
    """All positions of all micro-batches in one row."""
    labels = torch.cat([target.flatten() for target in targets])
    return torch.cat([part.flatten(0, 1) for part in logits]), labels


def _accuracy(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    scores, labels = _kept(logits, targets)
    return (scores.argmax(-1) == labels)[labels != pad_id].to(scores.dtype).mean()


def _eos_left_out(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    scores, labels = _kept(logits, targets)
    real = (labels != pad_id) & (labels != 2)
    return F.cross_entropy(scores[real], labels[real])


def _without_pad_logit(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    scores, labels = _kept(logits, targets)
    scores = scores.masked_fill(torch.arange(scores.size(1)) == pad_id, -1e9)
    return F.cross_entropy(scores, labels, ignore_index=pad_id)


_ACCURACY = (
    "This is the accuracy, the share of tokens whose label has the largest logit. Asked for is the "
    "cross-entropy, from `log_softmax` of the logits at the labels."
)


RESULTS = (
    Mistake(
        "list-of-means",
        combined_with(lambda losses, real: list(means_of(losses, real))),
        "A list of losses is returned, one for each micro-batch. Asked for is one number for all "
        "of them.",
    ),
    Mistake(
        "losses-of-micro-batches",
        combined_with(means_of),
        "One loss for each micro-batch is returned. Asked for is one number for all of them.",
    ),
    Mistake(
        "pad-always-0",
        lambda logits, targets, pad_id=0: plain_loss(logits, targets, 0),
        "pad_id is ignored: token 0 is taken for pad. Use the argument.",
    ),
    Mistake(
        "smoothed",
        _smoothed,
        "The loss is smoothed. Asked for is the plain cross-entropy.",
    ),
    Mistake(
        "shifted",
        _shifted,
        "logits and targets are shifted against each other. They belong together already: position "
        "t of the logits predicts target t.",
    ),
    Mistake(
        "negative",
        combined_with(lambda losses, real: -right_mean(losses, real)),
        "The sign is wrong: the loss is minus the mean log-probability, and positive.",
    ),
    Mistake(
        "logits-for-logs",
        combined_with(right_mean, log_p=lambda part: part),
        _LOGS + "Here the logits are taken as if they were log-probabilities already (`nll_loss` "
        "expects those).",
    ),
    Mistake(
        "probabilities-for-logs",
        combined_with(right_mean, log_p=lambda part: part.softmax(-1)),
        _LOGS + "Here the logarithm is missing.",
    ),
    Mistake(
        "softmax-twice",
        combined_with(right_mean, log_p=lambda part: part.softmax(-1).log_softmax(-1)),
        _LOGS + "Here a softmax is applied before that: `cross_entropy` expects logits and does it "
        "itself.",
    ),
    Mistake(
        "softmax-over-positions",
        combined_with(right_mean, log_p=lambda part: part.log_softmax(1)),
        _LOGS + "Here it goes over the positions of the sentence.",
    ),
    Mistake(
        "perplexity",
        combined_with(lambda losses, real: right_mean(losses, real).exp()),
        "This is exp of the loss, the perplexity. Return the loss.",
    ),
    Mistake(
        "one-entry",
        combined_with(lambda losses, real: right_mean(losses, real).reshape(1)),
        "The loss has shape (1,). A scalar has no dimension, shape ().",
    ),
    Mistake(
        "logarithm-to-base-2",
        combined_with(lambda losses, real: right_mean(losses, real) / 0.6931471805599453),
        "The loss is in bits (base 2). The natural logarithm is asked for, nats.",
    ),
    Mistake(
        "softmax-over-batch",
        combined_with(right_mean, log_p=lambda part: part.log_softmax(0)),
        _LOGS + "Here it goes over the sentences of the batch.",
    ),
    Mistake(
        "joined-unpadded",
        lambda logits, targets, pad_id=0: plain_loss(
            [torch.cat(logits)], [torch.cat(targets)], pad_id
        ),
        "`torch.cat` joins the micro-batches along the batch, which raises where their lengths "
        "differ. Flatten each to (b·n, V) and (b·n,) first.",
    ),
    Mistake(
        "padded-sentences-dropped",
        _padded_dropped,
        "Whole sentences that hold padding are left out. Only the padded *positions* are.",
    ),
    Mistake(
        "positions-mixed",
        lambda logits, targets, pad_id=0: plain_loss(
            [part.transpose(0, 1).reshape(part.shape) for part in logits], targets, pad_id
        ),
        "Logits and targets no longer belong to the same positions: one of them was transposed or "
        "reshaped in another order than the other. Flatten both alike.",
    ),
    Mistake(
        "with-count",
        lambda logits, targets, pad_id=0: (
            plain_loss(logits, targets, pad_id),
            sum(int((target != pad_id).sum()) for target in targets),
        ),
        "The number of tokens is returned too. Return the loss alone.",
    ),
    Mistake(
        "changes-targets",
        _changed,
        "The loss is right, but the targets are changed in place on the way. Make a new tensor.",
    ),
    Mistake(
        "empties-lists",
        _emptied,
        "The loss is right, but the given lists are emptied on the way (`pop`). Loop over them "
        "instead.",
    ),
    Mistake("accuracy", _accuracy, _ACCURACY),
    Mistake(
        "eos-left-out",
        _eos_left_out,
        "Targets that are the end of sentence are left out as well. Only pad is: the model must "
        "learn to stop.",
    ),
    Mistake(
        "pad-outside-the-softmax",
        _without_pad_logit,
        "The logit of pad is removed before the softmax. Only targets that are pad are left out; "
        "the softmax goes over all V tokens.",
    ),
)
