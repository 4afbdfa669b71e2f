"""Named mistakes of `training.accumulated_loss`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake

Tensors = list[Tensor]


def _token_losses(
    logits: Tensors,
    targets: Tensors,
    pad_id: int,
    log_p: Callable[[Tensor], Tensor] = lambda part: part.log_softmax(-1),
) -> Tensors:
    return [
        -log_p(part).gather(-1, target[..., None]).squeeze(-1)
        for part, target in zip(logits, targets, strict=True)
    ]


def _combined(
    logits: Tensors,
    targets: Tensors,
    pad_id: int = 0,
    *,
    combine: Callable[[Tensors, Tensors], Any],
    drop_pads: bool = True,
    **options: Any,
) -> Any:
    """combine: of each micro-batch's losses (0 at pads) and its tokens that count (0 or 1)."""
    losses = _token_losses(logits, targets, pad_id, **options)
    real = [
        (target != pad_id).to(part.dtype) if drop_pads else torch.ones_like(part)
        for part, target in zip(losses, targets, strict=True)
    ]
    return combine([part * kept for part, kept in zip(losses, real, strict=True)], real)


def _with(combine: Callable[[Tensors, Tensors], Any], **options: Any) -> Candidate:
    return partial(_combined, combine=combine, **options)


def _total(parts: Tensors) -> Tensor:
    return torch.stack([part.sum() for part in parts]).sum()


def _means(losses: Tensors, real: Tensors) -> Tensor:
    return torch.stack([a.sum() / b.sum() for a, b in zip(losses, real, strict=True)])


def _sentences(losses: Tensors, real: Tensors) -> Tensor:
    pairs = zip(losses, real, strict=True)
    return torch.cat([a.sum(1) / b.sum(1).clamp(min=1) for a, b in pairs])


def _right(losses: Tensors, real: Tensors) -> Tensor:
    return _total(losses) / _total(real)


