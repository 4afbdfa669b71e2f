"""The figures of multi-head attention return what they show."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.patches import Rectangle
from plotly.graph_objects import Figure

from annotated_transformer import figures
from annotated_transformer.figures.plotly_renderer import figure_json


def test_split_keeps_each_token_in_its_row() -> None:
    data = figures.draw_split(num_tokens=3, num_heads=2, d_head=2)
    assert data["split"][:, 1].tolist() == [[20, 21], [22, 23]]  # token 2 in both heads
    assert data["view_only"][0].tolist() == [[10, 11], [12, 13], [20, 21]]


def test_scores_by_heads_returns_the_distance_from_the_best() -> None:
    assert figures.draw_scores_by_heads({1: 24.9, 8: 25.8, 32: 25.4}) == {1: 0.9, 8: 0.0, 32: 0.4}


def test_shares_by_head_draws_every_share_and_chance() -> None:
    data = figures.draw_shares_by_head({"a": [0.2, 0.9], "b": [0.1, 0.3]}, ["H1", "H2"], 0.08, "x")
    axes = plt.gca()
    by_name = {str(line.get_label()): np.asarray(line.get_xdata()) for line in axes.get_lines()}
    assert by_name["a"].tolist() == data["a"].tolist() == [0.2, 0.9]
    assert by_name["b"].tolist() == [0.1, 0.3]
    assert by_name["chance, 8 %"][0] == 0.08


def test_losses_by_part_puts_the_sum_beside_all_at_once() -> None:
    data = figures.draw_losses_by_part({"p": [1.0, 2.5], "q": [0.5, 0.0]}, {"p": 9.0, "q": 0.5}, "")
    assert data == {"p": (3.5, 9.0), "q": (0.5, 0.5)}
    ends = [
        patch.get_x() + patch.get_width()
        for patch in plt.gca().patches
        if isinstance(patch, Rectangle)
    ]
    assert ends == [1.0, 3.5, 9.0, 0.5, 0.5, 0.5]  # the parts of a sum follow one another


@pytest.mark.parametrize("start", [0, 2])
def test_heads_at_word_has_one_step_a_query_and_shows_the_first(
    start: int, shown: list[tuple[Figure, str]]
) -> None:
    weights = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3))  # (heads, n_q, n_k)
    data = figures.touch_heads_at_word(
        weights, ["a", "b", "b"], ["w", "x", "y", "x"], ["head 1", "head 2"], "label", start
    )
    figure = figure_json(shown[0][0])
    (slider,) = figure["layout"]["sliders"]
    assert [step["label"] for step in slider["steps"]] == ["1: a", "2: b", "3: b"]
    assert slider["active"] == start
    cells = np.array(figure["data"][0]["z"])
    assert np.allclose(cells, weights[:, start], atol=0.006)
    assert np.allclose(slider["steps"][1]["args"][0]["z"][0], weights[:, 1], atol=0.006)
    assert data["top"][1] == [["w", "x", "y", "x"][i] for i in weights[:, 1].argmax(-1)]
