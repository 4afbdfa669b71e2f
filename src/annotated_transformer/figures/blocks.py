"""Layers beside each other, drawn from their configurations, in the book's look (matplotlib)."""

from collections.abc import Collection, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from annotated_transformer.after.config import LaterConfig
from annotated_transformer.config import TransformerConfig
from annotated_transformer.figures.style import LOOKS, TEXT, new_figure

NORMS = {"layer": "LayerNorm", "rms": "RMSNorm"}
NETWORKS = {
    "relu": "ReLU",
    "gelu": "GELU",
    "silu": "SiLU",
    "swiglu": "SwiGLU, a gate",
    "experts": "experts",
}
DISTANCES = {"rope": "rotations on Q and K", "alibi": "distances off the scores"}
POSITIONS = {
    "sinusoidal": "embeddings + sinusoids",
    "learned": "embeddings + learned positions",
    "none": "embeddings",
}
SHADES = {"attention": LOOKS[0][0], "network": LOOKS[2][0]}
# Of these fields nothing else is drawn.
KNOWN = {"residual": True, "attention": "scaled-dot-product"}
KNOWN_LATER = {"qk_norm": False, "window": None, "kernel": "softmax"}
ADD = "+"
GAP, SIDE = 0.22, 1.16  # between two parts; how far beside them the path runs


def draw_blocks(configs: Mapping[str, TransformerConfig]) -> dict[str, list[str]]:
    """One encoder layer of each configuration, side by side, read from below.

    Args:
        configs: name -> configuration, drawn from the left.

    Returns:
        name -> its parts from below; "+" where a branch comes back to the path it left.

    Raises:
        ValueError: a layer has a part that this drawing does not know.
    """
    parts = {name: _parts(config) for name, config in configs.items()}
    _, columns = new_figure(2.7 * len(parts), 4.6, columns=len(parts))
    for axes, (name, own) in zip(columns, parts.items(), strict=True):
        axes.set_title(name, fontsize=11)
        axes.axis("off")
        # A branch leaves where the one before it has come back, and been normalised if that is
        # how the layer ends.
        _draw(axes, own, {*NORMS.values()} if configs[name].norm == "post" else {ADD})
    return parts


def _parts(config: TransformerConfig) -> list[str]:
    _refuse_what_is_not_drawn(config, KNOWN)
    # The defaults of later parts are the paper's.
    later = config if isinstance(config, LaterConfig) else LaterConfig(**config.to_dict())
    _refuse_what_is_not_drawn(later, KNOWN_LATER)
    norm = [NORMS[later.norm_kind]]
    before = norm if config.norm == "pre" else []
    after = norm if config.norm == "post" else []
    attention = [f"attention, {config.num_heads} heads"]
    if later.heads_of_keys != later.num_heads:
        attention.append(f"{later.heads_of_keys} heads of keys and values")
    if later.relative_positions != "none":
        attention.append(DISTANCES[later.relative_positions])
    network = [f"network, {config.d_ff} wide", NETWORKS[later.network]]
    sub_layers = ("\n".join(lines) for lines in (attention, network))
    stack = [part for box in sub_layers for part in (*before, box, ADD, *after)]
    return [POSITIONS[config.positions], *stack]


def _refuse_what_is_not_drawn(config: TransformerConfig, known: Mapping[str, object]) -> None:
    for name, drawn in known.items():
        if (given := getattr(config, name)) != drawn:
            raise ValueError(f"{name} {given!r} cannot be drawn here; {drawn!r} can.")


def _draw(axes: Axes, parts: Sequence[str], leaves_at: Collection[str]) -> None:
    """The parts from below, and beside them the path that each branch leaves and comes back to."""
    low = leaves = 0.0
    for place, part in enumerate(parts):
        height = 0.34 if part == ADD else 0.5 + 0.28 * part.count("\n")
        middle, top = low + height / 2, low + height
        if part == ADD:
            axes.plot([0], [middle], "o", mfc="none", mec=TEXT, ms=14, mew=1)
            axes.plot([0, SIDE, SIDE], [leaves, leaves, middle], color=TEXT, lw=1)
            arrow = {"arrowstyle": "->", "color": TEXT, "lw": 1, "shrinkA": 0}
            axes.annotate("", (0.13, middle), (SIDE, middle), arrowprops=arrow)
        shade = next((c for name, c in SHADES.items() if part.startswith(name)), TEXT)
        if part != ADD:
            frame = FancyBboxPatch((-1, low), 2, height, "round,pad=0.03", fc="none", ec=shade)
            axes.add_patch(frame)
        axes.text(0, middle, part, ha="center", va="center", color=shade, fontsize=9)
        if part in leaves_at or place == 0:
            leaves = top + GAP / 2
        low = top + GAP
        if place + 1 < len(parts):
            axes.plot([0, 0], [top + 0.03, low - 0.03], color=TEXT, lw=1)
    axes.set_xlim(-1.15, SIDE + 0.14)
    axes.set_ylim(-0.1, low)
