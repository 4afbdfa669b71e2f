"""The figures of multi-head attention return what they show."""

import numpy as np
import pytest
from plotly.graph_objects import Figure

from annotated_transformer import figures
from annotated_transformer.figures.plotly_renderer import figure_json


def test_split_keeps_each_token_in_its_row() -> None:
    data = figures.draw_split(num_tokens=3, num_heads=2, d_head=2)
    assert data["split"][:, 1].tolist() == [[20, 21], [22, 23]]  # token 2 in both heads
    assert data["view_only"][0].tolist() == [[10, 11], [12, 13], [20, 21]]


def test_scores_by_heads_returns_the_distance_from_the_best() -> None:
    assert figures.draw_scores_by_heads({1: 24.9, 8: 25.8, 32: 25.4}) == {1: 0.9, 8: 0.0, 32: 0.4}


@pytest.mark.parametrize("start", [0, 2])
def test_heads_at_word_has_one_step_a_query_and_shows_the_first(
    start: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown_figures: list[Figure] = []
    monkeypatch.setattr(
        "annotated_transformer.figures.heads.show_figure",
        lambda figure, label: shown_figures.append(figure),
    )
    weights = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3))  # (heads, n_q, n_k)
    data = figures.touch_heads_at_word(
        weights, ["a", "b", "b"], ["w", "x", "y", "x"], ["head 1", "head 2"], "label", start
    )
    figure = figure_json(shown_figures[0])
    (slider,) = figure["layout"]["sliders"]
    assert [step["label"] for step in slider["steps"]] == ["1: a", "2: b", "3: b"]
    assert slider["active"] == start
    shown = np.array(figure["data"][0]["z"])
    assert np.allclose(shown, weights[:, start], atol=0.006)
    assert np.allclose(slider["steps"][1]["args"][0]["z"][0], weights[:, 1], atol=0.006)
    assert data["top"][1] == [["w", "x", "y", "x"][i] for i in weights[:, 1].argmax(-1)]
