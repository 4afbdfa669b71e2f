"""Figures of tensors (chapter 0): axes named, shapes aligned, numbers in the order they lie in.

Every function draws and returns the numbers it has drawn.
"""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from annotated_transformer.figures.cells import write_cells
from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.style import (
    SIGNED_COLOURS,
    TEXT,
    WEIGHT_COLOURS,
    add_legend,
    new_figure,
    widen_first,
)

Shape = tuple[int, ...]
# Fills of the boxes of `draw_broadcast`; the words in the boxes say the same.
KEPT, STRETCHED, CLASH = WEIGHT_COLOURS(0.25), "#F6F4FB", "#A9A9A9"


def draw_batch(
    x: Tensor | ArrayLike, tokens: Sequence[Sequence[str]], frame: tuple[int, int]
) -> Array:
    """A batch of sentences, one sheet of coloured numbers a sentence, with its three axes named.

    Args:
        x: (B, n, d).
        tokens: B lists of n words, for the rows.
        frame: (sentence, token) of the vector that is framed.

    Returns:
        the framed vector, (d,).
    """
    values = as_array(x)
    sheets, n, d = values.shape
    strong = 0.6 * float(np.abs(values).max())  # so that most of the cells are not pale
    scale = Normalize(-strong, strong)
    figure, axes = new_figure(5.0, sheets * (0.25 * n + 0.6) + 0.6, 1, sheets)
    for index, (axis, words) in enumerate(zip(axes, tokens, strict=True)):
        axis.imshow(values[index], cmap=SIGNED_COLOURS, norm=scale, aspect="auto")
        axis.set_title(f"x[{index}]: sentence {index}, {n} × {d}", loc="left", fontsize=12)
        axis.set_yticks(range(n), list(words))
        axis.set_xticks([0, d - 1], ["0", str(d - 1)])
        axis.tick_params(length=0, labelsize=11.5)
        axis.set_ylabel(f"axis 1: n = {n}", fontsize=11.5)
    axes[-1].set_xlabel(f"axis 2: d = {d} numbers a token", fontsize=11.5)
    figure.supylabel(f"axis 0: B = {sheets} sentences", color=TEXT, fontsize=11.5)
    sentence, token = frame
    axes[sentence].add_patch(
        Rectangle((-0.5, token - 0.5), d, 1, fill=False, edgecolor="black", lw=2.2, clip_on=False)
    )
    add_legend(
        figure,
        handles=[
            Patch(facecolor=SIGNED_COLOURS(0.15), edgecolor=TEXT, label="below 0"),
            Patch(facecolor=SIGNED_COLOURS(0.5), edgecolor=TEXT, label="near 0"),
            Patch(facecolor=SIGNED_COLOURS(0.85), edgecolor=TEXT, label="above 0"),
            Patch(facecolor="#F6F4F2", edgecolor="black", lw=2, label=f"x[{sentence}, {token}]"),
        ],
        loc="outside lower center",
        ncols=4,
        fontsize=11,
        columnspacing=0.8,
        handlelength=1.2,
        handletextpad=0.5,
    )
    vector: Array = values[sentence, token]
    return vector


def _aligned(shapes: Sequence[Shape]) -> list[tuple[int | None, ...]]:
    """Shapes of one length: None where an axis is missing on the left."""
    longest = max(map(len, shapes))
    return [(None,) * (longest - len(shape)) + tuple(shape) for shape in shapes]


def _box(axes: Axes, column: int, row: int, words: str, fill: object, dashed: bool) -> None:
    axes.add_patch(
        Rectangle(
            (column + 0.04, row + 0.1),
            0.92,
            0.8,
            facecolor=fill,
            edgecolor="#757575",
            lw=1.2,
            ls="--" if dashed else "-",
        )
    )
    size = 12 if len(words) <= 6 else 10  # "11 ≠ 64" has to fit its box
    axes.text(
        column + 0.5, row + 0.5, words, ha="center", va="center", color="black", fontsize=size
    )


