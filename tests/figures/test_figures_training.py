"""The figure of training returns what it shows."""

import numpy as np
import pytest
from plotly.graph_objects import Figure

from annotated_transformer import figures
from annotated_transformer.figures.plotly_renderer import figure_json
from annotated_transformer.training import LearningRateSchedule


def test_the_slider_shows_the_rate_of_each_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[tuple[Figure, str]] = []
    monkeypatch.setattr(
        "annotated_transformer.figures.training.show_figure",
        lambda figure, label: shown.append((figure, label)),
    )
    data = figures.touch_warmup((100, 400), d_model=64, steps=2_000, start=400)
    figure = figure_json(shown[0][0])
    (slider,) = figure["layout"]["sliders"]
    assert [step["label"] for step in slider["steps"]] == ["100", "400"]
    assert slider["active"] == 1
    for row, warmup in enumerate((100, 400)):
        schedule = LearningRateSchedule(64, warmup)
        expected = [schedule.rate(int(step)) for step in data["steps"]]
        assert np.allclose(data["rates"][row], expected)
        assert np.isclose(data["peaks"][row], max(expected))
        ((changes, titles, traces),) = [slider["steps"][row]["args"]]
        assert np.allclose(changes["y"][0], expected)
        assert traces == [1]
        assert f"step {warmup}" in titles["title.text"]
    assert np.allclose(figure["data"][0]["y"], data["rates"][1])


def test_a_start_that_is_no_stop_is_refused() -> None:
    with pytest.raises(ValueError, match="start = 300 is no stop"):
        figures.touch_warmup((100, 400), start=300)
