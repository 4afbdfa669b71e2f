"""The first half of Equation 2 by one kernel of a GPU: max(0, x W_1 + b_1).

Bias and ReLU are computed while the numbers of the product are still in registers. In separate
kernels the (rows, d_ff) matrix, the largest of a layer, would be written and read once more.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from annotated_transformer.feed_forward import FeedForward


def use_fused_relu(model: nn.Module) -> None:
    """Let every network of equation 2 compute its inner layer by `linear_relu`."""
    for module in model.modules():
        if type(module) is FeedForward:  # a GELU network is one too, and is not meant
            setattr(module, "hidden", partial(linear_relu, module.inner))  # noqa: B010  (mypy)


def linear_relu(linear: nn.Linear, x: Tensor) -> Tensor:
    """max(0, x W + b), in the precision of x; (..., d_in) -> (..., d_out)."""
    rows = x.flatten(0, -2)  # (rows, d_in)
    weight, bias = linear.weight.to(x.dtype), linear.bias.to(x.dtype)
    hidden: Tensor = _LinearRelu.apply(rows, weight, bias)  # type: ignore[no-untyped-call]
    return hidden.view(*x.shape[:-1], -1)


class _LinearRelu(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
        hidden: Tensor = torch.ops.aten._addmm_activation(bias, rows, weight.t())  # with a ReLU
        ctx.save_for_backward(rows, weight, hidden)
        return hidden

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        rows, weight, hidden = ctx.saved_tensors
        of_sums = gradients[0] * (hidden > 0)  # (rows, d_out)
        return of_sums @ weight, of_sums.t() @ rows, of_sums.sum(0)
