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
from annotated_transformer.figures.plotly_renderer import as_labels, base_layout, show_figure
from annotated_transformer.figures.style import TEXT, WEIGHT_STOPS, colour

WEIGHT_SCALE = [[i / (len(WEIGHT_STOPS) - 1), stop] for i, stop in enumerate(WEIGHT_STOPS)]
MASK_SCALE = [[0.0, "#A3A3A3"], [1.0, "#E6ECF8"]]
# The legend of a picture of weights: narrow, so that it leaves a telephone its cells.
WEIGHT_BAR: dict[str, Any] = {
    "title": {"text": "weight", "side": "right"},
    "tickvals": [0, 0.5, 1],
    "thickness": 9,
    "xpad": 6,
    "outlinewidth": 0,
}
# Room that plotly's own slider and buttons need, given back where the site replaces them.
CONTROL_ROOM = 70


def _slider(prefix: str, steps: list[dict[str, Any]], active: int) -> dict[str, Any]:
    return {
        "active": active,
        "steps": steps,
        "currentvalue": {"prefix": prefix, "font": {"size": 14, "color": TEXT}},
        "pad": {"t": 40},
        "x": 0.0,
        "len": 1.0,
    }


def _buttons(name: str, buttons: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "type": "buttons",
        "direction": "right",
        "name": name,
        "buttons": buttons,
        "active": 0,
        "x": 0.0,
        "xanchor": "left",
        "y": 1.02,
        "yanchor": "bottom",
        "showactive": True,
        "font": {"color": "#1a1a1a"},
        "bgcolor": "#E4E4E4",
    }


def _native(layout: dict[str, Any], below: bool, above: bool) -> dict[str, Any]:
    """Note the margins that suffice once plotly's slider and buttons are taken out."""
    margin = dict(layout["margin"])
    margin["b"] -= CONTROL_ROOM if below else 0
    margin["t"] -= CONTROL_ROOM // 2 if above else 0
    height = layout["height"] - CONTROL_ROOM * below - CONTROL_ROOM // 2 * above
    return {**layout, "meta": {"native": {"margin": margin, "height": height}}}


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


