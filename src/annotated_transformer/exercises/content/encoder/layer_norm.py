"""`encoder.layer_norm`: the normalisation of section 3.1, on one token at a time."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.drawn import drawn, gain_and_shift
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Gradient, Stage, call


def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    mean = x.mean(dim=-1, keepdim=True)  # (..., 1): one number for each token
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)  # divided by d, not by d - 1
    root = torch.sqrt(variance + eps)  # (..., 1): eps keeps it from being 0
    normalised = (x - mean) / root  # (..., d): mean 0, variance 1
    return gamma * normalised + beta  # a gain and a shift for each feature


def _by_torch(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    return F.layer_norm(x, (x.size(-1),), gamma, beta, eps)


def _by_moments(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    d = x.shape[-1]
    first, second = x.sum(-1, keepdim=True) / d, (x * x).sum(-1, keepdim=True) / d
    return (x - first) * torch.rsqrt(second - first * first + eps) * gamma + beta


def _by_var_mean(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(beta, gamma, (x - mean) / (variance + eps) ** 0.5)


def _by_rows(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        values = list(row)
        mean = sum(values) / len(values)
        variance = sum((value - mean) ** 2 for value in values) / len(values)
        rows.append(torch.stack([(value - mean) / (variance + eps) ** 0.5 for value in values]))
    return torch.stack(rows).reshape(x.shape) * gamma + beta


def _by_centring_matrix(x: Tensor, gamma: Tensor, beta: Tensor, eps: float = 1e-6) -> Tensor:
    d = x.size(-1)
    centred = x @ (torch.eye(d, dtype=x.dtype) - 1 / d)
    length = centred.square().sum(-1, keepdim=True).add(d * eps).sqrt()
    return centred / length * d**0.5 * gamma + beta


def _case(
    name: str,
    *shape: int,
    eps: float | None = None,
    spread: float = 1.0,
    centre: float = 1.0,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    """Drawn numbers around `centre`, gain and shift drawn too; eps is left out where it is None."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        x = centre + spread * drawn(generator, dtype, *shape)
        gamma, beta = gain_and_shift(generator, dtype, shape[-1])
        return call(x, gamma, beta) if eps is None else call(x, gamma, beta, eps)

    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype, gradient=gradient)


def _plain_with_eps(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = drawn(generator, dtype, 2, 3)
    return call(x, torch.ones(3, dtype=dtype), torch.zeros(3, dtype=dtype), 0.5)


def _plain(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = torch.tensor([[1.0, 2.0, 6.0], [0.0, -4.0, -2.0]], dtype=dtype)
    return call(x, torch.ones(3, dtype=dtype), torch.zeros(3, dtype=dtype), 1e-6)


def _constant(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = torch.tensor([[3.0, 3.0, 3.0, 3.0], [0.0, 0.0, 0.0, 0.0]], dtype=dtype)
    return call(x, *gain_and_shift(generator, dtype, 4), 1e-6)


def _not_contiguous(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = drawn(generator, dtype, 5, 3, 2).transpose(0, 2)  # (2, 3, 5)
    return call(x, *gain_and_shift(generator, dtype, 5))


LAYER_NORM = Exercise(
    id="encoder.layer_norm",
    title="Layer normalisation",
    kind="code",
    difficulty=2,
    minutes=10,
    signature=("layer_norm(x: (..., d), gamma: (d,), beta: (d,), eps: float = 1e-6) -> (..., d)"),
    statement=(
        "Give every token mean 0 and variance 1 over its d features, then multiply by the gain "
        "gamma and add the shift beta, both (d,). Population variance (divided by d), eps inside "
        "the square root: sqrt(variance + eps). x may have any number of leading axes. The dtype "
        "of x is kept and the inputs are left untouched. Gradients have to flow back to its "
        "inputs: it is trained through. A tensor from NumPy is accepted with a remark."
    ),
    objective="Write layer normalisation exactly, and tell it from its near relatives.",
    prerequisite="Section 3.1 of the paper",
    hints=(
        "x is (2, 3, 512): two sentences, three words. How many means are there, and over which "
        "axis is each taken?",
        "One mean and one variance for each token: `dim=-1, keepdim=True`. Which divisor does "
        "`x.var(-1)` use if it is told nothing else?",
        "`mean = x.mean(-1, keepdim=True)`, `variance = ((x - mean) ** 2).mean(-1, "
        "keepdim=True)`, divide by `(variance + eps).sqrt()`, then the gain and the shift.",
    ),
    reference=layer_norm,
    explanation=(
        "Each token is normalised by its own mean and variance, so that its result does not "
        "depend on the other words or sentences: batch size, padding and sentence length change "
        "nothing. The variance is divided by d because these d numbers are all there are; nothing "
        "is estimated. eps stands inside the root, so a token whose features are all equal gives "
        "0 / sqrt(eps) = 0 instead of 0 / 0. The gain and the shift let the model undo the "
        "normalisation feature by feature where it helps. A well-known listing divides by "
        "x.std(-1) + eps: another divisor and another place of eps. It trains, but its numbers do "
        "not agree with torch's, and weights do not carry over exactly."
    ),
    cases=(
        Case(
            "x of shape (2, 3), gain 1, shift 0",
            _plain,
            isolates="mean and variance: the gain is 1 and the shift is 0",
        ),
        Case(
            "tokens whose four features are all equal",
            _constant,
            isolates="the shift: features that are all equal become 0, and beta is added",
        ),
        _case(
            "eps = 0.5, x of shape (2, 3)",
            *(2, 3),
            eps=0.5,
            isolates="eps: it is large enough to be seen",
        ),
        Case(
            "eps = 0.5, gain 1, shift 0, x of shape (2, 3)",
            _plain_with_eps,
            isolates="eps alone: the gain is 1 and the shift is 0",
        ),
        _case("x of shape (2, 5)", 2, 5, eps=1e-6, gradient="in torch"),
        _case(
            "eps left out, features about 0.001 apart",
            *(3, 4),
            spread=1e-3,
            isolates="the default of eps: the variance is about as large as it",
        ),
        _case("x of shape (2, 3, 5), eps = 0.01", 2, 3, 5, eps=1e-2),
        _case("x of shape (4, 2, 3), features around 100", 4, 2, 3, centre=100.0, spread=20.0),
        _case("a single token, x of shape (4,)", 4, eps=0.1, stage="other"),
        _case("four axes, x of shape (2, 3, 2, 4)", 2, 3, 2, 4, eps=0.1, stage="other"),
        _case("float32, x of shape (2, 3, 6)", 2, 3, 6, stage="other", dtype=torch.float32),
        Case("x that is not contiguous", _not_contiguous, stage="other"),
    ),
    mistakes=page(__file__, layer_norm),
    alternatives=(_by_torch, _by_moments, _by_var_mean, _by_rows, _by_centring_matrix),
    starter=(
        "def layer_norm(x, gamma, beta, eps=1e-6):\n"
        '    """x (..., d), gamma and beta (d,) -> (..., d): each token normalised."""\n'
        "    ...  # your code"
    ),
)
