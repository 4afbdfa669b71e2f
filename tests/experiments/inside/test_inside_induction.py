"""The test for induction heads can be passed and can fail."""

from contextlib import contextmanager

import pytest
import torch

from annotated_transformer.experiments.inside import induction


def test_rows_say_the_same_again_and_no_token_twice_before():
    rows = induction.draw_rows(5, 9, 24, torch.Generator().manual_seed(0))
    assert rows.shape == (5, 24)
    assert torch.equal(rows[:, :15], rows[:, 9:])
    assert all(len(set(row[:9].tolist())) == 9 for row in rows)


def test_nothing_is_asked_that_cannot_be_known():
    """From the first token that is said again on, for the token behind each."""
    model, rows = induction.build(1).eval(), induction.unseen_rows(6, 3)
    logits = induction.logits_of_rest(model, rows, 6)
    assert logits.shape == (3, 5, induction.TOKENS)
    with torch.no_grad():
        whole = model.read(rows, torch.ones(12, 12, dtype=torch.bool).tril())
    torch.testing.assert_close(logits, whole[:, 6:11], rtol=1e-4, atol=1e-5)


def test_an_untrained_model_has_no_such_head():
    torch.manual_seed(0)
    model, rows = induction.build(2).eval(), induction.unseen_rows(16, 40)
    scores = induction.head_scores(model, rows)
    assert len(scores) == 8
    assert max(of["next"] for of in scores.values()) < 0.2
    assert induction.repeated(model, rows) < 0.2


@pytest.mark.slow
def test_two_layers_learn_it_and_one_does_not():
    rows = induction.unseen_rows()
    (two, on_the_way), (one, _) = induction.train(2, seed=0), induction.train(1, seed=0)
    assert len(on_the_way) == induction.STEPS // induction.EVERY + 1
    assert induction.repeated(two, rows) > 0.9 > 0.3 > induction.repeated(one, rows)
    scores = induction.head_scores(two, rows)
    best = max(scores, key=lambda head: scores[head]["next"])
    assert best[0] == "encoder.layers.1.self_attention"
    assert scores[best]["next"] > 0.5
    assert max(of["next"] for of in induction.head_scores(one, rows).values()) < 0.3


def test_the_places_of_a_head_that_does_its_job_exactly(monkeypatch):
    rows = induction.unseen_rows(4, 2)  # a b c d a b c d
    weights = torch.zeros(2, 3, 8, 8)
    for place in range(8):
        weights[:, 0, place, max(place - 1, 0)] = 1.0  # the token before
        weights[:, 1, place, max(place - 4, 0)] = 1.0  # where it stood before
        weights[:, 2, place, max(place - 3, 0)] = 1.0  # what followed there

    @contextmanager
    def recorded(_):
        yield {"layer": weights}

    monkeypatch.setattr(induction, "recording_attention", recorded)
    scores = induction.head_scores(induction.build(1), rows)
    for head, job in enumerate(("previous", "same", "next")):
        of = scores["layer", head]
        assert {name: value for name, value in of.items() if value} == {job: 1.0}
