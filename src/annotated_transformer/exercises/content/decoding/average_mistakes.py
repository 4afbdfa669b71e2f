"""Mistakes of `decoding.average_checkpoints` in the mean itself."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from annotated_transformer.exercises.content.decoding.average_steps import (
    Combine,
    averaging,
    last_of,
    mean_of,
)
from annotated_transformer.exercises.exercise import Mistake

_PAIRWISE = (
    "The average is taken pair by pair, (a + b) / 2 again and again, so the last checkpoint weighs "
    "a half and the first almost nothing. Add up all of them and divide once by how many there "
    "are."
)

_SUM = (
    "The checkpoints are added up but not divided by their number. A mean is the sum divided by "
    "`len(states)`."
)

_DIVISOR = (
    "The sum is divided by the wrong number. The mean of n checkpoints is their sum divided by n = "
    "`len(states)`: neither n - 1 nor n + 1, nor a number written into the code."
)

_ONE = (
    "One checkpoint is returned as it is. Averaging needs all of them: for each name the mean over "
    "all states."
)

_SOME = "Not all checkpoints go into the mean: {}. Average over all of `states`."

_NOT_ADDED = (
    "The {} checkpoint is not in the sum, although the sum is divided by the number of all. Add up "
    "all of `states`."
)

_WEIGHTED = (
    "Later checkpoints weigh more than earlier ones, as in a moving average. The paper averages "
    "the last checkpoints with equal weights: the plain mean."
)

_NOT_A_MEAN = (
    "What is computed is not the arithmetic mean. Add the checkpoints up and divide by how many "
    "there are."
)

_ELEMENTS = (
    "The mean is taken over the elements of the tensors, not over the checkpoints, so shapes are "
    "lost. Stack the tensors of one name and take the mean over that new axis: "
    "`torch.stack(tensors).mean(dim=0)`."
)

_SHAPE = (
    "The tensors of a name are put side by side instead of averaged. The result has the shape of "
    "each single one: `torch.stack(tensors).mean(dim=0)`."
)


def _pairwise(tensors: list[Tensor]) -> Tensor:
    average = tensors[0]
    for tensor in tensors[1:]:
        average = (average + tensor) / 2
    return average


def _over(divisor: Callable[[int], float]) -> Combine:
    return lambda tensors: (sum(tensors[1:], tensors[0]) / divisor(len(tensors))).to(tensors[0])


def _moving(decay: float) -> Combine:
    def combine(tensors: list[Tensor]) -> Tensor:
        average = tensors[0]
        for tensor in tensors[1:]:
            average = decay * average + (1 - decay) * tensor
        return average

    return combine


def _without(place: int, tensors: list[Tensor], alone: bool) -> Tensor:
    """The mean of the others; alone: one checkpoint by itself is kept."""
    others = tensors[1:] if place == 0 else tensors[:-1]
    return mean_of(others or tensors if alone else others)


def _weighted(tensors: list[Tensor]) -> Tensor:
    weights = range(1, len(tensors) + 1)
    total = sum(w * t for w, t in zip(weights, tensors, strict=True))
    return torch.as_tensor(total / sum(weights)).to(tensors[0].dtype)


MEAN_MISTAKES = (
    Mistake("pairwise", averaging(_pairwise), _PAIRWISE),
    Mistake("pairwise-from-the-end", averaging(lambda ts: _pairwise(ts[::-1])), _PAIRWISE),
    Mistake("summed", averaging(_over(lambda n: 1)), _SUM),
    Mistake("one-less", averaging(_over(lambda n: max(n - 1, 1))), _DIVISOR),
    Mistake("one-less-or-nothing", averaging(_over(lambda n: n - 1 or float("nan"))), _DIVISOR),
    Mistake("one-more", averaging(_over(lambda n: n + 1)), _DIVISOR),
    Mistake("halved", averaging(_over(lambda n: 2)), _DIVISOR),
    Mistake("divided-by-five", averaging(_over(lambda n: 5)), _DIVISOR),
    Mistake("root-of-the-number", averaging(_over(lambda n: n**0.5)), _DIVISOR),
    Mistake("divided-twice", averaging(_over(lambda n: n * n)), _DIVISOR),
    Mistake("last-only", averaging(last_of), _ONE),
    Mistake("first-only", averaging(lambda tensors: tensors[0].clone()), _ONE),
    Mistake("first-for-all", lambda states: {n: t.clone() for n, t in states[0].items()}, _ONE),
    *(
        Mistake(
            f"{which}-left-out{name}",
            averaging(partial(_without, place, alone=alone)),
            _SOME.format(f"the {which} one, `states[{place}]`, is left out"),
        )
        for which, place in (("first", 0), ("last", -1))
        for name, alone in (("", True), ("-leaving-none", False))
    ),
    *(
        Mistake(f"{which}-not-added{name}", averaging(combine), _NOT_ADDED.format(which))
        for which, part in (("first", slice(1, None)), ("last", slice(None, -1)))
        for name, combine in (
            ("", lambda ts, part=part: sum(ts[part], torch.zeros_like(ts[0])) / len(ts)),
            ("-leaving-none", lambda ts, part=part: sum(ts[part]) / len(ts)),
        )
    ),
    Mistake(
        "first-and-last",
        averaging(lambda ts: mean_of([ts[0], ts[-1]])),
        _SOME.format("only the first and the last are averaged"),
    ),
    Mistake(
        "first-two",
        averaging(lambda ts: mean_of(ts[:2])),
        _SOME.format("only the first two are averaged"),
    ),
    Mistake(
        "last-two",
        averaging(lambda ts: mean_of(ts[-2:])),
        _SOME.format("only the last two are averaged"),
    ),
    Mistake(
        "last-five",
        averaging(lambda ts: mean_of(ts[-5:])),
        _SOME.format("only the last five are averaged; how many to take is the caller's choice"),
    ),
    Mistake(
        "first-counted-twice",
        averaging(lambda ts: torch.stack([ts[0], *ts]).sum(0) / len(ts)),
        "The first checkpoint is added twice: the sum starts with it and then runs over all. Start "
        "with zeros, or run over `states[1:]`.",
    ),
    Mistake("moving-average-0.9", averaging(_moving(0.9)), _WEIGHTED),
    Mistake("moving-average-0.99", averaging(_moving(0.99)), _WEIGHTED),
    Mistake("moving-average-0.999", averaging(_moving(0.999)), _WEIGHTED),
    Mistake("moving-average-0.1", averaging(_moving(0.1)), _WEIGHTED),
    Mistake("weighted-by-position", averaging(_weighted), _WEIGHTED),
    Mistake(
        "median",
        averaging(lambda ts: torch.stack(ts).float().median(0).values.to(ts[0].dtype)),
        _NOT_A_MEAN,
    ),
    Mistake(
        "geometric-mean",
        averaging(lambda ts: torch.stack(ts).abs().log().mean(0).exp().to(ts[0].dtype)),
        _NOT_A_MEAN,
    ),
    Mistake("largest", averaging(lambda ts: torch.stack(ts).amax(0)), _NOT_A_MEAN),
    Mistake(
        "root-mean-square",
        averaging(lambda ts: torch.stack(ts).square().mean(0).sqrt()),
        _NOT_A_MEAN,
    ),
    Mistake(
        "mean-of-magnitudes",
        averaging(lambda ts: torch.stack(ts).abs().mean(0)),
        _NOT_A_MEAN,
    ),
    Mistake(
        "rounded",
        averaging(lambda ts: mean_of(ts).round()),
        "The mean of floating tensors is rounded. Leave it as it is; only integer tensors are "
        "whole, and those are copied.",
    ),
    Mistake("mean-of-elements", averaging(lambda ts: torch.stack(ts).mean()), _ELEMENTS),
    Mistake("mean-of-the-last-axis", averaging(lambda ts: torch.stack(ts).mean(-1)), _ELEMENTS),
    Mistake(
        "mean-of-the-rows",
        averaging(lambda ts: torch.cat([t if t.dim() else t[None] for t in ts]).mean(0)),
        _ELEMENTS,
    ),
    Mistake("stacked", averaging(torch.stack), _SHAPE),
    Mistake(
        "numbers-for-tensors",
        averaging(lambda tensors: mean_of(tensors).tolist()),
        "Lists of numbers stand where tensors are asked for. Leave out `tolist` and `item`.",
    ),
)
