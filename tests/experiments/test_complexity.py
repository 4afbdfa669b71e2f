"""Fits, crossovers and the two layers of chapter 13, against cases known by hand."""

import math

import pytest
import torch

from annotated_transformer.experiments import complexity
from annotated_transformer.experiments import layers_compared as compared
from annotated_transformer.experiments.complexity import Fit, crossover, fit_power


def test_a_power_is_found_and_its_interval_is_a_point() -> None:
    fit = fit_power([64, 128, 256, 512], [3 * n**1.5 for n in (64, 128, 256, 512)])
    assert fit.low == pytest.approx(fit.exponent) == pytest.approx(fit.high) == pytest.approx(1.5)


def test_an_interval_by_hand() -> None:
    """Points at 1, e, e² with logarithms 0, 1, 5: slope 2.5, residuals 0.5, -1, 0.5."""
    sizes, values = [1, math.e, math.e**2], [1, math.e, math.e**5]
    fit = fit_power(sizes, values)
    half = 12.706 * math.sqrt(1.5 / 1 / 2)  # t(1) · sqrt(sum of squares / free / spread)
    assert fit.exponent == pytest.approx(2.5)
    assert (fit.low, fit.high) == pytest.approx((2.5 - half, 2.5 + half))
    assert str(Fit(2.5, 1.25, 3.75)) == "2.50 (1.25 to 3.75)"


@pytest.mark.parametrize("points", [3, 5, 12, 40])
def test_19_of_20_intervals_hold_the_true_exponent(points: int) -> None:
    """Also holds the table of Student's t against draws that nobody here made."""
    generator = torch.Generator().manual_seed(points)
    sizes = [2.0**i for i in range(points)]
    noise = torch.randn(2000, points, generator=generator, dtype=torch.float64) * 0.3
    fits = [fit_power(sizes, (torch.tensor(sizes) ** 2 * row.exp()).tolist()) for row in noise]
    share = sum(fit.low <= 2 <= fit.high for fit in fits) / len(fits)
    assert 0.935 < share < 0.965


@pytest.mark.parametrize(
    ("sizes", "values", "complaint"),
    [
        ([1, 2], [1, 2], "2 sizes and 2 values were given: an interval needs 3 or more"),
        ([1, 2, 3], [1, 2, 3, 4], "3 sizes and 4 values"),
        ([0, 1, 2], [1, 2, 3], "above 0"),
        ([1, 2, 3], [1, 0, 3], "above 0"),
        ([1, 2, 3], [1, math.nan, 3], "finite"),
        ([1, 2, math.inf], [1, 2, 3], "finite"),
        ([4, 4, 4], [1, 2, 3], "all sizes are 4"),
    ],
)
def test_what_cannot_be_fitted_is_refused(sizes, values, complaint) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=complaint):
        fit_power(list(sizes), list(values))


def test_a_crossing_of_two_powers_is_exact() -> None:
    sizes = [16, 64, 256, 1024]
    square, line = [n**2 for n in sizes], [100 * n for n in sizes]
    assert crossover(sizes, square, line) == pytest.approx(100)
    assert crossover(sizes, line, [5 * n**0.5 * 100 for n in sizes]) == pytest.approx(25)
    assert crossover([16, 64], [1, 1], [2, 2]) is None
    with pytest.raises(ValueError, match="before the first size, 16"):
        crossover(sizes, line, square[:1] * 4)


def test_the_last_crossing_counts_where_a_measurement_wavers() -> None:
    assert crossover([1, 2, 4, 8], [1, 3, 1, 4], [2, 2, 2, 2]) == pytest.approx(4 * 2**0.5)


def test_a_curve_that_starts_above_is_below_only_up_to_the_last_crossing() -> None:
    assert crossover([1, 2, 4], [3, 1, 4], [2, 2, 2]) == pytest.approx(2 * 2**0.5)
    assert crossover([1, 2, 4], [3, 1, 1], [2, 2, 2]) is None


@pytest.mark.parametrize(
    ("sizes", "first", "second", "complaint"),
    [
        ([], [], [], "0 sizes, 0 and 0 values"),
        ([1, 2, 3], [1, 2], [1, 2], "3 sizes, 2 and 2 values"),
        ([1, 2], [1, 2], [1, 2, 3], "2 sizes, 2 and 3 values"),
        ([1, 2], [1, math.nan], [2, 1], "finite"),
        ([1, 2], [1, 2], [math.inf, 1], "finite"),
        ([1, 2], [0, 2], [1, 1], "above 0"),
        ([1, 4, 2], [1, 3, 1], [2, 2, 2], "do not ascend"),
        ([1, 1], [1, 3], [2, 2], "do not ascend"),
    ],
)
def test_what_has_no_crossing_is_refused(sizes, first, second, complaint) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=complaint):
        crossover(sizes, first, second)


def test_two_layers_cost_what_table_1_and_section_4_say() -> None:
    n, d, k = 40, 8, 5
    separable = complexity.separable_convolution(d, k)
    assert compared.multiply_adds(separable, n, d) == k * n * d + n * d**2
    assert compared.multiply_adds(complexity.restricted(d, 5, tile=1), n, d) == 2 * 5 * n * d


def test_a_separable_convolution_looks_back_k_positions() -> None:
    torch.manual_seed(0)
    layer = complexity.separable_convolution(4, 3)
    assert layer(torch.zeros(1, 9, 4)).shape == (1, 9, 4)
    assert compared.reached(layer, 9, 4) == [False] * 6 + [True] * 3


def test_a_neighbourhood_has_a_middle() -> None:
    seen = compared.reached(complexity.restricted(4, 5), 9, 4)
    assert seen == [False] * 6 + [True] * 3  # the last position has no one behind it
    with pytest.raises(ValueError, match="r = 4 has no middle"):
        complexity.restricted(4, 4)


def test_time_on_a_device_is_of_every_layer_at_every_length() -> None:
    build = {"attention": lambda: compared.self_attention(8), "rnn": lambda: compared.recurrent(8)}
    times = complexity.seconds_on("cpu", build, [4, 16], 8)
    assert times.keys() == build.keys()
    assert all(len(measured) == 2 and min(measured) > 0 for measured in times.values())
