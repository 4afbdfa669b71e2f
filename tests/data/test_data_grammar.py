"""The embedded corpus: right German, fair scoring, known alignments, splits that share nothing."""

import os
import subprocess
import sys
from functools import cache

import pytest

from annotated_transformer.data import (
    TRAVELLING_SENTENCE,
    ParallelCorpus,
    Vocabulary,
    generate_corpus,
    load_corpus,
)
from annotated_transformer.data.grammar import (
    PHENOMENA,
    GrammarPair,
    german,
    tokens,
)
from annotated_transformer.data.grammar.choose import Chooser
from annotated_transformer.data.grammar.compose import compose, noun_phrases
from annotated_transformer.data.grammar.corpus import (
    DEFAULT_SHA256,
    MAX_WORDS,
    MIN_WORDS,
    corpus_sha256,
    say,
)
from annotated_transformer.data.grammar.inflection import BARE, POSSESSIVES, THE, A, Determiner
from annotated_transformer.data.grammar.nouns import NOUN, Number
from annotated_transformer.data.grammar.phenomena import clauses
from annotated_transformer.data.grammar.structure import (
    Clause,
    Gap,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
    Sentence,
)
from annotated_transformer.data.grammar.verbs import VERBS, Verb
from annotated_transformer.data.grammar.words import ADJECTIVES, PREPOSITIONS, TIMES
from annotated_transformer.errors import CallError

# ------------------------------------------------------------------ sentences written by hand

keys = iter(range(1, 10**6))


def verb(infinitive: str, frame: str = "accusative") -> Verb:
    return next(each for each in VERBS[frame] if each.infinitive == infinitive)


def phrase(
    english: str, determiner: Determiner = THE, number: Number = "singular", adjective: str = ""
) -> NounPhrase:
    adjectives = tuple(each for each in ADJECTIVES if each.english == adjective)
    return NounPhrase(next(keys), NOUN[english], number, determiner, adjectives)


def he() -> Pronoun:
    return Pronoun(next(keys), "he", 3, "singular", "masculine")


def clause(*, of: Verb | None, subject: NounPhrase | Pronoun | Gap, **parts: object) -> Clause:
    return Clause(next(keys), of, subject, **parts)  # type: ignore[arg-type]


def after(name: str, governed: NounPhrase) -> PrepositionalPhrase:
    return PrepositionalPhrase(next(keys), PREPOSITIONS[name], governed)


def relative(antecedent: NounPhrase, of: Verb, role: str, **parts: object) -> NounPhrase:
    gap = Gap(next(keys), antecedent.noun, antecedent.number)
    if role == "subject":
        parts["subject"] = gap
    elif role == "prepositional":
        assert of.preposition
        parts[role] = PrepositionalPhrase(next(keys), of.preposition, gap)
    else:
        parts[role] = gap
    antecedent.relative = clause(of=of, gap=role, **parts)  # type: ignore[arg-type]
    return antecedent


TODAY, IN_THE_EVENING, TOMORROW = TIMES["present"][0], TIMES["present"][2], TIMES["future"][0]


