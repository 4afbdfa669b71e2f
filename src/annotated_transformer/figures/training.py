"""The figure of training (chapter 8): the learning rate under a warm-up of your choice."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from annotated_transformer.figures.matrices import Array
from annotated_transformer.figures.plotly_renderer import (
    choice,
    layout_with_controls,
    show_figure,
    slider,
)
from annotated_transformer.figures.style import TEXT
from annotated_transformer.training.schedule import noam_rate

INK = "#7B5FC7"  # no role's colour
PAPER_INK = "#8F7A55"


def touch_warmup(
    warmups: Sequence[int] = (1_000, 2_000, 4_000, 8_000, 16_000),
    d_model: int = 512,
    steps: int = 40_000,
    start: int = 4_000,
) -> dict[str, Array]:
    """The learning rate of equation 3 against the step; a slider over the warm-up.

    The curve of `start` stays in the picture, dashed.

    Returns:
        "steps" (n,), "rates" (warm-ups, n), "peaks" (warm-ups,).
    """
    if start not in warmups:
        raise ValueError(f"start = {start} is no stop of the slider: {list(warmups)}.")
    x = np.unique(np.r_[1, np.arange(0, steps + 1, 500)[1:], [w for w in warmups if w <= steps]])
    rates = np.array([[noam_rate(int(n), d_model, warmup) for n in x] for warmup in warmups])
    peaks = np.array([noam_rate(warmup, d_model, warmup) for warmup in warmups])
    begin = list(warmups).index(start)

    def title(stop: int) -> str:
        return f"peak {peaks[stop]:.2e} at step {warmups[stop]:,}"

    hover = "step %{x:,}: %{y:.2e}<extra></extra>"
    traces = [
        go.Scatter(
            x=x,
            y=rates[begin],
            name=f"warm-up {start:,}",
            line={"color": PAPER_INK, "dash": "dash"},
            hovertemplate=hover,
        ),
        go.Scatter(x=x, y=rates[begin], name="chosen", line={"color": INK}, hovertemplate=hover),
    ]
    stops = [
        choice(f"{warmup:,}", "update", {"y": [rates[i]]}, {"title.text": title(i)}, [1])
        for i, warmup in enumerate(warmups)
    ]
    layout = layout_with_controls(
        height=360,
        margin={"l": 62, "r": 15, "t": 45, "b": 75},
        slider_below=slider("warm-up ", stops, begin, x=0.0, len=1.0),
        title={
            "text": title(begin),
            "font": {"size": 14, "color": TEXT},
            "x": 0.0,
            "xref": "paper",
        },
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": -0.26, "font": {"color": TEXT}},
    )
    layout["xaxis"].update(title={"text": "step", "standoff": 4})
    layout["yaxis"].update(
        range=[0, 1.05 * float(peaks.max())],
        title={"text": "learning rate"},
        exponentformat="e",
    )
    show_figure(
        go.Figure(traces, layout),
        "The learning rate against the step: it rises in a straight line to a peak at the end of "
        "the warm-up and falls as the inverse root of the step. A longer warm-up has a later and "
        "lower peak; after both peaks the curves are one.",
    )
    return {"steps": x, "rates": rates, "peaks": peaks}
