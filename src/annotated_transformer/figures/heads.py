"""Figures of multi-head attention (chapter 3): splitting into heads, and what each head looks at.

Every function draws and returns the numbers it has drawn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.axes import Axes
from numpy.typing import NDArray

from annotated_transformer.figures.plotly_renderer import base_layout, show_figure
from annotated_transformer.figures.style import (
    MARKERS,
    TEXT,
    WEIGHT_COLOURS,
    WEIGHT_STOPS,
    colour,
    ink_on,
    new_figure,
)

FloatArray = NDArray[np.float64]
COLOUR_SCALE = [[i / (len(WEIGHT_STOPS) - 1), stop] for i, stop in enumerate(WEIGHT_STOPS)]


@dataclass(frozen=True)
class HeadView:
    """The weights of one head with the words that they join.

    Args:
        name: what a reader calls it: "encoder layer 1, head 2".
        weights: (n_queries, n_keys), each row sums to 1.
        queries: the words that ask, n_queries of them.
        keys: the words that are looked at, n_keys of them.
    """

    name: str
    weights: FloatArray
    queries: Sequence[str]
    keys: Sequence[str]

    def strongest(self) -> list[str]:
        """For each query the word with the largest weight."""
        return [self.keys[i] for i in self.weights.argmax(axis=1)]


def _write_cells(axes: Axes, values: NDArray[Any], shades: FloatArray, form: str) -> None:
    """A table of coloured cells with its numbers written in them; shades from 0 to 1."""
    axes.imshow(shades, cmap=WEIGHT_COLOURS, vmin=0, vmax=1, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        ink = ink_on(WEIGHT_COLOURS(float(shades[row, column]))[:3])
        axes.text(column, row, format(value, form), ha="center", va="center", color=ink, fontsize=9)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)


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
    widths = [panel.shape[1] for _, panel in panels]
    _, axes = new_figure(
        1.1 + 0.5 * sum(widths), 2.2, columns=len(panels), gridspec_kw={"width_ratios": widths}
    )
    for axis, (title, panel) in zip(axes, panels, strict=True):
        _write_cells(axis, panel, 0.75 * (panel // 10 - 1) / max(1, num_tokens - 1), "d")
        axis.set_title(title, fontsize=10)
        axis.set_xticks([])
        axis.set_yticks([])
    axes[0].set_yticks(range(num_tokens), [f"token {t}" for t in tokens])
    return {"x": x, "split": split, "view_only": view_only}


def draw_heads(views: Sequence[HeadView], columns: int = 4) -> dict[str, list[str]]:
    """The weights of several heads side by side, one small table each.

    Returns:
        For each head's name the word that each query weighs most.
    """
    columns = min(columns, len(views))
    rows = -(-len(views) // columns)
    n_queries, n_keys = views[0].weights.shape
    width, height = 1.2 + 0.26 * n_keys * columns + 0.2, 0.26 * n_queries * rows + 1.0 * rows
    _, axes = new_figure(width, height, columns=columns, rows=rows, sharey=True)
    for axis, view in zip(axes, views, strict=False):
        axis.imshow(view.weights, cmap=WEIGHT_COLOURS, vmin=0, vmax=1, aspect="auto")
        axis.spines[:].set_visible(False)
        axis.set_title(view.name, fontsize=10)
        axis.set_xticks(range(n_keys), view.keys, rotation=90, fontsize=8)
        axis.set_yticks(range(n_queries), view.queries, fontsize=8)
        axis.tick_params(length=0)
        axis.scatter(  # the largest weight of each row, told by a mark and not by its shade alone
            view.weights.argmax(axis=1), range(n_queries), marker="o", s=9, color="white",
            edgecolors="black", linewidths=0.6,
        )  # fmt: skip
    for axis in axes[len(views) :]:
        axis.set_visible(False)
    return {view.name: view.strongest() for view in views}


def draw_scores_by_heads(bleu: Mapping[int, float]) -> dict[int, float]:
    """Quality against the number of heads: BLEU by h, as a table prints it.

    Returns:
        What was drawn: the distance of each score from the best.
    """
    _, (axes,) = new_figure(5.2, 2.8)
    heads, scores = list(bleu), list(bleu.values())
    axes.plot(range(len(heads)), scores, color=colour("query"), marker=MARKERS["query"])
    for place, score in enumerate(scores):
        axes.annotate(
            f"{score}", (place, score), (0, 8), textcoords="offset points", ha="center", color=TEXT
        )
    axes.set_xticks(range(len(heads)), [str(h) for h in heads])
    axes.set_xlabel("number of heads h (d_k = d_v = 512 / h)")
    axes.set_ylabel("BLEU, newstest2013")
    axes.set_ylim(min(scores) - 0.2, max(scores) + 0.35)
    return {h: round(max(scores) - score, 1) for h, score in bleu.items()}


def _cells(weights: FloatArray) -> list[list[float]]:
    """Two decimals are what a cell shows, and plain lists are what every plotly stores alike."""
    rows: list[list[float]] = np.round(weights, 2).tolist()
    return rows


def _word_axis(words: Sequence[str], **changes: Any) -> dict[str, Any]:
    """Ticks by place and not by word: a sentence may hold a word twice."""
    return {"tickvals": list(range(len(words))), "ticktext": list(words), **changes}


def _explorer(
    steps: Sequence[tuple[str, FloatArray, Sequence[str], Sequence[str]]],
    prefix: str,
    hover: str,
    label: str,
    start: int,
) -> None:
    """A heat map with a slider; each step is a name, weights, row names and column names."""
    _, weights, rows, columns = steps[start]
    height = 170 + 30 * max(len(step[2]) for step in steps)
    figure = go.Figure(
        go.Heatmap(
            z=_cells(weights), texttemplate="%{z:.2f}", zmin=0, zmax=1,
            colorscale=COLOUR_SCALE, showscale=False, xgap=2, ygap=2, hovertemplate=hover,
        ),
        base_layout(height=height + 80),
    )  # fmt: skip
    figure.update_xaxes(**_word_axis(columns), showgrid=False, zeroline=False, tickangle=-60)
    figure.update_yaxes(**_word_axis(rows), showgrid=False, zeroline=False, autorange="reversed")
    figure.update_layout(
        sliders=[
            {
                "active": start,
                "currentvalue": {"prefix": prefix},
                "pad": {"t": 70},
                "steps": [
                    {
                        "label": step_name,
                        "method": "update",
                        "args": [
                            {"z": [_cells(step_weights)]},
                            {
                                "xaxis.tickvals": list(range(len(step_columns))),
                                "xaxis.ticktext": list(step_columns),
                                "yaxis.tickvals": list(range(len(step_rows))),
                                "yaxis.ticktext": list(step_rows),
                            },
                        ],
                    }
                    for step_name, step_weights, step_rows, step_columns in steps
                ],
            }
        ],
        meta={"native": {"height": height, "margin": {"l": 50, "r": 15, "t": 10, "b": 70}}},
    )
    show_figure(figure, label)


def explore_heads(views: Sequence[HeadView], start: int = 0) -> dict[str, list[str]]:
    """A figure to touch: choose a head, see what each word attends to.

    Returns:
        For each head's name the word that each query weighs most.
    """
    _explorer(
        [(view.name, view.weights, view.queries, view.keys) for view in views],
        prefix="head: ",
        hover="from %{y} to %{x}: %{z:.2f}<extra></extra>",
        label=f"Attention weights of {len(views)} heads on a sentence; the slider chooses a head.",
        start=start,
    )
    return {view.name: view.strongest() for view in views}


def explore_words(views: Sequence[HeadView], start: int = 0) -> dict[str, list[str]]:
    """A figure to touch: choose a word that asks, see where every head looks from there.

    All views must share their words.

    Returns:
        For each query word, numbered by its place, the word that each head weighs most.
    """
    queries, keys = views[0].queries, views[0].keys
    _explorer(
        [
            (
                f"{i + 1}. {word}",
                np.stack([v.weights[i] for v in views]),
                [v.name for v in views],
                keys,
            )
            for i, word in enumerate(queries)
        ],
        prefix="query word: ",
        hover="%{y} looks at %{x}: %{z:.2f}<extra></extra>",
        label=(
            f"Where {len(views)} heads look from one word; the slider chooses among "
            f"{len(queries)} words."
        ),
        start=start,
    )
    return {
        f"{i + 1}. {word}": [view.strongest()[i] for view in views]
        for i, word in enumerate(queries)
    }
