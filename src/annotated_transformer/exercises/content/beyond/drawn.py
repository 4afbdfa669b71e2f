"""Inputs drawn from the standard normal distribution."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import (
    Call,
    Case,
    Gradient,
    Stage,
    call,
)

Shape = tuple[int, ...]
Change = Callable[..., tuple[Any, ...]]


def drawn(
    name: str,
    shapes: tuple[Shape, ...],
    *rest: Any,
    change: Change | None = None,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
    observe: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> Case:
    """One drawn tensor a shape, then the `rest` of the arguments as they are.

    change: makes other tensors of the drawn ones, where a case needs them large or positive.
    """

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        tensors: tuple[Any, ...] = tuple(
            torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes
        )
        if change is not None:
            tensors = change(*tensors)
        others = (item.clone() if isinstance(item, Tensor) else item for item in rest)
        return call(*tensors, *others)

    return Case(
        name,
        make,
        isolates=isolates,
        stage=stage,
        dtype=dtype,
        gradient=gradient,
        observe=observe,
        rtol=rtol,
        atol=atol,
    )
