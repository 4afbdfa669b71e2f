"""Links from weights, and word counting against Koehn's printed example."""

import pytest
import torch

from annotated_transformer.experiments.inside.alignments import (
    IBMModel1,
    by_layer,
    links_of,
    same_place,
    scored,
)


def test_the_end_sign_is_no_link():
    weights = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.3, 0.4, 0.3]])
    assert links_of(weights) == {(0, 0), (1, 2)}


def test_the_same_place():
    assert same_place(2, 4) == {(0, 0), (1, 1), (1, 2), (1, 3)}


def test_layers_heads_and_all_are_scored(seen, asked):
    guesses = by_layer(seen)
    assert len(guesses) == 2 * (1 + 4) + 1
    rates = dict(scored(guesses, asked.alignments))
    assert rates["decoder.layers.1.cross_attention"] < 0.2 < 0.4
    assert rates["decoder.layers.0.cross_attention"] > 0.4
    one = seen[0].cross["decoder.layers.1.cross_attention"]
    assert guesses["decoder.layers.1.cross_attention 2"][0] == links_of(one[2])
    assert guesses["decoder.layers.1.cross_attention"][0] == links_of(one.mean(0))


@pytest.mark.parametrize(
    ("rounds", "the", "house", "a"), [(1, 0.5, 0.5, 0.5), (2, 0.6364, 0.5714, 0.5714)]
)
def test_counting_words_as_koehn_prints_it(rounds, the, house, a):
    """Statistical Machine Translation (2010), figure 4.4: t(the|das), t(house|Haus), t(a|ein)."""
    pairs = [("das Haus", "the house"), ("das Buch", "the book"), ("ein Buch", "a book")]
    table = IBMModel1([(s.split(), t.split()) for s, t in pairs], rounds, null=False)

    def p(target: str, source: str) -> float:
        return table.table[table.source[source], table.target[target]]

    found = p("the", "das"), p("house", "Haus"), p("a", "ein")
    assert found == pytest.approx((the, house, a), abs=5e-5)
    assert table.links(["ein", "Haus"], ["a", "house"]) == {(0, 0), (1, 1)}
    assert table.links(["ein", "Hund"], ["a", "dog"]) == {(0, 0)}


def test_a_word_without_a_source_goes_to_none():
    pairs = [("dog", "der hund"), ("cat", "die katze"), ("old dog", "der alte hund")]
    pairs += [("old cat", "die alte katze"), ("dog", "ja hund"), ("cat", "ja katze")]
    pairs += [("old", "ja alte"), ("dog cat", "ja hund katze")]
    counted = IBMModel1([(s.split(), t.split()) for s, t in pairs], rounds=20)
    assert counted.links(["old", "dog"], ["ja", "alte", "hund"]) == {(0, 1), (1, 2)}


def test_near_places_decide_between_two_words_alike():
    counted = IBMModel1([(["the", "dog", "the"], ["der", "hund", "der"])] * 2, null=False)
    source, target = ["the", "dog", "the"], ["der", "hund", "der"]
    assert (0, 2) in counted.links(source, target)  # the first of equals
    assert counted.links(source, target, tension=4.0) == {(0, 0), (1, 1), (2, 2)}
