"""`torch.linalg`: norms, and the solutions of linear equations."""

import functools
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import absent
from .dtypes import Array, dtype, float64
from .errors import torch_error
from .operations import FUNCTIONS, METHODS, observed, operation
from .pointwise import cast
from .products import matmul
from .reductions import norm as _norm
from .tensor import Tensor, result, wrap

__getattr__ = absent.attribute_of("torch.linalg", absent.OF_LINALG)
_Solution = namedtuple("_Solution", ["solution", "residuals", "rank", "singular_values"])


def _named(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    return operation(f"linalg_{name}", function=False, method=False)(function)


def _vector_norm(
    x: Tensor,
    ord: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    return _norm(x, ord, dim, keepdim, dtype)


def _any_norm(
    A: Tensor,
    ord: Any = None,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
) -> Tensor:
    if ord not in (None, 2, 2.0, "fro") or (ord in (2, 2.0) and dim is None and A.ndim == 2):
        return _matrix_or_vector(A, ord, dim, keepdim, dtype)
    return _norm(A, 2, dim, keepdim, dtype)


def _matrix_or_vector(A: Tensor, order: Any, dim: Any, keepdim: bool, kind: Any) -> Tensor:
    if A.ndim == 1 or isinstance(dim, int):
        return _norm(A, order, dim, keepdim, kind)
    raise NotImplementedError("the norm of a matrix")


def _matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: Any = (-2, -1),
    keepdim: bool = False,
) -> Tensor:
    if ord != "fro":
        raise NotImplementedError("a norm of matrices other than Frobenius's")
    return _norm(A, 2, dim, keepdim)


norm = _named("norm", _any_norm)
vector_norm = _named("vector_norm", _vector_norm)
matrix_norm = _named("matrix_norm", _matrix_norm)
multi_dot = _named("multi_dot", lambda tensors: functools.reduce(matmul, tensors))
diagonal = _named(
    "diagonal",
    lambda A, *, offset=0, dim1=-2, dim2=-1: METHODS["diagonal"](A, offset, dim1, dim2),
)
vecdot = _named("vecdot", lambda x, y, *, dim=-1: METHODS["sum"](x * y, dim))


def _square(name: str, a: Tensor) -> None:
    if a.ndim < 2 or a._array.shape[-1] != a._array.shape[-2]:
        raise torch_error(RuntimeError, f"linalg.{name}: A must be batches of square matrices")


def _inverse(A: Tensor) -> Tensor:
    _square("inv", A)
    try:
        numbers = np.linalg.inv(A._array)
    except np.linalg.LinAlgError:
        raise torch_error(
            RuntimeError,
            "linalg.inv: The diagonal element 1 is zero, the inversion could not be completed "
            "because the input matrix is singular.",
        ) from None

    def backward(g: Array) -> Sequence[Array]:
        turned = np.swapaxes(numbers, -1, -2)
        return (-turned @ g @ turned,)

    columns = _column_by_column(numbers)
    return result(columns, A._dtype, "LinalgInv", (A,), backward, (A,))


def _column_by_column(numbers: Array) -> Array:
    """Matrices as they lie in memory where LAPACK has made them."""
    return np.swapaxes(np.swapaxes(numbers, -1, -2).copy(), -1, -2)


inv = _named("inv", _inverse)


def _solved(A: Tensor, B: Tensor) -> Tensor:
    found: Tensor = matmul(_inverse(A), B)
    if found.ndim > 1 and found.ndim == A.ndim:
        found._array = _column_by_column(found._array)
    return found


solve = _named("solve", _solved)


def _determinant(A: Tensor) -> Tensor:
    _square("det", A)
    numbers = np.linalg.det(A._array)

    def backward(g: Array) -> Sequence[Array]:
        return ((g * numbers)[..., None, None] * np.swapaxes(np.linalg.inv(A._array), -1, -2),)

    return result(numbers, A._dtype, "LinalgDet", (A,), backward, (A,))


det = _named("det", _determinant)


def _constant(compute: Callable[[Array], Any]) -> Callable[[Tensor], Tensor]:
    """Of a matrix that wants no gradient."""

    def function(A: Tensor) -> Tensor:
        if A.requires_grad:
            raise NotImplementedError("its gradient")
        return wrap(compute(A._array))

    return function


pinv = _named("pinv", _constant(np.linalg.pinv))
matrix_rank = _named("matrix_rank", lambda A: wrap(np.asarray(np.linalg.matrix_rank(A._array))))


def _least_squares(A: Tensor, B: Tensor) -> Any:
    if A.requires_grad or B.requires_grad:
        raise NotImplementedError("its gradient")
    found = np.linalg.lstsq(A._array, B._array, rcond=None)[0]
    nothing = wrap(np.zeros(0, found.dtype))
    return _Solution(wrap(found), nothing, wrap(np.linalg.matrix_rank(A._array)), nothing)


lstsq = _named("lstsq", _least_squares)


def identity_like(a: Tensor) -> Tensor:
    """The identity matrix of a matrix's size and dtype."""
    kind: dtype = a._dtype
    return wrap(
        np.broadcast_to(np.eye(a._array.shape[-1], dtype=kind.storage), a._array.shape).copy()
    )


@operation()
def matrix_power(input: Tensor, n: int) -> Tensor:
    """A square matrix multiplied by itself."""
    if n < 0:
        return matrix_power(_inverse(input), -n)
    so_far = identity_like(input)
    for _ in range(n):
        so_far = matmul(so_far, input)
    return so_far


@operation()
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of a matrix: its series for a small part, squared again and again."""
    halvings = 16
    small = cast(input, float64) / 2.0**halvings
    term = so_far = identity_like(small)
    for order in range(1, 7):
        term = matmul(term, small) / order
        so_far = so_far + term
    for _ in range(halvings):
        so_far = matmul(so_far, so_far)
    return cast(so_far, input._dtype)


inverse = observed("inverse", _inverse)
FUNCTIONS["inverse"] = METHODS["inverse"] = inverse
