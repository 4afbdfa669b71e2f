"""Square brackets, and entries taken or put by the numbers of their places."""

from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import numpy as np

from .dtypes import Array, bool_, check_strides, converted, int64, uint8
from .errors import (
    axis_of,
    cannot_broadcast,
    must_be_tensor,
    no_number_within_vmap,
    torch_error,
)
from .operations import operation
from .promotion import fit, is_number
from .shapes import part, taken
from .tensor import Tensor, change, result, wrap

_NO_INDEX = (
    "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
    "indices (got {})"
)

# A list with one of these in it is read as the tuple of its items.
_MAKES_A_TUPLE = (slice, EllipsisType, list, tuple, Tensor, type(None))


def _read(index: Any) -> tuple[Any, ...]:
    """An index as a tuple of whole numbers, slices, None, `...` and arrays."""
    items = index if isinstance(index, tuple) else (index,)
    if isinstance(index, list) and any(isinstance(one, _MAKES_A_TUPLE) for one in index):
        items = tuple(index)
    return tuple(map(_read_item, items))


def _read_item(item: Any) -> Any:
    if item is None or item is Ellipsis or isinstance(item, (bool, int)):
        return item
    if isinstance(item, slice):
        step = 1 if item.step is None else item.step.__index__()
        if step <= 0:
            raise torch_error(ValueError, "step must be greater than zero")
        start, stop = (None if end is None else end.__index__() for end in (item.start, item.stop))
        return slice(start, stop, step)
    if isinstance(item, np.integer):
        return int(item)
    if isinstance(item, (list, range)):
        item = _tensor_of(item)
    if isinstance(item, np.ndarray):
        check_strides(item)
        item = wrap(item)
    if isinstance(item, Tensor):
        if item._dtype.category > 1:
            raise torch_error(
                IndexError, "tensors used as indices must be long, int, byte or bool tensors"
            )
        if item.ndim == 0 or item._dtype in (bool_, uint8):
            no_number_within_vmap()
        if item._dtype is uint8:
            return item._array.astype(bool)
        if item.ndim == 0 and item._dtype is not bool_:
            return int(item._array)
        return item._array
    if isinstance(item, str):
        raise torch_error(TypeError, "new(): invalid data type 'str'")
    raise torch_error(IndexError, _NO_INDEX.format(type(item).__name__))


def _tensor_of(items: Any) -> Any:
    from .creation import tensor

    plain = [list(one) if isinstance(one, range) else one for one in items]
    made = tensor(plain)
    return made if made._array.size else wrap(made._array.astype(np.int64), int64)


def _is_basic(items: Sequence[Any]) -> bool:
    return not any(isinstance(item, (np.ndarray, bool)) for item in items)


