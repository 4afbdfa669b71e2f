"""Wrong answers of outsiders about experiments and costs, each with two mistakes."""

import math
import statistics
from collections.abc import Callable


def population_variance_and_one_error(
    scores_a: list[float], scores_b: list[float]
) -> tuple[float, float, bool]:
    """The variance is divided by n, not by n - 1.
    One standard error is enough to decide."""
    diff = statistics.mean(scores_a) - statistics.mean(scores_b)
    error = 0.0
    for runs in (scores_a, scores_b):
        error += statistics.pvariance(runs) / len(runs)
    error = error**0.5
    return diff, error, abs(diff) > error


def b_minus_a_and_errors_added(
    scores_a: list[float], scores_b: list[float]
) -> tuple[float, float, bool]:
    """The difference is taken the other way round.
    The two standard errors are added, not their squares."""

    def mean(xs: list[float]) -> float:
        return sum(xs) / len(xs)

    def error_of(xs: list[float]) -> float:
        m = mean(xs)
        spread = math.sqrt(sum((x - m) * (x - m) for x in xs) / (len(xs) - 1))
        return spread / math.sqrt(len(xs))

    delta = mean(scores_b) - mean(scores_a)
    se = error_of(scores_a) + error_of(scores_b)
    return delta, se, abs(delta) > 2 * se


def three_projections_and_single_operations(n: int, d_model: int, n_heads: int) -> tuple[int, int]:
    """Forgets the output projection, for the length too.
    A multiply-add counts as one operation."""
    d_head = d_model // n_heads
    qkv = 3 * n * d_model**2
    per_head = n * n * d_head + n * n * d_head
    break_even = 3 * d_model // 2
    return qkv + n_heads * per_head, break_even


def full_width_in_each_head_scores_only(n: int, d_model: int, n_heads: int) -> tuple[int, int]:
    """Every head works at the full width d_model.
    Counts q k^T and forgets weights times v, for the length too."""
    linear = 4 * (2 * n * d_model * d_model)
    attention = 0
    for _ in range(n_heads):
        attention += 2 * n * n * d_model
    return linear + attention, 4 * d_model // n_heads


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "ablations.seed_noise": [population_variance_and_one_error, b_minus_a_and_errors_added],
    "ablations.attention_flops": [
        three_projections_and_single_operations,
        full_width_in_each_head_scores_only,
    ],
}
