"""The same numbers in another shape, and several tensors joined or one taken apart."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .dtypes import Array, Size, as_places, dtype, promote_types
from .errors import axis_of, cannot_broadcast, torch_error
from .operations import operation
from .tensor import Tensor, result, view, wrap


def sizes_of(name: str, given: Sequence[Any], argument: str = "size") -> tuple[int, ...]:
    """Lengths that are given one by one or as one tuple."""
    one_tuple = len(given) == 1 and isinstance(given[0], (tuple, list))
    sizes = []
    for place, size in enumerate(given[0] if one_tuple else given):
        number = getattr(size, "__index__", None)
        if number is None or (isinstance(size, Tensor) and size.ndim):
            if place and isinstance(size, (float, Tensor)):
                raise torch_error(
                    TypeError,
                    f"{name}(): argument '{argument}' failed to unpack the object at pos "
                    f'{place + 1} with error "type must be tuple of ints,but got '
                    f'{type(size).__name__}"',
                )
            what = (
                f"tuple of ints, but found element of type {type(size).__name__} at pos {place}"
                if one_tuple or place
                else f"tuple of ints, not {type(size).__name__}"
            )
            raise torch_error(
                TypeError, f"{name}(): argument '{argument}' (position 1) must be {what}"
            )
        sizes.append(int(number()))
    return tuple(sizes)


def _axes(given: Any, rank: int) -> tuple[int, ...]:
    """One axis or several, counted from the front."""
    listed = given if isinstance(given, (tuple, list)) else (given,)
    return tuple(axis_of(one, rank) for one in listed)


def _complete(shape: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The shape with its -1 worked out."""
    wrong = torch_error(RuntimeError, f"shape '{list(shape)}' is invalid for input of size {count}")
    if shape.count(-1) > 1:
        raise torch_error(RuntimeError, "only one dimension can be inferred")
    for place, size in enumerate(shape):
        if size < -1:
            raise torch_error(
                RuntimeError,
                f"invalid shape dimension {size} at index {place} of shape {list(shape)}",
            )
    known = math.prod(size for size in shape if size != -1)
    if -1 not in shape:
        if known != count:
            raise wrong
        return shape
    if known == 0 and count == 0:
        raise torch_error(
            RuntimeError,
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous",
        )
    if known == 0 or count % known:
        raise wrong
    return tuple(count // known if size == -1 else size for size in shape)


def _reshaped(input: Tensor, shape: tuple[int, ...], must_share: bool = False) -> Tensor:
    before = input._array
    after = before.reshape(shape)

    def backward(g: Array) -> Sequence[Array]:
        return (g.reshape(before.shape),)

    if before.size == 0 or np.may_share_memory(before, after):
        return view(after, input, "View", backward)
    if must_share:
        raise torch_error(
            RuntimeError,
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead.",
        )
    return result(after, input._dtype, "UnsafeView", (input,), backward)


@operation()
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """The same entries in their order, in another shape; copied where they must be."""
    return _reshaped(input, _complete(sizes_of("reshape", shape, "shape"), input._array.size))


@operation("view", function=False)
def viewed(self: Tensor, *size: Any) -> Tensor:
    """The same memory in another shape."""
    if len(size) == 1 and isinstance(size[0], dtype):
        made = wrap(self._array.view(size[0].storage), size[0])
        made._memory = self._memory
        return made
    return _reshaped(self, _complete(sizes_of("view", size), self._array.size), must_share=True)


@operation(function=False)
def view_as(self: Tensor, other: Tensor) -> Tensor:
    """The same memory in the shape of another tensor."""
    return viewed(self, *other.shape)


@operation(function=False)
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    """The same entries in the shape of another tensor."""
    return reshape(self, *other.shape)


def ordered(input: Tensor, order: Sequence[int]) -> Tensor:
    """The axes in another order."""
    back = tuple(int(place) for place in np.argsort(order))
    return view(input._array.transpose(order), input, "Permute", lambda g: (g.transpose(back),))


@operation("transpose", "swapaxes", "swapdims")
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Two axes exchanged."""
    a, b = axis_of(dim0, input.ndim), axis_of(dim1, input.ndim)
    order = list(range(input.ndim))
    if order:
        order[a], order[b] = order[b], order[a]
    return ordered(input, order)


@operation()
def t(input: Tensor) -> Tensor:
    """A matrix transposed; a vector as it is."""
    if input.ndim > 2:
        raise torch_error(
            RuntimeError, f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D"
        )
    return ordered(input, tuple(reversed(range(input.ndim))))


@operation()
def permute(input: Tensor, *dims: Any) -> Tensor:
    """The axes in the order that is named."""
    given = sizes_of("permute", dims, "dims")
    if len(given) != input.ndim:
        raise torch_error(
            RuntimeError,
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            "length of the desired ordering of dimensions i.e. input.dim() = "
            f"{input.ndim} is not equal to len(dims) = {len(given)}",
        )
    order = [axis_of(one, input.ndim) for one in given]
    if len(set(order)) != len(order):
        raise torch_error(RuntimeError, "permute(): duplicate dims are not allowed.")
    return ordered(input, order)


@operation("movedim", "moveaxis")
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """Axes moved to other places."""
    origin, goal = _axes(source, input.ndim), _axes(destination, input.ndim)
    order = [axis for axis in range(input.ndim) if axis not in origin]
    for place, axis in sorted(zip(goal, origin, strict=True)):
        order.insert(place, axis)
    return ordered(input, order)


@operation()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """A new axis of length 1."""
    place = axis_of(dim, input.ndim + 1)
    shape = input._array.shape
    return view(
        np.expand_dims(input._array, place), input, "Unsqueeze", lambda g: (g.reshape(shape),)
    )


@operation()
def squeeze(input: Tensor, dim: Any = None) -> Tensor:
    """Without the axes of length 1, or without those that are named."""
    shape = input._array.shape
    among = range(len(shape)) if dim is None else _axes(dim, len(shape))
    gone = tuple(axis for axis in among if shape and shape[axis] == 1)
    return view(input._array.squeeze(gone), input, "Squeeze", lambda g: (g.reshape(shape),))


@operation()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Several neighbouring axes as one."""
    shape = input._array.shape
    if not shape:
        return _reshaped(input, (1,))
    first, last = axis_of(start_dim, len(shape)), axis_of(end_dim, len(shape))
    if first > last:
        raise torch_error(
            RuntimeError, "flatten() has invalid args: start_dim cannot come after end_dim"
        )
    joined = math.prod(shape[first : last + 1])
    return _reshaped(input, (*shape[:first], joined, *shape[last + 1 :]))


@operation()
def ravel(input: Tensor) -> Tensor:
    """All entries along one axis."""
    return _reshaped(input, (input._array.size,))


@operation()
def unflatten(input: Tensor, dim: int, sizes: Any) -> Tensor:
    """One axis as several."""
    shape = input._array.shape
    axis = axis_of(dim, len(shape))
    parts = sizes_of("unflatten", (sizes,), "sizes")
    known = math.prod(size for size in parts if size != -1)
    if (known == 0 or shape[axis] % known) if -1 in parts else known != shape[axis]:
        raise torch_error(
            RuntimeError,
            f"unflatten: Provided sizes {list(parts)} don't multiply up to the size of dim "
            f"{axis} ({shape[axis]}) in the input tensor",
        )
    parts = tuple(shape[axis] // known if size == -1 else size for size in parts)
    return _reshaped(input, (*shape[:axis], *parts, *shape[axis + 1 :]))


@operation(function=False)
def expand(self: Tensor, *size: Any) -> Tensor:
    """Axes of length 1 seen as longer ones, without a copy."""
    goal, shape = list(sizes_of("expand", size)), self._array.shape
    extra = len(goal) - len(shape)
    if extra < 0:
        raise torch_error(
            RuntimeError,
            f"expand(torch.{self._dtype.type_name}Tensor{{{list(shape)}}}, size={goal}): the "
            f"number of sizes provided ({len(goal)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({len(shape)})",
        )
    asked = list(goal)
    steps = list(self._array.strides)
    for axis in reversed(range(len(goal))):
        length = shape[axis - extra] if axis >= extra else 1
        if goal[axis] == -1 and axis < extra:
            raise torch_error(
                RuntimeError,
                "The expanded size of the tensor (-1) isn't allowed in a leading, non-existing "
                f"dimension {axis}",
            )
        goal[axis] = length if goal[axis] == -1 else goal[axis]
        if axis < extra:
            steps.insert(0, 0)
        elif length == 1 and goal[axis] != 1:
            steps[axis - extra] = 0
        elif length != goal[axis]:
            raise torch_error(
                RuntimeError,
                f"The expanded size of the tensor ({goal[axis]}) must match the existing size "
                f"({length}) at non-singleton dimension {axis}.  Target sizes: {asked}.  Tensor "
                f"sizes: {list(shape)}",
            )
    array = as_strided(self._array, goal, steps)
    return view(array, self, "Expand", lambda g: (g,))


@operation("broadcast_to")
def broadcast_to(input: Tensor, *size: Any) -> Tensor:
    """The same as `expand`."""
    return expand(input, *size)


@operation(function=False)
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    """Expanded to the shape of another tensor."""
    return expand(self, *other.shape)


def broadcast_shape(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that these are broadcast to, or PyTorch's complaint."""
    if problem := cannot_broadcast(*map(tuple, shapes)):
        raise problem
    return np.broadcast_shapes(*map(tuple, shapes))


@operation(method=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that these are broadcast to."""
    if cannot_broadcast(*map(tuple, shapes)):
        raise torch_error(
            RuntimeError,
            "Shape mismatch: objects cannot be broadcast to a single shape",
        )
    return Size(np.broadcast_shapes(*map(tuple, shapes)))


@operation(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """All expanded to one shape."""
    listed = _listed(tensors)
    shape = broadcast_shape(*(one.shape for one in listed))
    return tuple(expand(one, *shape) for one in listed)


def _listed(tensors: Sequence[Any]) -> Sequence[Tensor]:
    """Tensors that are given one by one or as one list."""
    one_list = len(tensors) == 1 and isinstance(tensors[0], (tuple, list))
    return tensors[0] if one_list else tensors  # type: ignore[no-any-return]


@operation(function=False)
def contiguous(self: Tensor) -> Tensor:
    """The entries in memory in their order; itself where they lie so."""
    if self._array.flags["C_CONTIGUOUS"]:
        return self
    return result(np.ascontiguousarray(self._array), self._dtype, "Clone", (self,), lambda g: (g,))


@operation(function=False)
def repeat(self: Tensor, *repeats: Any) -> Tensor:
    """The whole tensor laid side by side along its axes."""
    times, shape = sizes_of("repeat", repeats, "repeats"), self._array.shape
    if len(times) < len(shape):
        raise torch_error(
            RuntimeError,
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of "
            "tensor",
        )
    full = (1,) * (len(times) - len(shape)) + shape

    def backward(g: Array) -> Sequence[Array]:
        pairs = [size for pair in zip(times, full, strict=True) for size in pair]
        return (g.reshape(pairs).sum(tuple(range(0, 2 * len(times), 2))).reshape(shape),)

    tiled = np.tile(self._array.reshape(full), times)
    return result(tiled, self._dtype, "Repeat", (self,), backward)


@operation()
def tile(input: Tensor, *dims: Any) -> Tensor:
    """As `repeat`, where missing axes are not repeated."""
    times = sizes_of("tile", dims, "dims")
    return repeat(input, (1,) * (input.ndim - len(times)) + times)


@operation()
def repeat_interleave(input: Tensor, repeats: Any, dim: int | None = None) -> Tensor:
    """Every entry along an axis several times, one after the other."""
    flat = _reshaped(input, (input._array.size,)) if dim is None else input
    axis = 0 if dim is None else axis_of(dim, flat.ndim)
    times = repeats._array if isinstance(repeats, Tensor) else repeats
    length = flat._array.shape[axis]
    if np.ndim(times) and np.size(times) not in (1, length):
        raise torch_error(
            RuntimeError,
            "repeats must have the same size as input along dim, but got "
            f"repeats.size(0) = {np.size(times)} and input.size({axis}) = {length}",
        )
    return taken(
        flat, axis, np.repeat(np.arange(length), as_places(np.asarray(times))), "RepeatInterleave"
    )


def taken(input: Tensor, axis: int, places: Array, name: str) -> Tensor:
    """The entries at these places along an axis."""

    def backward(g: Array) -> Sequence[Array]:
        whole = np.zeros(input._array.shape, g.dtype)
        np.add.at(np.moveaxis(whole, axis, 0), places, np.moveaxis(g, axis, 0))
        return (whole,)

    return result(
        np.take(input._array, as_places(places), axis), input._dtype, name, (input,), backward
    )


@operation()
def flip(input: Tensor, *dims: Any) -> Tensor:
    """The order along the axes turned around."""
    axes = _axes(sizes_of("flip", dims, "dims"), input.ndim)
    numbers = np.flip(input._array, axes).copy(order="K")
    return result(numbers, input._dtype, "Flip", (input,), lambda g: (np.flip(g, axes),))


@operation()
def fliplr(input: Tensor) -> Tensor:
    """The second axis turned around."""
    return flip(input, 1)


@operation()
def flipud(input: Tensor) -> Tensor:
    """The first axis turned around."""
    return flip(input, 0)


@operation()
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A quarter turn, `k` times."""
    a, b = dims
    numbers = _turned(input._array, k % 4, axis_of(a, input.ndim), axis_of(b, input.ndim))
    return result(numbers, input._dtype, "Rot90", (input,), lambda g: (np.rot90(g, -k, (a, b)),))


def _turned(array: Array, k: int, a: int, b: int) -> Array:
    """As PyTorch does it: turned around, and then two axes exchanged."""
    if k == 0:
        return array.copy()
    around = ((), (b,), (a, b), (a,))[k]
    flipped = np.flip(array, around).copy(order="K")
    return np.swapaxes(flipped, a, b) if k % 2 else flipped


@operation()
def roll(input: Tensor, shifts: Any, dims: Any = None) -> Tensor:
    """The entries moved along an axis; those that leave come in on the other side."""
    axes = None if dims is None else _axes(dims, input.ndim)
    steps = tuple(shifts) if isinstance(shifts, (tuple, list)) else (shifts,)
    if axes is None:
        steps = (steps[0],)
    elif len(steps) != len(axes):
        raise torch_error(
            RuntimeError,
            f"shifts and dimensions must align. shifts: {len(steps)}, dims:{len(axes)}",
        )

    def rolled(array: Array, sign: int) -> Array:
        moves = tuple(sign * step for step in steps)
        return np.roll(array, moves[0], None) if axes is None else np.roll(array, moves, axes)

    numbers = np.asarray(rolled(input._array, 1), order="C")
    return result(numbers, input._dtype, "Roll", (input,), lambda g: (rolled(g, -1),))


# Joining.


@operation("cat", "concat", "concatenate", method=False)
def cat(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors joined along an axis that they have."""
    listed = _all_tensors("cat", tensors)
    if not listed:
        raise torch_error(ValueError, "torch.cat(): expected a non-empty list of Tensors")
    for place, one in enumerate(listed):
        if one.ndim == 0:
            raise torch_error(
                RuntimeError,
                f"zero-dimensional tensor (at position {place}) cannot be concatenated",
            )
    kind = listed[0]._dtype
    for one in listed[1:]:
        kind = promote_types(kind, one._dtype)
    joined = [one for one in listed if one._array.shape != (0,)] or listed[:1]
    shape = joined[0]._array.shape
    axis = axis_of(dim, len(shape))
    for place, one in enumerate(joined):
        if one.ndim != len(shape):
            raise torch_error(
                RuntimeError,
                f"Tensors must have same number of dimensions: got {len(shape)} and {one.ndim}",
            )
        for k, (length, other) in enumerate(zip(shape, one._array.shape, strict=True)):
            if length != other and k != axis:
                raise torch_error(
                    RuntimeError,
                    f"Sizes of tensors must match except in dimension {axis}. Expected size "
                    f"{length} but got size {other} for tensor number {place} in the list.",
                )
    borders = np.cumsum([one._array.shape[axis] for one in joined])[:-1]
    numbers = np.concatenate([one._array.astype(kind.storage, copy=False) for one in joined], axis)
    return result(
        np.ascontiguousarray(numbers), kind, "Cat", joined, lambda g: np.split(g, borders, axis)
    )


def _all_tensors(name: str, tensors: Any) -> list[Tensor]:
    if not isinstance(tensors, (tuple, list)):
        raise torch_error(
            TypeError,
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not "
            f"{type(tensors).__name__}",
        )
    listed = list(tensors)
    for place, one in enumerate(listed):
        if not isinstance(one, Tensor):
            raise torch_error(
                TypeError,
                f"expected Tensor as element {place} in argument 0, but got {type(one).__name__}",
            )
    return listed


@operation(method=False)
def stack(tensors: Any, dim: int = 0) -> Tensor:
    """Tensors of one shape laid along a new axis."""
    listed = _all_tensors("stack", tensors)
    if not listed:
        raise torch_error(RuntimeError, "stack expects a non-empty TensorList")
    shape = listed[0]._array.shape
    for place, one in enumerate(listed):
        if one._array.shape != shape:
            raise torch_error(
                RuntimeError,
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(one._array.shape)} at entry {place}",
            )
    axis = axis_of(dim, len(shape) + 1)
    return cat([unsqueeze(one, axis) for one in listed], axis)


@operation(method=False)
def hstack(tensors: Any) -> Tensor:
    """Joined along the second axis; vectors along their one."""
    listed = [one if one.ndim else _reshaped(one, (1,)) for one in _all_tensors("hstack", tensors)]
    return cat(listed, 0 if listed and listed[0].ndim == 1 else 1)


@operation(method=False)
def vstack(tensors: Any) -> Tensor:
    """Joined along the first axis; vectors are rows."""
    return cat([_at_least(one, 2) for one in _all_tensors("vstack", tensors)], 0)


@operation(method=False)
def dstack(tensors: Any) -> Tensor:
    """Joined along the third axis, which they get where they have none."""
    listed = [_at_least(one, 2) for one in _all_tensors("dstack", tensors)]
    return cat([unsqueeze(one, 2) if one.ndim == 2 else one for one in listed], 2)


@operation(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All pairs, triples, ... of entries of vectors, one a row."""
    for one in tensors:
        if one.ndim != 1:
            raise torch_error(
                RuntimeError, f"Expect a 1D vector, but got shape {list(one._array.shape)}"
            )
    if len(tensors) == 1:
        return tensors[0]  # type: ignore[no-any-return]
    grids = meshgrid(*tensors)
    return stack([_reshaped(one, (one._array.size,)) for one in grids], 1)


@operation(method=False)
def column_stack(tensors: Any) -> Tensor:
    """Joined along the second axis; vectors are columns."""
    return cat(
        [
            one if one.ndim > 1 else _reshaped(one, (-1, 1))
            for one in _all_tensors("column_stack", tensors)
        ],
        1,
    )


def _at_least(one: Tensor, rank: int) -> Tensor:
    return _reshaped(one, (1,) * (rank - one.ndim) + one._array.shape) if one.ndim < rank else one


@operation(method=False)
def atleast_1d(input: Tensor) -> Tensor:
    """With one axis where it had none."""
    return _at_least(input, 1)


@operation(method=False)
def atleast_2d(input: Tensor) -> Tensor:
    """With leading axes of length 1 until there are two."""
    return _at_least(input, 2)


@operation(method=False)
def block_diag(*tensors: Tensor) -> Tensor:
    """Matrices along the diagonal of a larger one of zeros."""
    blocks = [_at_least(one, 2) for one in _listed(tensors)]
    kind = blocks[0]._dtype
    for one in blocks[1:]:
        kind = promote_types(kind, one._dtype)
    corners = [(0, 0)]
    for one in blocks:
        height, width = one._array.shape
        corners.append((corners[-1][0] + height, corners[-1][1] + width))
    places = [(slice(a, c), slice(b, d)) for (a, b), (c, d) in pairwise(corners)]
    numbers = np.zeros(corners[-1], kind.storage)
    for place, one in zip(places, blocks, strict=True):
        numbers[place] = one._array
    return result(numbers, kind, "BlockDiag", blocks, lambda g: [g[place] for place in places])


# Taking apart.


@operation(method=False)
def split(input: Tensor, split_size_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """Parts of one length, or of the lengths that are listed."""
    axis = axis_of(dim, input.ndim)
    length, wanted = input._array.shape[axis], split_size_or_sections
    if isinstance(wanted, (list, tuple)):
        sizes = [int(one) for one in wanted]
        if sum(sizes) != length:
            raise torch_error(
                RuntimeError,
                f"split_with_sizes expects split_sizes to sum exactly to {length} (input tensor's "
                f"size at dimension {axis}), but got split_sizes={sizes}",
            )
    else:
        if isinstance(wanted, float):
            raise torch_error(
                TypeError,
                "split_with_sizes(): argument 'split_sizes' (position 2) must be tuple of ints, "
                "not float",
            )
        size = int(wanted)
        if size == 0 and length:
            raise torch_error(
                RuntimeError,
                "split_size can only be 0 if dimension size is 0, but got dimension size of "
                f"{length}",
            )
        sizes = [min(size, length - start) for start in range(0, length, size)] if length else [0]
    starts = np.cumsum([0, *sizes])
    return tuple(
        narrow(input, axis, int(start), size) for start, size in zip(starts, sizes, strict=False)
    )


@operation("split", function=False)
def _split_method(self: Tensor, split_size: Any, dim: int = 0) -> tuple[Tensor, ...]:
    return split(self, split_size, dim)  # type: ignore[no-any-return]


@operation()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most so many parts, of one length."""
    length = input._array.shape[axis_of(dim, input.ndim)]
    if chunks < 1:
        raise torch_error(
            RuntimeError, f"chunk expects `chunks` to be greater than 0, got: {chunks}"
        )
    return split(input, max(1, -(-length // chunks)), dim)


@operation()
def tensor_split(input: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Tensor, ...]:
    """So many parts, nearly of one length, or cut at the places that are listed."""
    axis = axis_of(dim, input.ndim)
    length, wanted = input._array.shape[axis], indices_or_sections
    if isinstance(wanted, int):
        sizes = [length // wanted + (k < length % wanted) for k in range(wanted)]
        return split(input, sizes, axis)
    borders = [0, *(min(int(cut), length) for cut in wanted), length]
    return split(input, [b - a for a, b in pairwise(borders)], axis)


@operation()
def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """All slices along an axis."""
    axis = axis_of(dim, input.ndim)
    return tuple(select(input, axis, place) for place in range(input._array.shape[axis]))


@operation()
def narrow(input: Tensor, dim: int, start: Any, length: int) -> Tensor:
    """A stretch of an axis."""
    axis, first = axis_of(dim, input.ndim), int(start)
    size = input._array.shape[axis]
    first += size if first < 0 else 0
    if length < 0 or first + length > size:
        raise torch_error(
            RuntimeError, f"start ({first}) + length ({length}) exceeds dimension size ({size})."
        )
    return part(input, (slice(None),) * axis + (slice(first, first + length),), "Slice")


@operation()
def select(input: Tensor, dim: int, index: Any) -> Tensor:
    """One slice along an axis."""
    axis, place = axis_of(dim, input.ndim), int(index)
    if not -input._array.shape[axis] <= place < input._array.shape[axis]:
        raise torch_error(
            IndexError,
            f"select(): index {place} out of range for tensor of size {list(input._array.shape)} "
            f"at dimension {axis}",
        )
    return part(input, (slice(None),) * axis + (place,), "Select")


def part(input: Tensor, index: tuple[Any, ...], name: str) -> Tensor:
    """A view of what an index of whole numbers, slices and new axes names."""
    array = input._array
    if Ellipsis not in index:
        index = (*index, Ellipsis)  # else NumPy gives a number for a single entry, and no view

    def backward(g: Array) -> Sequence[Array]:
        whole = np.zeros(array.shape, g.dtype)
        whole[index] = g
        return (whole,)

    return view(array[index], input, name, backward)


@operation(function=False)
def unfold(self: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """Windows along an axis, their entries along a new last axis."""
    axis = axis_of(dimension, self.ndim)
    array = self._array
    count = (array.shape[axis] - size) // step + 1
    shape = (*array.shape[:axis], count, *array.shape[axis + 1 :], size)
    steps = list(array.strides)
    windows = [*steps[:axis], steps[axis] * step, *steps[axis + 1 :], steps[axis]]

    def backward(g: Array) -> Sequence[Array]:
        whole = np.moveaxis(np.zeros(array.shape, g.dtype), axis, -1)
        parts = np.moveaxis(g, axis, -2)
        for k in range(count):
            whole[..., k * step : k * step + size] += parts[..., k, :]
        return (np.moveaxis(whole, -1, axis),)

    return view(as_strided(array, shape, windows), self, "Unfold", backward)


# Triangles and diagonals.


def _triangle(name: str) -> None:
    operation(name, method=False)(_triangle_at(name, 2))
    operation(name, function=False)(_triangle_at(name, 1))


def _triangle_at(name: str, position: int) -> Callable[..., Tensor]:
    """position: which argument the diagonal is."""
    numpys = getattr(np, name)

    def function(input: Tensor, diagonal: Any = 0) -> Tensor:
        offset = _whole(diagonal)
        if offset is None:
            raise torch_error(
                TypeError,
                f"{name}(): argument 'diagonal' (position {position}) must be int, not "
                f"{type(diagonal).__name__}",
            )
        if input.ndim < 2:
            raise torch_error(RuntimeError, f"{name}: input tensor must have at least 2 dimensions")
        numbers = numpys(input._array, offset)
        return result(numbers, input._dtype, name.title(), (input,), lambda g: (numpys(g, offset),))

    return function


def _whole(given: Any) -> int | None:
    """A whole number, also as a tensor of one; None where it is none."""
    if isinstance(given, Tensor) and given._array.size == 1 and given._dtype.category == 1:
        return int(given._array.item())
    whole = isinstance(given, (int, np.integer)) and not isinstance(given, bool)
    return int(given) if whole else None


_triangle("tril")
_triangle("triu")


@operation(method=False)
def tril_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Where the lower triangle lies: rows and columns."""
    return wrap(np.array(np.tril_indices(row, offset, col)))


@operation(method=False)
def triu_indices(row: int, col: int, offset: int = 0) -> Tensor:
    """Where the upper triangle lies: rows and columns."""
    return wrap(np.array(np.triu_indices(row, offset, col)))


@operation()
def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """The entries on a diagonal, along a new last axis."""
    a, b = axis_of(dim1, input.ndim), axis_of(dim2, input.ndim)
    if a == b:
        raise torch_error(RuntimeError, f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    array = input._array

    def on_diagonal(of: Array) -> Array:
        corner = np.moveaxis(of, (a, b), (-2, -1))[..., max(-offset, 0) :, max(offset, 0) :]
        length, steps = min(corner.shape[-2:]), corner.strides
        return as_strided(
            corner, (*corner.shape[:-2], length), (*steps[:-2], steps[-2] + steps[-1])
        )

    def backward(g: Array) -> Sequence[Array]:
        whole = np.zeros(array.shape, g.dtype)
        on_diagonal(whole)[...] = g
        return (whole,)

    return view(on_diagonal(array), input, "Diagonal", backward)


@operation()
def diag_embed(input: Tensor, offset: int = 0) -> Tensor:
    """Vectors as the diagonals of matrices of zeros."""
    size = input._array.shape[-1] + abs(offset)
    places = np.arange(input._array.shape[-1])
    rows, columns = places + max(-offset, 0), places + max(offset, 0)
    numbers = np.zeros((*input._array.shape[:-1], size, size), input._array.dtype)
    numbers[..., rows, columns] = input._array
    return result(numbers, input._dtype, "DiagEmbed", (input,), lambda g: (g[..., rows, columns],))


@operation()
def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """A matrix's diagonal; of a vector, the matrix with this diagonal."""
    if input.ndim == 1:
        return diag_embed(input, diagonal)
    if input.ndim != 2:
        raise torch_error(RuntimeError, f"diag(): Supports 1D or 2D tensors. Got {input.ndim}D")
    return _diagonal_copied(input, diagonal)


@operation()
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix of zeros with all entries on its diagonal."""
    return diag_embed(_reshaped(input, (input._array.size,)), offset)


def _diagonal_copied(input: Tensor, offset: int) -> Tensor:
    from .pointwise import clone

    return clone(diagonal(input, offset))


@operation(method=False)
def meshgrid(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Every vector expanded along an axis of its own."""
    listed = _listed(tensors)
    if indexing == "xy" and len(listed) > 1:
        second, first, *others = meshgrid(listed[1], listed[0], *listed[2:])
        return first, second, *others
    shape = [one._array.size for one in listed]
    return tuple(
        expand(_reshaped(one, tuple(-1 if k == place else 1 for k in range(len(listed)))), *shape)
        for place, one in enumerate(listed)
    )


@operation("size", function=False)
def size(self: Tensor, dim: Any = None) -> Any:
    """The shape, or the length along one axis."""
    if dim is None:
        return self.shape
    if not isinstance(dim, (int, np.integer, Tensor)):
        raise torch_error(
            TypeError, f"size(): argument 'dim' must be int, not {type(dim).__name__}"
        )
    if not self.ndim:
        raise torch_error(IndexError, f"Dimension specified as {dim} but tensor has no dimensions")
    return self._array.shape[axis_of(dim, self.ndim)]
