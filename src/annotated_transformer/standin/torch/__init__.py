"""A small imitation of PyTorch on NumPy: what the book's exercises use, and a learner's answers.

What it has is what PyTorch does; what it lacks raises `NotInThisPage`. By idea:

- `dtypes`, `promotion`: the kinds of numbers, and what becomes of two that meet
- `tensor`, `graph`: the tensor, its views and changes in place, and the way back to gradients
- `operations`: what all operations have in common; each of the following adds its own to `torch`
  and to `Tensor`: `pointwise`, `operators`, `shapes`, `indexing`, `reductions`, `products`,
  `creation`, `random`, `inplace`, `printing`, `linalg`
- `nn`, `autograd`, `func`, `special`, `testing`, `overrides`, `_C`: as in PyTorch
- `cuda`, `backends`, `optim`, `utils`: what headers import that people copy along
- `arguments`: the arguments that must be True or False
- `errors`, `absent`: what PyTorch says of a mistake, and which of its names are not here
"""

import contextlib
import math
from collections.abc import Iterator
from typing import Any

from . import absent, creation, dtypes, operations
from . import pointwise as pointwise  # these add their operations when they are imported
from . import reductions as reductions
from . import shapes as shapes

from . import products as products  # isort: skip
from . import operators as operators  # isort: skip
from . import indexing as indexing  # isort: skip
from . import random as random  # isort: skip
from . import inplace as inplace  # isort: skip
from . import printing as printing  # isort: skip
from . import linalg as linalg  # isort: skip
from . import _C as _C
from . import autograd as autograd
from . import backends as backends
from . import cuda as cuda
from . import func as func
from . import nn as nn
from . import optim as optim
from . import overrides as overrides
from . import special as special
from . import testing as testing
from . import utils as utils
from .dtypes import Size as Size
from .dtypes import device as device
from .dtypes import dtype as dtype
from .dtypes import finfo as finfo
from .dtypes import get_default_dtype as get_default_dtype
from .dtypes import iinfo as iinfo
from .dtypes import promote_types as promote_types
from .dtypes import set_default_dtype as set_default_dtype
from .errors import NotInThisPage as NotInThisPage
from .func import vmap as vmap
from .graph import enable_grad as enable_grad
from .graph import inference_mode as inference_mode
from .graph import is_grad_enabled as is_grad_enabled
from .graph import no_grad as no_grad
from .graph import set_grad_enabled as set_grad_enabled
from .printing import set_printoptions as set_printoptions
from .promotion import result_type as result_type
from .random import Generator as Generator
from .random import default_generator as default_generator
from .random import get_rng_state as get_rng_state
from .random import initial_seed as initial_seed
from .random import manual_seed as manual_seed
from .random import seed as seed
from .random import set_rng_state as set_rng_state
from .tensor import Tensor as Tensor

__version__ = "2-standin"
inf, nan, pi, e, newaxis = math.inf, math.nan, math.pi, math.e, None
strided = "torch.strided"
contiguous_format = preserve_format = "torch.contiguous_format"

for _name, _method in operations.METHODS.items():
    if _name not in vars(Tensor):
        setattr(Tensor, _name, _method)
for _kind in dtypes.ALL:
    globals()[_kind.name] = _kind
for _name, _kind_name in {
    "long": "int64",
    "int": "int32",
    "short": "int16",
    "double": "float64",
    "float": "float32",
    "half": "float16",
    "cfloat": "complex64",
    "cdouble": "complex128",
}.items():
    globals()[_name] = globals()[_kind_name]
for _kind in dtypes.ALL:
    if _kind.category < 3:
        globals()[f"{_kind.type_name}Tensor"] = creation.of_type(_kind)
globals().update(operations.FUNCTIONS)
special.exp = operations.FUNCTIONS["exp"]  # type: ignore[attr-defined]


def get_default_device() -> device:
    """Where new tensors live."""
    return dtypes.CPU


def get_num_threads() -> int:
    """On how many threads PyTorch computes. Here on one."""
    return 1


_precision = ["highest"]


def get_float32_matmul_precision() -> str:
    """How exactly matrices of float32 are multiplied."""
    return _precision[0]


def set_float32_matmul_precision(precision: str) -> None:
    """How exactly: on a processor always the same."""
    _precision[0] = precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """There are no others here."""


def set_num_threads(_number: int) -> None:
    """There is one thread, whatever is asked for."""


@contextlib.contextmanager
def autocast(device_type: str, dtype: Any = None, enabled: bool = True) -> Iterator[None]:
    """PyTorch's automatic choice of dtypes, which can only be switched off here."""
    if enabled:
        raise NotInThisPage("torch.autocast")
    yield


def compile(model: Any = None, **_options: Any) -> Any:
    """The function as it is: nothing is compiled here."""
    return (lambda function: function) if model is None else model


__getattr__ = absent.attribute_of("torch", absent.OF_TORCH)
