"""RMSNorm in steps that can be replaced one at a time: numerator, size, root, gain."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Step = Callable[[Tensor], Tensor]
Steps = dict[str, Any]  # of `rms_norm_of`, by name


def mean_square(x: Tensor) -> Tensor:
    return x.pow(2).mean(-1, keepdim=True)


def centred(x: Tensor) -> Tensor:
    return x - x.mean(-1, keepdim=True)


def as_it_is(x: Tensor) -> Tensor:
    return x


def rms_norm_of(
    x: Tensor,
    gain: Tensor,
    eps: float,
    *,
    numerator: Step = as_it_is,
    size: Step = mean_square,
    root: Callable[[Tensor, float], Tensor] = lambda square, eps: (square + eps).sqrt(),
    finish: Callable[[Tensor, Tensor], Tensor] = torch.mul,
) -> Tensor:
    return finish(numerator(x) / root(size(x), eps), gain)


def of_centred(size: Step) -> Step:
    return lambda x: size(centred(x))


def unbiased(x: Tensor) -> Tensor:
    return x.pow(2).sum(-1, keepdim=True) / max(x.size(-1) - 1, 1)


def with_eps(fixed: float) -> Candidate:
    return lambda x, gain, eps: rms_norm_of(x, gain, fixed)


def in_place(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    x /= torch.sqrt(mean_square(x) + eps)
    x *= gain
    return x
