"""Exercises with nothing but what a test is about."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def exercise_of(reference: Callable[..., Any], *cases: Case, **changes: Any) -> Exercise:
    """An exercise without mistakes or alternatives; ``changes`` are other fields of it."""
    plain = Exercise(
        id="test.exercise",
        title="A test",
        kind="code",
        difficulty=1,
        minutes=1,
        signature="",
        statement="",
        objective="",
        prerequisite="",
        hints=("first", "second", "third"),
        reference=reference,
        explanation="because",
        cases=cases,
        mistakes=(),
        alternatives=(),
        starter="",
    )
    return replace(plain, **changes)


def case_of(*shapes: tuple[int, ...], name: str = "random tensors", **options: Any) -> Case:
    """Random tensors of these shapes."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(*(torch.randn(s, generator=generator, dtype=dtype) for s in shapes))

    return Case(name, make, **options)


def fixed(*arguments: Any, name: str = "fixed arguments", **options: Any) -> Case:
    """These arguments, whatever the seed."""
    return Case(name, lambda generator, dtype: call(*arguments), **options)
