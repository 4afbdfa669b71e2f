"""The figures of training (chapter 8): smoothing and its floor, the warm-up, a run step by step."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.plotly_renderer import (
    NO_LINES,
    WEIGHT_SCALE,
    choice,
    layout_with_controls,
    show_figure,
    slider,
    ticks,
)
from annotated_transformer.figures.style import INKS, TEXT, colour
from annotated_transformer.training.schedule import noam_rate

INK, PAPER_INK = INKS[:2]


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


@dataclass(frozen=True)
class Moment:
    """A training that was looked into after `step` steps.

    says: the first line above the picture. writes: the model's translation at that moment.
    weights: (n_tgt, n_src), what each piece about to be written looks at.
    """

    step: int
    says: str
    writes: str
    weights: Tensor | ArrayLike


def touch_training(
    moments: Sequence[Moment],
    curve: tuple[ArrayLike, ArrayLike],
    floor: float,
    target: Sequence[str],
    source: Sequence[str],
    label: str,
    start: int = 0,
) -> dict[str, Array]:
    """A training to move through: a slider over moments of it.

    Each moment shows its translation, its attention, and its place on the curve of the loss.

    Args:
        moments: in the order of their steps.
        curve: steps and losses, in nats per token. floor: the lowest loss there can be.
        target, source: the pieces at the rows and the columns of every moment's weights.
        label: what the figure shows, for a person who cannot see it.
        start: the moment shown first.

    Returns:
        "steps" (moments,) and "weights" (moments, n_tgt, n_src).
    """
    weights = np.array([np.round(as_array(moment.weights), 3) for moment in moments])
    steps, losses = (np.asarray(values, dtype=float) for values in curve)
    lines = [[m.says, *textwrap.wrap(m.writes, 46, max_lines=2, placeholder=" …")] for m in moments]

    def title(i: int) -> str:
        return "<br>".join(map(escape, [*lines[i], "", ""][:3]))  # as high at every moment

    def here(i: int) -> dict[str, Any]:
        x = moments[i].step
        line = {"color": colour("query"), "width": 2}
        axes = {"xref": "x2", "yref": "y2 domain"}
        return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "line": line, **axes}

    stops = [
        choice(
            f"{moment.step:,}",
            "update",
            {"z": [weights[i].tolist()]},
            {"title.text": title(i), "shapes": [here(i)]},
            [0],
        )
        for i, moment in enumerate(moments)
    ]
    layout = layout_with_controls(
        height=480,
        margin={"l": 10, "r": 10, "t": 86, "b": 42},
        slider_below=slider("after step ", stops, start, x=0.0, len=1.0),
        title={"text": title(start), "font": {"size": 14, "color": TEXT}, "x": 0.01},
        shapes=[here(start)],
    )
    layout |= _training_axes(layout, target, source)
    traces = [
        go.Heatmap(
            z=weights[start].tolist(),
            hovertemplate="%{z:.2f}<extra></extra>",
            colorscale=WEIGHT_SCALE,
            zmin=0,
            zmax=1,
            xgap=1,
            ygap=1,
            showscale=False,
        ),
        _loss_line("step %{x:.0f}", steps, losses, color=INK, dash="solid"),
        _loss_line("the floor", steps[[0, -1]], np.full(2, floor), color=PAPER_INK, dash="dash"),
    ]
    show_figure(go.Figure(traces, layout), label)
    return {"steps": np.array([moment.step for moment in moments]), "weights": weights}


def _loss_line(name: str, steps: Array, losses: Array, **line: str) -> go.Scatter:
    return go.Scatter(
        x=steps.tolist(),
        y=losses.tolist(),
        mode="lines",
        line=line,
        hovertemplate=f"{name}: %{{y:.2f}} nats<extra></extra>",
        xaxis="x2",
        yaxis="y2",
    )


def _training_axes(
    layout: dict[str, Any], target: Sequence[str], source: Sequence[str]
) -> dict[str, Any]:
    """Pieces at the attention above, steps and nats at the loss below."""
    return {
        "xaxis": {**layout["xaxis"], **NO_LINES, **ticks(source), "tickangle": -60},
        "yaxis": {
            **layout["yaxis"],
            **NO_LINES,
            **ticks(target),
            "autorange": "reversed",
            "domain": [0.46, 1.0],
            "title": {"text": "about to be written", "standoff": 8},
        },
        "xaxis2": {**layout["xaxis"], "anchor": "y2", "title": {"text": "step", "standoff": 4}},
        "yaxis2": {
            **layout["yaxis"],
            "anchor": "x2",
            "domain": [0.0, 0.25],
            "rangemode": "tozero",
            "title": {"text": "loss, nats"},
        },
    }
