"""The related words of a sentence, and the same sentence about another thing."""

from itertools import islice

import pytest

from annotated_transformer.data.grammar import english, german
from annotated_transformer.data.grammar.corpus import (
    generate_corpus,
    pairs,
    said_in,
    say,
    sayings,
    tokens,
)
from annotated_transformer.data.grammar.relations import (
    RELATIONS,
    antecedent,
    other_genders,
    relations,
    with_antecedent,
)

SAID = list(islice(sayings(0), 600))
PRONOUNS = {"masculine": {"er", "ihn"}, "feminine": {"sie"}, "neuter": {"es"}}


def named(words, found):
    """The relations as words."""
    return {
        name: {(words[i][0], words[j][0]) for i, j in links}
        for name, links in found.items()
        if links
    }


def test_sayings_are_the_pairs():
    assert [pair for _, pair in SAID[:50]] == list(islice(pairs(0), 50))


def test_what_a_split_says_is_in_that_split():
    corpus = generate_corpus(train=1)
    for name, left_out in (("valid", 0), ("test", 1)):  # the travelling sentence
        said = [pair.source for _, pair in said_in(name)]
        assert said == list(corpus[name].source)[left_out:]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (
            "This small woman who goes out puts her shirt next to this bed.",
            {
                "article": {("this", "woman"), ("her", "shirt"), ("this", "bed")},
                "adjective": {("small", "woman")},
                "subject": {("woman", "puts"), ("who", "goes")},
                "object": {("shirt", "puts")},
                "verb": {("out", "goes")},
                "relative": {("who", "woman")},
            },
        ),
        (
            "Today a lazy cat has watched the girl.",  # the object's head is not the finite verb
            {
                "article": {("a", "cat"), ("the", "girl")},
                "adjective": {("lazy", "cat")},
                "subject": {("cat", "has")},
                "object": {("girl", "watched")},
                "verb": {("watched", "has")},
            },
        ),
        (
            "Her mother takes along her sons when three policemen never watch her in this forest.",
            {
                "article": {
                    ("her", "mother"),
                    ("her", "sons"),
                    ("three", "policemen"),
                    ("this", "forest"),
                },
                "subject": {("mother", "takes"), ("policemen", "watch")},
                "object": {("sons", "takes"), ("her", "watch")},
                "verb": {("along", "takes")},
            },
        ),
    ],
)
def test_the_relations_of_english_sentences_read_by_hand(source, wanted):
    (said,) = [said for said, pair in SAID if pair.source == source]
    words = english.sentence(said)
    assert named(words, relations(said, words)) == wanted


def test_the_relations_of_a_german_sentence_read_by_hand():
    target = "Der traurige Lehrer, dem der Computer gehört, kommt zurück."
    (said,) = [said for said, pair in SAID if pair.target == target]
    words = german.sentence(said)
    assert named(words, relations(said, words)) == {
        "article": {("der", "Lehrer"), ("der", "Computer")},
        "adjective": {("traurige", "Lehrer")},
        "subject": {("Lehrer", "kommt"), ("Computer", "gehört")},
        "object": {("dem", "gehört")},
        "verb": {("zurück", "kommt")},
        "relative": {("dem", "Lehrer")},
    }


def test_links_are_places_of_the_sentence_and_never_one_word():
    for said, pair in SAID:
        for words, text in (
            (english.sentence(said), pair.source),
            (german.sentence(said), pair.target),
        ):
            found = relations(said, words)
            assert set(found) == set(RELATIONS)
            for links in found.values():
                assert all(i != j and max(i, j) < len(tokens(text)) for i, j in links)


def test_the_antecedent_has_the_gender_of_the_german_pronoun():
    """The pronoun as the German sentence writes it, which knows nothing of `antecedent`."""
    count = 0
    for said, pair in SAID:
        found = antecedent(said)
        assert (found is not None) == ("antecedent" in pair.tags)
        if found:
            words = german.sentence(said)
            ((pronoun, thing),) = relations(said, words)["antecedent"]
            assert words[pronoun][0] in PRONOUNS[found[1].noun.gender]
            assert words[thing][0].startswith(found[1].noun.singular[:3])
            count += 1
    assert count > 30


def test_another_thing_changes_its_word_and_the_pronoun_alone():
    for said, pair in SAID:
        found = antecedent(said)
        if found is None or found[1].relative:
            continue
        for gender, nouns in other_genders(found[1].noun).items():
            changed = with_antecedent(said, nouns[0])
            told = say(changed)
            assert told is not None
            one, two = tokens(pair.source), tokens(told.source)
            differ = {(a.lower(), b.lower()) for a, b in zip(one, two, strict=True) if a != b}
            assert (found[1].noun.english, nouns[0].english) in differ
            assert differ - {("a", "an"), ("an", "a")} == {
                (found[1].noun.english, nouns[0].english)
            }
            words = german.sentence(changed)
            ((pronoun, _),) = relations(changed, words)["antecedent"]
            assert words[pronoun][0] in PRONOUNS[gender]
            assert antecedent(said) == found  # the sentence itself has not changed


def test_only_a_plain_antecedent_is_replaced():
    said = next(said for said, pair in SAID if "antecedent" not in pair.tags)
    with pytest.raises(ValueError, match="plain antecedent"):
        with_antecedent(said, other_genders(antecedent_of_some().noun)["neuter"][0])


def antecedent_of_some():
    return next(
        found[1]
        for said, _ in SAID
        if (found := antecedent(said)) and found[1].noun.gender != "neuter"
    )
