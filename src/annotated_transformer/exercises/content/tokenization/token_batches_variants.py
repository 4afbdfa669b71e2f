"""Greedy batches with every step replaceable, from which the mistakes are made."""

from collections.abc import Callable
from functools import partial
from typing import Any

from annotated_transformer.exercises.exercise import Candidate

Batches = list[list[int]]


def by_length(lengths: list[int]) -> list[int]:
    return sorted(range(len(lengths)), key=lambda index: (lengths[index], index))


def batches_with(
    lengths: list[int],
    max_tokens: int,
    *,
    order: Callable[[list[int]], list[int]] = by_length,
    size: Callable[[list[int]], int] = lambda found: len(found) * max(found),
    strict: bool = False,
    afterwards: bool = False,
    last: bool = True,
    begin_with_it: bool = True,
    keep_it: bool = False,
) -> Batches:
    """size: of the lengths of a batch. begin_with_it: what does not fit begins the next batch."""
    batches: Batches = []
    batch: list[int] = []
    for index in order(lengths):
        tried = [lengths[i] for i in (batch if afterwards else [*batch, index])]
        used = size(tried) if tried else 0
        full = used >= max_tokens if strict or afterwards else used > max_tokens
        if batch and full:
            batches.append([*batch, index] if keep_it else batch)
            batch = [index] if begin_with_it else []
        else:
            batch = [*batch, index]
    return [*batches, batch] if last and batch else batches


def made_with(**steps: Any) -> Candidate:
    return partial(batches_with, **steps)
