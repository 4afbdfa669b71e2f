"""The picture of multi-head attention (chapter 3): one word's way through all heads."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Colormap, Normalize
from matplotlib.patches import Rectangle
from torch import Tensor

from annotated_transformer.attention import scaled_dot_product_attention
from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.style import (
    INKS,
    LETTERS,
    NUMBER_COLOURS,
    TEXT,
    WEIGHT_COLOURS,
    colour,
    ink_on,
    new_figure,
)

FRAME = INKS[0]  # of the word's own rows
# All lengths are in cells: the height of a row, the gaps between tables and between heads, and the
# width of a weight, above which stands the name of its key.
ROW, GAP, APART, WIDE = 0.85, 0.6, 0.9, 1.5
INCHES = 0.305  # a cell
N_BY_MODEL = r"$n \times d_\mathrm{model}$"


def draw_word_through_heads(
    x: Tensor,
    matrices: tuple[Tensor, Tensor, Tensor, Tensor],
    words: Sequence[str],
    word: int,
) -> dict[str, Array]:
    """One word's way through multi-head attention: project, attend, concatenate, mix.

    Every table has its full shape. Rows that this word does not need are left empty: it asks with
    its own query alone, and looks at the keys and values of all words.

    Args:
        x: (n, d_model).
        matrices: W^Q and W^K (h, d_model, d_k), W^V (h, d_model, d_v), W^O (h d_v, d_model).
        words: the n words.
        word: the row of x whose way is shown; its rows are framed.

    Returns:
        "x", "q", "k" (h, n, d_k), "v" and "heads" (h, n, d_v), "weights" (h, n, n),
        "concatenated" (n, h d_v), "w_o", and "output" (n, d_model).
    """
    w_q, w_k, w_v, w_o = matrices
    q, k, v = x @ w_q, x @ w_k, x @ w_v
    heads, weights = scaled_dot_product_attention(q, k, v)
    concatenated = heads.transpose(0, 1).flatten(1)
    tensors = {"x": x, "q": q, "k": k, "v": v, "weights": weights, "heads": heads}
    tensors |= {"concatenated": concatenated, "w_o": w_o, "output": concatenated @ w_o}
    drawn = {name: as_array(tensor) for name, tensor in tensors.items()}
    _draw(drawn, words, word)
    return drawn


def _draw(drawn: dict[str, Array], words: Sequence[str], word: int) -> None:
    (n, d_model), (h, _, d_k), d_v = drawn["x"].shape, drawn["q"].shape, drawn["v"].shape[-1]
    block = max(2 * d_k + d_v + 2 * GAP, WIDE * n + 2 * GAP + d_v)  # of one head
    width = max(h * (block + APART) - APART, h * d_v + 2 * d_model + 2 * APART)
    # Where the tables of each line begin, from the top.
    project = 1.0 + ROW * n + 3.0
    attend = project + ROW * n + 2.8
    mix = attend + ROW * n + 2.9
    tall = mix + 1.3 + max(ROW * n + 0.4, ROW * h * d_v)
    _, (axes,) = new_figure(INCHES * (width + 0.2), INCHES * tall)
    axes.set_axis_off()
    axes.set_xlim(-0.1, width + 0.1)
    axes.set_ylim(tall, 0)

    left = (width - d_model) / 2
    _write(axes, (width / 2, 0.5), f"$x$:  {N_BY_MODEL} = {n} × {d_model}")
    _table(axes, (left, 1.0), drawn["x"], word)
    for row, name in enumerate(words):
        _write(axes, (left - 0.3, 1.0 + ROW * (row + 0.5)), name, ha="right")
    _step(
        axes,
        project - 1.35,
        "1  Project",
        r"queries, keys: $n \times d_k$,  values: $n \times d_v$",
    )
    _step(axes, attend - 1.4, "2  Attend", r"weights: $n \times n$,  answers: $n \times d_v$")
    for head in range(h):
        start = head * (block + APART)
        middle, own = start + block / 2, left + d_model * (head + 0.5) / h
        _arrow(axes, (own, 1.1 + ROW * n), (middle, project - 1.8))
        outwards = -1 if head < h / 2 else 1
        look = {"ha": "right" if outwards < 0 else "left"}
        place = (own + middle) / 2 + 0.5 * outwards, project - 2.5
        _write(axes, place, f"head {head + 1}", **look)
        one = {name: drawn[name][head] for name in ("q", "k", "v", "weights", "heads")}
        _draw_projections(axes, (start, project), block, head + 1, one, word)
        end = _draw_attention(axes, (start, attend), one, words, word)
        _arrow(axes, (end, attend + ROW * n + 0.9), (d_v * (head + 0.5), mix - 0.95))
    _draw_mix(axes, mix, drawn, word)


def _step(axes: Axes, y: float, name: str, shapes: str) -> None:
    _write(axes, (0, y), name, ha="left", weight="bold")
    _write(axes, (4.2, y), shapes, ha="left")


def _draw_projections(
    axes: Axes,
    place: tuple[float, float],
    block: float,
    number: int,
    head: dict[str, Array],
    word: int,
) -> None:
    """Queries, keys and values of one head; the other words' queries are left empty."""
    names = {"q": "query", "k": "key", "v": "value"}
    at, top = place
    at += (block - sum(head[name].shape[1] for name in names) - 2 * GAP) / 2
    for name, role in names.items():
        n, columns = head[name].shape
        title = f"$x\\,W_{number}^{LETTERS[role]}$"
        _write(axes, (at + columns / 2, top - 0.5), title, color=colour(role), fontsize=11.5)
        _table(axes, (at, top), head[name], word if name == "q" else None, only=name == "q")
        _write(axes, (at + columns / 2, top + ROW * n + 0.4), f"{n} × {columns}")
        at += columns + GAP


