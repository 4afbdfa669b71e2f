"""Choose what a sentence says: at random, from a seed, so that it makes sense."""

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
from annotated_transformer.data.grammar.verbs import VERBS, Verb
from annotated_transformer.data.grammar.words import (
    DIRECTION_PREPOSITIONS,
    FREQUENCIES,
    MODALS,
    PASSING,
    PLACE_PREPOSITIONS,
    PREPOSITIONS,
    PUT_PREPOSITIONS,
    TIMES,
    Adjective,
    adjectives_for,
)

Choice = TypeVar("Choice")

# How often each kind of clause is said, in hundredths.
FRAMES = (
    ("accusative",) * 36
    + ("intransitive",) * 12
    + ("ditransitive",) * 9
    + ("dative",) * 9
    + ("prepositional",) * 9
    + ("motion",) * 8
    + ("placed",) * 7
    + ("copula",) * 6
    + ("put",) * 4
)
PRONOUNS: dict[str, tuple[str, Number, Agreement]] = {
    "I": ("first", "singular", "plural"),
    "we": ("first", "plural", "plural"),
    "he": ("third", "singular", "masculine"),
    "she": ("third", "singular", "feminine"),
    "they": ("third", "plural", "plural"),
}
HUMANS = nouns_of("human")
QUANTIFIERS = (EVERY, MANY, TWO, THREE)
GRADED = (0, 1, 3)  # ranks of adjectives that "very" goes with: not very broken, not very blue
# Verbs of lasting states, which no time or manner goes with.
LASTING = ("belong", "know", "love", "need", "trust", "understand", "live")
ACTIVITIES = ("motion", "intransitive")  # what one does with company
GATHERING = nouns_of("kin", "pet")


@cache
def described_by(noun: Noun) -> tuple[Adjective, ...]:
    """The adjectives for a noun (looked up once)."""
    return adjectives_for(noun)


def predicates_for(phrase: NounPhrase | Gap) -> list[Adjective]:
    """The adjectives that say something new, and no contradiction, of a noun phrase."""
    said = [one.rank for one in phrase.adjectives] if isinstance(phrase, NounPhrase) else []
    return [one for one in described_by(phrase.noun) if one.rank not in said]


@cache
def places_of(kind: str) -> tuple[Noun, ...]:
    """The nouns of a kind of place; one comes from wherever one can be in."""
    return nouns_of("enter" if kind == "source" else kind)


@cache
def verbs_by_role(noun: Noun) -> dict[str, tuple[Verb, ...]]:
    """For each role in a relative clause, the verbs that a noun can have it with."""
    subject = [
        verb
        for frame in ("accusative", "intransitive", "dative", "prepositional", "placed", "motion")
        for verb in VERBS[frame]
        if noun in verb.subjects
    ]
    roles = {
        "subject": tuple(subject),
        "accusative": tuple(verb for verb in VERBS["accusative"] if noun in verb.objects),
        "dative": tuple(verb for verb in VERBS["dative"] if noun in verb.objects),
        # "the child after whom she looks" is no good English.
        "prepositional": tuple(
            verb
            for verb in VERBS["prepositional"]
            if noun in verb.objects and verb.preposition and verb.preposition.english != ("after",)
        ),
        "place": tuple(
            verb
            for verb in (*VERBS["placed"], *VERBS["intransitive"])
            if ("home" in noun.kinds and verb.base == "live")
            or ("inside" in noun.kinds and verb.base in ("work", "wait", "sleep"))
        ),
    }
    return {role: verbs for role, verbs in roles.items() if verbs}


