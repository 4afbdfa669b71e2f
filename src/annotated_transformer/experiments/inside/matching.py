"""Whether the heads of another training are the same heads."""

from collections.abc import Sequence
from itertools import permutations

import torch
from torch import Tensor

from annotated_transformer.experiments.inside.looks import Looks


def likeness(some: Sequence[Looks], others: Sequence[Looks], attention: str) -> Tensor:
    """How alike the heads of two models look at the same sentences, (heads, heads).

    The correlation of all their weights, after each row's mean is taken away: 1 if two heads look
    at the same words everywhere, about 0 if they have nothing to do with each other.
    """

    def flat(looks: Sequence[Looks]) -> Tensor:
        rows = [of.every[attention] for of in looks]  # each (heads, rows, columns)
        centred = [weights - weights.mean(-1, keepdim=True) for weights in rows]
        whole = torch.cat([weights.flatten(1) for weights in centred], dim=1).double()
        return whole / whole.norm(dim=1, keepdim=True)

    return flat(some) @ flat(others).T


def best_match(likenesses: Tensor) -> tuple[tuple[int, ...], float]:
    """Which head of the second model goes with each of the first, and their mean likeness.

    Every pairing is tried: heads of one attention have no order, so any may go with any. That is
    h! pairings: no more than some eight heads.
    """
    heads = range(len(likenesses))
    means = {
        order: float(likenesses[list(heads), list(order)].mean()) for order in permutations(heads)
    }
    best = max(means, key=means.__getitem__)
    return best, means[best]
