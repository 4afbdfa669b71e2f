"""What is diagnosed: a trained model, the code around it, and what its training wrote down."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import Split, Vocabulary
from annotated_transformer.museum.recipe import Recipe, tensors
from annotated_transformer.transformer import Transformer, evaluation_mode


@dataclass(frozen=True)
class Log:
    """What a training wrote down.

    Attributes:
        steps: at which it did, counted from 1.
        losses: in nats per token; none where they are of another kind.
        rates: of learning.
    """

    steps: Sequence[int]
    losses: Sequence[float]
    rates: Sequence[float]

    def last_loss(self, steps: int = 20) -> float:
        """The mean of what was written down in the last steps, in nats per token."""
        end = self.steps[-1] - steps
        last = [loss for step, loss in zip(self.steps, self.losses, strict=True) if step > end]
        return sum(last) / len(last)


@dataclass(frozen=True)
class System:
    """What is asked.

    Attributes:
        model: trained.
        recipe: the code around it, from text to score.
        config: what the model is said to be.
        vocabulary: of its training.
        pairs: sentences that it has learned from.
        held_out: sentences that it has not.
        log: of its training; None where nobody kept it.
        rate: which rate each step should have had; None where nobody knows.
        own_code: whether the recipe is the code that trained the model, and not ours in its place.
    """

    model: Transformer
    recipe: Recipe
    config: TransformerConfig
    vocabulary: Vocabulary
    pairs: Split
    held_out: Split
    log: Log | None = None
    rate: Callable[[int], float] | None = None
    own_code: bool = True


@contextmanager
def asked(system: System) -> Iterator[Transformer]:
    """The model as it is asked."""
    with evaluation_mode(system.model), torch.no_grad():
        yield system.model


def padded(system: System, pairs: Split, vocabulary: Vocabulary) -> tuple[Tensor, Tensor]:
    """Source and target of some pairs, as its own code makes them: (batch, n) each."""
    encoded = system.recipe.ids(pairs, vocabulary)
    return tensors(encoded, range(len(encoded)))


def best_next(
    model: Transformer, src: Tensor, read: Tensor, labels: Tensor
) -> tuple[Tensor, Tensor]:
    """How sure the model is of its best next token, and whether that is right: (tokens,) each.

    Args:
        src: (batch, n_src).
        read: what the decoder reads, (batch, n).
        labels: what it has to say, (batch, n); padding is no token.
    """
    sure, best = model(src, read).softmax(-1).max(-1)  # (batch, n) each
    real = labels != model.config.pad_id
    return sure[real], (best == labels)[real]
