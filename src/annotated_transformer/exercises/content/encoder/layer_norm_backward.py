"""`encoder.layer_norm_backward`: the gradient that passes through layer normalisation."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.drawn import drawn
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Stage, call


def layer_norm_backward(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    mean = x.mean(dim=-1, keepdim=True)  # (n, 1)
    variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)  # (n, 1)
    root = torch.sqrt(variance + eps)  # (n, 1)
    y = (x - mean) / root  # (n, d): what the forward pass returned
    through_mean = grad.mean(dim=-1, keepdim=True)  # (n, 1): every x_j moves the mean
    through_variance = y * (grad * y).mean(dim=-1, keepdim=True)  # (n, d): and the variance
    left = grad - through_mean - through_variance  # (n, d): the directions that change y
    return left / root


def _by_autograd(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    leaf = x.detach().clone().requires_grad_()
    y = F.layer_norm(leaf, (x.size(-1),), eps=eps)
    return torch.autograd.grad(y, leaf, grad_outputs=grad)[0]


def _by_steps(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    d = x.shape[1]
    centred = x - x.mean(1, keepdim=True)
    variance = (centred * centred).mean(1, keepdim=True)
    inverse = (variance + eps) ** -0.5
    d_variance = (grad * centred).sum(1, keepdim=True) * -0.5 * inverse**3
    d_mean = (-grad * inverse).sum(1, keepdim=True)
    d_mean = d_mean + d_variance * (-2 * centred).mean(1, keepdim=True)
    return grad * inverse + d_variance * 2 * centred / d + d_mean / d


def _by_jacobians(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    d = x.size(1)
    rows = []
    for row, row_grad in zip(x, grad, strict=True):
        centred = row - row.mean()
        root = (centred.dot(centred) / d + eps).sqrt()
        y = centred / root
        jacobian = (torch.eye(d, dtype=x.dtype) - 1 / d - torch.outer(y, y) / d) / root
        rows.append(row_grad @ jacobian)
    return torch.stack(rows)


def _by_sums(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    d = x.size(-1)
    y = F.layer_norm(x, (d,), eps=eps)
    inverse = torch.rsqrt(x.var(-1, unbiased=False, keepdim=True) + eps)
    dot = torch.einsum("nd,nd->n", grad, y)[:, None]
    return inverse / d * (d * grad - grad.sum(-1, keepdim=True) - y * dot)


def _case(
    name: str,
    n: int,
    d: int,
    eps: float,
    *,
    spread: float = 1.0,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        x = 1.0 + spread * drawn(generator, dtype, n, d)
        return call(x, drawn(generator, dtype, n, d) + 0.5, eps)

    # The exact gradient can be 0, where only rounding is left.
    atol = 1e-9 if dtype is None else 1e-6
    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype, atol=atol)


def _one_feature(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = torch.tensor([[1.0, 2.0, 6.0]], dtype=dtype)
    return call(x, torch.tensor([[1.0, 0.0, 0.0]], dtype=dtype), 0.5)


def _equal_gradients(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = torch.tensor([[1.0, 2.0, 6.0, -1.0], [0.5, -4.0, -2.0, 1.0]], dtype=dtype)
    grad = torch.tensor([[2.0], [-1.0]], dtype=dtype).expand(2, 4).clone()
    return call(x, grad, 1e-3)


def _along_the_output(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = torch.tensor([[-3.0, 1.0, 2.0], [4.0, -1.0, -3.0]], dtype=dtype)
    return call(x, 2 * x, 0.5)


def _equal_features(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = torch.tensor([[3.0, 3.0, 3.0], [0.0, 0.0, 0.0]], dtype=dtype)
    return call(x, drawn(generator, dtype, 2, 3) + 0.5, 0.25)


def _not_contiguous(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x, grad = drawn(generator, dtype, 2, 5, 3).mT
    return call(x, grad, 0.01)


LAYER_NORM_BACKWARD = Exercise(
    id="encoder.layer_norm_backward",
    title="The gradient of layer normalisation",
    kind="gradient",
    difficulty=4,
    minutes=25,
    signature="layer_norm_backward(x (n, d), grad (n, d), eps) -> gradient of x (n, d)",
    statement=(
        "The forward pass is y = (x - mean) / sqrt(variance + eps) for each row of x: mean and "
        "population variance over the d features, gain 1 and shift 0. grad is the gradient of the "
        "loss with respect to y. Return the gradient with respect to x, (n, d). Derive it by "
        "hand; autograd may check you. The dtype is kept, the inputs are left untouched."
    ),
    objective=(
        "Carry a gradient through a mean and a variance, and see what the normalisation takes "
        "out of it."
    ),
    prerequisite="encoder.layer_norm",
    hints=(
        "Change one feature x_j a little. In how many places of the formula does it appear, and "
        "which of the d outputs change?",
        "Three paths lead from x_j to the outputs: directly, through the mean, and through the "
        "variance. Differentiate each; `(x - mean) / root` is y again. The variance moves by "
        "2 (x_j - mean) / d with x_j, since the deviations add up to 0.",
        "(grad - mean(grad) - y · mean(grad · y)) / sqrt(variance + eps), the means over the "
        "features.",
    ),
    reference=layer_norm_backward,
    explanation=(
        "y_i = (x_i - m) / r. Directly, x_j moves y_j by 1 / r. Through the mean it moves every "
        "y_i by -1 / (d r), which collects mean(grad). Through the variance it moves r by "
        "y_j / d, hence every y_i by -y_i y_j / (d r), which collects y_j · mean(grad · y). So "
        "the gradient loses its mean and its part along y: adding a constant to a token, or "
        "stretching it, does not change what comes out (but for eps), so no gradient may point "
        "there. And all is divided by r: a large x gets a small gradient. Taking mean and "
        "variance for constants leaves grad / r, which is wrong in exactly those two directions."
    ),
    cases=(
        Case("one token of three features, gradient in the first", _one_feature, atol=1e-9),
        Case(
            "gradients that are equal within a token",
            _equal_gradients,
            atol=1e-9,
            isolates=(
                "the path through the mean: raising all outputs alike cannot be done, so the "
                "gradient is 0"
            ),
        ),
        Case(
            "gradients in the direction of x, eps = 0.5",
            _along_the_output,
            atol=1e-9,
            isolates="the path through the variance, and eps: without eps the gradient would be 0",
        ),
        Case(
            "tokens whose features are all equal, eps = 0.25",
            _equal_features,
            atol=1e-9,
            isolates="the division by the root: the variance is 0, and y too",
        ),
        _case("x of shape (2, 4), eps = 1e-6", 2, 4, 1e-6),
        _case("x of shape (3, 5), eps = 0.3", 3, 5, 0.3),
        _case("x of shape (4, 3), features about 10 apart", 4, 3, 1e-6, spread=10.0),
        _case("features 0.01 apart, eps = 1e-5", 2, 6, 1e-5, spread=0.01),
        _case("float32, x of shape (3, 6)", 3, 6, 0.1, stage="other", dtype=torch.float32),
        Case("x and grad that are not contiguous", _not_contiguous, stage="other", atol=1e-9),
    ),
    mistakes=page(__file__, layer_norm_backward),
    alternatives=(_by_autograd, _by_steps, _by_jacobians, _by_sums),
    starter=(
        "def layer_norm_backward(x, grad, eps):\n"
        '    """x (n, d), grad (n, d): of the loss by y -> (n, d): of the loss by x."""\n'
        "    ...  # your code"
    ),
)
