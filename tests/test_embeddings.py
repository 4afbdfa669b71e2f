"""Section 3.4: the table scaled by sqrt(d_model), then positions, then dropout (section 5.4)."""

import math

import torch
from torch import nn

from annotated_transformer.embeddings import Embedding
from annotated_transformer.positional import SinusoidalPositions, sinusoidal_encoding


def test_the_scale_is_on_the_table_and_not_on_the_positions():
    table = nn.Embedding(9, 6)
    embedding = Embedding(table, SinusoidalPositions(6), dropout=0.0)
    tokens = torch.tensor([[3, 8, 0], [1, 1, 4]])
    expected = math.sqrt(6) * table.weight[tokens] + sinusoidal_encoding(3, 6)
    torch.testing.assert_close(embedding(tokens), expected)


def test_a_later_start_gives_later_positions():
    embedding = Embedding(nn.Embedding(9, 6), SinusoidalPositions(6), dropout=0.0)
    tokens = torch.tensor([[3, 8, 0, 5]])
    torch.testing.assert_close(embedding(tokens[:, 2:], start=2), embedding(tokens)[:, 2:])


def test_dropout_falls_on_the_sum():
    embedding = Embedding(nn.Embedding(9, 6), SinusoidalPositions(6), dropout=0.999999).train()
    assert (embedding(torch.tensor([[3, 8]])) == 0).all()


def test_without_positions_only_the_token_counts():
    embedding = Embedding(nn.Embedding(9, 6), None, dropout=0.0)
    output = embedding(torch.tensor([[3, 3]]))
    assert torch.equal(output[:, 0], output[:, 1])
