"""The libraries as they were when this package was imported, whatever has been patched since.

A notebook may hold `torch.allclose = lambda *a: True` or its own `torch.softmax`. References, named
mistakes and comparisons run inside `pristine()`, which puts the original functions back for its
duration and the replacements afterwards, so that they decide nothing. It also gives torch its
default dtype, device, grad mode and a random state of its own, all restored at the end.
"""

import builtins
import contextlib
import itertools
import json
import math
import random
from builtins import delattr, dict, id, isinstance, setattr, vars  # noqa: UP029 - bound while genuine
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy
import torch

_MODULES: tuple[ModuleType, ...] = (
    builtins,
    math,
    json,
    itertools,
    numpy,
    torch,
    torch.nn,
    torch.nn.functional,
    torch.linalg,
)
_CLASSES: tuple[type, ...] = (torch.Tensor, torch.nn.Module, torch.nn.Linear)
_SNAPSHOT: dict[int, dict[str, Any]] = {
    id(space): dict(vars(space)) for space in (*_MODULES, *_CLASSES)
}
# Names that interpreters and kernels rebind in the normal course of things; not anybody's patch.
_LEFT_ALONE = frozenset({"_", "display", "get_ipython", "input", "__IPYTHON__", "__doc__"})
_ABSENT = object()
_active: list[bool] = []  # not empty while the original functions are in place

Change = tuple[Any, str, Any, Any]  # where, name, original, replacement


def _changes() -> list[Change]:
    """Every name that differs from the snapshot; on classes also names that were added."""
    found: list[Change] = []
    for space in (*_MODULES, *_CLASSES):
        original, now = _SNAPSHOT[id(space)], vars(space)
        for name, value in original.items():
            if name not in _LEFT_ALONE and now.get(name, _ABSENT) is not value:
                found.append((space, name, value, now.get(name, _ABSENT)))
        if isinstance(space, type):  # a new name on a class shadows the inherited method
            found += [
                (space, name, _ABSENT, value)
                for name, value in dict(now).items()
                if name not in original
            ]
    return found


def _put(space: Any, name: str, value: Any) -> None:
    if value is _ABSENT:
        delattr(space, name)
    else:
        setattr(space, name, value)


@contextlib.contextmanager
def original_libraries() -> Iterator[None]:
    """Put the functions of the snapshot back for the duration of the block.

    A block within a block costs nothing: the outer one has done it.
    """
    if _active:
        yield
        return
    changes = _changes()
    for space, name, original, _ in changes:
        _put(space, name, original)
    _active.append(True)
    try:
        yield
    finally:
        _active.clear()
        for space, name, _, replacement in changes:
            _put(space, name, replacement)


def restore_libraries() -> None:
    """Put the functions of the snapshot back for good, where the next answer has no new process."""
    for space, name, original, _ in _changes():
        _put(space, name, original)


@contextlib.contextmanager
def torch_defaults() -> Iterator[None]:
    """Torch's defaults as in a new process: float32, the CPU, gradients on, nothing automatic."""
    with contextlib.ExitStack() as stack:
        stack.callback(torch.set_default_dtype, torch.get_default_dtype())
        torch.set_default_dtype(torch.float32)
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        stack.enter_context(torch.autocast("cpu", enabled=False))
        yield


@contextlib.contextmanager
def random_states_kept() -> Iterator[None]:
    """The states of torch, NumPy and Python's `random` afterwards are those before the block."""
    with contextlib.ExitStack() as stack:
        stack.callback(torch.set_rng_state, torch.get_rng_state())
        stack.callback(numpy.random.set_state, numpy.random.get_state())
        stack.callback(random.setstate, random.getstate())
        yield


@contextlib.contextmanager
def pristine() -> Iterator[None]:
    """Original libraries, torch's defaults, and random states that are restored at the end."""
    with original_libraries(), random_states_kept(), contextlib.ExitStack() as stack:
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)  # for tiny tensors a second thread only waits, long on a busy CPU
        with torch_defaults():
            yield
