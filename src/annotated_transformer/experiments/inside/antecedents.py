"""From where "it" gets its gender: the same sentence about another thing, exchanged in part.

"The man finds the key and sells it": German says *ihn*, for *der Schlüssel*; about a lamp it would
be *sie*. The model could read that at the thing, at "it", if the encoder has brought it there, or
in its own translation, where the thing has been written already. Each of these is taken from the
other sentence, all else left as it is; where the pronoun turns, there it was read. The field calls
it activation patching, or an interchange intervention.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from torch import Tensor

from annotated_transformer.data import Vocabulary
from annotated_transformer.data.grammar import english, german
from annotated_transformer.data.grammar.corpus import GrammarPair, say
from annotated_transformer.data.grammar.inflection import THE
from annotated_transformer.data.grammar.nouns import NOUN
from annotated_transformer.data.grammar.relations import (
    Relation,
    antecedent,
    other_genders,
    relations,
    with_antecedent,
)
from annotated_transformer.data.grammar.structure import NounPhrase, PrepositionalPhrase, Sentence
from annotated_transformer.data.grammar.words import PREPOSITIONS
from annotated_transformer.errors import CallError
from annotated_transformer.transformer import Transformer

KITCHEN = NOUN["kitchen"]  # die Küche: "it" would be sie
Part = Literal["the thing", "it", "every other word", "what is written"]
PARTS: tuple[Part, ...] = get_args(Part)


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


def _only(links: list[Relation]) -> Relation:
    (link,) = links
    return link


def exchanges(
    said: Iterable[tuple[Sentence, GrammarPair]], vocabulary: Vocabulary
) -> Iterator[Exchange]:
    """Each sentence with a plain "it" beside the same about one thing of each other gender.

    Both sentences have their pieces at the same places, and their pronouns differ. Which thing is
    taken depends on where the sentence stands among `said`.
    """
    for number, (what, pair) in enumerate(said):
        found = antecedent(what)
        if found is None or found[1].relative:
            continue
        this = side_of(what, pair, vocabulary)
        for nouns in other_genders(found[1].noun).values():
            changed = with_antecedent(what, nouns[number % len(nouns)])
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


def with_kitchen(said: Sentence) -> Sentence | None:
    """A noun more, nearer to "it": "The man finds the key in the kitchen and sells it."

    In the sentences of the grammar the nearest noun before "it" is what it stands for; here it is
    not. None where the sentence is not of that form, or the thing has the kitchen's own gender.
    """
    found = antecedent(said)
    if found is None or not said.coordinate or said.main.place or said.main.prepositional:
        return None
    if found[1] is not said.main.accusative or found[1].noun.gender == KITCHEN.gender:
        return None
    inside = PrepositionalPhrase(-1, PREPOSITIONS["in"], NounPhrase(-2, KITCHEN, "singular", THE))
    return replace(said, main=replace(said.main, place=inside))


@torch.no_grad()
def preference(model: Transformer, exchange: Exchange, parts: Collection[Part] = ()) -> float:
    """By how many nats the pronoun of this sentence is likelier than that of the other.

    It is the difference of their log-probabilities, which is that of their logits.

    Args:
        parts: which are taken from the other sentence.

    Raises:
        CallError: there is no such part.
    """
    this, other = exchange.this, exchange.other
    if isinstance(parts, str) or set(parts) - set(PARTS):
        raise CallError(f"parts {parts!r} were given; expected a list of some of {PARTS}")
    memory, theirs = (model.encode(torch.tensor([side.source])) for side in (this, other))
    places = {"the thing": this.thing, "it": this.it}
    named = {place for of in places.values() for place in of}
    places["every other word"] = [n for n in range(len(this.source)) if n not in named]
    rows = [place for part in parts if part in places for place in places[part]]
    memory[:, rows] = theirs[:, rows]
    written = other.written if "what is written" in parts else this.written
    logits: Tensor = model.project(model.decode(memory, torch.tensor([written]))[0, -1])
    return float(logits[this.pronoun] - logits[other.pronoun])


def turned(
    model: Transformer, some: Iterable[Exchange], parts: Collection[Part] = ()
) -> list[bool]:
    """In which of the exchanges the model prefers the pronoun of the other sentence."""
    return [preference(model, exchange, parts) < 0 for exchange in some]
