"""Operations in place: `add_`, `relu_`, `+=`, `copy_`, ... Each is the plain one, written back."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import bool_, converted
from .errors import torch_error
from .operations import FUNCTIONS, METHODS, operation
from .pointwise import cast, check_representable
from .shapes import expand
from .tensor import Tensor, change, result, wrap

_PLAIN = (
    *("add", "sub", "mul", "div", "pow", "remainder", "floor_divide", "true_divide"),
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"),
    *("sin", "cos", "tan", "tanh", "sigmoid", "relu", "neg", "abs", "square", "sign", "erf"),
    *("round", "floor", "ceil", "trunc", "clamp", "clip", "clamp_min", "clamp_max", "nan_to_num"),
    *("lerp", "addcmul", "addcdiv", "addmm", "baddbmm", "tril", "triu", "cumsum", "cumprod"),
    *("scatter", "scatter_add", "index_add", "index_copy", "index_fill", "masked_scatter"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"),
)
_OF_TRUTH = (  # their result is boolean, and takes the dtype of what it is written to
    *("eq", "ne", "lt", "le", "gt", "ge"),
    *("logical_and", "logical_or", "logical_xor", "logical_not"),
)
_OPERATORS = {
    "__iadd__": "add",
    "__isub__": "sub",
    "__imul__": "mul",
    "__itruediv__": "div",
    "__ipow__": "pow",
    "__imod__": "remainder",
    "__ifloordiv__": "floor_divide",
    "__iand__": "bitwise_and",
    "__ior__": "bitwise_or",
    "__ixor__": "bitwise_xor",
}


def _in_place(name: str, of_truth: bool) -> None:
    plain = METHODS[name]

    def function(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        def compute(old: Tensor) -> Tensor:
            new: Tensor = plain(old, *args, **kwargs)
            return cast(new, old._dtype) if of_truth else new

        return change(self, compute)

    operation(f"{name}_", function=False)(function)


for _name in _PLAIN:
    _in_place(_name, of_truth=False)
for _name in _OF_TRUTH:
    _in_place(_name, of_truth=True)
for _name in (
    "exp",
    "sqrt",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "relu",
    "neg",
    "abs",
    "square",
    "log",
):
    FUNCTIONS[f"{_name}_"] = METHODS[f"{_name}_"]


def _augmented(operator: str, name: str) -> Callable[[Tensor, Any], Any]:
    in_place = METHODS[f"{name}_"]

    def method(self: Tensor, other: Any) -> Any:
        if not isinstance(other, (Tensor, bool, int, float, complex, np.number)):
            return NotImplemented
        return in_place(self, other)

    method.__name__ = method.__qualname__ = operator
    return method


for _operator, _name in _OPERATORS.items():
    setattr(Tensor, _operator, _augmented(_operator, _name))


@operation(function=False)
def masked_fill_(self: Tensor, mask: Tensor, value: Any) -> Tensor:
    """`value` where the mask is True."""
    return change(self, lambda old: METHODS["masked_fill"](old, mask, value), check_overlap=False)


@operation(function=False)
def fill_(self: Tensor, value: Any) -> Tensor:
    """One number everywhere."""
    if isinstance(value, Tensor):
        if value.ndim:
            raise torch_error(
                RuntimeError,
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{value.ndim} dimensions.",
            )
        return copy_(self, value)
    check_representable(value, self._dtype)

    def compute(old: Tensor) -> Tensor:
        numbers = np.full(old._array.shape, converted(np.asarray(value), old._dtype))
        return result(numbers, old._dtype, "Fill", (old,), lambda g: (np.zeros_like(g),))

    return change(self, compute, check_overlap=False)


@operation(function=False)
def zero_(self: Tensor) -> Tensor:
    """Zero everywhere."""
    return fill_(self, 0)


@operation(function=False)
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """The numbers of another tensor, broadcast and brought into this one's dtype."""

    def compute(old: Tensor) -> Tensor:
        spread = expand(cast(src, old._dtype), *old.shape)
        return result(
            spread._array, old._dtype, "Copy", (old, spread), lambda g: (np.zeros_like(g), g)
        )

    return change(self, compute)


@operation(function=False)
def fill_diagonal_(self: Tensor, fill_value: Any) -> Tensor:
    """One number on the main diagonal."""

    def compute(old: Tensor) -> Tensor:
        on_it = np.zeros(old._array.shape, bool)
        np.fill_diagonal(on_it, True)
        return METHODS["masked_fill"](old, wrap(on_it, bool_), fill_value)  # type: ignore[no-any-return]

    return change(self, compute)


def _reshaped_in_place(name: str) -> None:
    """`unsqueeze_` and its kin change how a tensor sees its memory, not the memory."""
    plain = METHODS[name]

    def function(self: Tensor, *args: Any) -> Tensor:
        if self.requires_grad:
            raise (
                torch_error(
                    RuntimeError,
                    "a leaf Variable that requires grad is being used in an in-place operation.",
                )
                if self.is_leaf
                else NotImplementedError
            )
        self._array = plain(self, *args)._array
        return self

    operation(f"{name}_", function=False)(function)


for _name in ("transpose", "unsqueeze", "squeeze", "t"):
    _reshaped_in_place(_name)
