"""Pictures saved as PNG with a palette: less than half the bytes in notebooks, which keep them.

The flat colours of a picture stay what they are. The hundreds of others, at the edges of letters
and lines, are each replaced by the nearest of a few.
"""

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image

KEPT = 192  # colours that stay to the bit: those of most pixels
EDGES = 64  # colours at most that stand for all others


class SmallPngCanvas(FigureCanvasAgg):
    """Agg's canvas, apart from how it saves a PNG."""

    def print_png(self, filename_or_obj: Any, **options: Any) -> None:
        """Save with a palette; as Agg does if there are options of its own for the file."""
        if options.get("metadata") or options.get("pil_kwargs"):
            names = ("metadata", "pil_kwargs")
            given = {name: options.get(name) for name in names}
            super().print_png(filename_or_obj, **given)  # type: ignore[no-untyped-call]
            return
        self.draw()  # type: ignore[no-untyped-call]
        resolution = (self.figure.dpi, self.figure.dpi)
        picture = in_palette(np.asarray(self.buffer_rgba()))  # type: ignore[no-untyped-call]
        picture.save(filename_or_obj, format="png", optimize=True, dpi=resolution)


def save_small(figure: Figure) -> None:
    """From now on the figure's PNGs have a palette, if Agg draws it, as in notebooks and files."""
    drawn_by = figure.canvas
    if type(drawn_by) is FigureCanvasAgg:
        SmallPngCanvas(figure).manager = drawn_by.manager


def in_palette(pixels: NDArray[np.uint8]) -> Image.Image:
    """The picture with at most 256 colours; the same pixels give the same picture.

    Args:
        pixels: red, green, blue, opacity, (rows, columns, 4).
    """
    numbers = np.ascontiguousarray(pixels).view(np.uint32).reshape(-1)  # (rows * columns,)
    colours, places, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    palette = colours
    if len(colours) > KEPT + EDGES:
        coarse = Image.fromarray(pixels).quantize(EDGES, method=Image.Quantize.FASTOCTREE)
        others = np.asarray(coarse.convert("RGBA")).view(np.uint32).reshape(-1)
        most = np.argsort(-counts, kind="stable")[:KEPT]
        palette = np.union1d(colours[most], others)
    distances = _as_seen(colours)[:, None] - _as_seen(palette)  # (colours, palette, 4)
    nearest = (distances**2).sum(-1).argmin(-1).astype(np.uint8)  # (colours,)
    rows, columns, _ = pixels.shape
    picture = Image.frombytes("P", (columns, rows), nearest[places].tobytes())
    picture.putpalette(palette.tobytes(), "RGBA")
    return picture


def _as_seen(numbers: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Colours in front of black, and their opacity, (n, 4): all clear ones are the same."""
    channels = numbers.view(np.uint8).reshape(-1, 4).astype(np.int64)
    channels[:, :3] = channels[:, :3] * channels[:, 3:] // 255
    return channels
