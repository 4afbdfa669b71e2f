"""Figures to touch: a slider, buttons, hover (plotly, drawn in the page without a server).

Each function shows its figure and returns the numbers in it. Sliders and buttons are described in
the figure's layout; the site replaces them by the browser's own, which work from the keyboard.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from annotated_transformer.attention import scaled_dot_product_attention, softmax
from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.plotly_renderer import (
    BUTTONS_ROOM,
    NO_LINES,
    WEIGHT_SCALE,
    buttons,
    choice,
    layout_with_controls,
    note,
    row_frame,
    show_figure,
    slider,
    ticks,
)
from annotated_transformer.figures.style import TEXT, colour

MASK_SCALE = [[0.0, "#A3A3A3"], [1.0, "#E6ECF8"]]
WHOLE_WIDTH: dict[str, Any] = {"x": 0.0, "len": 1.0}  # of a slider
# The legend of a picture of weights: narrow, so that it leaves a telephone its cells.
WEIGHT_BAR: dict[str, Any] = {
    "title": {"text": "weight", "side": "right"},
    "tickvals": [0, 0.5, 1],
    "thickness": 9,
    "xpad": 6,
    "outlinewidth": 0,
}


def _heat_map(values: Array, hover: list[list[str]], **changes: Any) -> go.Heatmap:
    """Cells in the colours of weights; ``hover`` names the query and the key of each cell."""
    options: dict[str, Any] = {
        "customdata": hover,
        "hovertemplate": "%{customdata}: %{z:.3f}<extra></extra>",
        "colorscale": WEIGHT_SCALE,
        "zmin": 0,
        "zmax": 1,
        "xgap": 1,
        "ygap": 1,
        "colorbar": WEIGHT_BAR,
    }
    return go.Heatmap(z=values, **{**options, **changes})


def _pairs(queries: Sequence[str], keys: Sequence[str]) -> list[list[str]]:
    """What each cell is about: its query and its key."""
    return [[f"{query} → {key}" for key in keys] for query in queries]


def _word_axis(words: Sequence[str]) -> dict[str, Any]:
    return {"tickmode": "array", **ticks(words), **NO_LINES}


def touch_softmax_scale(
    d_k: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
    keys: int = 8,
) -> dict[str, Array]:
    """Bars of the same query's weights over ``keys`` keys, unscaled and scaled; a slider over d_k.

    The query and the keys have independent entries of mean 0 and variance 1, an ordinary draw: at
    d_k = 64 its largest weights are close to the averages over many draws.

    Returns:
        "d_k" (steps,), "unscaled" and "scaled" (steps, keys): the weights.
    """
    unscaled, scaled = _weights_at_widths(d_k, keys)
    names = [f"k{j + 1}" for j in range(keys)]
    start = list(d_k).index(64) if 64 in d_k else len(d_k) // 2

    def title(step: int) -> str:
        return (
            f"largest weight: {unscaled[step].max():.2f} unscaled, {scaled[step].max():.2f} scaled"
        )

    def bars(name: str, weights: Array, **marker: Any) -> go.Bar:
        return go.Bar(
            x=names, y=weights[start], name=name, marker=marker, hovertemplate="%{x}: %{y:.3f}"
        )

    both = [
        bars("softmax(q·k)", unscaled, color=colour("key"), pattern={"shape": "/"}),
        bars("softmax(q·k / √dₖ)", scaled, color=colour("query")),
    ]
    steps = [
        choice(str(width), "update", {"y": [unscaled[i], scaled[i]]}, {"title.text": title(i)})
        for i, width in enumerate(d_k)
    ]
    layout = layout_with_controls(
        height=380,
        margin={"l": 50, "r": 15, "t": 45, "b": 75},
        slider_below=slider("d_k = ", steps, start, **WHOLE_WIDTH),
        title={
            "text": title(start),
            "font": {"size": 14, "color": TEXT},
            "x": 0.0,
            "xref": "paper",
        },
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.26, "font": {"color": TEXT}},
        barmode="group",
    )
    layout["xaxis"].update(title={"text": "key", "standoff": 4})
    layout["yaxis"].update(range=[0, 1], title={"text": "weight"})
    show_figure(
        go.Figure(both, layout),
        "Bars of the attention weights of one query over eight keys. As d_k grows from 1 to 1024, "
        "the unscaled softmax puts nearly all weight on one key; the scaled one stays spread out.",
    )
    return {"d_k": np.array(d_k), "unscaled": unscaled, "scaled": scaled}


def _weights_at_widths(d_k: Sequence[int], keys: int) -> tuple[Array, Array]:
    """The weights at the first d_k entries of a random query and keys, each (steps, keys)."""
    generator = torch.Generator().manual_seed(14)
    query = torch.randn(max(d_k), generator=generator, dtype=torch.float64)
    key = torch.randn(keys, max(d_k), generator=generator, dtype=torch.float64)
    scores = torch.stack([key[:, :width] @ query[:width] for width in d_k])  # (steps, keys)
    root = torch.tensor(d_k, dtype=torch.float64).sqrt()[:, None]
    return as_array(softmax(scores)), as_array(softmax(scores / root))


def touch_weights(
    weights: Tensor | ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    label: str,
    heads: Sequence[str] = (),
    start: int = 0,
    row_name: str = "query",
) -> dict[str, Any]:
    """An attention matrix to touch: hover over a cell, or choose a query and see its row as bars.

    Args:
        weights: (n_q, n_k), or (heads, n_q, n_k) with one name in ``heads`` for each.
        queries, keys: the words at rows and columns.
        label: what the figure shows, for a person who cannot see it.
        start: the query shown first.
        row_name: what the words in ``queries`` are, at the slider and at the rows.

    Returns:
        "weights" (heads, n_q, n_k), and "top": the key with the largest weight of each query in
        the first head.
    """
    stack = as_array(weights)
    stack = stack[None] if stack.ndim == 2 else stack
    count, n_k = len(stack), len(keys)
    frame = {"color": colour("query"), "width": 3}
    steps = [
        choice(
            f"{row + 1}: {query}",
            "update",
            {"y": [matrix[row] for matrix in stack]},
            {"shapes": [row_frame(row, n_k, **frame)]},
            list(range(count, 2 * count)),  # the bars
        )
        for row, query in enumerate(queries)
    ]
    choices = [
        choice(name, "restyle", {"visible": [one == head for one in range(count)] * 2})
        for head, name in enumerate(heads)
    ]
    layout = layout_with_controls(
        height=610 if count == 1 else 610 - BUTTONS_ROOM,
        margin={"l": 10, "r": 10, "t": 20, "b": 20},
        slider_below=slider(f"{row_name} ", steps, start, **WHOLE_WIDTH),
        buttons_above=buttons("head", choices) if count > 1 else None,
        shapes=[row_frame(start, n_k, **frame)],
    )
    layout |= _matrix_and_bars_axes(layout, queries, keys, row_name)
    show_figure(go.Figure(_matrices_and_bars(stack, queries, keys, start), layout), label)
    return {"weights": stack, "top": [keys[int(column)] for column in stack[0].argmax(axis=-1)]}


def _matrices_and_bars(
    stack: Array, queries: Sequence[str], keys: Sequence[str], start: int
) -> list[Any]:
    """First every head's matrix, then every head's row of the chosen query; one head is seen."""
    matrices = [
        _heat_map(
            matrix,
            _pairs(queries, keys),
            visible=head == 0,
            colorbar={**WEIGHT_BAR, "y": 0.71, "len": 0.6},  # beside the matrix, not the bars
        )
        for head, matrix in enumerate(stack)
    ]
    bars = [
        go.Bar(
            x=list(range(len(keys))),
            y=matrix[start],
            marker={"color": colour("query")},
            customdata=list(keys),
            hovertemplate="%{customdata}: %{y:.3f}<extra></extra>",
            xaxis="x2",
            yaxis="y2",
            visible=head == 0,
        )
        for head, matrix in enumerate(stack)
    ]
    return matrices + bars


def _matrix_and_bars_axes(
    layout: dict[str, Any], queries: Sequence[str], keys: Sequence[str], row_name: str
) -> dict[str, Any]:
    """The axes of the matrix, and below them those of the bars."""
    of_keys = {**layout["xaxis"], **_word_axis(keys), "tickangle": -60, "title": {"text": "key"}}
    return {
        "xaxis": of_keys,
        "yaxis": {
            **layout["yaxis"],
            **_word_axis(queries),
            "autorange": "reversed",
            "domain": [0.44, 1.0],
            "title": {"text": row_name, "standoff": 8},
        },
        "xaxis2": {**of_keys, "anchor": "y2"},
        "yaxis2": {
            **layout["yaxis"],
            "domain": [0.0, 0.2],
            "range": [0, 1],
            "title": {"text": "weight"},
            "anchor": "x2",
        },
    }


def touch_masks(
    scores: Tensor, masks: dict[str, Tensor], tokens: Sequence[str], label: str
) -> dict[str, Array]:
    """What a mask does to the weights: a button a mask, the mask above the weights.

    Args:
        scores: (n, n), the scaled scores of one sentence.
        masks: name -> bool (n, n), True = may attend.
        tokens: the n words.
        label: what the figure shows, for a person who cannot see it.

    Returns:
        the weights (n, n) under each mask, by its name.
    """
    n = len(tokens)
    # Attention of one-hot values returns the weights; any query and key with these scores will do.
    identity = torch.eye(n, dtype=scores.dtype)
    weights = {
        name: as_array(scaled_dot_product_attention(scores * n**0.5, identity, identity, mask)[1])
        for name, mask in masks.items()
    }
    pictures = {
        name: (as_array(mask).astype(int), [["✓" if cell else "×" for cell in row] for row in mask])
        for name, mask in masks.items()
    }
    first = next(iter(masks))
    choices = [
        choice(name, "restyle", {"z": [cells, weights[name]], "text": [signs, None]})
        for name, (cells, signs) in pictures.items()
    ]
    layout = layout_with_controls(
        height=705,
        margin={"l": 10, "r": 10, "t": 45, "b": 10},
        buttons_above=buttons("mask", choices),
        annotations=[
            note("mask: ✓ may attend, × may not", 0, 1.0),
            note("weights after softmax", 0, 0.47),
        ],
    )
    layout |= _mask_and_weights_axes(layout, tokens)
    traces = _mask_and_weights(*pictures[first], weights[first], tokens)
    show_figure(go.Figure(traces, layout), label)
    return weights


def _mask_and_weights(
    cells: Array, signs: list[list[str]], weights: Array, tokens: Sequence[str]
) -> list[Any]:
    """The mask as cells with a sign each, and the weights under it."""
    return [
        _heat_map(
            cells,
            _pairs(tokens, tokens),
            text=signs,
            texttemplate="%{text}",
            textfont={"color": "#000000", "size": 14},
            hovertemplate="%{customdata}: %{text}<extra></extra>",
            colorscale=MASK_SCALE,
            showscale=False,  # the signs in the cells and the line above them say it
        ),
        _heat_map(
            weights,
            _pairs(tokens, tokens),
            xaxis="x2",
            yaxis="y2",
            colorbar={**WEIGHT_BAR, "y": 0.235, "len": 0.5},
        ),
    ]


def _mask_and_weights_axes(layout: dict[str, Any], tokens: Sequence[str]) -> dict[str, Any]:
    """The axes of the mask, and below them those of the weights, which name the keys of both."""
    of_keys = {**layout["xaxis"], **_word_axis(tokens), "showticklabels": False}
    of_queries = {
        **layout["yaxis"],
        **_word_axis(tokens),
        "autorange": "reversed",
        "domain": [0.57, 1.0],
        "title": {"text": "query", "standoff": 8},
    }
    below = {"showticklabels": True, "tickangle": -60, "title": {"text": "key"}}
    return {
        "xaxis": of_keys,
        "yaxis": of_queries,
        "xaxis2": {**of_keys, "anchor": "y2", **below},
        "yaxis2": {**of_queries, "anchor": "x2", "domain": [0.0, 0.47]},
    }
