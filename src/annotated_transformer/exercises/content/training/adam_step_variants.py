"""One step of Adam with every part replaceable, from which its mistakes are made."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate

Betas = tuple[float, float]
Tensors = tuple[Tensor, Tensor, Tensor]


def adam(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
    *,
    correct: str = "mv",  # which moments: "mv", "m", "v" or ""
    correction: Any = lambda beta, step: 1 - beta**step,
    multiply: bool = False,  # by the correction instead of dividing
    eps_place: str = "after",  # "after" the root, "inside" it, "uncorrected", "none", "outside"
    direction: float = -1.0,
    by: str = "m",  # the numerator: "m", "grad", "old m", "sign"
    under: str = "v",  # the denominator: "v", "old v", "maximum", "one"
    root: bool = True,
    root_of: str = "v_hat",  # or "v": the root is taken before the correction
    mean: Any = lambda beta, old, new: beta * old + (1 - beta) * new,
    mean_v: Any = None,
    averaged_by: tuple[int, int] = (0, 1),  # whose betas the means of m and v take
    square: Any = lambda grad: grad**2,
    keep: str = "",  # which moments come back corrected: "", "m", "v", "mv"
    forget: str = "",  # which moments come back as they were given
) -> Tensors:
    old_m, old_v = m, v
    m = mean(betas[averaged_by[0]], m, grad)
    v = (mean_v or mean)(betas[averaged_by[1]], v, square(grad))
    if under == "maximum":
        v = torch.maximum(v, old_v)
    used = {"m": m, "grad": grad, "old m": old_m, "sign": grad.sign()}[by]
    size = {"v": v, "old v": old_v, "maximum": v, "one": torch.ones_like(v)}[under]
    scales = []
    for name, beta in zip("mv", betas, strict=True):
        scale = correction(beta, step) if name in correct else 1.0
        scales.append(scale if multiply else 1 / scale)
    m_hat = used * scales[0] if by in ("m", "old m") else used
    v_hat = size * scales[1] if under != "one" else size
    if eps_place == "inside":
        below = (v_hat + eps).sqrt()
    elif eps_place in ("squared", "both", "least"):
        inside = {"squared": eps**2, "both": eps, "least": 0.0}[eps_place]
        below = (v_hat + inside).sqrt()
        below = below + eps if eps_place == "both" else below
        below = below.clamp(min=eps) if eps_place == "least" else below
    elif eps_place == "uncorrected":
        below = (size.sqrt() + eps) * scales[1] ** 0.5
    else:
        below = v_hat.sqrt() if root else v_hat
        below = size.sqrt() * scales[1] if root_of == "v" else below
        below = below + (eps if eps_place == "after" else 0.0)
    change = m_hat / below + (eps if eps_place == "outside" else 0.0)
    param = param + direction * lr * change
    m = old_m if "m" in forget else m * scales[0] if "m" in keep else m
    v = old_v if "v" in forget else v * scales[1] if "v" in keep else v
    return param, m, v


def adam_with(**parts: Any) -> Candidate:
    return partial(adam, **parts)
