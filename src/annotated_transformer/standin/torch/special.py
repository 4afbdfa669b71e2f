"""`torch.special`: functions that also have names of their own in `torch`."""

from typing import Any

from . import absent
from .operations import FUNCTIONS, operation
from .tensor import Tensor

__getattr__ = absent.attribute_of("torch.special", absent.OF_SPECIAL)

for _name in ("softmax", "log_softmax", "logsumexp", "xlogy", "erf", "exp2", "expm1", "log1p"):
    globals()[_name] = FUNCTIONS[_name]
expit = FUNCTIONS["sigmoid"]


@operation("special_entr", function=False, method=False)
def entr(input: Tensor) -> Any:
    """-x * log(x), and 0 where x is 0."""
    return -FUNCTIONS["xlogy"](input, input)
