"""What changes did to a score, with intervals, in the book's look (matplotlib)."""

from collections.abc import Mapping
from textwrap import wrap

import numpy as np

from annotated_transformer.figures.curves import CURVE_LOOKS
from annotated_transformer.figures.style import TEXT, add_legend, new_figure

LETTERS_A_LINE, INCHES_A_LINE = 30, 0.17  # of the names of the changes


def draw_differences(
    found: Mapping[str, tuple[float, float | None]], x_label: str
) -> dict[str, bool]:
    """One line a change: its difference to the base, and the interval around it.

    A filled mark stands where the interval leaves out 0, an open one where it does not, or where
    there is none.

    Args:
        found: change -> difference, half the width of its interval (None if unknown), drawn from
            the top in that order.
        x_label: what differs.

    Returns:
        change -> whether its interval leaves out 0.
    """
    names = [wrap(name, LETTERS_A_LINE) for name in found]
    heights = np.array([0.1 + INCHES_A_LINE * len(lines) for lines in names])  # inches
    figure, (axes,) = new_figure(5.4, 1.0 + heights.sum())
    places = heights.cumsum() - heights / 2
    shade, _, marker = CURVE_LOOKS[0]
    decided = {
        name: margin is not None and abs(difference) > margin
        for name, (difference, margin) in found.items()
    }
    axes.axvline(0, color=TEXT, lw=1.2, ls=(0, (4, 2)), label="the base")
    for told, label in ((True, "interval leaves out 0"), (False, "may be chance")):
        shown = {n: place for n, place in zip(found, places, strict=True) if decided[n] == told}
        axes.errorbar(
            [found[name][0] for name in shown],
            list(shown.values()),
            xerr=[found[name][1] or 0.0 for name in shown],
            ls="none",
            marker=marker,
            ms=6.5,
            mfc=shade if told else "none",
            color=shade,
            elinewidth=1.4,
            label=label,
        )
    axes.set_yticks(places, ["\n".join(lines) for lines in names], fontsize=9.5)
    axes.set_ylim(heights.sum(), 0)
    axes.set_xlabel(x_label)
    axes.grid(visible=True, axis="x", lw=0.6)
    add_legend(figure, loc="outside upper center", ncols=3, fontsize=9.5, columnspacing=1.2)
    return decided
