"""What layers cost, side by side: the same marks in both panels, and the same lengths below."""

import matplotlib.pyplot as plt
import pytest

from annotated_transformer import figures

COUNTED = figures.Bill([2, 4, 8], {"slow": [2, 4, 8], "square": [1, 4, 16]})
TIMED = figures.Bill([4, 8], {"slow": [0.3, 0.6], "square": [0.1, 0.5]})


def test_bills_return_what_they_draw() -> None:
    drawn = figures.draw_bills({"counted": COUNTED, "timed": TIMED}, border=4)
    assert list(drawn) == ["counted", "timed"]
    assert drawn["counted"]["square"].tolist() == [1, 4, 16]
    assert drawn["timed"]["slow"].tolist() == [0.3, 0.6]


def test_a_layer_looks_the_same_in_both_panels_and_the_border_stands_at_one_place() -> None:
    figures.draw_bills({"counted": COUNTED, "timed": TIMED}, border=4)
    looks = [
        [(line.get_label(), line.get_color(), line.get_marker()) for line in axes.lines]
        for axes in plt.gcf().axes
    ]
    assert looks[0] == looks[1]
    assert len({marker for _, _, marker in looks[0]}) == 3
    left, right = plt.gcf().axes
    assert left.get_xlim() == right.get_xlim()
    assert {tuple(axes.lines[0].get_xdata()) for axes in (left, right)} == {(4, 4)}
    (legend,) = plt.gcf().legends
    assert [text.get_text() for text in legend.get_texts()] == ["slow", "square", "n = d = 4"]


def test_bills_of_other_layers_are_refused() -> None:
    other = figures.Bill([4, 8], {"slow": [1, 2]})
    with pytest.raises(ValueError, match="the same layers"):
        figures.draw_bills({"counted": COUNTED, "timed": other}, border=4)
