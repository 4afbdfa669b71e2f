"""Sentences of which everything is known: what chapter 11 asks a model about."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from annotated_transformer.data import Batch, Split, Vocabulary, encode_split, make_batch
from annotated_transformer.data.corpus import Alignment
from annotated_transformer.data.grammar import english, german
from annotated_transformer.data.grammar.corpus import as_split, said_in
from annotated_transformer.data.grammar.relations import Related, relations


@dataclass(frozen=True)
class Sentences:
    """Sentences of the grammar with all that it knows of them.

    Attributes:
        split: the pairs.
        source, target: the related words of each sentence, on both sides.
    """

    split: Split
    source: list[Related]
    target: list[Related]

    @property
    def alignments(self) -> list[Alignment]:
        """Which words translate each other, sentence by sentence."""
        assert self.split.alignments is not None
        return self.split.alignments


def of_grammar(split: Literal["valid", "test"], count: int) -> Sentences:
    """The first sentences of a split; of the test split those after the travelling sentence."""
    said = said_in(split)[:count]
    return Sentences(
        as_split([pair for _, pair in said]),
        source=[relations(of, english.sentence(of)) for of, _ in said],
        target=[relations(of, german.sentence(of)) for of, _ in said],
    )


def batches_of_split(split: Split, vocabulary: Vocabulary, count: int) -> Sequence[Batch]:
    """The first sentences of a split in batches of a hundred, in their order."""
    encoded = encode_split(split, vocabulary)
    return [
        make_batch(encoded, list(range(start, min(start + 100, count))))
        for start in range(0, count, 100)
    ]
