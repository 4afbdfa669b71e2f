"""The picture of multi-head attention shows the numbers of the package's module."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch
from matplotlib.colors import to_rgb

from annotated_transformer import figures
from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.figures.matrices import Array
from annotated_transformer.figures.multi_head import FRAME
from annotated_transformer.inspection import recording_attention

WORDS = ["a", "b", "c"]
H, D_K, D_V, D_MODEL = 2, 3, 2, 4


@pytest.fixture
def module_and_x() -> tuple[MultiHeadAttention, torch.Tensor]:
    torch.manual_seed(0)
    module = MultiHeadAttention(D_MODEL, H, d_k=D_K, d_v=D_V).double().requires_grad_(False)
    return module, torch.randn(3, D_MODEL).double()


def draw(module: MultiHeadAttention, x: torch.Tensor, word: int) -> dict[str, Array]:
    layers = (module.query_projection, module.key_projection, module.value_projection)
    q, k, v = (layer.weight.T.reshape(D_MODEL, H, -1).transpose(0, 1) for layer in layers)
    return figures.draw_word_through_heads(
        x, (q, k, v, module.output_projection.weight.T), WORDS, word
    )


def test_it_returns_what_the_module_computes(
    module_and_x: tuple[MultiHeadAttention, torch.Tensor],
) -> None:
    module, x = module_and_x
    drawn = draw(module, x, 1)
    with recording_attention(module) as recorded:
        output = module(x[None], x[None], x[None])[0]
    assert np.allclose(drawn["output"], output)
    assert np.allclose(drawn["weights"], recorded[""][0])
    shapes = {name: values.shape for name, values in drawn.items()}
    assert shapes["q"] == shapes["k"] == (H, 3, D_K)
    assert shapes["v"] == shapes["heads"] == (H, 3, D_V)
    assert (shapes["concatenated"], shapes["w_o"]) == ((3, H * D_V), (H * D_V, D_MODEL))


@pytest.mark.parametrize("word", [0, 2])
def test_numbers_stand_in_the_rows_that_the_word_needs(
    module_and_x: tuple[MultiHeadAttention, torch.Tensor], word: int
) -> None:
    drawn = draw(*module_and_x, word)
    axes = plt.gcf().axes[0]
    written = [text.get_text() for text in axes.texts]
    every_row = ("x", "k", "v", "w_o")
    own = [
        drawn[name][..., word, :] for name in ("q", "weights", "heads", "concatenated", "output")
    ]
    numbers = [
        value for values in own + [drawn[name] for name in every_row] for value in values.flat
    ]
    expected = sorted(f"{value:.2f}".replace("-", "−") for value in numbers)
    assert sorted(text for text in written if "." in text) == expected
    frames = [p for p in axes.patches if p.get_edgecolor()[:3] == to_rgb(FRAME)]
    assert len(frames) == 1 + 3 * H + 2  # x; query, weights, answer of each head; Concat, output
    assert {"3 × 3", "3 × 2", "4 × 4", "a", "b", "c", "head 1", "head 2"} <= {*written}


def test_a_number_is_a_fraction_where_one_is_equal() -> None:
    x = torch.eye(2).double()
    halves = torch.full((1, 2, 2), 0.5).double()
    zeros = torch.zeros(1, 2, 2).double()
    w_o = torch.tensor([[-1.0, 0.3], [0.0, 0.777]]).double()
    figures.draw_word_through_heads(x, (zeros, zeros, halves, w_o), ["a", "b"], 0)
    written = {text.get_text() for text in plt.gcf().axes[0].texts}
    assert {"1/2", "−1", "0.78", "0"} <= written
