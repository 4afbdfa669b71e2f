"""Answers that are written in NumPy: they are given arrays, and what they give back is a tensor.

Imports nothing that knows an exercise: instructor mode runs this where no reference can be had.
"""

import dis
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.exercises.grader.pristine import original_libraries
from annotated_transformer.exercises.grader.values import UNOBSERVED

MAX_DEPTH = 5
MAX_LEAVES = 10_000
Function = Callable[..., Any]
Convert = Callable[[Any], Any]


def uses_numpy(function: Any) -> bool:
    """Does a function name NumPy, or one that it calls of its own module or that it encloses?

    Read from the code alone: nothing of the candidate's is run.
    """
    seen: set[CodeType] = set()
    waiting = [function]
    while waiting:
        one = _plain_function(waiting.pop())
        if one is None or one.__code__ in seen:
            continue
        seen.add(one.__code__)
        steps = list(_steps(one.__code__))
        if any(s.opname == "IMPORT_NAME" and _is_of_numpy(s.argval) for s in steps):
            return True
        named = [one.__globals__.get(s.argval) for s in steps if s.opname == "LOAD_GLOBAL"]
        enclosed = [cell.cell_contents for cell in one.__closure__ or () if _is_filled(cell)]
        if any(_is_of_numpy(_home(value)) for value in (*named, *enclosed)):
            return True
        space = one.__globals__
        waiting += [f for f in named if type(f) is FunctionType and f.__globals__ is space]
        waiting += [f for f in enclosed if type(f) in (FunctionType, MethodType, partial)]
    return False


def _plain_function(function: Any) -> FunctionType | None:
    """The function behind a `partial`, a method or an object that can be called."""
    while type(function) in (partial, MethodType):
        function = function.func if type(function) is partial else function.__func__
    if type(function) is not FunctionType:
        function = vars(type(function)).get("__call__")
    return function if type(function) is FunctionType else None


def _steps(code: CodeType) -> Iterator[dis.Instruction]:
    """The instructions of a function and of those that are defined within it."""
    yield from dis.get_instructions(code)
    for constant in code.co_consts:
        if type(constant) is CodeType:
            yield from _steps(constant)


def _is_filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:  # a name that has no value yet
        return False
    return True


def _home(value: Any) -> str:
    """The module that a value comes from."""
    kind = type(value)
    if kind is ModuleType:
        return str(value.__name__)
    if kind in (FunctionType, BuiltinFunctionType, type):
        return str(value.__module__)
    return str(kind.__module__)


def _is_of_numpy(module: str) -> bool:
    return module.partition(".")[0] == "numpy"


def takes_tensors(tree: Any) -> bool:
    """Is a tensor, or a function that may take one, among these arguments?"""
    return any(isinstance(leaf, Tensor) or callable(leaf) for leaf in _leaves(tree))


def holds_array(tree: Any) -> bool:
    """Is a NumPy array among these results?"""
    return any(type(leaf) is np.ndarray for leaf in islice(_leaves(tree), MAX_LEAVES))


def _leaves(tree: Any, depth: int = 0) -> Iterator[Any]:
    """What stands in lists, tuples and dictionaries; these may hold each other without end."""
    if type(tree) is dict:
        tree = list(tree.values())
    if type(tree) not in (list, tuple) or depth > MAX_DEPTH:
        yield tree
        return
    for item in tree:
        yield from _leaves(item, depth + 1)


def taking_arrays(function: Function) -> Function:
    """The function as one of tensors: it is given arrays, and its arrays come back as tensors.

    Functions among its arguments are, for it, functions of arrays.
    """
    return _between(function, _as_arrays, _as_tensors)


def _between(function: Function, inward: Convert, outward: Convert) -> Function:
    def call(*args: Any, **kwargs: Any) -> Any:
        with original_libraries(), UNOBSERVED():
            given = inward(args), inward(kwargs)
        result = function(*given[0], **given[1])
        with original_libraries(), UNOBSERVED():
            return outward(result)

    return call


def _as_arrays(value: Any) -> Any:
    """Tensors as arrays in the same memory; of bfloat16, which NumPy lacks, as float32."""
    if isinstance(value, Tensor):
        return (value.float() if value.dtype == torch.bfloat16 else value).numpy()
    if callable(value):
        return _between(value, _as_tensors, _as_arrays)
    return _within(value, _as_arrays)


def _as_tensors(value: Any) -> Any:
    """Arrays as tensors of the same dtype, those whose dtype torch lacks as they are."""
    if type(value) is np.ndarray:
        try:
            return torch.from_numpy(value.copy())
        except TypeError:
            return value
    return _within(value, _as_tensors)


def _within(value: Any, convert: Convert) -> Any:
    """Lists, tuples and dictionaries with their items converted."""
    if type(value) in (list, tuple):
        return type(value)(convert(item) for item in value)
    if type(value) is dict:
        return {key: convert(item) for key, item in value.items()}
    return value
