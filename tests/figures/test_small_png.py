"""The pictures of the book are small, and look as they were drawn."""

import io

import numpy as np
import pytest
from IPython.core.pylabtools import print_figure
from matplotlib import pyplot, use
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from annotated_transformer.figures import draw_curves, draw_weights
from annotated_transformer.figures.small_png import in_palette

PAGES = (255, 18)  # the grey of a light and of a dark one


@pytest.fixture(autouse=True)
def _closed():
    use("agg")
    yield
    pyplot.close("all")


def drawn(what: str) -> Figure:
    numbers = np.random.default_rng(0).random((12, 12))
    if what == "curves":
        draw_curves(np.arange(12), {"one": numbers[0], "two": numbers[1]}, "step", "loss")
    else:
        words = list("abcdefghijkl")
        draw_weights(numbers / numbers.sum(1, keepdims=True), words, words)
    return pyplot.gcf()


def pixels(png: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGBA"))


def on_page(seen: np.ndarray, page: int) -> np.ndarray:
    opacity = seen[..., 3:] / 255
    return seen[..., :3] * opacity + page * (1 - opacity)


@pytest.mark.parametrize("what", ["curves", "weights"])
def test_what_a_notebook_keeps_is_small_and_looks_the_same(what):
    small, whole = print_figure(drawn(what)), print_figure(FigureCanvasAgg(drawn(what)).figure)
    assert small == print_figure(drawn(what))
    assert len(small) < 0.6 * len(whole)
    ours, theirs = pixels(small), pixels(whole)
    assert ours.shape == theirs.shape
    assert Image.open(io.BytesIO(small)).mode == "P"
    for page in PAGES:
        differences = np.abs(on_page(ours, page) - on_page(theirs, page))
        assert differences.max() < 64  # at an edge
        assert differences.mean() < 0.5
    colours, counts = np.unique(theirs.reshape(-1, 4), axis=0, return_counts=True)
    flat = {tuple(one) for one in colours[np.argsort(-counts)[:100]] if one[3] > 127}
    assert flat <= {tuple(one) for one in np.unique(ours.reshape(-1, 4), axis=0)}


def test_few_colours_stay_to_the_bit():
    chosen = np.random.default_rng(0).integers(256, size=(256, 4), dtype=np.uint8)
    chosen[:, 3] = 255
    picture = np.random.default_rng(1).permutation(np.repeat(chosen, 8, 0)).reshape(32, 64, 4)
    saved = io.BytesIO()
    in_palette(picture).save(saved, format="png")
    assert (pixels(saved.getvalue()) == picture).all()


def test_a_readers_own_plots_and_own_options_are_matplotlibs():
    figure = drawn("curves")
    saved = io.BytesIO()
    figure.savefig(saved, metadata={"Author": "me"})
    assert Image.open(saved).info["Author"] == "me"
    own, _ = pyplot.subplots()
    assert Image.open(io.BytesIO(print_figure(own))).mode == "RGBA"
