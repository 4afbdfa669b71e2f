"""One visual language: a colour, a letter and a marker for each role, and one matplotlib style.

The palette was chosen by a search: at least 4.5 : 1 against the page and apart from each other
under simulated protanopia, deuteranopia and tritanopia (``test_figures.py`` measures both).
A role is never told by colour alone: it always comes with its letter or its marker.
"""

from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, LinearSegmentedColormap, Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.pyplot import draw_if_interactive, subplots

from annotated_transformer.figures.small_png import save_small

# role -> (colour on a light page, colour on a dark page)
PALETTE: dict[str, tuple[str, str]] = {
    "query": ("#3365B1", "#B1D9FA"),
    "key": ("#9E512A", "#FD6D3A"),
    "value": ("#198757", "#59FAA9"),
    "mask": ("#646464", "#969696"),
    "encoder": ("#B726E6", "#E756F9"),
    "decoder": ("#967101", "#FCE313"),
}
LETTERS = {"query": "Q", "key": "K", "value": "V", "mask": "M", "encoder": "E", "decoder": "D"}

# A picture is drawn once and shown on both pages, so its text is a grey that is legible on both.
TEXT = "#757575"
GRID = "#75757540"
# From 0 (nearly white) to 1 (dark violet); opaque, so that numbers in the cells read on any page.
WEIGHT_STOPS = ("#F6F4FB", "#CDC3EA", "#9A86CF", "#5E43A8", "#2A1463")
# From negative (rust) through 0 (nearly white) to positive (blue).
SIGNED_STOPS = ("#8A3D12", "#E3AE8D", "#F6F4F2", "#97B6E6", "#1C4B94")
# The same for small tables of numbers beside the roles: from sand through 0 to slate green, two
# colours that no role has.
NUMBER_STOPS = ("#7A6540", "#CDBE9C", "#F6F5F2", "#A5CBD2", "#356D7A")
# Where a shade only tells one row from another: from light to dark grey.
NEUTRAL_STOPS = ("#F2F2F2", "#7D7D7D")
BLOCKED = "#A9A9A9"

# For what is not about a role: colours that no role has, legible on both pages; dash and marker
# tell one from another before colour does.
LOOKS: tuple[tuple[str, Any, str], ...] = (
    ("#7B5FC7", "-", "o"),
    ("#8F7A55", "--", "s"),
    ("#4C8592", ":", "^"),
    ("#B0567F", "-.", "D"),
    ("#7D7D7D", (0, (1, 3)), "v"),
    ("#5C7F4A", "-", "P"),
    ("#A0622D", "--", "X"),
)
INKS = tuple(shade for shade, _, _ in LOOKS)

WEIGHT_COLOURS = LinearSegmentedColormap.from_list("weights", list(WEIGHT_STOPS))
SIGNED_COLOURS = LinearSegmentedColormap.from_list("signed", list(SIGNED_STOPS))
NUMBER_COLOURS = LinearSegmentedColormap.from_list("numbers", list(NUMBER_STOPS))
NEUTRAL_COLOURS = LinearSegmentedColormap.from_list("neutral", list(NEUTRAL_STOPS))

STYLE: Any = {  # Any: matplotlib's own type for these keys differs from version to version
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "figure.dpi": 144,
    "savefig.dpi": 144,
    "font.size": 11,
    "text.color": TEXT,
    "axes.labelcolor": TEXT,
    "axes.titlecolor": TEXT,
    "axes.titlesize": 12,
    "axes.edgecolor": TEXT,
    "xtick.color": TEXT,
    "ytick.color": TEXT,
    "axes.grid": False,
    "grid.color": GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.linewidth": 2.0,
    "lines.markersize": 6.0,
}


def colour(role: str, dark: bool = False) -> str:
    """The hex colour of a role ("query", "key", "value", "mask", "encoder", "decoder").

    Raises:
        KeyError: the role has no colour; the message lists those that have.
    """
    if role not in PALETTE:
        raise KeyError(f"{role!r} has no colour; the roles are {', '.join(PALETTE)}.")
    return PALETTE[role][1 if dark else 0]


def looks(count: int) -> tuple[tuple[str, Any, str], ...]:
    """Colour, dash and marker for each of so many things in one picture.

    Raises:
        ValueError: there are more things than looks.
    """
    if count > len(LOOKS):
        raise ValueError(
            f"{count} things are too many for one picture: {len(LOOKS)} can be told apart."
        )
    return LOOKS[:count]


def ink_on(background: str | tuple[float, float, float]) -> str:
    """Black or white, whichever is easier to read on ``background``."""
    red, green, blue = to_rgb(background)
    luminance = sum(
        weight * (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4)
        for weight, c in zip((0.2126, 0.7152, 0.0722), (red, green, blue), strict=True)
    )
    return "#000000" if luminance > 0.179 else "#FFFFFF"


def new_figure(
    width: float, height: float, columns: int = 1, rows: int = 1, **options: Any
) -> tuple[Figure, list[Axes]]:
    """A figure in the book's style with ``rows`` x ``columns`` axes, listed row by row.

    Sizes are in inches. The style is applied to this figure alone: a reader's own plots in the
    same notebook keep their settings.
    """
    # The first use of pyplot sets up the notebook's display, and a context would undo that again.
    draw_if_interactive()  # type: ignore[no-untyped-call]
    with rc_context(STYLE):
        figure, axes = subplots(
            rows, columns, figsize=(width, height), layout="constrained", squeeze=False, **options
        )
        # The colours are read when ticks and labels are made, so make them inside the context.
        figure.canvas.draw()
    save_small(figure)
    return figure, list(axes.flat)


def widen_first(axes: list[Axes], columns: int) -> list[Axes]:
    """Give the first axes the whole of the first line; those that stood beside it are removed."""
    grid = axes[0].get_gridspec()
    assert grid is not None
    axes[0].set_subplotspec(grid[0, :])
    for spare in axes[1:columns]:
        spare.remove()
    return [axes[0], *axes[columns:]]


def add_legend(place: Figure | Axes, **options: Any) -> None:
    """A legend without a frame, its words legible on both pages."""
    for text in place.legend(frameon=False, **options).get_texts():
        text.set_color(TEXT)


def add_colour_bar(
    figure: Figure, norm: Normalize, colours: Colormap, name: str | None = None, **options: Any
) -> None:
    """The bar that says what the colours mean, legible on both pages."""
    bar = figure.colorbar(ScalarMappable(norm, colours), **options)
    if name:
        bar.set_label(name, color=TEXT)
    bar.ax.tick_params(colors=TEXT, labelsize=9)
    bar.outline.set_edgecolor(TEXT)  # type: ignore[operator]
