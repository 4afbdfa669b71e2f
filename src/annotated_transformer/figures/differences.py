"""What changes did to a score, with intervals, in the book's look (matplotlib)."""

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from annotated_transformer.figures.style import LOOKS, TEXT, add_legend, new_figure

LETTERS_A_LINE, INCHES_A_LINE = 30, 0.17  # of the names of the changes
OUTSIDE_0 = "interval leaves out 0"


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
    decided = _draw(axes, found, places, OUTSIDE_0)
    axes.set_yticks(places, ["\n".join(lines) for lines in names], fontsize=9.5)
    axes.set_ylim(heights.sum(), 0)
    axes.set_xlabel(x_label)
    add_legend(figure, loc="outside upper center", ncols=3, fontsize=9.5, columnspacing=1.2)
    return decided


@dataclass(frozen=True)
class Differences:
    """One study among several: what its changes did.

    Attributes:
        found: change -> difference, half the width of its interval (None if unknown).
        x_label: what differs.
        unread: where a study has no intervals, the largest difference that is read as none.
    """

    found: Mapping[str, tuple[float, float | None]]
    x_label: str
    unread: float | None = None


def draw_differences_beside(studies: Mapping[str, Differences]) -> dict[str, dict[str, bool]]:
    """The same changes in several studies, side by side: one line a change, one column a study.

    A filled mark stands where a study tells the difference from none: its interval leaves out 0,
    or, in a study without intervals, it lies outside the grey band.

    Args:
        studies: name -> its differences, all of the same changes in the same order.

    Returns:
        study -> change -> whether the difference is told from none.

    Raises:
        ValueError: two studies have not the same changes.
    """
    changes = [list(study.found) for study in studies.values()]
    if any(names != changes[0] for names in changes):
        raise ValueError("the studies have the same changes, in the same order")
    figure, panels = new_figure(6.4, 1.3 + 0.25 * len(changes[0]), len(studies), sharey=True)
    places = np.arange(len(changes[0]))
    told = {}
    for axes, (name, study) in zip(panels, studies.items(), strict=True):
        if study.unread is not None:
            axes.axvspan(-study.unread, study.unread, color=TEXT, alpha=0.25, lw=0)
        told[name] = _draw(axes, study.found, places, "told from the base", study.unread)
        axes.set_title(name, color=TEXT, fontsize=11)
        axes.set_xlabel(study.x_label, fontsize=9.5)
    panels[0].set_yticks(places, changes[0], fontsize=9.5)
    panels[0].set_ylim(places[-1] + 0.6, -0.6)
    handles, labels = panels[-1].get_legend_handles_labels()
    add_legend(
        figure,
        handles=handles,
        labels=labels,
        loc="outside upper center",
        ncols=3,
        fontsize=9.5,
        columnspacing=1.2,
    )
    return told


def _draw(
    axes: Axes,
    found: Mapping[str, tuple[float, float | None]],
    places: ArrayLike,
    filled: str,
    unread: float | None = None,
) -> dict[str, bool]:
    """Marks and intervals of one study; returns which of its differences are told from none."""
    shade, _, marker = LOOKS[0]
    lines = np.asarray(places)
    decided = {}
    for name, (difference, margin) in found.items():
        border = unread if margin is None else margin
        decided[name] = border is not None and abs(difference) > border
    axes.axvline(0, color=TEXT, lw=1.2, ls=(0, (4, 2)), label="the base")
    for told, label in ((True, filled), (False, "may be chance")):
        shown = {n: place for n, place in zip(found, lines, strict=True) if decided[n] == told}
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
    axes.grid(visible=True, axis="x", lw=0.6)
    return decided
