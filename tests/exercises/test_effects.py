"""Effects of two mistakes that add up or multiply are told from those that do neither."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.grader.effects import fitting_pairs
from annotated_transformer.exercises.grader.outcomes import Outcome, outcome_of

WARMUP = catalogue()["warmup.pairwise_dot"]


def outcome(value: object) -> Outcome:
    """What a function that returns this gives: as the grader has it, tensors as arrays."""
    return outcome_of(WARMUP, 0, lambda *_: value, "float64")


def fits(right: object, got: object, *alone: object) -> list[tuple[int, int]]:
    found = fitting_pairs(outcome(right), outcome(got), [outcome(one) for one in alone])
    return [(int(i), int(j)) for i, j in np.argwhere(np.triu(found, 1))]


def raising(*_: object) -> None:
    raise ValueError


def test_terms_add_up_and_factors_multiply() -> None:
    assert fits(10, 15, 12, 13, 20) == [(0, 1)]  # + 2 and + 3
    assert fits(10, 40, 20, 13, 20, 7) == [(0, 2)]  # twice, twice
    assert fits({"a": 4, "b": 9}, {"a": 5, "b": 8}, {"a": 5, "b": 9}, {"a": 4, "b": 8}) == [(0, 1)]
    assert fits(10, 15, 12, "no number", None, 13) == [(0, 3)]


def test_what_raises_or_has_another_length_fits_with_nothing() -> None:
    right = torch.tensor([1.0, 2.0])
    assert fits(right, torch.tensor([2.0, 4.0]), torch.tensor([2.0, 2.0, 0.0]), right) == []
    failed = outcome_of(WARMUP, 0, raising, "float64")
    assert not fitting_pairs(outcome(1), outcome(2), [failed, outcome(2)])[0].any()


@given(st.lists(st.integers(-50, 50), min_size=4, max_size=4), st.integers(1, 5))
def test_any_two_terms_are_found(terms: list[int], width: int) -> None:
    right = torch.arange(width, dtype=torch.float64) + 3
    alone = [right + term for term in terms]
    assert (0, 1) in fits(right, right + terms[0] + terms[1], *alone)
    for i, j in fits(right, right + 1000, *alone):  # by factors alone
        both = alone[i] * alone[j] / right
        assert torch.allclose(both.abs(), right + 1000, rtol=1e-4)
