"""Products of vectors, matrices and more: `matmul`, `einsum` and their kin."""

import functools
import math
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .dtypes import Array, bool_, promote_types
from .errors import NotInThisPage, axis_of, cannot_broadcast, must_be_tensor, torch_error
from .operations import METHODS, operation
from .pointwise import cast
from .shapes import diagonal, expand, movedim, ordered, reshape, unsqueeze
from .tensor import Tensor, result


def _need_tensor(name: str, other: Any, argument: str = "other", position: int = 2) -> None:
    if not isinstance(other, Tensor):
        raise must_be_tensor(name, argument, position, other)


def _need_one_dtype(a: Tensor, b: Tensor, rank: int) -> None:
    """Complain as the kernel does that takes operands of these numbers of axes."""
    if a._dtype is b._dtype:
        return
    if rank == 1:
        raise torch_error(
            RuntimeError,
            "dot : expected both vectors to have same dtype, but found "
            f"{a._dtype.type_name} and {b._dtype.type_name}",
        )
    if rank == 3:
        raise torch_error(
            RuntimeError,
            f"expected scalar type {a._dtype.type_name} but found {b._dtype.type_name}",
        )
    raise torch_error(
        RuntimeError,
        "expected m1 and m2 to have the same dtype, but got: "
        f"{a._dtype.c_name} != {b._dtype.c_name}",
    )


def _cannot_multiply(rows: int, inner: int, other: int, columns: int) -> Exception:
    return torch_error(
        RuntimeError,
        f"mat1 and mat2 shapes cannot be multiplied ({rows}x{inner} and {other}x{columns})",
    )


def _check_product(a: Tensor, b: Tensor) -> None:
    """Complain as PyTorch does of operands that cannot be multiplied."""
    m, n = a._array.shape, b._array.shape
    if not m or not n:
        raise torch_error(
            RuntimeError,
            f"both arguments to matmul need to be at least 1D, but they are {len(m)}D and "
            f"{len(n)}D",
        )
    if len(m) == len(n) == 1:
        _check_dot(a, b)
    elif len(n) == 1:
        _need_one_dtype(a, b, 2)
        rows = math.prod(m[:-1])
        if m[-1] != n[0]:
            raise torch_error(
                RuntimeError,
                f"size mismatch, got input ({rows}), mat ({rows}x{m[-1]}), vec ({n[0]})",
            )
    elif len(m) <= 2 or len(n) == 2:
        _check_folded(a, b)
    else:
        _check_batches(a, b)


def _check_dot(a: Tensor, b: Tensor) -> None:
    _need_one_dtype(a, b, 1)
    m, n = a._array.shape[0], b._array.shape[0]
    if m != n:
        raise torch_error(
            RuntimeError,
            f"inconsistent tensor size, expected tensor [{m}] and src [{n}] to have the same "
            f"number of elements, but got {m} and {n} elements respectively",
        )


def _check_folded(a: Tensor, b: Tensor) -> None:
    """One operand has at most two axes: the other's leading ones are folded into its rows."""
    m, n = a._array.shape, b._array.shape
    _need_one_dtype(a, b, 2)
    if len(n) == 2:
        if m[-1] != n[0]:
            raise _cannot_multiply(math.prod(m[:-1]), m[-1], n[0], n[1])
    elif m[-1] != n[-2]:  # PyTorch multiplies the transposed ones
        columns = math.prod(n[:-2]) * n[-1]
        if len(m) == 1:
            raise torch_error(
                RuntimeError,
                f"size mismatch, got input ({columns}), mat ({columns}x{n[-2]}), vec ({m[0]})",
            )
        raise _cannot_multiply(columns, n[-2], m[-1], m[0])


def _check_batches(a: Tensor, b: Tensor) -> None:
    m, n = a._array.shape, b._array.shape
    if problem := cannot_broadcast(m[:-2], n[:-2]):
        raise problem
    batch = math.prod(np.broadcast_shapes(m[:-2], n[:-2]))
    if m[-1] != n[-2]:
        raise torch_error(
            RuntimeError,
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{batch}, {m[-1]}] but got: [{batch}, {n[-2]}].",
        )
    _need_one_dtype(a, b, 3)


