"""How far means of a few runs can be trusted: Welch's interval, Student's t, pooled spread."""

import math
from collections.abc import Sequence
from statistics import mean, variance

# Student's t with 1, 2, ... degrees of freedom exceeds this in 2.5 cases of 100.
T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def welch_margin(some: Sequence[float], others: Sequence[float]) -> float:
    """Half the 95 % interval of the difference of two means, of groups that spread differently.

    Welch (1947). His degrees of freedom are rounded down, which widens the interval.

    Args:
        some, others: at least two values each.
    """
    if not (squared := sum(variance(group) / len(group) for group in (some, others))):
        return 0.0
    return t_975(welch_freedom(some, others)) * math.sqrt(squared)


def welch_freedom(some: Sequence[float], others: Sequence[float]) -> int:
    """Welch's degrees of freedom, rounded down; arguments as in `welch_margin`, not all equal."""
    parts = [(variance(group) / len(group), len(group) - 1) for group in (some, others)]
    squared = sum(part for part, _ in parts) ** 2
    return max(1, math.floor(squared / sum(part**2 / less_one for part, less_one in parts)))


def pooled_deviation(groups: Sequence[Sequence[float]]) -> tuple[float, int]:
    """The standard deviation inside groups, and its degrees of freedom."""
    squares = sum((value - mean(group)) ** 2 for group in groups for value in group)
    freedom = sum(len(group) - 1 for group in groups)
    return (math.sqrt(squares / freedom), freedom) if freedom else (0.0, 0)


def t_975(freedom: int) -> float:
    """The 97.5th percentile of Student's t; above 30 degrees of freedom by its expansion."""
    if freedom <= len(T_975):
        return T_975[freedom - 1]
    z = 1.959964  # the normal distribution's
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + (z**3 + z) / (4 * freedom) + second / freedom**2
