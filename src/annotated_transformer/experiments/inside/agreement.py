"""Whether the heads of another training are the same heads."""

from collections.abc import Sequence
from itertools import permutations

import torch
from torch import Tensor

from annotated_transformer.experiments.inside.looks import Looks


def likeness(some: Sequence[Looks], others: Sequence[Looks], attention: str) -> Tensor:
    """How alike the heads of two models look at the same sentences: correlations, (heads, heads).

    What all heads share is taken away first: from each row the mean over the heads of both models.
    """
    one, two = (
        [of.every[attention] for of in looks] for looks in (some, others)
    )  # each (heads, rows, columns)
    common = [(a.mean(0) + b.mean(0)) / 2 for a, b in zip(one, two, strict=True)]

    def flat(looks: list[Tensor]) -> Tensor:
        rows = [(of - mean).flatten(1) for of, mean in zip(looks, common, strict=True)]
        whole = torch.cat(rows, dim=1).double()
        whole = whole - whole.mean(1, keepdim=True)
        return whole / whole.norm(dim=1, keepdim=True)

    return flat(one) @ flat(two).T


def best_match(likenesses: Tensor) -> tuple[tuple[int, ...], float]:
    """Which head of the second model goes with each of the first, and their mean likeness.

    Every pairing is tried: heads of one attention have no order, so any may go with any.
    """
    heads = range(len(likenesses))
    means = {
        order: float(likenesses[list(heads), list(order)].mean()) for order in permutations(heads)
    }
    best = max(means, key=means.__getitem__)
    return best, means[best]
