"""Shares of many things, a line each, in the book's look (matplotlib)."""

from collections.abc import Mapping, Sequence

import numpy as np

from annotated_transformer.figures.style import LOOKS, TEXT, add_legend, new_figure


def draw_pairs(
    found: Mapping[str, tuple[float, float]],
    names: tuple[str, str],
    x_label: str,
    line: tuple[str, float] | None = None,
) -> dict[str, float]:
    """One line a thing: an open mark at its first share, a filled one at its second.

    Args:
        found: thing -> both shares, drawn from the top in that order.
        names: what the two shares are, for the legend.
        x_label: of what they are shares.
        line: a share to compare with, drawn from top to bottom, and its name.

    Returns:
        thing -> how far the second lies below the first.
    """
    shade, _, marker = LOOKS[0]
    places = np.arange(len(found))
    first, second = np.array(list(found.values())).T
    figure, (axes,) = new_figure(5.6, 0.9 + 0.23 * len(found))
    axes.hlines(places, first, second, color=TEXT, alpha=0.5, lw=1)
    axes.plot(first, places, "o", mfc="none", mec=shade, ms=6, label=names[0])
    axes.plot(second, places, marker, color=shade, ms=6, label=names[1])
    if line is not None:
        axes.axvline(line[1], color=TEXT, ls=":", lw=1, label=line[0])
    axes.set_yticks(places, list(found), fontsize=9.5)
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlabel(x_label)
    axes.set_xlim(-3, 103)
    add_legend(figure, loc="outside upper center", ncols=3 if line else 2, fontsize=9.5)
    return {name: float(one - two) for name, (one, two) in found.items()}


def draw_by_seed(found: Mapping[str, Sequence[float]], x_label: str) -> dict[str, float]:
    """One line a thing: a small mark for each training, a large one at their mean.

    Args:
        found: thing -> its share in per cent with each seed, drawn from the top in that order; one
            number where there is nothing to train.
        x_label: of what they are shares.

    Returns:
        thing -> the mean.
    """
    shade, other = LOOKS[0][0], LOOKS[1][0]
    means = {name: float(np.mean(shares)) for name, shares in found.items()}
    figure, (axes,) = new_figure(5.6, 0.9 + 0.33 * len(found))
    for place, (name, shares) in enumerate(found.items()):
        if len(shares) > 1:
            axes.plot(
                shares,
                [place] * len(shares),
                "o",
                mfc="none",
                mec=shade,
                ms=5,
                label="one training",
            )
        axes.plot([means[name]], [place], "D", color=other, ms=7, label="mean", zorder=3)
        axes.annotate(
            f"{means[name]:.0f}",
            (max(shares), place),
            (9, 0),
            textcoords="offset points",
            va="center",
            color=TEXT,
            fontsize=9.5,
        )
    axes.set_yticks(range(len(found)), list(found), fontsize=9.5)
    axes.set_ylim(len(found) - 0.4, -0.6)
    axes.set_xlim(-3, 109)
    axes.set_xlabel(x_label)
    axes.grid(visible=True, axis="x", lw=0.6)
    handles, names = axes.get_legend_handles_labels()
    once = dict(zip(names, handles, strict=True))
    add_legend(
        figure,
        handles=list(once.values()),
        labels=list(once),
        loc="outside upper center",
        ncols=2,
        fontsize=9.5,
    )
    return means
