"""`torch.nn.utils`: lengths of gradients, and sequences of different lengths."""

from collections.abc import Iterable
from typing import Any

from ... import absent
from ...graph import no_grad
from ...operations import FUNCTIONS, METHODS
from ...reductions import norm
from ...tensor import Tensor
from . import rnn as rnn

__getattr__ = absent.attribute_of("torch.nn.utils", absent.OF_NN_UTILS)


def clip_grad_norm_(parameters: Any, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Make all gradients together no longer than `max_norm`. Returns how long they were."""
    listed: Iterable[Tensor] = [parameters] if isinstance(parameters, Tensor) else parameters
    gradients = [one.grad for one in listed if one.grad is not None]
    if not gradients:
        return FUNCTIONS["tensor"](0.0)  # type: ignore[no-any-return]
    with no_grad():
        length = norm(FUNCTIONS["stack"]([norm(one, norm_type) for one in gradients]), norm_type)
        factor = METHODS["clamp"](FUNCTIONS["div"](max_norm, length + 1e-6), max=1.0)
        for one in gradients:
            METHODS["mul_"](one, factor)
    return length