def draw_broadcast(cases: Sequence[Sequence[tuple[str, Shape]]]) -> list[Shape | None]:
    """Shapes written one below the other, aligned on the right, and the shape that results.

    Args:
        cases: one picture each, from left to right and down: the operands' names and shapes.

    Returns:
        the resulting shape of each case, None where two lengths clash.
    """
    columns = min(2, len(cases))
    rows = -(-len(cases) // columns)
    _, axes = new_figure(5.0, rows * 1.75, columns, rows)
    for axis in axes[len(cases) :]:
        axis.set_axis_off()
    return [_draw_case(axis, case) for axis, case in zip(axes, cases, strict=False)]


def _draw_case(axes: Axes, case: Sequence[tuple[str, Shape]]) -> Shape | None:
    names = [name for name, _ in case]
    aligned = _aligned([shape for _, shape in case])
    lengths = [{n for n in column if n not in (None, 1)} for column in zip(*aligned, strict=True)]
    for row, shape in enumerate(aligned):
        for column, n in enumerate(shape):
            others = lengths[column]
            if n in (None, 1) and len(others) == 1:
                stretched = f"{'' if n is None else 1} → {max(o or 0 for o in others)}"
                _box(axes, column, row, stretched.strip(), STRETCHED, True)
            else:
                _box(axes, column, row, f"{n or 1}", KEPT, n is None)
    result: list[int] = []
    for column, found in enumerate(lengths):
        if len(found) > 1:
            _box(
                axes, column, len(case), " ≠ ".join(map(str, sorted(found, key=str))), CLASH, False
            )
        else:
            result.append(next((n for n in found if n is not None), 1))
            _box(axes, column, len(case), str(result[-1]), KEPT, False)
    fits = all(len(found) <= 1 for found in lengths)
    labels = [*names, "result" if fits else "error"]
    axes.set_yticks([row + 0.5 for row in range(len(labels))], labels)
    axes.set_ylim(len(labels) + 0.05, -0.05)
    axes.set_xlim(0, len(lengths))
    axes.axhline(len(case), color=TEXT, lw=1.4)
    axes.set_xticks([])
    axes.tick_params(length=0, labelsize=11.5)
    axes.spines[:].set_visible(False)
    return tuple(result) if fits else None


def draw_view_and_transpose(n: int = 2, d: int = 3) -> dict[str, NDArray[np.int64]]:
    """How the same numbers in memory are read by x, by a view of x and by its transpose.

    The number in row t (from 1) and column c of x is 10 t + c, so that each number tells its
    token; its shade is its token's.

    Returns:
        "memory" (1, n * d), "x" (n, d), "x.view(d, n)" and "x.T" (d, n), with n and d as numbers.
    """
    x = 10 * np.arange(1, n + 1)[:, None] + np.arange(d)  # (n, d)
    panels = {
        "in memory, in this order": x.reshape(1, n * d),
        f"x: {n} × {d}": x,
        f"x.view({d}, {n})": x.reshape(d, n),
        f"x.T: {d} × {n}": x.T,
    }
    ratios = {"height_ratios": [1, d]}
    figure, axes = new_figure(5.0, 0.75 + 0.42 * d + 1.0, 3, rows=2, gridspec_kw=ratios)
    for axis, (title, values) in zip(widen_first(axes, 3), panels.items(), strict=True):
        shades = 0.75 * (values // 10 - 1) / max(1, n - 1)
        write_cells(axis, values, shades, WEIGHT_COLOURS, size=12, aspect="equal")
        axis.set_title(title, fontsize=12)
    add_legend(
        figure,
        handles=[
            Patch(facecolor=WEIGHT_COLOURS(0.75 * t / max(1, n - 1)), edgecolor=TEXT, label=name)
            for t, name in enumerate(f"token {t}" for t in range(n))
        ],
        loc="outside lower center",
        ncols=n,
        fontsize=11,
    )
    names = ("memory", "x", "view", "transpose")
    return dict(zip(names, panels.values(), strict=True))
