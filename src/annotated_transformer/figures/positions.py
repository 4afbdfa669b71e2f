"""Figures of positional encoding (chapter 4): maps of signed numbers, and a position to choose.

Every function draws and returns the numbers it has drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike
from torch import Tensor

from annotated_transformer.figures.curves import CURVE_LOOKS
from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.plotly_renderer import base_layout, show_figure
from annotated_transformer.figures.style import (
    SIGNED_COLOURS,
    SIGNED_STOPS,
    TEXT,
    new_figure,
)
from annotated_transformer.figures.touch import CONTROL_ROOM

SIGNED_SCALE = [[i / (len(SIGNED_STOPS) - 1), stop] for i, stop in enumerate(SIGNED_STOPS)]
INK = CURVE_LOOKS[0][0]  # of no role, and legible on both pages


def draw_maps(
    maps: Mapping[str, Tensor | ArrayLike],
    x_label: str,
    y_label: str,
    row_labels: Sequence[str] = (),
    columns: int = 1,
    height: float = 1.9,
    width: float = 5.6,
    scale_name: str = "value",
    limit: float | None = None,
) -> dict[str, Array]:
    """Matrices of signed numbers as coloured maps with one scale: rust below 0, blue above.

    Args:
        maps: title -> (rows, columns), in reading order; all share one colour scale.
        x_label, y_label: what columns and rows are; x_label is written below the lowest maps.
        row_labels: a word for each row; numbers if empty.
        columns: maps a line.
        height: inches of one line of maps. width: inches of the whole picture.
        scale_name: what the colours mean, at their bar.
        limit: the number with the strongest colour; the largest one if None.

    Returns:
        the arrays, by title.
    """
    arrays = {title: as_array(values) for title, values in maps.items()}
    lines = -(-len(arrays) // columns)
    figure, axes = new_figure(width, height * lines + 0.4, columns, lines)
    largest = max(float(np.abs(values).max()) for values in arrays.values())
    limit = limit or largest
    norm = Normalize(-limit, limit)
    for place, (axis, (title, values)) in enumerate(zip(axes, arrays.items(), strict=False)):
        axis.imshow(values, cmap=SIGNED_COLOURS, norm=norm, aspect="auto", interpolation="nearest")
        axis.set_title(title, fontsize=11)
        axis.xaxis.set_major_locator(MaxNLocator(8, integer=True))
        axis.yaxis.set_major_locator(MaxNLocator(6, integer=True))
        if row_labels:
            axis.set_yticks(range(len(row_labels)), list(row_labels), fontsize=9)
        if place % columns == 0:
            axis.set_ylabel(y_label)
        if place + columns >= len(arrays):
            axis.set_xlabel(x_label)
    for axis in axes[len(arrays) :]:
        axis.set_axis_off()
    bar = figure.colorbar(
        ScalarMappable(norm, SIGNED_COLOURS),
        ax=axes[: len(arrays)],
        aspect=18 * lines,
        pad=0.02,
        extend="both" if limit < largest else "neither",
    )
    bar.set_label(scale_name, color=TEXT)
    bar.ax.tick_params(colors=TEXT, labelsize=9)
    bar.outline.set_edgecolor(TEXT)  # type: ignore[operator]
    return arrays


def touch_position(
    encoding: Tensor | ArrayLike, start: int = 0, every: int = 1
) -> dict[str, Array]:
    """Choose a position: its row of the encoding, and its dot product with every position.

    Args:
        encoding: (n, d_model).
        start: the position shown first.
        every: the slider stops at every so many positions.

    Returns:
        "encoding" (n, d_model) and "products" (n, n), the dot products.
    """
    rows = as_array(encoding)
    n, d_model = rows.shape
    products = rows @ rows.T
    chosen = list(range(0, n, every))
    if start not in chosen:
        raise ValueError(
            f"start = {start} is no stop of the slider: it needs a multiple of {every}."
        )

    def frame(position: int) -> list[dict[str, Any]]:
        corners = {"x0": -0.5, "x1": d_model - 0.5, "y0": position - 0.5, "y1": position + 0.5}
        line = {"x0": position, "x1": position, "y0": 0, "y1": 1, "xref": "x3", "yref": "y3 domain"}
        look = {"color": TEXT, "width": 2}
        return [
            {"type": "rect", **corners, "line": look},
            {"type": "line", **line, "line": {**look, "dash": "dot"}},
        ]

    hover = {"hovertemplate": "position %{y}, column %{x}: %{z:.2f}<extra></extra>"}
    traces: list[Any] = [
        go.Heatmap(
            z=np.round(rows, 2), colorscale=SIGNED_SCALE, zmin=-1, zmax=1, showscale=False, **hover
        ),
        go.Bar(
            y=np.round(rows[start], 2),
            marker={"color": INK},
            hovertemplate="column %{x}: %{y:.2f}<extra></extra>",
            xaxis="x2",
            yaxis="y2",
        ),
        go.Scatter(
            y=np.round(products[start], 2),
            mode="lines+markers",
            line={"color": INK},
            marker={"size": 5},
            hovertemplate="with position %{x}: %{y:.1f}<extra></extra>",
            xaxis="x3",
            yaxis="y3",
        ),
    ]
    steps = [
        {
            "label": str(position),
            "method": "update",
            "args": [
                {"y": [np.round(rows[position], 2), np.round(products[position], 2)]},
                {"shapes": frame(position)},
                [1, 2],
            ],
        }
        for position in chosen
    ]
    layout = base_layout(height=720 + CONTROL_ROOM, shapes=frame(start))
    layout["sliders"] = [
        {
            "active": chosen.index(start),
            "steps": steps,
            "currentvalue": {"prefix": "position ", "font": {"size": 14, "color": TEXT}},
            "pad": {"t": 60},
        }
    ]
    margin = {"l": 10, "r": 10, "t": 30, "b": 30}
    layout["margin"] = {**margin, "b": 30 + CONTROL_ROOM}
    layout["meta"] = {"native": {"margin": margin, "height": 720}}
    layout["bargap"] = 0
    plain = {"showgrid": False, "zeroline": False}
    layout["xaxis"].update(plain, title={"text": "column", "standoff": 4})
    layout["yaxis"].update(
        plain, autorange="reversed", domain=[0.64, 1.0], title={"text": "position"}
    )
    for number, domain, x_title, y_title, y_range in (
        (2, [0.36, 0.53], "column", "value", [-1.05, 1.05]),
        (
            3,
            [0.0, 0.25],
            "position",
            "dot product",
            [min(0, 1.05 * products.min()), d_model * 0.53],
        ),
    ):
        axes = base_layout()
        layout[f"xaxis{number}"] = {
            **axes["xaxis"],
            "anchor": f"y{number}",
            "title": {"text": x_title, "standoff": 4},
        }
        layout[f"yaxis{number}"] = {
            **axes["yaxis"],
            "anchor": f"x{number}",
            "domain": domain,
            "range": y_range,
            "title": {"text": y_title},
        }
    layout["annotations"] = [
        {"text": text, "x": 0, "y": y, "xref": "paper", "yref": "paper"}
        | {"showarrow": False, "xanchor": "left", "yanchor": "bottom", "font": {"color": TEXT}}
        for text, y in (
            ("all encodings, the chosen row framed", 1.0),
            ("the chosen row", 0.53),
            ("its dot product with every position", 0.25),
        )
    ]
    show_figure(
        go.Figure(traces, layout),
        f"The encoding of {n} positions in {d_model} columns as a map, with the row of the chosen "
        "position below it as bars, and the dot products of that row with all rows as a curve: the "
        "curve has its peak at the chosen position and looks the same on both sides of it.",
    )
    return {"encoding": rows, "products": products}
