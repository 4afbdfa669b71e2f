"""What a machine can do with a step (chapter 10): the roofline, and memory by what it is for."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from annotated_transformer.figures.curves import CURVE_LOOKS
from annotated_transformer.figures.style import TEXT, add_legend, new_figure

HATCHES = ("", "//", "..", "xx", "\\\\", "oo")


def draw_roofline(
    points: Mapping[str, float], peak: float, bandwidth: float, machine: str
) -> dict[str, float]:
    """Each kind of work under the roof of a machine: intensity to the right, speed upwards.

    Args:
        points: operations for each byte, by the name of the work.
        peak: operations a second.
        bandwidth: bytes a second.
        machine: its name, for the title.

    Returns:
        The share of the peak that each can reach, by name.
    """
    figure, (axes,) = new_figure(5.4, 4.6)
    ridge = peak / bandwidth
    lowest = min(min(points.values()), 1.0) / 3
    highest = max(max(points.values()), ridge) * 4
    x = np.array([lowest, ridge, highest])
    axes.plot(x, np.minimum(x * bandwidth, peak) / 1e12, color=TEXT)
    axes.axvline(ridge, color=TEXT, lw=0.8, ls=":")
    shares = {}
    for (name, intensity), look in zip(points.items(), _looks(len(points)), strict=True):
        reached = min(intensity * bandwidth, peak)
        shares[name] = reached / peak
        axes.plot([intensity], [reached / 1e12], color=look[0], marker=look[2], ls="", label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations for each byte")
    axes.set_ylabel("TFLOP/s at most")
    axes.set_title(f"{machine}: ridge at {ridge:,.0f}", loc="left")
    axes.grid(visible=True, lw=0.6)
    add_legend(figure, loc="outside lower center", ncols=2, fontsize=10, columnspacing=1.0)
    return shares


def draw_memory(
    columns: Mapping[str, Mapping[str, int]], limits: Sequence[tuple[str, float]] = ()
) -> dict[str, float]:
    """Memory of training as one column a way to train, stacked by what it is for.

    Args:
        columns: name of the column -> bytes by component, the same components in each.
        limits: (name, bytes) of cards, drawn as lines.

    Returns:
        The height of each column in GB.
    """
    figure, (axes,) = new_figure(5.6, 4.6)
    components = list(next(iter(columns.values())))
    base = np.zeros(len(columns))
    looks = _looks(len(components))
    for number, component in enumerate(components):
        heights = np.array([column[component] / 1e9 for column in columns.values()])
        axes.bar(
            range(len(columns)),
            heights,
            bottom=base,
            width=0.6,
            color=looks[number][0],
            hatch=HATCHES[number % len(HATCHES)],
            edgecolor="#4A4A4A",
            linewidth=0.6,
            label=component,
        )
        base += heights
    for name, limit in limits:
        axes.axhline(limit / 1e9, color=TEXT, lw=1, ls="--")
        axes.annotate(
            name,
            (len(columns) - 0.6, limit / 1e9),
            (0, 3),
            textcoords="offset points",
            ha="right",
            color=TEXT,
            fontsize=10,
        )
    axes.set_xticks(range(len(columns)), list(columns), fontsize=10)
    axes.set_ylabel("GB")
    add_legend(figure, loc="outside lower center", ncols=3, fontsize=10, columnspacing=1.0)
    return dict(zip(columns, base.tolist(), strict=True))


def _looks(count: int) -> list[tuple[str, Any, str]]:
    """Colour, dash and marker for so many things; beyond the book's five the markers go on."""
    looks: list[tuple[str, Any, str]] = [
        *CURVE_LOOKS,
        ("#5C7F4A", "-", "P"),
        ("#A0622D", "--", "X"),
    ]
    return looks[:count]
