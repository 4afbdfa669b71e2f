"""Table 1 measured (section 4): exponents with intervals, crossovers, time on any device.

Chapter 13 uses them, and chapter 1 the exponents. Layers are those of `layers_compared`, functions
from (1, n, d) to (1, n, d); the two that chapter 1 does not have are here.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from time import perf_counter

import torch
from torch import Tensor, nn
from torch.nn import functional

from annotated_transformer.evidence.ablation.intervals import t_975
from annotated_transformer.experiments.layers_compared import Layer
from annotated_transformer.experiments.restricted import restricted_attention
from annotated_transformer.training.devices import wait_for


def restricted(d: int, r: int, tile: int | None = None) -> Layer:
    """Self-attention to the r positions around each one, r odd, without projections."""
    side = (r - 1) // 2
    if r % 2 == 0:
        raise ValueError(f"r = {r} has no middle: give an odd number, such as {r + 1}.")

    def layer(x: Tensor) -> Tensor:
        assert x.size(-1) == d
        return restricted_attention(x, x, x, side, side, tile)

    return layer


def separable_convolution(d: int, k: int) -> Layer:
    """A convolution in two: k numbers for each feature by itself, then one d × d matrix."""
    along, across = nn.Conv1d(d, d, k, groups=d), nn.Linear(d, d)

    def layer(x: Tensor) -> Tensor:
        padded = functional.pad(x.transpose(1, 2), (k - 1, 0))  # (1, d, k - 1 + n): looks back
        mixed: Tensor = across(along(padded).transpose(1, 2))
        return mixed

    return layer


@dataclass(frozen=True)
class Fit:
    """An exponent, and between which two the true one lies with 95 % confidence.

    The interval says how well the points lie on one straight line of logarithms. It does not say
    whether the line goes on beyond them.
    """

    exponent: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.exponent:.2f} ({self.low:.2f} to {self.high:.2f})"


def fit_power(sizes: Sequence[float], values: Sequence[float]) -> Fit:
    """e of c · size^e by least squares of the logarithms, with Student's t for its interval.

    Args:
        sizes, values: 3 or more points, all finite and above 0; at least two sizes differ.

    Raises:
        ValueError: the points are not such.
    """
    free = len(sizes) - 2  # degrees of freedom: the points, less the two numbers of a line
    if free < 1 or len(sizes) != len(values):
        raise ValueError(
            f"{len(sizes)} sizes and {len(values)} values were given: an interval needs 3 or more, "
            "as many of both."
        )
    _check_powers(sizes, values)
    if len(set(sizes)) == 1:
        raise ValueError(f"all sizes are {sizes[0]}: one size has no slope, give several.")
    x = torch.tensor(sizes, dtype=torch.float64).log()
    y = torch.tensor(values, dtype=torch.float64).log()
    x, y = x - x.mean(), y - y.mean()
    slope = float((x @ y) / (x @ x))
    residuals = y - slope * x
    error = math.sqrt(float(residuals @ residuals) / free / float(x @ x))
    half = t_975(free) * error
    return Fit(slope, slope - half, slope + half)


def crossover(
    sizes: Sequence[float], first: Sequence[float], second: Sequence[float]
) -> float | None:
    """The size from which on `first` is not below `second`, or None where it is below at the end.

    Between two sizes both curves are taken as powers, straight lines of logarithms. Where they
    cross more than once the last crossing counts, also when `first` starts above: what lies before
    is not looked at.

    Args:
        sizes: at least one, in ascending order.
        first, second: a value for each size, all finite and above 0.

    Raises:
        ValueError: `first` is nowhere below: the crossing lies before the first size. Or the
            arguments are not such.
    """
    if not len(sizes) == len(first) == len(second) > 0:
        raise ValueError(
            f"{len(sizes)} sizes, {len(first)} and {len(second)} values were given: each size has "
            "one value of both curves, and there is at least one."
        )
    _check_powers(sizes, first, second)
    if any(b <= a for a, b in pairwise(sizes)):
        raise ValueError(f"sizes = {list(sizes)} do not ascend: sort the points by their size.")
    ahead = [math.log(b / a) for a, b in zip(first, second, strict=True)]  # above 0: first is below
    below = [place for place, lead in enumerate(ahead) if lead > 0]
    if not below:
        raise ValueError(f"the curves cross before the first size, {sizes[0]}: add smaller ones.")
    last = below[-1]
    if last == len(sizes) - 1:
        return None
    share = ahead[last] / (ahead[last] - ahead[last + 1])
    return float(sizes[last] ** (1 - share) * sizes[last + 1] ** share)


def _check_powers(*numbers: Sequence[float]) -> None:
    if not all(math.isfinite(x) and x > 0 for some in numbers for x in some):
        raise ValueError(
            "a power of a size has a logarithm: sizes and values must be finite and above 0."
        )


@torch.no_grad()
def seconds_on(
    device: str, build: Mapping[str, Callable[[], Layer]], lengths: Sequence[int], d: int
) -> dict[str, list[float]]:
    """Time that passes in one run of each layer on a device, the shortest of five turns.

    For a GPU, which computes while the processor goes on: each turn waits until it is done.
    `layers_compared.seconds` is the measure for a processor.

    Args:
        build: name -> a function that makes the layer; its weights are made on the device.
    """
    with torch.device(device):
        layers = {name: make() for name, make in build.items()}
        inputs = [torch.randn(1, n, d) for n in lengths]
    best = {name: [math.inf] * len(inputs) for name in layers}
    for turn in range(6):
        for place, x in enumerate(inputs):
            for name, layer in layers.items():
                wait_for(torch.device(device))
                start = perf_counter()
                layer(x)
                wait_for(torch.device(device))
                if turn:  # the first one prepares its operations
                    best[name][place] = min(best[name][place], perf_counter() - start)
    return best
