"""The layers: modules whose `forward` is a function of `functional`."""

import math
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Self

from ..creation import full
from ..dtypes import as_dtype, get_default_dtype
from ..errors import NotInThisPage
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

    max_norm, norm_type, scale_grad_by_freq, sparse = None, 2.0, False, False

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

    @classmethod
    def from_pretrained(
        cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None
    ) -> "Embedding":
        """A table that is there already; by default it is not learned."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        made = cls(embeddings.shape[0], embeddings.shape[1], padding_idx)
        made.weight = Parameter(embeddings, not freeze)
        return made

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


def _fill(parameter: Any, value: float) -> None:
    if parameter is not None:
        with no_grad():
            METHODS["fill_"](parameter, value)


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

    def reset_parameters(self) -> None:
        _fill(self.weight, 1.0)
        _fill(self.bias, 0.0)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        affine = f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


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
        self.elementwise_affine = elementwise_affine
        self.weight = (
            _parameter(self.normalized_shape, 1.0, dtype, device) if elementwise_affine else None
        )

    def reset_parameters(self) -> None:
        _fill(self.weight, 1.0)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)  # type: ignore[no-any-return]

    def extra_repr(self) -> str:
        affine = f"elementwise_affine={self.elementwise_affine}"
        return f"{self.normalized_shape}, eps={self.eps}, {affine}"


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


class _WithOptions(Module):
    """A function of `functional` as a layer: its options are attributes, in PyTorch's order."""

    function: str
    options: ClassVar[dict[str, Any]] = {}
    shown: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()
        given = {**dict(zip(self.options, args, strict=False)), **kwargs}
        if len(args) > len(self.options) or set(given) - set(self.options):
            raise NotInThisPage(f"this use of nn.{type(self).__name__}()")
        for name, value in {**self.options, **given}.items():
            setattr(self, name, value)

    def _chosen(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.options}

    def extra_repr(self) -> str:
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in self.shown)


class _Activation(_WithOptions):
    def forward(self, input: Tensor) -> Tensor:
        called = getattr(F, self.function, None) or FUNCTIONS[self.function]
        return called(input, **self._chosen())  # type: ignore[no-any-return]


class _InPlace(_Activation):
    options: ClassVar[dict[str, Any]] = {"inplace": False}

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    function = "relu"


class SiLU(_InPlace):
    function = "silu"


class LeakyReLU(_Activation):
    function = "leaky_relu"
    options: ClassVar[dict[str, Any]] = {"negative_slope": 0.01, "inplace": False}

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class GELU(_Activation):
    function = "gelu"
    options: ClassVar[dict[str, Any]] = {"approximate": "none"}
    shown = ("approximate",)


class Tanh(_Activation):
    function = "tanh"


class Sigmoid(_Activation):
    function = "sigmoid"


class Softmax(_Activation):
    function = "softmax"
    options: ClassVar[dict[str, Any]] = {"dim": None}
    shown = ("dim",)


class LogSoftmax(_Activation):
    function = "log_softmax"
    options: ClassVar[dict[str, Any]] = {"dim": None}
    shown = ("dim",)


class Flatten(_Activation):
    """Several neighbouring axes as one, by default all but the first."""

    function = "flatten"
    options: ClassVar[dict[str, Any]] = {"start_dim": 1, "end_dim": -1}
    shown = ("start_dim", "end_dim")


_OLD: dict[str, Any] = {"size_average": None, "reduce": None}  # what `reduction` was called


class _Loss(_WithOptions):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if any(getattr(self, name) is not None for name in _OLD):
            raise NotInThisPage("size_average and reduce of a loss")
        for name in _OLD:
            delattr(self, name)

    def _chosen(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.options if name not in _OLD}

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return getattr(F, self.function)(input, target, **self._chosen())  # type: ignore[no-any-return]


class CrossEntropyLoss(_Loss):
    function = "cross_entropy"
    options: ClassVar[dict[str, Any]] = {
        **{"weight": None, "size_average": None, "ignore_index": -100, "reduce": None},
        **{"reduction": "mean", "label_smoothing": 0.0},
    }


class NLLLoss(_Loss):
    function = "nll_loss"
    options: ClassVar[dict[str, Any]] = {
        **{"weight": None, "size_average": None, "ignore_index": -100, "reduce": None},
        "reduction": "mean",
    }


class KLDivLoss(_Loss):
    function = "kl_div"
    options: ClassVar[dict[str, Any]] = {**_OLD, "reduction": "mean", "log_target": False}


class MSELoss(_Loss):
    function = "mse_loss"
    options: ClassVar[dict[str, Any]] = {**_OLD, "reduction": "mean"}


class L1Loss(_Loss):
    function = "l1_loss"
    options: ClassVar[dict[str, Any]] = {**_OLD, "reduction": "mean"}


class _Listed(Module):
    """Modules by their numbers."""

    def _put(self, modules: Iterable[Module]) -> None:
        vars(self)["_modules"].clear()
        for place, module in enumerate(modules):
            self.add_module(str(place), module)

    def _place(self, place: int) -> int:
        if not -len(self) <= place < len(self):
            raise IndexError(f"index {place} is out of range")
        return place % len(self)

    def append(self, module: Module) -> Self:
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        for module in modules:
            self.append(module)
        return self

    def pop(self, key: int) -> Module:
        module: Module = self[key]
        del self[key]
        return module

    def __iter__(self) -> Iterator[Module]:
        return iter(vars(self)["_modules"].values())

    def __len__(self) -> int:
        return len(vars(self)["_modules"])

    def __getitem__(self, place: Any) -> Any:
        return list(self)[self._place(place)]

    def __setitem__(self, place: int, module: Module) -> None:
        self.add_module(list(vars(self)["_modules"])[self._place(place)], module)

    def __delitem__(self, place: Any) -> None:
        kept = list(self)
        del kept[place if isinstance(place, slice) else self._place(place)]
        self._put(kept)


class Sequential(_Listed):
    """Modules one after the other."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], OrderedDict):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            self._put(modules)

    def forward(self, input: Any) -> Any:
        for module in self:
            input = module(input)
        return input

    def insert(self, index: int, module: Module) -> "Sequential":
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        kept = list(self)
        kept.insert(index + len(kept) if index < 0 else index, module)
        self._put(kept)
        return self

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return Sequential(OrderedDict(list(vars(self)["_modules"].items())[place]))
        return super().__getitem__(place)


class ModuleList(_Listed):
    """Modules in a list."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())

    def insert(self, index: int, module: Module) -> None:
        kept = list(self)
        kept.insert(index, module)
        self._put(kept)

    def __iadd__(self, modules: Iterable[Module]) -> "ModuleList":
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> "ModuleList":
        return ModuleList([*self, *other])

    def __getitem__(self, place: Any) -> Any:
        return (
            ModuleList(list(self)[place])
            if isinstance(place, slice)
            else super().__getitem__(place)
        )


class ModuleDict(Module):
    """Modules in a dictionary."""

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Any) -> None:
        for name, module in dict(modules).items():
            self.add_module(name, module)

    def pop(self, key: str) -> Module:
        module: Module = self[key]
        del self[key]
        return module

    def clear(self) -> None:
        vars(self)["_modules"].clear()

    def __getitem__(self, name: str) -> Any:
        return vars(self)["_modules"][name]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __delitem__(self, name: str) -> None:
        del vars(self)["_modules"][name]

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
