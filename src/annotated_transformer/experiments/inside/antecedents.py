"""From where "it" gets its gender: the same sentence about another thing, exchanged in part.

"The man finds the key and sells it": German says *ihn*, for *der Schlüssel*; about a lamp it would
be *sie*. The model could read that at the thing, at "it", if the encoder has brought it there, or
in its own translation, where the thing has been written already. Each of these is taken from the
other sentence, all else left as it is; where the pronoun turns, there it was read.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch
from torch import Tensor

from annotated_transformer.data import Vocabulary
from annotated_transformer.data.grammar import english, german
from annotated_transformer.data.grammar.corpus import GrammarPair, say, sayings
from annotated_transformer.data.grammar.relations import (
    Link,
    antecedent,
    other_genders,
    relations,
    with_antecedent,
)
from annotated_transformer.data.grammar.structure import Sentence
from annotated_transformer.transformer import Transformer

PARTS = ("the thing", "it", "every other word", "what is written")


@dataclass(frozen=True)
class Side:
    """One of two sentences that differ in a thing.

    Attributes:
        pair: the sentence and its translation.
        source: its pieces, the end sign last.
        thing, it: the places of their pieces in the source.
        written: the translation up to the pronoun, the start sign first.
        pronoun: the piece with which the pronoun begins.
    """

    pair: GrammarPair
    source: list[int]
    thing: list[int]
    it: list[int]
    written: list[int]
    pronoun: int


@dataclass(frozen=True)
class Exchange:
    """A sentence with "it", and the same about a thing of another gender."""

    this: Side
    other: Side


def side_of(said: Sentence, pair: GrammarPair, vocabulary: Vocabulary) -> Side:
    """The places that matter in one sentence."""
    (it, thing) = _only(relations(said, english.sentence(said))["antecedent"])
    (pronoun, _) = _only(relations(said, german.sentence(said))["antecedent"])
    words = vocabulary.word_indices(pair.source)
    target = vocabulary.encode(pair.target)
    begins = vocabulary.word_indices(pair.target).index(pronoun)
    return Side(
        pair,
        source=[*vocabulary.encode(pair.source), vocabulary.eos_id],
        thing=[n for n, word in enumerate(words) if word == thing],
        it=[n for n, word in enumerate(words) if word == it],
        written=[vocabulary.bos_id, *target[:begins]],
        pronoun=target[begins],
    )


def _only(links: list[Link]) -> Link:
    (link,) = links
    return link


def exchanges(vocabulary: Vocabulary, first: int = 0, last: int = 2000) -> Iterator[Exchange]:
    """From the sentences of the grammar with these numbers, of which the first 2,000 are no
    training sentences: each with "it", against one thing of each other gender.

    Both sentences have their pieces at the same places, and their pronouns differ.
    """
    for number, (said, pair) in enumerate(islice(sayings(0), first, last)):
        found = antecedent(said)
        if found is None or found[1].relative:
            continue
        this = side_of(said, pair, vocabulary)
        for nouns in other_genders(found[1].noun).values():
            changed = with_antecedent(said, nouns[number % len(nouns)])
            told = say(changed)
            if told is None:
                continue
            other = side_of(changed, told, vocabulary)
            same_places = (len(this.source), this.thing, this.it) == (
                len(other.source),
                other.thing,
                other.it,
            )
            if same_places and this.pronoun != other.pronoun:
                yield Exchange(this, other)


@torch.no_grad()
def preference(model: Transformer, exchange: Exchange, parts: Iterable[str] = ()) -> float:
    """By how many nats the pronoun of this sentence is likelier than that of the other.

    Args:
        parts: which of PARTS are taken from the other sentence. None: nothing is exchanged.
    """
    this, other = exchange.this, exchange.other
    parts = set(parts)
    memory, theirs = (model.encode(torch.tensor([side.source])) for side in (this, other))
    places = {"the thing": this.thing, "it": this.it}
    named = {place for of in places.values() for place in of}
    places["every other word"] = [n for n in range(len(this.source)) if n not in named]
    rows = [place for part in parts & set(places) for place in places[part]]
    memory[:, rows] = theirs[:, rows]
    written = other.written if "what is written" in parts else this.written
    logits: Tensor = model.project(model.decode(memory, torch.tensor([written]))[0, -1])
    return float(logits[this.pronoun] - logits[other.pronoun])


def turned(model: Transformer, some: Iterable[Exchange], parts: Iterable[str] = ()) -> list[bool]:
    """In which of the exchanges the model prefers the pronoun of the other sentence."""
    parts = list(parts)
    return [preference(model, exchange, parts) < 0 for exchange in some]
