"""Mistakes of `training.adam_step` in the step itself, most of them another optimizer's."""

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
from annotated_transformer.exercises.exercise import Mistake


def _falling_rate(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    return adam(param, grad, m, v, step, lr / step**0.5, betas, eps)


def _decayed(*arguments: Any, decoupled: bool, **options: Any) -> Tensors:
    param, grad, *rest = arguments
    if not decoupled:
        return adam(param, grad + 0.01 * param, *rest, **options)
    new, m, v = adam(param, grad, *rest, **options)
    return new - 0.01 * arguments[5] * param, m, v


def _clipped(*arguments: Any, **options: Any) -> Tensors:
    param, grad, *rest = arguments
    return adam(param, grad / max(1.0, float(grad.norm())), *rest, **options)


def _infinity(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    m = betas[0] * m + (1 - betas[0]) * grad
    v = torch.maximum(betas[1] * v, grad.abs() + eps)
    return param - lr / (1 - betas[0] ** step) * m / v, m, v


def _nesterov(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    m = betas[0] * m + (1 - betas[0]) * grad
    v = betas[1] * v + (1 - betas[1]) * grad**2
    ahead = (betas[0] * m + (1 - betas[0]) * grad) / (1 - betas[0] ** step)
    return param - lr * ahead / ((v / (1 - betas[1] ** step)).sqrt() + eps), m, v


def _rate_over_step(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    return adam(param, grad, m, v, step, lr / step, betas, eps)


def _normalised_gradient(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    v = betas[1] * v + (1 - betas[1]) * grad**2
    m = betas[0] * m + (1 - betas[0]) * grad / ((v / (1 - betas[1] ** step)).sqrt() + eps)
    return param - lr * m / (1 - betas[0] ** step), m, v


DIRECTIONS = (
    Mistake(
        "ascent",
        adam_with(direction=1.0),
        "The step goes up the gradient: the sign is wrong. Training goes down: param - lr * ...",
    ),
    Mistake(
        "no-root",
        adam_with(root=False),
        "The step is divided by v_hat instead of its square root.",
    ),
    Mistake(
        "no-second-moment",
        adam_with(under="one", eps_place="none"),
        "The step is not divided by sqrt(v_hat) + eps: this is momentum, not Adam.",
    ),
    Mistake(
        "no-first-moment",
        adam_with(by="grad"),
        "The gradient itself stands in the numerator (RMSProp). Adam takes m_hat, the running mean "
        "of the gradients.",
    ),
    Mistake(
        "sign-of-the-gradient",
        adam_with(by="sign", under="one", eps_place="none"),
        "The step is lr times the sign of the gradient. That is Adam's first step only; later it "
        "is m_hat / (sqrt(v_hat) + eps).",
    ),
    Mistake(
        "plain-descent",
        adam_with(by="grad", under="one", eps_place="none"),
        "This is plain gradient descent, lr * grad. Use m_hat / (sqrt(v_hat) + eps) in place of "
        "the gradient.",
    ),
    Mistake(
        "plain-descent-without-moments",
        adam_with(by="grad", under="one", eps_place="none", forget="mv"),
        "This is plain gradient descent, lr * grad, and the moments stay as they are. Update m and "
        "v, and step by m_hat / (sqrt(v_hat) + eps).",
    ),
    Mistake(
        "momentum-without-v",
        adam_with(correct="", under="one", eps_place="none", forget="v"),
        "This is momentum: v is neither updated nor used. Adam divides by sqrt(v_hat) + eps.",
    ),
    Mistake(
        "rmsprop-without-m",
        adam_with(by="grad", correct="", forget="m"),
        "This is RMSProp: m is neither updated nor used, and nothing is corrected. Adam steps by "
        "m_hat / (sqrt(v_hat) + eps).",
    ),
    Mistake(
        "rmsprop",
        adam_with(by="grad", correct=""),
        "The gradient itself stands in the numerator (RMSProp), and v is not corrected. Adam takes "
        "m_hat, the running mean of the gradients, and v_hat.",
    ),
    Mistake(
        "momentum",
        adam_with(correct="", under="one", eps_place="none"),
        "This is momentum, lr * m: nothing is corrected, and v is not used. Adam steps by "
        "m_hat / (sqrt(v_hat) + eps).",
    ),
    Mistake(
        "rate-falls-with-step",
        _falling_rate,
        "lr is divided by sqrt(step). The rate that is given is used as it is: the schedule is "
        "another function's matter.",
    ),
    Mistake(
        "amsgrad",
        adam_with(under="maximum"),
        "v never falls: the maximum of old and new is taken (AMSGrad). Adam takes the new v.",
    ),
    Mistake(
        "adamax",
        _infinity,
        "The second moment is a running maximum of absolute gradients (Adamax). Adam averages "
        "squares and takes the root.",
    ),
    Mistake(
        "nadam",
        _nesterov,
        "The gradient is mixed into m once more for the step (NAdam). Adam takes m_hat alone.",
    ),
    Mistake(
        "weight-decay",
        partial(_decayed, decoupled=True),
        "The parameters are also pulled towards 0 (AdamW's weight decay of 0.01). Plain Adam is "
        "asked for.",
    ),
    Mistake(
        "weight-decay-in-gradient",
        partial(_decayed, decoupled=False),
        "A share of the parameters is added to the gradient (weight decay). Plain Adam is asked "
        "for.",
    ),
    Mistake(
        "gradient-clipped",
        _clipped,
        "The gradient is clipped to norm 1 first. That is another step of training; here use the "
        "gradient as it is.",
    ),
    Mistake(
        "rate-over-step",
        _rate_over_step,
        "lr is divided by step. The rate that is given is used as it is: the schedule is another "
        "function's matter.",
    ),
    Mistake(
        "m-of-the-normalised-gradient",
        _normalised_gradient,
        "The gradient is divided by sqrt(v_hat) + eps before it joins m. m is the running mean of "
        "the gradient itself; divide m_hat, in the step.",
    ),
)
