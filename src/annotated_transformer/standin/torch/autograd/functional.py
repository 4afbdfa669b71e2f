"""`torch.autograd.functional`: derivatives of functions."""

from collections.abc import Callable
from typing import Any

from .. import absent
from ..errors import NotInThisPage
from ..operations import FUNCTIONS, METHODS
from ..tensor import Tensor
from . import grad

__getattr__ = absent.attribute_of("torch.autograd.functional", absent.OF_AUTOGRAD_FUNCTIONAL)


def jacobian(
    func: Callable[..., Any], inputs: Any, create_graph: bool = False, vectorize: bool = False
) -> Any:
    """The derivatives of every output by every input."""
    if create_graph:
        raise NotInThisPage("a gradient of a gradient (create_graph=True)")
    several = isinstance(inputs, tuple)
    leaves = [one.detach().requires_grad_() for one in (inputs if several else (inputs,))]
    output = func(*leaves)
    if not isinstance(output, Tensor):
        raise NotInThisPage("the derivatives of several outputs")
    reshape, stack, zeros_like = METHODS["reshape"], FUNCTIONS["stack"], FUNCTIONS["zeros_like"]
    flat = reshape(output, -1)
    rows: list[list[Tensor]] = [[] for _ in leaves]
    for place in range(flat.shape[0]):
        found = (
            grad(flat[place], leaves, retain_graph=True, allow_unused=True)
            if output.requires_grad
            else (None,) * len(leaves)
        )
        for row, gradient, leaf in zip(rows, found, leaves, strict=True):
            row.append(zeros_like(leaf) if gradient is None else gradient)
    derivatives = tuple(
        reshape(stack(row), (*output.shape, *leaf.shape))
        for row, leaf in zip(rows, leaves, strict=True)
    )
    return derivatives if several else derivatives[0]


def vjp(func: Callable[..., Any], inputs: Tensor, v: Tensor | None = None) -> tuple[Any, Any]:
    """The output, and the gradient that `v` as the output's gradient sends back."""
    leaf = inputs.detach().requires_grad_()
    output = func(leaf)
    return output.detach(), grad(output, leaf, v)[0]
