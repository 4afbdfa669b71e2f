"""Mistakes of `training.adam_step` in the correction of the moments and in eps."""

from functools import partial

from torch import Tensor

from annotated_transformer.exercises.content.training.adam_step_variants import (
    Betas,
    Tensors,
    adam,
    adam_with,
)
from annotated_transformer.exercises.exercise import Mistake


def _corrected_first(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    """The correction is applied to the gradients' share alone."""
    m = betas[0] * m + (1 - betas[0]) * grad / (1 - betas[0] ** step)
    v = betas[1] * v + (1 - betas[1]) * grad**2 / (1 - betas[1] ** step)
    return param - lr * m / (v.sqrt() + eps), m, v


def _one_correction(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
    *,
    of: int,
) -> Tensors:
    m = betas[0] * m + (1 - betas[0]) * grad
    v = betas[1] * v + (1 - betas[1]) * grad**2
    correction = 1 - betas[of] ** step
    return param - lr * (m / correction) / ((v / correction).sqrt() + eps), m, v


_NO_V_CORRECTION = "v is used without its correction: divide by 1 - beta_2 ** step. "
_NO_M_CORRECTION = "m is used without its correction: divide by 1 - beta_1 ** step. "
_EPS = "sqrt(v_hat) + eps is asked for. "


def _corrections_exchanged(
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
    m_hat, v_hat = m / (1 - betas[1] ** step), v / (1 - betas[0] ** step)
    return param - lr * m_hat / (v_hat.sqrt() + eps), m, v


def _eps_behind_all(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    new, m, v = adam(param, grad, m, v, step, lr, betas, eps, eps_place="none")
    return new - eps, m, v


CORRECTIONS = (
    *(
        Mistake(
            f"{of}-averaged-with-{other}",
            adam_with(averaged_by=taken),
            f"{of} is averaged with {other} and corrected with {own}. Its own beta is {own}, in "
            f"the mean as in the correction.",
        )
        for of, own, other, taken in (
            ("m", "beta_1", "beta_2", (1, 1)),
            ("v", "beta_2", "beta_1", (0, 0)),
        )
    ),
    Mistake(
        "no-bias-correction",
        adam_with(correct=""),
        "The moments are used as they are, without bias correction. Both began at 0 and are too "
        "small at first: divide m by 1 - beta_1 ** step and v by 1 - beta_2 ** step.",
    ),
    Mistake(
        "only-m-corrected",
        adam_with(correct="m"),
        _NO_V_CORRECTION + "Without it the first steps are several times too large.",
    ),
    Mistake(
        "only-v-corrected",
        adam_with(correct="v"),
        _NO_M_CORRECTION + "Without it the first steps are ten times too small.",
    ),
    Mistake(
        "corrected-moments-returned",
        adam_with(keep="mv"),
        "The corrected m_hat and v_hat are returned. The next step would correct them once more: "
        "return the raw m and v, and keep the corrected ones for this step only.",
    ),
    Mistake(
        "correction-multiplied",
        adam_with(multiply=True),
        "The moments are multiplied by 1 - beta ** step. They are too small at first, so divide.",
    ),
    Mistake(
        "correction-not-to-the-step",
        adam_with(correction=lambda beta, step: 1 - beta),
        "The correction is 1 - beta at every step, whatever `step` is. It is 1 - beta ** step, "
        "which goes to 1 as the means fill up.",
    ),
    Mistake(
        "correction-times-step",
        adam_with(correction=lambda beta, step: 1 - beta * step or 1.0),
        "beta is multiplied by step. It is raised to the power of step: 1 - beta ** step.",
    ),
    Mistake(
        "correction-beta-to-step",
        adam_with(correction=lambda beta, step: beta**step),
        "The moments are divided by beta ** step. The correction is 1 - beta ** step.",
    ),
    Mistake(
        "correction-plus",
        adam_with(correction=lambda beta, step: 1 + beta**step),
        "The correction is 1 + beta ** step. It is 1 - beta ** step.",
    ),
    Mistake(
        "step-counted-from-zero",
        adam_with(correction=lambda beta, step: 1 - beta ** (step + 1)),
        "The correction uses step + 1, as if steps were counted from 0. They are counted from 1 "
        "here: 1 - beta ** step.",
    ),
    Mistake(
        "step-one-behind",
        adam_with(correction=lambda beta, step: 1 - beta ** (step - 1) or float("nan")),
        "The correction uses step - 1, which is 0 at the first step. Steps are counted from 1: "
        "1 - beta ** step.",
    ),
    Mistake(
        "step-minus-one-raises",
        adam_with(correction=lambda beta, step: 1 / (1 / (1 - beta ** (step - 1)))),
        "The correction uses step - 1 and divides by 0 at the first step. Steps are counted from "
        "1: 1 - beta ** step.",
    ),
    Mistake(
        "one-correction-beta-1",
        partial(_one_correction, of=0),
        "Both moments are corrected with beta_1. v has a memory of its own: 1 - beta_2 ** step.",
    ),
    Mistake(
        "one-correction-beta-2",
        partial(_one_correction, of=1),
        "Both moments are corrected with beta_2. m has a memory of its own: 1 - beta_1 ** step.",
    ),
    Mistake(
        "correction-of-the-gradient",
        _corrected_first,
        "Only the new gradient is divided by 1 - beta ** step, before it joins the mean. First "
        "update the raw moments, then correct the whole m and v.",
    ),
    Mistake(
        "eps-inside-the-root",
        adam_with(eps_place="inside"),
        "eps is added to v_hat before the square root. " + _EPS + "Inside, 1e-9 would act like "
        "3e-5 outside.",
    ),
    Mistake(
        "eps-before-the-correction",
        adam_with(eps_place="uncorrected"),
        "eps is added to sqrt(v) before the correction, the short form with lr * sqrt(1 - "
        "beta_2 ** step) / (1 - beta_1 ** step). There eps is scaled too: correct v first, then "
        "take the root and add eps.",
    ),
    Mistake(
        "no-eps",
        adam_with(eps_place="none"),
        "eps is not used. Where a gradient has always been 0 this is 0 / 0 = NaN: sqrt(v_hat) + "
        "eps.",
    ),
    Mistake(
        "eps-behind-the-fraction",
        adam_with(eps_place="outside"),
        "eps is added to the quotient instead of the denominator (brackets). m_hat / (sqrt(v_hat) "
        "+ eps).",
    ),
    Mistake(
        "root-before-the-correction",
        adam_with(root_of="v"),
        "The root is taken before the correction: sqrt(v) / (1 - beta_2 ** step). First correct v, "
        "then take the root.",
    ),
    Mistake(
        "m-corrected-returned",
        adam_with(keep="m"),
        "m comes back corrected (m_hat). Return the raw one: the next step would correct it once "
        "more.",
    ),
    Mistake(
        "v-corrected-returned",
        adam_with(keep="v"),
        "v comes back corrected (v_hat). Return the raw one: the next step would correct it once "
        "more.",
    ),
    Mistake(
        "corrected-and-eps-inside",
        adam_with(keep="mv", eps_place="inside"),
        "The corrected moments are returned instead of the raw ones, and eps is added before the "
        "square root instead of after it.",
    ),
    Mistake(
        "uncorrected-eps-inside",
        adam_with(correct="", eps_place="inside"),
        "The moments are not corrected by 1 - beta ** step, and eps is added before the square "
        "root instead of after it.",
    ),
    Mistake(
        "uncorrected-ascent",
        adam_with(correct="", direction=1.0),
        "The moments are not corrected by 1 - beta ** step, and the step goes up the gradient: "
        "param - lr * ...",
    ),
    Mistake(
        "corrected-twice",
        adam_with(correction=lambda beta, step: (1 - beta**step) ** 2),
        "The moments are corrected twice. Divide by 1 - beta ** step once, keep the raw ones.",
    ),
    Mistake(
        "eps-in-and-after-the-root",
        adam_with(eps_place="both"),
        "eps is added twice, before the root and after it. " + _EPS.strip(),
    ),
    Mistake(
        "eps-squared-inside",
        adam_with(eps_place="squared"),
        "The square of eps is added before the square root. " + _EPS.strip(),
    ),
    Mistake(
        "eps-as-smallest",
        adam_with(eps_place="least"),
        "eps is taken as the smallest value of the root (`clamp`, `max`). It is added: sqrt(v_hat) "
        "+ eps.",
    ),
    Mistake(
        "corrections-exchanged",
        _corrections_exchanged,
        "The corrections are exchanged: m is divided by 1 - beta_2 ** step and v by "
        "1 - beta_1 ** step. Each moment has the beta of its own mean.",
    ),
    Mistake(
        "eps-behind-lr-and-fraction",
        _eps_behind_all,
        "eps is added to the whole step instead of the denominator (brackets). lr * m_hat / "
        "(sqrt(v_hat) + eps).",
    ),
    Mistake(
        "m-corrected-returned-v-not-corrected",
        adam_with(correct="m", keep="m"),
        _NO_V_CORRECTION + "And m comes back corrected (m_hat); return the raw one.",
    ),
    Mistake(
        "v-corrected-returned-m-not-corrected",
        adam_with(correct="v", keep="v"),
        _NO_M_CORRECTION + "And v comes back corrected (v_hat); return the raw one.",
    ),
    Mistake(
        "corrected-in-the-first-step-only",
        adam_with(correction=lambda beta, step: 1 - beta if step == 1 else 1.0),
        "Only step 1 is corrected. The means are too small for many steps: divide by "
        "1 - beta ** step at every one.",
    ),
)
