"""The tensor: numbers in a NumPy array, their dtype, and where they came from.

Views share their array's memory. A view remembers the tensor whose memory it looks into (its base),
so that changing one of them in place changes what is known of the other's origin too.
"""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from . import absent
from .dtypes import CPU, Array, Size, converted, device, dtype, dtype_of_array, float32, stored
from .errors import NotInThisPage, torch_error
from .graph import Backward, Edge, Leaf, Memory, Node, Saved, is_grad_enabled
from .operations import TensorKind, observed

Operand = Any  # a tensor or one of Python's numbers


class _Kind(type):
    def __getattr__(cls, name: str) -> Any:
        raise absent.of_class(cls, name, "Tensor", absent.OF_TENSOR)


class Tensor(TensorKind, metaclass=_Kind):
    """Numbers of one dtype along any number of axes."""

    __module__ = "torch"
    __array_priority__ = 1000
    _array: Array
    _dtype: dtype
    _memory: Memory
    _wants_gradient: bool
    _node: Node | None
    _output: int  # which of the node's results this is
    _leaf: Leaf | None
    _base: "Tensor | None"
    _rewritten: int  # how often an operation in place became part of the graph
    _seen: int  # what `_rewritten` of the base was when this view's node was made
    grad: "Tensor | None"

    if TYPE_CHECKING:  # given by `operators` and the other modules of operations
        __add__: "Callable[[Tensor, Operand], Tensor]"
        __radd__: "Callable[[Tensor, Operand], Tensor]"
        __sub__: "Callable[[Tensor, Operand], Tensor]"
        __rsub__: "Callable[[Tensor, Operand], Tensor]"
        __mul__: "Callable[[Tensor, Operand], Tensor]"
        __rmul__: "Callable[[Tensor, Operand], Tensor]"
        __truediv__: "Callable[[Tensor, Operand], Tensor]"
        __pow__: "Callable[[Tensor, Operand], Tensor]"
        __matmul__: "Callable[[Tensor, Tensor], Tensor]"
        __neg__: "Callable[[Tensor], Tensor]"
        __invert__: "Callable[[Tensor], Tensor]"
        __getitem__: "Callable[[Tensor, Any], Tensor]"
        __lt__: "Callable[[Tensor, Operand], Tensor]"
        __gt__: "Callable[[Tensor, Operand], Tensor]"
        __le__: "Callable[[Tensor, Operand], Tensor]"
        __ge__: "Callable[[Tensor, Operand], Tensor]"
        __float__: "Callable[[Tensor], float]"
        __int__: "Callable[[Tensor], int]"
        __bool__: "Callable[[Tensor], bool]"

    def __new__(cls, *data: Any) -> "Tensor":
        if not data:
            return wrap(np.zeros(0, np.float32))
        if isinstance(data[0], int):
            return wrap(np.zeros(data, np.float32))
        given = data[0]
        if isinstance(given, Tensor) and len(data) == 1:
            return view(given._array, given, "Alias", lambda g: (g,))
        if isinstance(given, Size) and len(data) == 1:
            return wrap(np.zeros(given, np.float32))
        if not isinstance(given, (list, tuple, np.ndarray)) or len(data) > 1:
            raise torch_error(
                TypeError, f"new(): data must be a sequence (got {type(given).__name__})"
            )
        from .creation import tensor

        return tensor(given, dtype=float32)  # type: ignore[no-any-return]

    def __init_subclass__(cls, **_: Any) -> None:
        if cls.__module__ != "torch.nn.parameter":
            raise NotInThisPage("a subclass of torch.Tensor")

    # What it is.

    @property
    def dtype(self) -> dtype:
        return self._dtype

    @property
    def shape(self) -> Size:
        return Size(self._array.shape)

    @property
    def ndim(self) -> int:
        return self._array.ndim

    @property
    def device(self) -> device:
        return CPU

    @property
    def layout(self) -> str:
        return "torch.strided"

    @property
    def is_meta(self) -> bool:
        return False

    @property
    def is_cuda(self) -> bool:
        return False

    @property
    def is_sparse(self) -> bool:
        return False

    @property
    def itemsize(self) -> int:
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self._array.size * self._dtype.itemsize

    # Where it came from.

    @property
    def requires_grad(self) -> bool:
        return self._wants_gradient or (
            self._base is not None
            and self._seen != self._base._rewritten
            and self._base.requires_grad
        )

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if wanted and self._dtype.category < 2:
            raise torch_error(
                RuntimeError, "only Tensors of floating point dtype can require gradients"
            )
        if not wanted and not self.is_leaf:
            raise torch_error(
                RuntimeError,
                "you can only change requires_grad flags of leaf variables. If you want to use a "
                "computed variable in a subgraph that doesn't require differentiation use "
                "var_no_grad = var.detach().",
            )
        self._wants_gradient = bool(wanted)

    @property
    def grad_fn(self) -> Node | None:
        """The node that it was made by; that of a view anew where its base was changed since."""
        base = self._base
        if base is not None and self._seen != base._rewritten:
            self._seen = base._rewritten
            self._wants_gradient = base.requires_grad
            if base.requires_grad:
                self._node, self._output = _look_into(base, self), 0
        return self._node

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

    @property
    def data(self) -> "Tensor":
        return wrap(self._array, self._dtype)

    @data.setter
    def data(self, other: "Tensor") -> None:
        self._array, self._dtype, self._memory = other._array, other._dtype, Memory()

    @property
    def _version(self) -> int:
        return self._memory.version

    def retain_grad(self) -> None:
        """Keep the gradient of what is no leaf in `.grad` too."""
        node, output = self.grad_fn, self._output

        def keep(of: int, gradient: Array) -> None:
            if of == output:
                self.grad = wrap(np.array(gradient), self._dtype)

        if node is not None:
            node.watched.append(keep)

    # What Python asks of it.

    def __hash__(self) -> int:
        return id(self)

    def __deepcopy__(self, _memo: Any) -> "Tensor":
        if not self.is_leaf:
            raise torch_error(
                RuntimeError,
                "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
                "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
                "because of a torch.nn.utils.weight_norm usage, see "
                "https://github.com/pytorch/pytorch/pull/103001",
            )
        copy = wrap(self._array.copy(), self._dtype)
        copy._wants_gradient = self._wants_gradient
        return copy

    def __reduce__(self) -> Any:
        return _unpickled, (self._array, self._dtype, self._wants_gradient)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_")]

    def __getattr__(self, name: str) -> Any:
        if name in absent.OF_TENSOR:
            raise NotInThisPage(f"Tensor.{name}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def _unpickled(array: Array, kind: dtype, wants_gradient: bool) -> Tensor:
    tensor = wrap(array, kind)
    tensor._wants_gradient = wants_gradient
    return tensor


def fill_in(tensor: Tensor, array: Array, kind: dtype) -> None:
    """Make a new object a tensor without an origin."""
    tensor._array, tensor._dtype = array, kind
    tensor._memory = Memory()
    tensor._wants_gradient = False
    tensor._node = tensor._leaf = tensor._base = tensor.grad = None
    tensor._output = tensor._rewritten = tensor._seen = 0


def wrap(array: Any, kind: dtype | None = None) -> Tensor:
    """A tensor of these numbers, which are not copied where NumPy has them as PyTorch does."""
    array = np.asarray(array)
    kind = kind or dtype_of_array(array)
    tensor: Tensor = object.__new__(Tensor)
    fill_in(tensor, stored(array, kind), kind)
    return tensor


def laid_out_as(model: Array, numbers: Array) -> Array:
    """The numbers in a memory with the axes in the same order as another array's."""
    overlaps = any(n > 1 and not step for n, step in zip(model.shape, model.strides, strict=True))
    made = np.empty_like(model, dtype=numbers.dtype, order="C" if overlaps else "K")
    made[...] = numbers
    return made


def edge_to(tensor: Any) -> Edge | None:
    """The way to where a tensor came from; None where it wants no gradient, or is a number."""
    if not isinstance(tensor, Tensor) or not tensor.requires_grad:
        return None
    node = tensor.grad_fn
    if node is not None:
        return Edge(node, tensor._output, tensor._array.shape, tensor._dtype)
    if tensor._leaf is None:
        tensor._leaf = Leaf(lambda gradient: _add_gradient(tensor, gradient))
    return Edge(tensor._leaf, 0, tensor._array.shape, tensor._dtype)


def _add_gradient(leaf: Tensor, gradient: Array) -> None:
    before = leaf.grad
    if before is None:
        leaf.grad = wrap(np.array(gradient), leaf._dtype)
    else:
        before._array[...] = converted(before._array + gradient, leaf._dtype)


def _described(tensor: Tensor, node: Node | None) -> str:
    """What a tensor is called in the complaint that it was changed."""
    kind = f"[torch.{tensor._dtype.type_name}Tensor {list(tensor._array.shape)}]"
    return kind if node is None else f"{kind}, which is output {tensor._output} of {node.called},"


def _described_now(tensor: Tensor) -> str:
    return _described(tensor, tensor.grad_fn)


def save(tensors: Sequence[Any]) -> list[Saved]:
    """What the way back needs of these must not have been changed by then."""
    return [
        Saved(one._memory, functools.partial(_described_now, one))
        for one in tensors
        if isinstance(one, Tensor)
    ]


def result(
    array: Any,
    kind: dtype,
    name: str,
    inputs: Sequence[Any],
    backward: Backward,
    saved: Sequence[Any] = (),
    saves_result: bool = False,
) -> Tensor:
    """What an operation computed.

    Args:
        array: its numbers.
        kind: their dtype, into which they are brought.
        name: the operation's name in the graph.
        inputs: what it was computed from; numbers among them have no gradient.
        backward: gives for the gradient of the result those of the inputs.
        saved: the tensors whose numbers `backward` needs.
        saves_result: does it need those of the result too?
    """
    made = wrap(converted(np.asarray(array), kind), kind)
    if is_grad_enabled() and kind.category >= 2 and any(map(_wants, inputs)):
        made._node = Node(name, [edge_to(one) for one in inputs], backward, save(saved))
        made._wants_gradient = True
        if saves_result:
            node = made._node
            node.saved.append(Saved(made._memory, lambda: _described(made, node)))
    return made


def _wants(one: Any) -> bool:
    return isinstance(one, Tensor) and one.requires_grad


def view(array: Array, of: Tensor, name: str, backward: Backward) -> Tensor:
    """A tensor that looks into the memory of another."""
    made = result(array, of._dtype, name, (of,), backward)
    made._array, made._memory = array, of._memory
    made._base = of if of._base is None else of._base
    made._seen = made._base._rewritten
    return made


def _look_into(base: Tensor, seen: Tensor) -> Node:
    """The node of a view whose base was changed: it is taken out of the base as it is now."""
    shape = base._array.shape

    def backward(gradient: Array) -> Sequence[Array]:
        whole = _laid_out_like(base._array, np.zeros(shape, gradient.dtype))
        np.add(_place(whole, base, seen), gradient, out=_place(whole, base, seen))
        return (whole,)

    return Node("AsStrided", [edge_to(base)], backward)


def _laid_out_like(array: Array, numbers: Array) -> Array:
    """The numbers in a memory laid out as that of `array`, which has no holes."""
    copy = np.empty_like(array, dtype=numbers.dtype)
    size = array.itemsize
    if [s // size for s in array.strides] != [s // copy.itemsize for s in copy.strides] and (
        array.size > 1
    ):
        raise NotInThisPage("a change in place of a part of such a tensor")
    copy[...] = numbers
    return copy


def _place(whole: Array, base: Tensor, seen: Tensor) -> Array:
    """Where a view of the base looks at, in another array that is laid out as the base's."""
    size = base._array.itemsize
    start = seen._array.__array_interface__["data"][0] - base._array.__array_interface__["data"][0]
    steps = tuple(stride // size * whole.itemsize for stride in seen._array.strides)
    if any(step == 0 and n > 1 for step, n in zip(steps, seen._array.shape, strict=True)):
        raise NotInThisPage("a change in place beside an expanded tensor")
    if not seen._array.size:
        return whole.reshape(-1)[:0].reshape(seen._array.shape)
    flat = whole.ravel(order="K")
    if not np.shares_memory(flat, whole):
        raise NotInThisPage("a change in place of a part of such a tensor")
    return as_strided(flat[start // size :], seen._array.shape, steps)


def change(
    target: Tensor, compute: Callable[[Tensor], Tensor], check_overlap: bool = True
) -> Tensor:
    """Change a tensor in place to what `compute` makes of it. Returns the tensor."""
    base = target._base if target._base is not None else target
    if is_grad_enabled() and target.requires_grad and base.is_leaf and base.requires_grad:
        what = "a leaf Variable" if target is base else "a view of a leaf Variable"
        raise torch_error(
            RuntimeError, f"{what} that requires grad is being used in an in-place operation."
        )
    if check_overlap and any(
        stride == 0 and length > 1
        for stride, length in zip(target._array.strides, target._array.shape, strict=True)
    ):
        raise torch_error(
            RuntimeError,
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation.",
        )
    old = wrap(target._array.copy(), target._dtype)
    if target.requires_grad:
        old._node, old._output, old._wants_gradient = target.grad_fn, target._output, True
    new = compute(old)
    if new._array.shape != target._array.shape:
        raise torch_error(
            RuntimeError,
            f"output with shape {list(target._array.shape)} doesn't match the broadcast shape "
            f"{list(new._array.shape)}",
        )
    if new._dtype.category > target._dtype.category:
        raise torch_error(
            RuntimeError,
            f"result type {new._dtype.type_name} can't be cast to the desired output type "
            f"{target._dtype.type_name}",
        )
    target._array[...] = converted(new._array, target._dtype)
    target._memory.version += 1
    node = new._node
    if node is not None:
        for saved in node.saved:
            if saved.memory is new._memory:
                saved.memory, saved.version = target._memory, target._memory.version
        if target is not base:
            node = _of_a_part(base, target, node)
        base._node, base._output, base._wants_gradient = node, 0, True
        base._rewritten += 1
    return target


def _of_a_part(base: Tensor, part: Tensor, change_of_part: Node) -> Node:
    """The node of a base of which one part was changed."""

    def backward(gradient: Array) -> Sequence[Array | None]:
        whole = _laid_out_like(base._array, gradient)
        place = _place(whole, base, part)
        of_part = np.array(place)
        place[...] = 0  # what stood there before has its gradient by the change itself
        return whole, *change_of_part.send_back({0: of_part}, keep=True)

    return Node("CopySlices", [edge_to(base), *change_of_part.edges], backward)


def transposed(name: str, axes: Callable[[int], tuple[int, ...]]) -> property:
    """An attribute that is a view with its axes in another order, such as `T`."""

    def get(tensor: Tensor) -> Tensor:
        order = axes(tensor.ndim)
        back = tuple(np.argsort(order))
        return view(
            tensor._array.transpose(order), tensor, "Permute", lambda g: (g.transpose(back),)
        )

    watched = observed("__get__", get)
    return property(lambda tensor: watched(tensor), doc=f"The tensor as `{name}` has it.")


def _last_two_exchanged(rank: int) -> tuple[int, ...]:
    if rank < 2:
        raise torch_error(
            RuntimeError,
            f"tensor.mT is only supported on matrices or batches of matrices. Got {rank}-D tensor.",
        )
    return (*range(rank - 2), rank - 1, rank - 2)


Tensor.T = transposed("T", lambda rank: tuple(reversed(range(rank))))  # type: ignore[attr-defined]
Tensor.mT = transposed("mT", _last_two_exchanged)  # type: ignore[attr-defined]
