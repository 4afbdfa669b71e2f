"""Say a sentence in German.

A German clause is a frame: in a main clause the finite verb stands second and the rest of the verb
(prefix, participle, infinitive) last; in a subordinate clause the whole verb stands last.
"""

from dataclasses import replace
from itertools import pairwise

from annotated_transformer.data.grammar.english import relative_gap
from annotated_transformer.data.grammar.inflection import (
    BARE,
    CONTRACTIONS,
    HABEN,
    NO,
    RELATIVE,
    SEIN,
    THE,
    WERDEN,
    A,
    adjective_form,
    by_person,
    determiner_form,
    noun_form,
    present_form,
    pronoun_form,
)
from annotated_transformer.data.grammar.structure import (
    Argument,
    Clause,
    Gap,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
    Sentence,
    Word,
)
from annotated_transformer.data.grammar.verbs import Case
from annotated_transformer.data.grammar.words import (
    CONJUNCTIONS,
    FREQUENCIES,
    MANNERS,
    MODALS,
)

COMMA: Word = (",", ())
SUBORDINATORS = {**CONJUNCTIONS, "that": "dass", "whether": "ob"}


def sentence(said: Sentence) -> list[Word]:
    """The words and signs of a sentence, each with its marks."""
    end: Word = (".", ((said.key, "end"),))
    if said.coordinate:
        second = coordinate_clause(said.coordinate, finite=said.main.tense == "present")
        words = [*main_clause(said.main), ("und", ((said.key, "and"),)), *second]
    elif not said.subordinate:
        words = main_clause(said.main)
    else:
        conjunction: Word = (SUBORDINATORS[said.conjunction], ((said.key, "conjunction"),))
        subordinate = [conjunction, *final_clause(said.subordinate)]
        if said.subordinate_first:
            # The clause itself is the first constituent: the finite verb follows it.
            comma: Word = (",", ((said.key, "comma"),))
            words = [*subordinate, comma, *main_clause(said.main, first=[])]
        else:
            words = [*main_clause(said.main), COMMA, *subordinate]
    return merge_commas([*words, end])


def merge_commas(words: list[Word]) -> list[Word]:
    """One sign where two meet: a comma before another sign gives way to it."""
    kept = [
        word
        for word, following in pairwise(words)
        if not (word[0] == "," and following[0] in (",", "."))
    ]
    return [*kept, words[-1]]


def main_clause(said: Clause, first: list[Word] | None = None) -> list[Word]:
    """A clause with its finite verb second. `first` replaces what stands before the verb."""
    subject_later = first is not None or said.fronted != "subject"
    if first is None:
        if said.fronted == "time":
            first = time(said)
        elif said.fronted == "place":
            first = prepositional(said.place)
        else:
            first = argument(said.subject, "nominative")
    finite, last = verb_frame(said)
    if not subject_later:
        return [*first, finite, *middle(said), *last, *extraposed(said)]
    subject = argument(said.subject, "nominative")
    if isinstance(said.subject, NounPhrase) and isinstance(said.dative, Pronoun):
        # "Heute hilft ihr ein Freund": ihr and its like go before a subject with a noun.
        subject = [*argument(said.dative, "dative"), *subject]
        said = replace(said, dative=None)
    return [*first, finite, *subject, *middle(said), *last, *extraposed(said)]


def final_clause(said: Clause) -> list[Word]:
    """A subordinate clause after its conjunction: subject first, the finite verb last."""
    words = [*argument(said.subject, "nominative"), *middle(said)]
    return [*words, *verb_last(said), *extraposed(said)]


def coordinate_clause(said: Clause, finite: bool) -> list[Word]:
    """A second predicate: its subject, and perhaps its auxiliary, are those of the first."""
    verb, last = verb_frame(said)
    return [*([verb] if finite else []), *middle(said), *last]


def relative_clause(said: Clause) -> list[Word]:
    """, der schläft, / , den der Mann sieht, / , mit dem der Mann tanzt,"""
    gap = relative_gap(said)
    case: Case = "nominative"
    words: list[Word] = [COMMA]
    if said.gap in ("accusative", "dative"):
        case = said.gap
    elif said.gap == "prepositional":
        assert said.prepositional
        case = said.prepositional.preposition.case
        german = said.prepositional.preposition.german
        words.append((german, ((said.prepositional.key, "preposition"),)))
    words.append((RELATIVE[case, gap.agrees], ((gap.key, "relative"),)))
    return [*words, *final_clause(said), COMMA]


def verb_frame(said: Clause) -> tuple[Word, list[Word]]:
    """The finite verb of a main clause, and the words that close the clause."""
    finite, main = (said.key, "finite"), (said.key, "verb")
    person, number = said.subject.person, said.subject.number
    verb = said.verb
    if verb is None:
        return (by_person(SEIN, person, number), (finite,)), []
    if said.tense == "present":
        word: Word = (present_form(verb, person, number), (finite, main))
        return word, [(verb.prefix, (main,))] if verb.prefix else []
    if said.tense == "perfect":
        forms = SEIN if verb.auxiliary == "sein" else HABEN
        participle: Word = (verb.participle_german, (main,))
        return (by_person(forms, person, number), (finite,)), [participle]
    if said.tense == "future":
        auxiliary = by_person(WERDEN, person, number)
    else:
        auxiliary = MODALS[said.modal][number == "plural"]
    # "to" of "wants to" belongs to the infinitive in both languages.
    return (auxiliary, (finite,)), [(verb.infinitive, (main,))]


