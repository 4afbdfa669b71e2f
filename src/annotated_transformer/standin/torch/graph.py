"""Reverse-mode differentiation: who was computed from whom, and the way back.

Every result that wants a gradient has a `Node`. A node knows from which results it was made (its
edges) and how a gradient of its own becomes gradients of those. Nodes are numbered as they are
made, so that the way back is the order of falling numbers.
"""

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .arguments import must_be_bool
from .dtypes import Array, converted, dtype
from .errors import NotInThisPage, is_torchs, torch_error

Backward = Callable[..., Sequence[Array | None]]
_numbers = itertools.count(1)


class Memory:
    """What tensors that share their numbers have in common: how often these have been changed."""

    __slots__ = ("version",)

    def __init__(self) -> None:
        self.version = 0


class Saved:
    """A tensor whose numbers the way back needs, and the version that they had."""

    __slots__ = ("describe", "memory", "version")

    def __init__(self, memory: Memory, describe: Callable[[], str]) -> None:
        self.memory, self.version, self.describe = memory, memory.version, describe

    def check(self) -> None:
        if self.memory.version != self.version:
            raise torch_error(
                RuntimeError,
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: {self.describe()} is at version {self.memory.version}; "
                f"expected version {self.version} instead. Hint: enable anomaly detection to find "
                "the operation that failed to compute its gradient, with "
                "torch.autograd.set_detect_anomaly(True, check_nan=False).",
            )


class Edge:
    """The way from a node to what it was made of: the node there, and which of its outputs."""

    __slots__ = ("dtype", "node", "output", "shape")

    def __init__(self, node: "Node", output: int, shape: tuple[int, ...], kind: dtype) -> None:
        self.node, self.output, self.shape, self.dtype = node, output, shape, kind


class Node:
    """One step of a computation, seen from its end."""

    def __init__(
        self,
        name: str,
        edges: Sequence[Edge | None],
        backward: Backward,
        saved: Sequence[Saved] = (),
        by_learner: bool = False,
    ) -> None:
        self.called, self.edges, self.backward, self.saved = name, edges, backward, list(saved)
        self.by_learner = by_learner  # whose errors are not the stand-in's
        self.number = next(_numbers)
        self.freed = False
        self.watched: list[Callable[[int, Array], None]] = []  # told of the gradients of outputs

    def name(self) -> str:
        return f"{self.called}Backward0"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return tuple((edge.node, edge.output) if edge else (None, 0) for edge in self.edges)

    def __repr__(self) -> str:
        return f"<{self.name()}>"

    def send_back(self, gradients: dict[int, Array], keep: bool) -> Sequence[Array | None]:
        """The gradients of what this was made of. Raises where that cannot be known any more."""
        if self.freed and self.saved:
            raise torch_error(
                RuntimeError,
                "Trying to backward through the graph a second time (or directly access saved "
                "tensors after they have already been freed). Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or if "
                "you need to access saved tensors after calling backward.",
            )
        for saved in self.saved:
            saved.check()
        self.freed = not keep
        try:
            return self.backward(*(gradients.get(n) for n in range(max(gradients) + 1)))
        except Exception as error:
            if self.by_learner or is_torchs(error):
                raise
            raise NotInThisPage(f"the gradient of this use of {self.called}") from error


class Leaf(Node):
    """The end of the way back: where gradients of a leaf are added up."""

    def __init__(self, add: Callable[[Array], None]) -> None:
        super().__init__("AccumulateGrad", (), lambda: ())
        self.add, self.number = add, 0

    def name(self) -> str:
        return "AccumulateGrad"


def summed_to(gradient: Array, shape: tuple[int, ...]) -> Array:
    """A gradient of a broadcast operand, added up over the axes along which it was repeated."""
    if gradient.shape == shape:
        return gradient
    if gradient.ndim < len(shape) or gradient.size < np.prod(shape):
        gradient = np.broadcast_to(gradient, np.broadcast_shapes(gradient.shape, shape))
    extra = gradient.ndim - len(shape)
    axes = tuple(range(extra)) + tuple(
        axis + extra
        for axis, length in enumerate(shape)
        if length == 1 and gradient.shape[axis + extra] != 1
    )
    added: Array = gradient.sum(axis=axes, keepdims=True) if axes else gradient
    return added.reshape(shape)


