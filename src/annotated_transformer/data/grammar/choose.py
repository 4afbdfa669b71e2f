"""Choose clauses: at random, from a seed, so that they make sense."""

from functools import cache

from annotated_transformer.data.grammar.nouns import Noun, nouns_of
from annotated_transformer.data.grammar.phrases import (
    HUMANS,
    QUANTIFIERS,
    PhraseChooser,
    is_human,
    predicates_for,
)
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
)

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
# Verbs of lasting states, which no time or manner goes with.
LASTING = ("belong", "know", "love", "need", "trust", "understand", "live")
ACTIVITIES = ("motion", "intransitive")  # what one does with company
GATHERING = nouns_of("kin", "pet")
GRADED = (0, 1, 3)  # ranks of adjectives that "very" goes with: not very broken, not very blue


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


class Chooser(PhraseChooser):
    """Draws clauses, from the seed of its phrases."""

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
        elif drawn < 0.38 and animate and clause.verb and clause.verb.base not in LASTING:
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
        predicates = predicates_for(phrase)
        roles = ["copula"] * bool(predicates) + [
            role for role in verbs for _ in range(weights[role])
        ]
        role = self.pick(roles)
        gap = Gap(self.key(), noun, phrase.number)
        if role in ("subject", "copula"):
            verb = self.pick(verbs[role]) if role == "subject" else None
            clause = self.clause(verb.frame if verb else "copula", verb=verb, subject=gap)
            clause.gap = "subject"
            if clause.predicate:  # one that does not gainsay the adjectives of the antecedent
                clause.predicate = self.pick(predicates)
                clause.very = clause.very and clause.predicate.rank in GRADED
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
