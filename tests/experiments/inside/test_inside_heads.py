"""Heads with known habits are called by them, and by no others."""

import pytest
import torch

from annotated_transformer.experiments.inside.heads import Described, Hits, Job, describe, label
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
    # Column 0 is the start sign, column 1 word 0: the first head looks one word back.
    decoder = torch.stack(
        [peaked(N + 1, rows), peaked(N + 1, [1, 2, 1, 4, 3, 6]), peaked(N + 1, [0] * N)]
    )
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
    assert of.relations["subject"].words == 3
    assert float(of.relations["subject"].shares[3]) == 1.0
    assert float(of.relations["subject, back"].shares[3]) == pytest.approx(2 / 3)


def test_a_fixed_distance_is_the_rival_of_a_relation(described):
    of = described["encoder.layers.0.self_attention"]
    hits = of.relations["article"]
    assert (hits.fixed, hits.offset) == (1.0, 1)  # always the next word
    ahead = Hits(10, torch.tensor([0.62, 0.58, 0.99]), 0.5, 1)
    assert [ahead.names_head(n) for n in range(3)] == [True, False, True]  # by a tenth or more


def test_a_job_is_told_in_the_direction_that_is_further_ahead(described):
    of = described["encoder.layers.0.self_attention"]
    assert of.job("subject", 3) == Job(1.0, True, False, pytest.approx(1 / 3))
    assert of.job("previous word", 0).named
    assert of.job("translation", 0) is None
    back = Described(
        {}, {"verb": hits_of(0.3, 0.9), "verb, back": hits_of(0.8, 0.2)}, torch.ones(1)
    )
    assert back.job("verb", 0) == Job(pytest.approx(0.8), True, True, 0.2)
    assert described["decoder.layers.0.self_attention"].job("next word", 0) is None


def hits_of(share, fixed):
    return Hits(10, torch.tensor([share]), fixed, 1)


def test_the_decoder_is_not_asked_for_words_to_come(described):
    of = described["decoder.layers.0.self_attention"]
    assert of.relations["subject"].words == 1  # word 4 looks at word 2; the others look ahead
    assert of.relations["subject"].shares.tolist() == [0, 1, 0]  # column 3 is word 2
    assert "article" not in of.relations
    assert of.names(2) == ["start or end sign"]
    assert of.names(0) == ["previous word"]
    # Word 0 has none before it: it counts with nothing, so five of six have 0.9.
    assert float(of.places["previous word"][0]) == pytest.approx(0.9 * 5 / 6)


def test_cross_attention_is_asked_for_translations(described):
    of = described["decoder.layers.0.cross_attention"]
    assert of.places == {}
    assert float(of.relations["translation"].shares[0]) == pytest.approx(5 / 6)
    assert float(of.width[1]) == pytest.approx(N + 1, rel=1e-4)
    assert float(of.width[0]) < 2


def test_what_is_not_known_is_not_asked():
    looks = Looks(0, {"encoder.layers.0.self_attention": torch.eye(2, 3)[None]}, {}, {})
    (of,) = describe([looks]).values()
    assert of.relations == {}
    assert of.names(0) == ["own word"]


def test_labels_count_from_one():
    assert label("encoder.layers.1.self_attention", 3) == "encoder 2, head 4"
    assert label("decoder.layers.0.cross_attention") == "decoder 1, cross"
