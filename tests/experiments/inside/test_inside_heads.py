"""Heads with known habits are called by them, and by no others."""

import pytest
import torch

from annotated_transformer.experiments.inside.heads import describe, label
from annotated_transformer.experiments.inside.looks import Looks

N = 6


def peaked(columns: int, at: list[int]) -> torch.Tensor:
    """(rows, columns) with 0.9 of the weight at one column of each row."""
    weights = torch.full((len(at), columns), 0.1 / (columns - 1))
    weights[range(len(at)), at] = 0.9
    return weights


@pytest.fixture
def described():
    rows = list(range(N))
    encoder = torch.stack(
        [
            peaked(N + 1, [max(row - 1, 0) for row in rows]),
            peaked(N + 1, rows),
            peaked(N + 1, [N] * N),  # the end sign
            peaked(N + 1, [3, 5, 0, 0, 2, 1]),
        ]
    )[:, :, :]
    decoder = torch.stack([peaked(N + 1, rows), peaked(N + 1, [1, 2, 1, 4, 2, 6])])
    cross = torch.stack([peaked(N + 1, [0, 1, 2, 3, 4, N]), torch.full((N, N + 1), 1 / (N + 1))])
    looks = Looks(
        0,
        {"encoder.layers.0.self_attention": encoder},
        {"decoder.layers.0.self_attention": decoder},
        {"decoder.layers.0.cross_attention": cross},
    )
    related = {"subject": [(0, 3), (1, 5), (4, 2)], "article": [(0, 1), (1, 2)]}
    return describe([looks], [[(i, i) for i in range(N)]], [related], [related])


def test_places_and_relations_have_their_names(described):
    of = described["encoder.layers.0.self_attention"]
    assert of.names(0) == ["previous word"]
    assert of.names(1) == ["own word"]
    assert of.names(2) == ["start or end sign"]
    assert of.names(3) == ["subject", "subject, back"]  # 3, 5, 2 and 0, 1 as in the list
    assert of.relations["subject"].links == 3
    assert float(of.relations["subject"].shares[3]) == 1.0
    assert of.relations["subject, back"].shares[3] == pytest.approx(2 / 3)


def test_a_fixed_distance_is_the_rival_of_a_relation(described):
    hits = described["encoder.layers.0.self_attention"].relations["article"]
    assert (hits.fixed, hits.offset) == (1.0, 1)  # always the next word


def test_the_decoder_is_not_asked_for_words_to_come(described):
    of = described["decoder.layers.0.self_attention"]
    assert of.relations["subject"].links == 1  # word 4 looks at word 2; the others look ahead
    assert "article" not in of.relations
    assert float(of.places["previous word"][0]) == pytest.approx(0.9 * 5 / 6 + 0.1 / 6 * 0)
    assert of.even == pytest.approx(sum(range(2, N + 2)) / N)


def test_cross_attention_is_asked_for_translations(described):
    of = described["decoder.layers.0.cross_attention"]
    assert of.places == {}
    assert float(of.relations["translation"].shares[0]) == pytest.approx(5 / 6)
    assert float(of.width[1]) == pytest.approx(N + 1, rel=1e-4)
    assert of.even == N + 1
    assert float(of.width[0]) < 2


def test_labels_count_from_one():
    assert label("encoder.layers.1.self_attention", 3) == "encoder 2, head 4"
    assert label("decoder.layers.0.cross_attention") == "decoder 1, cross"