def _product(a: Tensor, b: Tensor) -> Tensor:
    x, y = a._array, b._array

    def backward(g: Array) -> Sequence[Array]:
        left = x[None, :] if x.ndim == 1 else x
        right = y[:, None] if y.ndim == 1 else y
        g = np.expand_dims(g, -1) if y.ndim == 1 else g
        g = np.expand_dims(g, -2) if x.ndim == 1 else g
        of_left = g @ np.conj(np.swapaxes(right, -1, -2))
        of_right = np.conj(np.swapaxes(left, -1, -2)) @ g
        return (
            of_left.sum(tuple(range(of_left.ndim - 1))) if x.ndim == 1 else of_left,
            of_right[..., 0].sum(tuple(range(of_right.ndim - 2))) if y.ndim == 1 else of_right,
        )

    return result(np.matmul(x, y), a._dtype, "Mm", (a, b), backward, (a, b))


@operation()
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The matrix product; of vectors the dot product; leading axes are broadcast."""
    _need_tensor("matmul", other)
    _check_product(input, other)
    if input._dtype is bool_:
        raise torch_error(NotImplementedError, "\"addmm_impl_cpu_\" not implemented for 'Bool'")
    return _product(input, other)


@operation()
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    _need_tensor("mm", mat2, "mat2")
    for name, one in (("self", input), ("mat2", mat2)):
        if one.ndim != 2:
            raise torch_error(RuntimeError, f"{name} must be a matrix")
    _check_product(input, mat2)
    return _product(input, mat2)


@operation()
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of two batches of matrices, without broadcasting."""
    _need_tensor("bmm", mat2, "mat2")
    for name, one in (("batch1", input), ("batch2", mat2)):
        if one.ndim != 3:
            raise torch_error(RuntimeError, f"{name} must be a 3D tensor")
    m, n = input._array.shape, mat2._array.shape
    if m[0] != n[0] or m[2] != n[1]:
        raise torch_error(
            RuntimeError,
            "Expected size for first two dimensions of batch2 tensor to be: "
            f"[{m[0]}, {m[2]}] but got: [{n[0]}, {n[1]}].",
        )
    _need_one_dtype(input, mat2, 3)
    return _product(input, mat2)


@operation()
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """A matrix times a vector."""
    if input.ndim != 2 or vec.ndim != 1:
        raise torch_error(
            RuntimeError,
            f"vector + matrix @ vector expected, got {vec.ndim}, {input.ndim}, {vec.ndim}",
        )
    _check_product(input, vec)
    return _product(input, vec)


@operation()
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The dot product of two vectors."""
    _need_tensor("dot", tensor, "tensor")
    if input.ndim != 1 or tensor.ndim != 1:
        raise torch_error(
            RuntimeError, f"1D tensors expected, but got {input.ndim}D and {tensor.ndim}D tensors"
        )
    _check_dot(input, tensor)
    return _product(input, tensor)


@operation()
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Dot products along the last axes of both."""
    if not input.ndim or not other.ndim:
        return input * other
    return tensordot(input, other, ([-1], [-1]))


@operation()
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """The dot product, the first vector conjugated."""
    return dot(METHODS["conj"](input), other)


@operation("outer", "ger")
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors' entries."""
    _need_tensor("outer", vec2, "vec2")
    for name, one in (("self", input), ("vec2", vec2)):
        if one.ndim != 1:
            raise torch_error(
                RuntimeError, f"outer: Expected 1-D argument {name}, but got {one.ndim}-D"
            )
    return unsqueeze(input, 1) * vec2


def _added(name: str, product: Callable[..., Tensor]) -> None:
    def function(
        input: Tensor, one: Tensor, other: Tensor, *, beta: Any = 1, alpha: Any = 1
    ) -> Tensor:
        if other._dtype is not input._dtype:
            raise torch_error(
                RuntimeError,
                "self and mat2 must have the same dtype, but got "
                f"{input._dtype.type_name} and {other._dtype.type_name}",
            )
        return input * beta + product(one, other) * alpha

    operation(name)(function)


_added("addmm", mm)
_added("baddbmm", bmm)
_added("addmv", mv)


