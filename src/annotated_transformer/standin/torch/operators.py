"""Python's operators on tensors, and what Python asks of a tensor: a number, a truth value, ..."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import Array
from .errors import NotInThisPage, no_number_within_vmap, torch_error
from .operations import METHODS, operation
from .promotion import is_number
from .tensor import Tensor, wrap

# Python's name: (the operation, whether the operands change places)
_BINARY = {
    "__add__": ("add", False),
    "__radd__": ("add", False),
    "__sub__": ("sub", False),
    "__rsub__": ("sub", True),
    "__mul__": ("mul", False),
    "__rmul__": ("mul", False),
    "__truediv__": ("div", False),
    "__rtruediv__": ("div", True),
    "__floordiv__": ("floor_divide", False),
    "__rfloordiv__": ("floor_divide", True),
    "__mod__": ("remainder", False),
    "__rmod__": ("remainder", True),
    "__pow__": ("pow", False),
    "__rpow__": ("pow", True),
    "__and__": ("bitwise_and", False),
    "__rand__": ("bitwise_and", False),
    "__or__": ("bitwise_or", False),
    "__ror__": ("bitwise_or", False),
    "__xor__": ("bitwise_xor", False),
    "__rxor__": ("bitwise_xor", False),
    "__lshift__": ("bitwise_left_shift", False),
    "__rlshift__": ("bitwise_left_shift", True),
    "__rshift__": ("bitwise_right_shift", False),
    "__rrshift__": ("bitwise_right_shift", True),
    "__eq__": ("eq", False),
    "__ne__": ("ne", False),
    "__lt__": ("lt", False),
    "__le__": ("le", False),
    "__gt__": ("gt", False),
    "__ge__": ("ge", False),
}
_OWN_NAME = {  # the others are seen under the operation's name, as with PyTorch
    "__rsub__",
    "__rpow__",
    "__floordiv__",
    "__rfloordiv__",
    "__rmod__",
    "__and__",
    "__rand__",
    "__or__",
    "__ror__",
    "__xor__",
    "__rxor__",
    "__lshift__",
    "__rlshift__",
    "__rshift__",
    "__rrshift__",
    "__eq__",
}
_SEEN_AS = {"__rtruediv__": "__rdiv__"}


def _operator(name: str, of: str, exchanged: bool) -> Callable[[Tensor, Any], Any]:
    plain = METHODS[of]
    called: Callable[..., Any] = plain
    if name in _OWN_NAME or name in _SEEN_AS:

        def called(self: Tensor, other: Any) -> Any:  # type: ignore[no-redef]
            return plain(other, self) if exchanged else plain(self, other)

        called = operation(_SEEN_AS.get(name, name), function=False, method=False)(called)

    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, Tensor) and not is_number(other):
            return NotImplemented  # an array on the right then does it by itself
        return called(self, other)

    method.__name__ = method.__qualname__ = name
    return method


for _name, (_of, _exchanged) in _BINARY.items():
    setattr(Tensor, _name, _operator(_name, _of, _exchanged))


_divided = Tensor.__rtruediv__  # type: ignore[attr-defined]


def _rtruediv(self: Tensor, other: Any) -> Any:
    if isinstance(other, np.ndarray):
        return METHODS["reciprocal"](self) * other  # as PyTorch writes it
    return _divided(self, other)


Tensor.__rtruediv__ = _rtruediv  # type: ignore[attr-defined]


def _matmul(self: Tensor, other: Any) -> Any:
    return METHODS["matmul"](self, other) if isinstance(other, Tensor) else NotImplemented


Tensor.__matmul__ = _matmul  # type: ignore[method-assign]
Tensor.__neg__ = METHODS["neg"]  # type: ignore[method-assign]
setattr(Tensor, "__pos__", METHODS["positive"])  # noqa: B010
Tensor.__abs__ = METHODS["abs"]  # type: ignore[attr-defined]


def _dunder(function: Callable[..., Any]) -> None:
    """A method of Python's own, which a mode is told of under its own name."""
    setattr(Tensor, function.__name__, operation(function=False, method=False)(function))


@_dunder
def __invert__(self: Tensor) -> Any:  # noqa: N807
    return METHODS["bitwise_not"](self)


@_dunder
def __len__(self: Tensor) -> int:  # noqa: N807
    if self.ndim == 0:
        raise torch_error(TypeError, "len() of a 0-d tensor")
    return self._array.shape[0]


@_dunder
def __iter__(self: Tensor) -> Any:  # noqa: N807
    if self.ndim == 0:
        raise torch_error(TypeError, "iteration over a 0-d tensor")
    return iter(METHODS["unbind"](self, 0))


@_dunder
def __reversed__(self: Tensor) -> Tensor:  # noqa: N807
    return METHODS["flip"](self, 0) if self.ndim else self  # type: ignore[no-any-return]


def _one_number(self: Tensor) -> Any:
    no_number_within_vmap()
    if self._array.size != 1:
        raise torch_error(ValueError, "only one element tensors can be converted to Python scalars")
    return self._array.reshape(-1)[0].item()


