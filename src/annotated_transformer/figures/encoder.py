"""Figures of the encoder (chapter 5): one token's vector, stage by stage, through the stack."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from matplotlib.colors import Normalize
from numpy.typing import ArrayLike
from torch import Tensor

from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.plotly_renderer import (
    NO_LINES,
    SIGNED_SCALE,
    choice,
    layout_with_controls,
    show_figure,
    slider,
)
from annotated_transformer.figures.style import SIGNED_COLOURS, TEXT, add_colour_bar, new_figure

LIMIT = 3.0  # the colours end at plus and minus this number
# Says how the lines at the strips are to be read, in the corner above them.
STRIPS_TITLE = {
    "text": "stage · length · cosine to the first row",
    "font": {"color": TEXT, "size": 13},
    "x": 0.0,
    "xref": "container",
    "xanchor": "left",
    "y": 1.0,
    "yref": "container",
    "yanchor": "top",
    "pad": {"t": 8, "l": 4},
}


def draw_strips(vectors: Tensor | ArrayLike, stages: Sequence[str]) -> dict[str, Array]:
    """One vector a stage as a strip of coloured cells, with its length at the right.

    Args:
        vectors: (stages, d_model), in the order in which they arise.
        stages: the name of each.

    Returns:
        "vectors" (stages, d_model) and "lengths" (stages,).
    """
    rows = as_array(vectors)
    lengths = np.linalg.norm(rows, axis=-1)
    figure, (axes,) = new_figure(5.0, 0.27 * len(stages) + 0.9)
    scale = Normalize(-LIMIT, LIMIT)
    axes.imshow(rows, cmap=SIGNED_COLOURS, norm=scale, aspect="auto", interpolation="nearest")
    axes.set_yticks(range(len(stages)), list(stages))
    axes.set_yticks(np.arange(len(stages) - 1) + 0.5, minor=True)
    axes.grid(which="minor", axis="y", color="white", lw=2.5)
    axes.tick_params(axis="both", which="both", length=0, labelsize=11)
    axes.set_xticks([])
    axes.set_xlabel(f"the {rows.shape[-1]} features", fontsize=11)
    axes.spines[:].set_visible(False)
    for row, length in enumerate(lengths):
        axes.text(rows.shape[-1] + 0.5, row, f"{length:.1f}", va="center", color=TEXT, fontsize=11)
    axes.text(rows.shape[-1] + 0.5, -1, "length", va="center", color=TEXT, fontsize=11)
    add_colour_bar(
        figure,
        scale,
        SIGNED_COLOURS,
        ax=axes,
        orientation="horizontal",
        aspect=40,
        pad=0.02,
        ticks=[-LIMIT, 0, LIMIT],
    )
    return {"vectors": rows, "lengths": lengths}


def touch_strips(
    vectors: Tensor | ArrayLike,
    tokens: Sequence[str],
    stages: Sequence[str],
    label: str,
    start: int = 0,
) -> dict[str, Array]:
    """A figure to touch: choose a token, see its vector at every stage.

    Args:
        vectors: (stages, tokens, d_model).
        tokens: the words. stages: the name of each stage.
        label: what the figure shows, for a person who cannot see it.
        start: the token shown first.

    Returns:
        "lengths" and "cosines", each (stages, tokens); the cosines are to the first stage.
    """
    stack = as_array(vectors)
    lengths = np.linalg.norm(stack, axis=-1)
    cosines = (stack * stack[0]).sum(-1) / (lengths * lengths[0])
    shown = [np.round(stack[:, i], 2).tolist() for i in range(len(tokens))]  # each (stages, d)

    def lines(token: int) -> list[str]:
        return [
            f"{stage} · {length:.1f} · {cosine:+.2f}"
            for stage, length, cosine in zip(
                stages, lengths[:, token], cosines[:, token], strict=True
            )
        ]

    steps = [
        choice(f"{i + 1}: {token}", "update", {"z": [shown[i]]}, {"yaxis.ticktext": lines(i)})
        for i, token in enumerate(tokens)
    ]
    layout = layout_with_controls(
        height=110 + 26 * len(stages),
        margin={"l": 10, "r": 10, "t": 36, "b": 30},
        slider_below=slider("token ", steps, start, gap=50),
        title=STRIPS_TITLE,
    )
    layout["xaxis"].update(NO_LINES, showticklabels=False, title={"text": "the features"})
    layout["yaxis"].update(
        NO_LINES,
        tickvals=list(range(len(stages))),
        ticktext=lines(start),
        tickfont={"size": 11},
        autorange="reversed",
    )
    cells = go.Heatmap(
        z=shown[start],
        hovertemplate="feature %{x}: %{z:.2f}<extra></extra>",
        colorscale=SIGNED_SCALE,
        zmin=-LIMIT,
        zmax=LIMIT,
        ygap=3,
        showscale=False,
    )
    show_figure(go.Figure([cells], layout), label)
    return {"lengths": lengths, "cosines": cosines}