@operation(method=False)
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over the axes that are named of each, or over the last and first few."""
    if isinstance(dims, int):
        of_a, of_b = list(range(a.ndim - dims, a.ndim)), list(range(dims))
    else:
        of_a, of_b = (
            [axis_of(one, t.ndim) for one in (axes if isinstance(axes, (list, tuple)) else [axes])]
            for axes, t in zip(dims, (a, b), strict=True)
        )
    for one, other in zip(of_a, of_b, strict=True):
        m, n = a._array.shape[one], b._array.shape[other]
        if m != n:
            raise torch_error(
                RuntimeError,
                "contracted dimensions need to match, but first has size "
                f"{m} in dim {one - a.ndim if isinstance(dims, int) else one} and second has size "
                f"{n} in dim {other}",
            )
    free_a = [axis for axis in range(a.ndim) if axis not in of_a]
    free_b = [axis for axis in range(b.ndim) if axis not in of_b]
    inner_size = math.prod(a._array.shape[axis] for axis in of_a)
    left = reshape(ordered(a, [*free_a, *of_a]), -1, inner_size)
    right = reshape(ordered(b, [*of_b, *free_b]), inner_size, -1)
    shape = [a._array.shape[axis] for axis in free_a] + [b._array.shape[axis] for axis in free_b]
    return reshape(mm(left, right), shape)


@operation()
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product."""
    rank = max(input.ndim, other.ndim)
    m, n = ((1,) * (rank - one.ndim) + one._array.shape for one in (input, other))
    left = reshape(input, [size for length in m for size in (length, 1)])
    right = reshape(other, [size for length in n for size in (1, length)])
    return reshape(left * right, [a * b for a, b in zip(m, n, strict=True)])


