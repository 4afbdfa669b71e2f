"""Figures of the decoder (chapter 6): who sees what, what is being written, where the weights are.

Every function draws and returns the numbers it has drawn.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from annotated_transformer.figures.matrices import as_array
from annotated_transformer.figures.plotly_renderer import base_layout, show_figure
from annotated_transformer.figures.style import (
    BLOCKED,
    TEXT,
    WEIGHT_COLOURS,
    ink_on,
    new_figure,
)
from annotated_transformer.figures.touch import CONTROL_ROOM, MASK_SCALE, WEIGHT_SCALE

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
    legend = figure.legend(
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
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_color(TEXT)
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


def touch_writing(
    written: Sequence[str],
    source: Sequence[str],
    weights: Mapping[str, Tensor | ArrayLike],
    label: str,
    begin: str = "<s>",
    start: int = 0,
) -> dict[str, NDArray[np.bool_]]:
    """A figure to touch: choose the word that is being written, see what its position may read.

    On the left the decoder's positions with the words that they carry; buttons wire the decoder
    with and without shift and mask. On the right the source with the weights of cross-attention
    under the same wiring.

    Args:
        written: the n target words, the end included.
        source: the n_src source words.
        weights: by wiring ("shift and mask", "mask only", "shift only", "neither"), cross-attention
            of each position, (n, n_src).
        label: what the figure shows, for a person who cannot see it.
        begin: the sign that the shift puts in front.
        start: the position shown first.

    Returns:
        By wiring, bool (n, n): row t, column s: at the prediction of word t the decoder's input
        shows word s.
    """
    n = len(written)
    wirings = {
        "shift and mask": (True, True),
        "mask only": (False, True),
        "shift only": (True, False),
        "neither": (False, False),
    }
    stacks = {name: np.round(as_array(weights[name]), 2) for name in wirings}
    shows = {
        name: np.array(
            [[_sees(t, s + shift, mask) and s + shift < n for s in range(n)] for t in range(n)]
        )
        for name, (shift, mask) in wirings.items()
    }
    pictures = {
        name: [_positions(t, written, begin, shift, mask) for t in range(n)]
        for name, (shift, mask) in wirings.items()
    }
    scale = [*MASK_SCALE[:1], [0.5, MASK_SCALE[1][1]], [1.0, LEAK]]
    traces: list[Any] = [
        go.Heatmap(
            z=pictures[name][start][0],
            text=pictures[name][start][1],
            texttemplate="%{text}",
            textfont={"color": "#000000", "size": 13},
            hovertemplate="%{text}<extra></extra>",
            colorscale=scale,
            zmin=0,
            zmax=2,
            xgap=2,
            ygap=2,
            showscale=False,  # the signs in the cells and the line below say it
            visible=name == "shift and mask",
        )
        for name in wirings
    ]
    traces += [
        go.Heatmap(
            z=stack[start][:, None],
            text=_with_weights(source, stack[start]),
            texttemplate="%{text}",
            textfont={"size": 13},
            hovertemplate="%{text}<extra></extra>",
            colorscale=WEIGHT_SCALE,
            zmin=0,
            zmax=1,
            xgap=2,
            ygap=2,
            showscale=False,  # every cell carries its number
            xaxis="x2",
            yaxis="y2",
            visible=name == "shift and mask",
        )
        for name, stack in stacks.items()
    ]
    steps = []
    for t, word in enumerate(written):
        cells = [pictures[name][t][0] for name in wirings]
        cells += [stack[t][:, None].tolist() for stack in stacks.values()]
        texts = [pictures[name][t][1] for name in wirings]
        texts += [_with_weights(source, stack[t]) for stack in stacks.values()]
        steps.append(
            {
                "label": f"{t + 1}: {word}",
                "method": "restyle",
                "args": [{"z": cells, "text": texts}],
            }
        )
    buttons = [
        {
            "label": name,
            "method": "restyle",
            "args": [{"visible": [other == name for other in wirings] * 2}],  # left, then right
        }
        for name in wirings
    ]
    height = 110 + 27 * max(n, len(source))
    layout = base_layout(height=height + CONTROL_ROOM + CONTROL_ROOM // 2)
    margin = {"l": 6, "r": 6, "t": 34, "b": 30}
    layout["margin"] = {**margin, "t": 34 + CONTROL_ROOM // 2, "b": 30 + CONTROL_ROOM}
    layout["meta"] = {"native": {"margin": margin, "height": height}}
    bare = {"showticklabels": False, "ticks": "", "showgrid": False, "zeroline": False}
    layout["xaxis"].update(bare, domain=[0.0, 0.58])
    layout["yaxis"].update(bare, autorange="reversed")
    layout["xaxis2"] = {**layout["xaxis"], "domain": [0.64, 1.0], "anchor": "y2"}
    layout["yaxis2"] = {**layout["yaxis"], "anchor": "x2"}
    layout["annotations"] = [
        {"text": text, "x": x, "y": y, "xref": "paper", "yref": "paper", "showarrow": False}
        | {"xanchor": "left", "yanchor": anchor, "font": {"color": TEXT, "size": 12}}
        for text, x, y, anchor in (
            ("decoder: input word", 0.0, 1.0, "bottom"),
            ("source, weight", 0.64, 1.0, "bottom"),
            (f"{SEEN} may read · {HIDDEN} may not · {ANSWER} the answer or later", 0.0, 0.0, "top"),
        )
    ]
    layout["sliders"] = [
        {
            "active": start,
            "steps": steps,
            "currentvalue": {"prefix": "writes word ", "font": {"size": 14, "color": TEXT}},
            "pad": {"t": 40},
        }
    ]
    layout["updatemenus"] = [
        {
            "type": "buttons",
            "direction": "right",
            "name": "wiring",
            "buttons": buttons,
            "active": 0,
            "x": 0.0,
            "xanchor": "left",
            "y": 1.05,
            "yanchor": "bottom",
            "showactive": True,
            "font": {"color": "#1a1a1a"},
            "bgcolor": "#E4E4E4",
        }
    ]
    show_figure(go.Figure(traces, layout), label)
    return shows


def _sees(t: int, position: int, mask: bool) -> bool:
    """Whether decoder position t may attend to another one."""
    return position <= t or not mask


def _positions(
    t: int, written: Sequence[str], begin: str, shift: bool, mask: bool
) -> tuple[list[list[int]], list[list[str]]]:
    """Kind and text of every decoder position, (n, 1), while position t predicts word t."""
    kinds, texts = [], []
    for position in range(len(written)):
        word_number = position - shift  # -1 for the sign in front
        word = written[word_number] if word_number >= 0 else begin
        if not _sees(t, position, mask):
            kind, sign = 0, HIDDEN
        elif word_number >= t:
            kind, sign = 2, ANSWER
        else:
            kind, sign = 1, SEEN
        here = " ◀" if position == t else ""
        kinds.append([kind])
        texts.append([f"{sign} {escape(word)}{here}"])  # plotly would read <s> as a tag
    return kinds, texts


def _with_weights(words: Sequence[str], weights: NDArray[Any]) -> list[list[str]]:
    """The text of the source's cells, (n_src, 1)."""
    return [[f"{escape(word)} {weight:.2f}"] for word, weight in zip(words, weights, strict=True)]
