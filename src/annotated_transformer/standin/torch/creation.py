"""New tensors: from Python's numbers and lists, from arrays, and filled ones."""

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .dtypes import (
    Size,
    as_dtype,
    check_strides,
    converted,
    device,
    dtype,
    dtype_of_array,
    get_default_dtype,
    int64,
    promote_types,
)
from .errors import NotInThisPage, torch_error
from .operations import METHODS, operation
from .promotion import dtype_of_number, is_number
from .shapes import sizes_of
from .tensor import Tensor, wrap


def check_device(where: Any) -> None:
    """There is no device but the processor."""
    if where is not None:
        device(where)


def _made(array: Any, kind: dtype, requires_grad: bool = False, where: Any = None) -> Tensor:
    """A new tensor; `where` is a device, of which there is one."""
    check_device(where)
    made = wrap(
        np.ascontiguousarray(converted(np.asarray(array), kind)).reshape(np.shape(array)), kind
    )
    if requires_grad:
        made.requires_grad = True
    return made


def _plain(data: Any, depth: int = 0) -> Any:
    """Nested lists with tensors and NumPy's numbers in them as Python's numbers."""
    if isinstance(data, Tensor):
        if data._array.size != 1 or (data.ndim and depth == 0):
            if data.ndim and depth:
                raise torch_error(
                    ValueError, "only one element tensors can be converted to Python scalars"
                )
            return data._array.tolist()
        return data._array.reshape(-1)[0].item()
    if isinstance(data, np.ndarray):
        return data.tolist()
    if isinstance(data, np.generic):
        return data.item()
    if isinstance(data, (list, tuple, range)):
        return [_plain(one, depth + 1) for one in data]
    return data


def _check_nested(data: Any, depth: int = 0) -> tuple[int, ...]:
    """The shape of nested lists, or PyTorch's complaint."""
    if isinstance(data, str):
        wrong = (
            (ValueError, "too many dimensions 'str'")
            if depth
            else (TypeError, "new(): invalid data type 'str'")
        )
        raise torch_error(*wrong)
    if not isinstance(data, list):
        if not isinstance(data, (bool, int, float, complex)):
            raise torch_error(RuntimeError, f"Could not infer dtype of {type(data).__name__}")
        return ()
    shapes = [_check_nested(one, depth + 1) for one in data]
    for shape, one in zip(shapes, data, strict=True):
        if len(shape) != len(shapes[0]):
            if not shape:
                raise torch_error(TypeError, f"expected a sequence, not {type(one).__name__}")
            raise torch_error(TypeError, "must be real number, not list")
        for place, (length, first) in enumerate(zip(shape, shapes[0], strict=True)):
            if length != first:
                raise torch_error(
                    ValueError,
                    f"expected sequence of length {first} at dim {depth + 1 + place} "
                    f"(got {length})",
                )
    return (len(data), *(shapes[0] if shapes else ()))


@operation(method=False)
def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A tensor of these numbers, copied."""
    if isinstance(data, Tensor):
        return _made(data._array.copy(), as_dtype(dtype, data._dtype), requires_grad, device)
    if isinstance(data, (np.ndarray, np.generic)):
        check_strides(np.asarray(data))
        array = np.array(data)
        return _made(array, as_dtype(dtype, dtype_of_array(array)), requires_grad, device)
    plain = _plain(data)
    shape = _check_nested(plain)
    array = np.array(plain, dtype=None if math.prod(shape) else np.float64).reshape(shape)
    if array.dtype == object:
        raise torch_error(RuntimeError, "Overflow when unpacking long long")
    return _made(array, as_dtype(dtype, _natural_dtype(data)), requires_grad, device)


def _natural_dtype(data: Any) -> dtype:
    """What numbers and tensors in nested lists have in common."""
    if isinstance(data, Tensor):
        return data._dtype
    if isinstance(data, (np.ndarray, np.generic)):
        return dtype_of_array(np.asarray(data))
    if not isinstance(data, (list, tuple, range)):
        return dtype_of_number(data)
    if not len(data):
        return get_default_dtype()
    return functools.reduce(promote_types, map(_natural_dtype, data))


@operation("as_tensor", "asarray", method=False)
def as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor of these numbers, not copied where they need not be."""
    if isinstance(data, Tensor):
        return METHODS["to"](data, as_dtype(dtype, data._dtype))  # type: ignore[no-any-return]
    if isinstance(data, np.ndarray):
        return METHODS["to"](from_numpy(data), as_dtype(dtype, dtype_of_array(data)))  # type: ignore[no-any-return]
    return tensor(data, dtype=dtype, device=device)


