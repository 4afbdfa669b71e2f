"""One fact in a long text: the rows, what is read off a model, and the record."""

from typing import get_args

import pytest
import torch

from annotated_transformer.after.config import Stretch
from annotated_transformer.experiments import recall_measured as recall


def drawn(rows: int = 5, n: int = 20, facts: int = 6, questions: int = 4) -> recall.Rows:
    return recall.draw_rows(rows, n, facts, questions, torch.Generator().manual_seed(3))


def test_what_is_asked_stands_in_the_row_once_and_says_the_answer() -> None:
    rows = drawn()
    hay, asked = rows.tokens[:, :20], rows.tokens[:, 20::2]
    said = hay.gather(1, rows.depths) - recall.FACT
    assert torch.equal(said // recall.VALUES, asked - recall.QUESTION)
    assert torch.equal(said % recall.VALUES, rows.values - recall.ANSWER)
    facts = [row[row >= recall.FACT].tolist() for row in hay]
    keys = [{fact // recall.VALUES for fact in row} for row in facts]
    assert [len(row) for row in keys] == [len(row) for row in facts] == [6] * 5
    assert int(rows.tokens.max()) < recall.VOCABULARY


def test_an_answer_is_read_where_its_question_stands() -> None:
    """What comes after a question, its answer among it, changes nothing that is said there."""
    model, rows = recall.build_reader("RoPE").eval(), drawn()
    changed = rows.tokens.clone()
    changed[:, 21:] = 0  # behind the first question
    with torch.no_grad():
        first = recall.logits_of_answers(model, rows)
        other = recall.logits_of_answers(model, recall.Rows(changed, rows.depths, 4))
    assert first.shape == (5, 4, recall.VOCABULARY)
    torch.testing.assert_close(first[:, 0], other[:, 0])
    assert not torch.equal(first[:, 1], other[:, 1])


def test_the_weight_is_that_of_the_best_head_on_the_fact() -> None:
    model, rows = recall.build_reader("sinusoids").eval(), drawn()
    weights = recall.weight_on_facts(model, rows)
    layer = model.encoder.layers[1].self_attention
    layer.keep_weights = True
    with torch.no_grad():
        recall.logits_of_answers(model, rows)
    for row in range(5):
        for question in range(4):
            of_heads = layer.weights[row, :, 20 + 2 * question, rows.depths[row, question]]
            assert float(weights[row, question]) == pytest.approx(float(of_heads.max()), rel=1e-5)


@pytest.mark.parametrize("how", get_args(Stretch))
def test_rotations_are_stretched_without_training(how: Stretch) -> None:
    model, rows = recall.build_reader("RoPE").eval(), drawn()
    with torch.no_grad():
        as_it_was = recall.logits_of_answers(model, rows)
        same = recall.logits_of_answers(recall.stretched(model, how, 1.0), rows)
        longer = recall.logits_of_answers(recall.stretched(model, how, 4.0), rows)
    torch.testing.assert_close(same, as_it_was)
    assert not torch.allclose(longer, as_it_was)


def test_the_record_is_of_these_kinds_and_lengths() -> None:
    record = recall.load_record()
    stretched = {f"RoPE, {how}" for how in get_args(Stretch)}
    assert record["kinds"].keys() == recall.KINDS.keys() | stretched
    for kind, runs in record["kinds"].items():
        assert len(runs) == len(recall.SEEDS)
        for run in runs:
            assert [*map(int, run["length"])] == [*recall.LENGTHS]
            assert all(0 <= share <= 1 for share in run["length"].values())
            assert ("depth" in run) == (kind in recall.KINDS)


@pytest.mark.slow
def test_a_reader_learns_what_the_record_says() -> None:
    torch.set_num_threads(1)
    found = recall.measure_reader(recall.train_reader("RoPE", 0))
    recorded = recall.load_record()["kinds"]["RoPE"][0]
    assert found["length"][recall.TRAINED] == pytest.approx(recorded["length"]["64"], abs=0.05)