def written_by_hand() -> list[tuple[Sentence, str, str]]:
    read, call, see = verb("lesen"), verb("anrufen"), verb("sehen")
    take, find = verb("mitnehmen"), verb("finden")
    sleep, helps, wait = (
        verb("schlafen", "intransitive"),
        verb("helfen", "dative"),
        verb("warten", "prepositional"),
    )
    assert wait.preposition
    finding = clause(of=find, subject=phrase("man"), accusative=phrase("key"))
    taking = clause(
        of=take,
        subject=finding.subject,
        accusative=Pronoun(next(keys), "it", 3, "singular", "masculine"),
    )
    return [
        (
            Sentence(
                clause(
                    of=read,
                    subject=phrase("teacher", adjective="old"),
                    accusative=phrase("book", A),
                    time=TODAY,
                    fronted="time",
                )
            ),
            "Today the old teacher reads a book.",
            "Heute liest der alte Lehrer ein Buch.",
        ),
        (
            Sentence(
                clause(of=call, subject=he(), accusative=phrase("woman"), time=IN_THE_EVENING)
            ),
            "He calls the woman in the evening.",
            "Er ruft am Abend die Frau an.",
        ),
        (
            Sentence(
                clause(of=read, subject=phrase("child"), accusative=phrase("letter")),
                conjunction="because",
                subordinate=clause(of=call, subject=he(), accusative=phrase("boy", A)),
            ),
            "The child reads the letter because he calls a boy.",
            "Das Kind liest den Brief, weil er einen Jungen anruft.",
        ),
        (
            Sentence(
                clause(of=sleep, subject=phrase("dog")),
                conjunction="because",
                subordinate=clause(
                    of=call, subject=he(), accusative=phrase("boy"), tense="perfect"
                ),
                subordinate_first=True,
            ),
            "Because he has called the boy, the dog sleeps.",
            "Weil er den Jungen angerufen hat, schläft der Hund.",
        ),
        (
            Sentence(
                clause(of=verb("sagen", "complement"), subject=phrase("queen")),
                conjunction="that",
                subordinate=clause(
                    of=verb("aufstehen", "intransitive"), subject=phrase("king"), tense="perfect"
                ),
            ),
            "The queen says that the king has got up.",
            "Die Königin sagt, dass der König aufgestanden ist.",
        ),
        (
            Sentence(
                clause(
                    of=call,
                    subject=phrase("girl"),
                    accusative=phrase("uncle", POSSESSIVES["my"]),
                    tense="modal",
                    modal="wants to",
                    negated=True,
                )
            ),
            "The girl does not want to call my uncle.",
            "Das Mädchen will meinen Onkel nicht anrufen.",
        ),
        (
            Sentence(
                clause(
                    of=read,
                    subject=phrase("student", BARE, "plural"),
                    accusative=phrase("book", BARE, "plural", "boring"),
                    negated=True,
                )
            ),
            "Students do not read boring books.",
            "Studenten lesen keine langweiligen Bücher.",
        ),
        (
            Sentence(
                clause(
                    of=sleep,
                    subject=relative(
                        phrase("guest", number="plural"), helps, "dative", subject=he()
                    ),
                    tense="future",
                    time=TOMORROW,
                    fronted="time",
                )
            ),
            "Tomorrow the guests whom he helps will sleep.",
            "Morgen werden die Gäste, denen er hilft, schlafen.",
        ),
        (
            Sentence(
                clause(
                    of=see,
                    subject=phrase("cat"),
                    accusative=relative(
                        phrase("bus"), wait, "prepositional", subject=phrase("farmer")
                    ),
                    tense="perfect",
                )
            ),
            "The cat has seen the bus for which the farmer waits.",
            "Die Katze hat den Bus gesehen, auf den der Bauer wartet.",
        ),
        (
            Sentence(finding, coordinate=taking),
            "The man finds the key and takes it along.",
            "Der Mann findet den Schlüssel und nimmt ihn mit.",
        ),
        (
            Sentence(
                clause(
                    of=verb("gehen", "motion"),
                    subject=phrase("child", number="plural"),
                    direction=after("into", phrase("forest")),
                ),
                conjunction="while",
                subordinate=clause(
                    of=verb("spielen", "intransitive"),
                    subject=phrase("dog"),
                    place=after("in", phrase("forest")),
                ),
            ),
            "The children go into the forest while the dog plays in the forest.",
            "Die Kinder gehen in den Wald, während der Hund im Wald spielt.",
        ),
        (
            Sentence(
                clause(
                    of=verb("vorlesen", "ditransitive"),
                    subject=phrase("mother"),
                    dative=phrase("son", POSSESSIVES["her"]),
                    accusative=phrase("story", A, adjective="sad"),
                    tense="perfect",
                )
            ),
            "The mother has read her son a sad story.",
            "Die Mutter hat ihrem Sohn eine traurige Geschichte vorgelesen.",
        ),
        (
            Sentence(
                clause(
                    of=verb("legen", "put"),
                    subject=he(),
                    accusative=phrase("hat"),
                    direction=after("put on", phrase("chair", adjective="white")),
                    negated=True,
                )
            ),
            "He does not put the hat on the white chair.",
            "Er legt den Hut nicht auf den weißen Stuhl.",
        ),
    ]


@pytest.mark.parametrize(("said", "source", "target"), written_by_hand())
def test_sentences_written_by_hand(said: Sentence, source: str, target: str) -> None:
    pair = say(said)
    assert pair
    assert (pair.source, pair.target) == (source, target)


