"""The model as one drawing to walk through: every box is a link to the chapter that builds it.

Drawn after Figure 1 of the paper, as text (SVG), so that it can be read aloud, searched, walked
with the keyboard and shown in light and dark. No script, and the same output at every run.
"""

import html
from dataclasses import dataclass
from itertools import pairwise

from IPython.display import display

from annotated_transformer.figures.style import PALETTE

WIDTH, HEIGHT = 400, 650
START, ATTENTION, HEADS = "00_start_here", "02_attention", "03_multi_head"
POSITIONS, ENCODER, DECODER = "04_positional_encoding", "05_encoder", "06_decoder"
TITLES = {
    START: "chapter 0",
    ATTENTION: "chapter 2",
    HEADS: "chapter 3",
    POSITIONS: "chapter 4",
    ENCODER: "chapter 5",
    DECODER: "chapter 6",
}


@dataclass(frozen=True)
class Box:
    """One part of the model: what it is called, what it does, where it is built and drawn."""

    name: str
    does: str  # one sentence, read aloud with the name
    chapter: str
    role: str  # of the palette
    column: int  # 0 is the encoder's, 1 the decoder's
    y: int  # of the upper edge
    height: int = 34

    @property
    def lines(self) -> list[str]:
        """The name, broken where it is too long for its box."""
        return self.name.split(" / ")

    @property
    def x(self) -> int:
        """Of the left edge."""
        return (26, 226)[self.column]


BOX_WIDTH = 148
STACKS = ((0, 270, 222), (1, 156, 336))  # column, y, height of the frame around a layer


def _add_and_norm(column: int, y: int) -> Box:
    does = "The input is added, the sum normalised."
    return Box("Add, LayerNorm", does, ENCODER, "mask", column, y, height=30)


def _feed_forward(column: int, y: int) -> Box:
    does = "Two linear layers at each position."
    return Box("Feed-forward", does, ENCODER, "value", column, y)


# From the bottom to the top, as the numbers flow: first the encoder's column, then the decoder's.
BOXES = (
    Box("Source tokens", "The sentence to translate, as token ids.", START, "encoder", 0, 610),
    Box(
        "Embedding × √d",
        "Each id becomes a vector, times the square root of d_model.",
        ENCODER,
        "encoder",
        0,
        556,
    ),
    Box("+ positions", "Where each token stands is added.", POSITIONS, "encoder", 0, 502),
    Box(
        "Multi-head / self-attention",
        "Every position reads every other one.",
        HEADS,
        "query",
        0,
        430,
        42,
    ),
    _add_and_norm(0, 382),
    _feed_forward(0, 326),
    _add_and_norm(0, 278),
    Box("Target so far", "What has been written, shifted right.", DECODER, "decoder", 1, 610),
    Box("Embedding × √d", "The same table as the encoder's.", DECODER, "decoder", 1, 556),
    Box("+ positions", "Where each token stands is added.", POSITIONS, "decoder", 1, 502),
    Box(
        "Masked / self-attention",
        "Every position reads itself and what stands before it.",
        ATTENTION,
        "query",
        1,
        430,
        42,
    ),
    _add_and_norm(1, 380),
    Box(
        "Cross-attention",
        "Queries from the decoder; keys and values from the encoder's output.",
        DECODER,
        "key",
        1,
        322,
        36,
    ),
    _add_and_norm(1, 272),
    _feed_forward(1, 214),
    _add_and_norm(1, 164),
    Box(
        "Linear (tied)",
        "The embedding table once more: a score for every token.",
        DECODER,
        "decoder",
        1,
        92,
    ),
    Box("Softmax", "Scores become probabilities.", ATTENTION, "decoder", 1, 38),
)

STYLE = "".join(
    [
        "<style>.at-model{max-width:30em;margin:0 auto;",
        *(f"--at-{role}:{light};" for role, (light, _) in PALETTE.items()),
        "}html[data-theme=dark] .at-model,html[theme=dark] .at-model,",
        "body[data-jp-theme-light=false] .at-model{",
        *(f"--at-{role}:{dark};" for role, (_, dark) in PALETTE.items()),
        "}.at-model svg{display:block;width:100%;height:auto;font-family:inherit;font-size:13px}",
        ".at-model text{fill:currentColor;text-anchor:middle}",
        ".at-model .at-note{font-size:12px}",
        ".at-model rect{fill:transparent;stroke:currentColor;stroke-width:1.2}",
        ".at-model a rect{fill:var(--at-box);fill-opacity:.12;stroke:var(--at-box);",
        "stroke-width:1.5}",
        ".at-model a:hover rect,.at-model a:focus rect{fill-opacity:.3;stroke-width:3}",
        ".at-model a:focus{outline:none}.at-model a{text-decoration:none;color:inherit}",
        ".at-model .at-here rect{fill-opacity:.3;stroke-width:3}",
        ".at-model path{fill:none;stroke:currentColor;stroke-width:1.3}",
        ".at-model marker path{fill:currentColor;stroke:none}</style>",
    ]
)