def run_backward(
    roots: Iterable[tuple[Edge, Array]], targets: Sequence[Edge] | None, keep_graph: bool
) -> list[Array | None]:
    """Go back from the roots. Returns the gradients of the targets.

    targets: None adds the gradients of all leaves to the leaves.
    """
    roots = list(roots)
    nodes = _reachable([edge.node for edge, _ in roots])
    wanted = {(edge.node, edge.output) for edge in targets or ()}
    if targets is not None:
        nodes = _leading_to(nodes, {node for node, _ in wanted})
    waiting: dict[Node, dict[int, Array]] = {}
    found: dict[tuple[Node, int], Array] = {}

    def send(edge: Edge, gradient: Array) -> None:
        gradient = converted(summed_to(np.asarray(gradient), edge.shape), edge.dtype)
        sums = waiting.setdefault(edge.node, {})
        before = sums.get(edge.output)
        sums[edge.output] = gradient if before is None else before + gradient

    for edge, gradient in roots:
        send(edge, gradient)
    with np.errstate(all="ignore"):
        for node in sorted(nodes, key=lambda one: one.number, reverse=True):
            gradients = waiting.pop(node, None)
            if gradients is None:
                continue
            for output, gradient in gradients.items():
                for tell in node.watched:
                    tell(output, gradient)
                if (node, output) in wanted:
                    found[node, output] = gradient
            if isinstance(node, Leaf):
                if targets is None:
                    node.add(gradients[0])
                continue
            if targets is not None and not any(e and e.node in nodes for e in node.edges):
                continue
            for to, sent in zip(node.edges, node.send_back(gradients, keep_graph), strict=True):
                if to is not None and sent is not None:
                    send(to, sent)
    return [found.get((edge.node, edge.output)) for edge in targets or ()]


def _reachable(starts: Sequence[Node]) -> set[Node]:
    seen: set[Node] = set()
    waiting = list(starts)
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += [edge.node for edge in node.edges if edge is not None]
    return seen


def _leading_to(nodes: set[Node], targets: set[Node]) -> set[Node]:
    """Those of the nodes from which a target can be reached."""
    kept: set[Node] = set()
    for node in sorted(nodes, key=lambda one: one.number):
        if node in targets or any(edge and edge.node in kept for edge in node.edges):
            kept.add(node)
    return kept


_recording = [True]


def is_grad_enabled() -> bool:
    """Are computations written down for the way back?"""
    return _recording[0]


class _Recording(contextlib.ContextDecorator):
    """Switches the writing down on or off, for a block or for a function."""

    def __init__(self, mode: bool) -> None:
        self.mode = mode
        self._before: list[bool] = []

    def __enter__(self) -> None:
        self._before.append(_recording[0])
        _recording[0] = self.mode

    def __exit__(self, *_: object) -> None:
        _recording[0] = self._before.pop()

    def __call__(self, function: Any) -> Any:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with _Recording(self.mode):
                return function(*args, **kwargs)

        return call


def no_grad(function: Any = None) -> Any:
    """Nothing in the block is written down for the way back. Also a decorator."""
    return _Recording(False) if function is None else _Recording(False)(function)


def enable_grad(function: Any = None) -> Any:
    """The contrary of `no_grad`."""
    return _Recording(True) if function is None else _Recording(True)(function)


def inference_mode(mode: Any = True) -> Any:
    """As `no_grad`; `inference_mode(False)` switches the writing down on again."""
    return _Recording(False)(mode) if callable(mode) else _Recording(not mode)


class set_grad_enabled(_Recording):  # noqa: N801 - PyTorch's name
    """Switches at once, and back at the end of a `with` block."""

    def __init__(self, mode: bool) -> None:
        if type(mode) is not bool:
            raise must_be_bool("set_grad_enabled(): argument 'enabled' (position 1)", mode)
        super().__init__(mode)
        self._before.append(_recording[0])
        _recording[0] = mode

    def __enter__(self) -> None:
        _recording[0] = self.mode
