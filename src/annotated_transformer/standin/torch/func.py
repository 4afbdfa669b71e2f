"""`torch.func`: functions of functions. Each is done by loops, and none within another."""

from collections.abc import Callable
from typing import Any

from . import absent
from .autograd import grad as _gradients
from .autograd.functional import jacobian as _jacobian
from .creation import as_tensor
from .errors import NotInThisPage, within_vmap
from .operations import FUNCTIONS, METHODS
from .tensor import Tensor

__getattr__ = absent.attribute_of("torch.func", absent.OF_FUNC)


def vmap(func: Callable[..., Any], in_dims: Any = 0, out_dims: int = 0) -> Callable[..., Any]:
    """The function for every slice of its arguments, the results stacked."""

    def call(*args: Any) -> Any:
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        pairs = list(zip(args, dims, strict=True))
        count = next(arg.shape[dim] for arg, dim in pairs if dim is not None)
        select = METHODS["select"]
        within_vmap[0] += 1
        try:
            results = [
                func(*(arg if dim is None else select(arg, dim, k) for arg, dim in pairs))
                for k in range(count)
            ]
        finally:
            within_vmap[0] -= 1
        stack = FUNCTIONS["stack"]
        if isinstance(results[0], tuple):
            return tuple(stack(list(parts), out_dims) for parts in zip(*results, strict=True))
        return stack([as_tensor(one) for one in results], out_dims)

    return call


def _no_outer_gradient(args: tuple[Any, ...]) -> None:
    if any(isinstance(one, Tensor) and one.requires_grad for one in args):
        raise NotInThisPage("a gradient of a gradient")


def jacrev(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The derivatives of every output by every input."""

    def call(*args: Any) -> Any:
        _no_outer_gradient(args)

        def of_one(value: Tensor) -> Any:
            return func(*args[:argnums], value, *args[argnums + 1 :])

        return _jacobian(of_one, args[argnums])

    return call


jacfwd = jacrev


def grad(func: Callable[..., Any], argnums: int = 0) -> Callable[..., Any]:
    """The gradient of a function whose result is one number."""

    def call(*args: Any) -> Any:
        _no_outer_gradient(args)
        leaf = args[argnums].detach().requires_grad_()
        return _gradients(func(*args[:argnums], leaf, *args[argnums + 1 :]), leaf)[0]

    return call
