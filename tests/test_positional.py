"""Section 3.5: the formula, to the digit, at every position that is asked for."""

import math

import pytest
import torch

from annotated_transformer.positional import (
    LearnedPositions,
    SinusoidalPositions,
    sinusoidal_encoding,
)


def test_the_encoding_is_the_papers_formula():
    d_model = 12
    encoding = sinusoidal_encoding(30, d_model)
    assert encoding.dtype == torch.float32
    for pos in (0, 1, 7, 29):
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            assert encoding[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert encoding[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_far_positions_keep_their_digits():
    encoding = sinusoidal_encoding(60_001, 4)
    assert encoding[60_000, 0].item() == pytest.approx(math.sin(60_000), abs=1e-6)


def test_a_shift_is_the_same_rotation_everywhere():
    """PE[pos + k] is a linear function of PE[pos], one for all pos (the paper's first reason)."""
    d_model, k = 8, 5
    encoding = sinusoidal_encoding(40, d_model).double()
    rotation = torch.zeros(d_model, d_model, dtype=torch.float64)
    for i in range(d_model // 2):
        angle = k / 10000 ** (2 * i / d_model)
        rotation[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = torch.tensor(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        )
    torch.testing.assert_close(encoding[:-k] @ rotation.T, encoding[k:], atol=1e-6, rtol=0)


def test_an_odd_width_is_a_sentence():
    with pytest.raises(ValueError, match="d_model = 7 is odd"):
        sinusoidal_encoding(3, 7)


def test_positions_start_where_asked_and_have_no_end():
    positions = SinusoidalPositions(6, n_positions=4)
    whole = sinusoidal_encoding(100, 6)
    assert torch.equal(positions(3), whole[:3])
    assert torch.equal(positions(2, start=50), whole[50:52])  # beyond what was made at first
    assert torch.equal(positions(4), whole[:4])
    assert not positions.state_dict()  # computed, so no part of a checkpoint


def test_learned_positions_are_a_table_that_ends():
    positions = LearnedPositions(6, max_positions=5)
    assert positions.table.shape == (5, 6)
    assert not positions.table.any()  # never memory that nobody has written
    rows = torch.arange(30.0).reshape(5, 6)
    positions.load_state_dict({"table": rows})
    assert torch.equal(positions(2, start=3), rows[3:5])
    with pytest.raises(ValueError, match="Position 5 was asked for, and the learned table ends at"):
        positions(3, start=3)
