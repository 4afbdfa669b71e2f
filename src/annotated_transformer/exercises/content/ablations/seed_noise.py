"""`ablations.seed_noise`: is a difference of two variants larger than that of two seeds?"""

import math
import statistics

import numpy as np
import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

_SCORES: dict[str, tuple[list[float], list[float]]] = {
    "two runs each": ([25.0, 26.0], [24.0, 24.4]),
    "5 and 3 runs": ([25.3, 25.9, 25.1, 25.6, 25.7], [25.2, 25.4, 24.7]),
    "3 and 6 runs, b ahead": ([24.1, 24.5, 24.2], [25.6, 25.1, 25.8, 25.2, 25.5, 25.0]),
    "4 and 3 runs, much noise": ([20.0, 27.0, 24.0, 25.4], [21.2, 23.9, 25.2]),
    "a little less than two errors": ([25.0, 25.6, 25.2, 25.8], [24.67, 25.17, 24.97]),
    "a little more than two errors": ([27.1, 26.2, 26.9], [26.26, 26.36, 25.56, 25.76]),
    "b ahead by less than an error": ([25.1, 25.7], [25.6, 25.3, 26.0, 25.2]),
    "more than three errors": ([25.9, 25.7, 25.8, 25.9], [25.1, 25.6, 25.3]),
    "a little less than three errors": (
        [25.6, 25.5, 25.7, 26.1, 26.3, 26.0],
        [25.4, 24.6, 24.7, 25.8, 25.1],
    ),
    "a little more than four errors": ([26.0, 25.8, 26.3, 26.1], [25.2, 25.7, 25.3, 25.6, 25.0]),
    "a ahead by less than an error": ([25.4, 26.0, 25.3], [25.1, 25.7, 25.0]),
    "equal means": ([25.5, 26.5], [25.25, 26.0, 26.75]),
    "small differences between many runs": (
        [25.82, 25.80, 25.83, 25.81, 25.84],
        [25.74, 25.73, 25.76, 25.75],
    ),
    "9 runs that stray and 5 that do not": (
        [25.0, 25.6, 25.3, 25.1, 25.5, 25.2, 25.4, 25.7, 24.9],
        [24.87, 24.97, 24.92, 24.82, 25.02],
    ),
    "scores of a perfect toy task": ([99.0, 98.4, 98.9], [98.8, 99.0, 98.5, 98.3, 99.1]),
}


def seed_noise(scores_a: list[float], scores_b: list[float]) -> tuple[float, float, bool]:
    n_a, n_b = len(scores_a), len(scores_b)
    mean_a, mean_b = sum(scores_a) / n_a, sum(scores_b) / n_b
    difference = mean_a - mean_b
    squares_a = sum((score - mean_a) ** 2 for score in scores_a)
    squares_b = sum((score - mean_b) ** 2 for score in scores_b)
    variance_a, variance_b = squares_a / (n_a - 1), squares_b / (n_b - 1)  # of one run
    standard_error = math.sqrt(variance_a / n_a + variance_b / n_b)  # of the means
    decided = abs(difference) > 2 * standard_error
    return difference, standard_error, decided


def _by_statistics(scores_a: list[float], scores_b: list[float]) -> tuple[float, float, bool]:
    difference = statistics.fmean(scores_a) - statistics.fmean(scores_b)
    error = (
        statistics.variance(scores_a) / len(scores_a)
        + statistics.variance(scores_b) / len(scores_b)
    ) ** 0.5
    return difference, error, not -2 * error <= difference <= 2 * error


def _by_numpy(scores_a: list[float], scores_b: list[float]) -> tuple[float, float, bool]:
    a, b = np.array(scores_a), np.array(scores_b)
    error = np.hypot(a.std(ddof=1) / np.sqrt(len(a)), b.std(ddof=1) / np.sqrt(len(b)))
    difference = a.mean() - b.mean()
    return difference, error, np.abs(difference) / 2 > error


def _by_torch(scores_a: list[float], scores_b: list[float]) -> tuple[object, object, object]:
    a = torch.tensor(scores_a, dtype=torch.float64)
    b = torch.tensor(scores_b, dtype=torch.float64)
    difference = a.mean() - b.mean()
    error = (a.var() / a.numel() + b.var() / b.numel()).sqrt()
    return difference, error, difference.abs() > 2 * error


def _by_all_pairs(scores_a: list[float], scores_b: list[float]) -> list[float | bool]:
    """The variance of a sample is half the mean squared difference of two of its members."""

    def variance(scores: list[float]) -> float:
        n = len(scores)
        return sum((x - y) ** 2 for x in scores for y in scores) / (2 * n * (n - 1))

    pairs = [a - b for a in scores_a for b in scores_b]
    difference = math.fsum(pairs) / len(pairs)
    squared = variance(scores_a) / len(scores_a) + variance(scores_b) / len(scores_b)
    return [difference, squared**0.5, difference**2 > 4 * squared]


def _case(name: str, a: list[float], b: list[float]) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(list(a), list(b))

    return Case(name, make, rtol=1e-3, atol=1e-4)


SEED_NOISE = Exercise(
    id="ablations.seed_noise",
    title="Better, or a better seed?",
    kind="code",
    difficulty=3,
    minutes=12,
    signature=(
        "seed_noise(scores_a: list of float, scores_b: list of float) -> (float, float, bool)"
    ),
    statement=(
        "scores_a and scores_b are the BLEU scores of two variants of a model, each trained "
        "several times with other seeds: at least two runs each, not always equally many, and no "
        "run of one belongs to a run of the other. Return three things: the difference of the "
        "means, mean(a) - mean(b); its standard error, sqrt(s_a² / n_a + s_b² / n_b), where n is "
        "the number of runs and s² the sample variance (the squared deviations from the mean, "
        "summed and divided by n - 1); and whether the difference counts as decided by the rough "
        "rule: True when it is larger, whatever its sign, than two standard errors (not Welch's "
        "interval: the rough rule is one you can do in your head)."
    ),
    objective="Refuse to call a difference real that another seed would turn round.",
    prerequisite="the mean and the variance of a sample",
    hints=(
        "If you trained variant a once more with another seed, by how much would its score move? "
        "And the mean of n runs?",
        "The mean of n runs has variance s² / n. The variances of two independent means add up, "
        "also when the means are subtracted.",
        "`statistics.variance` divides by n - 1. The standard error is the root of the *sum*; "
        "compare `abs(difference)` with two of them.",
    ),
    reference=seed_noise,
    explanation=(
        "Each run is a draw: another seed gives another score. The mean of n runs strays by "
        "s / sqrt(n), and the difference of two means by the root of the sum of both variances. "
        "A difference below about twice that is what two sets of seeds of one and the same model "
        "often show. The rows of Table 3 are single runs, as far as the paper says: gaps of 0.1 "
        "or 0.2 BLEU between them decide nothing. With few runs even two standard errors are "
        "generous; a t-test asks for more."
    ),
    cases=tuple(_case(name, *scores) for name, scores in _SCORES.items()),
    mistakes=page(__file__, seed_noise),
    alternatives=(_by_statistics, _by_numpy, _by_torch, _by_all_pairs),
    starter=(
        "def seed_noise(scores_a, scores_b):\n"
        '    """Two lists of scores -> (difference, standard error, is it decided?)."""\n'
        "    ...  # your code"
    ),
    returns=("difference", "standard error", "decided"),
)
