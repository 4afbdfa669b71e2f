"""What a machine does with a step (chapter 10): roofline, memory, and what each change saves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from matplotlib.patches import Patch

from annotated_transformer.figures.style import INKS, TEXT, add_legend, looks, new_figure

HATCHES = ("", "//", "..", "xx", "\\\\", "oo")
REMOVES = {  # what makes a step slow -> colour and hatch
    "arithmetic": (INKS[0], ""),
    "memory traffic": (INKS[1], "///"),
    "waiting": (INKS[2], "..."),
}


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
    _, (axes,) = new_figure(5.4, 3.4)
    ridge = peak / bandwidth
    lowest = min(min(points.values()), 1.0) / 3
    highest = max(max(points.values()), ridge) * 16  # room for the names under the flat part
    x = np.array([lowest, ridge, highest])
    axes.plot(x, np.minimum(x * bandwidth, peak) / 1e12, color=TEXT)
    axes.axvline(ridge, color=TEXT, lw=0.8, ls=":")
    shares = {}
    for (name, intensity), look in zip(points.items(), looks(len(points)), strict=True):
        reached = min(intensity * bandwidth, peak)
        shares[name] = reached / peak
        axes.plot([intensity], [reached / 1e12], color=look[0], marker=look[2], ls="", label=name)
    near: dict[str, Any] = {"textcoords": "offset points", "color": TEXT, "fontsize": 10}
    flat = sorted((name for name in points if shares[name] == 1), key=points.__getitem__)
    for level, name in enumerate(reversed(flat), start=1):
        line = {"arrowstyle": "-", "color": TEXT, "lw": 0.6, "relpos": (0, 0.5)}
        below = (5, -4 - 15 * level)
        axes.annotate(
            name, (points[name], peak / 1e12), below, va="center", arrowprops=line, **near
        )
    for name in (name for name in points if name not in flat):
        place = (points[name], points[name] * bandwidth / 1e12)
        axes.annotate(name, place, (9, -1), va="center", **near)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations for each byte")
    axes.set_ylabel("TFLOP/s at most")
    axes.set_title(f"{machine}: ridge at {ridge:,.0f}", loc="left")
    axes.grid(visible=True, lw=0.6)
    return shares


def draw_memory(
    ways: Mapping[str, Mapping[str, int]], limits: Sequence[tuple[str, float]] = ()
) -> dict[str, float]:
    """Memory of training as one bar a way to train, put together from what it is for.

    Args:
        ways: name of the bar -> bytes by component, the same components in each.
        limits: (name, bytes) of cards, drawn as lines.

    Returns:
        The length of each bar in GB.
    """
    figure, (axes,) = new_figure(5.6, 1.7 + 0.42 * len(ways))
    components = list(next(iter(ways.values())))
    ends = np.zeros(len(ways))
    for number, (component, look) in enumerate(
        zip(components, looks(len(components)), strict=True)
    ):
        lengths = np.array([way[component] / 1e9 for way in ways.values()])
        axes.barh(
            range(len(ways)),
            lengths,
            left=ends,
            height=0.66,
            color=look[0],
            hatch=HATCHES[number % len(HATCHES)],
            edgecolor="#4A4A4A",
            linewidth=0.6,
            label=component,
        )
        ends += lengths
    near: dict[str, Any] = {"textcoords": "offset points", "color": TEXT, "fontsize": 10}
    for place, end in enumerate(ends):
        axes.annotate(f"{end:.1f}", (end, place), (4, 0), va="center", **near)
    for name, limit in limits:
        axes.axvline(limit / 1e9, color=TEXT, lw=1, ls="--")
        axes.annotate(name, (limit / 1e9, -0.55), (0, 3), ha="center", **near)
    axes.set_yticks(range(len(ways)), list(ways), fontsize=10)
    axes.set_ylim(len(ways) - 0.5, -0.55)
    axes.margins(x=0.1)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("GB")
    add_legend(figure, loc="outside lower center", ncols=4, fontsize=10, columnspacing=1.0)
    return dict(zip(ways, ends.tolist(), strict=True))


@dataclass(frozen=True)
class Change:
    """One change to a step.

    Attributes:
        name: on the left of its bar.
        after: what the step takes with it, in the unit of the axis.
        removes: what it takes away, a key of `REMOVES`; of the first, the step as it was, nothing.
        beside: a remark on the right.
    """

    name: str
    after: float
    removes: str = ""
    beside: str = ""


def draw_waterfall(
    changes: Sequence[Change], last: str, x_label: str, beside: str = ""
) -> dict[str, float]:
    """From the step as it was, the first, down to the last: a bar a change, from before to after.

    A change that makes the step slower is an open bar.

    Args:
        changes: in their order.
        last: name of the bar of what is left.
        x_label: what is measured, with its unit.
        beside: the heading of the remarks on the right.

    Returns:
        What each change adds (most less than nothing), by name.
    """
    rows = len(changes) + 1
    figure, (axes,) = new_figure(5.2, 1.2 + 0.3 * rows)
    widest = max(change.after for change in changes)
    found = {}
    for place, (before, change) in enumerate(pairwise(changes), start=1):
        shade, hatch = REMOVES[change.removes]
        low, high = sorted((before.after, change.after))
        slower = change.after > before.after
        fill: dict[str, Any] = {
            "facecolor": "none" if slower else shade,
            "edgecolor": shade if slower else TEXT,
        }
        axes.barh(place, high - low, left=low, height=0.72, hatch=hatch, linewidth=1.0, **fill)
        axes.plot([before.after] * 2, [place - 1.36, place + 0.36], color=TEXT, lw=0.8)
        found[change.name] = change.after - before.after
    ends = [changes[0].after, changes[-1].after]
    axes.barh([0, rows - 1], ends, height=0.72, color=INKS[4])
    axes.plot([changes[-1].after] * 2, [rows - 2.36, rows - 0.64], color=TEXT, lw=0.8)
    highest = [ends[0], *(max(a.after, b.after) for a, b in pairwise(changes)), ends[1]]
    shown = zip([*changes, replace(changes[-1], beside="")], highest, strict=True)
    for place, (change, right) in enumerate(shown):
        near: dict[str, Any] = {"va": "center", "color": TEXT, "fontsize": 10.5}
        axes.text(right + 0.015 * widest, place, f"{change.after:.1f}", **near)
        axes.text(1.36 * widest, place, change.beside, ha="right", **near)
    if beside:
        axes.text(1.36 * widest, -1.0, beside, ha="right", va="center", color=TEXT, fontsize=10.5)
    names = [*(change.name for change in changes), last]
    axes.set_yticks(range(rows), names, fontsize=10.5)
    axes.set_ylim(rows - 0.4, -0.6)
    axes.set_xticks([tick for tick in axes.get_xticks() if 0 <= tick <= widest])
    axes.set_xlim(0, 1.36 * widest)
    axes.set_xlabel(x_label)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    legend = [
        Patch(facecolor=shade, hatch=hatch, edgecolor=TEXT, label=name)
        for name, (shade, hatch) in REMOVES.items()
    ]
    add_legend(figure, handles=legend, loc="outside lower center", ncols=3, fontsize=10.5)
    return found