def _draw_attention(
    axes: Axes, place: tuple[float, float], head: dict[str, Array], words: Sequence[str], word: int
) -> float:
    """Weights and answers of one head; the middle of the answers."""
    at, top = place
    (n, _), (_, d_v) = head["weights"].shape, head["heads"].shape
    answers = at + WIDE * n + 2 * GAP
    for column, name in enumerate(words):
        _write(axes, (at + WIDE * (column + 0.5), top - 0.45), name)
    _table(axes, place, head["weights"], word, True, WEIGHT_COLOURS, WIDE)
    middle = top + ROW * (word + 0.5)
    _arrow(axes, (at + WIDE * n + 0.1, middle), (answers - 0.1, middle))
    _table(axes, (answers, top), head["heads"], word, True)
    _write(axes, (at + WIDE * n / 2, top + ROW * n + 0.4), f"{n} × {n}")
    _write(axes, (answers + d_v / 2, top + ROW * n + 0.4), f"{n} × {d_v}")
    return answers + d_v / 2


def _draw_mix(axes: Axes, top: float, drawn: dict[str, Array], word: int) -> None:
    """The answers side by side, times W^O, are the output."""
    at = 0.0
    for name, title, shape, sign in (
        ("concatenated", "3  Concatenate", r"$n \times h\,d_v$", "·"),
        ("w_o", "4  Mix: $W^O$", r"$h\,d_v \times d_\mathrm{model}$", "="),
        ("output", "output", N_BY_MODEL, ""),
    ):
        rows, columns = drawn[name].shape
        own = None if name == "w_o" else word
        middle, below = at + columns / 2, top + ROW * rows
        weight = "normal" if name == "output" else "bold"
        _write(axes, (middle, top - 0.5), title, weight=weight)
        _table(axes, (at, top), drawn[name], own, only=own is not None)
        _write(axes, (middle, below + 0.45), shape)
        _write(axes, (middle, below + 1.15), f"{rows} × {columns}")
        at += columns + APART
        _write(axes, (at - APART / 2, top + ROW * (word + 0.5)), sign, fontsize=14, weight="bold")


def _table(
    axes: Axes,
    place: tuple[float, float],
    values: Array,
    word: int | None,
    only: bool = False,
    colours: Colormap = NUMBER_COLOURS,
    wide: float = 1.0,
) -> None:
    """A table of cells from its upper left corner; ``only`` fills the word's row alone."""
    left, top = place
    scale = Normalize(0, 1) if colours is WEIGHT_COLOURS else Normalize(-2, 2)
    for (row, column), value in np.ndenumerate(values):
        corner = left + wide * column, top + ROW * row
        if only and row != word:
            axes.add_patch(Rectangle(corner, wide, ROW, fill=False, edgecolor=TEXT, lw=0.9))
            continue
        fill = colours(scale(float(value)))
        axes.add_patch(Rectangle(corner, wide, ROW, facecolor=fill, edgecolor="white", lw=0.8))
        middle = corner[0] + wide / 2, corner[1] + ROW / 2
        text = _short(float(value))
        size = 10 if len(text) < 4 else 8.8  # the longest has to fit its cell
        _write(axes, middle, text, color=ink_on(fill[:3]), fontsize=size)
    if word is not None:
        corner = left, top + ROW * word
        frame = Rectangle(corner, wide * values.shape[1], ROW, fill=False, edgecolor=FRAME, lw=2.2)
        axes.add_patch(frame)


def _short(value: float) -> str:
    """A number as a pencil writes it, 4/7; with two decimals where no such fraction is equal."""
    fraction = Fraction(value).limit_denominator(9)
    text = str(fraction) if abs(value - fraction) < 1e-9 else f"{value:.2f}"
    return text.replace("-", "−")


def _write(axes: Axes, place: tuple[float, float], text: str, **look: Any) -> None:
    axes.text(
        *place, text, **{"ha": "center", "va": "center", "color": TEXT, "fontsize": 10, **look}
    )


def _arrow(axes: Axes, tail: tuple[float, float], tip: tuple[float, float]) -> None:
    axes.annotate("", tip, tail, arrowprops={"arrowstyle": "->", "color": TEXT, "lw": 1.2})