def words_of(pair: GrammarPair) -> set[tuple[str, str]]:
    source, target = tokens(pair.source), tokens(pair.target)
    return {(source[i], target[j]) for i, j in pair.alignment}


def test_the_travelling_sentence() -> None:
    assert TRAVELLING_SENTENCE.source == "The woman calls the teacher who reads the old book."
    assert TRAVELLING_SENTENCE.target == "Die Frau ruft den Lehrer an, der das alte Buch liest."
    assert words_of(TRAVELLING_SENTENCE) == {
        ("The", "Die"),
        ("woman", "Frau"),
        ("calls", "ruft"),
        ("calls", "an"),
        ("the", "den"),
        ("teacher", "Lehrer"),
        ("who", "der"),
        ("reads", "liest"),
        ("the", "das"),
        ("old", "alte"),
        ("book", "Buch"),
        (".", "."),
    }
    assert set(TRAVELLING_SENTENCE.tags) == {
        "subject_first",
        "verb_final",
        "relative_clause",
        "relative_subject",
        "extraposed_relative",
        "separable_split",
        "adjective",
    }


def test_the_travelling_sentence_is_what_the_grammar_says() -> None:
    book = phrase("book", adjective="old")
    teacher = relative(phrase("teacher"), verb("lesen"), "subject", accusative=book)
    said = clause(of=verb("anrufen"), subject=phrase("woman"), accusative=teacher)
    assert say(Sentence(said)) == TRAVELLING_SENTENCE


def test_alignments_across_negation_contraction_and_do() -> None:
    said = Sentence(
        clause(
            of=verb("lesen"),
            subject=phrase("king"),
            accusative=phrase("book", A),
            place=after("in", phrase("garden")),
            negated=True,
        )
    )
    pair = say(said)
    assert pair
    assert pair.target == "Der König liest kein Buch im Garten."
    assert words_of(pair) == {
        ("The", "Der"),
        ("king", "König"),
        ("does", "liest"),
        ("not", "kein"),
        ("read", "liest"),
        ("a", "kein"),
        ("book", "Buch"),
        ("in", "im"),
        ("the", "im"),
        ("garden", "Garten"),
        (".", "."),
    }


# ------------------------------------------------------------------ every sentence


@cache
def many() -> list[Sentence]:
    chooser = Chooser(7)
    return [compose(chooser) for _ in range(4000)]


def without_relative(words: list[german.Word], said: Clause) -> list[german.Word]:
    behind = german.extraposed(said)
    return words[: len(words) - len(behind)] if behind else words


def test_the_finite_verb_is_second_in_every_main_clause() -> None:
    for said in many():
        main = said.main
        words = german.main_clause(main, first=[] if said.subordinate_first else None)
        place = next(i for i, (_, marks) in enumerate(words) if (main.key, "finite") in marks)
        first = {
            "subject": german.argument(main.subject, "nominative"),
            "time": german.time(main),
            "place": german.prepositional(main.place),
        }[main.fronted]
        assert words[:place] == ([] if said.subordinate_first else first)
        if said.subordinate_first:
            assert german.sentence(said)[0][1] == ((said.key, "conjunction"),)


def test_the_finite_verb_is_last_in_every_subordinate_clause() -> None:
    for said in many():
        for each in clauses(said):
            if each.gap or each is said.subordinate:
                words = without_relative(german.final_clause(each), each)
                assert (each.key, "finite") in words[-1][1]
                if each.verb and each.tense == "present":
                    assert words[-1][0].startswith(each.verb.prefix)


def test_the_verb_closes_every_main_clause() -> None:
    for said in many():
        main = said.main
        if main.verb and (main.tense != "present" or main.verb.prefix):
            first = [] if said.subordinate_first else None
            last = without_relative(german.main_clause(main, first), main)[-1][0]
            if main.tense == "present":
                assert last == main.verb.prefix
            elif main.tense == "perfect":
                assert last == main.verb.participle_german
            else:
                assert last == main.verb.infinitive


def test_it_has_one_antecedent_and_its_gender() -> None:
    seen = set()
    for said in many():
        pieces = [each for each in (said.main, said.subordinate, said.coordinate) if each]
        for each in pieces:
            for filler in (each.subject, each.accusative):
                if isinstance(filler, Pronoun) and filler.english == "it":
                    others = {
                        id(noun): noun
                        for other in pieces
                        for noun in noun_phrases(other)
                        if noun.noun.pronoun == "it" and noun.number == "singular"
                    }
                    genders = [noun.agrees for noun in others.values()]
                    if not said.coordinate:
                        assert genders == [filler.agrees]
                    assert filler.agrees in genders
                    seen.add(filler.agrees)
    assert seen == {"masculine", "feminine", "neuter"}


