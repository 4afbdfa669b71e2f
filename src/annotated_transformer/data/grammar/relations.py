"""Which words of a sentence belong together, known because the grammar has put them there."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from annotated_transformer.data.grammar.compose import noun_phrases
from annotated_transformer.data.grammar.english import relative_gap
from annotated_transformer.data.grammar.nouns import NOUNS, Noun
from annotated_transformer.data.grammar.phenomena import arguments, clauses
from annotated_transformer.data.grammar.structure import (
    Argument,
    Clause,
    Gap,
    Mark,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
    Sentence,
    Word,
)

RELATIONS = {
    "article": "a determiner and its noun",
    "adjective": "an adjective and the noun behind it",
    "subject": "a subject and its finite verb",
    "object": "an object without a preposition, and its verb",
    "verb": "the finite verb and the rest of the verb",
    "relative": "a relative pronoun and its antecedent",
    "antecedent": "it, and the noun for which it stands",
}

Relation = tuple[int, int]  # places of two words: the one that depends, the one on which it does
Related = dict[str, list[Relation]]  # by the names in RELATIONS


def relations(said: Sentence, words: list[Word]) -> Related:
    """The related words of a sentence, by the names in RELATIONS.

    Args:
        said: what the sentence says.
        words: how one language says it: `english.sentence(said)` or `german.sentence(said)`.
    """
    places: dict[Mark, list[int]] = {}
    for place, (_, marks) in enumerate(words):
        for mark in marks:
            places.setdefault(mark, []).append(place)
    found: Related = {name: [] for name in RELATIONS}
    for name, dependent, head in related(said):
        for place in places.get(dependent, ()):
            # A word and itself are one word: "reads" is both finite verb and verb.
            if head in places and place != places[head][0]:
                found[name].append((place, places[head][0]))
    return found


def related(said: Sentence) -> Iterator[tuple[str, Mark, Mark]]:
    """The relations of a sentence, as marks of words: the name, the dependent, its head."""
    for clause in clauses(said):
        finite, verb = (clause.key, "finite"), (clause.key, "verb")
        yield "verb", verb, finite
        yield "subject", head_of(clause.subject), finite
        for filler in (clause.accusative, clause.dative):
            if filler:
                yield "object", head_of(filler), verb
        for phrase in noun_phrases(clause):
            noun = head_of(phrase)
            yield "article", (phrase.key, "determiner"), noun
            for number in range(len(phrase.adjectives)):
                yield "adjective", (phrase.key, f"adjective {number}"), noun
            if phrase.relative:
                yield "relative", head_of(relative_gap(phrase.relative)), noun
    if pair := antecedent(said):
        yield "antecedent", head_of(pair[0]), head_of(pair[1])


def head_of(phrase: Argument) -> Mark:
    """The mark of the word for which a phrase stands: a noun, a pronoun, a relative pronoun."""
    kinds = {NounPhrase: "noun", Pronoun: "pronoun", Gap: "relative"}
    return phrase.key, kinds[type(phrase)]


def antecedent(said: Sentence) -> tuple[Pronoun, NounPhrase] | None:
    """The word "it" of a sentence and the noun phrase that it takes up; None without "it".

    That is the last thing of its gender in the other clause: nearly always the only one.
    """
    outer = [each for each in (said.main, said.subordinate, said.coordinate) if each]
    for clause in outer:
        for pronoun in arguments(clause):
            if isinstance(pronoun, Pronoun) and pronoun.english == "it":
                things = [
                    phrase
                    for other in outer
                    if other is not clause
                    for phrase in noun_phrases(other)
                    if phrase.noun.pronoun == "it" and phrase.agrees == pronoun.agrees
                ]
                return pronoun, things[-1]
    return None


def with_antecedent(said: Sentence, noun: Noun) -> Sentence:
    """The same sentence about another thing: its antecedent replaced, and with it what "it" is.

    Raises:
        ValueError: the sentence has no "it", or its antecedent is said with more than a noun that
            could stand there (a relative clause).
    """
    pair = antecedent(said)
    if pair is None or pair[1].relative:
        raise ValueError("only a plain antecedent of an 'it' is replaced")
    pronoun, thing = pair
    other = replace(thing, noun=noun)
    changed: dict[int, Argument] = {
        id(thing): other,
        id(pronoun): replace(pronoun, agrees=other.agrees),
    }

    def in_clause(clause: Clause | None) -> Clause | None:
        if clause is None:
            return None
        fillers: dict[str, Any] = {
            role: changed.get(id(filler), filler)
            for role in ("subject", "accusative", "dative")
            if (filler := getattr(clause, role))
        }
        for role in ("prepositional", "place", "company", "direction"):
            phrase = getattr(clause, role)
            if isinstance(phrase, PrepositionalPhrase):
                filler = changed.get(id(phrase.object), phrase.object)
                fillers[role] = replace(phrase, object=filler)
        return replace(clause, **fillers)

    main = in_clause(said.main)
    assert main
    return replace(
        said,
        main=main,
        subordinate=in_clause(said.subordinate),
        coordinate=in_clause(said.coordinate),
    )


def other_genders(noun: Noun) -> dict[str, list[Noun]]:
    """Things of another gender that share a kind with a thing, by gender."""
    found: dict[str, list[Noun]] = {}
    for other in NOUNS:
        counted = other.pronoun == "it" and other.english_plural
        if counted and other.gender != noun.gender and other.kinds & noun.kinds:
            found.setdefault(other.gender, []).append(other)
    return found
