"""Many entries to one: sums, means, extremes, norms; and what runs or sorts along an axis."""

import math
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import Array, as_dtype, as_places, bool_, converted, dtype, get_default_dtype, int64
from .errors import NotInThisPage, axis_of, torch_error
from .operations import METHODS, operation
from .shapes import broadcast_shape
from .tensor import Tensor, laid_out_as, result, wrap

Axes = tuple[int, ...]


def _axes(name: str, dim: Any, rank: int) -> Axes:
    """The axes that `dim` names; all of them for None and ()."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(rank))
    if isinstance(dim, (str, float)):
        raise torch_error(
            TypeError,
            f"{name}() received an invalid combination of arguments - got "
            f"({type(dim).__name__}), but expected one of:\n * (*, torch.dtype dtype = None)\n"
            " * (tuple of ints dim, bool keepdim = False, *, torch.dtype dtype = None)\n",
        )
    axes = tuple(axis_of(one, rank) for one in (dim if isinstance(dim, (tuple, list)) else (dim,)))
    if len(set(axes)) != len(axes):
        repeated = next(axis for axis in axes if axes.count(axis) > 1)
        raise torch_error(
            RuntimeError, f"dim {repeated} appears multiple times in the list of dims"
        )
    return axes if rank else ()


def _spread(reduced: Array, axes: Axes, keepdim: bool) -> Array:
    """What was reduced, with the axes of length 1 that it would have with `keepdim`."""
    return reduced if keepdim else np.expand_dims(reduced, sorted(axes)) if axes else reduced


def _in_order(array: Any) -> Array:
    """What was reduced lies in memory in its order, however that lay which was reduced."""
    return np.asarray(array, order="C")


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = name
    return function


# Sums and means.


@operation("sum")
def total(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The sum along axes, or of all entries."""
    axes = _axes("sum", dim, input.ndim)
    kind = as_dtype(dtype, int64 if input._dtype.category < 2 else input._dtype)
    numbers = _in_order(converted(input._array, kind).sum(axis=axes, keepdims=keepdim))
    shape = input._array.shape
    return result(
        numbers,
        kind,
        "Sum",
        (input,),
        lambda g: (np.broadcast_to(_spread(g, axes, keepdim), shape),),
    )


@operation()
def mean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean along axes, or of all entries."""
    kind = as_dtype(dtype, input._dtype)
    if kind.category < 2:
        which = "Input" if dtype is None else "Optional"
        raise torch_error(
            RuntimeError,
            f"mean(): could not infer output dtype. {which} dtype must be either a floating point "
            f"or complex dtype. Got: {kind.type_name}",
        )
    axes = _axes("mean", dim, input.ndim)
    shape = input._array.shape
    count = math.prod(shape[axis] for axis in axes)
    numbers = _in_order(converted(input._array, kind).sum(axis=axes, keepdims=keepdim))
    return result(
        numbers / count if count else numbers * np.nan,
        kind,
        "Mean",
        (input,),
        lambda g: (np.broadcast_to(_spread(g, axes, keepdim) / count, shape),),
    )


@operation()
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
    """The sum of the entries that are numbers."""
    where = METHODS["where"]
    return total(where(input, METHODS["isnan"](input).logical_not(), 0), dim, keepdim)


@operation()
def prod(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The product along an axis, or of all entries."""
    if isinstance(dim, (tuple, list)):
        raise torch_error(
            TypeError,
            "prod() received an invalid combination of arguments - got (dim=tuple, ), but expected "
            "one of:\n * (*, torch.dtype dtype = None)\n"
            " * (int dim, bool keepdim = False, *, torch.dtype dtype = None)\n",
        )
    axes = _axes("prod", dim, input.ndim)
    kind = as_dtype(dtype, int64 if input._dtype.category < 2 else input._dtype)
    a = converted(input._array, kind)
    numbers = a.prod(axis=axes, keepdims=keepdim)

    def backward(g: Array) -> Sequence[Array]:
        if dim is None:
            others = _product_of_others(a.reshape(-1), 0).reshape(a.shape)
        else:
            others = _product_of_others(a, axes[0]) if axes else np.ones_like(a)
        return (_spread(g, axes, keepdim) * others,)

    return result(numbers, kind, "Prod", (input,), backward, (input,))


