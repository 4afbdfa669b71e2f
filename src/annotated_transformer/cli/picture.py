"""The picture that `translate --picture` draws: what each piece of a translation looked at."""

from pathlib import Path
from typing import TYPE_CHECKING

from annotated_transformer.cli.translation_files import refuse_to_overwrite
from annotated_transformer.errors import CallError, WorkError

if TYPE_CHECKING:
    from annotated_transformer.evaluation.translation import CrossAttention

PICTURES = (".png", ".svg", ".pdf")
CELL = 0.19  # inches, for a row of letters


def check_picture(path: Path) -> None:
    """Raises CallError if pictures are not written under such a name, or if there is one."""
    if path.suffix not in PICTURES:
        raise CallError(f"--picture {path}: expected a name that ends in {', '.join(PICTURES)}.")
    refuse_to_overwrite(path)


def save_picture(attention: "CrossAttention", path: Path) -> None:
    """A matrix for each head of the last layer: rows are what was written, columns what was read.

    Raises:
        WorkError: if the file cannot be written.
    """
    import matplotlib  # drawing needs a second to load, which other calls need not wait for

    matplotlib.use("agg")  # into a file, whether or not there is a screen
    from matplotlib import pyplot

    from annotated_transformer.figures import draw_weights

    heads = attention.weights[-1]  # (num_heads, n_tgt, n_src)
    titles = [f"layer {len(attention.weights)}, head {number + 1}" for number in range(len(heads))]
    columns = min(2, len(heads))
    draw_weights(heads, attention.target, attention.source, titles, columns, row_name="written")
    figure = pyplot.gcf()  # as wide as its words need: it is no page of the book
    figure.set_size_inches(
        2.2 + columns * max(1.5, CELL * len(attention.source)),
        1.5 + -(-len(heads) // columns) * (0.5 + max(1.5, CELL * len(attention.target))),
    )
    try:
        figure.savefig(path, facecolor="white", transparent=False, bbox_inches="tight")
    except OSError as error:
        raise WorkError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        pyplot.close(figure)
