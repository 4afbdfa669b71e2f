"""Causal linear attention in steps: the running sums, the divisor, and what is made of both."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Sums = Callable[[Tensor], Tensor]  # over axis 1, the positions


def running(x: Tensor) -> Tensor:
    return x.cumsum(1)


def over_all(x: Tensor) -> Tensor:
    return x.sum(1, keepdim=True).expand_as(x)


def before(x: Tensor) -> Tensor:
    return x.cumsum(1) - x


def from_here_on(x: Tensor) -> Tensor:
    return x.flip(1).cumsum(1).flip(1)


def averaged(x: Tensor) -> Tensor:
    return x.cumsum(1) / torch.arange(1, x.size(1) + 1).reshape(-1, *[1] * (x.dim() - 2))


def here_only(x: Tensor) -> Tensor:
    return x


def decayed(factor: float) -> Sums:
    def sums(x: Tensor) -> Tensor:
        rows = [x[:, 0]]
        for i in range(1, x.size(1)):
            rows.append(factor * rows[-1] + x[:, i])
        return torch.stack(rows, 1)

    return sums


def normaliser(phi_q: Tensor, totals: Tensor) -> Tensor:
    return (phi_q * totals).sum(-1, keepdim=True)


def no_normaliser(phi_q: Tensor, totals: Tensor) -> Tensor:
    return torch.ones_like(totals[..., :1])


def linear_of(
    states: Sums = running,
    totals: Sums = running,
    divisor: Callable[[Tensor, Tensor], Tensor] = normaliser,
    finish: Callable[[Tensor, Tensor], Any] = torch.div,
    features: Callable[[Tensor], Tensor] = lambda phi: phi,
    of_keys: Callable[[Tensor], Tensor] | None = None,
) -> Candidate:
    def implementation(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Any:
        phi_q, phi_k = features(phi_q), (of_keys or features)(phi_k)
        state = states(phi_k[..., :, None] * v[..., None, :])
        weighted = (phi_q[..., None] * state).sum(2)
        return finish(weighted, divisor(phi_q, totals(phi_k)))

    return implementation
