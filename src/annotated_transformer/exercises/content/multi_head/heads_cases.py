"""The inputs of splitting and merging heads: numbered entries, so that one sees where each goes."""

import torch

from annotated_transformer.exercises.exercise import (
    Call,
    Case,
    Gradient,
    Stage,
    call,
)


def numbered(
    name: str,
    shape: tuple[int, ...],
    *n_heads: int,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    """Entries 0, 1, 2, ...: a reader sees at once where each went."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        numbers = torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
        return call(numbers.reshape(shape).to(dtype), *n_heads)

    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype, gradient=gradient)


def not_contiguous(*n_heads: int) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        shape = (4, 3, 2) if n_heads else (2, 4, 3, 5)
        x = torch.randn(shape, generator=generator, dtype=dtype)
        return call(x.transpose(0, 2) if n_heads else x.transpose(1, 2), *n_heads)

    return Case("views that are not contiguous", make, stage="other")
