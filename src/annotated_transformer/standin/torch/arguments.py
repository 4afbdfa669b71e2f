"""Arguments that PyTorch wants as True or False: a whole number there is a mistake.

`x.sum(1, 1)` and `x.mean(-1, keepdim=1)` raise TypeError. An operation's parameters that are
annotated as `bool` are such arguments.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import torch_error

Check = Callable[[Sequence[Any], Mapping[str, Any]], None]

_PYTHONS_OWN = {"inplace"}  # these are only looked at by an `if`
# PyTorch chooses among several forms of these, and then finds none that fits.
_OF_MANY_FORMS = {
    *("var", "std", "var_mean", "std_mean", "any", "all", "sort", "argsort", "to"),
    *("linalg_norm", "linalg_matrix_norm", "arange", "eye", "linspace", "logspace"),
    *("rand", "randn", "randint", "randperm", "normal", "rand_like", "randn_like", "randint_like"),
}
_FUNCTIONS_OF_MANY_FORMS = {"max", "min", "mean"}  # as methods they have one
# What PyTorch hands its own function where that has another name: function, argument, position.
_HANDED_ON = {
    ("norm", "keepdim"): "linalg_vector_norm(): argument 'keepdim' (position 4)",
    ("dropout", "training"): "dropout(): argument 'train' (position 3)",
    **{
        ("unique", name): f"_unique2(): argument '{name}'"
        for name in ("sorted", "return_inverse", "return_counts")
    },
}


def check_of_bools(name: str, signature: inspect.Signature, as_method: bool) -> Check | None:
    """What looks at a call's arguments before the operation does; None where there is no need."""
    bools = [
        (place, parameter.name, parameter.kind is not parameter.KEYWORD_ONLY)
        for place, parameter in enumerate(signature.parameters.values())
        if parameter.annotation is bool and parameter.name not in _PYTHONS_OWN
    ]
    if not bools:
        return None

    def check(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        for place, argument, positional in bools:
            if positional and place < len(args):
                given, position = args[place], place + (0 if as_method else 1)
            else:
                given, position = kwargs.get(argument, True), 0
            if type(given) is not bool:
                raise _wrong(name, argument, position, given, as_method, args, kwargs)

    return check


def _wrong(
    name: str,
    argument: str,
    position: int,
    given: Any,
    as_method: bool,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Exception:
    if name in _OF_MANY_FORMS or (name in _FUNCTIONS_OF_MANY_FORMS and not as_method):
        return no_form_fits(name, argument, args[1:] if as_method else args, kwargs)
    where = f" (position {position})" if position else ""
    said = _HANDED_ON.get((name, argument), f"{name}(): argument '{argument}'{where}")
    return must_be_bool(said, given)


def must_be_bool(said: str, given: Any) -> Exception:
    """What PyTorch says of an argument, with the name of what was given."""
    return torch_error(TypeError, f"{said} must be bool, not {_kind(given)}")


def _kind(given: Any) -> str:
    module, name = type(given).__module__, type(given).__name__
    return name if module in ("builtins", "torch") else f"{module}.{name}"


def no_form_fits(
    name: str, argument: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Exception:
    """What PyTorch says where no form of an operation takes these; its list of forms is longer."""
    kinds = [_kind(one) for one in args] + [f"{key}={_kind(one)}" for key, one in kwargs.items()]
    got = ", ".join(kinds) + (", " if not args else "")
    return torch_error(
        TypeError,
        f"{name}() received an invalid combination of arguments - got ({got}), but expected one "
        f"of:\n * (..., bool {argument}, ...)\n",
    )
