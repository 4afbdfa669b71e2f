"""The exercises on the whole model against torch and against the model of this package."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.exercises.content import model
from annotated_transformer.exercises.content.model.parameter_count import (
    transformer_parameter_count,
)
from annotated_transformer.exercises.content.model.tied_logits import tied_logits
from annotated_transformer.transformer import Transformer

sizes = st.integers(1, 5)


def test_the_topic_is_complete() -> None:
    assert [exercise.id for exercise in model.EXERCISES] == [
        "model.tied_logits",
        "model.parameter_count",
    ]
    for exercise in model.EXERCISES:
        assert len(exercise.mistakes) >= 30
        assert all(mistake.sentence[-1] in ".?" for mistake in exercise.mistakes)


@settings(deadline=None)
@given(batch=sizes, n=sizes, d=sizes, vocab_size=sizes, seed=st.integers(0, 99))
def test_tied_logits_are_those_of_a_linear_layer_with_the_table(
    batch: int, n: int, d: int, vocab_size: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(batch, n, d, generator=generator, dtype=torch.float64)
    layer = nn.Linear(d, vocab_size, bias=False, dtype=torch.float64)
    torch.testing.assert_close(tied_logits(x, layer.weight), layer(x))


@settings(max_examples=15, deadline=None)
@given(
    vocab_size=st.integers(3, 30),
    n_heads=st.sampled_from([2, 4]),
    d_k=st.integers(1, 4),
    d_ff=st.integers(1, 20),
    n_layers=st.integers(1, 3),
)
def test_the_count_is_that_of_torchs_transformer_less_what_the_paper_lacks(
    vocab_size: int, n_heads: int, d_k: int, d_ff: int, n_layers: int
) -> None:
    d_model = n_heads * d_k
    stacks = nn.Transformer(d_model, n_heads, n_layers, n_layers, d_ff, batch_first=True)
    attention_biases = 3 * n_layers * 4 * d_model
    final_norms = 2 * 2 * d_model
    expected = sum(p.numel() for p in stacks.parameters()) - attention_biases - final_norms
    expected += nn.Embedding(vocab_size, d_model).weight.numel()
    assert transformer_parameter_count(vocab_size, d_model, d_ff, n_layers, n_heads) == expected


@pytest.mark.parametrize(("d_model", "d_ff", "n_layers", "n_heads"), [(8, 24, 2, 2), (12, 7, 3, 4)])
def test_the_count_is_that_of_the_models_parameters(
    d_model: int, d_ff: int, n_layers: int, n_heads: int
) -> None:
    config = TransformerConfig(
        vocab_size=19, d_model=d_model, d_ff=d_ff, num_layers=n_layers, num_heads=n_heads
    )
    counted = sum(weight.numel() for weight in Transformer(config).parameters())
    assert transformer_parameter_count(19, d_model, d_ff, n_layers, n_heads) == counted


def test_the_base_model_has_the_numbers_that_the_explanation_says() -> None:
    assert transformer_parameter_count(37_000, 512, 2048, 6, 8) == 63_045_632
    assert "63,045,632" in model.EXERCISES[1].explanation
