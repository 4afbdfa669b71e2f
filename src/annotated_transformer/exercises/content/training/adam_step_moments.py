"""Mistakes of `training.adam_step` in the two running means."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.training.adam_step_variants import (
    Betas,
    Tensors,
    adam,
    adam_with,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _one_beta(which: int) -> Candidate:
    def step(
        param: Tensor,
        grad: Tensor,
        m: Tensor,
        v: Tensor,
        step: int,
        lr: float,
        betas: Betas = (0.9, 0.98),
        eps: float = 1e-9,
    ) -> Tensors:
        return adam(param, grad, m, v, step, lr, (betas[which], betas[which]), eps)

    return step


def _complemented(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    return adam(param, grad, m, v, step, lr, (1 - betas[0], 1 - betas[1]), eps)


def _other_square(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
    *,
    of: Any,
) -> Tensors:
    new_m = betas[0] * m + (1 - betas[0]) * grad
    return adam(param, grad, m, v, step, lr, betas, eps, square=lambda grad: of(grad, new_m) ** 2)


def _betas_exchanged(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    return adam(param, grad, m, v, step, lr, betas[::-1], eps)


MOMENTS = (
    Mistake(
        "betas-exchanged",
        _betas_exchanged,
        "The two betas are exchanged: beta_1 (0.9) belongs to m, beta_2 (0.98) to v.",
    ),
    Mistake(
        "weights-exchanged",
        adam_with(mean=lambda beta, old, new: (1 - beta) * old + beta * new),
        "beta and 1 - beta are exchanged in the running means: nearly all of the old value would "
        "be forgotten at once. beta * old + (1 - beta) * new.",
    ),
    Mistake(
        "no-one-minus-beta",
        adam_with(mean=lambda beta, old, new: beta * old + new),
        "The new gradient joins with weight 1 instead of 1 - beta, as in plain momentum. Then m "
        "and v are sums, not means.",
    ),
    Mistake(
        "no-one-minus-beta-1",
        adam_with(
            mean=lambda beta, old, new: beta * old + new,
            mean_v=lambda beta, old, new: beta * old + (1 - beta) * new,
        ),
        "In m the new gradient joins with weight 1 instead of 1 - beta_1, as in plain momentum.",
    ),
    Mistake(
        "no-one-minus-beta-2",
        adam_with(mean_v=lambda beta, old, new: beta * old + new),
        "In v the new square joins with weight 1 instead of 1 - beta_2.",
    ),
    Mistake(
        "new-moments-only",
        adam_with(mean=lambda beta, old, new: (1 - beta) * new),
        "The old moments are forgotten. A running mean keeps them: beta * old + (1 - beta) * new.",
    ),
    Mistake(
        "moments-added",
        adam_with(mean=lambda beta, old, new: old + (1 - beta) * new),
        "The old moments are kept in full, so they grow without end. A running mean weighs them: "
        "beta * old + (1 - beta) * new.",
    ),
    Mistake(
        "moments-not-updated",
        adam_with(mean=lambda beta, old, new: old),
        "The moments are not updated with the new gradient.",
    ),
    Mistake(
        "gradient-not-squared",
        adam_with(square=lambda grad: grad),
        "v averages the gradient instead of its square; then its root is NaN where that is "
        "negative. grad ** 2, number by number.",
    ),
    Mistake(
        "gradient-absolute",
        adam_with(square=torch.abs),
        "v averages the absolute gradient instead of its square. grad ** 2, number by number.",
    ),
    Mistake(
        "square-of-the-norm",
        adam_with(square=lambda grad: (grad**2).sum().expand_as(grad).clone()),
        "v averages the squared norm of the whole gradient. Every number has a v of its own: "
        "grad ** 2, number by number.",
    ),
    Mistake(
        "mean-of-the-squares",
        adam_with(square=lambda grad: (grad**2).mean().expand_as(grad).clone()),
        "v averages the mean square of the whole gradient. Every number has a v of its own: "
        "grad ** 2, number by number.",
    ),
    Mistake(
        "square-of-m",
        adam_with(mean_v=lambda beta, old, new: beta**2 * old + (1 - beta) ** 2 * new),
        "The weights in v are squared as well. Only the gradient is: beta_2 * v + (1 - beta_2) * "
        "grad ** 2.",
    ),
    Mistake(
        "v-from-m",
        partial(_other_square, of=lambda grad, m: m),
        "v averages the square of m. It averages the square of the gradient.",
    ),
    Mistake(
        "v-from-surprise",
        partial(_other_square, of=lambda grad, m: grad - m),
        "v averages the square of grad - m (AdaBelief). Adam averages the square of the gradient.",
    ),
    Mistake(
        "betas-complemented",
        _complemented,
        "beta and 1 - beta are exchanged everywhere: nearly all of the old moments is forgotten at "
        "once. beta * old + (1 - beta) * new.",
    ),
    Mistake(
        "old-m-used",
        adam_with(by="old m"),
        "The step uses m as it was before this gradient. Update m first.",
    ),
    Mistake(
        "old-v-used",
        adam_with(under="old v"),
        "The step uses v as it was before this gradient. Update v first.",
    ),
    Mistake(
        "old-moments-used",
        adam_with(by="old m", under="old v"),
        "The step uses both moments as they were before this gradient. Update m and v first.",
    ),
    Mistake(
        "one-beta-first",
        _one_beta(0),
        "Both means are taken with beta_1. The squares have a memory of their own, beta_2.",
    ),
    Mistake(
        "one-beta-second",
        _one_beta(1),
        "Both means are taken with beta_2. The gradients have a memory of their own, beta_1.",
    ),
    Mistake(
        "v-without-new-square",
        adam_with(mean_v=lambda beta, old, new: beta * old),
        "v does not take in the new gradient: beta_2 * v + (1 - beta_2) * grad ** 2.",
    ),
    Mistake(
        "v-added",
        adam_with(mean_v=lambda beta, old, new: old + (1 - beta) * new),
        "The old v is kept in full, so it grows without end. A running mean weighs it: beta_2 * v "
        "+ (1 - beta_2) * grad ** 2.",
    ),
    Mistake(
        "v-sums-squares",
        adam_with(correct="m", mean_v=lambda beta, old, new: old + new),
        "v is the sum of all squares (Adagrad). Adam takes a running mean, beta_2 * v + "
        "(1 - beta_2) * grad ** 2, and corrects it.",
    ),
)
