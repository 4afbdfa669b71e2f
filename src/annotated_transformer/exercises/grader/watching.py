"""What a function computes on its way: which torch operations it calls, with what shapes.

Where a notebook is graded the function runs in another process, which has no exercise in it. So
what is seen is written down there as plain text, and what it means is asked afterwards, here. It is
told by the process that runs the function: it holds against mistakes, not against forgery.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

Notice = Callable[[str, tuple[Any, ...], Any], int]  # name, arguments, result -> how bad, 0: not
MAX_OPERATIONS = 5_000  # different ones, in one call
_PARTS, _ITEMS, _SIZES, _NO_TENSOR, _SEVERAL = "|", ";", ",", "-", "*"


@dataclass(frozen=True)
class Shaped:
    """All that is known of a tensor that was seen."""

    shape: tuple[int, ...]


class _Watch(TorchFunctionMode):
    """Writes down every operation as text, once for each combination of shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: dict[str, None] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        result = func(*args, **(kwargs or {}))
        if len(self.seen) < MAX_OPERATIONS:
            several = isinstance(result, (tuple, list))
            results = _written(tuple(result) if several else (result,))
            given = _written((*args, *(kwargs or {}).values()))
            mark = _SEVERAL if several else ""
            name = getattr(func, "__name__", "")
            self.seen[_PARTS.join((name, given, mark, results))] = None
        return result


def watched(function: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """The function as one that returns its output and the operations that it called, as text."""

    def call(*args: Any, **kwargs: Any) -> dict[str, Any]:
        watch = _Watch()
        with watch:
            output = function(*args, **kwargs)
        return {"output": output, "operations": list(watch.seen)}

    return call


@dataclass(frozen=True)
class ResultAnd:
    """An observer for a case: the output, and the worst that `notice` found in any operation.

    `said`: what a report says where the output is right and the rest is not.
    """

    what: str
    notice: Notice
    said: str

    def __call__(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        return self.of(watched(function)(*args))

    def of(self, told: Any) -> dict[str, Any]:
        """The same from what `watched` told. Raises ValueError where it is nothing of the kind."""
        if not isinstance(told, dict) or not isinstance(told.get("operations"), list):
            raise ValueError("damaged value: no operations")
        seen = [int(self.notice(*_read(str(text)))) for text in told["operations"]]
        return {"output": told.get("output"), self.what: max(seen, default=0)}


def result_and(what: str, notice: Notice, said: str) -> ResultAnd:
    """An observer that says besides the output the worst that `notice` found in any operation."""
    return ResultAnd(what, notice, said)


def shape_of(value: Any) -> tuple[int, ...]:
    """The shape of a tensor, () for anything else."""
    return tuple(value.shape) if isinstance(value, (Tensor, Shaped)) else ()


def _written(values: tuple[Any, ...]) -> str:
    return _ITEMS.join(
        _SIZES.join(map(str, value.shape)) if isinstance(value, Tensor) else _NO_TENSOR
        for value in values
    )


def _read(text: str) -> tuple[str, tuple[Any, ...], Any]:
    name, given, several, results = text.split(_PARTS)
    found = _things(results)
    return name, _things(given), found if several else found[0]


def _things(text: str) -> tuple[Shaped | None, ...]:
    return tuple(
        None
        if item == _NO_TENSOR
        else Shaped(tuple(int(size) for size in item.split(_SIZES) if size))
        for item in text.split(_ITEMS)
    )
