"""`torch.autograd`: gradients, and functions with a way back of their own."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import absent
from ..errors import NotInThisPage, torch_error
from ..graph import Edge, run_backward
from ..graph import enable_grad as enable_grad
from ..graph import no_grad as no_grad
from ..graph import set_grad_enabled as set_grad_enabled
from ..operations import METHODS, observed, operation
from ..tensor import Tensor, edge_to, wrap
from .function import Function as Function

__getattr__ = absent.attribute_of("torch.autograd", absent.OF_AUTOGRAD)


class _KindOfVariable(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_KindOfVariable):
    """What tensors with gradients were called before PyTorch 0.4."""

    def __new__(cls, data: Tensor, requires_grad: bool = False) -> Any:
        return METHODS["detach"](data).requires_grad_(requires_grad)


def _tensors(given: Any) -> list[Any]:
    return [given] if isinstance(given, Tensor) or given is None else list(given)


def _roots(outputs: Sequence[Tensor], gradients: Sequence[Any]) -> list[tuple[Edge, Any]]:
    roots = []
    for place, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        edge = edge_to(output)
        if edge is None:
            raise torch_error(
                RuntimeError,
                f"element {place} of tensors does not require grad and does not have a grad_fn",
            )
        if gradient is None:
            if output._array.size != 1:
                raise torch_error(
                    RuntimeError, "grad can be implicitly created only for scalar outputs"
                )
            roots.append((edge, np.ones_like(output._array)))
            continue
        if gradient.shape != output.shape:
            raise torch_error(
                RuntimeError,
                f"Mismatch in shape: grad_output[{place}] has a shape of {gradient.shape} and "
                f"output[{place}] has a shape of {output.shape}.",
            )
        roots.append((edge, gradient._array))
    return roots


def _no_second_derivatives(create_graph: bool) -> None:
    if create_graph:
        raise NotInThisPage("a gradient of a gradient (create_graph=True)")


@operation(method=False, guarded=False)
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the outputs with respect to the inputs."""
    _no_second_derivatives(create_graph)
    of, to = _tensors(outputs), _tensors(inputs)
    sent = [None] * len(of) if grad_outputs is None else _tensors(grad_outputs)
    roots = _roots(of, sent)
    edges = [edge_to(one) for one in to]
    if any(edge is None for edge in edges):
        raise torch_error(RuntimeError, "One of the differentiated Tensors does not require grad")
    found = run_backward(roots, [edge for edge in edges if edge], bool(retain_graph))
    unused = [place for place, one in enumerate(found) if one is None]
    if unused and not (allow_unused or materialize_grads):
        raise torch_error(
            RuntimeError,
            f"The differentiated Tensor at index {unused[0]} appears to not have been used in the "
            "graph. Set allow_unused=True if this is the desired behavior.",
        )
    return tuple(
        (wrap(np.zeros_like(one._array), one._dtype) if materialize_grads else None)
        if gradient is None
        else wrap(np.array(gradient), one._dtype)
        for gradient, one in zip(found, to, strict=True)
    )


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
) -> None:
    """Add the gradients of all leaves to the leaves."""
    _no_second_derivatives(create_graph)
    of = _tensors(tensors)
    sent = [None] * len(of) if grad_tensors is None else _tensors(grad_tensors)
    run_backward(_roots(of, sent), None, bool(retain_graph))


def _backward_of_one(
    self: Tensor,
    gradient: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of all leaves to the leaves."""
    if inputs is not None:
        raise NotInThisPage("backward() with inputs")
    backward(self, gradient, retain_graph, create_graph)


Tensor.backward = observed("backward", _backward_of_one)  # type: ignore[attr-defined]


class set_detect_anomaly:  # noqa: N801 - PyTorch's name
    """PyTorch then says more about a failing way back. Here there is no more to say."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


detect_anomaly = set_detect_anomaly