class Chooser:
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

    # ------------------------------------------------------------------ clauses

    def clause(
        self,
        frame: str | None = None,
        *,
        verb: Verb | None = None,
        subject: Argument | None = None,
        plain: bool = False,
    ) -> Clause:
        """A clause with everything its verb needs, and tense and negation.

        Args:
            frame: what kind of verb; drawn where None.
            verb: a given verb of that frame.
            subject: a given subject (a gap or a pronoun).
            plain: present tense only, nothing negated.
        """
        if verb is None and frame != "copula":
            frame = frame or self.pick(FRAMES)
            verb = self.pick(VERBS[frame]) if frame != "copula" else None
        negated = not plain and self.chance(0.16)
        if subject is None:
            subject = self.subject(verb, plain=negated)
        elif isinstance(subject, NounPhrase) and subject.determiner in QUANTIFIERS:
            negated = False
        clause = Clause(self.key(), verb, subject, negated=negated)
        if not plain and verb:
            self.choose_tense(clause)
        self.fill(clause)
        return clause

    def choose_tense(self, clause: Clause) -> None:
        """Half present; perfect, modal verbs, future. "must not" is no "muss nicht"."""
        drawn = self.random()
        animate = is_human(clause.subject)
        if drawn < 0.2:
            clause.tense = "perfect"
        elif drawn < 0.38 and animate:
            clause.tense = "modal"
            clause.modal = self.pick(tuple(MODALS))
            clause.negated = clause.negated and clause.modal != "must"
        elif drawn < 0.5:
            clause.tense = "future"

    def fill(self, clause: Clause) -> None:
        """What the verb needs: objects, a governed phrase, a place, a direction, a predicate."""
        verb, subject = clause.verb, clause.subject
        if verb is None:
            assert not isinstance(subject, Pronoun)
            if not predicates_for(subject) and isinstance(subject, NounPhrase):
                subject.adjectives = ()
            clause.predicate = self.pick(predicates_for(subject))
            clause.very = clause.predicate.rank in GRADED and self.chance(0.3)
        elif verb.frame == "accusative":
            clause.accusative = self.object(verb.objects, clause)
        elif verb.frame == "dative":
            clause.dative = self.object(verb.objects, clause)
        elif verb.frame == "ditransitive":
            clause.dative = self.object(HUMANS, clause, bare=False)
            # "gives her books" could be read in two ways: after a pronoun a determiner stands.
            bare = isinstance(clause.dative, NounPhrase)
            clause.accusative = self.object(verb.objects, clause, bare=bare)
        elif verb.frame == "prepositional":
            clause.prepositional = self.governed(verb, self.object(verb.objects, clause))
        elif verb.frame == "placed":
            kind = self.pick(verb.places)
            name = self.pick(PLACE_PREPOSITIONS[kind])
            clause.place = self.prepositional(name, self.noun(places_of(kind)), subject)
        elif verb.frame == "motion":
            kind = self.pick(verb.places)
            name = self.pick(DIRECTION_PREPOSITIONS[kind])
            clause.direction = self.prepositional(name, self.noun(places_of(kind)), subject)
        elif verb.frame == "put":
            clause.accusative = self.object(verb.objects, clause)
            name = self.pick(PUT_PREPOSITIONS)
            clause.direction = self.prepositional(name, self.noun(places_of("support")), subject)

    def governed(self, verb: Verb, filler: Argument) -> PrepositionalPhrase:
        """The phrase whose preposition the verb decides: wartet auf den Bus."""
        assert verb.preposition
        return PrepositionalPhrase(self.key(), verb.preposition, filler)

    def adorn(self, clause: Clause, *, front: bool = False, time: float = 0.35) -> None:
        """Add up to two adverbials that go with the clause; `front` lets one begin it."""
        verb = clause.verb
        if verb is None or verb.base in LASTING:
            passing = clause.predicate and clause.predicate.english in PASSING
            if passing and self.chance(time):
                clause.time = self.pick(TIMES["present"])
            return
        free = not clause.negated
        if self.chance(time):
            clause.time = self.pick(TIMES[clause.tense])
        elif free and clause.tense in ("present", "perfect") and self.chance(0.12):
            clause.frequency = self.pick(tuple(FREQUENCIES))
        if verb.manners and free and not clause.frequency and self.chance(0.2):
            clause.manner = self.pick(verb.manners)
        elif verb.frame in ACTIVITIES and is_human(clause.subject) and self.chance(0.15):
            name = self.pick(("with", "with", "with", "without"))
            clause.company = self.prepositional(name, self.noun(GATHERING), clause.subject, 0.2)
        if self.can_have_place(clause) and self.chance(0.3):
            kind = self.pick(("enter", "by") if is_human(clause.subject) else ("outdoor",))
            name = self.pick(PLACE_PREPOSITIONS[kind])
            noun = self.noun(places_of(kind))
            clause.place = self.prepositional(name, noun, clause.subject)
        if front and clause.time and self.chance(0.6):
            clause.fronted = "time"
        elif front and clause.place and not clause.negated and self.chance(0.35):
            clause.fronted = "place"

    def adorn_front(self, clause: Clause) -> None:
        """Begin a clause with a time: at its end it would seem to belong to what stands there."""
        if clause.verb and clause.verb.base not in LASTING:
            clause.time = self.pick(TIMES[clause.tense])
            clause.fronted = "time"

    def can_have_place(self, clause: Clause) -> bool:
        """Whether a place may be added: the verb is an activity, and the clause is not long yet."""
        verb = clause.verb
        if verb is None or clause.place or clause.direction or clause.company or clause.manner:
            return False
        if verb.frame == "intransitive":
            return verb.auxiliary == "haben"
        return verb.frame == "accusative" and verb.stage != 0

    # ------------------------------------------------------------------ relative clauses

    def relative(self, phrase: NounPhrase) -> Clause:
        """A relative clause for a noun phrase."""
        noun = phrase.noun
        verbs = verbs_by_role(noun)
        weights = {"subject": 5, "accusative": 4, "dative": 2, "prepositional": 2, "place": 2}
        roles = ["copula"] + [role for role in verbs for _ in range(weights[role])]
        role = self.pick(roles)
        gap = Gap(self.key(), noun, phrase.number)
        if role in ("subject", "copula"):
            verb = self.pick(verbs[role]) if role == "subject" else None
            clause = self.clause(verb.frame if verb else "copula", verb=verb, subject=gap)
            clause.gap = "subject"
            self.adorn(clause, time=0.0)
            return clause
        verb = self.pick(verbs[role])
        clause = Clause(self.key(), verb, self.subject(verb))
        self.choose_tense(clause)
        clause.gap = "prepositional"
        if role == "accusative":
            clause.accusative, clause.gap = gap, "accusative"
        elif role == "dative":
            clause.dative, clause.gap = gap, "dative"
        elif role == "prepositional":
            clause.prepositional = self.governed(verb, gap)
        else:
            clause.prepositional = PrepositionalPhrase(self.key(), PREPOSITIONS["in"], gap)
        return clause


def is_human(argument: Argument) -> bool:
    """Whether a subject is a person."""
    if isinstance(argument, Pronoun):
        return argument.english in PRONOUNS
    return argument.noun.human
