"""Counts of Table 1's layers against counts by hand; reach against arithmetic."""

import math

import numpy as np
import pytest
import torch

from annotated_transformer.experiments import layers_compared as compared
from annotated_transformer.figures import touch_reach
from annotated_transformer.figures.plotly_renderer import figure_json


@pytest.fixture(autouse=True)
def _seeded():
    torch.manual_seed(0)


def test_multiply_adds_are_those_of_table_1():
    n, d, k = 12, 8, 3
    assert compared.multiply_adds(compared.recurrent(d), n, d) == 2 * n * d**2  # W x and U h
    assert compared.multiply_adds(compared.convolution(d, k), n, d) == k * n * d**2
    assert compared.multiply_adds(compared.self_attention(d), n, d) == 2 * n**2 * d  # twice


def test_only_the_recurrent_layer_waits_longer_for_longer_input():
    def waits(layer, n):
        return compared.waiting_operations(layer, n, 8)

    recurrent, convolution, attention = (
        compared.recurrent(8), compared.convolution(8), compared.self_attention(8)
    )  # fmt: skip
    steps = waits(recurrent, 20) - waits(recurrent, 10)
    assert steps > 0
    assert waits(recurrent, 3000) - waits(recurrent, 2990) == steps
    assert waits(convolution, 10) == waits(convolution, 3000)
    assert waits(attention, 10) == waits(attention, 300)


def test_waiting_operations_of_a_known_chain():
    def chain(x):
        y = x.exp().sin() + x  # exp, sin, add: the short way does not count
        return y.cos()

    assert compared.waiting_operations(chain, 3, 2) == 5  # and the input itself


@pytest.mark.parametrize("n", [9, 27, 81])
def test_layers_to_reach(n):
    d, k = 8, 3
    contiguous = compared.layers_to_reach(lambda _: compared.convolution(d, k), n, d)
    dilated = compared.layers_to_reach(lambda i: compared.convolution(d, k, k**i), n, d)
    assert contiguous == math.ceil((n - 1) / (k - 1))
    assert dilated == round(math.log(n, k))
    assert compared.layers_to_reach(lambda _: compared.self_attention(d), n, d) == 1
    assert compared.layers_to_reach(lambda _: compared.recurrent(d), n, d) == 1


def test_a_layer_that_does_not_look_back_is_no_endless_search():
    with pytest.raises(ValueError, match=r"After 5 layers .* do the layers look back"):
        compared.layers_to_reach(lambda _: compared.convolution(4, 1), 5, 4)
    assert compared.layers_to_reach(lambda _: compared.convolution(4, 2), 5, 4) == 4


def test_a_convolution_reaches_what_its_kernel_reads():
    seen = compared.reached(compared.convolution(8, 3, dilation=2), 7, 8)
    assert np.flatnonzero(seen).tolist() == [2, 4, 6]


def test_every_handover_of_a_recurrent_layer_is_necessary():
    assert compared.necessary_handovers(12, 8) == 11


def test_seconds_has_a_positive_time_for_each_length():
    times = compared.seconds({"attention": compared.self_attention(8)}, [4, 8], 8, repeats=2)
    assert len(times["attention"]) == 2
    assert min(times["attention"]) > 0


def test_seconds_gives_each_layer_the_lengths_and_the_batch_asked_for():
    shapes = set()

    def layer(x):
        shapes.add(tuple(x.shape))
        return x

    compared.seconds({"layer": layer}, [4, 8], 3, batch=5, repeats=1)
    assert shapes == {(5, 4, 3), (5, 8, 3)}
    shapes.clear()
    compared.seconds({"layer": layer}, [4], 3, repeats=1)
    assert shapes == {(1, 4, 3)}


def test_a_coarse_clock_does_no_harm(monkeypatch):
    """On a clock of 64 ticks a second; a pass takes n * 20 µs, the first of a turn much longer."""
    now, before = 0.003, None

    def layer(x):
        nonlocal now, before
        now += 20e-6 * x.size(1) if before is x else 0.02
        before = x
        return x

    def other(x):
        nonlocal now, before
        now, before = now + 0.3, None
        return x

    monkeypatch.setattr(compared, "process_time", lambda: now * 64 // 1 / 64)
    times = compared.seconds({"layer": layer, "other": other}, [5, 50, 500, 5000], 1)
    # Off by one tick in four at most, as 0.05 s are 3.2 ticks.
    assert times["layer"] == pytest.approx([1e-4, 1e-3, 1e-2, 0.1], rel=0.25)
    assert times["other"] == pytest.approx([0.3] * 4, rel=0.1)


def test_figure_shows_what_is_reached(monkeypatch):
    shown = []
    monkeypatch.setattr(
        "annotated_transformer.figures.reach.show_figure",
        lambda figure, label: shown.append(figure),
    )
    seen = {"a": [[False, True], [True, True]], "b": [[True, True], [True, True]]}
    assert touch_reach(seen, "label")["counts"] == {"a": [1, 2], "b": [2, 2]}
    figure = figure_json(shown[0])
    (slider,) = figure["layout"]["sliders"]
    assert [step["label"] for step in slider["steps"]] == ["1", "2"]
    assert figure["data"][0]["z"] == [[0, 1], [1, 1]]
    assert slider["steps"][1]["args"][0]["z"] == [[[1, 1], [1, 1]]]
    assert slider["steps"][1]["args"][1]["yaxis.ticktext"] == ["a<br>2 of 2", "b<br>2 of 2"]


def test_gradient_sizes_of_a_sum_that_halves():
    def halving(x):
        weights = 0.5 ** torch.arange(x.size(1), dtype=x.dtype).flip(0)  # the last counts in full
        return (x * weights[:, None]).sum(1, keepdim=True)

    sizes = compared.gradient_sizes(halving, 4, 9)
    assert sizes == pytest.approx([3.0, 1.5, 0.75, 0.375])  # sqrt(9) times 1, 1/2, 1/4, 1/8
