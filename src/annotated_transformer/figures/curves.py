"""Curves against one variable, in the book's look (matplotlib)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.style import TEXT, add_legend, looks, new_figure


@dataclass(frozen=True)
class Curve:
    """One curve: its y values, and by what it is told apart.

    spread: half the height of a band around it (a standard deviation over seeds), or None.
    reference: a derived curve to compare a measured one with: thin, grey, without markers.
    """

    values: ArrayLike
    spread: ArrayLike | None = None
    reference: bool = False


def draw_curves(
    x: ArrayLike,
    curves: Mapping[str, Curve | ArrayLike],
    x_label: str,
    y_label: str,
    log_x: bool = False,
    log_y: bool = False,
    spread_name: str = "± one standard deviation",
    height: float = 3.2,
    mark_every: int = 1,
    legend_below: bool = False,
) -> dict[str, Array]:
    """Draw curves over one variable.

    Args:
        x: (n,). curves: name -> ``Curve`` or its (n,) values, drawn and listed in that order.
        log_x, log_y: logarithmic axes; ticks at the given x (base 2) or at powers of ten.
        spread_name: what the bands show, for the legend.
        mark_every: a marker at every so many points, where there are many.
        legend_below: the legend under the axes, where the curves leave it no room.

    Returns:
        "x" and each curve's values by its name.
    """
    positions = as_array(x)
    figure, (axes, *_) = new_figure(5.2, height)
    every = {
        name: given if isinstance(given, Curve) else Curve(given) for name, given in curves.items()
    }
    own_looks = iter(looks(sum(not curve.reference for curve in every.values())))
    data = {"x": positions}
    for name, curve in every.items():
        values = as_array(curve.values)
        data[name] = values
        if curve.reference:
            axes.plot(positions, values, color=TEXT, lw=1.2, ls=(0, (4, 2)), label=name)
            continue
        shade, dash, marker = next(own_looks)
        look: dict[str, Any] = {"color": shade, "ls": dash, "marker": marker}
        axes.plot(positions, values, label=name, markevery=mark_every, **look)
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
    if any(curve.spread is not None for curve in every.values()):
        handles.append(Patch(facecolor=TEXT, alpha=0.5, label=spread_name))
    if legend_below:
        add_legend(figure, handles=handles, loc="outside lower center", ncols=2, fontsize=10)
    else:
        add_legend(axes, handles=handles)
    return {name: np.asarray(values) for name, values in data.items()}
