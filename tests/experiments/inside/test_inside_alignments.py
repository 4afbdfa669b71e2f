"""Links from weights, and word counting against Koehn's printed example."""

import pytest
import torch

from annotated_transformer.experiments.inside.alignments import (
    WordTable,
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
    rates = dict(scored(guesses, asked.split.alignments))
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
    table = WordTable([(s.split(), t.split()) for s, t in pairs], rounds)

    def p(target: str, source: str) -> float:
        return table.table[table.source[source], table.target[target]]

    found = p("the", "das"), p("house", "Haus"), p("a", "ein")
    assert found == pytest.approx((the, house, a), abs=5e-5)
    assert table.links(["ein", "Haus"], ["a", "house"]) == {(0, 0), (1, 1)}
    assert table.links(["ein", "Hund"], ["a", "dog"]) == {(0, 0)}
