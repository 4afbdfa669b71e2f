"""Pictures of matrices: small ones with their numbers, attention weights, masks (matplotlib)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from annotated_transformer.attention import scaled_dot_product_attention
from annotated_transformer.figures.cells import draw_cells, draw_mask
from annotated_transformer.figures.style import (
    BLOCKED,
    LETTERS,
    NUMBER_COLOURS,
    TEXT,
    WEIGHT_COLOURS,
    add_colour_bar,
    add_legend,
    colour,
    new_figure,
)

Array = NDArray[Any]


def as_array(values: Tensor | ArrayLike) -> Array:
    """A NumPy array, also from a tensor that carries gradients."""
    return values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)


@dataclass(frozen=True)
class Panel:
    """One matrix in a row of matrices.

    values: (rows, columns); a bool matrix is drawn as a mask, True = may attend.
    title: what it is called; the shape is added below it.
    role: "query", "key", "value" or "mask" gives the frame its colour and the title its letter.
    weights: the values lie between 0 and 1, so draw them in the colours of weights.
    row_labels, column_labels: one a row, one a column.
    row_name, column_name: what the rows and the columns stand for, such as "query" and "key".
    """

    values: Tensor | ArrayLike
    title: str
    role: str | None = None
    weights: bool = False
    row_labels: Sequence[str] = ()
    column_labels: Sequence[str] = ()
    row_name: str = ""
    column_name: str = ""


def _legend_of_cells(figure: Figure, panels: Sequence[Panel], arrays: Sequence[Array]) -> None:
    """Below the picture: what the colour of a cell means, for the colours that occur in it."""
    masks = [a for a in arrays if a.dtype == bool]
    numbers = [
        a for panel, a in zip(panels, arrays, strict=True) if a.dtype != bool and not panel.weights
    ]
    meanings: dict[str, tuple[bool, Any, str | None]] = {  # occurs, fill, hatch
        "below 0": (any((a < 0).any() for a in map(_finite, numbers)), NUMBER_COLOURS(0.25), None),
        "equal to 0": (
            any((a == 0).any() for a in map(_finite, numbers)),
            NUMBER_COLOURS(0.5),
            None,
        ),
        "above 0": (any((a > 0).any() for a in map(_finite, numbers)), NUMBER_COLOURS(0.75), None),
        "forbidden, −∞": (any(np.isneginf(a).any() for a in numbers), BLOCKED, None),
        "weight, darker is more": (any(p.weights for p in panels), WEIGHT_COLOURS(0.5), None),
        "✓ may attend": (any(a.any() for a in masks), "white", None),
        "× may not attend": (any((~a).any() for a in masks), BLOCKED, "//"),
    }
    handles = [
        Patch(facecolor=fill, hatch=hatch, label=meaning, edgecolor="#757575", lw=0.6)
        for meaning, (occurs, fill, hatch) in meanings.items()
        if occurs
    ]
    add_legend(
        figure,
        handles=handles,
        loc="outside lower center",
        ncols=min(3, len(handles)),
        fontsize=9.5,
    )


def _finite(values: Array) -> Array:
    finite: Array = values[np.isfinite(values)]
    return finite


def _finish(axes: Axes, panel: Panel, values: Array) -> None:
    rows, columns = values.shape
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_aspect("equal")
    axes.set_xticks(range(columns) if panel.column_labels else [], list(panel.column_labels))
    axes.set_yticks(range(rows) if panel.row_labels else [], list(panel.row_labels))
    axes.tick_params(length=0, labelsize=9)
    if any(len(label) > 4 for label in panel.column_labels):
        axes.tick_params(axis="x", rotation=60)
    frame = colour(panel.role) if panel.role else TEXT
    for spine in axes.spines.values():
        spine.set(visible=True, color=frame, linewidth=2.5 if panel.role else 1.0)
    axes.set_title(panel.title, color=frame, fontsize=12, fontweight="bold" if panel.role else None)
    shape = f"{rows} × {columns}"
    if panel.column_name:
        axes.set_xlabel(f"{panel.column_name}\n{shape}", fontsize=9.5)
    else:
        axes.set_xlabel(shape, fontsize=9.5)
    axes.set_ylabel(panel.row_name, fontsize=9.5)


def draw_matrices(
    panels: Sequence[Panel], width: float = 5.8, columns: int | None = None
) -> dict[str, Array]:
    """Draw small matrices side by side with their numbers, titles and shapes, and a legend.

    Args:
        panels: the matrices, in reading order.
        width: inches of the whole picture.
        columns: panels a line; all on one line if None.

    Returns:
        the values that were drawn, by title.
    """
    columns = columns or len(panels)
    rows = -(-len(panels) // columns)
    arrays = [as_array(panel.values) for panel in panels]
    widths = [max(a.shape[1] for a in arrays[column::columns]) for column in range(columns)]
    heights = [
        max(a.shape[0] for a in arrays[row * columns : (row + 1) * columns]) for row in range(rows)
    ]
    cell = width / (sum(widths) + 0.9 * columns)
    height = cell * sum(heights) + 0.95 * rows + 0.5
    figure, axes = new_figure(
        width,
        height,
        columns,
        rows,
        gridspec_kw={"width_ratios": widths, "height_ratios": heights},
    )
    size = min(11.0, 20.0 * cell)
    for panel, values, axis in zip(panels, arrays, axes, strict=False):
        if values.dtype == bool:
            draw_mask(axis, values, size + 2)
        elif panel.weights:
            draw_cells(axis, values, WEIGHT_COLOURS, Normalize(0, 1), size)
        else:
            finite = np.abs(values[np.isfinite(values)])
            largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
            draw_cells(axis, values, NUMBER_COLOURS, Normalize(-1.4 * largest, 1.4 * largest), size)
        _finish(axis, panel, values)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    _legend_of_cells(figure, panels, arrays)
    return {panel.title: values for panel, values in zip(panels, arrays, strict=True)}


def draw_attention_steps(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> dict[str, Array]:
    """Equation 1 on small matrices, one picture a step: Q, Kᵀ, scores, weights, V, output.

    Args:
        query: (n_q, d_k). key: (n_k, d_k). value: (n_k, d_v).
        mask: bool (n_q, n_k), True = may attend, or None.

    Returns:
        "query", "key", "scores" (scaled, -inf where forbidden), "weights", "value", "output".
    """
    scores = query @ key.T / query.size(-1) ** 0.5  # (n_q, n_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    query_names = [f"q{i + 1}" for i in range(len(query))]
    key_names = [f"k{j + 1}" for j in range(len(key))]
    value_names = [f"v{j + 1}" for j in range(len(key))]
    # The d_k components of a query or a key, and the d_v components of a value.
    inner, outer = (("component", [str(i + 1) for i in range(x.size(-1))]) for x in (query, value))
    queries, keys = ("query", query_names), ("key", key_names)

    def panel(
        values: Tensor,
        title: str,
        role: str | None,
        rows: tuple[str, list[str]],
        columns: tuple[str, list[str]],
    ) -> Panel:
        return Panel(
            values,
            title,
            role,
            weights=values is weights,
            row_labels=rows[1],
            column_labels=columns[1],
            row_name=rows[0],
            column_name=columns[0],
        )

    draw_matrices(
        [
            panel(query, LETTERS["query"], "query", queries, inner),
            panel(key.T, "Kᵀ", "key", inner, keys),
            panel(scores, "scores QKᵀ/√dₖ", None, queries, keys),
            panel(weights, "weights (rows sum to 1)", None, queries, keys),
            panel(value, LETTERS["value"], "value", ("value", value_names), outer),
            panel(output, "output", None, queries, outer),
        ],
        columns=2,
        width=5.4,
    )
    names = ("query", "key", "scores", "weights", "value", "output")
    tensors = (query, key, scores, weights, value, output)
    return {name: as_array(tensor) for name, tensor in zip(names, tensors, strict=True)}


def draw_weights(
    weights: Tensor | ArrayLike,
    queries: Sequence[str],
    keys: Sequence[str],
    titles: Sequence[str] = (),
    columns: int = 4,
    row_name: str = "query",
) -> Array:
    """Attention matrices as pictures: a row is a query, a column a key, dark is a large weight.

    One panel of up to 8 keys has the weights in its cells.

    Args:
        weights: (n_q, n_k), or (panels, n_q, n_k) for one small picture a head.
        queries: the n_q words at the rows. keys: the n_k words at the columns.
        titles: one a panel.
        columns: panels a line.
        row_name: what the words in ``queries`` are.

    Returns:
        the weights as an array (panels, n_q, n_k).
    """
    stack = as_array(weights)
    stack = stack[None] if stack.ndim == 2 else stack
    panels, n_q, n_k = stack.shape
    if (n_q, n_k) != (len(queries), len(keys)):
        raise ValueError(
            f"The weights are {n_q} by {n_k}, but there are {len(queries)} queries and "
            f"{len(keys)} keys: give one label to each row and column."
        )
    columns = min(columns, panels)
    rows = -(-panels // columns)
    # Narrow where the labels allow it: a telephone shows the picture at half its size.
    width = 5.0 if columns * n_k <= 20 else 6.4
    side = (width - 1.65) / columns  # what the row labels and the bar of colours leave
    figure, axes = new_figure(width, rows * (side * n_q / n_k + 0.45) + 0.8, columns, rows)
    for panel, axis in enumerate(axes[:panels]):
        first_column, last_row = panel % columns == 0, panel + columns >= panels
        if panels == 1 and n_k <= 8:
            draw_cells(axis, stack[panel], WEIGHT_COLOURS, Normalize(0, 1), 10.0)
        else:
            axis.imshow(stack[panel], cmap=WEIGHT_COLOURS, vmin=0, vmax=1, aspect="equal")
        look = Panel(
            stack[panel],
            titles[panel] if titles else "",
            row_labels=list(queries) if first_column else (),
            column_labels=list(keys) if last_row else (),
        )
        _finish(axis, look, stack[panel])
        axis.set_xlabel("")
        if first_column:
            axis.set_ylabel(row_name, color=colour("query"), fontweight="bold")
        if last_row:
            axis.set_xlabel("key", color=colour("key"), fontweight="bold")
    for axis in axes[panels:]:
        axis.set_axis_off()
    add_colour_bar(
        figure,
        Normalize(0, 1),
        WEIGHT_COLOURS,
        "weight",
        ax=axes[:panels],
        aspect=30 * rows,
        pad=0.02,
        ticks=[0, 0.5, 1],
    )
    return stack
