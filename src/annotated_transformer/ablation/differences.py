"""What the runs of a plan found: means over seeds, differences to the base, and their intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, variance

from annotated_transformer.ablation.plan import BASE, Plan, Row

# Student's t with 1, 2, ... degrees of freedom exceeds this in 2.5 cases of 100.
T_975 = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


@dataclass(frozen=True)
class Effect:
    """One row's figure.

    Attributes:
        row: what was changed.
        values: one a seed.
        difference: mean minus the base's mean.
        margin: half the width of the 95 % interval of the difference; None if no row has two
            seeds, so that nothing tells how much seeds differ. 0 for the base.
    """

    row: Row
    values: tuple[float, ...]
    difference: float
    margin: float | None

    @property
    def mean(self) -> float:
        return mean(self.values)

    @property
    def decided(self) -> bool:
        """Whether the interval leaves out 0: seeds alone hardly ever make such a difference."""
        return self.margin is not None and abs(self.difference) > self.margin


def differences(plan: Plan, values: Mapping[str, Sequence[float]]) -> list[Effect]:
    """Compare every row with the base.

    Where row and base have several seeds, the interval is Welch's: each has its own spread from
    seed to seed. For a row of one seed, the spread is taken to be the same in every row and
    estimated from all rows with several seeds together (a pooled variance); the interval is
    Student's.

    Args:
        values: the figures of each row by its name, one a seed; rows without any are left out.

    Returns:
        One a row; none where the base has no figure.
    """
    if BASE not in values:
        return []
    groups = [list(group) for group in values.values()]
    spread, freedom = pooled_deviation(groups)
    base = values[BASE]
    found = []
    for row in plan.rows:
        if not (own := tuple(values.get(row.name, ()))):
            continue
        margin = None
        if row.name == BASE:
            margin = 0.0 if freedom else None
        elif min(len(own), len(base)) > 1:
            margin = welch_margin(own, base)
        elif freedom:
            margin = t_975(freedom) * spread * math.sqrt(1 / len(own) + 1 / len(base))
        found.append(Effect(row, own, mean(own) - mean(base), margin))
    return found


def welch_margin(some: Sequence[float], others: Sequence[float]) -> float:
    """Half the 95 % interval of the difference of two means, of groups that spread differently.

    Welch (1947). His degrees of freedom are rounded down, which widens the interval.

    Args:
        some, others: at least two values each.
    """
    parts = [variance(group) / len(group) for group in (some, others)]
    if not (squared := sum(parts)):
        return 0.0
    sizes = (len(some), len(others))
    freedom = squared**2 / sum(
        part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True)
    )
    return t_975(max(1, math.floor(freedom))) * math.sqrt(squared)


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
