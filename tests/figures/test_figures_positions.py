"""The figures of positional encoding return what they show."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from plotly.graph_objects import Figure

from annotated_transformer import figures
from annotated_transformer.figures.plotly_renderer import figure_json
from annotated_transformer.positional import sinusoidal_encoding


def test_maps_share_one_symmetric_scale_and_keep_their_numbers() -> None:
    small, large = np.array([[0.5, -0.25]]), np.array([[2.0, -3.0], [0.0, 1.0]])
    data = figures.draw_maps({"a": small, "b": large}, "column", "row", row_labels=["one", "two"])
    assert data["a"].tolist() == small.tolist()
    assert data["b"].tolist() == large.tolist()
    axes = plt.gcf().axes
    shown = [axis.get_images()[0] for axis in axes[:2]]
    assert [image.get_clim() for image in shown] == [(-3.0, 3.0), (-3.0, 3.0)]
    assert np.array_equal(np.asarray(shown[1].get_array()), large)
    assert [axis.get_title() for axis in axes[:2]] == ["a", "b"]
    assert [tick.get_text() for tick in axes[1].get_yticklabels()] == ["one", "two"]


def test_a_limit_below_the_largest_number_is_shown_at_the_bar() -> None:
    figures.draw_maps({"a": np.array([[0.5, -3.0]])}, "x", "y", limit=1.0)
    axes, bar = plt.gcf().axes
    assert axes.get_images()[0].get_clim() == (-1.0, 1.0)
    assert bar.get_ylim() == (-1.0, 1.0)


def test_maps_leave_no_empty_frame() -> None:
    maps = {name: np.ones((2, 2)) for name in "abc"}
    figures.draw_maps(maps, "x", "y", columns=2)
    axes = plt.gcf().axes
    assert [axis.axison for axis in axes[:4]] == [True, True, True, False]
    assert [axis.get_xlabel() for axis in axes[:3]] == ["", "x", "x"]  # below the lowest ones


@pytest.mark.parametrize("start", [0, 4])
def test_position_shows_the_row_and_the_products_of_the_chosen_one(
    start: int, shown: list[tuple[Figure, str]]
) -> None:
    encoding = sinusoidal_encoding(9, 6).double()
    data = figures.touch_position(encoding, start=start, every=2)
    assert np.allclose(data["products"], encoding @ encoding.T)
    figure = figure_json(shown[0][0])
    (slider,) = figure["layout"]["sliders"]
    assert [step["label"] for step in slider["steps"]] == ["0", "2", "4", "6", "8"]
    assert slider["active"] == start // 2
    assert np.allclose(figure["data"][1]["y"], encoding[start], atol=0.006)
    row, products = slider["steps"][3]["args"][0]["y"]
    assert np.allclose(row, encoding[6], atol=0.006)
    assert np.allclose(products, encoding[6] @ encoding.T, atol=0.006)
    frame, line = slider["steps"][3]["args"][1]["shapes"]
    assert (frame["y0"], frame["y1"], line["x0"]) == (5.5, 6.5, 6)
    assert "9 positions" in shown[0][1]


def test_a_start_between_two_stops_is_refused() -> None:
    with pytest.raises(ValueError, match="no stop of the slider"):
        figures.touch_position(sinusoidal_encoding(9, 6), start=3, every=2)


def test_curves_can_have_their_legend_below_and_fewer_markers() -> None:
    figures.draw_curves([1, 2, 3], {"a": [1, 2, 3]}, "x", "y", mark_every=2, legend_below=True)
    figure = plt.gcf()
    assert figure.axes[0].get_legend() is None
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a"]
    assert figure.axes[0].get_lines()[0].get_markevery() == 2
