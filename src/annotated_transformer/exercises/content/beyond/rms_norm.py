"""`beyond.rms_norm`: layer normalisation without the mean."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.beyond.drawn import drawn
from annotated_transformer.exercises.exercise import Exercise


def rms_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    mean_square = x.pow(2).mean(dim=-1, keepdim=True)  # (..., 1)
    root = torch.sqrt(mean_square + eps)  # (..., 1)
    normalised = x / root  # (..., d)
    return normalised * gain  # (..., d)


def _by_torch(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return F.rms_norm(x, gain.shape, gain, eps)


def _by_rsqrt(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    return gain * (x * torch.rsqrt((x * x).sum(-1, keepdim=True) / x.shape[-1] + eps))


def _by_norm(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return torch.einsum("...d,d->...d", x / (length**2 / x.size(-1) + eps) ** 0.5, gain)


def _by_rows(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    out = torch.empty_like(x).reshape(-1, x.size(-1))
    for number, row in enumerate(x.reshape(-1, x.size(-1))):
        out[number] = row * gain / (row.dot(row) / len(row) + eps).sqrt()
    return out.reshape(x.shape)


def _by_numpy(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    numbers = x.detach().numpy()
    root = ((numbers**2).mean(-1, keepdims=True) + eps) ** 0.5
    return torch.as_tensor(numbers / root * gain.detach().numpy(), dtype=x.dtype)


RMS_NORM = Exercise(
    id="beyond.rms_norm",
    title="RMSNorm",
    kind="code",
    difficulty=1,
    minutes=6,
    signature="rms_norm(x: (..., d), gain: (d,), eps: float) -> (..., d)",
    statement=(
        "Divide each vector along the last axis by its root mean square, sqrt(mean(x²) + eps), "
        "and multiply by the gain. The mean is not subtracted and there is no bias; eps stands "
        "under the root. Shape and dtype are those of x, which is left untouched. Gradients have "
        "to flow back to its inputs: it is trained through. A tensor from NumPy is accepted with a "
        "remark."
    ),
    objective="Write the normalisation most later models use, and say what it leaves out.",
    prerequisite="encoder.layer_norm",
    hints=(
        "Layer normalisation subtracts a mean, divides by a deviation, multiplies and adds. Which "
        "two of these four are left?",
        "Square, average over the last axis with the axis kept, add eps, take the root: in this "
        "order.",
        "`x / torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + eps) * gain`.",
    ),
    reference=rms_norm,
    explanation=(
        "Layer normalisation makes a vector free of its mean and of its size. RMSNorm keeps only "
        "the second: it divides by the root mean square, so that a vector of numbers near 1 comes "
        "out whatever the scale of x. That saves the mean and the shift, which is time only where "
        "one kernel does it, and trains about as well. A vector with a mean of its own keeps it: "
        "add 5 to every component and the result changes, which layer normalisation would not "
        "notice."
    ),
    cases=(
        drawn(
            "x of shape (1, 2), eps 0.5",
            ((1, 2), (2,)),
            0.5,
            isolates="the formula: a single vector of two numbers",
        ),
        drawn(
            "x of shape (2, 4) with a mean of about 3, eps 0.001",
            ((2, 4), (4,)),
            1e-3,
            change=lambda x, gain: (x + 3, gain),
            isolates="the mean: it must stay in",
        ),
        drawn(
            "x of shape (2, 3, 5), eps 0.1",
            ((2, 3, 5), (5,)),
            0.1,
            gradient="in torch",
            isolates="the axes: all sizes differ",
        ),
        drawn(
            "x of shape (4, 4), eps 0.01",
            ((4, 4), (4,)),
            1e-2,
            isolates="the last axis: a square x raises no error on a wrong one",
        ),
        drawn("x of shape (5,), eps 2", ((5,), (5,)), 2.0, isolates="a single vector"),
        drawn(
            "numbers of about 0.001, x of shape (3, 6), eps 0.00001",
            ((3, 6), (6,)),
            1e-5,
            change=lambda x, gain: (x * 1e-3, gain),
            isolates="eps: it is larger than the mean square",
        ),
        drawn(
            "numbers of about 10000, x of shape (2, 3, 2), eps 0.000001",
            ((2, 3, 2), (2,)),
            1e-6,
            change=lambda x, gain: (x * 1e4, gain),
            isolates="the size: nothing of it may be left",
        ),
        drawn(
            "a row of zeros, x of shape (2, 3), eps 0.01",
            ((2, 3), (3,)),
            1e-2,
            change=lambda x, gain: (x * torch.tensor([[1], [0]]), gain),
            isolates="eps: without it a vector of zeros is 0 / 0",
        ),
        drawn(
            "x of shape (2, 3, 4, 1), width 1, eps 0.3",
            ((2, 3, 4, 1), (1,)),
            0.3,
            isolates="width 1: the mean square is the square",
        ),
        drawn(
            "float32, x of shape (2, 3, 4), eps 0.05",
            ((2, 3, 4), (4,)),
            0.05,
            stage="other",
            dtype=torch.float32,
        ),
        drawn(
            "views that are not contiguous",
            ((3, 2, 10), (5,)),
            0.2,
            change=lambda x, gain: (x[..., 5:], gain),
            stage="other",
        ),
    ),
    mistakes=page(__file__, rms_norm),
    alternatives=(_by_torch, _by_rsqrt, _by_norm, _by_rows, _by_numpy),
    starter=(
        "def rms_norm(x, gain, eps):\n"
        '    """x (..., d), gain (d,) -> x / sqrt(mean(x²) + eps) * gain, (..., d)."""\n'
        "    ...  # your code"
    ),
)
