"""The figures of training (chapter 8): label smoothing and its floor, the rate and its warm-up."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
import torch

from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.plotly_renderer import (
    NO_LINES,
    choice,
    layout_with_controls,
    show_figure,
    slider,
    ticks,
)
from annotated_transformer.figures.style import TEXT
from annotated_transformer.training.schedule import noam_rate

INK = "#7B5FC7"  # no role's colour
PAPER_INK = "#8F7A55"


def touch_smoothing(
    epsilons: Sequence[float] = (0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1),
    vocabularies: Sequence[int] = (5, 37_000),
    right: int = 2,
    start: float = 0.1,
) -> dict[str, Array]:
    """The smoothed target of a small vocabulary; a slider over epsilon.

    Above it, for each vocabulary, the lowest loss that the target allows, and the perplexity (of
    the right piece, without smoothing) of the model that has it.

    Args:
        epsilons: the stops of the slider.
        vocabularies: how many pieces; the target of the first is drawn.
        right: the index of the right piece. start: the epsilon shown first.

    Returns:
        "q" (stops, V), of the first vocabulary; "floors" in nats and "perplexities", each
        (stops, vocabularies).

    Raises:
        ValueError: `start` is no stop.
    """
    if start not in epsilons:
        raise ValueError(f"start = {start} is no stop of the slider: {list(epsilons)}.")
    eps, sizes = np.array(epsilons, dtype=float)[:, None], np.array(vocabularies)
    of_right, of_others = 1 - eps + eps / sizes, eps / sizes  # (stops, vocabularies)
    floors = _entropy(of_right) + (sizes - 1) * _entropy(of_others)
    pieces = range(vocabularies[0])
    q = np.where([piece == right for piece in pieces], of_right[:, :1], of_others[:, :1])
    begin = list(epsilons).index(start)

    def title(stop: int) -> str:
        return "<br>".join(
            f"V = {size:,}: floor {floor:.3f} nats, perplexity {_perplexity(1 / p)}"
            for size, floor, p in zip(sizes, floors[stop], of_right[stop], strict=True)
        )

    names = [f"{piece + 1} (right)" if piece == right else f"{piece + 1}" for piece in pieces]
    bars = go.Bar(
        x=list(pieces),
        y=q[begin],
        marker={"color": [INK if piece == right else PAPER_INK for piece in pieces]},
        texttemplate="%{y:.2f}",
        textposition="outside",
        textfont={"color": TEXT},
        cliponaxis=False,
        hovertemplate="piece %{x}: %{y:.3f}<extra></extra>",
    )
    stops = [
        choice(f"{epsilon:g}", "update", {"y": [q[i]]}, {"title.text": title(i)})
        for i, epsilon in enumerate(epsilons)
    ]
    look = {"font": {"size": 13, "color": TEXT}, "x": 0.01, "xanchor": "left"}
    layout = layout_with_controls(
        height=270,
        margin={"l": 45, "r": 10, "t": 24 + 20 * len(sizes), "b": 40},
        slider_below=slider("ε = ", stops, begin, x=0.0, len=1.0),
        title={"text": title(begin), **look},
        bargap=0.4,
    )
    layout["xaxis"].update(NO_LINES, **ticks(names), title={"text": "piece", "standoff": 4})
    layout["yaxis"].update(range=[0, 1.12], title={"text": "target q"}, tickvals=[0, 0.5, 1])
    show_figure(
        go.Figure([bars], layout),
        f"The target over {sizes[0]} pieces. With epsilon 0 the right piece has all of it. A "
        "larger epsilon takes from it and gives every piece the same share; at 1 all are equal. "
        "The lowest possible loss rises from 0, the perplexity there from 1.",
    )
    return {"q": q, "floors": floors, "perplexities": 1 / of_right}


def _perplexity(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def _entropy(p: Array) -> Array:
    """The terms -p ln p, 0 where p is 0."""
    return as_array(torch.special.entr(torch.from_numpy(p)))


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
