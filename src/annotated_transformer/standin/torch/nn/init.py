"""`torch.nn.init`: how parameters begin."""

import math

from .. import absent
from ..graph import no_grad
from ..operations import METHODS
from ..tensor import Tensor

__getattr__ = absent.attribute_of("torch.nn.init", absent.OF_INIT)


def _drawn(how: str, tensor: Tensor, *numbers: float) -> Tensor:
    with no_grad():
        return METHODS[how](tensor, *numbers)  # type: ignore[no-any-return]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Uniform numbers from `a` to `b`."""
    return _drawn("uniform_", tensor, a, b)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Normal numbers."""
    return _drawn("normal_", tensor, mean, std)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere."""
    return _drawn("fill_", tensor, val)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Ones."""
    return constant_(tensor, 1.0)


def _fans(tensor: Tensor) -> tuple[int, int]:
    """How many numbers go in and out."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Uniform numbers that keep the variance on the way there and back."""
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Normal numbers that keep the variance on the way there and back."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))))
