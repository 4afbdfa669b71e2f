"""What can be read off a vector by a line, beside what can be read off anything.

A probe that is right has found that something *can* be read, not that the model reads it. Two
controls stand beside it: the same probe for labels drawn at random, one a word (Hewitt and Liang,
2019), and the same probe on vectors of a model that nobody has trained.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from annotated_transformer.data import Split, Vocabulary
from annotated_transformer.data.batching import collate
from annotated_transformer.data.grammar.corpus import tokens
from annotated_transformer.data.grammar.relations import Link
from annotated_transformer.experiments.inside.antecedents import Exchange
from annotated_transformer.masks import padding_mask
from annotated_transformer.transformer import Transformer

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


@torch.no_grad()
def states_of_source(model: Transformer, src: Tensor) -> Iterator[Tensor]:
    """What stands at each place of the source before the first encoder layer and after each.

    Args:
        src: (batch, n_src).

    Yields:
        (batch, n_src, d_model), one more often than there are layers.
    """
    mask = padding_mask(src, model.config.pad_id)
    x = model.source_embedding(src)
    yield x
    for layer in model.encoder.layers:
        x = layer(x, mask)
        yield x


@dataclass(frozen=True)
class Examples:
    """Words in sentences, and what is to be read off their vectors.

    Attributes:
        sources: the pieces of each sentence, the end sign last.
        places: the place of the word's first piece.
        words: the word that may give the answer away without any context.
        labels: class of each, (examples,).
        names: what the classes are called.
    """

    sources: list[list[int]]
    places: list[int]
    words: list[str]
    labels: Tensor
    names: tuple[str, ...]

    def vectors(self, model: Transformer) -> list[Tensor]:
        """The vector of each word before the first encoder layer and after each, (examples, d)."""
        found: list[list[Tensor]] = []
        for start in range(0, len(self.sources), 100):
            src = collate(self.sources[start : start + 100])
            places = torch.tensor(self.places[start : start + 100])
            rows = torch.arange(len(places))
            found.append([x[rows, places] for x in states_of_source(model, src)])
        return [torch.cat(of) for of in zip(*found, strict=True)]


def genders_at_it(some: Iterable[Exchange], vocabulary: Vocabulary) -> Examples:
    """At the word "it": the German gender of the thing for which it stands, by its pronoun."""
    sides = [side for exchange in some for side in (exchange.this, exchange.other)]
    pronouns = [vocabulary.decode([side.pronoun]) for side in sides]
    names = ("er, ihn", "sie", "es")
    return Examples(
        [side.source for side in sides],
        [side.it[0] for side in sides],
        [vocabulary.decode([side.source[n] for n in side.thing]) for side in sides],
        torch.tensor(
            [next(n for n, of in enumerate(names) if word in of.split(", ")) for word in pronouns]
        ),
        names,
    )


def roles_of_nouns(
    split: Split, related: Sequence[Mapping[str, Sequence[Link]]], vocabulary: Vocabulary
) -> Examples:
    """At each noun that has a determiner: whether it is a subject, an object, or neither."""
    sources, places, words, labels = [], [], [], []
    for sentence, of in zip(split.source, related, strict=True):
        pieces = [*vocabulary.encode(sentence), vocabulary.eos_id]
        of_word = vocabulary.word_indices(sentence)
        roles = {i: n for n, role in enumerate(("subject", "object")) for i, _ in of[role]}
        for noun in sorted({noun for _, noun in of["article"]}):
            sources.append(pieces)
            places.append(of_word.index(noun))
            words.append(tokens(sentence)[noun])
            labels.append(roles.get(noun, 2))
    return Examples(sources, places, words, torch.tensor(labels), ("subject", "object", "neither"))
