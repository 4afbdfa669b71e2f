"""The dtype of a result: what tensors, tensors without axes, and Python's numbers give together."""

import numbers
from typing import Any

import numpy as np

from .dtypes import (
    Array,
    bool_,
    converted,
    default_complex,
    dtype,
    get_default_dtype,
    int64,
    promote_types,
)
from .errors import NotInThisPage, cannot_broadcast
from .tensor import Tensor

Operand = Any  # a tensor or one of Python's numbers


def is_number(value: Any) -> bool:
    """One of Python's numbers, or one of NumPy's that pass for one."""
    return isinstance(value, (bool, int, float, complex, np.number, np.bool_))


def dtype_of_number(number: Any) -> dtype:
    """What PyTorch takes a number for that has no dtype of its own."""
    if isinstance(number, (bool, np.bool_)):
        return bool_
    if isinstance(number, numbers.Integral):
        return int64
    return (
        default_complex()
        if isinstance(number, (complex, np.complexfloating))
        else (get_default_dtype())
    )


def result_type(*operands: Operand) -> dtype:
    """The dtype of what is computed from these.

    A tensor without axes only counts where it is of a higher kind (whole, floating, complex) than
    those with axes, and a number only where it is of a higher kind than the tensors.
    """
    found: list[dtype | None] = [None, None, None]  # of tensors with axes, without, of numbers
    for one in operands:
        if isinstance(one, Tensor):
            rank, kind = (0 if one.ndim else 1), one._dtype
        else:
            rank, kind = 2, one if isinstance(one, dtype) else dtype_of_number(one)
        before = found[rank]
        found[rank] = kind if before is None else promote_types(before, kind)
    kinds = [kind for kind in found if kind is not None]
    so_far = kinds[0]
    for kind in kinds[1:]:
        if kind.category > so_far.category:
            if kind.is_complex and so_far.name == "float16":
                raise NotInThisPage("a complex number of half precision")
            so_far = promote_types(so_far, kind)
    return so_far


def numbers_of(operand: Operand, kind: dtype) -> Array:
    """An operand's numbers in the dtype in which it is computed with."""
    if isinstance(operand, Tensor):
        return converted(operand._array, kind)
    if kind.name in ("float16", "bfloat16"):  # computed in float32, and rounded at the end
        return np.asarray(operand, np.float32)
    return converted(np.asarray(operand), kind)


def fit(*operands: Operand) -> None:
    """Complain as PyTorch does where the shapes of the tensors do not fit each other."""
    shapes = [one._array.shape for one in operands if isinstance(one, Tensor)]
    if len(shapes) > 1 and (problem := cannot_broadcast(*shapes)):
        raise problem