@operation()
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal."""
    if input.ndim != 2:
        raise torch_error(
            RuntimeError, f"trace: expected a matrix, but got tensor with dim {input.ndim}"
        )
    return METHODS["sum"](diagonal(input))  # type: ignore[no-any-return]


@operation()
def cross(input: Tensor, other: Tensor, dim: int = -1) -> Tensor:
    """The cross product of vectors of three numbers."""
    _need_one_dtype(input, other, 3)
    a, b = movedim(input, dim, 0), movedim(other, dim, 0)
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    from .shapes import stack

    return stack(parts, dim)


# Einstein's sums.


def _letters(equation: str, operands: Sequence[Tensor]) -> tuple[list[list[str]], list[str]]:
    """A letter for every axis of every operand, and those of the output.

    The axes that `...` stands for get letters "-1", "-2", ... from their end.
    """
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands):
        more = "more" if len(operands) > len(terms) else "fewer"
        raise torch_error(
            RuntimeError,
            f"einsum(): {more} operands were provided than specified in the equation",
        )
    listed = [
        _of_term(term, one.ndim, number)
        for number, (term, one) in enumerate(zip(terms, operands, strict=True))
    ]
    dots = sorted({one for names in listed for one in names if one.startswith("-")}, key=int)
    if arrow:
        return listed, _of_output(right, dots, listed)
    names = [one for of_term in listed for one in of_term if not one.startswith("-")]
    return listed, dots + sorted(one for one in set(names) if names.count(one) == 1)


def _of_term(term: str, rank: int, number: int) -> list[str]:
    head, dots, tail = term.partition("...")
    for letter in head + tail:
        if not letter.isalpha():
            raise torch_error(
                RuntimeError,
                f"einsum(): invalid subscript given at index {term.index(letter)} in the equation "
                "string, subscripts must be in [a-zA-Z]",
            )
    hidden = rank - len(head) - len(tail)
    if hidden < 0 or (hidden and not dots):
        ellipsis = "" if dots else " and no ellipsis was given"
        raise torch_error(
            RuntimeError,
            "einsum(): the number of subscripts in the equation "
            f"({len(head) + len(tail)}) {'is more than' if dots else 'does not match'} the number "
            f"of dimensions ({rank}) for operand {number}{ellipsis}",
        )
    return [*head, *(str(k) for k in range(-hidden, 0)), *tail]


def _of_output(right: str, dots: list[str], listed: list[list[str]]) -> list[str]:
    head, ellipsis, tail = right.partition("...")
    known = {one for names in listed for one in names}
    for letter in head + tail:
        if (head + tail).count(letter) > 1:
            raise torch_error(
                RuntimeError,
                f"einsum(): output subscript {letter} appears more than once in the output",
            )
        if letter not in known:
            raise torch_error(
                RuntimeError,
                f"einsum(): output subscript {letter} does not appear in the equation for any "
                "input operand",
            )
    return [*head, *(dots if ellipsis else []), *tail]


@operation(method=False)
def einsum(equation: Any, *operands: Any) -> Tensor:
    """Products of entries, summed over the letters that the output lacks."""
    if isinstance(equation, Tensor):
        equation, operands = _equation_of_lists((equation, *operands))
    if not isinstance(equation, str):
        raise torch_error(
            TypeError, "einsum(): the first argument must be the equation, as a string"
        )
    tensors = list(
        operands[0] if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else operands
    )
    for place, one in enumerate(tensors):
        _need_tensor("einsum", one, "operands", place + 2)
    listed, output = _letters(equation, tensors)
    tensors, listed = _without_repeats(tensors, listed)
    lengths: dict[str, int] = {}
    for number, (one, names) in enumerate(zip(tensors, listed, strict=True)):
        for letter, length in zip(names, one._array.shape, strict=True):
            before = lengths.get(letter, 1)
            if length != before and 1 not in (length, before):
                raise torch_error(
                    RuntimeError,
                    f"einsum(): subscript {letter} has size {length} for operand {number} which "
                    f"does not broadcast with previously seen size {before}",
                )
            lengths[letter] = max(length, before) if 0 not in (length, before) else 0
    if set(output) >= set(lengths) and all(one.ndim for one in tensors):
        tensors = _of_one_dtype(tensors)  # nothing is summed: an ordinary product
    for one in tensors[1:]:
        if one._dtype is not tensors[0]._dtype and (len(tensors) > 2 or not lengths):
            raise NotInThisPage("einsum() of two dtypes")
        _need_one_dtype(tensors[0], one, 3)
    expanded = [
        expand(one, [lengths[letter] for letter in names])
        for one, names in zip(tensors, listed, strict=True)
    ]
    return _contracted(expanded, listed, output)


def _of_one_dtype(tensors: Sequence[Tensor]) -> list[Tensor]:
    kind = functools.reduce(promote_types, (one._dtype for one in tensors))
    return [cast(one, kind) for one in tensors]


def _equation_of_lists(given: Sequence[Any]) -> tuple[str, tuple[Tensor, ...]]:
    """einsum(x, [0, 1], y, [1, 2], [0, 2]) as an equation with letters, and the operands."""
    operands, lists = list(given[::2]), list(given[1::2])
    if len(operands) > len(lists):
        lists.append(operands.pop())
        terms, output = lists[:-1], "->" + _in_letters(lists[-1])
    else:
        terms, output = lists, ""
    return ",".join(map(_in_letters, terms)) + output, tuple(operands)


def _in_letters(axes: Any) -> str:
    if not isinstance(axes, (list, tuple)) or any(
        one is not Ellipsis and not (type(one) is int and 0 <= one < 52) for one in axes
    ):
        raise NotInThisPage("this use of einsum()")
    return "".join("..." if one is Ellipsis else _LETTERS[one] for one in axes)


_LETTERS = string.ascii_uppercase + string.ascii_lowercase


def _without_repeats(
    tensors: Sequence[Tensor], listed: Sequence[list[str]]
) -> tuple[list[Tensor], list[list[str]]]:
    """A letter that stands twice in one term names a diagonal."""
    plain, plain_names = [], []
    for number, (one, given) in enumerate(zip(tensors, listed, strict=True)):
        names = list(given)
        while repeated := [letter for letter in names if names.count(letter) > 1]:
            letter = repeated[0]
            first = names.index(letter)
            second = names.index(letter, first + 1)
            m, n = one._array.shape[first], one._array.shape[second]
            if m != n:
                raise torch_error(
                    RuntimeError,
                    f"einsum(): subscript {letter} is repeated for operand {number} but the sizes "
                    f"don't match, {n} != {m}",
                )
            one = diagonal(one, 0, first, second)
            names = [name for k, name in enumerate(names) if k not in (first, second)] + [letter]
        plain.append(one)
        plain_names.append(names)
    return plain, plain_names


def _contracted(
    tensors: Sequence[Tensor], listed: Sequence[Sequence[str]], output: Sequence[str]
) -> Tensor:
    number = {letter: k for k, letter in enumerate({c: 0 for names in listed for c in names})}
    labels = [[number[letter] for letter in names] for names in listed]
    goal = [number[letter] for letter in output]

    def summed(pairs: Sequence[tuple[Array, Sequence[int]]], to: Sequence[int]) -> Array:
        return np.asarray(
            np.einsum(*(part for pair in pairs for part in pair), to, optimize=len(pairs) > 2)
        )

    def backward(g: Array) -> Sequence[Array]:
        found = []
        for k, mine in enumerate(labels):
            others = [(g, goal)] + [
                (one._array, names)
                for j, (one, names) in enumerate(zip(tensors, labels, strict=True))
                if j != k
            ]
            there = {label for _, names in others for label in names}
            partial = summed(others, [label for label in mine if label in there])
            alone = tuple(place for place, label in enumerate(mine) if label not in there)
            spread = np.expand_dims(partial, alone) if alone else partial
            found.append(np.broadcast_to(spread, tensors[k]._array.shape))
        return found

    pairs = [(one._array, names) for one, names in zip(tensors, labels, strict=True)]
    return result(summed(pairs, goal), tensors[0]._dtype, "Einsum", tensors, backward, tensors)