def test_english_determines_german() -> None:
    """Exact match is fair only if no English sentence has two German ones."""
    german_of: dict[str, str] = {}
    for seed in range(4):
        chooser = Chooser(seed)
        for _ in range(8000):
            pair = say(compose(chooser))
            if pair:
                assert german_of.setdefault(pair.source, pair.target) == pair.target


def test_every_word_is_aligned() -> None:
    for said in many():
        pair = say(said)
        if pair is None:
            continue
        source, target = tokens(pair.source), tokens(pair.target)
        assert pair.alignment == sorted(set(pair.alignment))
        assert {i for i, _ in pair.alignment} == set(range(len(source)))
        unaligned = {target[j] for j in set(range(len(target))) - {j for _, j in pair.alignment}}
        assert unaligned <= {","}  # commas that English does without


# ------------------------------------------------------------------ the corpus


@cache
def corpus() -> ParallelCorpus:
    return load_corpus("grammar")


def test_sizes_and_what_the_splits_share() -> None:
    sizes = {name: len(split) for name, split in corpus().splits.items()}
    assert sizes == {"train": 60000, "valid": 1000, "test": 1000}
    splits = corpus().splits.values()
    for side in ("source", "target"):
        sentences = [sentence for split in splits for sentence in getattr(split, side)]
        assert len(set(sentences)) == len(sentences) == 62000
    assert corpus()["test"].source[0] == TRAVELLING_SENTENCE.source
    assert corpus()["test"].target[0] == TRAVELLING_SENTENCE.target


def test_text_is_natural() -> None:
    vocabulary = Vocabulary.train(corpus()["valid"].source, 600)
    split = corpus()["valid"]
    for text in (*split.source, *split.target):
        words = [word for word in tokens(text) if word not in (",", ".")]
        assert MIN_WORDS <= len(words) <= MAX_WORDS
        assert text[0].isupper()
        assert text.endswith(".")
        assert text == " ".join(text.split())
        assert ",." not in text
        assert ",," not in text
        # The words that alignments count are those that the vocabulary counts.
        assert vocabulary.word_indices(text)[-1] + 1 == len(tokens(text))


def test_alignments_and_tags_of_the_corpus() -> None:
    for split in corpus().splits.values():
        assert split.alignments
        assert split.tags
        assert len(split.alignments) == len(split.tags) == len(split)
    valid = corpus()["valid"]
    assert valid.alignments
    for source, target, links in zip(valid.source, valid.target, valid.alignments, strict=True):
        assert max(i for i, _ in links) < len(tokens(source))
        assert max(j for _, j in links) < len(tokens(target))


def test_every_phenomenon_is_there_to_be_learned_and_measured() -> None:
    for name, least in (("train", 1000), ("test", 10)):
        tags = corpus()[name].tags
        assert tags
        counts = {tag: sum(tag in each for each in tags) for tag in PHENOMENA}
        assert min(counts.values()) >= least, counts
        assert {tag for each in tags for tag in each} == set(PHENOMENA)


def test_the_same_corpus_on_every_machine() -> None:
    assert corpus_sha256(corpus()) == DEFAULT_SHA256
    program = (
        "from annotated_transformer.data.grammar.corpus import corpus_sha256, generate_corpus\n"
        "print(corpus_sha256(generate_corpus(seed=3, train=500, valid=50, test=50)))"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_held_out_pairs_do_not_depend_on_the_size_of_training() -> None:
    small, smaller = (generate_corpus(train=size, valid=20, test=20) for size in (50, 10))
    assert small["valid"] == smaller["valid"]
    assert small["test"] == smaller["test"]
    assert small["train"].source[:10] == smaller["train"].source
    assert generate_corpus(seed=1, train=50, valid=20, test=20) != small


def test_wrong_calls() -> None:
    with pytest.raises(CallError, match=r"at least one pair; train=0"):
        generate_corpus(train=0)
    with pytest.raises(CallError, match="de to en was asked for"):
        load_corpus("grammar", source="de", target="en")
