"""Modules: objects that hold parameters, buffers and other modules."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from .. import absent
from ..arguments import must_be_bool
from ..errors import NotInThisPage, torch_error
from ..graph import no_grad
from ..operations import METHODS
from ..tensor import Tensor, fill_in

_PLACES = ("_parameters", "_buffers", "_modules")


class Parameter(Tensor):
    """A tensor that a module learns."""

    __module__ = "torch.nn.parameter"

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> "Parameter":
        if type(requires_grad) is not bool:
            said = "_make_subclass(): argument 'require_grad' (position 3)"
            raise must_be_bool(said, requires_grad)
        made: Parameter = object.__new__(cls)
        given = Tensor() if data is None else data
        fill_in(made, given._array, given._dtype)
        made._memory = given._memory
        made.requires_grad = requires_grad
        return made

    def __deepcopy__(self, _memo: Any) -> "Parameter":
        return Parameter(METHODS["detach"](self).clone(), self._wants_gradient)

    def __reduce__(self) -> Any:
        return Parameter, (METHODS["detach"](self), self._wants_gradient)

    def __repr__(self) -> str:
        return f"Parameter containing:\n{Tensor.__repr__(self)}"


class _Kind(type):
    def __getattr__(cls, name: str) -> Any:
        raise absent.of_class(cls, name, f"nn.{cls.__name__}", absent.OF_MODULE)


class Module(metaclass=_Kind):
    """The base of all layers. A subclass sets its parts in `__init__` and defines `forward`."""

    __module__ = "torch.nn.modules.module"
    training: bool
    forward: Callable[..., Any]

    def __init__(self, *_args: Any, **_kwargs: Any) -> None:
        for place in _PLACES:
            object.__setattr__(self, place, {})
        object.__setattr__(self, "training", True)
        object.__setattr__(self, "_hooks", [])

    def __setattr__(self, name: str, value: Any) -> None:
        held = vars(self)
        if isinstance(value, (Parameter, Module)) and "_parameters" not in held:
            what = "parameters" if isinstance(value, Parameter) else "module"
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")
        place = {True: "_parameters"}.get(isinstance(value, Parameter)) or (
            "_modules" if isinstance(value, Module) else None
        )
        if place is None:
            place = next((one for one in _PLACES if name in held.get(one, ())), None)
            if place == "_parameters" and value is not None:
                raise torch_error(
                    TypeError,
                    f"cannot assign '{type(value).__name__}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None expected)",
                )
        if place is None:
            object.__setattr__(self, name, value)
            return
        for other in _PLACES:
            held[other].pop(name, None)
        held.pop(name, None)
        held[place][name] = value

    def __getattr__(self, name: str) -> Any:
        held = vars(self)
        for place in _PLACES:
            if name in held.get(place, ()):
                return held[place][name]
        if name in absent.OF_MODULE or any(
            name in absent.OF_LAYERS.get(kind.__name__, ()) for kind in type(self).__mro__
        ):
            raise NotInThisPage(f"nn.{type(self).__name__}.{name}")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for place in _PLACES:
            if name in vars(self)[place]:
                del vars(self)[place][name]
                return
        object.__delattr__(self, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        output = self.forward(*args, **kwargs)
        for hook in list(vars(self)["_hooks"]):
            changed = hook(self, args, output)
            output = output if changed is None else changed
        return output

    def register_forward_hook(self, hook: Callable[..., Any]) -> "Handle":
        """Call `hook(module, inputs, output)` after every `forward`."""
        hooks = vars(self)["_hooks"]
        hooks.append(hook)
        return Handle(lambda: hooks.remove(hook))

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """A tensor that belongs to the module and is not learned."""
        held = vars(self)
        held["_buffers"][name] = tensor
        if not persistent:
            held.setdefault("_passing", set()).add(name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """A parameter by its name."""
        vars(self)["_parameters"][name] = param

    def add_module(self, name: str, module: "Module | None") -> None:
        """A module by its name."""
        if module is not None and not isinstance(module, Module):
            kind = type(module)
            name = f"{kind.__module__}.{kind.__name__}".removeprefix("builtins.")
            raise TypeError(f"{name} is not a Module subclass")
        vars(self)["_modules"][name] = module

    register_module = add_module

    def named_children(self) -> Iterator[tuple[str, "Module"]]:
        for name, module in vars(self)["_modules"].items():
            if module is not None:
                yield name, module

    def children(self) -> Iterator["Module"]:
        return (module for _, module in self.named_children())

    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, "Module"]]:
        """This module and all within, each once."""
        seen: set[int] = set()
        for name, module in self._walk(prefix):
            if id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def _walk(self, prefix: str) -> Iterator[tuple[str, "Module"]]:
        yield prefix, self
        for name, module in self.named_children():
            yield from module._walk(f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator["Module"]:
        return (module for _, module in self.named_modules())

    def _held(
        self, place: str, prefix: str, recurse: bool, repeated: bool = False
    ) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for path, module in self._walk(prefix) if recurse else [(prefix, self)]:
            for name, tensor in vars(module)[place].items():
                if tensor is not None and (repeated or id(tensor) not in seen):
                    seen.add(id(tensor))
                    yield f"{path}.{name}" if path else name, tensor

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Any]]:
        return self._held("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        return (parameter for _, parameter in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Any]]:
        return self._held("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        return (buffer for _, buffer in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> "Module":
        module: Any = self
        for name in target.split(".") if target else []:
            module = getattr(module, name)
        return module  # type: ignore[no-any-return]

    def get_parameter(self, target: str) -> Any:
        path, _, name = target.rpartition(".")
        return getattr(self.get_submodule(path), name)

    def state_dict(self) -> "OrderedDict[str, Tensor]":
        """All parameters and buffers that are kept, by their paths."""
        found: OrderedDict[str, Tensor] = OrderedDict()
        for path, module in self._walk(""):
            passing = vars(module).get("_passing", ())
            for place in _PLACES[:2]:
                for name, tensor in vars(module)[place].items():
                    if tensor is not None and name not in passing:
                        key = f"{path}.{name}" if path else name
                        found[key] = METHODS["detach"](tensor)
        return found

    def load_state_dict(self, state_dict: Any, strict: bool = True) -> None:
        """Take the numbers of all parameters and buffers from a dictionary."""
        own = self.state_dict()
        missing = [key for key in own if key not in state_dict]
        surplus = [key for key in state_dict if key not in own]
        if strict and (missing or surplus):
            said = [f"Missing key(s) in state_dict: {missing}"] if missing else []
            said += [f"Unexpected key(s) in state_dict: {surplus}"] if surplus else []
            raise torch_error(
                RuntimeError,
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(said),
            )
        with no_grad():
            for key, tensor in own.items():
                if key in state_dict:
                    METHODS["copy_"](tensor, state_dict[key])

    def train(self, mode: bool = True) -> "Module":
        """As in training (dropout on), or as in use."""
        if type(mode) is not bool:
            raise torch_error(ValueError, "training mode is expected to be boolean")
        for module in self.modules():
            object.__setattr__(module, "training", mode)
        return self

    def eval(self) -> "Module":
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> "Module":
        for parameter in self.parameters():
            METHODS["requires_grad_"](parameter, requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        for parameter in self.parameters():
            parameter.grad = None

    def apply(self, fn: Callable[["Module"], None]) -> "Module":
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> "Module":
        """All floating parameters and buffers in another dtype."""
        for _, tensor in (*self._held("_parameters", "", True), *self._held("_buffers", "", True)):
            if tensor._dtype.category >= 2:
                new = METHODS["to"](METHODS["detach"](tensor), *args, **kwargs)
                tensor.data = new
        return self

    def double(self) -> "Module":
        from ..dtypes import float64

        return self.to(float64)

    def float(self) -> "Module":
        from ..dtypes import float32

        return self.to(float32)

    def cpu(self) -> "Module":
        return self

    def extra_repr(self) -> str:
        return ""

    def __repr__(self) -> str:
        inner = [
            f"({name}): " + repr(module).replace("\n", "\n  ")
            for name, module in self.named_children()
        ]
        if not inner:
            return f"{type(self).__name__}({self.extra_repr()})"
        return f"{type(self).__name__}(\n  " + "\n  ".join(inner) + "\n)"

    def __dir__(self) -> list[str]:
        held = [name for place in _PLACES for name in vars(self)[place]]
        return [*super().__dir__(), *held]


class Handle:
    """Takes a hook away again."""

    def __init__(self, remove: Callable[[], None]) -> None:
        self.remove = remove

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()
