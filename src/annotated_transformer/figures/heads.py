"""Figures of heads (chapters 3 and 11): splitting, many heads at one word, the jobs of each.

Every function draws and returns the numbers it has drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from annotated_transformer.figures.cells import write_cells
from annotated_transformer.figures.matrices import as_array
from annotated_transformer.figures.plotly_renderer import (
    NO_LINES,
    WEIGHT_SCALE,
    choice,
    layout_with_controls,
    show_figure,
    slider,
    ticks,
)
from annotated_transformer.figures.style import (
    INKS,
    LOOKS,
    NEUTRAL_COLOURS,
    TEXT,
    WEIGHT_COLOURS,
    add_legend,
    ink_on,
    looks,
    new_figure,
    widen_first,
)


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
    axes = widen_first(axes, num_heads)

    def shades(token: NDArray[np.int64]) -> NDArray[np.float64]:
        return (token - 1) / max(1, num_tokens - 1)

    for axis, (title, panel) in zip(axes, panels, strict=True):
        write_cells(axis, panel, shades(panel // 10), NEUTRAL_COLOURS, size=9, aspect="auto")
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(panel.shape[1]), [str(c) for c in range(panel.shape[1])])
        axis.set_yticks(range(num_tokens), [str(t) for t in tokens])
        axis.tick_params(length=0, labelsize=9)
        axis.set_xlabel("column", fontsize=9.5)
    axes[0].set_ylabel("token", fontsize=9.5)
    for axis in axes[1::num_heads]:
        axis.set_ylabel("row", fontsize=9.5)
    add_legend(
        figure,
        handles=[
            Patch(facecolor=NEUTRAL_COLOURS(shade), edgecolor=TEXT, label=f"from token {token}")
            for token, shade in zip(tokens, shades(tokens), strict=True)
        ],
        loc="outside lower center",
        ncols=num_tokens,
        fontsize=9.5,
        columnspacing=1.0,
        handlelength=1.4,
    )
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
        color=INKS[0],
        marker=LOOKS[0][2],
        label="Table 3: base and rows (A)",
    )
    for place, score in enumerate(scores):
        axes.annotate(
            f"{score}", (place, score), (0, 8), textcoords="offset points", ha="center", color=TEXT
        )
    axes.set_xticks(range(len(heads)), [str(h) for h in heads])
    axes.set_xlabel("number of heads h, with $d_k = d_v = 512\\,/\\,h$")
    axes.set_ylabel("BLEU, newstest2013")
    add_legend(axes, loc="lower center")
    axes.set_ylim(min(scores) - 0.2, max(scores) + 0.35)
    return {h: round(max(scores) - score, 1) for h, score in bleu.items()}


def draw_shares_by_head(
    shares: Mapping[str, ArrayLike], heads: Sequence[str], chance: float, x_label: str
) -> dict[str, NDArray[np.float64]]:
    """How often each head does something, counted in one or more ways, against chance.

    Args:
        shares: way of counting -> (heads,) shares from 0 to 1, drawn and listed in that order.
        heads: the name of each head.
        chance: the share that blind choice would have.
        x_label: what the shares are shares of.

    Returns:
        the shares by their names, and "chance".
    """
    _, (axes,) = new_figure(5.2, 1.5 + 0.3 * len(heads))
    places = np.arange(len(heads))
    drawn = {name: np.asarray(values, dtype=float) for name, values in shares.items()}
    axes.axvline(chance, color=TEXT, lw=1.2, ls=(0, (4, 2)), label=f"chance, {100 * chance:.0f} %")
    for (name, values), (shade, _, marker) in zip(drawn.items(), looks(len(drawn)), strict=True):
        axes.plot(values, places, ls="none", marker=marker, color=shade, ms=8, label=name)
    axes.set_yticks(places, list(heads))
    axes.invert_yaxis()
    axes.set_xlim(-0.02, 1.02)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
    axes.set_xlabel(x_label)
    axes.grid(visible=True, axis="x", lw=0.6)
    add_legend(axes, loc="lower center", bbox_to_anchor=(0.45, 1.0), ncols=1)
    return {**drawn, "chance": np.asarray(chance)}


def draw_losses_by_part(
    alone: Mapping[str, ArrayLike], together: Mapping[str, float], x_label: str
) -> dict[str, tuple[float, float]]:
    """What each group loses with its members removed one at a time, and all at once.

    Args:
        alone: group -> (members,) loss when that member is removed alone; none below 0.
        together: the same groups -> loss when all members are removed at once.
        x_label: what is lost.

    Returns:
        group -> sum of the single losses, loss of all at once.
    """
    figure, (axes,) = new_figure(5.4, 1.3 + 0.62 * len(alone))
    both = {name: (float(np.sum(as_array(alone[name]))), together[name]) for name in alone}
    shade, other = INKS[:2]
    for place, (name, (total, at_once)) in enumerate(both.items()):
        start = 0.0
        for loss in as_array(alone[name]):
            # The members of the sum, side by side, told apart by their white edges.
            axes.barh(place - 0.2, loss, 0.36, left=start, color=shade, edgecolor="white", lw=0.4)
            start += float(loss)
        axes.barh(place + 0.2, at_once, 0.36, color=other, hatch="//", edgecolor="white", lw=0.8)
        for y, value in ((place - 0.2, total), (place + 0.2, at_once)):
            axes.annotate(
                f"{value:.1f}",
                (value, y),
                (4, 0),
                textcoords="offset points",
                va="center",
                color=TEXT,
                fontsize=9.5,
            )
    axes.set_yticks(range(len(both)), list(both))
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * max(max(pair) for pair in both.values()))
    axes.set_xlabel(x_label)
    handles = [
        Patch(facecolor=shade, edgecolor="white", label="one at a time, added up"),
        Patch(facecolor=other, edgecolor="white", hatch="//", label="all at once"),
    ]
    add_legend(figure, handles=handles, loc="outside upper center", ncols=2)
    return both


def draw_jobs(
    jobs: Mapping[str, Sequence[tuple[float, bool, str] | None]], columns: Sequence[str]
) -> int:
    """A table of heads and jobs: how much each head does of each, in per cent.

    Where a head may be called by a job, the cell is dark; elsewhere it is pale, whatever its
    number. A job that a head cannot have has no number.

    Args:
        jobs: head -> for each column the share, from 0 to 1, whether the head may be called by it,
            and a sign to stand behind the number; or None.
        columns: the jobs.

    Returns:
        how many heads may be called by at least one job.
    """
    _, (axes,) = new_figure(5.8, 1.3 + 0.24 * len(jobs))
    for row, cells in enumerate(jobs.values()):
        for column, cell in enumerate(cells):
            if cell is None:
                continue
            share, named, sign = cell
            fill = WEIGHT_COLOURS(0.8 if named else 0.12 * share)
            axes.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=fill, edgecolor="white", lw=1)
            )
            text, ink = f"{100 * share:.0f}{sign}", ink_on(fill[:3])
            axes.text(column, row, text, ha="center", va="center", color=ink, fontsize=8.5)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(jobs) - 0.5, -0.5)
    axes.set_xticks(range(len(columns)), list(columns), rotation=55, ha="left", fontsize=9)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(jobs)), list(jobs), fontsize=8.5)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return sum(any(cell is not None and cell[1] for cell in cells) for cells in jobs.values())


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
    shown = [np.round(stack[:, i], 2).tolist() for i in range(len(queries))]  # each (heads, n_k)
    steps = [
        choice(f"{i + 1}: {word}", "restyle", {"z": [shown[i]]}) for i, word in enumerate(queries)
    ]
    layout = layout_with_controls(
        height=150 + 30 * len(heads),
        margin={"l": 10, "r": 10, "t": 10, "b": 20},
        slider_below=slider(f"{row_name} ", steps, start, gap=70),
    )
    layout["xaxis"].update(NO_LINES, **ticks(keys), tickangle=-60, title={"text": "key"})
    layout["yaxis"].update(
        NO_LINES, **ticks(heads), autorange="reversed", title={"text": "head", "standoff": 8}
    )
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
