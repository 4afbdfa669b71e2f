"""The figure of chapter 6 to touch: what the decoder may read while it writes a word.

It draws and returns what it has drawn.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from annotated_transformer.figures.decoder import ANSWER, HIDDEN, LEAK, SEEN
from annotated_transformer.figures.matrices import as_array
from annotated_transformer.figures.plotly_renderer import (
    NO_LINES,
    WEIGHT_SCALE,
    buttons,
    choice,
    layout_with_controls,
    note,
    show_figure,
    slider,
)
from annotated_transformer.figures.touch import MASK_SCALE

# Of the decoder's positions: 0 is hidden, 1 is seen, 2 is the answer or stands behind it.
SIGN_SCALE = [*MASK_SCALE[:1], [0.5, MASK_SCALE[1][1]], [1.0, LEAK]]
WIRINGS = {  # name -> (shift, mask)
    "shift and mask": (True, True),
    "mask only": (False, True),
    "shift only": (True, False),
    "neither": (False, False),
}
BEGIN = "<s>"  # the sign that the shift puts in front
Cells = tuple[Any, list[list[str]]]  # number and text of each cell of a column, (n, 1)


def touch_writing(
    written: Sequence[str],
    source: Sequence[str],
    weights: Mapping[str, Tensor | ArrayLike],
    label: str,
    start: int = 0,
) -> dict[str, NDArray[np.bool_]]:
    """A figure to touch: choose the word that is being written, see what its position may read.

    On the left the decoder's positions with the words that they carry; buttons wire the decoder
    with and without shift and mask. On the right the source with the weights of cross-attention
    under the same wiring.

    Args:
        written: the n target words, the end included.
        source: the n_src source words.
        weights: by wiring ("shift and mask", "mask only", "shift only", "neither"), cross-attention
            of each position, (n, n_src).
        label: what the figure shows, for a person who cannot see it.
        start: the position shown first.

    Returns:
        By wiring, bool (n, n): row t, column s: at the prediction of word t the decoder's input
        shows word s.
    """
    n = len(written)
    shows = {
        name: np.array(
            [[_sees(t, s + shift, mask) and s + shift < n for s in range(n)] for t in range(n)]
        )
        for name, (shift, mask) in WIRINGS.items()
    }
    # For each t first the decoder's positions under every wiring, then the source under every one.
    stacks = [np.round(as_array(weights[name]), 2) for name in WIRINGS]
    columns: list[list[Cells]] = [
        [_positions(t, written, *wiring) for wiring in WIRINGS.values()]
        + [(stack[t][:, None].tolist(), _with_weights(source, stack[t])) for stack in stacks]
        for t in range(n)
    ]
    steps = [
        choice(
            f"{t + 1}: {word}",
            "restyle",
            {"z": [cells for cells, _ in columns[t]], "text": [texts for _, texts in columns[t]]},
        )
        for t, word in enumerate(written)
    ]
    choices = [
        choice(name, "restyle", {"visible": [other == name for other in WIRINGS] * 2})
        for name in WIRINGS
    ]
    layout = _writing_layout(
        rows=max(n, len(source)),
        slider_below=slider("writes word ", steps, start),
        buttons_above=buttons("wiring", choices, y=1.05),
    )
    show_figure(go.Figure(_writing_traces(columns[start]), layout), label)
    return shows


def _writing_traces(columns: Sequence[Cells]) -> list[Any]:
    """A column of cells for each wiring on the left, then one for each on the right."""
    left: dict[str, Any] = {
        "textfont": {"color": "#000000", "size": 13},
        "colorscale": SIGN_SCALE,
        "zmax": 2,
    }
    right: dict[str, Any] = {
        "textfont": {"size": 13},
        "colorscale": WEIGHT_SCALE,
        "zmax": 1,
        "xaxis": "x2",
        "yaxis": "y2",
    }
    count = len(WIRINGS)
    return [
        go.Heatmap(
            z=cells,
            text=texts,
            texttemplate="%{text}",
            hovertemplate="%{text}<extra></extra>",
            zmin=0,
            xgap=2,
            ygap=2,
            showscale=False,  # signs and numbers in the cells say it, and the line below
            visible=place % count == 0,  # the first wiring
            **(left if place < count else right),
        )
        for place, (cells, texts) in enumerate(columns)
    ]


def _writing_layout(rows: int, **controls: Any) -> dict[str, Any]:
    """Two columns of cells side by side, a line above each, and what the signs mean below."""
    layout = layout_with_controls(
        height=110 + 27 * rows,
        margin={"l": 6, "r": 6, "t": 34, "b": 30},
        annotations=[
            note("decoder: input word", 0.0, 1.0, size=12),
            note("source, weight", 0.64, 1.0, size=12),
            note(
                f"{SEEN} may read · {HIDDEN} may not · {ANSWER} the answer or later",
                0.0,
                0.0,
                yanchor="top",
                size=12,
            ),
        ],
        **controls,
    )
    bare = {"showticklabels": False, "ticks": "", **NO_LINES}
    layout["xaxis"].update(bare, domain=[0.0, 0.58])
    layout["yaxis"].update(bare, autorange="reversed")
    layout["xaxis2"] = {**layout["xaxis"], "domain": [0.64, 1.0], "anchor": "y2"}
    layout["yaxis2"] = {**layout["yaxis"], "anchor": "x2"}
    return layout


def _sees(t: int, position: int, mask: bool) -> bool:
    """Whether decoder position t may attend to another one."""
    return position <= t or not mask


def _positions(t: int, written: Sequence[str], shift: bool, mask: bool) -> Cells:
    """Kind and text of every decoder position, (n, 1), while position t predicts word t."""
    kinds, texts = [], []
    for position in range(len(written)):
        word_number = position - shift  # -1 for the sign in front
        word = written[word_number] if word_number >= 0 else BEGIN
        if not _sees(t, position, mask):
            kind, sign = 0, HIDDEN
        elif word_number >= t:
            kind, sign = 2, ANSWER
        else:
            kind, sign = 1, SEEN
        here = " ◀" if position == t else ""
        kinds.append([kind])
        texts.append([f"{sign} {escape(word)}{here}"])  # plotly would read <s> as a tag
    return kinds, texts


def _with_weights(words: Sequence[str], weights: NDArray[Any]) -> list[list[str]]:
    """The text of the source's cells, (n_src, 1)."""
    return [[f"{escape(word)} {weight:.2f}"] for word, weight in zip(words, weights, strict=True)]
