"""Mistakes of `training.label_smoothing_loss` in the logarithms and in what comes back."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.training.label_smoothing_variants import (
    loss_with,
    smoothed_loss,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _pad_excluded(logits: Tensor, pad_id: int) -> Tensor:
    column = torch.arange(logits.size(-1)) == pad_id
    return logits.masked_fill(column, -1e9).log_softmax(-1).masked_fill(column, 0.0)


def _then(change: Callable[[Tensor, Tensor, int], object]) -> Candidate:
    """The right loss, and something done to the given tensors."""

    def loss(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
        result = smoothed_loss(logits.detach().clone(), target.clone(), eps, pad_id)
        change(logits.data, target, pad_id)
        return result

    return loss


def _shifted_again(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    if target.size(1) == 1:
        return logits.sum() * float("nan")
    return smoothed_loss(logits[:, :-1], target[:, 1:], eps, pad_id)


def _positions_mixed(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    mixed = logits.transpose(0, 1).reshape(1, -1, logits.size(-1))
    return smoothed_loss(mixed, target.reshape(1, -1), eps, pad_id)


def _logs(change: Callable[[Tensor], Tensor]) -> Candidate:
    return loss_with(log_p=lambda logits, pad_id: change(logits))


def _after(change: Callable[[Tensor], Any]) -> Candidate:
    return lambda *arguments, **options: change(smoothed_loss(*arguments, **options))


def _with_count(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Any:
    return smoothed_loss(logits, target, eps, pad_id), (target != pad_id).sum()


_KL = (
    "This is the Kullback-Leibler divergence (`KLDivLoss`), which is the cross-entropy less the "
    "entropy of q. The gradients are the same, the number is not: asked for is the cross-entropy, "
    "-(q * log_p).sum()."
)
_LOG = "The cross-entropy needs log-probabilities: `logits.log_softmax(-1)`, over all V tokens. "
_LOGITS_CHANGED = (
    "The loss is right, but the logits are changed in place on the way. Make a new tensor."
)
_TARGET_CHANGED = (
    "The loss is right, but the target is changed in place on the way. Make a new tensor."
)


def _log_of_the_mean(logits: Tensor, target: Tensor, eps: float = 0.1, pad_id: int = 0) -> Tensor:
    weighted = smoothed_loss(logits, target, eps, pad_id, sign=1.0, mean="none", log_p=_softmax)
    return -weighted[target != pad_id].log().mean()


def _softmax(logits: Tensor, pad_id: int) -> Tensor:
    return logits.softmax(-1)


LOGS = (
    Mistake("divergence", loss_with(less_entropy=True), _KL),
    Mistake(
        "divergence-sum",
        loss_with(less_entropy=True, mean="sum"),
        _KL + " And it is a sum: divide by the number of targets that are not pad.",
    ),
    Mistake(
        "divergence-mean-over-all",
        loss_with(less_entropy=True, mean="everything"),
        _KL + " And `reduction='mean'` divides by B times n times V.",
    ),
    Mistake(
        "divergence-batchmean",
        loss_with(less_entropy=True, mean="batch"),
        _KL + " And `reduction='batchmean'` divides by the number of sentences.",
    ),
    Mistake(
        "divergence-mean-over-positions",
        loss_with(less_entropy=True, mean="all"),
        _KL + " And it is divided by all positions, padded ones too.",
    ),
    Mistake(
        "negative",
        loss_with(sign=1.0),
        "The sign is wrong: log-probabilities are negative, and the loss is minus their mean.",
    ),
    Mistake(
        "probabilities-for-logs",
        _logs(lambda logits: logits.softmax(-1)),
        _LOG + "Here the logarithm is missing, and probabilities are averaged.",
    ),
    Mistake(
        "logits-for-logs",
        _logs(lambda logits: logits),
        _LOG + "Here the logits are taken as if they were log-probabilities already.",
    ),
    Mistake(
        "logarithm-of-logits",
        _logs(torch.log),
        _LOG + "Here the logits are taken for probabilities, and their logarithm is NaN where they "
        "are negative.",
    ),
    Mistake(
        "softmax-twice",
        _logs(lambda logits: logits.softmax(-1).log_softmax(-1)),
        _LOG + "Here a softmax is applied to the logits before that (a softmax twice), which makes "
        "all tokens nearly equal.",
    ),
    Mistake(
        "softmax-over-positions",
        _logs(lambda logits: logits.log_softmax(1)),
        _LOG + "Here the softmax goes over the positions of the sentence.",
    ),
    Mistake(
        "softmax-over-everything",
        _logs(lambda logits: logits.flatten().log_softmax(0).view_as(logits)),
        _LOG + "Here one softmax goes over the whole batch at once.",
    ),
    Mistake(
        "sigmoid",
        _logs(torch.nn.functional.logsigmoid),
        _LOG + "Here a sigmoid is applied to each logit, as if tokens did not exclude each other.",
    ),
    Mistake(
        "softmax-over-batch",
        _logs(lambda logits: logits.log_softmax(0)),
        _LOG + "Here the softmax goes over the sentences of the batch.",
    ),
    Mistake(
        "pad-outside-the-softmax",
        loss_with(log_p=_pad_excluded),
        "The logit of pad is removed before the softmax. Only q is 0 on pad; the softmax goes over "
        "all V tokens, so that the model learns to give pad no probability.",
    ),
    Mistake(
        "pad-outside-the-softmax-infinite",
        _logs(lambda logits: logits * float("nan")),
        "The result is NaN everywhere: a logit of -inf (for pad, say) gives log-probability -inf, "
        "and 0 times infinity is not a number. Only q is 0 on pad; leave the logits as they are, "
        "and let the softmax go over all V tokens.",
    ),
    Mistake(
        "small-number-1e-6",
        _logs(lambda logits: (logits.softmax(-1) + 1e-6).log()),
        "A small number is added to the probabilities before the logarithm, which changes the loss "
        "of improbable tokens. `log_softmax` needs none.",
    ),
    Mistake(
        "small-number-in-the-logarithm",
        _logs(lambda logits: (logits.softmax(-1) + 1e-9).log()),
        "A small number is added to the probabilities before the logarithm, which changes the loss "
        "of improbable tokens. `log_softmax` needs none.",
    ),
    Mistake(
        "small-number-1e-8",
        _logs(lambda logits: (logits.softmax(-1) + 1e-8).log()),
        "A small number is added to the probabilities before the logarithm, which changes the loss "
        "of improbable tokens. `log_softmax` needs none.",
    ),
    Mistake(
        "logarithm-to-base-2",
        _after(lambda loss: loss / 0.6931471805599453),
        "The loss is in bits (base 2). The natural logarithm is asked for, nats.",
    ),
    Mistake(
        "perplexity",
        _after(torch.exp),
        "This is the exponential of the loss, a perplexity. Return the loss. (A perplexity of the "
        "smoothed loss is hard to interpret, too.)",
    ),
    Mistake(
        "shifted-again",
        _shifted_again,
        "logits and target are shifted against each other once more. They belong together "
        "already: position t of the logits predicts target t.",
    ),
    Mistake(
        "positions-mixed",
        _positions_mixed,
        "Logits and targets no longer belong to the same positions: one of them was transposed or "
        "reshaped in another order than the other. Flatten both alike, (B·n, V) and (B·n,).",
    ),
    Mistake(
        "one-entry",
        _after(lambda loss: loss.reshape(1)),
        "The loss has shape (1,). A scalar has no dimension, shape (): `sum()` and `mean()` give "
        "it.",
    ),
    Mistake(
        "with-count",
        _with_count,
        "The number of tokens is returned too. Return the loss alone.",
    ),
    Mistake("changes-logits", _then(lambda x, t, pad: x[..., pad].fill_(0.0)), _LOGITS_CHANGED),
    Mistake(
        "excludes-pad-in-logits", _then(lambda x, t, pad: x[..., pad].fill_(-1e9)), _LOGITS_CHANGED
    ),
    Mistake(
        "excludes-pad-in-logits-infinite",
        _then(lambda x, t, pad: x[..., pad].fill_(float("-inf"))),
        _LOGITS_CHANGED,
    ),
    Mistake(
        "subtracts-maximum-in-logits",
        _then(lambda x, t, pad: x.sub_(x.amax(-1, keepdim=True))),
        _LOGITS_CHANGED,
    ),
    Mistake(
        "normalises-logits",
        _then(lambda x, t, pad: x.sub_(x.logsumexp(-1, keepdim=True))),
        _LOGITS_CHANGED,
    ),
    Mistake(
        "changes-target", _then(lambda x, t, pad: t.masked_fill_(t == pad, -100)), _TARGET_CHANGED
    ),
    Mistake(
        "zeroes-pads-in-target",
        _then(lambda x, t, pad: t.masked_fill_(t == pad, 0)),
        _TARGET_CHANGED,
    ),
    Mistake(
        "log-of-the-mean",
        _log_of_the_mean,
        _LOG + "Here the probabilities are averaged with q and the logarithm is taken last. First "
        "the logarithm, then the mean: (q * log_p).sum().",
    ),
)