def _check(items: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """Complain as PyTorch does of an index that does not fit the shape."""
    taken_by = [
        item.ndim
        if isinstance(item, np.ndarray) and item.dtype == bool
        else 0
        if item is None or item is Ellipsis or isinstance(item, bool)
        else 1
        for item in items
    ]
    rank = len(shape)
    if rank == 0 and any(type(item) is int for item in items):
        raise torch_error(
            IndexError,
            "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` "
            "in C++ to convert a 0-dim tensor to a number",
        )
    if sum(taken_by) > rank:
        raise torch_error(IndexError, f"too many indices for tensor of dimension {rank}")
    axis = 0
    for item, width in zip(items, taken_by, strict=True):
        if item is Ellipsis:
            axis = rank - sum(taken_by[len(taken_by) - _after(items) :])
            continue
        if type(item) is int and not -shape[axis] <= item < shape[axis]:
            raise torch_error(
                IndexError,
                f"index {item} is out of bounds for dimension {axis} with size {shape[axis]}",
            )
        if isinstance(item, np.ndarray):
            _check_array(item, axis, shape)
        axis += width


def _after(items: tuple[Any, ...]) -> int:
    """How many items stand behind the `...`."""
    return len(items) - next(k for k, item in enumerate(items) if item is Ellipsis) - 1


def _check_array(item: Array, axis: int, shape: tuple[int, ...]) -> None:
    if item.dtype == bool:
        for k, length in enumerate(item.shape):
            if length != shape[axis + k]:
                raise torch_error(
                    IndexError,
                    f"The shape of the mask {list(item.shape)} at index {k} does not match the "
                    f"shape of the indexed tensor {list(shape)} at index {axis + k}",
                )
        return
    wrong = item[(item < -shape[axis]) | (item >= shape[axis])]
    if wrong.size:
        raise torch_error(  # PyTorch brings the axis to the front before it looks
            IndexError,
            f"index {wrong[0]} is out of bounds for dimension 0 with size {shape[axis]}",
        )


@operation(function=False)
def __getitem__(self: Tensor, index: Any) -> Tensor:  # noqa: N807
    """What stands at an index: a view of numbers and slices, a copy of arrays and masks."""
    items = _read(index)
    _check(items, self._array.shape)
    if _is_basic(items):
        return part(self, items, "Slice")
    first, rest = _in_two_steps(items)
    return _picked(part(self, first, "Slice"), rest)


def _in_two_steps(items: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What is a view (numbers, slices, new axes) first, then arrays and masks on what is left.

    PyTorch does it so. NumPy takes a number beside an array for an array too.
    """
    first: list[Any] = []
    rest: list[Any] = []
    for item in items:
        if isinstance(item, np.ndarray):
            first += [slice(None)] * (item.ndim if item.dtype == bool else 1)
            rest.append(item)
        elif isinstance(item, bool):
            rest.append(item)
        else:
            first.append(item)
            if type(item) is not int:
                rest.append(Ellipsis if item is Ellipsis else slice(None))
    return tuple(first), tuple(rest)


def _picked(input: Tensor, items: tuple[Any, ...]) -> Tensor:
    _check_shapes_of_arrays(items)

    def backward(g: Array) -> Sequence[Array]:
        whole = np.zeros(input._array.shape, g.dtype)
        np.add.at(whole, items, g)
        return (whole,)

    picked = np.asarray(input._array[items], order="C")
    return result(picked, input._dtype, "Index", (input,), backward)


def _check_shapes_of_arrays(items: tuple[Any, ...]) -> None:
    shapes = [
        one.shape
        for item in items
        if isinstance(item, np.ndarray)
        for one in (np.nonzero(item) if item.dtype == bool else (item,))
    ]
    if shapes and cannot_broadcast(*shapes):
        listed = " ".join(str(list(shape)) for shape in shapes).replace("] [", "], [")
        raise torch_error(
            IndexError,
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            f"{listed}",
        )


@operation(function=False)
def __setitem__(self: Tensor, index: Any, value: Any) -> None:  # noqa: N807
    """Put numbers at an index."""
    items = _read(index)
    _check(items, self._array.shape)
    if not isinstance(value, Tensor) and not is_number(value):
        kind = f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")
        raise torch_error(
            TypeError, f"can't assign a {kind} to a torch.{self._dtype.type_name}Tensor"
        )
    if _is_basic(items):
        target = part(self, items, "Slice")
        if isinstance(value, Tensor):
            change(target, lambda old: _copied_into(old, value))
        else:
            change(target, lambda old: _filled(old, value))
        return
    first, rest = _in_two_steps(items)
    change(part(self, first, "Slice"), lambda old: put(old, rest, value))


def _filled(old: Tensor, value: Any) -> Tensor:
    numbers = np.full(old._array.shape, converted(np.asarray(value), old._dtype))
    return result(numbers, old._dtype, "Fill", (old,), lambda g: (np.zeros_like(g),))


def _copied_into(old: Tensor, source: Tensor) -> Tensor:
    """The source in the shape and dtype of `old`; leading axes of length 1 may be left out."""
    from .pointwise import cast
    from .shapes import expand, reshape

    shape = source._array.shape
    while len(shape) > old.ndim and shape[0] == 1:
        shape = shape[1:]
    if shape != source._array.shape:
        source = reshape(source, shape)
    spread = expand(cast(source, old._dtype), *old.shape)
    return result(spread._array, old._dtype, "Copy", (old, spread), lambda g: (np.zeros_like(g), g))


def _all_arrays(items: tuple[Any, ...]) -> bool:
    return all(isinstance(item, np.ndarray) for item in items)


def put(old: Tensor, items: tuple[Any, ...], value: Any, add: bool = False) -> Tensor:
    """`old` with the value where arrays and masks say, or with the value added there."""
    _check_shapes_of_arrays(items)
    one_mask = len(items) == 1 and items[0].dtype == bool if _all_arrays(items) else False
    if (
        isinstance(value, Tensor)
        and value._dtype is not old._dtype
        and (value.ndim or not one_mask)
    ):
        raise torch_error(
            RuntimeError,
            "Index put requires the source and destination dtypes match, got "
            f"{old._dtype.type_name} for the destination and {value._dtype.type_name} for the "
            "source.",
        )
    goal = old._array[items].shape
    numbers = old._array.copy()
    source = value if isinstance(value, Tensor) else wrap(converted(np.asarray(value), old._dtype))
    try:
        spread = np.broadcast_to(converted(source._array, old._dtype), goal)
    except ValueError:
        raise torch_error(
            RuntimeError,
            f"shape mismatch: value tensor of shape {list(source._array.shape)} cannot be "
            f"broadcast to indexing result of shape {list(goal)}",
        ) from None
    if add:
        np.add.at(numbers, items, spread)
    else:
        numbers[items] = spread

    def backward(g: Array) -> Sequence[Array]:
        of_old = np.array(g)
        if not add:
            of_old[items] = 0
        return of_old, g[items]

    return result(numbers, old._dtype, "IndexPut", (old, value), backward)


@operation(function=False)
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> Tensor:
    """Put numbers, or add them, where the index tensors say."""
    items = _read(tuple(indices))
    _check(items, self._array.shape)
    return change(self, lambda old: put(old, items, values, accumulate))


# Along one axis.


def _places(name: str, index: Any, position: int = 3) -> Tensor:
    if not isinstance(index, Tensor):
        raise must_be_tensor(name, "index", position, index)
    return index


@operation()
def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices along an axis whose numbers are listed."""
    axis, places = axis_of(dim, input.ndim), _places("index_select", index)
    if places._dtype.name not in ("int64", "int32"):
        raise torch_error(RuntimeError, "index_select(): Expected dtype int32 or int64 for index")
    if places.ndim > 1:
        raise torch_error(IndexError, "index_select(): Index is supposed to be a vector")
    length = input._array.shape[axis]
    wrong = places._array[(places._array < 0) | (places._array >= length)]
    if wrong.size:
        raise torch_error(
            RuntimeError,
            f"INDICES element is out of DATA bounds, id={wrong[0]} axis_dim={length}",
        )
    return taken(input, axis, places._array.reshape(-1), "IndexSelect")


def _grid(index: Tensor, axis: int) -> tuple[Array, ...]:
    """The places of all entries of an index tensor, with its numbers on the one axis."""
    grid: list[Array] = list(np.indices(index._array.shape, sparse=True))
    grid[axis] = index._array
    return tuple(grid)


def _check_along(name: str, input: Tensor, axis: int, index: Tensor) -> None:
    if index._dtype.name not in ("int64", "int32"):
        raise torch_error(RuntimeError, f"{name}(): Expected dtype int32/int64 for index")
    if max(index.ndim, 1) != max(input.ndim, 1):
        raise torch_error(
            RuntimeError,
            "Index tensor must have the same number of dimensions as input tensor"
            if name == "gather"
            else "Index tensor must have the same number of dimensions as self tensor",
        )
    for k, (length, of) in enumerate(zip(index._array.shape, input._array.shape, strict=False)):
        if k != axis and length > of:
            raise torch_error(
                RuntimeError,
                f"Size does not match at dimension {k} expected index {list(index._array.shape)} "
                f"to be no larger than self {list(input._array.shape)} apart from dimension {axis}",
            )
    length = input._array.shape[axis] if input.ndim else 1
    wrong = index._array[(index._array < 0) | (index._array >= length)]
    if wrong.size:
        raise torch_error(
            RuntimeError,
            f"index {wrong[0]} is out of bounds for dimension {axis} with size {length}",
        )


@operation()
def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """For every entry of the index tensor, the entry there along the axis."""
    axis = axis_of(dim, input.ndim)
    _check_along("gather", input, axis, _places("gather", index))
    places = _grid(index, axis)

    def backward(g: Array) -> Sequence[Array]:
        whole = np.zeros(input._array.shape, g.dtype)
        np.add.at(whole, places, g)
        return (whole,)

    picked = np.asarray(input._array[places], order="C")
    return result(picked, input._dtype, "Gather", (input,), backward, (index,))


@operation()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    """As `gather`, where the other axes are broadcast."""
    from .shapes import expand, reshape

    if dim is None:
        return gather(reshape(input, -1), 0, reshape(indices, -1))
    axis = axis_of(dim, input.ndim)
    shapes = []
    for one in (input, indices):
        shapes.append([1 if k == axis else n for k, n in enumerate(one._array.shape)])
    if problem := cannot_broadcast(*map(tuple, shapes)):
        raise problem
    shape = list(np.broadcast_shapes(*map(tuple, shapes)))
    lengths = [one._array.shape[axis] for one in (input, indices)]
    whole, places = (
        expand(one, *shape[:axis], length, *shape[axis + 1 :])
        for one, length in zip((input, indices), lengths, strict=True)
    )
    return gather(whole, axis, places)


def _scattered(name: str, input: Tensor, dim: int, index: Tensor, source: Any, add: bool) -> Tensor:
    axis = axis_of(dim, input.ndim)
    _check_along(name, input, axis, _places(name, index))
    places = _grid(index, axis)
    numbers = input._array.copy()
    used = tuple(slice(0, n) for n in index._array.shape)
    if isinstance(source, Tensor):
        if source._dtype is not input._dtype:
            raise torch_error(
                RuntimeError, "scatter(): Expected self.dtype to be equal to src.dtype"
            )
        put_there = source._array[used]
    else:
        put_there = converted(np.asarray(source), input._dtype)
    if add:
        np.add.at(numbers, places, put_there)
    else:
        numbers[places] = put_there

    def backward(g: Array) -> Sequence[Array | None]:
        of_input = np.array(g)
        if not add:
            of_input[places] = 0
        if not isinstance(source, Tensor):
            return of_input, None
        of_source = np.zeros(source._array.shape, g.dtype)
        of_source[used] = g[places]
        return of_input, of_source

    return result(numbers, input._dtype, "Scatter", (input, source), backward, (index,))


@operation()
def scatter(input: Tensor, dim: int, index: Tensor, src: Any = None, value: Any = None) -> Tensor:
    """With the entries of `src`, or one value, at the places that the index tensor lists."""
    return _scattered("scatter", input, dim, index, value if src is None else src, add=False)


@operation()
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """With the entries of `src` added at the places that the index tensor lists."""
    return _scattered("scatter_add", input, dim, index, src, add=True)


def _slices(input: Tensor, dim: int, index: Tensor) -> tuple[Any, ...]:
    return (slice(None),) * axis_of(dim, input.ndim) + (index._array.reshape(-1),)


@operation()
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Any = 1) -> Tensor:
    """With slices added along an axis."""
    if source._dtype is not input._dtype:
        raise torch_error(
            RuntimeError,
            f"index_add_(): self ({input._dtype.type_name}) and source "
            f"({source._dtype.type_name}) must have the same scalar type",
        )
    return put(input, _slices(input, dim, index), source * alpha, add=True)


@operation()
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """With slices put along an axis."""
    if source._dtype is not input._dtype:
        raise torch_error(
            RuntimeError,
            "index_copy_(): self and source expected to have the same dtype, but got (self) "
            f"{input._dtype.type_name} and (source) {source._dtype.type_name}",
        )
    return put(input, _slices(input, dim, index), source)


@operation()
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """With one value in all slices that are listed."""
    return put(input, _slices(input, dim, index), value)


@operation()
def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """The entries where the mask is True, along one axis."""
    if mask._dtype is not bool_:
        raise torch_error(RuntimeError, "masked_select: expected BoolTensor for mask")
    fit(input, mask)
    from .shapes import broadcast_tensors

    whole, chosen = broadcast_tensors(input, mask)
    return _picked(whole, (chosen._array,))


@operation()
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """With the entries of `source`, one after the other, where the mask is True."""
    from .shapes import reshape

    if source._dtype is not input._dtype:
        raise torch_error(
            RuntimeError,
            "masked_scatter: expected self and source to have same dtypes but got"
            f"{input._dtype.type_name} and {source._dtype.type_name}",
        )
    chosen = np.broadcast_to(mask._array, input._array.shape)
    count = int(chosen.sum())
    return put(input, (chosen,), part(reshape(source, -1), (slice(0, count),), "Slice"))


@operation()
def take(input: Tensor, index: Tensor) -> Tensor:
    """Entries by their numbers among all."""
    from .shapes import reshape

    return _picked(reshape(input, -1), (index._array,))


@operation()
def nonzero(input: Tensor, *, as_tuple: bool = False) -> Any:
    """The places of the entries that are not 0."""
    if as_tuple:
        return tuple(wrap(np.ascontiguousarray(places)) for places in np.nonzero(input._array))
    return wrap(np.argwhere(input._array))


@operation()
def argwhere(input: Tensor) -> Tensor:
    """The places of the entries that are not 0, one a row."""
    return wrap(np.argwhere(input._array))
