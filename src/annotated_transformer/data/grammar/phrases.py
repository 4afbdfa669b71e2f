"""Choose phrases: a noun that makes sense, its determiner and adjectives, a pronoun for it."""

import random
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from annotated_transformer.data.grammar.inflection import (
    BARE,
    EVERY,
    MANY,
    POSSESSIVES,
    THE,
    THIS,
    THREE,
    TWO,
    A,
    Agreement,
    Determiner,
)
from annotated_transformer.data.grammar.nouns import NOUNS, Noun, Number, nouns_of
from annotated_transformer.data.grammar.structure import (
    Argument,
    Clause,
    Gap,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
)
from annotated_transformer.data.grammar.verbs import Verb
from annotated_transformer.data.grammar.words import (
    PREPOSITIONS,
    Adjective,
    adjectives_for,
)

Choice = TypeVar("Choice")

PRONOUNS: dict[str, tuple[str, Number, Agreement]] = {
    "I": ("first", "singular", "plural"),
    "we": ("first", "plural", "plural"),
    "he": ("third", "singular", "masculine"),
    "she": ("third", "singular", "feminine"),
    "they": ("third", "plural", "plural"),
}
HUMANS = nouns_of("human")
QUANTIFIERS = (EVERY, MANY, TWO, THREE)


@cache
def described_by(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives for a noun (looked up once)."""
    return adjectives_for(noun)


def predicates_for(phrase: NounPhrase | Gap) -> list[Adjective]:
    """The adjectives that say something new, and no contradiction, of a noun phrase."""
    said = [one.rank for one in phrase.adjectives] if isinstance(phrase, NounPhrase) else []
    return [one for one in described_by(phrase.noun) if one.rank not in said]


class PhraseChooser:
    """Draws the parts of sentences. The same seed draws the same sentences, on every machine.

    Only `Random.random` is used: its stream is promised never to change.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed).random
        self.keys = 0
        self.used: set[Noun] = set()

    def start(self) -> None:
        """Begin a sentence: no noun is used yet."""
        self.keys = 0
        self.used.clear()

    def key(self) -> int:
        """A number that no other part of this sentence has."""
        self.keys += 1
        return self.keys

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random() < probability

    def pick(self, choices: Sequence[Choice]) -> Choice:
        """One of the choices, all equally likely."""
        return choices[int(self.random() * len(choices))]

    def noun(self, nouns: Sequence[Noun]) -> Noun:
        """A noun not yet used in this sentence, where there is one."""
        chosen = self.pick(nouns)
        for _ in range(8):
            if chosen not in self.used:
                break
            chosen = self.pick(nouns)
        self.used.add(chosen)
        return chosen

    # ------------------------------------------------------------------ phrases

    def possessive(self, owner: Argument | None) -> Determiner:
        """his, her, their for the owner; my, our and others where there is none."""
        if isinstance(owner, Pronoun):
            names = {"I": "my", "we": "our", "he": "his", "she": "her", "they": "their"}
            return POSSESSIVES[names.get(owner.english, "my")]
        if isinstance(owner, NounPhrase) and owner.noun.human:
            if owner.number == "plural":
                return POSSESSIVES["their"]
            return POSSESSIVES[{"he": "his", "she": "her"}.get(owner.noun.pronoun, "my")]
        return POSSESSIVES[self.pick(("my", "our", "his", "her"))]

    def determiner(
        self, noun: Noun, number: Number, owner: Argument | None, bare: bool, plain: bool
    ) -> Determiner:
        """A determiner.

        Args:
            noun: it stands before this noun.
            number: of the noun.
            owner: whose a possessive says it is (the subject, for an object).
            bare: whether the phrase may be indefinite (a book, old books, coffee).
            plain: leaves out every, many, two, three (which do not go well with negation).
        """
        drawn = self.random()
        owned = not noun.human or noun.kinds & {"kin", "professional"}
        if owned and (drawn < 0.12 or ("kin" in noun.kinds and drawn < 0.4)):
            return self.possessive(owner)
        if drawn < 0.5 or (drawn < 0.9 and not bare) or "single" in noun.kinds:
            return THE
        if drawn < 0.6 or not bare:
            return THIS
        if "mass" in noun.kinds:
            return BARE
        if number == "singular":
            return EVERY if drawn > 0.96 and not plain else A
        if drawn < 0.8 or plain:
            return BARE
        return self.pick((MANY, TWO, THREE))

    def noun_phrase(
        self,
        noun: Noun,
        owner: Argument | None = None,
        *,
        plural: float = 0.22,
        bare: bool = True,
        plain: bool = False,
    ) -> NounPhrase:
        """A noun with a determiner and up to two adjectives. See `determiner` for the options."""
        number: Number = "singular"
        single = "single" in noun.kinds  # one has one father, and a country one king
        if noun.plural and not single and self.chance(plural):
            number = "plural"
        determiner = self.determiner(noun, number, owner, bare, plain)
        adjectives: tuple[Adjective, ...] = ()
        possible = described_by(noun)
        if possible and self.chance(0.36):
            adjectives = (self.pick(possible),)
            if self.chance(0.1):
                second = self.pick(possible)
                if second.rank < adjectives[0].rank:
                    adjectives = (second, *adjectives)
        return NounPhrase(self.key(), noun, number, determiner, adjectives)

    def pronoun(self, english: str, agrees: Agreement | None = None) -> Pronoun:
        """A pronoun; `agrees` for it and they, whose antecedent has it."""
        if english == "it":
            return Pronoun(self.key(), "it", 3, "singular", agrees or "neuter")
        person, number, own = PRONOUNS[english]
        return Pronoun(self.key(), english, 1 if person == "first" else 3, number, own)

    def subject(self, verb: Verb | None, plain: bool = False) -> NounPhrase | Pronoun:
        """Who does it."""
        nouns = verb.subjects if verb else NOUNS
        if verb and nouns[0].human and self.chance(0.14):
            return self.pronoun(self.pick(tuple(PRONOUNS)))
        return self.noun_phrase(self.noun(nouns), plain=plain)

    def object(self, nouns: Sequence[Noun], clause: Clause, bare: bool = True) -> Argument:
        """What it is done to: a noun phrase, at times him, her or them."""
        noun = self.noun(nouns)
        if noun.human and self.chance(0.12):
            choices: tuple[str, ...] = ("he", "she", "they")
            if clause.subject.person == 3:
                choices += ("I", "we")
            return self.pronoun(self.pick(choices))
        return self.noun_phrase(noun, clause.subject, bare=bare, plain=clause.negated)

    def prepositional(
        self, name: str, noun: Noun, owner: Argument | None, plural: float = 0.08
    ) -> PrepositionalPhrase:
        """A preposition by name with a noun phrase, definite but for a few."""
        key = self.key()
        phrase = self.noun_phrase(noun, owner, plural=plural, bare=self.chance(0.25), plain=True)
        return PrepositionalPhrase(key, PREPOSITIONS[name], phrase)


def is_human(argument: Argument) -> bool:
    """Whether a subject is a person."""
    if isinstance(argument, Pronoun):
        return argument.english in PRONOUNS
    return argument.noun.human
