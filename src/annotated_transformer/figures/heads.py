"""Figures of multi-head attention (chapter 3): splitting into heads, and many heads at one word.

Every function draws and returns the numbers it has drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from annotated_transformer.figures.matrices import as_array
from annotated_transformer.figures.plotly_renderer import base_layout, show_figure
from annotated_transformer.figures.style import (
    MARKERS,
    TEXT,
    WEIGHT_COLOURS,
    colour,
    ink_on,
    new_figure,
)
from annotated_transformer.figures.touch import CONTROL_ROOM, WEIGHT_SCALE


def _write_cells(axes: Axes, values: NDArray[np.int64], shades: NDArray[np.float64]) -> None:
    """A table of coloured cells with its numbers written in them; shades from 0 to 1."""
    axes.imshow(shades, cmap=WEIGHT_COLOURS, vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        ink = ink_on(WEIGHT_COLOURS(float(shades[row, column]))[:3])
        axes.text(column, row, str(value), ha="center", va="center", color=ink, fontsize=9)
    axes.spines[:].set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])


def draw_split(
    num_tokens: int = 3, num_heads: int = 2, d_head: int = 2
) -> dict[str, NDArray[np.int64]]:
    """Where the numbers of x go when it is split into heads, rightly and by `view` alone.

    The number in row t (from 1) and column c of x is 10 t + c, so that each number tells where it
    came from; its shade is its token's.

    Returns:
        "x" (n, num_heads * d_head), "split" and "view_only" (num_heads, n, d_head).
    """
    tokens, columns = np.arange(1, num_tokens + 1), np.arange(num_heads * d_head)
    x = 10 * tokens[:, None] + columns  # (n, d_model)
    split = x.reshape(num_tokens, num_heads, d_head).transpose(1, 0, 2)
    view_only = x.reshape(num_heads, num_tokens, d_head)
    panels = [("x", x)]
    panels += [(f"right: head {i + 1}", head) for i, head in enumerate(split)]
    panels += [(f"wrong: head {i + 1}", head) for i, head in enumerate(view_only)]
    # Three lines, so that a telephone shows it too: x on all of the first, then right, then wrong.
    figure, axes = new_figure(
        1.4 + 0.8 * len(columns), 3 * (0.7 + 0.3 * num_tokens) + 0.4, num_heads, rows=3
    )
    grid = axes[0].get_gridspec()
    assert grid is not None
    axes[0].set_subplotspec(grid[0, :])
    for spare in axes[1:num_heads]:
        spare.remove()
    axes = [axes[0], *axes[num_heads:]]

    def shades(token: NDArray[np.int64]) -> NDArray[np.float64]:
        return 0.75 * (token - 1) / max(1, num_tokens - 1)

    for axis, (title, panel) in zip(axes, panels, strict=True):
        _write_cells(axis, panel, shades(panel // 10))
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(panel.shape[1]), [str(c) for c in range(panel.shape[1])])
        axis.set_yticks(range(num_tokens), [str(t) for t in tokens])
        axis.tick_params(length=0, labelsize=9)
        axis.set_xlabel("column", fontsize=9.5)
    axes[0].set_ylabel("token", fontsize=9.5)
    for axis in axes[1::num_heads]:
        axis.set_ylabel("row", fontsize=9.5)
    legend = figure.legend(
        handles=[
            Patch(facecolor=WEIGHT_COLOURS(shade), edgecolor=TEXT, label=f"from token {token}")
            for token, shade in zip(tokens, shades(tokens), strict=True)
        ],
        loc="outside lower center",
        ncols=num_tokens,
        fontsize=9.5,
        columnspacing=1.0,
        handlelength=1.4,
        frameon=False,
    )
    for text in legend.get_texts():
        text.set_color(TEXT)
    return {"x": x, "split": split, "view_only": view_only}


def draw_scores_by_heads(bleu: Mapping[int, float]) -> dict[int, float]:
    """Quality against the number of heads: BLEU by h, as rows (A) of Table 3 print it.

    Returns:
        The distance of each score from the best.
    """
    _, (axes,) = new_figure(5.2, 2.8)
    heads, scores = list(bleu), list(bleu.values())
    axes.plot(
        range(len(heads)),
        scores,
        color=colour("query"),
        marker=MARKERS["query"],
        label="Table 3: base and rows (A)",
    )
    for place, score in enumerate(scores):
        axes.annotate(
            f"{score}", (place, score), (0, 8), textcoords="offset points", ha="center", color=TEXT
        )
    axes.set_xticks(range(len(heads)), [str(h) for h in heads])
    axes.set_xlabel("number of heads h, with $d_k = d_v = 512\\,/\\,h$")
    axes.set_ylabel("BLEU, newstest2013")
    for text in axes.legend(loc="lower center", frameon=False).get_texts():
        text.set_color(TEXT)
    axes.set_ylim(min(scores) - 0.2, max(scores) + 0.35)
    return {h: round(max(scores) - score, 1) for h, score in bleu.items()}


def touch_heads_at_word(
    weights: Tensor | ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    heads: Sequence[str],
    label: str,
    start: int = 0,
    row_name: str = "query",
) -> dict[str, Any]:
    """A figure to touch: choose a query, see where every head looks from there.

    Args:
        weights: (heads, n_q, n_k).
        queries, keys: the words at rows and columns of the weights.
        heads: the name of each head.
        label: what the figure shows, for a person who cannot see it.
        start: the query shown first.
        row_name: what the words in ``queries`` are, at the slider.

    Returns:
        "weights" (heads, n_q, n_k), and "top": for each query the word that each head weighs most.
    """
    stack = as_array(weights)
    # Words may repeat in a sentence, so cells are placed by number and labelled by word.
    columns = {"tickvals": list(range(len(keys))), "ticktext": list(keys), "tickangle": -60}
    rows = {"tickvals": list(range(len(heads))), "ticktext": list(heads), "autorange": "reversed"}
    shown = [np.round(stack[:, i], 2).tolist() for i in range(len(queries))]  # each (heads, n_k)
    steps = [
        {"label": f"{i + 1}: {word}", "method": "restyle", "args": [{"z": [shown[i]]}]}
        for i, word in enumerate(queries)
    ]
    height = 150 + 30 * len(heads)
    layout = base_layout(height=height + CONTROL_ROOM)
    layout["xaxis"].update(columns, showgrid=False, zeroline=False, title={"text": "key"})
    layout["yaxis"].update(
        rows, showgrid=False, zeroline=False, title={"text": "head", "standoff": 8}
    )
    margin = {"l": 10, "r": 10, "t": 10, "b": 20}
    layout["margin"] = {**margin, "b": 20 + CONTROL_ROOM}
    layout["meta"] = {"native": {"margin": margin, "height": height}}
    layout["sliders"] = [
        {
            "active": start,
            "steps": steps,
            "currentvalue": {"prefix": f"{row_name} ", "font": {"size": 14, "color": TEXT}},
            "pad": {"t": 70},
        }
    ]
    cells = go.Heatmap(
        z=shown[start],
        hovertemplate="%{y} looks at %{x}: %{z:.2f}<extra></extra>",
        colorscale=WEIGHT_SCALE,
        zmin=0,
        zmax=1,
        xgap=1,
        ygap=1,
        showscale=False,  # every cell carries its number
        texttemplate="%{z:.2f}",
    )
    show_figure(go.Figure([cells], layout), label)
    top = [[keys[column] for column in stack[:, i].argmax(axis=-1)] for i in range(len(queries))]
    return {"weights": stack, "top": top}