def touch_softmax_scale(
    d_k: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024),
    keys: int = 8,
    seed: int = 14,
) -> dict[str, Array]:
    """Bars of the same query's weights over ``keys`` keys, unscaled and scaled; a slider over d_k.

    The query and the keys have independent entries of mean 0 and variance 1. The default seed is an
    ordinary draw: at d_k = 64 its largest weights are close to the averages over many draws.

    Returns:
        "d_k" (steps,), "unscaled" and "scaled" (steps, keys): the weights.
    """
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(max(d_k), generator=generator, dtype=torch.float64)
    key = torch.randn(keys, max(d_k), generator=generator, dtype=torch.float64)
    scores = torch.stack([key[:, :width] @ query[:width] for width in d_k])  # (steps, keys)
    root = torch.tensor(d_k, dtype=torch.float64).sqrt()[:, None]
    unscaled, scaled = as_array(softmax(scores)), as_array(softmax(scores / root))
    names = [f"k{j + 1}" for j in range(keys)]
    start = list(d_k).index(64) if 64 in d_k else len(d_k) // 2

    def title(step: int) -> str:
        return (
            f"largest weight: {unscaled[step].max():.2f} unscaled, {scaled[step].max():.2f} scaled"
        )

    bars = [
        go.Bar(
            x=names,
            y=unscaled[start],
            name="softmax(q·k)",
            marker={"color": colour("key"), "pattern": {"shape": "/"}},
            hovertemplate="%{x}: %{y:.3f}",
        ),
        go.Bar(
            x=names,
            y=scaled[start],
            name="softmax(q·k / √dₖ)",
            marker={"color": colour("query")},
            hovertemplate="%{x}: %{y:.3f}",
        ),
    ]
    steps = [
        {
            "label": str(width),
            "method": "update",
            "args": [{"y": [unscaled[i], scaled[i]]}, {"title.text": title(i)}],
        }
        for i, width in enumerate(d_k)
    ]
    layout = base_layout(
        height=450,
        title={
            "text": title(start),
            "font": {"size": 14, "color": TEXT},
            "x": 0.0,
            "xref": "paper",
        },
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.26, "font": {"color": TEXT}},
        barmode="group",
        sliders=[_slider("d_k = ", steps, start)],
    )
    layout["margin"] = {"l": 50, "r": 15, "t": 45, "b": 75 + CONTROL_ROOM}
    layout["xaxis"].update(title={"text": "key", "standoff": 4})
    layout["yaxis"].update(range=[0, 1], title={"text": "weight"})
    show_figure(
        go.Figure(bars, _native(layout, below=True, above=False)),
        "Bars of the attention weights of one query over eight keys. As d_k grows from 1 to 1024, "
        "the unscaled softmax puts nearly all weight on one key; the scaled one stays spread out.",
    )
    return {"d_k": np.array(d_k), "unscaled": unscaled, "scaled": scaled}


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
    n_q, n_k = stack.shape[1:]
    # Words may repeat in a sentence, so cells are placed by number and labelled by word.
    axis_keys = {"tickmode": "array", "tickvals": list(range(n_k)), "ticktext": as_labels(keys)}
    axis_queries = {
        "tickmode": "array",
        "tickvals": list(range(n_q)),
        "ticktext": as_labels(queries),
    }
    hover = [[f"{query} → {key}" for key in keys] for query in queries]
    traces: list[Any] = [
        _heat_map(
            matrix,
            hover,
            visible=head == 0,
            colorbar={**WEIGHT_BAR, "y": 0.71, "len": 0.6},  # beside the matrix, not the bars
        )
        for head, matrix in enumerate(stack)
    ]
    for head, matrix in enumerate(stack):
        traces.append(
            go.Bar(
                x=list(range(n_k)),
                y=matrix[start],
                marker={"color": colour("query")},
                customdata=list(keys),
                hovertemplate="%{customdata}: %{y:.3f}<extra></extra>",
                xaxis="x2",
                yaxis="y2",
                visible=head == 0,
            )
        )
    count = len(stack)
    bar_traces = list(range(count, 2 * count))

    def row_frame(row: int) -> dict[str, Any]:
        corners = {"x0": -0.5, "x1": n_k - 0.5, "y0": row - 0.5, "y1": row + 0.5}
        return {"type": "rect", **corners, "line": {"color": colour("query"), "width": 3}}

    steps = [
        {
            "label": f"{row + 1}: {query}",
            "method": "update",
            "args": [
                {"y": [matrix[row] for matrix in stack]},
                {"shapes": [row_frame(row)]},
                bar_traces,
            ],
        }
        for row, query in enumerate(queries)
    ]
    layout = base_layout(
        height=680,
        shapes=[row_frame(start)],
        sliders=[_slider(f"{row_name} ", steps, start)],
    )
    layout["margin"] = {"l": 10, "r": 10, "t": 20, "b": 20 + CONTROL_ROOM}
    layout["xaxis"].update(
        axis_keys, showgrid=False, zeroline=False, tickangle=-60, title={"text": "key"}
    )
    layout["yaxis"].update(
        axis_queries,
        showgrid=False,
        zeroline=False,
        autorange="reversed",
        domain=[0.44, 1.0],
        title={"text": row_name, "standoff": 8},
    )
    layout["xaxis2"] = {**layout["xaxis"], "anchor": "y2"}
    layout["yaxis2"] = {
        **base_layout()["yaxis"],
        "domain": [0.0, 0.2],
        "range": [0, 1],
        "title": {"text": "weight"},
        "anchor": "x2",
    }
    if count > 1:
        buttons = [
            {
                "label": name,
                "method": "restyle",
                "args": [{"visible": [one == head for one in range(count)] * 2}],
            }
            for head, name in enumerate(heads)
        ]
        layout["updatemenus"] = [_buttons("head", buttons)]
        layout["margin"]["t"] += CONTROL_ROOM // 2
    show_figure(go.Figure(traces, _native(layout, below=True, above=count > 1)), label)
    return {"weights": stack, "top": [keys[int(column)] for column in stack[0].argmax(axis=-1)]}


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
    ticks = {"tickmode": "array", "tickvals": list(range(n)), "ticktext": as_labels(tokens)}
    pictures = {
        name: (as_array(mask).astype(int), [["✓" if cell else "×" for cell in row] for row in mask])
        for name, mask in masks.items()
    }
    first = next(iter(masks))
    hover = [[f"{query} → {key}" for key in tokens] for query in tokens]
    traces = [
        _heat_map(
            pictures[first][0],
            hover,
            text=pictures[first][1],
            texttemplate="%{text}",
            textfont={"color": "#000000", "size": 14},
            hovertemplate="%{customdata}: %{text}<extra></extra>",
            colorscale=MASK_SCALE,
            showscale=False,  # the signs in the cells and the line above them say it
        ),
        _heat_map(
            weights[first],
            hover,
            xaxis="x2",
            yaxis="y2",
            colorbar={**WEIGHT_BAR, "y": 0.235, "len": 0.5},
        ),
    ]
    buttons = [
        {
            "label": name,
            "method": "restyle",
            "args": [{"z": [pictures[name][0], weights[name]], "text": [pictures[name][1], None]}],
        }
        for name in masks
    ]
    layout = base_layout(height=740, updatemenus=[_buttons("mask", buttons)])
    layout["margin"] = {"l": 10, "r": 10, "t": 45 + CONTROL_ROOM // 2, "b": 10}
    layout["xaxis"].update(ticks, showgrid=False, zeroline=False, showticklabels=False)
    layout["yaxis"].update(
        ticks,
        showgrid=False,
        zeroline=False,
        autorange="reversed",
        domain=[0.57, 1.0],
        title={"text": "query", "standoff": 8},
    )
    below = {"showticklabels": True, "tickangle": -60, "title": {"text": "key"}}
    layout["xaxis2"] = {**layout["xaxis"], "anchor": "y2", **below}
    layout["yaxis2"] = {**layout["yaxis"], "anchor": "x2", "domain": [0.0, 0.47]}
    layout["annotations"] = [
        {"text": text, "x": 0, "y": y, "xref": "paper", "yref": "paper"}
        | {"showarrow": False, "xanchor": "left", "yanchor": "bottom", "font": {"color": TEXT}}
        for text, y in (("mask: ✓ may attend, × may not", 1.0), ("weights after softmax", 0.47))
    ]
    show_figure(go.Figure(traces, _native(layout, below=False, above=True)), label)
    return weights