def show_architecture(here: str | None = None) -> dict[str, list[str]]:
    """The model of Figure 1; each box leads to its chapter.

    Args:
        here: the chapter that shows it, such as "05_encoder": its boxes are drawn heavier.

    Returns:
        The names of the boxes by the chapter that builds them.

    Raises:
        ValueError: if no box belongs to `here`.
    """
    by_chapter: dict[str, list[str]] = {chapter: [] for chapter in TITLES}
    for box in BOXES:
        by_chapter[box.chapter].append(" ".join(box.lines))
    if here is not None and here not in by_chapter:
        raise ValueError(f"{here!r} builds no box; these do: {', '.join(by_chapter)}.")
    text = "\n".join(f"{TITLES[box.chapter]}: {' '.join(box.lines)}. {box.does}" for box in BOXES)
    bundle = {"text/html": architecture_markup(here), "text/plain": text}
    display(bundle, raw=True)  # type: ignore[no-untyped-call]
    return by_chapter


def architecture_markup(here: str | None = None, folder: str = "") -> str:
    """The drawing as HTML: a style sheet and one SVG.

    Args:
        here: the chapter that shows it.
        folder: where the chapters lie from the page that shows it, such as "../notebooks/".
    """
    parts = [
        STYLE,
        '<div class="at-model">',
        f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'role="group" aria-label="The Transformer, drawn after Figure 1 of the paper: an encoder '
        "on the left, a decoder on the right. Each box "
        'is a link to its chapter.">',
        '<defs><marker id="at-arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto-start-reverse"><path d="M0 0 8 4 0 8z"/></marker></defs>',
    ]
    for column, y, height in STACKS:
        x = (10, 210)[column]
        parts.append(f'<rect x="{x}" y="{y}" width="180" height="{height}" rx="10"/>')
    parts += _arrows()
    parts += [
        '<text class="at-note" x="52" y="262">Encoder</text>',
        '<text class="at-note" x="148" y="262">N = 6 layers</text>',
        '<text class="at-note" x="252" y="148">Decoder</text>',
        '<text class="at-note" x="348" y="148">N = 6 layers</text>',
        '<text class="at-note" x="300" y="13">probabilities of the next token</text>',
    ]
    parts += [_box(box, box.chapter == here, folder) for box in BOXES]
    return "".join([*parts, "</svg></div>"])


def _box(box: Box, is_here: bool, folder: str) -> str:
    side = ("encoder", "decoder")[box.column]
    name = " ".join(box.lines)
    spoken = html.escape(f"{name}, {side}, {TITLES[box.chapter]}. {box.does}", quote=True)
    middle = box.y + box.height / 2 + 4.5 - 8 * (len(box.lines) - 1)
    lines = "".join(
        f'<text x="{box.x + BOX_WIDTH / 2:g}" y="{middle + 16 * i:g}">{html.escape(line)}</text>'
        for i, line in enumerate(box.lines)
    )
    here = ' class="at-here"' if is_here else ""
    return (  # xlink: JupyterLab takes a plain href for HTML's, and fails on it
        f'<a xlink:href="{folder}{box.chapter}.ipynb" aria-label="{spoken}"{here} '
        f'style="--at-box:var(--at-{box.role})"><title>{spoken}</title>'
        f'<rect x="{box.x}" y="{box.y}" width="{BOX_WIDTH}" height="{box.height}" rx="6"/>'
        f"{lines}</a>"
    )


def _arrows() -> list[str]:
    """From box to box, past each sub-layer, and from the encoder to the cross-attention."""
    arrows = []
    for column in (0, 1):
        boxes = [box for box in BOXES if box.column == column]
        middle = boxes[0].x + BOX_WIDTH / 2
        ends = [(below.y, above.y + above.height) for below, above in pairwise(boxes)]
        ends += [(38, 20)] if column else []
        arrows += [f"M{middle:g} {start}V{end}" for start, end in ends if start - end > 5]
        for sublayer, add in pairwise(boxes):
            if add.name.startswith("Add"):  # the residual connection, on the outer side
                edge, side = (add.x, -9) if column == 0 else (add.x + BOX_WIDTH, 9)
                arrows.append(
                    f"M{middle:g} {sublayer.y + sublayer.height + 9}H{edge + side}"
                    f"V{add.y + add.height // 2}H{edge}"
                )
    arrows.append("M100 278V236Q100 228 108 228H192Q200 228 200 236V332Q200 340 208 340H226")
    return [f'<path d="{path}" marker-end="url(#at-arrow)"/>' for path in arrows]
