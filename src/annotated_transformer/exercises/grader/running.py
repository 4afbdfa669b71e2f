"""One call of a function: what came out, what was raised, what became of its arguments.

Imports nothing that knows an exercise: instructor mode runs this where no reference can be had.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from annotated_transformer.exercises.grader.arrays import (
    holds_array,
    takes_tensors,
    taking_arrays,
    uses_numpy,
)
from annotated_transformer.exercises.grader.failures import describe_failure
from annotated_transformer.exercises.grader.pristine import original_libraries

Function = Callable[..., Any]
Given = tuple[tuple[Any, ...], dict[str, Any]]  # positional and named arguments
IN_NUMPY = {"in_numpy": True, "left_torch": True, "outside_torch": True}


def run_once(
    function: Function,
    make: Callable[[], Given],
    constants: Sequence[int] | None,
    around: Callable[[Function], Function] | None = None,
    arrays: bool = False,
) -> dict[str, Any]:
    """Call `function` on the arguments that `make` gives, once more for the gradients.

    Args:
        constants: the positions of the arguments without a gradient; None asks for no gradients.
        around: `around(function)` is called in place of the function: what observes it.
        arrays: give the function arrays in place of tensors, and no gradients: `taking_arrays`.

    Returns `value` or `failure`, `after` (the arguments afterwards), and where gradients are asked
    for `gradients` or `gradient_failure`, `left_torch` and `outside_torch`. `asks_for_arrays`: it
    is written in NumPy, and tensors were too much for it. Raises nothing of the function's.
    """
    called = taking_arrays(function) if arrays else function
    called = around(called) if around else called
    result = _called(called, make, None if arrays else constants)
    if arrays:
        return {**result, **IN_NUMPY}
    not_a_tensor = "failure" in result or holds_array(result["value"])
    if not_a_tensor and uses_numpy(function):
        with original_libraries():
            result["asks_for_arrays"] = takes_tensors(make())
    return result


def _called(
    function: Function, make: Callable[[], Given], constants: Sequence[int] | None
) -> dict[str, Any]:
    """`run_once` for what it calls."""
    result: dict[str, Any] = {}
    torch.default_generator.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    with original_libraries():
        given = make()
    try:
        result["value"] = function(*given[0], **given[1])
    except BaseException as error:  # SystemExit and KeyboardInterrupt are results too
        result["failure"] = describe_failure(error)
        return result
    result["after"] = given
    if constants is not None:
        with original_libraries():
            given = make()
        watch = _Leaving()
        try:
            result["gradients"] = _gradients(function, given, constants, watch)
        except BaseException as error:
            result["gradient_failure"] = describe_failure(error)
        result["left_torch"], result["outside_torch"] = watch.seen, watch.took_all
    return result


class detached(Exception):  # noqa: N801, N818 - its name is what the grader looks for
    """The output does not depend on the inputs as far as autograd knows."""


class _Leaving(TorchFunctionMode):
    """Notices when numbers are taken out of their tensors, where autograd cannot follow.

    seen: some were. took_all: and what was returned comes from them, not from the inputs by torch
    operations; a single `.item()` beside the way is no reason for a gradient to be missing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen = self.took_all = self._stopped = False
        self._derived: dict[int, Tensor] = {}  # by torch operations from the inputs; kept alive

    def begin(self, inputs: list[Tensor]) -> None:
        """Follow what is made of these."""
        self._derived = {id(tensor): tensor for tensor in inputs}

    def end(self, outputs: list[Tensor]) -> None:
        """This was returned; nothing where the function raised."""
        by_torch = any(id(tensor) in self._derived for tensor in outputs)
        self.took_all = self.seen and (self._stopped or (bool(outputs) and not by_torch))
        self._derived = {}

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        name, named = getattr(func, "__name__", ""), kwargs or {}
        is_way_out = name in _WAYS_OUT or (name == "tensor" and _of_tensors(args))
        self.seen = self.seen or is_way_out
        try:
            result = func(*args, **named)
        except BaseException:
            self._stopped = self._stopped or is_way_out  # NumPy takes none that wants a gradient
            raise
        if name != "tensor" and not name.startswith("new_") and not name.endswith("_like"):
            given = floating_tensors([*args, *named.values()])
            if any(id(tensor) in self._derived for tensor in given):
                made = floating_tensors([result, args[0]] if name == "__setitem__" else result)
                self._derived.update((id(tensor), tensor) for tensor in made)
        return result


_WAYS_OUT = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__bool__"}


def _of_tensors(args: Any) -> bool:
    """Are these the arguments of a `torch.tensor([[a, b], ...])` whose parts are tensors?"""
    return bool(args) and isinstance(args[0], (list, tuple)) and bool(floating_tensors(args[0]))


def _gradients(
    function: Function, given: Given, constants: Sequence[int], watch: _Leaving
) -> list[Tensor | None]:
    args = [value for number, value in enumerate(given[0]) if number not in constants]
    leaves = floating_tensors([args, given[1]])
    for leaf in leaves:
        leaf.requires_grad_(True)
    watch.begin(leaves)
    outputs: list[Tensor] = []
    try:
        with watch:
            outputs = floating_tensors(function(*given[0], **given[1]))
    finally:
        watch.end(outputs)
    with original_libraries():
        parts = [
            (output * torch.arange(1.0, output.numel() + 1).cos().reshape(output.shape)).sum()
            for output in outputs
            if output.requires_grad
        ]
        if not parts:
            raise detached("no output requires a gradient")
        total = torch.stack([part.double() for part in parts]).sum()
        return list(torch.autograd.grad(total, leaves, allow_unused=True))


def floating_tensors(tree: Any) -> list[Tensor]:
    """Every floating tensor within lists, tuples and dictionaries, in order."""
    if isinstance(tree, Tensor):
        return [tree] if tree.is_floating_point() else []
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [tensor for item in tree for tensor in floating_tensors(item)]
    return []
