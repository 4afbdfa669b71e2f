"""The figure of chapter 13 to touch: the bytes of a long context."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from annotated_transformer.figures.plotly_renderer import (
    buttons,
    choice,
    layout_with_controls,
    show_figure,
    slider,
)
from annotated_transformer.figures.style import TEXT, looks

UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def in_words(size: float) -> str:
    """4.3 GB from 4294967296: three digits and a decimal unit, 1 kB = 1,000 B."""
    place = 0
    while size >= 999.5 and place < len(UNITS) - 1:
        size, place = size / 1000, place + 1
    return f"{size:.3g} {UNITS[place]}"


def touch_long_context(
    lengths: Sequence[int],
    costs: Mapping[str, Mapping[str, Sequence[float]]],
    label: str,
    start: int = 0,
) -> dict[str, dict[str, list[str]]]:
    """Bars of bytes on a logarithmic axis: a button a model, a slider over the length.

    Args:
        lengths: the stops of the slider.
        costs: model -> what takes memory -> bytes at each length. Every model has the same names.
        label: what the figure shows, for a person who cannot see it.
        start: the stop shown first.

    Returns:
        The words at the bars: model -> what takes memory -> one for each length.
    """
    names = list(next(iter(costs.values())))
    words = {
        model: {name: [in_words(size) for size in by_name[name]] for name in names}
        for model, by_name in costs.items()
    }

    def bars(stop: int) -> dict[str, list[list[Any]]]:
        """Lengths of the bars and their words, one list a model."""
        return {
            "x": [[costs[model][name][stop] for name in names] for model in costs],
            "text": [[words[model][name][stop] for name in names] for model in costs],
        }

    first = bars(start)
    traces = [
        go.Bar(
            x=first["x"][place],
            y=[name.replace(", ", ",<br>") for name in names],
            text=first["text"][place],
            orientation="h",
            textposition="outside",
            cliponaxis=False,
            textfont={"color": TEXT, "size": 13},
            marker={"color": [shade for shade, _, _ in looks(len(names))]},
            hovertemplate="%{y}: %{text}<extra></extra>",
            visible=place == 0,
        )
        for place in range(len(costs))
    ]
    stops = [choice(f"{n:,}", "restyle", bars(stop)) for stop, n in enumerate(lengths)]
    choices = [
        choice(model, "restyle", {"visible": [other == model for other in costs]})
        for model in costs
    ]
    layout = layout_with_controls(
        height=120 + 55 * len(names),
        margin={"l": 10, "r": 20, "t": 20, "b": 45},
        slider_below=slider("positions: ", stops, start, gap=55),
        buttons_above=buttons("model", choices),
    )
    sizes = [size for by_name in costs.values() for values in by_name.values() for size in values]
    powers = range(3, 16, 3)  # of ten: kB, MB, GB, TB, PB
    layout["xaxis"].update(
        type="log",
        range=[3, len(str(int(max(sizes)))) + 2.2],  # room for the words at the longest bar
        tickvals=[10**power for power in powers],
        ticktext=[f"1 {UNITS[power // 3]}" for power in powers],
        title={"text": "bytes, logarithmic", "standoff": 6},
    )
    layout["yaxis"].update(autorange="reversed", showgrid=False)
    show_figure(go.Figure(traces, layout), label)
    return words