@operation(method=False)
def from_numpy(ndarray: Any, /) -> Tensor:
    """A tensor that shares the array's memory."""
    if not isinstance(ndarray, np.ndarray):
        raise torch_error(TypeError, f"expected np.ndarray (got {type(ndarray).__name__})")
    kind = dtype_of_array(ndarray)
    check_strides(ndarray)
    return wrap(ndarray, kind)


def _filler(name: str, value: int) -> None:
    def function(
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
    ) -> Tensor:
        check_device(device)  # before a large tensor for another device is made
        shape = sizes_of(name, size)
        _no_negative(name, shape)
        kind = as_dtype(dtype, get_default_dtype())
        return _made(np.full(shape, value, kind.storage), kind, requires_grad, device)

    def like(
        input: Tensor,
        *,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        check_device(device)
        kind = as_dtype(dtype, input._dtype)
        made = wrap(np.full_like(input._array, value, dtype=kind.storage), kind)
        if requires_grad:
            made.requires_grad = True
        return made

    def new(
        self: Tensor,
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:
        shape = sizes_of(f"new_{name}", size)
        _no_negative(name, shape)
        kind = as_dtype(dtype, self._dtype)
        return _made(np.full(shape, value, kind.storage), kind, requires_grad, device)

    operation(name, method=False)(function)
    operation(f"{name}_like", method=False)(like)
    operation(f"new_{name}", function=False)(new)


def _no_negative(name: str, shape: tuple[int, ...]) -> None:
    if any(length < 0 for length in shape):
        raise torch_error(RuntimeError, f"{name}: Dimension size must be non-negative.")


_filler("zeros", 0)
_filler("ones", 1)
_filler("empty", 0)


@operation(method=False)
def full(
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number everywhere."""
    if not isinstance(size, (tuple, list)):
        raise torch_error(
            TypeError,
            "full(): argument 'size' (position 1) must be tuple of ints, not "
            f"{type(size).__name__}",
        )
    shape = sizes_of("full", (size,))
    _no_negative("full", shape)
    value = _plain(fill_value)
    return _made(
        np.full(shape, value), as_dtype(dtype, dtype_of_number(value)), requires_grad, device
    )


@operation(method=False)
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """One number everywhere, in the shape of another tensor."""
    kind = as_dtype(dtype, input._dtype)
    return _made(
        np.full(input._array.shape, converted(np.asarray(_plain(fill_value)), kind)),
        kind,
        requires_grad,
        device,
    )


@operation(function=False)
def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, device: Any = None
) -> Tensor:
    """One number everywhere, in this tensor's dtype."""
    return full(size, fill_value, dtype=as_dtype(dtype, self._dtype), device=device)


@operation(function=False)
def new_tensor(self: Tensor, data: Any, *, dtype: Any = None) -> Tensor:
    """A tensor of these numbers, in this tensor's dtype."""
    return tensor(data, dtype=as_dtype(dtype, self._dtype))


@operation(method=False)
def arange(
    *bounds: Any,
    start: Any = None,
    end: Any = None,
    step: Any = None,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """Numbers from `start` up to `end`, without it."""
    first, last, by = map(_plain, _three_bounds(bounds, start, end, step))
    for name, one in (("start", first), ("end", last), ("step", by)):
        if not is_number(one):
            raise torch_error(
                TypeError,
                f"arange(): argument '{name}' (position 1) must be Number, not "
                f"{type(one).__name__}",
            )
    if by == 0:
        raise torch_error(RuntimeError, "step must be nonzero")
    if (last - first) * by < 0:
        raise torch_error(RuntimeError, "upper bound and lower bound inconsistent with step sign")
    whole = all(not isinstance(one, float) for one in (first, last, by))
    kind = as_dtype(dtype, int64 if whole else get_default_dtype())
    count = max(0, math.ceil((last - first) / by))
    return _made(first + by * np.arange(count), kind, requires_grad, device)


def _three_bounds(bounds: Sequence[Any], start: Any, end: Any, step: Any) -> Sequence[Any]:
    """Where `arange` begins and ends, and its step; one number alone is the end."""
    if not bounds and end is None:
        raise torch_error(TypeError, 'arange() missing 1 required positional arguments: "end"')
    if len(bounds) == 1 and end is None and start is None:
        return 0, bounds[0], 1 if step is None else step
    names = ("start", "end", "step")
    named = {
        name: one for name, one in zip(names, (start, end, step), strict=True) if one is not None
    }
    given = dict(zip(names, bounds, strict=False))
    if given.keys() & named.keys() or len(bounds) > 3:
        raise NotInThisPage("this use of torch.arange()")
    found = {"start": 0, "step": 1, **given, **named}
    return [found[name] for name in names]


@operation(method=False)
def linspace(
    start: Any,
    end: Any,
    steps: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """So many numbers at equal distances, with both ends."""
    kind = as_dtype(dtype, get_default_dtype())
    numbers = np.linspace(_plain(start), _plain(end), int(steps))
    return _made(numbers, kind, requires_grad, device)


@operation(method=False)
def logspace(start: Any, end: Any, steps: Any, base: float = 10.0, *, dtype: Any = None) -> Tensor:
    """Powers of `base` with exponents at equal distances."""
    numbers = base ** np.linspace(_plain(start), _plain(end), int(steps))
    return _made(numbers, as_dtype(dtype, get_default_dtype()))


@operation(method=False)
def eye(
    n: Any, m: Any = None, *, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Ones on the diagonal of zeros."""
    for name, one, position in (("n", n, 1), ("m", m, 2)):
        if isinstance(one, float):
            raise torch_error(
                TypeError, f"eye(): argument '{name}' (position {position}) must be int, not float"
            )
    numbers = np.eye(int(n), None if m is None else int(m))
    return _made(numbers, as_dtype(dtype, get_default_dtype()), requires_grad, device)


class _KindOfType(type):
    """An old name such as `torch.LongTensor`: makes tensors of one dtype, and knows them."""

    kind: dtype

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        check_device(device)
        kind = cls.kind
        if not data or isinstance(data[0], int):
            return wrap(np.zeros(data or (0,), kind.storage), kind)
        if len(data) > 1 or not isinstance(data[0], (list, tuple, np.ndarray, Tensor)):
            raise NotInThisPage(f"this use of torch.{cls.__name__}()")
        if isinstance(data[0], Size):
            return wrap(np.zeros(data[0], kind.storage), kind)
        if isinstance(data[0], Tensor):
            return _of_tensor(data[0], kind)
        return tensor(data[0], dtype=kind)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance._dtype is cls.kind


_OPTIONS = (
    "TensorOptions(dtype={}, device=cpu, layout=Strided, requires_grad=false (default), "
    "pinned_memory=false (default), memory_format=(nullopt))"
)


def _of_tensor(given: Tensor, kind: dtype) -> Tensor:
    if given._dtype is not kind:
        wanted, got = (_OPTIONS.format(one.c_name) for one in (kind, given._dtype))
        raise torch_error(TypeError, f"expected {wanted} (got {got})")
    return METHODS["detach"](given)  # type: ignore[no-any-return]


def of_type(kind: dtype) -> type:
    """A dtype's class by its old name, such as `torch.LongTensor`."""
    return _KindOfType(f"{kind.type_name}Tensor", (), {"kind": kind, "__module__": "torch"})
