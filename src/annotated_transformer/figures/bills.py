"""What layers cost at each length, one panel a way of counting it (chapter 1).

It draws and returns the numbers it has drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from numpy.typing import ArrayLike

from annotated_transformer.figures.matrices import Array, as_array
from annotated_transformer.figures.style import TEXT, add_legend, looks, new_figure


@dataclass(frozen=True)
class Bill:
    """One way of counting what layers cost.

    lengths: (n,) words in the sentence. costs: layer -> (n,) what it costs at each length.
    """

    lengths: ArrayLike
    costs: Mapping[str, ArrayLike]


def draw_bills(bills: Mapping[str, Bill], border: int) -> dict[str, dict[str, Array]]:
    """Panels side by side with the same lengths below, so that what crosses where can be compared.

    Args:
        bills: title -> its costs, of the same layers in the same order.
        border: a length that is marked in each panel, the layers' width.

    Returns:
        title -> layer -> the costs drawn.

    Raises:
        ValueError: two bills have not the same layers.
    """
    layers = [list(bill.costs) for bill in bills.values()]
    if any(names != layers[0] for names in layers):
        raise ValueError("the bills have the same layers, in the same order")
    figure, panels = new_figure(5.8, 2.9, len(bills), sharex=True)
    drawn = {}
    for axes, (title, bill) in zip(panels, bills.items(), strict=True):
        axes.axvline(border, color=TEXT, lw=1.2, ls=(0, (4, 2)), label=f"n = d = {border}")
        drawn[title] = {name: as_array(costs) for name, costs in bill.costs.items()}
        for (name, costs), (shade, dash, marker) in zip(
            drawn[title].items(), looks(len(drawn[title])), strict=True
        ):
            axes.plot(bill.lengths, costs, color=shade, ls=dash, marker=marker, ms=5, label=name)
        axes.set(yscale="log", xlabel="words, n")
        axes.set_title(title, fontsize=11)
        axes.grid(visible=True, lw=0.6)
    every = sorted({int(n) for bill in bills.values() for n in as_array(bill.lengths)})
    panels[0].set_xscale("log", base=2)
    panels[0].set_xticks(every[::2], [str(n) for n in every[::2]])
    for axes in panels:
        axes.minorticks_off()
    handles, names = panels[0].get_legend_handles_labels()
    add_legend(
        figure,
        handles=[*handles[1:], handles[0]],
        labels=[*names[1:], names[0]],
        loc="outside lower center",
        ncols=2,
        fontsize=10.5,
        columnspacing=1.4,
    )
    return drawn
