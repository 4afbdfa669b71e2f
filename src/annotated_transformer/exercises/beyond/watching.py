"""What a function computes on its way: which torch operations it calls, with what shapes."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

Notice = Callable[[str, tuple[Any, ...], Any], bool]  # name, arguments, result -> seen


class _Watch(TorchFunctionMode):
    def __init__(self, notice: Notice) -> None:
        super().__init__()
        self.notice, self.seen = notice, False

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        self.seen = self.seen or self.notice(name, (*args, *(kwargs or {}).values()), result)
        return result


def result_and(what: str, notice: Notice) -> Callable[..., dict[str, Any]]:
    """An observer for a case: the output, and whether `notice` held for any operation."""

    def observe(function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        watch = _Watch(notice)
        with watch:
            output = function(*args)
        return {"output": output, what: watch.seen}

    return observe


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a tensor, () for anything else."""
    return tuple(value.shape) if isinstance(value, Tensor) else ()
