"""What a sentence says, before it is said in either language.

Every part that gets words has a `key`: words of both languages with the same key and role translate
each other, which is how the alignments are known.
"""

from dataclasses import dataclass
from typing import Literal

from annotated_transformer.data.grammar.inflection import Agreement, Determiner, Person, agreement
from annotated_transformer.data.grammar.nouns import Noun, Number
from annotated_transformer.data.grammar.verbs import Preposition, Verb
from annotated_transformer.data.grammar.words import Adjective, Phrase

# A word and the (key, role) marks that say what it translates.
Mark = tuple[int, str]
Word = tuple[str, tuple[Mark, ...]]

Tense = Literal["present", "perfect", "modal", "future"]
Role = Literal["subject", "accusative", "dative", "prepositional"]
Fronted = Literal["subject", "time", "place"]


@dataclass(slots=True)
class NounPhrase:
    """A noun with its determiner and adjectives, and perhaps a relative clause."""

    key: int
    noun: Noun
    number: Number
    determiner: Determiner
    adjectives: tuple[Adjective, ...] = ()
    relative: "Clause | None" = None
    person: Person = 3

    @property
    def agrees(self) -> Agreement:
        """What agrees with it."""
        return agreement(self.noun.gender, self.number)


@dataclass(slots=True)
class Pronoun:
    """I, we, he, she, they, or it; `agrees` is that of the antecedent."""

    key: int
    english: str
    person: Person
    number: Number
    agrees: Agreement


@dataclass(slots=True)
class Gap:
    """The place in a relative clause that its pronoun stands for."""

    key: int
    noun: Noun
    number: Number
    person: Person = 3

    @property
    def agrees(self) -> Agreement:
        """What agrees with it: the gender and number of the antecedent."""
        return agreement(self.noun.gender, self.number)


Phrased = NounPhrase | Pronoun
Argument = NounPhrase | Pronoun | Gap


@dataclass(slots=True)
class PrepositionalPhrase:
    """A preposition and what it governs."""

    key: int
    preposition: Preposition
    object: Argument


@dataclass(slots=True)
class Clause:
    """One clause: a verb (None for "to be"), what it takes, and what is added.

    `gap` names the role of the relative pronoun in a relative clause.
    """

    key: int
    verb: Verb | None
    subject: Argument
    tense: Tense = "present"
    modal: str = ""
    negated: bool = False
    accusative: Argument | None = None
    dative: Argument | None = None
    prepositional: PrepositionalPhrase | None = None
    place: PrepositionalPhrase | None = None
    company: PrepositionalPhrase | None = None
    direction: PrepositionalPhrase | None = None
    predicate: Adjective | None = None
    very: bool = False
    time: Phrase | None = None
    frequency: str = ""
    manner: str = ""
    fronted: Fronted = "subject"
    gap: Role | None = None


@dataclass(slots=True)
class Sentence:
    """A main clause, and at most one more clause that hangs on it.

    Attributes:
        main: the main clause.
        conjunction: English: because, although, ... or that, whether; "" for none.
        subordinate: the clause after the conjunction.
        subordinate_first: whether that clause is fronted.
        coordinate: a second predicate with the subject of the first, joined by "and".
    """

    main: Clause
    key: int = 0
    conjunction: str = ""
    subordinate: Clause | None = None
    subordinate_first: bool = False
    coordinate: Clause | None = None
