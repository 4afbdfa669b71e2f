"""Words in sentences whose vectors are probed, and what is to be read off them (`probing`)."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from annotated_transformer.data import Vocabulary
from annotated_transformer.data.batching import collate
from annotated_transformer.data.grammar.corpus import tokens
from annotated_transformer.experiments.inside.antecedents import Exchange
from annotated_transformer.experiments.inside.sentences import Sentences
from annotated_transformer.experiments.inside.states import states_of_source
from annotated_transformer.experiments.probing import drawn_labels, most_frequent, ridge_probe
from annotated_transformer.transformer import Transformer


@dataclass(frozen=True)
class Examples:
    """Words in sentences, and what is to be read off their vectors.

    Attributes:
        sources: the pieces of each sentence, the end sign last.
        places: the place of the word's first piece.
        words: the word that may give the answer away without any context.
        labels: class of each, from 0 on, (examples,).
    """

    sources: list[list[int]]
    places: list[int]
    words: list[str]
    labels: Tensor

    def vectors(self, model: Transformer) -> list[Tensor]:
        """The vector of each word before the first encoder layer and after each, (examples, d)."""
        found: list[list[Tensor]] = []
        for start in range(0, len(self.sources), 100):
            src = collate(self.sources[start : start + 100])
            places = torch.tensor(self.places[start : start + 100])
            rows = torch.arange(len(places))
            found.append([x[rows, places] for x in states_of_source(model, src)])
        return [torch.cat(of) for of in zip(*found, strict=True)]


@dataclass(frozen=True)
class Read:
    """What a probe reads off the vectors of one depth, as shares of the examples asked about.

    Attributes:
        probe: fitted on the first half of the examples, asked about the second.
        unseen_words: fitted on the examples of half of the words, asked about those of the others.
        drawn_labels: as `probe`, with labels drawn at random, one a word.
        untrained: as `probe`, on the vectors of a model that nobody has trained.
    """

    probe: float
    unseen_words: float
    drawn_labels: float
    untrained: float


def read(
    examples: Examples, model: Transformer, untrained: Transformer
) -> tuple[list[Read], float]:
    """What can be read before the first encoder layer and after each, and by the commonest class.

    Args:
        model, untrained: of one architecture.
    """
    y, words = examples.labels, examples.words
    half = torch.arange(len(y)) < len(y) // 2
    known = set(sorted(set(words))[::2])
    of_known = torch.tensor([word in known for word in words])
    drawn = drawn_labels(words, int(y.max()) + 1, seed=1)
    depths = [
        Read(
            ridge_probe(x, y, half),
            ridge_probe(x, y, of_known),
            ridge_probe(x, drawn, half),
            ridge_probe(of_none, y, half),
        )
        for x, of_none in zip(examples.vectors(model), examples.vectors(untrained), strict=True)
    ]
    return depths, most_frequent(y, half)


def genders_at_it(some: Iterable[Exchange], vocabulary: Vocabulary) -> Examples:
    """At the word "it": the German gender of the thing for which it stands, by its pronoun."""
    sides = [side for exchange in some for side in (exchange.this, exchange.other)]
    classes = {"er": 0, "ihn": 0, "sie": 1, "es": 2}
    return Examples(
        [side.source for side in sides],
        [side.it[0] for side in sides],
        [vocabulary.decode([side.source[n] for n in side.thing]) for side in sides],
        torch.tensor([classes[vocabulary.decode([side.pronoun])] for side in sides]),
    )


def roles_of_nouns(asked: Sentences, vocabulary: Vocabulary) -> Examples:
    """At each noun with a determiner: whether it is subject (0), object (1), or neither (2)."""
    sources, places, words = [], [], []
    labels: list[int] = []
    for sentence, of in zip(asked.split.source, asked.source, strict=True):
        pieces = [*vocabulary.encode(sentence), vocabulary.eos_id]
        of_word = vocabulary.word_indices(sentence)
        roles = {i: n for n, role in enumerate(("subject", "object")) for i, _ in of[role]}
        for noun in sorted({noun for _, noun in of["article"]}):
            sources.append(pieces)
            places.append(of_word.index(noun))
            words.append(tokens(sentence)[noun])
            labels.append(roles.get(noun, 2))
    return Examples(sources, places, words, torch.tensor(labels))
