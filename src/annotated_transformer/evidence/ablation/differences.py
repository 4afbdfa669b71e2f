"""What the runs of a plan found: means over seeds, differences to the base, and their intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from annotated_transformer.evidence.ablation.intervals import pooled_deviation, t_975, welch_margin
from annotated_transformer.evidence.ablation.plan import BASE, Plan, Row


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
    effects = []
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
        effects.append(Effect(row, own, mean(own) - mean(base), margin))
    return effects
