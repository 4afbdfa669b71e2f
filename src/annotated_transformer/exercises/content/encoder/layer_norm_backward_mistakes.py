"""The named mistakes of `encoder.layer_norm_backward`: three paths, each to be got wrong."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.encoder.layer_norm_backward_paths import (
    WRONG_PATHS,
    backward_of,
)
from annotated_transformer.exercises.content.encoder.layer_norm_backward_statistics import (
    WRONG_STATISTICS,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _right(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    result: Tensor = backward_of()(x, grad, eps)
    return result


def _forward(x: Tensor, eps: float) -> Tensor:
    centred = x - x.mean(-1, keepdim=True)
    return centred / (x.var(-1, correction=0, keepdim=True) + eps).sqrt()


def _without_keepdim(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    return grad - grad.mean(-1) - x.mean(-1)


def _x_changed(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    result = _right(x, grad, eps)
    x -= x.mean(-1, keepdim=True)
    return result


def _x_normalised(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    result = _right(x, grad, eps)
    x.copy_(_forward(x, eps))
    return result


def _grad_changed(x: Tensor, grad: Tensor, eps: float) -> Tensor:
    result = _right(x, grad, eps)
    grad -= grad.mean(-1, keepdim=True)
    return result


def _all_gradients(x: Tensor, grad: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
    return _right(x, grad, eps), (grad * _forward(x, eps)).sum(0), grad.sum(0)


def _of_forward(correction: int, root: Callable[[Tensor, float], Tensor]) -> Candidate:
    """The gradient of another forward pass, which autograd finds without fault."""

    def implementation(x: Tensor, grad: Tensor, eps: float) -> Tensor:
        leaf = x.detach().clone().requires_grad_()
        variance = leaf.var(-1, correction=correction, keepdim=True)
        y = (leaf - leaf.mean(-1, keepdim=True)) / root(variance, eps)
        return torch.autograd.grad(y, leaf, grad_outputs=grad)[0]

    return implementation


_OF_FORWARD = "This is the exact gradient of another forward pass. "
_CHANGED = (
    "The values are right, but an input is changed in place (`-=`, `/=`, `copy_`). The caller "
    "still needs it: make new tensors, `x = x - mean`."
)

LAYER_NORM_BACKWARD_MISTAKES = (
    *(
        Mistake(name, backward_of(**parts), text)
        for name, text, parts in (*WRONG_PATHS, *WRONG_STATISTICS)
    ),
    Mistake(
        "forward-unbiased",
        _of_forward(1, lambda variance, eps: (variance + eps).sqrt()),
        _OF_FORWARD + "There the variance is divided by d - 1, as `x.var(-1)` does; here it is "
        "divided by d (`correction=0`).",
    ),
    Mistake(
        "forward-eps-outside",
        _of_forward(0, lambda variance, eps: variance.sqrt() + eps),
        _OF_FORWARD + "There eps is added after the root; here it stands inside, "
        "sqrt(variance + eps).",
    ),
    Mistake(
        "forward-unbiased-and-eps-outside",
        _of_forward(1, lambda variance, eps: variance.sqrt() + eps),
        _OF_FORWARD + "There the divisor is `x.std(-1) + eps`, with d - 1 and eps outside; here "
        "it is sqrt(variance + eps), with the variance divided by d.",
    ),
    Mistake(
        "forward-no-root",
        _of_forward(0, lambda variance, eps: variance + eps),
        _OF_FORWARD + "There x - mean is divided by the variance; here by its root, "
        "sqrt(variance + eps).",
    ),
    Mistake(
        "forward",
        lambda x, grad, eps: _forward(x, eps),
        "This is the forward pass: y is returned and grad is not used. Asked for is the gradient "
        "with respect to x.",
    ),
    Mistake(
        "grad-normalised",
        lambda x, grad, eps: _forward(grad, eps),
        "grad itself is normalised, with its own mean and variance, and x is not used. The root "
        "is that of x: carry grad back through (x - mean) / root.",
    ),
    Mistake(
        "grad-times-output",
        lambda x, grad, eps: grad * _forward(x, eps),
        "grad * y is what the gradient of the gain gamma is summed from. Asked for is the "
        "gradient with respect to x.",
    ),
    Mistake(
        "gradient-of-the-gain",
        lambda x, grad, eps: (grad * _forward(x, eps)).sum(0),
        "This is the gradient of the gain gamma, (d,). Asked for is the gradient with respect to "
        "x, (n, d).",
    ),
    Mistake(
        "all-three-gradients",
        _all_gradients,
        "The gradients of gain and shift are returned too. Here the gain is 1 and the shift 0: "
        "return the gradient with respect to x alone.",
    ),
    Mistake(
        "two-gradients",
        lambda x, grad, eps: _all_gradients(x, grad, eps)[:2],
        "A second gradient is returned too. Return the gradient with respect to x alone.",
    ),
    Mistake(
        "grad-of-a-sum",
        lambda x, grad, eps: _right(x, torch.ones_like(grad), eps),
        "grad is not used: this is the gradient of the sum of the outputs (`y.sum().backward()`), "
        "which is 0 because every token's outputs sum to 0. Weight the outputs with grad.",
    ),
    Mistake(
        "jacobian-without-grad",
        lambda x, grad, eps: (
            (1 - 1 / x.size(1) - _forward(x, eps).square() / x.size(1))
            / (x.var(-1, correction=0, keepdim=True) + eps).sqrt()
        ),
        "grad is not used: this is the derivative of each output by its own feature. The loss's "
        "gradient is needed: collect grad times the derivatives of all outputs.",
    ),
    Mistake(
        "grad-multiplied-at-the-end",
        lambda x, grad, eps: grad * _right(x, grad, eps),
        "The result is multiplied by grad once more. grad has been carried back already: return "
        "(grad - mean(grad) - y * mean(grad * y)) / root.",
    ),
    Mistake(
        "grad-as-it-came",
        lambda x, grad, eps: grad,
        "grad comes back as it was. The normalisation changes it: subtract its mean and its part "
        "along y, and divide by the root.",
    ),
    Mistake(
        "arguments-exchanged",
        lambda x, grad, eps: _right(grad, x, eps),
        "x and grad are exchanged: the first argument is x, the second the gradient with respect "
        "to y.",
    ),
    Mistake(
        "without-keepdim",
        _without_keepdim,
        "A mean lost its last axis: `mean(-1)` of an (n, d) tensor is (n,), which meets the "
        "features and not the tokens. Add `keepdim=True`.",
    ),
    Mistake("x-centred-in-place", _x_changed, _CHANGED),
    Mistake("x-normalised-in-place", _x_normalised, _CHANGED),
    Mistake("grad-changed-in-place", _grad_changed, _CHANGED),
)
