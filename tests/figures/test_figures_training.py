"""The figures of training return what they show."""

import numpy as np
import pytest
import torch
from plotly.graph_objects import Figure

from annotated_transformer import figures
from annotated_transformer.figures.plotly_renderer import figure_json
from annotated_transformer.training import LearningRateSchedule, label_smoothing_loss


def test_the_slider_shows_the_rate_of_each_warm_up(shown: list[tuple[Figure, str]]) -> None:
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


def test_smoothing_shows_the_target_and_the_lowest_loss(shown: list[tuple[Figure, str]]) -> None:
    epsilons = (0.0, 0.1, 1.0)
    data = figures.touch_smoothing(epsilons, vocabularies=(4, 5_000), right=2, start=0.1)
    assert np.allclose(data["q"][1], [0.025, 0.025, 0.925, 0.025])
    assert np.allclose(data["q"].sum(1), 1)
    for column, size in enumerate((4, 5_000)):
        for row, eps in enumerate(epsilons):
            best = torch.full((size,), eps / size, dtype=torch.float64)
            best[2] += 1 - eps
            logits = best.clamp_min(1e-300).log()[None, None]
            floor = float(label_smoothing_loss(logits, torch.tensor([[2]]), eps))
            assert np.isclose(data["floors"][row, column], floor)
            assert np.isclose(data["perplexities"][row, column], 1 / float(best[2]))
    figure = figure_json(shown[0][0])
    (slider,) = figure["layout"]["sliders"]
    assert [step["label"] for step in slider["steps"]] == ["0", "0.1", "1"]
    assert slider["active"] == 1
    assert np.allclose(figure["data"][0]["y"], data["q"][1])
    assert figure["layout"]["xaxis"]["ticktext"] == ["1", "2", "3 (right)", "4"]
    changes, titles = slider["steps"][2]["args"]
    assert np.allclose(changes["y"][0], 0.25)
    assert titles["title.text"] == (
        "V = 4: floor 1.386 nats, perplexity 4.00<br>V = 5,000: floor 8.517 nats, perplexity 5,000"
    )
    assert slider["steps"][0]["args"][1]["title.text"].startswith("V = 4: floor 0.000 nats")


def test_a_start_of_smoothing_that_is_no_stop_is_refused() -> None:
    with pytest.raises(ValueError, match=r"start = 0.4 is no stop"):
        figures.touch_smoothing((0.1, 0.2), start=0.4)


def test_a_training_moves_its_picture_its_line_and_its_words(
    shown: list[tuple[Figure, str]],
) -> None:
    early, late = torch.full((2, 3), 1 / 3), torch.eye(3)[:2]
    moments = [
        figures.Moment(10, "loss 3.00, none right:", "<unk> " * 30, early),
        figures.Moment(20, "loss 1.00, all right:", "Die Frau", late),
    ]
    curve = ([10, 20], [3.0, 1.0])
    data = figures.touch_training(moments, curve, 0.5, ["Die", "Frau"], ["The", "woman", "."], "x")
    assert data["steps"].tolist() == [10, 20]
    assert np.allclose(data["weights"][1], late)
    figure = figure_json(shown[0][0])
    heat, loss, floor = figure["data"]
    assert np.allclose(heat["z"], early, atol=1e-3)
    assert loss["y"] == [3, 1]
    assert floor["y"] == [0.5, 0.5]
    first, second = (step["args"] for step in figure["layout"]["sliders"][0]["steps"])
    assert np.allclose(second[0]["z"][0], late)
    assert second[2] == [0]  # the curves stay
    assert (second[1]["shapes"][0]["x0"], second[1]["shapes"][0]["x1"]) == (20, 20)
    titles = [first[1]["title.text"], second[1]["title.text"]]
    assert titles[0].startswith("loss 3.00, none right:<br>&lt;unk&gt; ")  # no tag for plotly
    assert titles[1] == "loss 1.00, all right:<br>Die Frau<br>"
    assert [title.count("<br>") for title in titles] == [2, 2]  # nothing jumps
    assert figure["layout"]["title"]["text"] == titles[0]