def _product_of_others(a: Array, axis: int) -> Array:
    """At each place the product of all other entries, also where one is 0."""
    lines = np.moveaxis(a, axis, -1)
    ones = np.ones_like(lines[..., :1])
    before = np.cumprod(np.concatenate([ones, lines[..., :-1]], -1), -1)
    after = np.cumprod(np.concatenate([ones, lines[..., :0:-1]], -1), -1)[..., ::-1]
    return np.moveaxis(before * after, -1, axis)


def _spread_of(name: str) -> None:
    def function(
        input: Tensor,
        dim: Any = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Tensor:
        if isinstance(dim, bool):  # var(unbiased)
            dim, unbiased = None, dim
        if input._dtype.category < 2:
            raise torch_error(
                RuntimeError, "std and var only support floating point and complex dtypes"
            )
        axes = _axes(name, dim, input.ndim)
        a = input._array
        count = math.prod(a.shape[axis] for axis in axes)
        less = int(unbiased) if correction is None else correction
        apart = a - a.mean(axis=axes, keepdims=True)
        divisor = max(count - less, 0)
        variance = (apart * apart).sum(axis=axes, keepdims=keepdim) / np.asarray(divisor, a.dtype)
        numbers = _in_order(np.sqrt(variance) if name == "std" else variance)

        def backward(g: Array) -> Sequence[Array]:
            g = _spread(g, axes, keepdim)
            if name == "std":
                deviation = _spread(numbers, axes, keepdim)
                g = np.where(deviation == 0, 0, g / (2 * deviation))
            return (g * (2 / np.asarray(divisor, a.dtype)) * apart,)

        return result(
            numbers, input._dtype, name.title(), (input,), backward, (input,), name == "std"
        )

    operation(name)(function)


_spread_of("var")
_spread_of("std")


def _with_mean_of(name: str) -> None:
    def function(
        input: Tensor,
        dim: Any = None,
        unbiased: bool = True,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> tuple[Tensor, Tensor]:
        spread = METHODS[name](input, dim, unbiased, keepdim, correction=correction)
        return spread, mean(input, dim, keepdim)

    operation(f"{name}_mean")(function)


_with_mean_of("var")
_with_mean_of("std")


# Truth and counting.


def _of_truth(name: str) -> None:
    numpys = getattr(np, name)

    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        axes = _axes(name, dim, input.ndim)
        return wrap(numpys(input._array, axis=axes, keepdims=keepdim), bool_)

    operation(name)(_named(function, name))


_of_truth("any")
_of_truth("all")


@operation()
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """How many entries are not 0."""
    return wrap((input._array != 0).sum(axis=_axes("count_nonzero", dim, input.ndim)), int64)


@operation()
def bincount(input: Tensor, weights: Any = None, minlength: int = 0) -> Tensor:
    """How often each whole number is there."""
    heavy = weights._array if isinstance(weights, Tensor) else None
    return wrap(np.bincount(as_places(input._array), heavy, minlength))


# Extremes.

_RETURN_TYPES: dict[str, Any] = {}


def return_type(name: str, *fields: str) -> Any:
    """The named pair that PyTorch returns, such as `torch.return_types.max`."""
    kind = namedtuple(name, fields)  # type: ignore[misc]
    kind.__name__ = kind.__qualname__ = f"torch.return_types.{name}"  # read in errors
    _RETURN_TYPES[name] = kind
    return kind


for _name in ("max", "min", "sort", "topk", "median", "kthvalue", "cummax", "cummin", "mode"):
    return_type(_name, "values", "indices")
return_type("aminmax", "min", "max")


def _no_entries(name: str, input: Tensor) -> None:
    if not input._array.size:
        raise torch_error(
            RuntimeError,
            f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the "
            "reduction dim with the 'dim' argument.",
        )


def _shared_among_ties(g: Array, of: Array, extreme: Array, axes: Axes) -> Array:
    equal = of == extreme
    return np.where(equal, g / equal.sum(axis=axes, keepdims=True), 0)


def _extreme_alone(name: str, numpys: Callable[..., Any]) -> None:
    def function(input: Tensor, dim: Any = (), keepdim: bool = False) -> Tensor:
        axes = _axes(name, dim, input.ndim)
        a = input._array
        _no_empty_axis(name, a, axes, dim)
        numbers = _in_order(numpys(a, axis=axes, keepdims=keepdim))

        def backward(g: Array) -> Sequence[Array]:
            g, extreme = (_spread(one, axes, keepdim) for one in (g, numbers))
            return (_shared_among_ties(g, a, extreme, axes),)

        return result(
            numbers, input._dtype, name.title(), (input,), backward, (input,), saves_result=True
        )

    operation(name)(_named(function, name))


def _no_empty_axis(name: str, a: Array, axes: Axes, dim: Any) -> None:
    for axis in axes:
        if a.shape[axis] == 0:
            if dim is None or dim == ():
                raise torch_error(
                    RuntimeError,
                    f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                    "Specify the reduction dim with the 'dim' argument.",
                )
            raise torch_error(
                IndexError, f"{name}(): Expected reduction dim {axis} to have non-zero size."
            )


_extreme_alone("amax", np.max)
_extreme_alone("amin", np.min)


@operation()
def aminmax(input: Tensor, *, dim: Any = None, keepdim: bool = False) -> Any:
    """The smallest and the largest entry."""
    axes = () if dim is None else dim
    return _RETURN_TYPES["aminmax"](
        METHODS["amin"](input, axes, keepdim), METHODS["amax"](input, axes, keepdim)
    )


def _extreme(name: str, pair: str, find: Callable[..., Any]) -> None:
    """`max` and `min`: of all entries, along an axis with their places, or of two tensors."""

    def function(input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
        other = dim if isinstance(dim, Tensor) else other
        if not isinstance(input, Tensor) or not isinstance(dim, (int, Tensor, type(None))):
            kinds = ", ".join(type(one).__name__ for one in (input, dim) if one is not None)
            raise torch_error(
                TypeError,
                f"{name}() received an invalid combination of arguments - got ({kinds}), but "
                "expected one of:\n * (Tensor input, *, Tensor out = None)\n"
                " * (Tensor input, Tensor other, *, Tensor out = None)\n"
                " * (Tensor input, int dim, bool keepdim = False, *, "
                "tuple of Tensors out = None)\n",
            )
        if isinstance(other, Tensor):
            return METHODS[pair](input, other)
        if dim is None:
            _no_entries(name, input)
            return METHODS[f"a{name}"](input)
        axis = axis_of(dim, input.ndim)
        if not input.ndim:
            return _RETURN_TYPES[name](METHODS["clone"](input), wrap(np.zeros((), np.int64)))
        _no_empty_axis(name, input._array, (axis,), dim)
        places = np.expand_dims(find(input._array, axis), axis)
        return _RETURN_TYPES[name](*_at(input, axis, places, keepdim, name))

    operation(name)(_named(function, name))


def _at(input: Tensor, axis: int, places: Array, keepdim: bool, name: str) -> tuple[Tensor, Tensor]:
    """The entries at these places along an axis, and the places."""
    a = input._array

    def kept(array: Array) -> Array:
        return array if keepdim else np.squeeze(array, axis)

    def backward(g: Array) -> Sequence[Array]:
        whole = np.zeros(a.shape, g.dtype)
        spread = g if keepdim else np.expand_dims(g, axis)
        _add_along(whole, places, spread, axis)
        return (whole,)

    values = kept(np.take_along_axis(a, places, axis))
    return result(values, input._dtype, name.title(), (input,), backward), wrap(
        kept(places).astype(np.int64, copy=False)
    )


def _add_along(whole: Array, places: Array, what: Array, axis: int) -> None:
    grid: list[Array] = list(np.indices(places.shape, sparse=True))
    grid[axis] = places
    np.add.at(whole, tuple(grid), what)


_extreme("max", "maximum", np.argmax)
_extreme("min", "minimum", np.argmin)


def _place_of_extreme(name: str, numpys: Callable[..., Any]) -> None:
    def function(input: Tensor, dim: Any = None, keepdim: bool = False) -> Tensor:
        if input._dtype is bool_:
            raise torch_error(RuntimeError, f"{name}(): does not support bool input")
        if dim is None:
            _no_entries(name, input)
            place = np.asarray(numpys(input._array))
            return wrap(place.reshape((1,) * input.ndim) if keepdim else place, int64)
        axis = axis_of(dim, input.ndim)
        if not input.ndim:
            return wrap(np.zeros((), np.int64))
        _no_empty_axis(name, input._array, (axis,), dim)
        return wrap(np.asarray(numpys(input._array, axis=axis, keepdims=keepdim)), int64)

    operation(name)(_named(function, name))


_place_of_extreme("argmax", np.argmax)
_place_of_extreme("argmin", np.argmin)


# Sorting.


def _order(a: Array, axis: int, descending: bool) -> Array:
    """The places of the entries in their order; equal ones stay as they were."""
    if not descending:
        return np.argsort(a, axis=axis, kind="stable")
    turned = np.argsort(np.flip(a, axis), axis=axis, kind="stable")
    return np.ascontiguousarray(np.flip(a.shape[axis] - 1 - turned, axis))


@operation()
def sort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """The entries in their order, and where they stood."""
    axis = axis_of(dim, input.ndim)
    if not input.ndim:
        return _RETURN_TYPES["sort"](METHODS["clone"](input), wrap(np.zeros((), np.int64)))
    places = _order(input._array, axis, descending)
    values, indices = _at(input, axis, places, True, "sort")
    for one in (values, indices):
        one._array = laid_out_as(input._array, one._array)
    return _RETURN_TYPES["sort"](values, indices)


@operation()
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where the entries stand that come first, second, ..."""
    return sort(input, dim, descending).indices  # type: ignore[no-any-return]


@operation()
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The `k` largest entries, and where they stand."""
    axis = axis_of(dim, input.ndim)
    if not 0 <= int(k) <= input._array.shape[axis]:
        raise torch_error(RuntimeError, "selected index k out of range")
    order = _order(input._array, axis, largest)
    places = np.take(order, np.arange(int(k)), axis)
    return _RETURN_TYPES["topk"](*_at(input, axis, places, True, "topk"))


@operation()
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The entry that would come as the k-th, and where it stands."""
    axis = axis_of(dim, input.ndim)
    if not 1 <= k <= input._array.shape[axis]:
        raise torch_error(
            RuntimeError, f"kthvalue(): selected number k out of range for dimension {axis}"
        )
    places = np.take(_order(input._array, axis, False), [k - 1], axis)
    return _RETURN_TYPES["kthvalue"](*_at(input, axis, places, keepdim, "kthvalue"))


@operation()
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The middle entry; of two in the middle, the smaller one."""
    from .shapes import reshape

    flat = reshape(input, -1) if dim is None else input
    axis = 0 if dim is None else axis_of(dim, input.ndim)
    length = flat._array.shape[axis]
    places = np.take(_order(flat._array, axis, False), [(length - 1) // 2], axis)
    found = _at(flat, axis, places, keepdim and dim is not None, "median")
    return found[0] if dim is None else _RETURN_TYPES["median"](*found)


@operation()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The different entries in their order."""
    if dim is not None:
        raise NotInThisPage("unique() along an axis")
    values, inverse, counts = np.unique(
        input._array.reshape(-1), return_inverse=True, return_counts=True
    )
    found = [wrap(values, input._dtype)]
    if return_inverse:
        found.append(wrap(inverse.reshape(input._array.shape), int64))
    if return_counts:
        found.append(wrap(counts, int64))
    return found[0] if len(found) == 1 else tuple(found)


@operation(method=False)
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False
) -> Tensor:
    """Is each entry among those others?"""
    one, other = (
        given._array if isinstance(given, Tensor) else np.asarray(given)
        for given in (elements, test_elements)
    )
    return wrap(np.isin(one, other, invert=invert), bool_)


# Along an axis, one after the other.


@operation()
def cumsum(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The sums of all entries so far along an axis."""
    axis = axis_of(dim, input.ndim)
    kind = as_dtype(dtype, int64 if input._dtype.category < 2 else input._dtype)
    a = converted(input._array, kind)

    def backward(g: Array) -> Sequence[Array]:
        return (np.flip(np.cumsum(np.flip(g, axis), axis), axis) if g.ndim else g,)

    numbers = _in_order(np.cumsum(a, axis)) if a.ndim else a
    return result(numbers, kind, "Cumsum", (input,), backward)


@operation()
def cumprod(input: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    """The products of all entries so far along an axis."""
    axis = axis_of(dim, input.ndim)
    kind = as_dtype(dtype, int64 if input._dtype.category < 2 else input._dtype)
    a = converted(input._array, kind)
    numbers = _in_order(np.cumprod(a, axis)) if a.ndim else a

    def backward(g: Array) -> Sequence[Array]:
        lines, sent = np.moveaxis(a, axis, -1), np.moveaxis(g, axis, -1)
        found = np.zeros_like(lines)
        for end in range(lines.shape[-1]):
            others = _product_of_others(lines[..., : end + 1], -1)
            found[..., : end + 1] += sent[..., end : end + 1] * others
        return (np.moveaxis(found, -1, axis),)

    return result(numbers, kind, "Cumprod", (input,), backward, (input,))


def _running_extreme(name: str, numpys: Any) -> None:
    def function(input: Tensor, dim: int) -> Any:
        axis = axis_of(dim, input.ndim)
        a = input._array
        running = numpys.accumulate(a, axis)
        here = np.arange(a.shape[axis]).reshape([-1 if k == axis else 1 for k in range(a.ndim)])
        places = np.maximum.accumulate(np.where(a == running, here, 0), axis)
        found = _at(input, axis, places, True, name)
        for one in found:
            one._array = _in_order(one._array)
        return _RETURN_TYPES[name](*found)

    operation(name)(_named(function, name))


_running_extreme("cummax", np.maximum)
_running_extreme("cummin", np.minimum)


@operation()
def diff(input: Tensor, n: int = 1, dim: int = -1) -> Tensor:
    """Each entry less the one before it."""
    for _ in range(n):
        length = input._array.shape[axis_of(dim, input.ndim)]
        narrow = METHODS["narrow"]
        input = narrow(input, dim, 1, length - 1) - narrow(input, dim, 0, length - 1)
    return input


# Exponentials.


def _floating_kind(name: str, input: Tensor, given: Any) -> dtype:
    kind = as_dtype(given, input._dtype)
    if kind.category < 2:
        raise torch_error(NotImplementedError, f"\"{name}\" not implemented for '{kind.type_name}'")
    return kind


def softmax_numbers(a: Array, axis: int) -> Array:
    """The softmax of an array."""
    if not a.ndim:
        return np.ones_like(a)
    if not a.size:
        return a
    wide = a.astype(np.float32) if a.dtype == np.float16 else a
    powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True), a.dtype, order="C")


@operation()
def softmax(input: Tensor, dim: Any, dtype: Any = None) -> Tensor:
    """Positive weights that add up to 1 along an axis."""
    axis = axis_of(dim, input.ndim)
    last = axis == max(input.ndim, 1) - 1
    kernel = "softmax_lastdim_kernel_impl" if last else "softmax_kernel_impl"
    kind = _floating_kind(kernel, input, dtype)
    numbers = softmax_numbers(converted(input._array, kind), axis)

    def backward(g: Array) -> Sequence[Array]:
        if not g.ndim:
            return (g * 0,)
        inner = (g * numbers).sum(axis=axis, keepdims=True)
        return (numbers * (g - inner),)

    return result(numbers, kind, "Softmax", (input,), backward, saves_result=True)


@operation()
def log_softmax(input: Tensor, dim: Any, dtype: Any = None) -> Tensor:
    """The logarithm of the softmax."""
    axis = axis_of(dim, input.ndim)
    kernel = "log_softmax_lastdim_kernel_impl"
    kind = _floating_kind(kernel, input, dtype)
    a = converted(input._array, kind)
    if not a.ndim:
        return result(a * 0, kind, "LogSoftmax", (input,), lambda g: (g * 0,))
    apart = a - a.max(axis=axis, keepdims=True) if a.size else a
    numbers = apart - np.log(np.exp(apart).sum(axis=axis, keepdims=True))
    numbers = np.asarray(numbers, order="C")

    def backward(g: Array) -> Sequence[Array]:
        return (g - np.exp(numbers) * g.sum(axis=axis, keepdims=True),)

    return result(numbers, kind, "LogSoftmax", (input,), backward, saves_result=True)


@operation()
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False) -> Tensor:
    """The logarithm of the sum of the exponentials."""
    axes = _axes("logsumexp", dim, input.ndim)
    kind = input._dtype if input._dtype.category >= 2 else get_default_dtype()
    a = converted(input._array, kind)
    largest = a.max(axis=axes, keepdims=True)
    largest = np.where(np.isfinite(largest), largest, 0)
    kept = np.log(np.exp(a - largest).sum(axis=axes, keepdims=True)) + largest
    numbers = kept if keepdim else kept.reshape(a.sum(axis=axes).shape)

    def backward(g: Array) -> Sequence[Array]:
        return (_spread(g, axes, keepdim) * np.exp(a - kept),)

    return result(numbers, kind, "Logsumexp", (input,), backward, (input,), saves_result=True)


@operation()
def logcumsumexp(input: Tensor, dim: int) -> Tensor:
    """The logarithms of the running sums of the exponentials."""
    axis = axis_of(dim, input.ndim)
    a = input._array
    numbers = _in_order(np.logaddexp.accumulate(a, axis))

    def backward(g: Array) -> Sequence[Array]:
        lines, sums, sent = (np.moveaxis(one, axis, -1) for one in (a, numbers, g))
        weights = np.tril(np.exp(lines[..., None, :] - sums[..., :, None]))
        return (np.moveaxis((sent[..., :, None] * weights).sum(-2), -1, axis),)

    return result(numbers, input._dtype, "Logcumsumexp", (input,), backward, (input,), True)


# Norms and distances.


@operation()
def norm(
    input: Tensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: Any = None,
) -> Tensor:
    """The length of vectors; `p=2` is the usual one."""
    axes = _axes("norm", dim, input.ndim)
    kind = as_dtype(dtype, input._dtype)
    if kind.category < 2:
        raise torch_error(
            RuntimeError,
            "linalg.vector_norm: Expected a floating point or complex tensor as input. Got "
            f"{kind.type_name}",
        )
    order = 2.0 if p in ("fro", None) else float(p)
    a = converted(input._array, kind)
    size = np.abs(a)
    if math.isinf(order):
        return METHODS["amax" if order > 0 else "amin"](METHODS["abs"](input), axes, keepdim)
    if order == 0:
        return wrap((a != 0).sum(axis=axes, keepdims=keepdim).astype(a.dtype), kind)
    powers = _in_order((size**order).sum(axis=axes, keepdims=keepdim))
    numbers = powers ** (1 / order)

    def backward(g: Array) -> Sequence[Array]:
        length = _spread(numbers, axes, keepdim)
        ratio = np.where(length == 0, 0, np.sign(a) * (size / length) ** (order - 1))
        return (_spread(g, axes, keepdim) * ratio,)

    return result(numbers, kind, "LinalgVectorNorm", (input,), backward, (input,), True)


@operation()
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The norm of the difference."""
    return norm(input - other, p)


@operation(method=False)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0) -> Tensor:
    """The distances of all rows of one matrix to all of another."""
    if x1._dtype is not x2._dtype:
        raise torch_error(
            RuntimeError,
            f"expected scalar type {x1._dtype.type_name} but found {x2._dtype.type_name}",
        )
    unsqueeze = METHODS["unsqueeze"]
    return norm(unsqueeze(x1, -2) - unsqueeze(x2, -3), p, -1)


# Comparing tensors as wholes.


def _same_dtype(input: Tensor, other: Tensor) -> None:
    if not isinstance(other, Tensor):
        raise torch_error(
            TypeError,
            f"allclose(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}",
        )
    if input._dtype is not other._dtype:
        raise torch_error(
            RuntimeError, f"{input._dtype.type_name} did not match {other._dtype.type_name}"
        )


@operation()
def isclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> Tensor:
    """Where do the entries differ by no more than atol + rtol * |other|?"""
    _same_dtype(input, other)
    broadcast_shape(input.shape, other.shape)
    return wrap(np.isclose(input._array, other._array, rtol, atol, equal_nan), bool_)


@operation()
def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> bool:
    """Is every entry close to the other's?"""
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


@operation()
def equal(input: Tensor, other: Tensor) -> bool:
    """The same shape and the same entries?"""
    return input.shape == other.shape and bool((input._array == other._array).all())


@operation(method=False)
def is_tensor(obj: Any, /) -> bool:
    """Is this a tensor?"""
    return isinstance(obj, Tensor)
