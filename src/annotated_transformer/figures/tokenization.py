"""Figures of the data (chapter 7): a sentence under more and more merges, padded batches, waste.

Every function draws and returns the numbers it has drawn.
"""

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np
import plotly.graph_objects as go
from matplotlib.patches import Patch

from annotated_transformer.figures.matrices import Array
from annotated_transformer.figures.plotly_renderer import (
    NO_LINES,
    base_layout,
    choice,
    layout_with_controls,
    note,
    show_figure,
    slider,
)
from annotated_transformer.figures.style import (
    BLOCKED,
    NEUTRAL_COLOURS,
    TEXT,
    WEIGHT_COLOURS,
    add_legend,
    new_figure,
)

Words = Sequence[Sequence[str]]  # a sentence: for each word its pieces

PIECE_SCALE = [[0.0, "#E6ECF8"], [1.0, "#B9C6E4"]]  # neighbours in a word differ
INK = "#000000"
LETTERS_A_LINE = 16  # of the names of the ways to make batches


def cells_of(words: Words, columns: int) -> tuple[list[list[int | None]], list[list[str]]]:
    """One row a word, one cell a letter: the piece's parity within its word, and the letter."""
    shades: list[list[int | None]] = []
    letters: list[list[str]] = []
    for pieces in words:
        shade = [number % 2 for number, piece in enumerate(pieces) for _ in piece]
        rest = columns - len(shade)
        shades.append([*shade, *[None] * rest])
        letters.append([*"".join(pieces), *[""] * rest])
    return shades, letters


def cuts_of(words: Words) -> tuple[list[float], list[int]]:
    """Where a piece ends within its word: x between two letters, y the word's number."""
    x: list[float] = []
    y: list[int] = []
    for row, pieces in enumerate(words):
        ends = np.cumsum([len(piece) for piece in pieces])[:-1]
        x += [float(end) - 0.5 for end in ends]
        y += [row] * len(ends)
    return x, y


def touch_merges(
    stops: Sequence[tuple[str, Words, Words]],
    titles: tuple[str, str],
    label: str,
    start: int = 0,
) -> dict[str, list[int]]:
    """Choose how many merges are made: two sentences, letter by letter, cut into their pieces.

    Args:
        stops: for each stop of the slider its number of merges and the two sentences, for each
            word its pieces. The letters of a word are the same at every stop.
        titles: what the two sentences are.
        label: what the figure shows, for a person who cannot see it.
        start: the stop shown first.

    Returns:
        title -> number of pieces of that sentence at each stop.
    """
    columns = [max(sum(map(len, word)) for word in words) for words in stops[0][1:]]
    rows = max(len(words) for words in stops[0][1:])
    counts = {
        title: [sum(map(len, stop[side])) for stop in stops]
        for side, title in enumerate(titles, start=1)
    }

    def notes(number: int) -> list[dict[str, Any]]:
        return [
            note(f"{title}: {counts[title][number]} pieces", x, 1.0)
            for title, x in zip(titles, (0.0, 0.54), strict=True)
        ]

    steps = []
    for number, (name, *sentences) in enumerate(stops):
        cells = [cells_of(words, columns[side])[0] for side, words in enumerate(sentences)]
        cuts = [cuts_of(words) for words in sentences]
        changes = {
            "z": [*cells, None, None],
            "x": [None, None, *(x for x, _ in cuts)],
            "y": [None, None, *(y for _, y in cuts)],
        }
        layout_changes = {"annotations": notes(number)}
        steps.append(choice(name, "update", changes, layout_changes, [0, 1, 2, 3]))
    layout = _merges_layout(
        columns,
        rows,
        slider_below=slider("merges ", steps, start, gap=30),
        annotations=notes(start),
    )
    show_figure(go.Figure(_merges_traces(stops[start][1:], columns), layout), label)
    return counts


def _merges_traces(sentences: Sequence[Words], columns: Sequence[int]) -> list[Any]:
    """The letters of both sentences, then the cuts between their pieces."""
    cells, marks = [], []
    for words, width, axis in zip(sentences, columns, ("", "2"), strict=True):
        place = {"xaxis": f"x{axis}", "yaxis": f"y{axis}", "hoverinfo": "skip"}
        shades, letters = cells_of(words, width)
        cells.append(
            go.Heatmap(
                z=shades,
                text=letters,
                texttemplate="%{text}",
                textfont={"color": INK, "size": 13},
                colorscale=PIECE_SCALE,
                zmin=0,
                zmax=1,
                ygap=3,
                showscale=False,
                **place,
            )
        )
        x, y = cuts_of(words)
        mark = {"symbol": "line-ns", "size": 19, "line": {"width": 3, "color": INK}}
        marks.append(go.Scatter(x=x, y=y, mode="markers", marker=mark, **place))
    return cells + marks


