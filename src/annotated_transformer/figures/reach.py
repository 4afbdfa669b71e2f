"""The figure of chapter 1: how far back the last position sees.

It draws and returns the numbers it has drawn.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from annotated_transformer.figures.plotly_renderer import (
    NO_LINES,
    choice,
    layout_with_controls,
    show_figure,
    slider,
)

SEEN = ((0.0, "#F6F4FB"), (1.0, "#5E43A8"))  # the light and the dark end of the weights' colours


def touch_reach(seen: Mapping[str, Sequence[Sequence[bool]]], label: str) -> dict[str, Any]:
    """A figure to touch: add layers, see which inputs reach the last output.

    Args:
        seen: kind of layer -> for each number of layers (from 1) which of the n inputs reach the
            last output. Every kind has the same numbers of layers and of inputs.
        label: what the figure shows, for a person who cannot see it.

    Returns:
        "counts": kind -> how many inputs are reached, for each number of layers.
    """
    kinds = list(seen)
    table = np.array([seen[kind] for kind in kinds], dtype=int)  # (kinds, depths, n)
    _, depths, n = table.shape
    counts = table.sum(-1)  # (kinds, depths)

    def rows(depth: int) -> list[str]:
        return [f"{kind}<br>{counts[i, depth]} of {n}" for i, kind in enumerate(kinds)]

    def text(depth: int) -> list[list[str]]:
        return [["●" if cell else "" for cell in row] for row in table[:, depth]]

    steps = [
        choice(
            str(depth + 1),
            "update",
            {"z": [table[:, depth].tolist()], "text": [text(depth)]},
            {"yaxis.ticktext": rows(depth)},
        )
        for depth in range(depths)
    ]
    layout = layout_with_controls(
        height=110 + 60 * len(kinds),
        margin={"l": 10, "r": 10, "t": 10, "b": 20},
        slider_below=slider("layers: ", steps, 0, gap=70),
    )
    layout["xaxis"].update(
        NO_LINES, tickvals=[1, n // 2 + 1, n], title={"text": f"input word, for output {n}"}
    )
    layout["yaxis"].update(
        NO_LINES, tickvals=list(range(len(kinds))), ticktext=rows(0), autorange="reversed"
    )
    cells = go.Heatmap(
        x=list(range(1, n + 1)),
        z=table[:, 0].tolist(),
        text=text(0),
        texttemplate="%{text}",
        textfont={"color": "#FFFFFF"},
        hovertemplate="input word %{x}<extra></extra>",
        colorscale=[list(stop) for stop in SEEN],
        zmin=0,
        zmax=1,
        xgap=1,
        ygap=8,
        showscale=False,
    )
    show_figure(go.Figure([cells], layout), label)
    return {"counts": {kind: counts[i].tolist() for i, kind in enumerate(kinds)}}
