"""Name what a sentence shows, so that accuracy can be told phenomenon by phenomenon."""

from collections.abc import Iterator

from annotated_transformer.data.grammar.german import contracted, is_indefinite
from annotated_transformer.data.grammar.inflection import BARE, MANY, THREE, TWO
from annotated_transformer.data.grammar.structure import (
    Argument,
    Clause,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
    Sentence,
)

PHENOMENA = {
    "subject_first": "a main clause that begins with its subject; the verb follows it",
    "inversion": "something else begins the main clause, and the subject follows the verb",
    "fronted_clause": "a subordinate clause begins the sentence, and the verb follows the comma",
    "verb_final": "a subordinate clause with its verb at the end",
    "relative_clause": "a relative clause; its pronoun has the antecedent's gender",
    "relative_subject": "the relative pronoun is the subject (der, die, das)",
    "relative_accusative": "the relative pronoun is the direct object (den, die, das)",
    "relative_dative": "the relative pronoun is a dative object (dem, der, denen)",
    "relative_prepositional": "the relative pronoun follows a preposition",
    "extraposed_relative": "a relative clause stands behind the verb that closes its main clause",
    "separable_split": "a separable prefix far from its verb, at the end of the clause",
    "separable_joined": "a separable prefix joined to its verb at the end",
    "perfect_haben": "the perfect with haben, the participle at the end",
    "perfect_sein": "the perfect with sein, the participle at the end",
    "modal": "a modal verb with the infinitive at the end",
    "future": "werden with the infinitive at the end",
    "nicht": "negation by nicht",
    "kein": "negation by kein, declined",
    "dative_object": "an object in the dative",
    "place_dative": "a preposition with the dative for a place",
    "direction_accusative": "the same kind of preposition with the accusative for a direction",
    "governed_preposition": "a preposition that the verb decides (wartet auf)",
    "contraction": "a preposition and an article as one word (im, ins, zum, zur, vom)",
    "antecedent": "it, as er, sie or es by the gender of a noun in the other clause",
    "pronoun": "a personal pronoun",
    "coordination": "two predicates with one subject",
    "adjective": "an adjective before its noun, declined",
    "strong_adjective": "an adjective without an article before it, strongly declined",
    "weak_noun": "a noun that takes -n in the accusative and dative (den Studenten)",
    "plural": "a noun in the plural",
    "copula": "a form of sein with an adjective",
}


def clauses(said: Sentence) -> list[Clause]:
    """Every clause of a sentence, relative clauses included."""
    outer = [each for each in (said.main, said.subordinate, said.coordinate) if each]
    return outer + [inner for each in outer for inner in relative_clauses(each)]


def arguments(said: Clause) -> list[Argument]:
    """Everything in a clause that is a noun phrase, a pronoun or a gap."""
    return [phrase for phrase, _ in cases(said)]


def cases(said: Clause) -> list[tuple[Argument, str]]:
    """The arguments of a clause with their cases."""
    found = [(said.subject, "nominative")]
    if said.accusative:
        found.append((said.accusative, "accusative"))
    if said.dative:
        found.append((said.dative, "dative"))
    found += [(phrase.object, phrase.preposition.case) for phrase in prepositional(said)]
    return found


def prepositional(said: Clause) -> list[PrepositionalPhrase]:
    """The prepositional phrases of a clause."""
    phrases = (said.prepositional, said.place, said.company, said.direction)
    return [phrase for phrase in phrases if phrase]


def relative_clauses(said: Clause) -> list[Clause]:
    """The relative clauses that hang on the nouns of a clause."""
    return [
        phrase.relative
        for phrase in arguments(said)
        if isinstance(phrase, NounPhrase) and phrase.relative
    ]


def phenomena(said: Sentence) -> tuple[str, ...]:
    """The names of what a sentence shows, in the order of PHENOMENA."""
    found = set(of_sentence(said))
    main_keys = {clause.key for clause in (said.main, said.coordinate) if clause}
    for clause in clauses(said):
        found.update(of_verb(clause, final=clause.key not in main_keys))
        found.update(of_objects(clause))
        for phrase, case in cases(clause):
            found.update(of_phrase(phrase, case))
    return tuple(name for name in PHENOMENA if name in found)


def of_sentence(said: Sentence) -> Iterator[str]:
    """How the clauses are put together."""
    main = said.main
    if said.subordinate_first:
        yield from ("inversion", "fronted_clause")
    else:
        yield "subject_first" if main.fronted == "subject" else "inversion"
    if said.coordinate:
        yield "coordination"
    if len(clauses(said)) > (2 if said.coordinate else 1):
        yield "verb_final"
    for relative in clauses(said):
        if relative.gap:
            yield from ("relative_clause", f"relative_{relative.gap}")
    closing = main.tense != "present" or (main.verb and main.verb.prefix)
    for phrase in (main.accusative, main.dative):
        if closing and isinstance(phrase, NounPhrase) and phrase.relative:
            yield "extraposed_relative"


def of_verb(said: Clause, final: bool) -> Iterator[str]:
    """What its verb shows; `final` where the verb stands last."""
    verb = said.verb
    if verb is None:
        yield "copula"
        return
    if said.tense == "perfect":
        yield f"perfect_{verb.auxiliary}"
    elif said.tense != "present":
        yield said.tense
    if verb.prefix:
        split = said.tense == "present" and not final
        yield "separable_split" if split else "separable_joined"


def of_objects(said: Clause) -> Iterator[str]:
    """Negation, dative objects and prepositions."""
    if said.negated:
        yield "kein" if is_indefinite(said.accusative or said.dative) else "nicht"
    if said.dative:
        yield "dative_object"
    if said.prepositional and said.verb and said.verb.preposition:
        yield "governed_preposition"
    for phrase in prepositional(said):
        if phrase.preposition.two_way:
            place = phrase.preposition.case == "dative"
            yield "place_dative" if place else "direction_accusative"
        if contracted(phrase):
            yield "contraction"


def of_phrase(phrase: Argument, case: str) -> Iterator[str]:
    """What a noun phrase or a pronoun shows."""
    if isinstance(phrase, Pronoun):
        yield "antecedent" if phrase.english == "it" else "pronoun"
    if not isinstance(phrase, NounPhrase):
        return
    if phrase.number == "plural":
        yield "plural"
    if phrase.adjectives:
        yield "adjective"
        if phrase.determiner in (BARE, MANY, TWO, THREE):
            yield "strong_adjective"
    noun = phrase.noun
    if phrase.number == "singular" and case != "nominative" and noun.singular != noun.oblique:
        yield "weak_noun"
