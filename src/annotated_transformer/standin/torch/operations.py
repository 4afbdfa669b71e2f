"""What every operation has in common: it can be watched, and its own faults are told as such.

`operation` puts a function into `FUNCTIONS` (which become `torch.*`) and `METHODS` (those of
`Tensor`). Called, it asks the innermost `TorchFunctionMode` first, as PyTorch does: with one
operation of several steps, only the outermost is seen.
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .arguments import check_of_bools
from .errors import NotInThisPage, is_torchs, must_be_tensor, torch_error

FUNCTIONS: dict[str, Callable[..., Any]] = {}
METHODS: dict[str, Callable[..., Any]] = {}
F = TypeVar("F", bound=Callable[..., Any])
_NUMPYS_NAMES = {"axis": "dim", "keepdims": "keepdim"}  # PyTorch takes these too
_SEVERAL = {"shape", "size", "dims", "repeats"}  # may also be given as one tuple, by their names
# NumPy calls these with out=None, and does them itself where they refuse that.
_NUMPYS_OUT = {"argmax", "argmin", "clamp", "cumsum", "cumprod", "round"}
_EXACT = {"transpose", "unsqueeze"}  # these take no more arguments than they need
_modes: list["TorchFunctionMode"] = []


class TorchFunctionMode:
    """Within the `with` block, `__torch_function__` is called in place of every operation."""

    def __init__(self) -> None:
        pass

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        return func(*args, **(kwargs or {}))

    def __enter__(self) -> "TorchFunctionMode":
        _modes.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _modes.remove(self)


class DisableTorchFunction:
    """No mode is told of anything in the block."""

    def __enter__(self) -> None:
        self._before = list(_modes)
        _modes.clear()

    def __exit__(self, *_: object) -> None:
        _modes[:] = self._before


class TensorKind:
    """What `operation` knows of a tensor; `Tensor` is the one subclass."""


def operation(
    *names: str, function: bool = True, method: bool = True, guarded: bool = True
) -> Callable[[F], F]:
    """Make a function an operation.

    Args:
        names: what it is called, where that is not the function's own name.
        function: is it there as `torch.name`?
        method: is it there as `Tensor.name`?
        guarded: False where a learner's own function is called within, whose errors are no gaps.
    """

    def decorate(make: F) -> F:
        name = names[0] if names else make.__name__
        signature = inspect.signature(make)
        first = next(iter(signature.parameters), "")

        def made(as_method: bool) -> Callable[..., Any]:
            checked = _guarded(make, name, first, signature, as_method) if guarded else make
            call = observed(name, checked)
            call.__doc__ = make.__doc__
            return call

        call = made(as_method=method and not function)
        of_tensor = made(as_method=True) if method and function else call
        for one in names or (name,):
            if function:
                FUNCTIONS[one] = call
            if method:
                METHODS[one] = of_tensor
        return of_tensor  # type: ignore[return-value]

    return decorate


def observed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as one of which a mode is told, by this name."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not _modes:
            return function(*args, **kwargs)
        mode = _modes.pop()
        try:
            return mode.__torch_function__(call, (), args, kwargs)
        finally:
            _modes.append(mode)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "torch"
    return call


def _guarded(
    function: Callable[..., Any],
    name: str,
    first: str,
    signature: inspect.Signature,
    as_method: bool,
) -> Callable[..., Any]:
    """The function with PyTorch's errors let through, and any other told as a gap."""
    kind = signature.parameters[first].annotation if first == "input" else None
    wants_tensor = isinstance(kind, type) and issubclass(kind, TensorKind)
    check_bools = check_of_bools(name, signature, as_method)
    several = next((p.name for p in signature.parameters.values() if _is_several(p)), "")

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            kwargs = {
                _NUMPYS_NAMES.get(key, key)
                if key not in signature.parameters
                and _NUMPYS_NAMES.get(key, "") in signature.parameters
                else key: value
                for key, value in kwargs.items()
            }
        if name in _NUMPYS_OUT and kwargs.get("out", 0) is None:
            raise torch_error(TypeError, f"{name}() got an unexpected keyword argument 'out'")
        if several in kwargs:
            args, kwargs = _several_by_name(name, several, args, kwargs)
        elif several and wants_tensor and not as_method:
            _must_be_a_tuple(name, several, args[1:])
        if wants_tensor and args and not isinstance(args[0], TensorKind):
            raise must_be_tensor(name, "input", 1, args[0])
        if check_bools:
            check_bools(args, kwargs)
        try:
            with np.errstate(all="ignore"):
                return function(*args, **kwargs)
        except Exception as error:
            if is_torchs(error):
                raise
            if name in _EXACT and len(args) > len(signature.parameters):
                raise _too_many(name, len(signature.parameters), len(args), as_method) from error
            raise _told(name, signature, args, kwargs, error) from error

    return call


def _is_several(parameter: inspect.Parameter) -> bool:
    return parameter.kind is parameter.VAR_POSITIONAL and parameter.name in _SEVERAL


def _several_by_name(
    name: str, several: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """`x.reshape(shape=(2, 3))` as `x.reshape((2, 3))`."""
    rest = dict(kwargs)
    given = rest.pop(several)
    if not isinstance(given, (tuple, list)):
        raise NotInThisPage(f"this use of {name}()")
    return (*args, given), rest


def _must_be_a_tuple(name: str, several: str, given: tuple[Any, ...]) -> None:
    """`torch.permute` and its kin take one tuple, where the methods take several numbers too."""
    if len(given) > 1:
        raise torch_error(
            TypeError, f"{name}() takes 2 positional arguments but {len(given) + 1} were given"
        )
    if given and not isinstance(given[0], (tuple, list)):
        raise torch_error(
            TypeError,
            f"{name}(): argument '{several}' (position 2) must be tuple of ints, not "
            f"{type(given[0]).__name__}",
        )


def _too_many(name: str, takes: int, given: int, as_method: bool) -> Exception:
    less = 1 if as_method else 0
    plural = "" if takes - less == 1 else "s"
    return torch_error(
        TypeError,
        f"{name}() takes {takes - less} positional argument{plural} but {given - less} were given",
    )


def _told(
    name: str,
    signature: inspect.Signature,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: Exception,
) -> BaseException:
    """What an error of the stand-in's own is: an argument left out, or a gap."""
    needed = [
        parameter.name
        for parameter in signature.parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    missing = [one for one in needed[len(args) :] if one not in kwargs]
    if missing:
        listed = ", ".join(f'"{one}"' for one in missing)
        return torch_error(
            TypeError, f"{name}() missing {len(missing)} required positional arguments: {listed}"
        )
    return NotInThisPage(f"this use of {name}() ({type(error).__name__}: {error})")
