"""Tables of coloured cells with a number or a sign in each (matplotlib)."""

from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from annotated_transformer.figures.style import BLOCKED, ink_on


def _number(value: float) -> str:
    if not np.isfinite(value):
        return "−∞" if value == -np.inf else "∞" if value == np.inf else "nan"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.2f}"


def draw_cells(
    axes: Axes, values: NDArray[Any], colours: Colormap, scale: Normalize, size: float
) -> None:
    """Opaque coloured cells, each with its number in black or white."""
    for row, column in np.ndindex(*values.shape):
        value = float(values[row, column])
        fill = colours(scale(value)) if np.isfinite(value) else BLOCKED
        axes.add_patch(
            Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=fill, edgecolor="white", lw=1)
        )
        ink = ink_on(fill if isinstance(fill, str) else (fill[0], fill[1], fill[2]))
        axes.text(column, row, _number(value), ha="center", va="center", color=ink, fontsize=size)


def write_cells(
    axes: Axes,
    values: NDArray[Any],
    shades: NDArray[Any],
    colours: Colormap,
    size: float,
    aspect: Literal["auto", "equal"],
) -> None:
    """A table of coloured cells with its numbers written in them; shades from 0 to 1."""
    axes.imshow(shades, cmap=colours, vmin=0, vmax=1, aspect=aspect)
    for (row, column), value in np.ndenumerate(values):
        ink = ink_on(colours(float(shades[row, column]))[:3])
        axes.text(column, row, str(value), ha="center", va="center", color=ink, fontsize=size)
    axes.spines[:].set_visible(False)
    axes.set_xticks([])
    axes.set_yticks([])


def draw_mask(axes: Axes, mask: NDArray[Any], size: float) -> None:
    """Allowed cells carry a tick on white, forbidden ones a cross on hatched grey."""
    for row, column in np.ndindex(*mask.shape):
        allowed = bool(mask[row, column])
        axes.add_patch(
            Rectangle(
                (column - 0.5, row - 0.5),
                1,
                1,
                facecolor="white" if allowed else BLOCKED,
                edgecolor="#757575",
                hatch=None if allowed else "//",
                lw=0.6,
            )
        )
        mark = "✓" if allowed else "×"
        axes.text(column, row, mark, ha="center", va="center", color="#000000", fontsize=size)
