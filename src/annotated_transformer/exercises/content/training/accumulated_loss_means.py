"""Mistakes of `training.accumulated_loss` in the mean over micro-batches."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.training.accumulated_loss_variants import (
    Tensors,
    combined_with,
    means_of,
    plain_loss,
    right_mean,
    token_losses,
    total_of,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _sentences(losses: Tensors, real: Tensors) -> Tensor:
    pairs = zip(losses, real, strict=True)
    return torch.cat([a.sum(1) / b.sum(1).clamp(min=1) for a, b in pairs])


def _weighted(weight: Callable[[Tensor], int]) -> Callable[[Tensors, Tensors], Tensor]:
    """Means of micro-batches, weighted by something of their shape."""

    def combine(losses: Tensors, real: Tensors) -> Tensor:
        weights = torch.tensor([float(weight(part)) for part in losses])
        return (means_of(losses, real) * weights).sum() / weights.sum()

    return combine


def _running(losses: Tensors, real: Tensors) -> Tensor:
    """The running mean of means, each new one weighing half."""
    means = means_of(losses, real)
    result = means[0]
    for mean in means[1:]:
        result = (result + mean) / 2
    return result


def _running_count(losses: Tensors, real: Tensors) -> Tensor:
    counts = torch.stack([part.sum() for part in real]).cumsum(0)
    return (torch.stack([part.sum() for part in losses]) / counts).sum()


def _running_count_of_means(losses: Tensors, real: Tensors) -> Tensor:
    means = means_of(losses, real)
    return (means / torch.arange(1, len(means) + 1)).sum()


def _divided_each_time(losses: Tensors, real: Tensors) -> Tensor:
    """The running total is divided by the tokens of each micro-batch in turn."""
    total = torch.zeros_like(losses[0].sum())
    for part, kept in zip(losses, real, strict=True):
        total = (total + part.sum()) / kept.sum()
    return total


def _over(divisor: Callable[[Tensors, Tensors], Any]) -> Candidate:
    return combined_with(lambda losses, real: total_of(losses) / divisor(losses, real))


_MEAN_OF_MEANS = (
    "Each micro-batch is averaged on its own, then the averages are averaged. A token in a micro-"
    "batch with little text then weighs more than one in a full one (transformers, pull request "
    "34191). Add up all losses and divide once by all real tokens."
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


_PLACES = (
    ("last", -1, "the total is overwritten in the loop, `=` for `+=`"),
    ("first", 0, "the others are never added"),
)


def _sum_by_all_tokens(place: int, losses: Tensors, real: Tensors) -> Tensor:
    return losses[place].sum() / total_of(real)


def _mean_by_micro_batches(place: int, losses: Tensors, real: Tensors) -> Tensor:
    return means_of(losses, real)[place] / len(losses)


MEANS = (
    Mistake(
        "mean-of-means",
        combined_with(lambda losses, real: means_of(losses, real).mean()),
        _MEAN_OF_MEANS,
    ),
    Mistake(
        "sum-of-means",
        combined_with(lambda losses, real: means_of(losses, real).sum()),
        "The means of the micro-batches are added up, so the loss grows with their number. Add up "
        "the losses of all tokens and divide once by all real tokens.",
    ),
    Mistake(
        "mean-of-means-with-pads",
        combined_with(lambda losses, real: means_of(losses, real).mean(), drop_pads=False),
        _MEAN_OF_MEANS + " " + _PADS,
    ),
    Mistake(
        "weighted-by-sentences",
        combined_with(_weighted(lambda part: part.size(0))),
        _WEIGHTED.format("their number of sentences"),
    ),
    Mistake(
        "weighted-by-positions",
        combined_with(_weighted(lambda part: part.numel())),
        _WEIGHTED.format("their number of positions, padded ones too"),
    ),
    Mistake(
        "weighted-by-length",
        combined_with(_weighted(lambda part: part.size(1))),
        _WEIGHTED.format("their length n"),
    ),
    Mistake(
        "mean-of-sentences",
        combined_with(lambda losses, real: _sentences(losses, real).mean()),
        "Each sentence is averaged on its own, then the sentences are averaged. Every token weighs "
        "the same: add up all losses and divide once by all real tokens.",
    ),
    Mistake(
        "running-mean",
        combined_with(_running),
        "The means are averaged two by two, so the last micro-batch weighs half of all. Add up the "
        "losses of all tokens and divide once by all real tokens.",
    ),
    Mistake("pads-count", combined_with(right_mean, drop_pads=False), _PADS),
    Mistake(
        "pads-in-the-sum",
        lambda logits, targets, pad_id=0: (
            total_of(token_losses(logits, targets, pad_id))
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
        _over(lambda losses, real: total_of(real) * len(losses)),
        _DIVISOR.format("the real tokens and by the number of micro-batches as well"),
    ),
    Mistake(
        "means-divided-by-tokens",
        combined_with(lambda losses, real: means_of(losses, real).sum() / total_of(real)),
        "The means of the micro-batches are added up and divided by the number of tokens: each "
        "loss is divided twice. Use `reduction='sum'` for the micro-batches.",
    ),
    Mistake("sum", _over(lambda losses, real: 1), _DIVISOR.format("nothing")),
    Mistake(
        "first-only",
        combined_with(lambda losses, real: means_of(losses, real)[0]),
        _ONE.format("first") + " Is the `return` inside the loop?",
    ),
    Mistake(
        "last-only",
        combined_with(lambda losses, real: means_of(losses, real)[-1]),
        _ONE.format("last") + " Is the loss overwritten, `=` for `+=`?",
    ),
    *(
        Mistake(
            f"{which}-sum-by-all-tokens",
            combined_with(partial(_sum_by_all_tokens, place)),
            f"The sum of the {which} micro-batch alone is divided by the tokens of all: {why}. Add "
            "up the sums of all micro-batches before dividing.",
        )
        for which, place, why in _PLACES
    ),
    *(
        Mistake(
            f"{which}-mean-by-micro-batches",
            combined_with(partial(_mean_by_micro_batches, place)),
            f"The mean of the {which} micro-batch alone is divided by the number of micro-batches: "
            f"{why}. Besides, it is no mean of means that is asked for: add up the losses of all "
            "tokens and divide once by all real tokens.",
        )
        for which, place, why in _PLACES
    ),
    Mistake(
        "divided-each-time",
        combined_with(_divided_each_time),
        "The running total is divided inside the loop, by the tokens of each micro-batch, so what "
        "was divided before is divided again. Divide once, after the loop, by all real tokens.",
    ),
    Mistake(
        "last-missing",
        combined_with(lambda losses, real: right_mean(losses[:-1] or losses, real[:-1] or real)),
        "The last micro-batch is left out. The loss is the mean over the tokens of all of them.",
    ),
    Mistake(
        "largest-mean",
        combined_with(lambda losses, real: means_of(losses, real).max()),
        _ONE.format("worst"),
    ),
    Mistake(
        "pad-0-in-the-sum",
        lambda logits, targets, pad_id=0: (
            plain_loss(logits, targets, 0)
            * sum((target != 0).sum() for target in targets)
            / sum((target != pad_id).sum() for target in targets)
        ),
        "The losses left out are those of token 0, not of `pad_id`. Use the argument for the sum "
        "and for the number of tokens.",
    ),
    Mistake(
        "pad-0-in-the-count",
        lambda logits, targets, pad_id=0: (
            plain_loss(logits, targets, pad_id)
            * sum((target != pad_id).sum() for target in targets)
            / sum((target != 0).sum() for target in targets)
        ),
        "The tokens are counted with `target != 0`. Pad is `pad_id`: use the argument for the sum "
        "and for the number of tokens.",
    ),
    Mistake(
        "divided-by-most-tokens",
        _over(lambda losses, real: max(part.sum() for part in real)),
        _DIVISOR.format("the tokens of the largest micro-batch"),
    ),
    Mistake(
        "divided-by-mean-tokens",
        _over(lambda losses, real: total_of(real) / len(real)),
        _DIVISOR.format("the mean number of tokens of a micro-batch"),
    ),
    Mistake(
        "divided-by-lengths",
        _over(lambda losses, real: sum(part.size(1) for part in losses)),
        _DIVISOR.format("the sum of the lengths n"),
    ),
    Mistake(
        "means-of-positions-averaged",
        combined_with(lambda losses, real: torch.stack([part.mean() for part in losses]).mean()),
        _MEAN_OF_MEANS + " And each is divided by all positions, padded ones too.",
    ),
    Mistake(
        "median",
        combined_with(lambda losses, real: means_of(losses, real).median()),
        "The median of the micro-batches' means is taken. The loss is the mean over the tokens of "
        "all of them.",
    ),
    Mistake(
        "smallest-mean",
        combined_with(lambda losses, real: means_of(losses, real).min()),
        _ONE.format("best"),
    ),
    Mistake(
        "running-count",
        combined_with(_running_count),
        _DIVISOR.format(
            "the tokens seen so far, micro-batch by micro-batch: each sum has another divisor"
        ),
    ),
    Mistake(
        "running-count-of-means",
        combined_with(_running_count_of_means),
        _DIVISOR.format("the number of micro-batches seen so far"),
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
        _over(lambda losses, real: total_of(real) + 1),
        _DIVISOR.format("one more than the real tokens"),
    ),
    Mistake(
        "sums-weighted-by-tokens",
        combined_with(
            lambda losses, real: (
                total_of([part * kept.sum() for part, kept in zip(losses, real, strict=True)])
                / total_of(real)
            )
        ),
        "The sums of the micro-batches are weighted by their tokens, as if they were means. A sum "
        "has every token in it already: add up the sums and divide once by all real tokens.",
    ),
)
