"""`encoder.feed_forward`: equation (2) of the paper (section 3.3)."""

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.drawn import drawn
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Gradient, Stage, call


def feed_forward(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    before = x @ w1 + b1  # (..., d_ff)
    hidden = torch.relu(before)  # max(0, x W_1 + b_1): all that is not linear
    output = hidden @ w2 + b2  # (..., d)
    return output


def _by_linear(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    return F.linear(F.relu(F.linear(x, w1.T, b1)), w2.T, b2)


def _by_einsum(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    hidden = (torch.einsum("...d,df->...f", x, w1) + b1).clamp(min=0)
    return torch.einsum("...f,fd->...d", hidden, w2) + b2


def _by_hidden_units(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    out = b2.expand_as(x)
    for unit in range(w1.size(1)):
        active = (x * w1[:, unit]).sum(-1, keepdim=True) + b1[unit]
        out = out + torch.where(active > 0, active, torch.zeros_like(active)) * w2[unit]
    return out


def _by_numpy(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    inputs = [tensor.detach().numpy() for tensor in (x, w1, b1, w2, b2)]
    hidden = np.maximum(inputs[0] @ inputs[1] + inputs[2], 0)
    return torch.from_numpy(np.asarray(hidden @ inputs[3] + inputs[4]))


def _by_absolute_values(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    before = x.matmul(w1).add(b1)
    return (before + before.abs()).div(2).matmul(w2).add(b2)


def _case(
    name: str,
    *shape: int,
    d_ff: int,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        d = shape[-1]
        x = drawn(generator, dtype, *shape)
        w1, b1 = drawn(generator, dtype, d, d_ff), drawn(generator, dtype, d_ff)
        w2, b2 = drawn(generator, dtype, d_ff, d), drawn(generator, dtype, d)
        return call(x, w1, b1, w2, b2)

    return Case(name, make, stage=stage, dtype=dtype, gradient=gradient)


def _by_hand(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = torch.tensor([[1.0, -2.0]], dtype=dtype)
    w1 = torch.tensor([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]], dtype=dtype)
    b1 = torch.tensor([0.5, 1.0, -1.0], dtype=dtype)
    w2 = torch.tensor([[1.0, -1.0], [2.0, 3.0], [5.0, 1.0]], dtype=dtype)
    return call(x, w1, b1, w2, torch.tensor([10.0, -20.0], dtype=dtype))


def _nothing_active(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x, w1 = drawn(generator, dtype, 2, 3).abs() + 0.5, -drawn(generator, dtype, 3, 4).abs() - 0.5
    w2, b2 = drawn(generator, dtype, 4, 3), drawn(generator, dtype, 3)
    return call(x, w1, torch.full((4,), -0.25, dtype=dtype), w2, b2)


def _everything_active(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x, w1 = drawn(generator, dtype, 2, 3).abs() + 0.5, drawn(generator, dtype, 3, 4).abs() + 0.5
    w2, b2 = drawn(generator, dtype, 4, 3), drawn(generator, dtype, 3)
    return call(x, w1, drawn(generator, dtype, 4).abs() + 0.5, w2, b2)


def _not_contiguous(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = drawn(generator, dtype, 3, 4, 2).transpose(0, 2)  # (2, 4, 3)
    w1, w2 = drawn(generator, dtype, 5, 3).T, drawn(generator, dtype, 3, 5).T
    return call(x, w1, drawn(generator, dtype, 5), w2, drawn(generator, dtype, 3))


FEED_FORWARD = Exercise(
    id="encoder.feed_forward",
    title="The position-wise feed-forward network",
    kind="code",
    difficulty=1,
    minutes=5,
    signature=(
        "feed_forward(x: (..., d), w1: (d, d_ff), b1: (d_ff,), w2: (d_ff, d), b2: (d,)) -> (..., d)"
    ),
    statement=(
        "Equation (2) of the paper: a linear map to d_ff features, ReLU, a linear map back to d. "
        "The weights are used as x @ w. No dropout, no residual. x may have any number of "
        "leading axes. The dtype is kept, inputs are left untouched. Gradients have to flow back "
        "to its inputs: it is trained through. A tensor from NumPy is accepted with a remark."
    ),
    objective="Write the half of a layer that works on each word alone.",
    prerequisite="Section 3.3 of the paper",
    hints=(
        "FFN(x) = max(0, x W_1 + b_1) W_2 + b_2. What exactly stands inside the max?",
        "Of which shape is x W_1 + b_1? The ReLU works there, and only there.",
        "`torch.relu(x @ w1 + b1) @ w2 + b2`",
    ),
    reference=feed_forward,
    explanation=(
        "The same two matrices act on every position, so no word sees another here: that happens "
        "in attention alone. The ReLU between them, bias included, is all that keeps the two maps "
        "from collapsing into one. There is none at the end: the result is added to the residual "
        "stream and must be able to lower it too."
    ),
    cases=(
        Case("one token, d = 2, d_ff = 3", _by_hand),
        Case(
            "a network in which no hidden unit is active",
            _nothing_active,
            isolates="the second bias: all that ReLU sees is negative, so only b2 is left",
        ),
        Case(
            "a network in which every hidden unit is active",
            _everything_active,
            isolates="the two linear maps: all that ReLU sees is positive",
        ),
        _case("x of shape (2, 3, 4), d_ff = 6", 2, 3, 4, d_ff=6, gradient="in torch"),
        _case("d = d_ff = 3, x of shape (2, 5, 3)", 2, 5, 3, d_ff=3),
        _case("x of shape (3, 5), d_ff = 2", 3, 5, d_ff=2),
        _case("a single token, x of shape (4,)", 4, d_ff=5, stage="other"),
        _case("four axes, x of shape (2, 3, 2, 4)", 2, 3, 2, 4, d_ff=5, stage="other"),
        _case("float32", 2, 3, 4, d_ff=8, stage="other", dtype=torch.float32),
        Case("x and weights that are not contiguous", _not_contiguous, stage="other"),
    ),
    mistakes=page(__file__, feed_forward),
    alternatives=(_by_linear, _by_einsum, _by_hidden_units, _by_numpy, _by_absolute_values),
    starter=(
        "def feed_forward(x, w1, b1, w2, b2):\n"
        '    """x (..., d), w1 (d, d_ff), b1 (d_ff,), w2 (d_ff, d), b2 (d,) -> (..., d)."""\n'
        "    ...  # your code"
    ),
)
