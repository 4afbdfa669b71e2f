"""Equation (3) with every exponent open, from which the mistakes are made."""

from functools import partial
from typing import Any

from annotated_transformer.exercises.exercise import Candidate


def open_rate(
    step: int,
    d_model: int,
    warmup: int,
    factor: float = 1.0,
    *,
    pick: Any = min,
    first: int = 1,
    shift: int = 0,
    by_model: float = -0.5,
    decay: float = -0.5,
    climb: float = 1.0,
    by_warmup: float = -1.5,
    power_of_factor: float = 1.0,
) -> float:
    """Equation (3) with every exponent open. first: the step that step 0 is taken for."""
    count = max(step, first) + shift
    late = count**decay if count else 0.0
    rate = d_model**by_model * pick(late, count**climb * warmup**by_warmup)
    return float(factor**power_of_factor * rate)


def rate_with(**steps: Any) -> Candidate:
    return partial(open_rate, **steps)
