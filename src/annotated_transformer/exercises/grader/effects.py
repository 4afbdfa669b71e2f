"""Which two mistakes may be at work at once, guessed from what each does alone.

Most mistakes are terms or factors of a formula. Then what two do adds up, got = one + other -
right, or multiplies, got = one * other / right. That is seen from their results, before any pair is
run.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from annotated_transformer.exercises.grader.compare import Numbers, as_number, is_number
from annotated_transformer.exercises.grader.outcomes import Outcome
from annotated_transformer.exercises.grader.values import Array

CLOSE = 1e-6  # relative to the largest of the four


def fitting_pairs(right: Outcome, got: Outcome, alone: Sequence[Outcome]) -> Numbers:
    """Whether the effects of two add up or multiply to the candidate's, bool (mistakes, mistakes).

    Args:
        right, got: of the reference and of the candidate, on one case.
        alone: of every mistake, on the same case.
    """
    flat = [_numbers(outcome) for outcome in (right, got, *alone)]
    length = len(flat[0])
    values = np.array([one if len(one) == length else np.full(length, np.nan) for one in flat])
    with np.errstate(all="ignore"):
        return _add_up(values) | _add_up(np.log(np.abs(values)))


def _add_up(values: Numbers) -> Numbers:
    """The pairs of which one + other = right + got, for rows of right, got, and one a mistake.

    Each row is first made one number, a sum with weights that no two places share: sums of rows
    are sums of these.
    """
    marks = np.where(np.isfinite(values), values, 0) @ np.cos(np.arange(1.0, values.shape[1] + 1))
    marks[np.isnan(values).any(1)] = np.nan
    right, got, alone = marks[0], marks[1], marks[2:]
    size = max(abs(right), abs(got))
    apart = np.abs(alone[:, None] + alone - right - got)
    fits: Numbers = apart <= CLOSE * np.maximum(size, np.maximum(abs(alone[:, None]), abs(alone)))
    return fits


def _numbers(outcome: Outcome) -> Numbers:
    """All numbers that were returned, one after the other; none where it raised."""
    found = [] if outcome.failure else [*_leaves(outcome.value)]
    return np.concatenate([np.empty(0), *found])


def _leaves(value: Any) -> Iterator[Numbers]:
    value = as_number(value)
    if isinstance(value, Array):
        if value.array is not None and value.array.dtype.kind in "biuf":
            yield value.array.astype(np.float64).ravel()
    elif isinstance(value, (list, tuple, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _leaves(item)
    elif is_number(value):
        yield np.array([float(value)])
