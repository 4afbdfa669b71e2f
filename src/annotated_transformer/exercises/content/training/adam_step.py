"""`training.adam_step` (section 5.3): one step of Adam, with the paper's betas and epsilon."""

import math

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Stage, call

Betas = tuple[float, float]
Tensors = tuple[Tensor, Tensor, Tensor]


def adam_step(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    beta_1, beta_2 = betas
    m = beta_1 * m + (1 - beta_1) * grad  # running mean of gradients
    v = beta_2 * v + (1 - beta_2) * grad**2  # running mean of their squares
    m_hat = m / (1 - beta_1**step)  # both began at 0: correct for it
    v_hat = v / (1 - beta_2**step)
    param = param - lr * m_hat / (v_hat.sqrt() + eps)
    return param, m, v


def _by_lerp(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    m = torch.lerp(m, grad, 1 - betas[0])
    v = torch.lerp(v, grad.square(), 1 - betas[1])
    size = (v / (1 - math.pow(betas[1], step))) ** 0.5 + eps
    return torch.addcdiv(param, m, size, value=-lr / (1 - betas[0] ** step)), m, v


def _in_copies(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    """As torch writes it: the corrections moved into the step size and the denominator."""
    param, m, v = param.clone(), m.clone(), v.clone()
    m.mul_(betas[0]).add_(grad, alpha=1 - betas[0])
    v.mul_(betas[1]).addcmul_(grad, grad, value=1 - betas[1])
    denominator = (v.sqrt() / math.sqrt(1 - betas[1] ** step)).add_(eps)
    param.addcdiv_(m, denominator, value=-lr / (1 - betas[0] ** step))
    return param, m, v


def _by_numpy(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    g, first, second = (tensor.detach().numpy() for tensor in (grad, m, v))
    first = first * betas[0] + g * (1.0 - betas[0])
    second = second * betas[1] + g * g * (1.0 - betas[1])
    change = (first / (1.0 - betas[0] ** step)) / (np.sqrt(second / (1.0 - betas[1] ** step)) + eps)
    new = [np.asarray(part) for part in (param.detach().numpy() - lr * change, first, second)]
    return (torch.from_numpy(new[0]), torch.from_numpy(new[1]), torch.from_numpy(new[2]))


def _by_loops(
    param: Tensor,
    grad: Tensor,
    m: Tensor,
    v: Tensor,
    step: int,
    lr: float,
    betas: Betas = (0.9, 0.98),
    eps: float = 1e-9,
) -> Tensors:
    rows = []
    tensors = (param, grad, m, v)
    for p, g, a, b in zip(*(tensor.flatten().tolist() for tensor in tensors), strict=True):
        a = betas[0] * a + (1 - betas[0]) * g
        b = betas[1] * b + (1 - betas[1]) * g * g
        size = math.sqrt(b / (1 - betas[1] ** step)) + eps
        rows.append((p - lr * (a / (1 - betas[0] ** step)) / size, a, b))
    new = torch.tensor(rows, dtype=param.dtype).T.reshape(3, *param.shape)
    return new[0], new[1], new[2]


def _case(
    name: str,
    shape: tuple[int, ...],
    step: int,
    lr: float,
    *rest: object,
    size: float = 1.0,
    fresh: bool = False,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
) -> Case:
    """size: of the gradients and of what is known of them. fresh: both moments still zero."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        param, grad, m = torch.randn((3, *shape), generator=generator, dtype=dtype).unbind(0)
        v = torch.rand(shape, generator=generator, dtype=dtype) + 0.1
        grad, m, v = size * grad, size * m, size**2 * v
        if fresh:
            m, v = torch.zeros_like(m), torch.zeros_like(v)
        return call(param.clone(), grad, m, v, step, lr, *rest)

    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype)


def _by_hand(generator: torch.Generator, dtype: torch.dtype) -> Call:
    param, grad, m, v = torch.tensor(
        [[1.0, 1.0, 1.0], [2.0, -0.5, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], dtype=dtype
    ).unbind(0)
    return call(param.clone(), grad.clone(), m.clone(), v.clone(), 1, 0.5)


CASES = (
    Case(
        "step 1, gradient [2, -0.5, 0], both moments 0, lr 0.5",
        _by_hand,
        isolates="the first step: each number moves by lr against the sign of its gradient, and "
        "not at all where the gradient is 0",
    ),
    _case("shape (4,), step 7, lr 0.3", (4,), 7, 0.3),
    _case(
        "shape (2, 3), step 1, lr 1, betas (0.5, 0.8), eps 0.1",
        (2, 3),
        1,
        1.0,
        (0.5, 0.8),
        0.1,
        fresh=True,
        isolates="eps, which is large here, on the first step",
    ),
    _case(
        "gradients of 1e-9, step 1, lr 1",
        (5,),
        1,
        1.0,
        size=1e-9,
        fresh=True,
        isolates="the default eps, as large as the gradients",
    ),
    _case("shape (3,), step 2, betas (0.6, 0.9), eps 0.05", (3,), 2, 0.5, (0.6, 0.9), 0.05),
    _case("shape (2, 2, 3), step 20, lr 0.7", (2, 2, 3), 20, 0.7),
    _case("shape (6,), step 3, eps 0.5", (6,), 3, 0.2, (0.9, 0.98), 0.5),
    _case("shape (6,), step 4, betas (0.2, 0.95)", (6,), 4, 0.2, (0.2, 0.95)),
    _case("shape (4,), step 5000, lr 0.05", (4,), 5000, 0.05),
    _case(
        "shape (4,), step 5000, eps 0.3",
        (4,),
        5000,
        0.5,
        (0.9, 0.98),
        0.3,
        isolates="eps without the corrections, which are 1 by now",
    ),
    _case("a single number, shape (1,), step 2", (1,), 2, 0.4),
    _case("float32, shape (3, 2), step 5", (3, 2), 5, 0.5, stage="other", dtype=torch.float32),
)

ADAM_STEP = Exercise(
    id="training.adam_step",
    title="One step of Adam",
    kind="code",
    difficulty=3,
    minutes=15,
    signature=(
        "adam_step(param, grad, m, v: tensors of one shape, step: int >= 1, lr: float, "
        "betas=(0.9, 0.98), eps=1e-9) -> (param, m, v)"
    ),
    statement=(
        "One step of Adam as in section 5.3. m and v are the running means of the gradient and of "
        "its square: m = beta_1 m + (1 - beta_1) grad, v = beta_2 v + (1 - beta_2) grad^2. Correct "
        "both for their start at 0, by 1 - beta^step, and move param by lr * m_hat / "
        "(sqrt(v_hat) + eps). Return (param, m, v) as new tensors; m and v are the raw "
        "(uncorrected) moments; eps is added to the root. The dtype is kept, the given tensors are "
        "not changed."
    ),
    objective="Say what Adam keeps, what it corrects, and why the first step has the size lr.",
    prerequisite="training.noam_rate",
    hints=(
        "At step 1, with m = v = 0: what are m and v after the update, and what are they after "
        "their correction?",
        "Which of the four quantities m, v, m_hat, v_hat does the next step need, and which are "
        "used in this one only?",
        "m and v: beta * old + (1 - beta) * new. m_hat = m / (1 - beta_1 ** step), v_hat the same "
        "with beta_2. param - lr * m_hat / (v_hat.sqrt() + eps).",
    ),
    reference=adam_step,
    explanation=(
        "Both means start at 0, so after one step m is only (1 - beta_1) times the gradient; "
        "dividing by 1 - beta_1^step makes it a proper mean. With it the first step has size lr "
        "whatever the gradient's scale. The correction is for use, not for keeping: the next step "
        "averages the raw m and v. The paper's beta_2 = 0.98 forgets within some 50 steps (torch's "
        "default 0.999 within 1000), and its eps of 1e-9 only prevents 0 / 0."
    ),
    cases=CASES,
    mistakes=page(__file__, adam_step),
    alternatives=(_by_lerp, _in_copies, _by_numpy, _by_loops),
    starter=(
        "def adam_step(param, grad, m, v, step, lr, betas=(0.9, 0.98), eps=1e-9):\n"
        '    """Four tensors of one shape -> new param, m and v (raw); step counts from 1."""\n'
        "    ...  # your code"
    ),
    returns=("param", "m", "v"),
)