def _plain(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    result: Tensor = _combined(logits, targets, pad_id, combine=_right)
    return result


def _weighted(weight: Callable[[Tensor], int]) -> Callable[[Tensors, Tensors], Tensor]:
    """Means of micro-batches, weighted by something of their shape."""

    def combine(losses: Tensors, real: Tensors) -> Tensor:
        weights = torch.tensor([float(weight(part)) for part in losses])
        return (_means(losses, real) * weights).sum() / weights.sum()

    return combine


def _running(losses: Tensors, real: Tensors) -> Tensor:
    """The running mean of means, each new one weighing half."""
    means = _means(losses, real)
    result = means[0]
    for mean in means[1:]:
        result = (result + mean) / 2
    return result


def _running_count(losses: Tensors, real: Tensors) -> Tensor:
    counts = torch.stack([part.sum() for part in real]).cumsum(0)
    return (torch.stack([part.sum() for part in losses]) / counts).sum()


def _running_count_of_means(losses: Tensors, real: Tensors) -> Tensor:
    means = _means(losses, real)
    return (means / torch.arange(1, len(means) + 1)).sum()


def _padded_dropped(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    whole = [(target != pad_id).all(1) for target in targets]
    return _plain(
        [part[kept] for part, kept in zip(logits, whole, strict=True)],
        [target[kept] for target, kept in zip(targets, whole, strict=True)],
        pad_id,
    )


def _emptied(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    loss = _plain(logits, targets, pad_id)
    logits.clear()
    targets.clear()
    return loss


def _over(divisor: Callable[[Tensors, Tensors], Any]) -> Candidate:
    return _with(lambda losses, real: _total(losses) / divisor(losses, real))


def _smoothed(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    parts = [part.flatten(0, 1) for part in logits]
    labels = torch.cat([target.flatten() for target in targets])
    return F.cross_entropy(torch.cat(parts), labels, ignore_index=pad_id, label_smoothing=0.1)


def _shifted(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    if min(target.size(1) for target in targets) < 2:
        return logits[0].sum() * float("nan")
    before, after = [part[:, :-1] for part in logits], [target[:, 1:] for target in targets]
    return _plain(before, after, pad_id)


def _changed(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    loss = _plain(logits, targets, pad_id)
    for target in targets:
        target[target == pad_id] = -100
    return loss


_MEAN_OF_MEANS = (
    "Each micro-batch is averaged on its own, then the averages are averaged. A token in a micro-"
    "batch with little text then weighs more than one in a full one (the bug that was found in "
    "transformers, issue 34191). Add up all losses and divide once by all real tokens."
)
_WEIGHTED = (
    "The means of the micro-batches are weighted by {}. What counts is the number of tokens that "
    "are not pad: add up all losses and divide once by all real tokens."
)
_PADS = (
    "Positions whose target is pad count. There is nothing to predict: leave them out of the sum "
    "and of the number of tokens (`ignore_index=pad_id`, `target != pad_id`)."
)
_DIVISOR = (
    "The losses of all tokens are added up and divided by {}. Divide by the number of targets that "
    "are not pad, in all micro-batches together."
)
_ONE = "Only the {} micro-batch counts. The loss is the mean over the tokens of all of them."
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


MISTAKES = (
    Mistake(
        "mean-of-means", _with(lambda losses, real: _means(losses, real).mean()), _MEAN_OF_MEANS
    ),
    Mistake(
        "sum-of-means",
        _with(lambda losses, real: _means(losses, real).sum()),
        "The means of the micro-batches are added up, so the loss grows with their number. Add up "
        "the losses of all tokens and divide once by all real tokens.",
    ),
    Mistake(
        "mean-of-means-with-pads",
        _with(lambda losses, real: _means(losses, real).mean(), drop_pads=False),
        _MEAN_OF_MEANS + " " + _PADS,
    ),
    Mistake(
        "weighted-by-sentences",
        _with(_weighted(lambda part: part.size(0))),
        _WEIGHTED.format("their number of sentences"),
    ),
    Mistake(
        "weighted-by-positions",
        _with(_weighted(lambda part: part.numel())),
        _WEIGHTED.format("their number of positions, padded ones too"),
    ),
    Mistake(
        "weighted-by-length",
        _with(_weighted(lambda part: part.size(1))),
        _WEIGHTED.format("their length n"),
    ),
    Mistake(
        "mean-of-sentences",
        _with(lambda losses, real: _sentences(losses, real).mean()),
        "Each sentence is averaged on its own, then the sentences are averaged. Every token weighs "
        "the same: add up all losses and divide once by all real tokens.",
    ),
    Mistake(
        "running-mean",
        _with(_running),
        "The means are averaged two by two, so the last micro-batch weighs half of all. Add up the "
        "losses of all tokens and divide once by all real tokens.",
    ),
    Mistake("pads-count", _with(_right, drop_pads=False), _PADS),
    Mistake(
        "pads-in-the-sum",
        lambda logits, targets, pad_id=0: (
            _total(_token_losses(logits, targets, pad_id))
            / sum((target != pad_id).sum() for target in targets)
        ),
        "Positions whose target is pad are in the sum, though not in the number by which it is "
        "divided. Leave them out of both.",
    ),
    Mistake(
        "divided-by-positions",
        _over(lambda losses, real: sum(part.numel() for part in losses)),
        _DIVISOR.format("all positions, padded ones too"),
    ),
    Mistake(
        "divided-by-micro-batches",
        _over(lambda losses, real: len(losses)),
        _DIVISOR.format("the number of micro-batches"),
    ),
    Mistake(
        "divided-by-sentences",
        _over(lambda losses, real: sum(len(part) for part in losses)),
        _DIVISOR.format("the number of sentences"),
    ),
    Mistake(
        "divided-by-last-tokens",
        _over(lambda losses, real: real[-1].sum()),
        _DIVISOR.format(
            "the tokens of the last micro-batch (a count that is overwritten, `=` for `+=`)"
        ),
    ),
    Mistake(
        "divided-by-first-tokens",
        _over(lambda losses, real: real[0].sum()),
        _DIVISOR.format("the tokens of the first micro-batch"),
    ),
    Mistake(
        "divided-twice",
        _over(lambda losses, real: _total(real) * len(losses)),
        _DIVISOR.format("the real tokens and by the number of micro-batches as well"),
    ),
    Mistake(
        "means-divided-by-tokens",
        _with(lambda losses, real: _means(losses, real).sum() / _total(real)),
        "The means of the micro-batches are added up and divided by the number of tokens: each "
        "loss is divided twice. Use `reduction='sum'` for the micro-batches.",
    ),
    Mistake("sum", _over(lambda losses, real: 1), _DIVISOR.format("nothing")),
    Mistake(
        "first-only",
        _with(lambda losses, real: _means(losses, real)[0]),
        _ONE.format("first") + " Is the `return` inside the loop?",
    ),
    Mistake(
        "last-only",
        _with(lambda losses, real: _means(losses, real)[-1]),
        _ONE.format("last") + " Is the loss overwritten, `=` for `+=`?",
    ),
    Mistake(
        "last-missing",
        _with(lambda losses, real: _right(losses[:-1] or losses, real[:-1] or real)),
        "The last micro-batch is left out. The loss is the mean over the tokens of all of them.",
    ),
    Mistake(
        "largest-mean",
        _with(lambda losses, real: _means(losses, real).max()),
        _ONE.format("worst"),
    ),
    Mistake(
        "list-of-means",
        _with(lambda losses, real: list(_means(losses, real))),
        "A list of losses is returned, one for each micro-batch. Asked for is one number for all "
        "of them.",
    ),
    Mistake(
        "losses-of-micro-batches",
        _with(_means),
        "One loss for each micro-batch is returned. Asked for is one number for all of them.",
    ),
    Mistake(
        "pad-always-0",
        lambda logits, targets, pad_id=0: _plain(logits, targets, 0),
        "pad_id is ignored: token 0 is taken for pad. Use the argument.",
    ),
    Mistake(
        "pad-0-in-the-sum",
        lambda logits, targets, pad_id=0: (
            _plain(logits, targets, 0)
            * sum((target != 0).sum() for target in targets)
            / sum((target != pad_id).sum() for target in targets)
        ),
        "The losses left out are those of token 0, not of `pad_id`. Use the argument for the sum "
        "and for the number of tokens.",
    ),
    Mistake(
        "pad-0-in-the-count",
        lambda logits, targets, pad_id=0: (
            _plain(logits, targets, pad_id)
            * sum((target != pad_id).sum() for target in targets)
            / sum((target != 0).sum() for target in targets)
        ),
        "The tokens are counted with `target != 0`. Pad is `pad_id`: use the argument for the sum "
        "and for the number of tokens.",
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
        _with(lambda losses, real: -_right(losses, real)),
        "The sign is wrong: the loss is minus the mean log-probability, and positive.",
    ),
    Mistake(
        "logits-for-logs",
        _with(_right, log_p=lambda part: part),
        _LOGS + "Here the logits are taken as if they were log-probabilities already (`nll_loss` "
        "expects those).",
    ),
    Mistake(
        "probabilities-for-logs",
        _with(_right, log_p=lambda part: part.softmax(-1)),
        _LOGS + "Here the logarithm is missing.",
    ),
    Mistake(
        "softmax-twice",
        _with(_right, log_p=lambda part: part.softmax(-1).log_softmax(-1)),
        _LOGS + "Here a softmax is applied before that: `cross_entropy` expects logits and does it "
        "itself.",
    ),
    Mistake(
        "softmax-over-positions",
        _with(_right, log_p=lambda part: part.log_softmax(1)),
        _LOGS + "Here it goes over the positions of the sentence.",
    ),
    Mistake(
        "perplexity",
        _with(lambda losses, real: _right(losses, real).exp()),
        "This is exp of the loss, the perplexity. Return the loss.",
    ),
    Mistake(
        "one-entry",
        _with(lambda losses, real: _right(losses, real).reshape(1)),
        "The loss has shape (1,). A scalar has no dimension, shape ().",
    ),
    Mistake(
        "divided-by-most-tokens",
        _over(lambda losses, real: max(part.sum() for part in real)),
        _DIVISOR.format("the tokens of the largest micro-batch"),
    ),
    Mistake(
        "divided-by-mean-tokens",
        _over(lambda losses, real: _total(real) / len(real)),
        _DIVISOR.format("the mean number of tokens of a micro-batch"),
    ),
    Mistake(
        "divided-by-lengths",
        _over(lambda losses, real: sum(part.size(1) for part in losses)),
        _DIVISOR.format("the sum of the lengths n"),
    ),
    Mistake(
        "logarithm-to-base-2",
        _with(lambda losses, real: _right(losses, real) / 0.6931471805599453),
        "The loss is in bits (base 2). The natural logarithm is asked for, nats.",
    ),
    Mistake(
        "softmax-over-batch",
        _with(_right, log_p=lambda part: part.log_softmax(0)),
        _LOGS + "Here it goes over the sentences of the batch.",
    ),
    Mistake(
        "means-of-positions-averaged",
        _with(lambda losses, real: torch.stack([part.mean() for part in losses]).mean()),
        _MEAN_OF_MEANS + " And each is divided by all positions, padded ones too.",
    ),
    Mistake(
        "median",
        _with(lambda losses, real: _means(losses, real).median()),
        "The median of the micro-batches' means is taken. The loss is the mean over the tokens of "
        "all of them.",
    ),
    Mistake(
        "smallest-mean",
        _with(lambda losses, real: _means(losses, real).min()),
        _ONE.format("best"),
    ),
    Mistake(
        "running-count",
        _with(_running_count),
        _DIVISOR.format(
            "the tokens seen so far, micro-batch by micro-batch: each sum has another divisor"
        ),
    ),
    Mistake(
        "running-count-of-means",
        _with(_running_count_of_means),
        _DIVISOR.format("the number of micro-batches seen so far"),
    ),
    Mistake(
        "joined-unpadded",
        lambda logits, targets, pad_id=0: _plain([torch.cat(logits)], [torch.cat(targets)], pad_id),
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
        lambda logits, targets, pad_id=0: _plain(
            [part.transpose(0, 1).reshape(part.shape) for part in logits], targets, pad_id
        ),
        "Logits and targets no longer belong to the same positions: one of them was transposed or "
        "reshaped in another order than the other. Flatten both alike.",
    ),
    Mistake(
        "with-count",
        lambda logits, targets, pad_id=0: (
            _plain(logits, targets, pad_id),
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
    Mistake(
        "divided-by-big-rectangle",
        _over(
            lambda losses, real: (
                sum(len(part) for part in losses) * max(part.size(1) for part in losses)
            )
        ),
        _DIVISOR.format("all positions of the big batch, padded to its longest sentence"),
    ),
    Mistake(
        "one-too-many",
        _over(lambda losses, real: _total(real) + 1),
        _DIVISOR.format("one more than the real tokens"),
    ),
    Mistake(
        "sums-weighted-by-tokens",
        _with(
            lambda losses, real: (
                _total([part * kept.sum() for part, kept in zip(losses, real, strict=True)])
                / _total(real)
            )
        ),
        "The sums of the micro-batches are weighted by their tokens, as if they were means. A sum "
        "has every token in it already: add up the sums and divide once by all real tokens.",
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
