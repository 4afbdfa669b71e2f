"""The figures of the decoder return what they show."""

from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure

from annotated_transformer import figures
from annotated_transformer.figures.plotly_renderer import figure_json

Shown = tuple[dict[str, Any], dict[str, Any]]
WORDS = ["a", "b", "</s>"]


def test_reach_counts_what_is_seen_honestly_and_what_leaks() -> None:
    strict = np.tri(3, k=-1, dtype=bool)
    counts = figures.draw_reach({"honest": strict, "mask only": np.tri(3, dtype=bool)}, WORDS)
    assert counts == {"honest": (3, 0), "mask only": (3, 3)}


def test_stages_are_drawn_with_words_as_rows() -> None:
    probabilities = np.array([[0.1, 0.2, 0.3], [0.9, 0.8, 0.7]])  # two stages, three words
    shown = figures.draw_stages(probabilities, [["x", "x", "x"], WORDS], WORDS, ["before", "after"])
    assert shown.tolist() == [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]]


def test_vocabularies_say_which_rows_fit() -> None:
    fits = figures.draw_vocabularies({"base": (39.8, 41.8), "C4": (36.0, 38.0)}, 37)
    assert fits == {"base": False, "C4": True}


@pytest.fixture
def writing(shown: list[tuple[Figure, str]]) -> Shown:
    honest = np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]])
    weights = {"neither": 1 - honest, "mask only": honest[::-1], "shift only": honest[:, ::-1]}
    weights["shift and mask"] = honest
    data = figures.touch_writing(WORDS, ["x", "</s>"], weights, "label", start=1)
    return data, figure_json(shown[0][0])


def test_writing_says_which_words_the_input_shows(writing: Shown) -> None:
    shows, _ = writing
    assert shows["shift and mask"].tolist() == np.tri(3, k=-1, dtype=bool).tolist()
    assert shows["mask only"].tolist() == np.tri(3, dtype=bool).tolist()
    assert shows["shift only"].tolist() == [[True, True, False]] * 3  # the last word is cut off
    assert shows["neither"].all()


def test_writing_has_a_step_a_word_and_a_button_a_wiring(writing: Shown) -> None:
    _, figure = writing
    (slider,) = figure["layout"]["sliders"]
    (menu,) = figure["layout"]["updatemenus"]
    assert [step["label"] for step in slider["steps"]] == ["1: a", "2: b", "3: </s>"]
    assert slider["active"] == 1
    assert [button["label"] for button in menu["buttons"]] == list(writing[0])
    visible = [trace.get("visible", True) for trace in figure["data"]]
    assert visible == [True, False, False, False] * 2
    at_start = figure["data"][0]["text"]
    assert at_start == [["✓ &lt;s&gt;"], ["✓ a ◀"], ["× b"]]  # position 1 carries a and writes b
    mask_only = slider["steps"][1]["args"][0]["text"][1]
    assert mask_only == [["✓ a"], ["! b ◀"], ["× &lt;/s&gt;"]]
    assert slider["steps"][2]["args"][0]["text"][4] == [["x 0.00"], ["&lt;/s&gt; 1.00"]]


def test_writing_shows_the_weights_of_the_wiring_that_is_chosen(writing: Shown) -> None:
    shows, figure = writing
    (menu,) = figure["layout"]["updatemenus"]
    last = figure["layout"]["sliders"][0]["steps"][2]["args"][0]["text"]
    expected = {
        "shift and mask": ["x 0.00", "&lt;/s&gt; 1.00"],
        "mask only": ["x 0.75", "&lt;/s&gt; 0.25"],
        "shift only": ["x 1.00", "&lt;/s&gt; 0.00"],
        "neither": ["x 1.00", "&lt;/s&gt; 0.00"],
    }
    for button, name in zip(menu["buttons"], shows, strict=True):
        (change,) = button["args"]  # of all traces
        left, right = (trace for trace, shown in enumerate(change["visible"]) if shown)
        assert figure["data"][left].get("xaxis", "x") == "x"
        assert figure["data"][right]["xaxis"] == "x2"
        assert [cell for (cell,) in last[right]] == expected[name]
