"""What can be read off a vector by weighted sums, beside what can be read off anything.

A probe that is right has found that something *can* be read, not that the model reads it. Two
controls stand beside it: the same probe for labels drawn at random, one a word (Hewitt and Liang,
2019), and the same probe on vectors of a model that nobody has trained.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

PENALTY = 10.0


def ridge_probe(x: Tensor, y: Tensor, trained: Tensor) -> float:
    """A ridge regression from vectors to classes; the share of the others that it gets right.

    Args:
        x: (examples, features).
        y: the class of each example, a whole number from 0 on, (examples,).
        trained: on which examples it is fitted, bool (examples,).
    """
    x = x.double()
    x = (x - x[trained].mean(0)) / x[trained].std(0).clamp(min=1e-6)
    x = torch.cat([x, torch.ones(len(x), 1, dtype=x.dtype)], dim=1)
    classes = torch.nn.functional.one_hot(y).to(x.dtype)
    known = x[trained]
    square = known.T @ known + PENALTY * torch.eye(x.size(1), dtype=x.dtype)
    weights = torch.linalg.solve(square, known.T @ classes[trained])
    right = (x[~trained] @ weights).argmax(-1) == y[~trained]
    return right.double().mean().item()


def drawn_labels(words: Sequence[str], classes: int, seed: int) -> Tensor:
    """A class for each example, drawn once for each different word: nothing but the word tells."""
    draw = torch.Generator().manual_seed(seed)
    of = {word: int(torch.randint(classes, (), generator=draw)) for word in sorted(set(words))}
    return torch.tensor([of[word] for word in words])


def most_frequent(y: Tensor, trained: Tensor) -> float:
    """The share that is right when always the class is said that was most frequent in training."""
    best = torch.bincount(y[trained]).argmax()
    return (y[~trained] == best).double().mean().item()
