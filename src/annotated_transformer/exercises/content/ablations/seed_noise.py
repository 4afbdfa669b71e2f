"""`ablations.seed_noise`: is a difference of two variants larger than that of two seeds?"""

import math
import statistics

import numpy as np
import torch

from annotated_transformer.exercises.content.ablations.seed_noise_mistakes import mistakes_against
from annotated_transformer.exercises.content.ablations.seed_noise_parts import SCORES
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def seed_noise(scores_a: list[float], scores_b: list[float]) -> tuple[float, float, bool]:
    def mean(scores: list[float]) -> float:
        return sum(scores) / len(scores)

    def variance_of_mean(scores: list[float]) -> float:
        squares = sum((score - mean(scores)) ** 2 for score in scores)
        return squares / (len(scores) - 1) / len(scores)  # sample variance over n

    difference = mean(scores_a) - mean(scores_b)
    standard_error = math.sqrt(variance_of_mean(scores_a) + variance_of_mean(scores_b))
    return difference, standard_error, abs(difference) > 2 * standard_error


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
    cases=tuple(_case(name, *scores) for name, scores in SCORES.items()),
    mistakes=mistakes_against(seed_noise),
    alternatives=(_by_statistics, _by_numpy, _by_torch, _by_all_pairs),
    starter=(
        "def seed_noise(scores_a, scores_b):\n"
        '    """Two lists of scores -> (difference, standard error, is it decided?)."""\n'
        "    ...  # your code"
    ),
    returns=("difference", "standard error", "decided"),
)
