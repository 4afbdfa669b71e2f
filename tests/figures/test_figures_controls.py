"""Sliders and buttons of the figures to touch: their room, and what is in it."""

from plotly.graph_objects import Figure

from annotated_transformer.figures import plotly_renderer
from annotated_transformer.figures.plotly_renderer import choice

MARGIN = {"l": 1, "r": 2, "t": 3, "b": 4}


def test_room_for_controls_is_added_and_noted() -> None:
    slider = plotly_renderer.slider("word ", [choice("1: a", "restyle", {"z": [[1]]})], 0)
    buttons = plotly_renderer.buttons("mask", [choice("none", "restyle", {"z": [[1]]})])
    for below, above in ((None, None), (slider, None), (None, buttons), (slider, buttons)):
        layout = plotly_renderer.layout_with_controls(100, MARGIN, below, above, bargap=0)
        margin, native = layout["margin"], layout["meta"]["native"]
        assert native == {"margin": MARGIN, "height": 100}  # what the site's own controls leave
        assert (margin["b"] > MARGIN["b"], margin["t"] > MARGIN["t"]) == (bool(below), bool(above))
        assert layout["height"] - 100 == sum(margin.values()) - sum(MARGIN.values())
        assert ("sliders" in layout, "updatemenus" in layout) == (bool(below), bool(above))
        assert Figure(layout=layout).layout.bargap == 0  # plotly knows every key


def test_a_word_that_comes_twice_has_two_ticks() -> None:
    ticks = plotly_renderer.ticks(["a", "</s>", "a"])
    assert ticks == {"tickvals": [0, 1, 2], "ticktext": ["a", "&lt;/s&gt;", "a"]}