@_dunder
def __float__(self: Tensor) -> float:  # noqa: N807
    return float(_one_number(self))


@_dunder
def __int__(self: Tensor) -> int:  # noqa: N807
    return int(_one_number(self))


@_dunder
def __complex__(self: Tensor) -> complex:  # noqa: N807
    return complex(_one_number(self))


@_dunder
def __index__(self: Tensor) -> int:  # noqa: N807
    if self._array.size != 1 or self._dtype.category > 1:
        raise torch_error(
            TypeError, "only integer tensors of a single element can be converted to an index"
        )
    return int(_one_number(self))


@_dunder
def __bool__(self: Tensor) -> bool:  # noqa: N807
    if self._array.size != 1:
        number = "more than one value" if self._array.size else "no values"
        raise torch_error(RuntimeError, f"Boolean value of Tensor with {number} is ambiguous")
    return bool(_one_number(self))


@_dunder
def __contains__(self: Tensor, value: Any) -> bool:  # noqa: N807
    return bool((self._array == (value._array if isinstance(value, Tensor) else value)).any())


_UNABLE = (  # NumPy's words, to whatever tensor
    "Unable to avoid copy while creating an array as requested.\nIf using `np.array(obj, "
    "copy=False)` replace it with `np.asarray(obj)` to allow a copy when needed (no behavior "
    "change in NumPy 1.x).\nFor more details, see https://numpy.org/devdocs/"
    "numpy_2_0_migration_guide.html#adapting-to-changes-in-the-copy-keyword."
)


@_dunder
def __array__(self: Tensor, dtype: Any = None, copy: Any = None) -> Array:  # noqa: N807
    if copy is False:
        raise torch_error(ValueError, _UNABLE)
    array: Array = METHODS["numpy"](self)
    wanted = array if dtype is None else array.astype(dtype, copy=False)
    return np.array(wanted) if copy and wanted is array else wanted


def _array_wrap(
    self: Tensor, array: Array, context: Any = None, return_scalar: bool = False
) -> Any:
    """What a function of NumPy's made of a tensor is a tensor again."""
    return wrap(array)


Tensor.__array_wrap__ = _array_wrap  # type: ignore[attr-defined]


@operation(function=False)
def item(self: Tensor) -> Any:
    """The one entry as one of Python's numbers."""
    no_number_within_vmap()
    if self._array.size != 1:
        raise torch_error(
            RuntimeError, f"a Tensor with {self._array.size} elements cannot be converted to Scalar"
        )
    return self._array.reshape(-1)[0].item()


@operation(function=False)
def tolist(self: Tensor) -> Any:
    """The entries as nested lists of Python's numbers."""
    no_number_within_vmap()
    return self._array.tolist()


@operation(function=False)
def numpy(self: Tensor, *, force: bool = False) -> Array:
    """The entries as an array in the same memory."""
    no_number_within_vmap()
    if self.requires_grad and not force:
        raise torch_error(
            RuntimeError,
            "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
        )
    if self._dtype.name == "bfloat16":
        raise torch_error(TypeError, "Got unsupported ScalarType BFloat16")
    return self._array


@operation()
def detach(input: Tensor) -> Tensor:
    """The same numbers in the same memory, without their origin."""
    made = wrap(input._array, input._dtype)
    made._memory = input._memory
    return made


@operation(function=False)
def detach_(self: Tensor) -> Tensor:
    """Forget where the tensor came from."""
    if self._base is not None:
        raise NotInThisPage("detach_() of a view")
    self._node, self._wants_gradient = None, False
    return self


@operation(function=False)
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Ask for a gradient, or no longer."""
    self.requires_grad = requires_grad
    return self


def _itself(name: str) -> None:
    def function(self: Tensor) -> Tensor:
        return self

    operation(name, function=False)(function)


for _name in ("cpu", "resolve_conj", "resolve_neg"):
    _itself(_name)


@operation("dim", "ndimension", function=False)
def dim(self: Tensor) -> int:
    """How many axes there are."""
    return self._array.ndim


@operation("numel", "nelement")
def numel(input: Tensor) -> int:
    """How many entries there are."""
    return input._array.size


@operation(function=False)
def element_size(self: Tensor) -> int:
    """Bytes of one entry."""
    return self._dtype.itemsize


@operation()
def is_floating_point(input: Tensor) -> bool:
    """Is its dtype a floating one?"""
    return input._dtype.is_floating_point


@operation()
def is_complex(input: Tensor) -> bool:
    """Is its dtype a complex one?"""
    return input._dtype.is_complex


@operation(function=False)
def is_contiguous(self: Tensor) -> bool:
    """Do the entries lie in memory in their order?"""
    return bool(self._array.flags["C_CONTIGUOUS"])


@operation(function=False)
def stride(self: Tensor, dim: int | None = None) -> Any:
    """How far apart neighbours along each axis lie in memory, in entries."""
    steps = tuple(step // self._array.itemsize for step in self._array.strides)
    return steps if dim is None else steps[dim]


@operation(function=False)
def data_ptr(self: Tensor) -> int:
    """The address of the first entry."""
    return int(self._array.__array_interface__["data"][0])
