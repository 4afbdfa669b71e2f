"""Say a sentence in English."""

from annotated_transformer.data.grammar.structure import (
    Argument,
    Clause,
    Gap,
    NounPhrase,
    Phrased,
    PrepositionalPhrase,
    Sentence,
    Word,
)

OBJECT_FORMS = {"I": "me", "we": "us", "he": "him", "she": "her", "it": "it", "they": "them"}
BE = ("am", "is", "are")
HAVE = ("have", "has", "have")
DO = ("do", "does", "do")


def sentence(said: Sentence) -> list[Word]:
    """The words and signs of a sentence, each with its marks."""
    words: list[Word] = []
    end: Word = (".", ((said.key, "end"),))
    main = clause(said.main)
    if said.coordinate:
        assert said.main.verb
        second = predicate(said.coordinate, finite=said.main.tense == "present")
        return [*main, ("and", ((said.key, "and"),)), *second, end]
    if not said.subordinate:
        return [*main, end]
    conjunction: Word = (said.conjunction, ((said.key, "conjunction"),))
    subordinate = [conjunction, *clause(said.subordinate)]
    if said.subordinate_first:
        comma: Word = (",", ((said.key, "comma"),))
        words = [*subordinate, comma, *main]
    else:
        words = [*main, *subordinate]
    return [*words, end]


def clause(said: Clause) -> list[Word]:
    """A clause that is not relative: fronted adverbial, subject, predicate."""
    words: list[Word] = []
    if said.fronted == "time":
        words += time(said)
    elif said.fronted == "place":
        words += prepositional(said.place)
    return [*words, *argument(said.subject), *predicate(said)]


def relative_clause(said: Clause) -> list[Word]:
    """who sleeps; that the man reads; with whom the man dances."""
    gap = relative_gap(said)
    human = gap.noun.human
    marks = ((gap.key, "relative"),)
    if said.gap == "subject":
        return [("who" if human else "that", marks), *predicate(said)]
    if said.gap == "prepositional":
        assert said.prepositional
        phrase = said.prepositional
        preposition: list[Word] = [
            (word, ((phrase.key, "preposition"),)) for word in phrase.preposition.english
        ]
        pronoun: Word = ("whom" if human else "which", marks)
        return [*preposition, pronoun, *argument(said.subject), *predicate(said)]
    return [("whom" if human else "that", marks), *argument(said.subject), *predicate(said)]


def relative_gap(said: Clause) -> Gap:
    """The gap of a relative clause."""
    governed = said.prepositional.object if said.prepositional else None
    for filler in (said.subject, said.accusative, said.dative, governed):
        if isinstance(filler, Gap):
            return filler
    raise AssertionError("a relative clause has a gap")


def predicate(said: Clause, finite: bool = True) -> list[Word]:
    """Everything after the subject; without its finite verb in a coordination that shares it."""
    words = verb_words(said) if finite else bare_verb_words(said)
    verb = said.verb
    particle: list[Word] = []
    if verb and verb.particle:
        particle = [(word, ((said.key, "verb"),)) for word in verb.particle.split()]
    if verb and verb.splits and not isinstance(said.accusative, NounPhrase):
        words += argument(said.accusative, object_form=True) + particle
    else:
        words += particle
        words += argument(said.dative, object_form=True)
        words += argument(said.accusative, object_form=True)
    if said.predicate:
        if said.very:
            words.append(("very", ((said.key, "very"),)))
        words.append((said.predicate.english, ((said.key, "predicate"),)))
    if said.manner:
        words.append((said.manner, ((said.key, "manner"),)))
    words += prepositional(said.company)
    words += prepositional(said.prepositional)
    if said.fronted != "place":
        words += prepositional(said.place)
    words += prepositional(said.direction)
    if said.fronted != "time":
        words += time(said)
    return words


def by_subject(said: Clause, forms: tuple[str, str, str]) -> str:
    """One of the forms for (I, he, we and they)."""
    subject = said.subject
    if subject.number == "plural":
        return forms[2]
    return forms[0] if subject.person == 1 else forms[1]