def _merges_layout(columns: Sequence[int], rows: int, **controls: Any) -> dict[str, Any]:
    """Two fields of cells side by side, as wide as their longest words."""
    layout = layout_with_controls(
        height=60 + 25 * rows, margin={"l": 5, "r": 5, "t": 30, "b": 10}, **controls
    )
    for axis, domain, width in (("", [0.0, 0.46], columns[0]), ("2", [0.54, 1.0], columns[1])):
        plain = {**NO_LINES, "showticklabels": False, "ticks": "", "fixedrange": True}
        side_axis = {**base_layout()["xaxis"], **plain, "domain": domain}
        layout[f"xaxis{axis}"] = {**side_axis, "range": [-0.6, width - 0.4]}
        layout[f"yaxis{axis}"] = {
            **base_layout()["yaxis"],
            **plain,
            "range": [rows - 0.5, -0.5],
            "anchor": f"x{axis}",
        }
    layout["xaxis2"]["anchor"] = "y2"
    return layout


def draw_padding(
    ways: Mapping[str, Sequence[Sequence[int]]], x_label: str = "position"
) -> dict[str, Array]:
    """Batches as the model gets them: a line a sentence, its tokens and its padding.

    Args:
        ways: title -> batches, each the lengths of its sentences, drawn from top to bottom.
        x_label: what runs to the right.

    Returns:
        title -> share of positions that hold padding, of each batch.
    """
    longest = max(length for batches in ways.values() for batch in batches for length in batch)
    lines = max(sum(len(batch) + 1 for batch in batches) for batches in ways.values())
    figure, axes = new_figure(5.6, 0.9 + 0.105 * lines, len(ways))
    waste = {}
    for axis, (title, batches) in zip(axes, ways.items(), strict=True):
        line = 0
        for batch in batches:
            width = max(batch)
            places = np.arange(line, line + len(batch))
            axis.barh(places, batch, 0.86, color=NEUTRAL_COLOURS(1.0))
            axis.barh(
                places,
                [width - length for length in batch],
                0.86,
                left=batch,
                color="none",
                edgecolor=BLOCKED,
                hatch="//////",
                lw=0.4,
            )
            line += len(batch) + 1
        waste[title] = np.array([1 - sum(batch) / (len(batch) * max(batch)) for batch in batches])
        axis.set_title(title, fontsize=10.5)
        axis.set_xlim(0, longest)
        axis.set_ylim(lines - 0.5, -1)
        axis.set_yticks([])
        axis.spines["left"].set_visible(False)
        axis.set_xlabel(x_label, fontsize=10)
    handles = [
        Patch(facecolor=NEUTRAL_COLOURS(1.0), label="tokens"),
        Patch(facecolor="none", edgecolor=BLOCKED, hatch="//////", label="padding"),
    ]
    add_legend(figure, handles=handles, loc="outside lower center", ncols=2, labelcolor=TEXT)
    return waste


def draw_waste(
    ways: Mapping[str, Mapping[str, Any]], sides: tuple[str, str] = ("English", "German")
) -> dict[str, Array]:
    """Ways to make batches, a line each: what share is padding, and how unequal the tensors are.

    Args:
        ways: way -> "waste", the share of padding on either side, and "positions", those of the
            smallest and of the largest batch; drawn from the top in that order.
        sides: what the two sides are.

    Returns:
        "waste", in percent, and "positions", each (ways, 2).
    """
    waste = np.array([[100 * share for share in way["waste"]] for way in ways.values()])
    sizes = np.array([way["positions"] for way in ways.values()])
    places = np.arange(len(ways))
    _, (shares, spans) = new_figure(5.8, 0.8 + 0.5 * len(ways), 2, sharey=True)
    shade = WEIGHT_COLOURS(0.6)
    for number, (side, hatch) in enumerate(zip(sides, ("", "///"), strict=True)):
        bars = shares.barh(
            places + 0.36 * number - 0.18,
            waste[:, number],
            0.32,
            color="none" if number else shade,
            edgecolor=shade,
            hatch=hatch,
            label=side,
        )
        shares.bar_label(bars, fmt="%.1f", padding=2, fontsize=9, color=TEXT)
    names = ["\n".join(wrap(name, LETTERS_A_LINE)) for name in ways]
    shares.set_yticks(places, names, fontsize=10)
    shares.set_ylim(len(ways) - 0.5, -0.5)
    shares.set_xlim(0, 1.2 * waste.max())
    shares.set_xlabel("% padding")
    add_legend(shares, loc="center right")
    low, high = float(sizes.min()), float(sizes.max())
    for place, (least, most) in enumerate(sizes):
        spans.plot([least, most], [place, place], "|-", color=TEXT, ms=12)
        left = least * most < low * high  # of the middle, so its words have their room on the right
        spans.text(
            least if left else most,
            place - 0.2,
            f"{least:,} to {most:,}",
            ha="left" if left else "right",
            va="bottom",
            fontsize=9,
            color=TEXT,
        )
    spans.set_xscale("log")
    spans.set_xlim(0.8 * low, 1.25 * high)
    spans.set_xticks([])
    spans.minorticks_off()
    spans.set_xlabel("positions of a batch,\nlog scale")
    return {"waste": waste, "positions": sizes}
