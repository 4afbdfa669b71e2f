"""The figures of the data: cells, cuts and padding are what was given."""

import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot

from annotated_transformer import figures
from annotated_transformer.figures import tokenization

PIECE = st.text("abcü", min_size=1, max_size=4)
SENTENCE = st.lists(st.lists(PIECE, min_size=1, max_size=5), min_size=1, max_size=6)
STOPS = [
    ("0", [["c", "a", "t"], ["a"]], [["K", "a", "t", "z", "e"]]),
    ("1", [["c", "at"], ["a"]], [["K", "at", "z", "e"]]),
    ("all", [["cat"], ["a"]], [["Katze"]]),
]


@given(SENTENCE)
def test_cells_and_cuts_give_the_pieces_back(words: list[list[str]]) -> None:
    columns = max(len("".join(word)) for word in words) + 2
    shades, letters = tokenization.cells_of(words, columns)
    x, y = tokenization.cuts_of(words)
    assert len(shades) == len(letters) == len(words)
    for row, word in enumerate(words):
        text = "".join(word)
        assert len(shades[row]) == len(letters[row]) == columns
        assert "".join(letters[row]) == text
        assert shades[row].count(None) == columns - len(text)
        ends = [0, *(round(place + 0.5) for place, at in zip(x, y, strict=True) if at == row)]
        pieces = [text[a:b] for a, b in zip(ends, [*ends[1:], len(text)], strict=True)]
        assert pieces == word
        for left, right in zip(ends[1:], ends[1:], strict=True):  # a cut is a change of shade
            assert shades[row][left - 1] != shades[row][right]


def test_a_stop_of_the_slider_is_a_number_of_merges(shown: list[Any]) -> None:
    counts = figures.touch_merges(STOPS, ("English", "German"), "what it shows", start=1)
    assert counts == {"English": [4, 3, 2], "German": [5, 4, 1]}
    ((figure, label),) = shown
    assert label == "what it shows"
    content = json.loads(figure.to_json())
    (slider,) = content["layout"]["sliders"]
    assert slider["active"] == 1
    assert [step["label"] for step in slider["steps"]] == ["0", "1", "all"]
    for number, step in enumerate(slider["steps"]):
        changes, layout, traces = step["args"]
        assert traces == [0, 1, 2, 3]
        for side in (0, 1):
            words = STOPS[number][side + 1]
            columns = max(sum(map(len, word)) for word in words)
            assert changes["z"][side] == tokenization.cells_of(words, columns)[0]
            cuts = changes["x"][side + 2], changes["y"][side + 2]
            assert cuts == tokenization.cuts_of(words)
            (said,) = [note["text"] for note in layout["annotations"][side : side + 1]]
            title = ("English", "German")[side]
            assert said == f"{title}: {counts[title][number]} pieces"
    first = content["data"][0]
    assert first["z"] == tokenization.cells_of(STOPS[1][1], 3)[0]
    assert "native" in content["layout"]["meta"]  # the site's own slider has its room


def test_padding_is_drawn_and_counted() -> None:
    ways = {"as they come": [[4, 6, 20], [5, 5]], "sorted": [[4, 5, 5], [6, 20]]}
    waste = figures.draw_padding(ways)
    np.testing.assert_allclose(waste["as they come"], [0.5, 0])
    np.testing.assert_allclose(waste["sorted"], [1 - 14 / 15, 1 - 26 / 40])
    for axes, batches in zip(pyplot.gcf().axes, ways.values(), strict=True):
        bars = [(bar.get_x(), bar.get_width()) for bar in axes.patches]
        expected = []
        for batch in batches:
            expected += [(0, length) for length in batch]
            expected += [(length, max(batch) - length) for length in batch]
        assert bars == expected
        assert axes.get_xlim() == (0, 20)


def test_waste_and_the_spread_of_sizes_are_drawn_as_given() -> None:
    ways = {
        "as they come": {"waste": [0.5, 0.6], "positions": [100, 200]},
        "a budget": {"waste": [0.01, 0.3], "positions": [900, 1000]},
    }
    drawn = figures.draw_waste(ways, ("French", "Dutch"))
    np.testing.assert_allclose(drawn["waste"], [[50, 60], [1, 30]])
    assert drawn["positions"].tolist() == [[100, 200], [900, 1000]]
    shares, spans = pyplot.gcf().axes
    assert [bar.get_width() for bar in shares.patches] == [50, 1, 60, 30]  # side by side
    assert shares.get_legend_handles_labels()[1] == ["French", "Dutch"]
    lines = [np.array(line.get_data()).T.tolist() for line in spans.lines]
    assert lines == [[[100, 0], [200, 0]], [[900, 1], [1000, 1]]]
    words = [(text.get_text(), text.get_ha()) for text in spans.texts]
    assert words == [("100 to 200", "left"), ("900 to 1,000", "right")]
