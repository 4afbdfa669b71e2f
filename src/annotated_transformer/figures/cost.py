"""Quality against the cost of training, as Table 2 of the paper prints both (chapter 0)."""

from collections.abc import Sequence
from dataclasses import dataclass

from annotated_transformer.figures.style import INKS, TEXT, add_legend, new_figure

# Group of Table 2 -> colour, marker, words of the legend. Told apart by the marker first.
GROUPS = {
    "single": (INKS[1], "o", "earlier, one model"),
    "ensemble": (INKS[2], "s", "earlier, ensemble"),
    "this paper": (INKS[0], "D", "this paper"),
}


@dataclass(frozen=True)
class System:
    """One system: its name, its group in Table 2, training FLOPs, BLEU, and where its name goes."""

    name: str
    group: str
    flops: float
    bleu: float
    below: bool = False


def draw_bleu_by_cost(systems: Sequence[System], y_label: str = "BLEU") -> dict[str, float]:
    """A point a system: the cost of its training to the right, its quality upwards.

    Returns:
        BLEU by name, the best last.
    """
    figure, (axes,) = new_figure(5.0, 4.4)
    for group, (shade, marker, words) in GROUPS.items():
        members = [system for system in systems if system.group == group]
        axes.scatter(
            [system.flops for system in members],
            [system.bleu for system in members],
            color=shade,
            marker=marker,
            s=60,
            label=words,
        )
    for system in systems:
        axes.annotate(
            system.name,
            (system.flops, system.bleu),
            (0, -15 if system.below else 8),
            textcoords="offset points",
            ha="center",
            color=TEXT,
            fontsize=11,
        )
    axes.set_xscale("log")
    axes.margins(x=0.2, y=0.14)
    axes.set_xlabel("operations to train it (FLOPs), logarithmic")
    axes.set_ylabel(y_label)
    axes.grid(visible=True, lw=0.6)
    add_legend(figure, loc="outside lower center", ncols=2, fontsize=11, columnspacing=1.0)
    return {s.name: s.bleu for s in sorted(systems, key=lambda system: system.bleu)}
