"""Choose whole sentences: simple, with a relative clause, with a second clause, coordinated."""

from dataclasses import replace
from functools import cache

from annotated_transformer.data.grammar.choose import (
    FRAMES,
    GRADED,
    LASTING,
    Chooser,
    verbs_by_role,
)
from annotated_transformer.data.grammar.inflection import BARE
from annotated_transformer.data.grammar.nouns import Noun
from annotated_transformer.data.grammar.phrases import QUANTIFIERS, is_human, predicates_for
from annotated_transformer.data.grammar.structure import (
    Clause,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
    Sentence,
)
from annotated_transformer.data.grammar.verbs import VERBS, Verb
from annotated_transformer.data.grammar.words import REASONS, TIMINGS

# How often each kind of sentence is said, in fiftieths.
KINDS = (
    ("simple",) * 13
    + ("relative",) * 15
    + ("subordinate",) * 11
    + ("complement",) * 6
    + ("coordinate",) * 5
)
EVENTS = tuple(frame for frame in FRAMES if frame not in ("copula", "placed"))
KNOWING = ("know", "ask")  # verbs that take "whether"


@cache
def chains() -> tuple[tuple[Verb, Verb, tuple[Noun, ...]], ...]:
    """Pairs of verbs that one does to the same thing one after the other, with those things."""
    verbs = [verb for verb in VERBS["accusative"] if verb.stage]
    found = []
    for first in verbs:
        for second in verbs:
            if first.stage < second.stage and first.auxiliary == second.auxiliary:
                common = tuple(
                    noun for noun in first.objects if noun in second.objects and noun.pronoun
                )
                if common:
                    found.append((first, second, common))
    return tuple(found)


def compose(chooser: Chooser) -> Sentence:
    """One sentence."""
    chooser.start()
    kind = chooser.pick(KINDS)
    if kind == "coordinate":
        return coordinate(chooser)
    if kind == "complement":
        return complement(chooser)
    if kind == "subordinate":
        return subordinate(chooser)
    main = chooser.clause()
    if kind == "simple":
        chooser.adorn(main, front=True, time=0.5)
        return Sentence(main)
    add_relative(chooser, main)
    return Sentence(main)


def add_relative(chooser: Chooser, main: Clause) -> None:
    """Give the subject or the last object of a clause a relative clause, now and then both."""
    subject_can = isinstance(main.subject, NounPhrase) and not main.negated
    last = main.accusative or main.dative
    object_can = (
        isinstance(last, NounPhrase)
        and not main.negated
        and not main.direction
        and last.determiner not in (BARE, *QUANTIFIERS)
    )
    if object_can and (not subject_can or chooser.chance(0.5)):
        assert isinstance(last, NounPhrase)
        last.relative = chooser.relative(last)
        if chooser.chance(0.3):
            chooser.adorn_front(main)
        return
    if subject_can:
        assert isinstance(main.subject, NounPhrase)
        main.subject.relative = chooser.relative(main.subject)
        if chooser.chance(0.3):
            chooser.adorn_front(main)
        return
    chooser.adorn(main, front=True, time=0.5)


def coordinate(chooser: Chooser) -> Sentence:
    """The man finds the key and takes it along."""
    first, second, common = chooser.pick(chains())
    main = Clause(chooser.key(), first, chooser.subject(first))
    while True:
        chooser.choose_tense(main)
        if not main.negated:
            break
    noun = chooser.noun(common)
    phrase = chooser.noun_phrase(noun, main.subject, plain=True)
    main.accusative = phrase
    again = replace(main, key=chooser.key(), verb=second, accusative=take_up(chooser, phrase))
    if chooser.chance(0.3):
        chooser.adorn_front(main)
    return Sentence(main, coordinate=again)


def take_up(chooser: Chooser, phrase: NounPhrase) -> Pronoun:
    """The pronoun for a noun phrase; in German it has the gender of the noun."""
    if phrase.number == "plural":
        return chooser.pronoun("they")
    english = phrase.noun.pronoun
    return chooser.pronoun(english, phrase.noun.gender if english == "it" else None)


def complement(chooser: Chooser) -> Sentence:
    """The man says that the dog sleeps; the woman does not know whether the bus arrives."""
    verb = chooser.pick(VERBS["complement"])
    main = Clause(chooser.key(), verb, chooser.subject(verb))
    plain = isinstance(main.subject, NounPhrase) and main.subject.determiner in QUANTIFIERS
    conjunction = "that"
    if verb.base in KNOWING and (verb.base == "ask" or (not plain and chooser.chance(0.5))):
        conjunction = "whether"
        main.negated = verb.base == "know"
    elif not plain:
        main.negated = chooser.chance(0.15)
    if verb.base in ("say", "hear", "ask", "notice") and chooser.chance(0.25):
        main.tense = "perfect"
    if chooser.chance(0.15):
        chooser.adorn_front(main)
    subject = echo(chooser, main) if chooser.chance(0.3) else None
    said = person_clause(chooser, subject) if subject else chooser.clause()
    chooser.adorn(said)
    return Sentence(main, conjunction=conjunction, subordinate=said)