def verb_last(said: Clause) -> list[Word]:
    """The whole verb at the end of a subordinate clause; a prefix is joined to it again."""
    finite, last = verb_frame(said)
    if said.verb and said.tense == "present":
        return [(said.verb.prefix + finite[0], finite[1])]
    return [*last, finite]


def middle(said: Clause) -> list[Word]:
    """What stands between subject and closing verb, in one fixed order.

    Pronouns, time, frequency, dative, accusative, nicht, manner, company, governed phrase, place,
    direction, predicate.
    """
    # "kein" says the negation where the object is indefinite; "nicht" elsewhere.
    absorbed = said.negated and is_indefinite(said.accusative or said.dative)
    words: list[Word] = []
    for phrase, case in cases(said):
        if isinstance(phrase, Pronoun):
            words += argument(phrase, case)
    if said.fronted != "time":
        words += time(said)
    if said.frequency:
        words.append((FREQUENCIES[said.frequency], ((said.key, "frequency"),)))
    for phrase, case in cases(said):
        if isinstance(phrase, NounPhrase):
            negated_by = said.key if absorbed and is_indefinite(phrase) else None
            words += noun_phrase(phrase, case, negated_by)
    if said.negated and not absorbed:
        words.append(("nicht", ((said.key, "negation"),)))
    if said.manner:
        words.append((MANNERS[said.manner], ((said.key, "manner"),)))
    words += prepositional(said.company)
    words += prepositional(said.prepositional)
    if said.fronted != "place":
        words += prepositional(said.place)
    words += prepositional(said.direction)
    if said.predicate:
        if said.very:
            words.append(("sehr", ((said.key, "very"),)))
        words.append((said.predicate.predicate, ((said.key, "predicate"),)))
    return words


def cases(said: Clause) -> tuple[tuple[Argument | None, Case], ...]:
    """The objects with their cases, the dative first."""
    return ((said.dative, "dative"), (said.accusative, "accusative"))


def is_indefinite(phrase: Argument | None) -> bool:
    """Whether a phrase is negated by kein: ein Buch, alte Bücher, Kaffee."""
    return isinstance(phrase, NounPhrase) and phrase.determiner in (A, BARE)


def extraposed(said: Clause) -> list[Word]:
    """The relative clause of an object stands behind the closing verb."""
    for phrase in (said.accusative, said.dative):
        if isinstance(phrase, NounPhrase) and phrase.relative:
            return relative_clause(phrase.relative)
    return []


def argument(phrase: Argument | None, case: Case) -> list[Word]:
    """A subject or pronoun in its case, a subject with its relative clause; nothing for a gap."""
    if phrase is None or isinstance(phrase, Gap):
        return []
    if isinstance(phrase, Pronoun):
        form = pronoun_form(phrase.person, phrase.agrees, phrase.number, case)
        return [(form, ((phrase.key, "pronoun"),))]
    words = noun_phrase(phrase, case)
    return [*words, *relative_clause(phrase.relative)] if phrase.relative else words


def noun_phrase(phrase: NounPhrase, case: Case, negated_by: int | None = None) -> list[Word]:
    """der alte Mann; with `negated_by` (the key of the clause) keinen alten Mann."""
    key, agrees = phrase.key, phrase.agrees
    determiner = phrase.determiner if negated_by is None else NO
    article = determiner_form(determiner, case, agrees)
    words: list[Word] = []
    if article:
        marks = ((key, "determiner"),)
        words.append((article, marks if negated_by is None else (*marks, (negated_by, "negation"))))
    for place, adjective in enumerate(phrase.adjectives):
        form = adjective_form(adjective.stem, determiner, case, agrees)
        words.append((form, ((key, f"adjective {place}"),)))
    words.append((noun_form(phrase.noun, case, phrase.number), ((key, "noun"),)))
    return words


def prepositional(phrase: PrepositionalPhrase | None) -> list[Word]:
    """in den Garten; the article is joined to the preposition where German does so."""
    if phrase is None or isinstance(phrase.object, Gap):
        return []
    marks = ((phrase.key, "preposition"),)
    words = argument(phrase.object, phrase.preposition.case)
    joined = contracted(phrase)
    if joined:
        return [(joined, (*marks, *words[0][1])), *words[1:]]
    return [(phrase.preposition.german, marks), *words]


def contracted(phrase: PrepositionalPhrase) -> str:
    """Preposition and article as one word (im Garten), "" where they stay apart."""
    filler = phrase.object
    if not isinstance(filler, NounPhrase) or filler.determiner is not THE:
        return ""
    article = determiner_form(THE, phrase.preposition.case, filler.agrees)
    return CONTRACTIONS.get((phrase.preposition.german, article), "")


def time(said: Clause) -> list[Word]:
    """heute; am Abend."""
    if said.time is None:
        return []
    return [(word, ((said.key, f"time {letter}"),)) for word, letter in said.time.german]
