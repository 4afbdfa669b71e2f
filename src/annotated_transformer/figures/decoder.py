"""Pictures of the decoder (chapter 6): who sees what, how a word arises, which vocabulary fits.

Every function draws and returns the numbers it has drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from annotated_transformer.figures.matrices import as_array
from annotated_transformer.figures.style import (
    BLOCKED,
    TEXT,
    WEIGHT_COLOURS,
    add_legend,
    ink_on,
    new_figure,
)

LEAK = "#E3AE8D"  # what an honest prediction must not see: the answer, and what stands behind it
HIDDEN, SEEN, ANSWER = "×", "✓", "!"


def draw_reach(
    reaches: Mapping[str, Tensor | ArrayLike], words: Sequence[str]
) -> dict[str, tuple[int, int]]:
    """Which target words each prediction depends on, one small picture a way of wiring.

    Args:
        reaches: name -> bool (n, n), row t, column s: the prediction of word t depends on word s.
        words: the n target words.

    Returns:
        For each name how many earlier words are seen in all rows together, and how many that must
        not be: the word itself and later ones.
    """
    n = len(words)
    figure, axes = new_figure(5.0, 5.6, 2, -(-len(reaches) // 2))
    counts = {}
    for axis, (name, given) in zip(axes, reaches.items(), strict=False):
        reach = as_array(given).astype(bool)
        honest = np.tri(n, k=-1, dtype=bool)
        for (t, s), seen in np.ndenumerate(reach):
            fill = BLOCKED if not seen else "#F6F4FB" if honest[t, s] else LEAK
            axis.add_patch(
                Rectangle((s - 0.5, t - 0.5), 1, 1, facecolor=fill, edgecolor="#757575", lw=0.5)
            )
            mark = HIDDEN if not seen else SEEN if honest[t, s] else ANSWER
            axis.text(s, t, mark, ha="center", va="center", color="#000000", fontsize=10)
        _name_cells(axis, words, words)
        axis.set_title(name, fontsize=11)
        counts[name] = (int((reach & honest).sum()), int((reach & ~honest).sum()))
    for axis in axes[::2]:
        axis.set_ylabel("prediction of", fontsize=10)
    for axis in axes[-2:]:
        axis.set_xlabel("depends on", fontsize=10)
    add_legend(
        figure,
        handles=[
            Patch(facecolor="#F6F4FB", edgecolor=TEXT, label=f"{SEEN} an earlier word"),
            Patch(facecolor=LEAK, edgecolor=TEXT, label=f"{ANSWER} the answer or later"),
            Patch(facecolor=BLOCKED, edgecolor=TEXT, label=f"{HIDDEN} not seen"),
        ],
        loc="outside lower center",
        ncols=3,
        fontsize=9.5,
        columnspacing=1.0,
        handlelength=1.2,
    )
    return counts


def _name_cells(axis: Axes, rows: Sequence[str], columns: Sequence[str]) -> None:
    """Words beside a table of square cells."""
    axis.set_xlim(-0.5, len(columns) - 0.5)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_aspect("equal")
    axis.set_xticks(range(len(columns)), list(columns), rotation=90)
    axis.set_yticks(range(len(rows)), list(rows))
    axis.tick_params(length=0, labelsize=9.5)
    axis.spines[:].set_visible(False)


def draw_stages(
    probabilities: Tensor | ArrayLike,
    tops: Sequence[Sequence[str]],
    words: Sequence[str],
    stages: Sequence[str],
) -> NDArray[Any]:
    """The vector of each position, read through the output matrix after each stage of the decoder.

    Args:
        probabilities: (stages, n), of the word that should follow.
        tops: the word with the largest logit, stage by stage, n each.
        words: the n words that should follow.
        stages: their names.

    Returns:
        the probabilities, (n, stages), as drawn.
    """
    shown = as_array(probabilities).T  # (n, stages)
    _, (axis,) = new_figure(5.0, 0.8 + 0.32 * len(words))
    axis.imshow(shown, cmap=WEIGHT_COLOURS, vmin=0, vmax=1, aspect="auto")
    for (row, column), probability in np.ndenumerate(shown):
        ink = ink_on(WEIGHT_COLOURS(float(probability))[:3])
        word = tops[column][row]
        right = word == words[row]
        axis.text(
            column,
            row,
            word,
            ha="center",
            va="center",
            color=ink,
            fontsize=10,
            fontweight="bold" if right else None,
            fontstyle=None if right else "italic",
        )
    axis.set_xticks(range(len(stages)), list(stages))
    axis.set_yticks(range(len(words)), list(words))
    axis.xaxis.tick_top()
    axis.tick_params(length=0, labelsize=10)
    axis.set_ylabel("to be written", fontsize=10)
    axis.spines[:].set_visible(False)
    return shown


def draw_vocabularies(
    intervals: Mapping[str, tuple[float, float]], stated: float
) -> dict[str, bool]:
    """The vocabularies at which each printed parameter count comes out, as bars, and a line.

    Args:
        intervals: row -> the smallest and the largest vocabulary in thousands.
        stated: the vocabulary that the paper states, in thousands.

    Returns:
        For each row whether `stated` lies within.
    """
    _, (axis,) = new_figure(5.0, 0.9 + 0.3 * len(intervals))
    for place, (low, high) in enumerate(intervals.values()):
        axis.plot([low, high], [place, place], color=TEXT, lw=7, solid_capstyle="butt")
    axis.axvline(stated, color=TEXT, ls="--", lw=1.4)
    axis.annotate(
        f"about {stated:g},000, as stated",
        (stated, -0.9),
        (5, 0),
        textcoords="offset points",
        va="center",
        color=TEXT,
        fontsize=10,
    )
    axis.set_yticks(range(len(intervals)), list(intervals))
    axis.set_ylim(len(intervals) - 0.4, -1.4)
    axis.set_xlabel("vocabulary that gives the printed count, in thousands")
    axis.set_ylabel("row of Table 3")
    axis.grid(visible=True, axis="x", lw=0.6)
    return {row: low <= stated <= high for row, (low, high) in intervals.items()}
