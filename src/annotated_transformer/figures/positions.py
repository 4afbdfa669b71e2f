"""Figures of positional encoding (chapter 4): maps of signed numbers, and a position to choose.

Every function draws and returns the numbers it has drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.colors import Normalize
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike
from torch import Tensor

from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.plotly_renderer import (
    NO_LINES,
    SIGNED_SCALE,
    base_layout,
    choice,
    layout_with_controls,
    note,
    row_frame,
    show_figure,
    slider,
)
from annotated_transformer.figures.style import (
    INKS,
    SIGNED_COLOURS,
    TEXT,
    add_colour_bar,
    new_figure,
)


def draw_maps(
    maps: Mapping[str, Tensor | ArrayLike],
    x_label: str,
    y_label: str,
    row_labels: Sequence[str] = (),
    columns: int = 1,
    height: float = 1.9,
    scale_name: str = "value",
    limit: float | None = None,
) -> dict[str, Array]:
    """Matrices of signed numbers as coloured maps with one scale: rust below 0, blue above.

    Args:
        maps: title -> (rows, columns), in reading order; all share one colour scale.
        x_label, y_label: what columns and rows are; x_label is written below the lowest maps.
        row_labels: a word for each row; numbers if empty.
        columns: maps a line.
        height: inches of one line of maps.
        scale_name: what the colours mean, at their bar.
        limit: the number with the strongest colour; the largest one if None.

    Returns:
        the arrays, by title.
    """
    arrays = {title: as_array(values) for title, values in maps.items()}
    lines = -(-len(arrays) // columns)
    figure, axes = new_figure(5.6, height * lines + 0.4, columns, lines)
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
    add_colour_bar(
        figure,
        norm,
        SIGNED_COLOURS,
        scale_name,
        ax=axes[: len(arrays)],
        aspect=18 * lines,
        pad=0.02,
        extend="both" if limit < largest else "neither",
    )
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
    steps = [
        choice(
            str(position),
            "update",
            {"y": [np.round(rows[position], 2), np.round(products[position], 2)]},
            {"shapes": _marks_at(position, d_model)},
            [1, 2],
        )
        for position in chosen
    ]
    layout = layout_with_controls(
        height=720,
        margin={"l": 10, "r": 10, "t": 30, "b": 30},
        slider_below=slider("position ", steps, chosen.index(start), gap=60),
        shapes=_marks_at(start, d_model),
        bargap=0,
        annotations=[
            note("all encodings, the chosen row framed", 0, 1.0),
            note("the chosen row", 0, 0.53),
            note("its dot product with every position", 0, 0.25),
        ],
    )
    layout |= _three_axes(layout, [min(0, 1.05 * products.min()), d_model * 0.53])
    show_figure(
        go.Figure(_position_traces(rows, products, start), layout),
        f"The encoding of {n} positions in {d_model} columns as a map, with the row of the chosen "
        "position below it as bars, and the dot products of that row with all rows as a curve: the "
        "curve has its peak at the chosen position and looks the same on both sides of it.",
    )
    return {"encoding": rows, "products": products}


def _marks_at(position: int, d_model: int) -> list[dict[str, Any]]:
    """A frame around the position's row of the map, and a line at its place in the curve."""
    line = {"x0": position, "x1": position, "y0": 0, "y1": 1, "xref": "x3", "yref": "y3 domain"}
    look = {"color": TEXT, "width": 2}
    return [
        row_frame(position, d_model, **look),
        {"type": "line", **line, "line": {**look, "dash": "dot"}},
    ]


def _position_traces(rows: Array, products: Array, start: int) -> list[Any]:
    """The map of all encodings, the chosen row as bars, its dot products as a curve."""
    return [
        go.Heatmap(
            z=np.round(rows, 2),
            colorscale=SIGNED_SCALE,
            zmin=-1,
            zmax=1,
            showscale=False,
            hovertemplate="position %{y}, column %{x}: %{z:.2f}<extra></extra>",
        ),
        go.Bar(
            y=np.round(rows[start], 2),
            marker={"color": INKS[0]},
            hovertemplate="column %{x}: %{y:.2f}<extra></extra>",
            xaxis="x2",
            yaxis="y2",
        ),
        go.Scatter(
            y=np.round(products[start], 2),
            mode="lines+markers",
            line={"color": INKS[0]},
            marker={"size": 5},
            hovertemplate="with position %{x}: %{y:.1f}<extra></extra>",
            xaxis="x3",
            yaxis="y3",
        ),
    ]


def _three_axes(layout: dict[str, Any], product_range: list[float]) -> dict[str, Any]:
    """The axes of map, bars and curve, one below the other."""
    axes: dict[str, Any] = {
        "xaxis": layout["xaxis"] | NO_LINES | {"title": {"text": "column", "standoff": 4}},
        "yaxis": layout["yaxis"]
        | NO_LINES
        | {"autorange": "reversed", "domain": [0.64, 1.0], "title": {"text": "position"}},
    }
    for number, domain, x_title, y_title, y_range in (
        (2, [0.36, 0.53], "column", "value", [-1.05, 1.05]),
        (3, [0.0, 0.25], "position", "dot product", product_range),
    ):
        plain = base_layout()
        axes[f"xaxis{number}"] = {
            **plain["xaxis"],
            "anchor": f"y{number}",
            "title": {"text": x_title, "standoff": 4},
        }
        axes[f"yaxis{number}"] = {
            **plain["yaxis"],
            "anchor": f"x{number}",
            "domain": domain,
            "range": y_range,
            "title": {"text": y_title},
        }
    return axes