def echo(chooser: Chooser, clause: Clause) -> Pronoun | None:
    """The pronoun that takes up the subject of a clause, where there is one."""
    subject = clause.subject
    if isinstance(subject, Pronoun):
        return replace(subject, key=chooser.key())
    assert isinstance(subject, NounPhrase)
    if subject.determiner in QUANTIFIERS or not (
        subject.noun.pronoun or subject.number == "plural"
    ):
        return None
    return take_up(chooser, subject)


def subordinate(chooser: Chooser) -> Sentence:
    """Two clauses, joined by because, although, ...; at times a pronoun takes up the first."""
    timing = chooser.chance(0.45)
    first = event(chooser) if timing else chooser.clause()
    settle = at_one_time if timing else unchanged
    chooser.adorn(settle(first), time=0.0 if timing else 0.2)
    # Only now, when the first clause is whole, is it known how many things it names.
    second = None if timing else resolved(chooser, first)
    if second is None:
        subject = echo(chooser, first) if is_human(first.subject) and chooser.chance(0.4) else None
        if subject:
            second = person_clause(chooser, subject)
        else:
            second = event(chooser) if timing else chooser.clause()
        chooser.adorn(settle(second), time=0.0 if timing else 0.2)
    conjunction = chooser.pick(tuple(TIMINGS if timing else REASONS))
    if chooser.chance(0.35):
        return Sentence(second, conjunction=conjunction, subordinate=first, subordinate_first=True)
    return Sentence(first, conjunction=conjunction, subordinate=second)


def event(chooser: Chooser) -> Clause:
    """A clause that says what happens, not what is."""
    while True:
        frame = chooser.pick(EVENTS)
        verb = chooser.pick(VERBS[frame])
        if verb.base not in LASTING:
            return chooser.clause(frame, verb=verb)


def at_one_time(clause: Clause) -> Clause:
    """Present or modal, and not negated: what when, if, while and before join in English."""
    if clause.tense in ("perfect", "future"):
        clause.tense = "present"
    clause.negated = False
    return clause


def unchanged(clause: Clause) -> Clause:
    """The clause as it is."""
    return clause


def person_clause(chooser: Chooser, subject: Pronoun) -> Clause:
    """A clause whose subject is a pronoun for a person."""
    while True:
        frame = chooser.pick(("accusative", "intransitive", "dative", "prepositional", "motion"))
        verb = chooser.pick(VERBS[frame])
        if verb.base not in LASTING and any(noun.human for noun in verb.subjects):
            return chooser.clause(frame, verb=verb, subject=subject)


def resolved(chooser: Chooser, first: Clause) -> Clause | None:
    """A clause with "it" (or they, them) for the one thing of the first clause.

    None where the first clause names no such thing or more than one: then "it" would have no one
    antecedent, and no one German form. None, too, now and then.
    """
    if chooser.chance(0.4):
        return None
    things = [phrase for phrase in noun_phrases(first) if phrase.noun.pronoun == "it"]
    if len(things) != 1 or things[0].determiner in QUANTIFIERS:
        return None
    (thing,) = things
    pronoun = take_up(chooser, thing)
    roles = verbs_by_role(thing.noun)
    if "accusative" in roles and chooser.chance(0.4):
        verb = chooser.pick(roles["accusative"])
        if verb is first.verb or verb.base in ("look", "need"):
            return None
        clause = Clause(chooser.key(), verb, echo(chooser, first) or chooser.subject(verb))
        if not is_human(clause.subject):
            return None
        clause.accusative = pronoun
        chooser.choose_tense(clause)
        return clause
    predicates = predicates_for(thing)
    if not predicates:
        return None
    clause = Clause(chooser.key(), None, pronoun, predicate=chooser.pick(predicates))
    assert clause.predicate
    clause.very = clause.predicate.rank in GRADED and chooser.chance(0.3)
    clause.negated = chooser.chance(0.2)
    return clause


def noun_phrases(clause: Clause) -> list[NounPhrase]:
    """Every noun phrase of a clause, those after prepositions included."""
    phrases = (clause.prepositional, clause.place, clause.company, clause.direction)
    governed = [phrase.object for phrase in phrases if isinstance(phrase, PrepositionalPhrase)]
    every = [clause.subject, clause.accusative, clause.dative, *governed]
    return [phrase for phrase in every if isinstance(phrase, NounPhrase)]
