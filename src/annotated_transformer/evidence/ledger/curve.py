"""Training curves and runs beside each other as inline SVG: no file, sharp, light and dark.

Text and axes take the colour of the page; the lines take theirs from book/_static/ledger.css and
differ in their dashes as well.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from statistics import mean

WIDTH, HEIGHT = 420, 270  # about a phone's width, so that the text stays legible there
LEFT, RIGHT, TOP, BOTTOM = 34, 22, 28, 44
MAX_POINTS = 240  # more would only make the page heavier
ROW = 34  # of a picture of dots: the name above, the line below
CLOSE = 14  # pixels between two dots whose numbers would cover each other


@dataclass(frozen=True)
class Line:
    """One line of a curve.

    Attributes:
        kind: its class in the style sheet, "training" or "validation".
        name: shown in the legend.
        points: (x, y), x rising.
    """

    kind: str
    name: str
    points: Sequence[tuple[float, float]]


def draw_curve(lines: Sequence[Line], x_label: str, y_label: str, description: str) -> str:
    """The curve as an SVG element with its description for those who cannot see it.

    Raises:
        ValueError: if no line has a point.
    """
    points = [point for line in lines for point in line.points]
    if not points:
        raise ValueError("There is nothing to draw: no line has a point.")
    place_x, place_y, frame = _frame(points, x_label, y_label)
    parts = [_opening(HEIGHT, description), *frame]
    for line in lines:
        path = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in thin_out(line.points))
        parts.append(f'<polyline class="{line.kind}" points="{path}"/>')
    parts += _legend(lines)
    parts.append("</svg>")
    return "\n".join(parts)


def draw_points(
    points: Sequence[tuple[float, float]], goal: float, x_label: str, y_label: str, description: str
) -> str:
    """Points with their numbers beside them, 1 for the first, and a line at the goal, as SVG."""
    place_x, place_y, frame = _frame([*points, (0.0, goal)], x_label, y_label)
    at = f"{place_y(goal):.1f}"
    parts = [
        _opening(HEIGHT, description),
        *frame,
        f'<line class="goal" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at}" y2="{at}"/>',
    ]
    at_right: list[tuple[float, float]] = []  # dots whose number stands there
    for number, (x, y) in enumerate(points, 1):
        dot_x, dot_y = place_x(x), place_y(y)
        if any(abs(dot_x - a) < CLOSE and abs(dot_y - b) < CLOSE for a, b in at_right):
            name_x, anchor = dot_x - 8, ' text-anchor="end"'
        else:
            name_x, anchor = dot_x + 8, ""
            at_right.append((dot_x, dot_y))
        parts += [
            f'<circle class="run" cx="{dot_x:.1f}" cy="{dot_y:.1f}" r="4.5"/>',
            f'<text x="{name_x:.1f}" y="{dot_y + 5:.1f}"{anchor}>{number}</text>',
        ]
    return "\n".join([*parts, "</svg>"])


Scale = Callable[[float], float]


def _frame(
    points: Sequence[tuple[float, float]], x_label: str, y_label: str
) -> tuple[Scale, Scale, list[str]]:
    """Where a value of either axis lies, and grid, figures and names of both axes."""
    x_ticks = round_ticks(0.0, max(x for x, _ in points))
    y_ticks = round_ticks(min(y for _, y in points), max(y for _, y in points))

    def place_x(x: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (x - x_ticks[0]) / (x_ticks[-1] - x_ticks[0])

    def place_y(y: float) -> float:
        share = (y - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    parts = []
    for y in y_ticks:
        at = place_y(y)
        parts += [
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>',
            f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{write_tick(y)}</text>',
        ]
    parts += [
        f'<text x="{place_x(x):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">'
        f"{write_tick(x)}</text>"
        for x in x_ticks
    ]
    middle = f"{(LEFT + WIDTH - RIGHT) / 2:.0f}"
    parts += [
        f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>',
        f'<text x="4" y="{TOP - 14}">{escape(y_label)}</text>',
    ]
    return place_x, place_y, parts


@dataclass(frozen=True)
class Dots:
    """One row of a picture of dots.

    Attributes:
        name: written above its line.
        values: a dot each.
    """

    name: str
    values: Sequence[float]


def draw_dots(
    rows: Sequence[Dots], x_label: str, description: str, goal: float | None = None
) -> str:
    """Rows of dots over one axis as an SVG element; the mean of each row in figures.

    A broken line stands at the goal, if there is one.
    """
    values = [value for row in rows for value in row.values] + ([] if goal is None else [goal])
    ticks = round_ticks(min(values), max(values))
    bottom = 8 + ROW * len(rows)

    def place(value: float) -> float:
        return 8 + (WIDTH - 64) * (value - ticks[0]) / (ticks[-1] - ticks[0])

    parts = [_opening(bottom + 44, description)]
    for tick in ticks:
        at = f"{place(tick):.1f}"
        parts.append(f'<line class="grid" x1="{at}" x2="{at}" y1="4" y2="{bottom}"/>')
        parts.append(f'<text x="{at}" y="{bottom + 17}" text-anchor="middle">{tick:g}</text>')
    if goal is not None:
        at = f"{place(goal):.1f}"
        parts.append(f'<line class="goal" x1="{at}" x2="{at}" y1="4" y2="{bottom}"/>')
    for number, row in enumerate(rows):
        y = 8 + ROW * number
        parts.append(f'<text class="row" x="8" y="{y + 10}">{escape(row.name)}</text>')
        parts += [
            f'<circle class="run" cx="{place(v):.1f}" cy="{y + 21}" r="4.5"/>' for v in row.values
        ]
        middle = f"{mean(row.values):.2f}"
        parts.append(f'<text x="{WIDTH - 4}" y="{y + 26}" text-anchor="end">{middle}</text>')
    parts.append(
        f'<text x="{WIDTH / 2:.0f}" y="{bottom + 38}" text-anchor="middle">{escape(x_label)}</text>'
    )
    parts.append("</svg>")
    return "\n".join(parts)


def _opening(height: int, description: str) -> str:
    """The SVG element as it begins."""
    return (
        f'<svg class="run-curve" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(description)}">'
    )


def _legend(lines: Sequence[Line]) -> list[str]:
    """The names at the right, each beside a piece of its line."""
    parts = []
    for row, line in enumerate(lines):
        y = TOP + 18 + 20 * row
        right = WIDTH - RIGHT - 4
        parts.append(
            f'<line class="{line.kind}" x1="{right - 34}" x2="{right}" y1="{y - 4}" y2="{y - 4}"/>'
        )
        parts.append(f'<text x="{right - 40}" y="{y}" text-anchor="end">{escape(line.name)}</text>')
    return parts


def round_ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers that enclose low ... high, about `wanted` of them."""
    if high <= low:
        high = low + 1.0
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= rough)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(index * step, 10) for index in range(first, last + 1)]


def write_tick(value: float) -> str:
    """12,000 or 2.5."""
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def thin_out(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most about MAX_POINTS of the points, the first and the last among them."""
    stride = max(1, math.ceil(len(points) / MAX_POINTS))
    kept = list(points[::stride])
    if points and kept[-1] != points[-1]:
        kept.append(points[-1])
    return kept
