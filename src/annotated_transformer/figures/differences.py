"""What changes did to a score, with intervals, in the book's look (matplotlib)."""

from collections.abc import Mapping
from textwrap import wrap

import numpy as np

from annotated_transformer.figures.curves import CURVE_LOOKS
from annotated_transformer.figures.style import TEXT, add_legend, new_figure

LETTERS, LINE = 30, 0.17  # a line of a name: so many letters, so many inches high


def draw_differences(
    found: Mapping[str, tuple[float, float | None]], x_label: str, base: str = "the base"
) -> dict[str, bool]:
    """One line a change: its difference to the base, and the interval around it.

    A filled mark stands where the interval leaves out 0, an open one where it does not, or where
    there is none.

    Args:
        found: change -> difference, half the width of its interval (None if unknown), drawn from
            the top in that order.
        x_label: what differs.
        base: what the line at 0 is called.

    Returns:
        change -> whether its interval leaves out 0.
    """
    names = [wrap(name, LETTERS) for name in found]
    heights = np.array([0.1 + LINE * len(lines) for lines in names])  # inches
    figure, (axes,) = new_figure(5.4, 1.0 + heights.sum())
    places = heights.cumsum() - heights / 2
    shade, _, marker = CURVE_LOOKS[0]
    decided = {
        name: margin is not None and abs(difference) > margin
        for name, (difference, margin) in found.items()
    }
    axes.axvline(0, color=TEXT, lw=1.2, ls=(0, (4, 2)), label=base)
    for told, label in ((True, "interval leaves out 0"), (False, "may be chance")):
        rows = [row for row, name in enumerate(found) if decided[name] == told]
        values = [list(found.values())[row] for row in rows]
        axes.errorbar(
            [difference for difference, _ in values],
            places[rows],
            xerr=[margin or 0.0 for _, margin in values],
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
