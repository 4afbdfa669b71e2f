"""The layers: modules whose `forward` is a function of `functional`."""

import math
from collections.abc import Iterable, Iterator
from typing import Any

from ..creation import full
from ..dtypes import as_dtype, get_default_dtype
from ..graph import no_grad
from ..operations import FUNCTIONS, METHODS
from ..tensor import Tensor
from . import functional as F  # noqa: N812
from .module import Module, Parameter


def _parameter(shape: tuple[int, ...], value: float, dtype: Any, device: Any) -> Parameter:
    kind = as_dtype(dtype, get_default_dtype())
    return Parameter(full(shape, value, dtype=kind, device=device))


class Linear(Module):
    """x @ weight.T + bias."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = _parameter((out_features, in_features), 0.0, dtype, device)
        self.bias = _parameter((out_features,), 0.0, dtype, device) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1 / math.sqrt(self.in_features) if self.in_features else 0.0
        with no_grad():
            for one in (self.weight, self.bias):
                if one is not None:
                    METHODS["uniform_"](one, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={bias}"


class Embedding(Module):
    """Rows of a table."""

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.padding_idx = (
            num_embeddings + padding_idx
            if padding_idx is not None and padding_idx < 0
            else padding_idx
        )
        self.weight = _parameter((num_embeddings, embedding_dim), 0.0, dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        with no_grad():
            METHODS["normal_"](self.weight)
            if self.padding_idx is not None:
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(input, self.weight, self.padding_idx)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}"


def _shape(given: Any) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


class LayerNorm(Module):
    """Mean 0 and variance 1 over the last axes, then scaled and shifted."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        shape = self.normalized_shape
        self.weight = _parameter(shape, 1.0, dtype, device) if elementwise_affine else None
        self.bias = _parameter(shape, 0.0, dtype, device) if elementwise_affine and bias else None

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}"


class RMSNorm(Module):
    """Root mean square 1 over the last axes, then scaled."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape, self.eps = _shape(normalized_shape), eps
        self.weight = (
            _parameter(self.normalized_shape, 1.0, dtype, device) if elementwise_affine else None
        )

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)  # type: ignore[no-any-return]


class Dropout(Module):
    """Each entry 0 with probability `p` while training."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p, self.inplace = p, inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Identity(Module):
    """What it is given."""

    def forward(self, input: Tensor) -> Tensor:
        return input


class _Activation(Module):
    """A function of `functional` as a layer, with the same options."""

    function: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.args, self.kwargs = args, kwargs

    def forward(self, input: Tensor) -> Tensor:
        called = getattr(F, self.function, None) or FUNCTIONS[self.function]
        return called(input, *self.args, **self.kwargs)  # type: ignore[no-any-return]


class ReLU(_Activation):
    function = "relu"


class SiLU(_Activation):
    function = "silu"


class GELU(_Activation):
    function = "gelu"


class Tanh(_Activation):
    function = "tanh"


class Sigmoid(_Activation):
    function = "sigmoid"


class Softmax(_Activation):
    function = "softmax"


class LogSoftmax(_Activation):
    function = "log_softmax"


class _Loss(Module):
    """A loss as a layer."""

    function: str

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        self.args, self.kwargs = args, kwargs

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return getattr(F, self.function)(input, target, *self.args, **self.kwargs)  # type: ignore[no-any-return]


class CrossEntropyLoss(_Loss):
    function = "cross_entropy"


class NLLLoss(_Loss):
    function = "nll_loss"


class KLDivLoss(_Loss):
    function = "kl_div"


class MSELoss(_Loss):
    function = "mse_loss"


class Sequential(Module):
    """Modules one after the other."""

    def __init__(self, *modules: Module) -> None:
        super().__init__()
        for place, module in enumerate(modules):
            self.add_module(str(place), module)

    def forward(self, input: Any) -> Any:
        for module in self.children():
            input = module(input)
        return input

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __len__(self) -> int:
        return len(list(self.children()))

    def __getitem__(self, place: int) -> Module:
        return list(self.children())[place]


class ModuleList(Module):
    """Modules in a list."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        self.extend(modules)

    def append(self, module: Module) -> "ModuleList":
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> "ModuleList":
        for module in modules:
            self.append(module)
        return self

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __len__(self) -> int:
        return len(list(self.children()))

    def __getitem__(self, place: Any) -> Any:
        found = list(self.children())[place]
        return ModuleList(found) if isinstance(place, slice) else found


class ModuleDict(Module):
    """Modules in a dictionary."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        for name, module in dict(modules or {}).items():
            self.add_module(name, module)

    def __getitem__(self, name: str) -> Any:
        return dict(self.named_children())[name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __contains__(self, name: str) -> bool:
        return name in dict(self.named_children())

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.named_children()))

    def __len__(self) -> int:
        return len(dict(self.named_children()))

    def keys(self) -> Iterable[str]:
        return dict(self.named_children()).keys()

    def values(self) -> Iterable[Module]:
        return dict(self.named_children()).values()

    def items(self) -> Iterable[tuple[str, Module]]:
        return dict(self.named_children()).items()
