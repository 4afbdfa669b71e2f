"""The test of `encoder.padding_leak` with steps that can be replaced."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Encode = Callable[[Tensor], Tensor]
Lengthen = Callable[[Tensor, int], Tensor]  # of tokens and extra
Choose = Callable[[Tensor, Tensor], Tensor]  # of change or result, and tokens
Measure = Callable[[Tensor], Any]


def append(tokens: Tensor, extra: int, pad: int = 0) -> Tensor:
    return torch.cat([tokens, tokens.new_full((tokens.size(0), extra), pad)], dim=1)


def prepend(tokens: Tensor, extra: int) -> Tensor:
    return torch.cat([tokens.new_zeros(tokens.size(0), extra), tokens], dim=1)


def first_n(after: Tensor, tokens: Tensor) -> Tensor:
    return after[:, : tokens.size(1)]


def last_n(after: Tensor, tokens: Tensor) -> Tensor:
    return after[:, -tokens.size(1) :]


def real(change: Tensor, tokens: Tensor) -> Tensor:
    return change[tokens != 0]


def largest(change: Tensor) -> float:
    return change.abs().max().item()


def leak(
    lengthen: Lengthen = append,
    cut: Choose = first_n,
    choose: Choose = real,
    measure: Measure = largest,
) -> Candidate:
    """The test with some of its steps replaced."""

    def implementation(encode: Encode, tokens: Tensor, extra: int) -> Any:
        after = cut(encode(lengthen(tokens, extra)), tokens)
        return measure(choose(after - encode(tokens), tokens))

    return implementation


def everything(change: Tensor, tokens: Tensor) -> Tensor:
    return change
