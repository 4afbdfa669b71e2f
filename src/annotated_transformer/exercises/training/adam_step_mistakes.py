"""Named mistakes of `training.adam_step`, made from one step with every part replaceable."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake

Betas = tuple[float, float]
Tensors = tuple[Tensor, Tensor, Tensor]


def _adam(
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
    square: Any = lambda grad: grad**2,
    keep: str = "",  # which moments come back corrected: "", "m", "v", "mv"
    forget: str = "",  # which moments come back as they were given
) -> Tensors:
    old_m, old_v = m, v
    m = mean(betas[0], m, grad)
    v = (mean_v or mean)(betas[1], v, square(grad))
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


def _with(**parts: Any) -> Candidate:
    return partial(_adam, **parts)


def _default(betas: Betas = (0.9, 0.98), eps: float = 1e-9) -> Candidate:
    def step(
        param: Tensor,
        grad: Tensor,
        m: Tensor,
        v: Tensor,
        step: int,
        lr: float,
        betas: Betas = betas,
        eps: float = eps,
    ) -> Tensors:
        return _adam(param, grad, m, v, step, lr, betas, eps)

    return step


def _fixed(**fixed: Any) -> Candidate:
    """The arguments named are overwritten, whatever was given."""

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
        given = {"step": step, "lr": lr, "betas": betas, "eps": eps}
        return _adam(param, grad, m, v, **{**given, **fixed})

    return step


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
        return _adam(param, grad, m, v, step, lr, (betas[which], betas[which]), eps)

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
    return _adam(param, grad, m, v, step, lr, (1 - betas[0], 1 - betas[1]), eps)


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
    return _adam(param, grad, m, v, step, lr / step**0.5, betas, eps)


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
    return _adam(param, grad, m, v, step, lr, betas, eps, square=lambda grad: of(grad, new_m) ** 2)


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
    return _adam(param, grad, m, v, step, lr, betas[::-1], eps)


def _decayed(*arguments: Any, decoupled: bool, **options: Any) -> Tensors:
    param, grad, *rest = arguments
    if not decoupled:
        return _adam(param, grad + 0.01 * param, *rest, **options)
    new, m, v = _adam(param, grad, *rest, **options)
    return new - 0.01 * arguments[5] * param, m, v


def _clipped(*arguments: Any, **options: Any) -> Tensors:
    param, grad, *rest = arguments
    return _adam(param, grad / max(1.0, float(grad.norm())), *rest, **options)


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


def _in_place(which: str) -> Candidate:
    def step(*arguments: Any, **options: Any) -> Tensors:
        new = _adam(*arguments, **options)
        for name, old, value in zip("pmv", (arguments[0], *arguments[2:4]), new, strict=True):
            if name in which:
                old.copy_(value)
        return new

    return step


def _returning(change: Any) -> Candidate:
    """What comes back is `change(param before, new param, new m, new v)`."""
    return lambda *arguments, **options: change(arguments[0], *_adam(*arguments, **options))


_IN_PLACE = (
    "The result is right, but {} given to the function is changed in place (`add_`, `mul_`, `-=`). "
    "Return new tensors: `m = beta_1 * m + ...` makes one."
)
_NO_V_CORRECTION = "v is used without its correction: divide by 1 - beta_2 ** step. "
_NO_M_CORRECTION = "m is used without its correction: divide by 1 - beta_1 ** step. "
_EPS = "sqrt(v_hat) + eps is asked for. "

MISTAKES = (
    Mistake(
        "no-bias-correction",
        _with(correct=""),
        "The moments are used as they are, without bias correction. Both began at 0 and are too "
        "small at first: divide m by 1 - beta_1 ** step and v by 1 - beta_2 ** step.",
    ),
    Mistake(
        "only-m-corrected",
        _with(correct="m"),
        _NO_V_CORRECTION + "Without it the first steps are several times too large.",
    ),
    Mistake(
        "only-v-corrected",
        _with(correct="v"),
        _NO_M_CORRECTION + "Without it the first steps are ten times too small.",
    ),
    Mistake(
        "corrected-moments-returned",
        _with(keep="mv"),
        "The corrected m_hat and v_hat are returned. The next step would correct them once more: "
        "return the raw m and v, and keep the corrected ones for this step only.",
    ),
    Mistake(
        "correction-multiplied",
        _with(multiply=True),
        "The moments are multiplied by 1 - beta ** step. They are too small at first, so divide.",
    ),
    Mistake(
        "correction-not-to-the-step",
        _with(correction=lambda beta, step: 1 - beta),
        "The correction is 1 - beta at every step, whatever `step` is. It is 1 - beta ** step, "
        "which goes to 1 as the means fill up.",
    ),
    Mistake(
        "correction-times-step",
        _with(correction=lambda beta, step: 1 - beta * step or 1.0),
        "beta is multiplied by step. It is raised to the power of step: 1 - beta ** step.",
    ),
    Mistake(
        "correction-beta-to-step",
        _with(correction=lambda beta, step: beta**step),
        "The moments are divided by beta ** step. The correction is 1 - beta ** step.",
    ),
    Mistake(
        "correction-plus",
        _with(correction=lambda beta, step: 1 + beta**step),
        "The correction is 1 + beta ** step. It is 1 - beta ** step.",
    ),
    Mistake(
        "step-counted-from-zero",
        _with(correction=lambda beta, step: 1 - beta ** (step + 1)),
        "The correction uses step + 1, as if steps were counted from 0. They are counted from 1 "
        "here: 1 - beta ** step.",
    ),
    Mistake(
        "step-one-behind",
        _with(correction=lambda beta, step: 1 - beta ** (step - 1) or float("nan")),
        "The correction uses step - 1, which is 0 at the first step. Steps are counted from 1: "
        "1 - beta ** step.",
    ),
    Mistake(
        "step-minus-one-raises",
        _with(correction=lambda beta, step: 1 / (1 / (1 - beta ** (step - 1)))),
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
        _with(eps_place="inside"),
        "eps is added to v_hat before the square root. " + _EPS + "Inside, 1e-9 would act like "
        "3e-5 outside.",
    ),
    Mistake(
        "eps-before-the-correction",
        _with(eps_place="uncorrected"),
        "eps is added to sqrt(v) before the correction, the short form with lr * sqrt(1 - "
        "beta_2 ** step) / (1 - beta_1 ** step). There eps is scaled too: correct v first, then "
        "take the root and add eps.",
    ),
    Mistake(
        "no-eps",
        _with(eps_place="none"),
        "eps is not used. Where a gradient has always been 0 this is 0 / 0 = NaN: sqrt(v_hat) + "
        "eps.",
    ),
    Mistake(
        "eps-behind-the-fraction",
        _with(eps_place="outside"),
        "eps is added to the quotient instead of the denominator (brackets). m_hat / (sqrt(v_hat) "
        "+ eps).",
    ),
    Mistake(
        "default-eps-1e-8",
        _default(eps=1e-8),
        "The default eps is 1e-8, torch's. The paper's is 1e-9.",
    ),
    Mistake(
        "default-beta-0.999",
        _default(betas=(0.9, 0.999)),
        "The default betas are (0.9, 0.999), torch's. The paper's are (0.9, 0.98).",
    ),
    Mistake(
        "torch-defaults",
        _default(betas=(0.9, 0.999), eps=1e-8),
        "The defaults are torch's, betas (0.9, 0.999) and eps 1e-8. The paper's are (0.9, 0.98) "
        "and 1e-9.",
    ),
    Mistake(
        "eps-ignored",
        _fixed(eps=1e-9),
        "eps is fixed at 1e-9 in the code. Use the argument.",
    ),
    Mistake(
        "eps-ignored-1e-8",
        _fixed(eps=1e-8),
        "eps is fixed at 1e-8 in the code. Use the argument; its default is 1e-9.",
    ),
    Mistake(
        "betas-ignored",
        _fixed(betas=(0.9, 0.98)),
        "The betas are fixed at 0.9 and 0.98 in the code. Use the argument.",
    ),
    Mistake(
        "betas-ignored-0.999",
        _fixed(betas=(0.9, 0.999)),
        "The betas are fixed at 0.9 and 0.999 in the code. Use the argument; its default is (0.9, "
        "0.98).",
    ),
    Mistake("lr-ignored", _fixed(lr=1e-3), "lr is fixed at 0.001 in the code. Use the argument."),
    Mistake(
        "no-lr",
        _fixed(lr=1.0),
        "The step is not multiplied by lr: param - lr * m_hat / (sqrt(v_hat) + eps).",
    ),
    Mistake(
        "betas-exchanged",
        _betas_exchanged,
        "The two betas are exchanged: beta_1 (0.9) belongs to m, beta_2 (0.98) to v.",
    ),
    Mistake(
        "weights-exchanged",
        _with(mean=lambda beta, old, new: (1 - beta) * old + beta * new),
        "beta and 1 - beta are exchanged in the running means: nearly all of the old value would "
        "be forgotten at once. beta * old + (1 - beta) * new.",
    ),
    Mistake(
        "no-one-minus-beta",
        _with(mean=lambda beta, old, new: beta * old + new),
        "The new gradient joins with weight 1 instead of 1 - beta, as in plain momentum. Then m "
        "and v are sums, not means.",
    ),
    Mistake(
        "no-one-minus-beta-1",
        _with(
            mean=lambda beta, old, new: beta * old + new,
            mean_v=lambda beta, old, new: beta * old + (1 - beta) * new,
        ),
        "In m the new gradient joins with weight 1 instead of 1 - beta_1, as in plain momentum.",
    ),
    Mistake(
        "no-one-minus-beta-2",
        _with(mean_v=lambda beta, old, new: beta * old + new),
        "In v the new square joins with weight 1 instead of 1 - beta_2.",
    ),
    Mistake(
        "new-moments-only",
        _with(mean=lambda beta, old, new: (1 - beta) * new),
        "The old moments are forgotten. A running mean keeps them: beta * old + (1 - beta) * new.",
    ),
    Mistake(
        "moments-added",
        _with(mean=lambda beta, old, new: old + (1 - beta) * new),
        "The old moments are kept in full, so they grow without end. A running mean weighs them: "
        "beta * old + (1 - beta) * new.",
    ),
    Mistake(
        "moments-not-updated",
        _with(mean=lambda beta, old, new: old),
        "The moments are not updated with the new gradient.",
    ),
    Mistake(
        "gradient-not-squared",
        _with(square=lambda grad: grad),
        "v averages the gradient instead of its square; then its root is NaN where that is "
        "negative. grad ** 2, number by number.",
    ),
    Mistake(
        "gradient-absolute",
        _with(square=torch.abs),
        "v averages the absolute gradient instead of its square. grad ** 2, number by number.",
    ),
    Mistake(
        "square-of-the-norm",
        _with(square=lambda grad: (grad**2).sum().expand_as(grad).clone()),
        "v averages the squared norm of the whole gradient. Every number has a v of its own: "
        "grad ** 2, number by number.",
    ),
    Mistake(
        "mean-of-the-squares",
        _with(square=lambda grad: (grad**2).mean().expand_as(grad).clone()),
        "v averages the mean square of the whole gradient. Every number has a v of its own: "
        "grad ** 2, number by number.",
    ),
    Mistake(
        "square-of-m",
        _with(mean_v=lambda beta, old, new: beta**2 * old + (1 - beta) ** 2 * new),
        "The weights in v are squared as well. Only the gradient is: beta_2 * v + (1 - beta_2) * "
        "grad ** 2.",
    ),
    Mistake(
        "ascent",
        _with(direction=1.0),
        "The step goes up the gradient: the sign is wrong. Training goes down: param - lr * ...",
    ),
    Mistake(
        "no-root",
        _with(root=False),
        "The step is divided by v_hat instead of its square root.",
    ),
    Mistake(
        "no-second-moment",
        _with(under="one", eps_place="none"),
        "The step is not divided by sqrt(v_hat) + eps: this is momentum, not Adam.",
    ),
    Mistake(
        "no-first-moment",
        _with(by="grad"),
        "The gradient itself stands in the numerator (RMSProp). Adam takes m_hat, the running mean "
        "of the gradients.",
    ),
    Mistake(
        "sign-of-the-gradient",
        _with(by="sign", under="one", eps_place="none"),
        "The step is lr times the sign of the gradient. That is Adam's first step only; later it "
        "is m_hat / (sqrt(v_hat) + eps).",
    ),
    Mistake(
        "plain-descent",
        _with(by="grad", under="one", eps_place="none"),
        "This is plain gradient descent, lr * grad. Use m_hat / (sqrt(v_hat) + eps) in place of "
        "the gradient.",
    ),
    Mistake(
        "plain-descent-without-moments",
        _with(by="grad", under="one", eps_place="none", forget="mv"),
        "This is plain gradient descent, lr * grad, and the moments stay as they are. Update m and "
        "v, and step by m_hat / (sqrt(v_hat) + eps).",
    ),
    Mistake(
        "momentum-without-v",
        _with(correct="", under="one", eps_place="none", forget="v"),
        "This is momentum: v is neither updated nor used. Adam divides by sqrt(v_hat) + eps.",
    ),
    Mistake(
        "rmsprop-without-m",
        _with(by="grad", correct="", forget="m"),
        "This is RMSProp: m is neither updated nor used, and nothing is corrected. Adam steps by "
        "m_hat / (sqrt(v_hat) + eps).",
    ),
    Mistake(
        "rmsprop",
        _with(by="grad", correct=""),
        "The gradient itself stands in the numerator (RMSProp), and v is not corrected. Adam takes "
        "m_hat, the running mean of the gradients, and v_hat.",
    ),
    Mistake(
        "momentum",
        _with(correct="", under="one", eps_place="none"),
        "This is momentum, lr * m: nothing is corrected, and v is not used. Adam steps by "
        "m_hat / (sqrt(v_hat) + eps).",
    ),
    Mistake(
        "root-before-the-correction",
        _with(root_of="v"),
        "The root is taken before the correction: sqrt(v) / (1 - beta_2 ** step). First correct v, "
        "then take the root.",
    ),
    Mistake(
        "m-corrected-returned",
        _with(keep="m"),
        "m comes back corrected (m_hat). Return the raw one: the next step would correct it once "
        "more.",
    ),
    Mistake(
        "v-corrected-returned",
        _with(keep="v"),
        "v comes back corrected (v_hat). Return the raw one: the next step would correct it once "
        "more.",
    ),
    Mistake(
        "rate-falls-with-step",
        _falling_rate,
        "lr is divided by sqrt(step). The rate that is given is used as it is: the schedule is "
        "another function's matter.",
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
        _with(by="old m"),
        "The step uses m as it was before this gradient. Update m first.",
    ),
    Mistake(
        "old-v-used",
        _with(under="old v"),
        "The step uses v as it was before this gradient. Update v first.",
    ),
    Mistake(
        "old-moments-used",
        _with(by="old m", under="old v"),
        "The step uses both moments as they were before this gradient. Update m and v first.",
    ),
    Mistake(
        "old-moments-returned",
        lambda *arguments, **options: (_adam(*arguments, **options)[0], *arguments[2:4]),
        "The moments come back as they were given, so the next step would know nothing of this "
        "one. Return the updated m and v.",
    ),
    Mistake(
        "amsgrad",
        _with(under="maximum"),
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
        "returned-in-another-order",
        _returning(lambda old, param, m, v: (m, v, param)),
        "The three tensors come back as (m, v, param). Return (param, m, v).",
    ),
    Mistake(
        "moments-exchanged",
        _returning(lambda old, param, m, v: (param, v, m)),
        "m and v come back in the wrong order. Return (param, m, v).",
    ),
    Mistake(
        "change-returned",
        _returning(lambda old, param, m, v: (param - old, m, v)),
        "The change comes back instead of the new parameters. Add it to param.",
    ),
    Mistake(
        "downward-change-returned",
        _returning(lambda old, param, m, v: (old - param, m, v)),
        "The change comes back instead of the new parameters. Subtract it from param.",
    ),
    Mistake(
        "param-unchanged",
        _returning(lambda old, param, m, v: (old, m, v)),
        "param comes back as it was. Return the new one.",
    ),
    Mistake(
        "dictionary",
        _returning(lambda old, param, m, v: {"param": param, "m": m, "v": v}),
        "A dictionary is returned. Return three tensors, (param, m, v).",
    ),
    Mistake(
        "param-and-moments",
        _returning(lambda old, param, m, v: (param, (m, v))),
        "The moments come back as a tuple of their own. Return three tensors, (param, m, v).",
    ),
    Mistake(
        "param-only",
        _returning(lambda old, param, m, v: param),
        "Only the parameters come back. The next step needs the moments as well: return (param, m, "
        "v).",
    ),
    Mistake(
        "step-returned-too",
        lambda *arguments, **options: (*_adam(*arguments, **options), arguments[4] + 1),
        "The step is returned too. Return three tensors, (param, m, v).",
    ),
    Mistake(
        "one-tensor",
        _returning(lambda old, param, m, v: torch.stack([param, m, v])),
        "The three are stacked into one tensor. Return three tensors, (param, m, v).",
    ),
    Mistake(
        "corrected-and-eps-inside",
        _with(keep="mv", eps_place="inside"),
        "The corrected moments are returned instead of the raw ones, and eps is added before the "
        "square root instead of after it.",
    ),
    Mistake(
        "uncorrected-eps-inside",
        _with(correct="", eps_place="inside"),
        "The moments are not corrected by 1 - beta ** step, and eps is added before the square "
        "root instead of after it.",
    ),
    Mistake(
        "uncorrected-ascent",
        _with(correct="", direction=1.0),
        "The moments are not corrected by 1 - beta ** step, and the step goes up the gradient: "
        "param - lr * ...",
    ),
    Mistake(
        "corrected-twice",
        _with(correction=lambda beta, step: (1 - beta**step) ** 2),
        "The moments are corrected twice. Divide by 1 - beta ** step once, keep the raw ones.",
    ),
    Mistake(
        "eps-in-and-after-the-root",
        _with(eps_place="both"),
        "eps is added twice, before the root and after it. " + _EPS.strip(),
    ),
    Mistake(
        "eps-squared-inside",
        _with(eps_place="squared"),
        "The square of eps is added before the square root. " + _EPS.strip(),
    ),
    Mistake(
        "eps-as-smallest",
        _with(eps_place="least"),
        "eps is taken as the smallest value of the root (`clamp`, `max`). It is added: sqrt(v_hat) "
        "+ eps.",
    ),
    Mistake(
        "lr-1e-4",
        _fixed(lr=1e-4),
        "lr is fixed at 0.0001 in the code. Use the argument.",
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
        _with(mean_v=lambda beta, old, new: beta * old),
        "v does not take in the new gradient: beta_2 * v + (1 - beta_2) * grad ** 2.",
    ),
    Mistake(
        "v-added",
        _with(mean_v=lambda beta, old, new: old + (1 - beta) * new),
        "The old v is kept in full, so it grows without end. A running mean weighs it: beta_2 * v "
        "+ (1 - beta_2) * grad ** 2.",
    ),
    Mistake(
        "v-sums-squares",
        _with(correct="m", mean_v=lambda beta, old, new: old + new),
        "v is the sum of all squares (Adagrad). Adam takes a running mean, beta_2 * v + "
        "(1 - beta_2) * grad ** 2, and corrects it.",
    ),
    Mistake("changes-all", _in_place("pmv"), _IN_PLACE.format("what is")),
    Mistake("changes-param", _in_place("p"), _IN_PLACE.format("the param")),
    Mistake("changes-moments", _in_place("mv"), _IN_PLACE.format("the pair of moments")),
    Mistake("changes-m", _in_place("m"), _IN_PLACE.format("the m")),
    Mistake("changes-v", _in_place("v"), _IN_PLACE.format("the v")),
)
