"""What a long context costs: formulas against the package's model, and figures known elsewhere."""

from typing import Any

import pytest
import torch

from annotated_transformer.after.config import LaterConfig
from annotated_transformer.encoder import EncoderLayer
from annotated_transformer.experiments.long_context import (
    BASE,
    MODELS,
    balance,
    cache_bytes_at,
    multiply_adds_of_a_layer,
    score_bytes,
)
from annotated_transformer.experiments.measurements import multiply_adds
from annotated_transformer.figures import touch_long_context
from annotated_transformer.figures.long_context import in_words
from annotated_transformer.figures.plotly_renderer import figure_json


def test_weights_are_the_published_ones() -> None:
    """The files of Llama 2 hold 6,738,415,616 and 68,976,648,192 numbers."""
    assert BASE.count_parameters() == 63_045_632
    assert MODELS["Llama 2 7B"].count_parameters() == 6_738_415_616
    assert MODELS["Llama 2 70B"].count_parameters() == 68_976_648_192


def test_cache_of_known_models() -> None:
    """In 16 bits: 2.15 GB at 4,096 for 7B, 42.9 GB at 131,072 for 70B with shared heads."""
    assert cache_bytes_at(MODELS["Llama 2 7B"], 4096) == 2_147_483_648
    assert cache_bytes_at(MODELS["Llama 2 70B"], 131_072) == 42_949_672_960
    assert cache_bytes_at(BASE, 100, width=4) == 2 * 6 * 100 * 512 * 4
    assert cache_bytes_at(BASE, 100, window=30) == cache_bytes_at(BASE, 30)
    assert cache_bytes_at(BASE, 20, window=30) == cache_bytes_at(BASE, 20)


def test_scores_are_all_or_one_tile() -> None:
    assert score_bytes(BASE, 1000) == 8 * 1000**2 * 2
    assert score_bytes(BASE, 1000, tile=256) == 8 * 256**2 * 2
    assert score_bytes(BASE, 100, tile=256) == 8 * 100**2 * 2


def test_multiply_adds_are_those_of_the_packages_layer() -> None:
    config = LaterConfig(vocab_size=11, d_model=32, d_ff=64, num_heads=4, num_layers=1)
    layer, n = EncoderLayer(config).eval(), 24
    counted = multiply_adds(layer, torch.zeros(1, n, 32))
    assert counted == sum(multiply_adds_of_a_layer(config, n))


@pytest.mark.parametrize("name", MODELS)
def test_both_parts_are_equal_at_the_balance(name: str) -> None:
    n = balance(MODELS[name])
    linear, squared = multiply_adds_of_a_layer(MODELS[name], 1000)
    assert linear / 1000 * n == pytest.approx(squared / 1000**2 * n**2)
    assert balance(BASE) == 6 * 512


def test_shared_heads_save_projections_and_no_scores() -> None:
    """Llama 2 70B shares 8 heads of keys and values; all 64 heads of queries have scores."""
    # For each token 2 · 8192² of queries and output, 2 · 8192 · (8 · 128) of keys and values, and
    # 3 · 8192 · 28,672 of the feed-forward network; for each pair 2 · 64 · 128 = 2 · 8192. Divided:
    # 8192 + 1024 + 43,008.
    linear, squared = multiply_adds_of_a_layer(MODELS["Llama 2 70B"], 10)
    assert linear == 10 * 2 * 8192 * (8192 + 1024 + 43_008)
    assert squared == 10**2 * 2 * 64 * 128
    assert balance(MODELS["Llama 2 70B"]) == 52_224


@pytest.mark.parametrize(
    ("size", "words"),
    [(1, "1 B"), (999, "999 B"), (999.6, "1 kB"), (2_147_483_648, "2.15 GB"), (4e15, "4 PB")],
)
def test_bytes_in_words(size: float, words: str) -> None:
    assert in_words(size) == words


def test_the_figure_shows_every_model_at_every_length(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(
        "annotated_transformer.figures.long_context.show_figure",
        lambda figure, label: shown.append(figure),
    )
    costs = {
        "a": {"one": [1e3, 2e3], "two, more": [1e6, 4e6]},
        "b": {"one": [5, 6], "two, more": [7, 8]},
    }
    words = touch_long_context([10, 20], costs, "label")
    assert words["a"] == {"one": ["1 kB", "2 kB"], "two, more": ["1 MB", "4 MB"]}
    figure = figure_json(shown[0])
    first, second = figure["data"]
    assert (first["visible"], second["visible"]) == (True, False)
    assert first["x"] == [1000, 1_000_000]
    assert first["y"] == ["one", "two,<br>more"]
    (control,) = figure["layout"]["sliders"]
    assert [step["label"] for step in control["steps"]] == ["10", "20"]
    assert control["steps"][1]["args"][0]["x"] == [[2000, 4_000_000], [6, 8]]
    (menu,) = figure["layout"]["updatemenus"]
    assert [press["args"][0]["visible"] for press in menu["buttons"]] == [
        [True, False],
        [False, True],
    ]
