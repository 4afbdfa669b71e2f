"""Show a plotly figure on the static site, in JupyterLab, in Colab and under nbval alike.

The output is a bundle of two forms of the same figure: plotly's own mimetype, which JupyterLab
draws, and a small ``<div>`` that carries the figure as JSON, which the site's script draws with
one shared local copy of plotly. Nothing is loaded from another host, and nothing in the output is
random, so that a stored output can be compared with a new one.
"""

import base64
import html
import json
import math
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from IPython.display import display

from annotated_transformer.figures.style import GRID, SIGNED_STOPS, TEXT, WEIGHT_STOPS

SIGNIFICANT_DIGITS = 5
# Room that plotly's own slider and buttons need, given back where the site replaces them.
SLIDER_ROOM, BUTTONS_ROOM = 70, 35
NO_LINES = {"showgrid": False, "zeroline": False}  # for an axis of cells


def colour_scale(stops: Sequence[str]) -> list[list[Any]]:
    """Colours at equal distances, as plotly's ``colorscale`` takes them."""
    return [[i / (len(stops) - 1), stop] for i, stop in enumerate(stops)]


WEIGHT_SCALE, SIGNED_SCALE = colour_scale(WEIGHT_STOPS), colour_scale(SIGNED_STOPS)


def base_layout(height: int = 380, **changes: Any) -> dict[str, Any]:
    """The layout of every figure to touch: transparent, responsive, legible on both pages."""
    axis = {"gridcolor": GRID, "zerolinecolor": GRID, "fixedrange": True, "automargin": True}
    layout: dict[str, Any] = {
        "template": "none",
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": TEXT, "size": 13},
        "height": height,
        "autosize": True,
        "margin": {"l": 50, "r": 15, "t": 45, "b": 45},
        "showlegend": False,
        "dragmode": False,
        "hoverlabel": {"font": {"size": 13}},
        "xaxis": dict(axis),
        "yaxis": dict(axis),
    }
    return {**layout, **changes}


def layout_with_controls(
    height: int,
    margin: dict[str, int],
    slider_below: dict[str, Any] | None = None,
    buttons_above: dict[str, Any] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """The layout of a figure with a slider below it, buttons above it, or both.

    Args:
        height: of the figure with the site's own controls in place of plotly's.
        margin: "l", "r", "t" and "b" of the same.
        slider_below: from ``slider``. buttons_above: from ``buttons``.
        changes: as for ``base_layout``.
    """
    above, below = BUTTONS_ROOM if buttons_above else 0, SLIDER_ROOM if slider_below else 0
    layout = base_layout(height + above + below, **changes)
    layout["margin"] = {**margin, "t": margin["t"] + above, "b": margin["b"] + below}
    layout["meta"] = {"native": {"margin": margin, "height": height}}
    if slider_below:
        layout["sliders"] = [slider_below]
    if buttons_above:
        layout["updatemenus"] = [buttons_above]
    return layout


def choice(label: str, method: str, *args: Any) -> dict[str, Any]:
    """One step of a slider, or one button.

    ``method`` is plotly's: "restyle" takes the changes of the traces, "update" those and the
    changes of the layout; the numbers of the traces that change may follow.
    """
    return {"label": label, "method": method, "args": list(args)}


def slider(
    prefix: str, steps: list[dict[str, Any]], active: int, gap: int = 40, **changes: Any
) -> dict[str, Any]:
    """A slider ``gap`` pixels below the axes; ``prefix`` stands before the label of its step."""
    look = {"prefix": prefix, "font": {"size": 14, "color": TEXT}}
    return {"active": active, "steps": steps, "currentvalue": look, "pad": {"t": gap}, **changes}


def buttons(name: str, choices: list[dict[str, Any]], y: float = 1.02) -> dict[str, Any]:
    """Buttons in a row above the axes, the first one pressed; ``name`` is what they choose."""
    return {
        "type": "buttons",
        "direction": "right",
        "name": name,
        "buttons": choices,
        "active": 0,
        "x": 0.0,
        "xanchor": "left",
        "y": y,
        "yanchor": "bottom",
        "showactive": True,
        "font": {"color": "#1a1a1a"},
        "bgcolor": "#E4E4E4",
    }


def note(text: str, x: float, y: float, yanchor: str = "bottom", **font: Any) -> dict[str, Any]:
    """A line of text that begins at (x, y), in shares of the figure."""
    place = {"x": x, "y": y, "xref": "paper", "yref": "paper", "xanchor": "left"}
    look = {"showarrow": False, "font": {"color": TEXT, **font}}
    return {"text": text, **place, "yanchor": yanchor, **look}


def row_frame(row: int, columns: int, **line: Any) -> dict[str, Any]:
    """A frame around one row of a map of cells."""
    corners = {"x0": -0.5, "x1": columns - 0.5, "y0": row - 0.5, "y1": row + 0.5}
    return {"type": "rect", **corners, "line": line}


def as_labels(names: Iterable[object]) -> list[str]:
    """Names as tick labels: plotly would read "</s>" as a tag and show nothing."""
    return [html.escape(str(name), quote=False) for name in names]


def ticks(names: Sequence[object]) -> dict[str, Any]:
    """Ticks of cells that are placed by number and labelled by name: a word may come twice."""
    return {"tickvals": list(range(len(names))), "ticktext": as_labels(names)}


def rounded(value: Any) -> Any:
    """Plain JSON data, floats at five significant digits, so that two machines store the same text.

    Arrays become lists, also those that plotly has packed as base64 with every last bit;
    not-a-number and infinities become ``None``, which plotly leaves blank.
    """
    if isinstance(value, dict) and "bdata" in value:
        packed = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
        shape = [int(size) for size in str(value.get("shape", packed.size)).split(",")]
        value = packed.reshape(shape)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): rounded(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        short = float(f"{value:.{SIGNIFICANT_DIGITS}g}")
        return int(short) if short.is_integer() and abs(short) < 1e15 else short
    return value


def figure_json(figure: go.Figure) -> dict[str, Any]:
    """The figure as plain ``data``, ``layout`` and ``frames``, without plotly's 7 KB template."""
    content = go.Figure(figure).update_layout(template="none").to_dict()
    layout = content.get("layout", {})
    layout.pop("template", None)
    return {
        "data": rounded(content.get("data", [])),
        "layout": rounded(layout),
        "frames": rounded(content.get("frames", [])),
    }


def figure_bundle(figure: go.Figure, label: str) -> dict[str, Any]:
    """The forms of one figure by mimetype.

    Args:
        figure: the figure; its layout should come from ``base_layout``.
        label: what a person who cannot see the figure should know, in a sentence.
    """
    content = figure_json(figure)
    # "</" would end the script element early.
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    height = content["layout"].get("height", 380)
    markup = (
        f'<div class="plotly-figure" aria-label="{html.escape(label, quote=True)}" '
        f'style="min-height:{height}px">'
        f'<script type="application/json">{text}</script></div>'
    )
    return {
        "application/vnd.plotly.v1+json": content,
        "text/html": markup,
        "text/plain": label,
    }


def show_figure(figure: go.Figure, label: str) -> None:
    """Show ``figure`` in a notebook; in Colab through Colab's own renderer."""
    if "google.colab" in sys.modules:
        figure.show()
        return
    display(figure_bundle(figure, label), raw=True)  # type: ignore[no-untyped-call]