def verb_words(said: Clause) -> list[Word]:
    """The verb with its auxiliaries, negation and adverb of frequency."""
    finite, main = (said.key, "finite"), (said.key, "verb")
    negation: list[Word] = [("not", ((said.key, "negation"),))] if said.negated else []
    often: list[Word] = [(said.frequency, ((said.key, "frequency"),))] if said.frequency else []
    verb = said.verb
    if verb is None:
        return [(by_subject(said, BE), (finite,)), *negation, *often]
    if said.tense == "perfect":
        have = by_subject(said, HAVE)
        return [(have, (finite,)), *negation, *often, (verb.participle, (main,))]
    if said.tense == "future":
        return [("will", (finite,)), *negation, (verb.base, (main,))]
    if said.tense == "modal":
        return [*modal_words(said), (verb.base, (main,))]
    if said.negated:
        return [(by_subject(said, DO), (finite,)), *negation, (verb.base, (main,))]
    present = by_subject(said, (verb.base, verb.third, verb.base))
    return [*often, (present, (finite, main))]


def modal_words(said: Clause) -> list[Word]:
    """can, cannot, wants to, does not want to, ..."""
    finite, main = (said.key, "finite"), (said.key, "verb")
    negation = (said.key, "negation")
    if said.modal == "wants to":
        to: Word = ("to", (main,))
        if said.negated:
            does = by_subject(said, DO)
            return [(does, (finite,)), ("not", (negation,)), ("want", (finite,)), to]
        return [(by_subject(said, ("want", "wants", "want")), (finite,)), to]
    if not said.negated:
        return [(said.modal, (finite,))]
    if said.modal == "can":
        return [("cannot", (finite, negation))]
    return [(said.modal, (finite,)), ("not", (negation,))]


def bare_verb_words(said: Clause) -> list[Word]:
    """The verb of a second predicate that shares the auxiliary of the first."""
    assert said.verb
    form = said.verb.participle if said.tense == "perfect" else said.verb.base
    return [(form, ((said.key, "verb"),))]


def argument(phrase: Argument | None, object_form: bool = False) -> list[Word]:
    """A noun phrase or pronoun; nothing for a gap, whose pronoun stands in front."""
    if phrase is None or isinstance(phrase, Gap):
        return []
    return phrase_words(phrase, object_form)


def phrase_words(phrase: Phrased, object_form: bool) -> list[Word]:
    """the old man who sleeps; him."""
    key = phrase.key
    if not isinstance(phrase, NounPhrase):
        form = OBJECT_FORMS[phrase.english] if object_form else phrase.english
        return [(form, ((key, "pronoun"),))]
    singular = phrase.number == "singular"
    noun = phrase.noun.english if singular else phrase.noun.english_plural
    rest: list[Word] = [
        (adjective.english, ((key, f"adjective {place}"),))
        for place, adjective in enumerate(phrase.adjectives)
    ]
    rest.append((noun, ((key, "noun"),)))
    article = phrase.determiner.english[not singular]
    if article == "a" and rest[0][0][0] in "aeiou":
        article = "an"
    words: list[Word] = [(article, ((key, "determiner"),)), *rest] if article else rest
    return [*words, *relative_clause(phrase.relative)] if phrase.relative else words


def prepositional(phrase: PrepositionalPhrase | None) -> list[Word]:
    """in the garden; nothing where the object is a gap, for it stands before the clause."""
    if phrase is None or isinstance(phrase.object, Gap):
        return []
    marks = ((phrase.key, "preposition"),)
    words: list[Word] = [(word, marks) for word in phrase.preposition.english]
    return [*words, *argument(phrase.object, object_form=True)]


def time(said: Clause) -> list[Word]:
    """today; in the evening."""
    if said.time is None:
        return []
    return [(word, ((said.key, f"time {letter}"),)) for word, letter in said.time.english]
