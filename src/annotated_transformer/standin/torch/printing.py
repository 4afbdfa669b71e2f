"""How a tensor looks when it is printed."""

from typing import Any

import numpy as np

from .dtypes import bool_, get_default_dtype, int64
from .operations import operation
from .tensor import Tensor

_DIGITS = [4]


def set_printoptions(precision: int | None = None, **_others: Any) -> None:
    """Choose how many digits are printed."""
    if precision is not None:
        _DIGITS[0] = precision


@operation(function=False, method=False)
def __repr__(self: Tensor) -> str:  # noqa: N807
    """The numbers, and what is unusual about the tensor."""
    numbers = np.array2string(
        self._array, separator=", ", prefix="tensor(", formatter=_formatter(self)
    )
    tail = ""
    if not self._array.size and self._array.shape != (0,):
        tail += f", size={tuple(self._array.shape)}"
    if self._dtype not in (get_default_dtype(), int64, bool_):
        tail += f", dtype={self._dtype!r}"
    if self.grad_fn is not None:
        tail += f", grad_fn={self.grad_fn!r}"
    elif self.requires_grad:
        tail += ", requires_grad=True"
    return f"tensor({numbers}{tail})"


def _formatter(tensor: Tensor) -> Any:
    if tensor._dtype is bool_:
        longest = max((len(str(one)) for one in tensor._array.reshape(-1)), default=0)
        return {"bool": lambda one: str(one).rjust(longest)}
    if not tensor._dtype.is_floating_point:
        return None
    finite = tensor._array[np.isfinite(tensor._array)]
    whole = bool((finite == np.floor(finite)).all())
    large = np.abs(finite).max(initial=0)
    small = np.abs(finite[finite != 0]).min(initial=np.inf)
    scientific = large >= 1e8 or (not whole and (small < 1e-4 or large / small > 1000))

    def text(number: Any) -> str:
        if not np.isfinite(number):
            return str(float(number))
        if scientific:
            return f"{number:.{_DIGITS[0]}e}"
        return f"{number:.0f}." if whole else f"{number:.{_DIGITS[0]}f}"

    width = max((len(text(number)) for number in tensor._array.reshape(-1)), default=0)
    return {"float_kind": lambda number: text(number).rjust(width)}


def _formatted(tensor: Tensor, how: str) -> str:
    return format(tensor._array.item(), how) if tensor.ndim == 0 else object.__format__(tensor, how)


setattr(Tensor, "__repr__", __repr__)  # noqa: B010
setattr(Tensor, "__format__", _formatted)  # noqa: B010
