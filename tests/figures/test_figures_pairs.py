"""Two shares of each of many things."""

import matplotlib.pyplot as plt

from annotated_transformer import figures


def test_each_thing_has_both_marks_in_its_line() -> None:
    apart = figures.draw_pairs({"a": (99.0, 4.0), "b": (50.0, 50.0)}, ("told", "free"), "%")
    assert apart == {"a": 95.0, "b": 0.0}
    (axes,) = plt.gcf().axes
    told, free = axes.get_lines()
    assert list(told.get_xdata()) == [99.0, 50.0]
    assert list(free.get_xdata()) == [4.0, 50.0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["a", "b"]
    plt.close("all")
