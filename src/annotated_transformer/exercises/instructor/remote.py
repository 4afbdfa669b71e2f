"""A function that stayed with the marker, as the candidate's process sees it.

A call sends the arguments and waits for the value; where a gradient flows through it, the backward
pass crosses the socket too, so that autograd works as if the function were here.
"""

import builtins
import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from annotated_transformer.exercises.grader.running import floating_tensors
from annotated_transformer.exercises.grader.values import UNOBSERVED, pack, to_tensors, unpack
from annotated_transformer.exercises.instructor.wire import BACKWARD, CALL, REPLY, Channel


def remote_functions(channel: Channel) -> Callable[[int, str], Any]:
    """`make(number, class_name)`: stand-ins that call the marker's function of this number."""
    calls = itertools.count()

    def make(number: int, class_name: str) -> Any:
        stand_in: type[_Remote] = type(class_name, (_Remote,), {})
        return stand_in(channel, number, calls)

    return make


class _Remote:
    def __init__(self, channel: Channel, number: int, calls: "itertools.count[int]") -> None:
        self._channel, self._number, self._calls = channel, number, calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves = floating_tensors((args, kwargs))
        if torch.is_grad_enabled() and any(leaf.requires_grad for leaf in leaves):
            returned: list[Any] = []
            outputs = _Differentiable.apply(self, (args, kwargs), returned, *leaves)  # type: ignore[no-untyped-call]
            return _with_tensors(returned[0], iter(outputs))
        return self._ask(next(self._calls), args, kwargs, [])

    def _ask(self, call: int, args: Any, kwargs: Any, differentiated: list[bool]) -> Any:
        with UNOBSERVED():  # what is packed here has not left torch
            data = pack([self._number, call, list(args), kwargs, differentiated])
        self._channel.send(CALL, data)
        return _reply(self._channel)


class _Differentiable(torch.autograd.Function):
    """The call with a backward pass: the marker keeps the graph of the call by its number."""

    @staticmethod
    def forward(ctx: Any, remote: _Remote, given: Any, returned: list[Any], *leaves: Tensor) -> Any:
        ctx.channel, ctx.call = remote._channel, next(remote._calls)
        args, kwargs = given
        value = remote._ask(ctx.call, args, kwargs, [leaf.requires_grad for leaf in leaves])
        returned.append(value)
        return tuple(floating_tensors(value))

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        ctx.channel.send(BACKWARD, pack([ctx.call, list(gradients)]))
        return (None, None, None, *_reply(ctx.channel))


def _with_tensors(tree: Any, tensors: Any) -> Any:
    """The value with its floating tensors replaced, in order, by those that carry the graph."""
    if isinstance(tree, Tensor):
        return next(tensors) if tree.is_floating_point() else tree
    if isinstance(tree, (list, tuple)):
        return type(tree)(_with_tensors(item, tensors) for item in tree)
    if isinstance(tree, dict):
        return {key: _with_tensors(item, tensors) for key, item in tree.items()}
    return tree


def _reply(channel: Channel) -> Any:
    """The value of a reply; what was raised over there is raised here, by the name of its class."""
    kind, data = channel.receive()
    reply = unpack(data) if kind == REPLY else {}
    failure = reply.get("failure")
    if failure is None:
        return to_tensors(reply["value"])
    found = getattr(builtins, str(failure["class_name"]), RuntimeError)
    is_error = isinstance(found, type) and issubclass(found, Exception)
    raise (found if is_error else RuntimeError)(failure["message"])
