"""The figure of differences tells what is decided from what may be chance."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgba

from annotated_transformer import figures


def test_filled_where_the_interval_leaves_out_zero_and_open_elsewhere() -> None:
    found = {"slow": (-8.0, 1.5), "equal": (0.5, 1.5), "one seed": (3.0, None)}
    assert figures.draw_differences(found, "BLEU") == {
        "slow": True,
        "equal": False,
        "one seed": False,
    }
    axes = plt.gca()
    names = {
        tick: label.get_text()
        for tick, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)
    }
    marks = {
        names[place]: (x, to_rgba(line.get_markerfacecolor())[3] > 0)  # type: ignore[arg-type]
        for line in axes.get_lines()
        if line.get_marker() == "o"
        for x, place in zip(np.asarray(line.get_xdata()), np.asarray(line.get_ydata()), strict=True)
    }
    assert marks == {"slow": (-8.0, True), "equal": (0.5, False), "one seed": (3.0, False)}
    intervals = sorted(
        (path.vertices[0, 0], path.vertices[1, 0])  # type: ignore[index, call-overload]
        for bars in axes.collections
        for path in bars.get_paths()
    )
    assert intervals == [(-9.5, -6.5), (-1.0, 2.0), (3.0, 3.0)]
    assert list(names.values()) == list(found)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]  # the first on top


def test_without_an_open_mark_the_picture_is_drawn_all_the_same() -> None:
    assert figures.draw_differences({"slow": (-8.0, 1.5)}, "BLEU") == {"slow": True}


def test_studies_side_by_side_draw_each_change_once_a_study() -> None:
    paper = figures.Differences({"a": (-0.9, None), "b": (0.3, None)}, "BLEU", unread=0.3)
    ours = figures.Differences({"a": (-2.0, 3.0), "b": (4.0, 1.0)}, "points")
    told = figures.draw_differences_beside({"paper": paper, "ours": ours})
    assert told == {"paper": {"a": True, "b": False}, "ours": {"a": False, "b": True}}
    left, right = plt.gcf().axes
    assert [label.get_text() for label in left.get_yticklabels()] == ["a", "b"]
    assert (left.get_title(), right.get_xlabel()) == ("paper", "points")
    assert len(left.patches) == 1  # the band in which nothing is read
    assert not right.patches


def test_studies_of_other_changes_are_not_drawn_side_by_side() -> None:
    one = figures.Differences({"a": (1.0, None)}, "BLEU")
    other = figures.Differences({"b": (1.0, None)}, "BLEU")
    with pytest.raises(ValueError, match="the same changes"):
        figures.draw_differences_beside({"one": one, "other": other})
