"""Curves against one variable, in the book's look (matplotlib)."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.style import TEXT, colour, new_figure

# For curves that are not about a role: dash and marker tell them apart before colour does.
CURVE_LOOKS = (
    ("#3365B1", "-", "o"),
    ("#9E512A", "--", "s"),
    ("#198757", ":", "^"),
    ("#B726E6", "-.", "D"),
    ("#646464", (0, (1, 3)), "v"),
)


@dataclass(frozen=True)
class Curve:
    """One curve: its y values, and by what it is told apart.

    spread: half the height of a band around it (a standard deviation over seeds), or None.
    reference: a derived curve to compare a measured one with: thin, grey, without markers.
    role: a role of the palette, if the curve is about one.
    """

    values: ArrayLike
    spread: ArrayLike | None = None
    reference: bool = False
    role: str | None = None


def draw_curves(
    x: ArrayLike,
    curves: Mapping[str, Curve | ArrayLike],
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    spread_name: str = "± one standard deviation",
    width: float = 5.2,
    height: float = 3.2,
) -> dict[str, Array]:
    """Draw curves over one variable.

    Args:
        x: (n,). curves: name -> ``Curve`` or its (n,) values, drawn and listed in that order.
        log_x, log_y: logarithmic axes; ticks at the given x (base 2) or at powers of ten.
        spread_name: what the bands show, for the legend.

    Returns:
        "x" and each curve's values by its name.
    """
    positions = as_array(x)
    _, (axes, *_) = new_figure(width, height)
    looks = iter(CURVE_LOOKS)
    data = {"x": positions}
    for name, given in curves.items():
        curve = given if isinstance(given, Curve) else Curve(given)
        values = as_array(curve.values)
        data[name] = values
        if curve.reference:
            axes.plot(positions, values, color=TEXT, lw=1.2, ls=(0, (4, 2)), label=name)
            continue
        shade, dash, marker = next(looks)
        shade = colour(curve.role) if curve.role else shade
        axes.plot(positions, values, color=shade, ls=dash, marker=marker, label=name)
        if curve.spread is not None:
            spread = as_array(curve.spread)
            axes.fill_between(positions, values - spread, values + spread, color=shade, alpha=0.2)
    if log_x:
        axes.set_xscale("log", base=2)
        axes.set_xticks(positions, [f"{tick:g}" for tick in positions])
        axes.minorticks_off()
    if log_y:
        axes.set_yscale("log")
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.grid(visible=True, lw=0.6)
    handles, _ = axes.get_legend_handles_labels()
    if any(isinstance(given, Curve) and given.spread is not None for given in curves.values()):
        handles.append(Patch(facecolor=TEXT, alpha=0.5, label=spread_name))
    legend = axes.legend(handles=handles, frameon=False)
    for text in legend.get_texts():
        text.set_color(TEXT)
    return {name: np.asarray(values) for name, values in data.items()}
