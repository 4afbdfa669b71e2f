"""`torch.autograd.Function`: an operation with a way back that its author wrote."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtypes import Array
from ..errors import NotInThisPage, torch_error
from ..graph import Node, is_grad_enabled, no_grad
from ..tensor import Tensor, edge_to, save, wrap


class _Context:
    """What `forward` leaves for `backward`."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.kept: tuple[Any, ...] = ()
        self.without_gradient: tuple[Tensor, ...] = ()

    def save_for_backward(self, *tensors: Any) -> None:
        self.kept = tensors

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        return self.kept

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        self.without_gradient = tensors

    def mark_dirty(self, *_tensors: Tensor) -> None:
        raise NotInThisPage("mark_dirty()")

    def set_materialize_grads(self, _value: bool) -> None:
        raise NotInThisPage("set_materialize_grads()")


class Function:
    """A subclass defines `forward(ctx, ...)` and `backward(ctx, *gradients)`."""

    forward: Callable[..., Any]
    backward: Callable[..., Any]
    setup_context: Callable[..., None]

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Call `forward`, and write down how to go back."""
        ctx = _Context(tuple(isinstance(one, Tensor) and one.requires_grad for one in args))
        with no_grad():
            if "setup_context" in vars(cls):
                output = cls.forward(*args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        several = isinstance(output, tuple)
        outputs = output if several else (output,)
        made = [_fresh(one) if isinstance(one, Tensor) else one for one in outputs]
        if is_grad_enabled() and any(ctx.needs_input_grad):
            edges = [edge_to(one) for one in args]
            backward = _way_back(cls, ctx, outputs, len(args))
            node = Node(cls.__name__, edges, backward, save(ctx.kept), by_learner=True)
            for place, (one, before) in enumerate(zip(made, outputs, strict=True)):
                fixed = any(before is other for other in ctx.without_gradient)
                if isinstance(one, Tensor) and one._dtype.category >= 2 and not fixed:
                    one._node, one._output, one._wants_gradient = node, place, True
        return tuple(made) if several else made[0]


def _fresh(tensor: Tensor) -> Tensor:
    made = wrap(tensor._array, tensor._dtype)
    made._memory = tensor._memory
    return made


def _way_back(
    cls: type[Function], ctx: _Context, outputs: Sequence[Any], inputs: int
) -> Callable[..., Sequence[Array | None]]:
    def backward(*gradients: Array | None) -> Sequence[Array | None]:
        given = [*gradients, *[None] * (len(outputs) - len(gradients))]
        sent = [
            wrap(np.zeros_like(of._array) if one is None else np.asarray(one), of._dtype)
            for one, of in zip(given, outputs, strict=True)
            if isinstance(of, Tensor)
        ]
        with no_grad():
            found = cls.backward(ctx, *sent)
        listed = found if isinstance(found, tuple) else (found,)
        if len(listed) < inputs or any(one is not None for one in listed[inputs:]):
            raise torch_error(
                RuntimeError,
                f"function {cls.__name__}Backward returned an incorrect number of gradients "
                f"(expected {inputs}, got {len(listed)})",
            )
        return [one._array if isinstance(one, Tensor) else None for one in listed[:inputs]]

    return backward


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """For a `backward` that cannot itself be differentiated, as none can here."""
    return function
