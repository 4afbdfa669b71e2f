"""The figures of chapter 0 return what they show."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
import torch

from annotated_transformer import figures
from annotated_transformer.figures.tensors import Shape

SHAPES: list[Shape] = [s for k in range(3) for s in itertools.product((1, 2), repeat=k)]


def torch_says(*shapes: Shape) -> Shape | None:
    try:
        return tuple(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]
    except RuntimeError:
        return None


@pytest.mark.parametrize(
    "shapes", [((4, 1), (3,)), ((2, 4, 5), (2, 4)), ((2, 1, 4), (3, 1), (5, 1, 1, 1)), ((1,), (1,))]
)
def test_broadcast_draws_what_torch_does(shapes: tuple[Shape, ...]) -> None:
    case = [(f"operand {i}", shape) for i, shape in enumerate(shapes)]
    assert figures.draw_broadcast([case]) == [torch_says(*shapes)]
    axes = plt.gcf().axes[0]
    last = axes.get_yticklabels()[-1].get_text()
    assert last == ("error" if torch_says(*shapes) is None else "result")


def test_broadcast_agrees_with_torch_on_every_pair_of_short_shapes() -> None:
    for first, second in itertools.product(SHAPES, SHAPES):
        if first or second:
            drawn = figures.draw_broadcast([[("a", first), ("b", second)]])
            assert drawn == [torch_says(first, second)], (first, second)
            plt.close("all")


def test_broadcast_writes_what_is_stretched() -> None:
    figures.draw_broadcast([[("a", (4, 1)), ("b", (3,))]])
    words = {text.get_text() for text in plt.gcf().axes[0].texts}
    assert {"4", "3", "1 → 3", "→ 4"} <= words


def test_batch_returns_the_framed_vector() -> None:
    x = torch.arange(24.0).view(2, 3, 4)
    framed = figures.draw_batch(x, [["a", "b", "c"]] * 2, (1, 2))
    assert framed.tolist() == [20, 21, 22, 23]
    assert len(plt.gcf().axes) == 2


def test_view_and_transpose_hold_the_same_numbers_in_another_order() -> None:
    data = figures.draw_view_and_transpose(2, 3)
    x = torch.from_numpy(data["x"].copy())
    assert data["memory"].ravel().tolist() == x.flatten().tolist()
    assert np.array_equal(data["view"], x.view(3, 2).numpy())
    assert np.array_equal(data["transpose"], x.T.numpy())
    assert not np.array_equal(data["view"], data["transpose"])


def test_bleu_by_cost_places_each_system_at_its_numbers() -> None:
    systems = [
        figures.System("old", "single", 1e19, 25.0),
        figures.System("old × 8", "ensemble", 8e19, 26.0, below=True),
        figures.System("new", "this paper", 3e18, 27.0),
    ]
    assert list(figures.draw_bleu_by_cost(systems).items())[-1] == ("new", 27.0)
    axes = plt.gcf().axes[0]
    assert axes.get_xscale() == "log"
    places = {tuple(p) for c in axes.collections for p in np.asarray(c.get_offsets()).tolist()}
    assert places == {(s.flops, s.bleu) for s in systems}
