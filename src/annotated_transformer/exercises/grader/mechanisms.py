"""What to say where no named mistake is found: what an input isolates, what is right already."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from annotated_transformer.exercises.grader.accidents import remark_on
from annotated_transformer.exercises.grader.compare import Tolerance, pairs, same
from annotated_transformer.exercises.grader.diagnosis import same_result
from annotated_transformer.exercises.grader.ladder import Finding, Trial
from annotated_transformer.exercises.grader.regularities import regularity_everywhere
from annotated_transformer.exercises.grader.values import Array


def mechanism(finding: Finding, trials: Sequence[Trial]) -> str | None:
    """What a usual exception means, or what the input isolates and how the numbers differ."""
    trial = finding.trial
    if trial is not None and trial.got.failure is not None:
        return remark_on(trial.got.failure, trial.exercise)
    if finding.rung == "dtype":
        return _about_dtype(str(finding.expected))
    if trial is not None and finding.rung == "type":
        return _about_type(trial)
    if trial is not None and finding.rung == "shape":
        return _about_shape(finding.expected, finding.got, trial.tolerance)
    sentences = []
    if trial is not None and finding.rung in ("values", "invariant", "finite"):
        sound = [
            other.case.isolates
            for other in trials
            if other.case.isolates
            and other.index != trial.index
            and _is_telling(other.expected.value)
            and same_result(other.expected, other.got, other.tolerance)
        ]
        if trial.case.isolates:
            sentences.append(f"This input isolates {trial.case.isolates.rstrip('.')}.")
        if sound:
            parts = [part.split(":")[0] for part in dict.fromkeys(sound)]
            sentences.append(f"Already right: {'; '.join(parts)}.")
        if regularity := regularity_everywhere(finding, trials):
            sentences.append(regularity)
    return " ".join(sentences) or None


def _is_telling(expected: Any) -> bool:
    """Is it more than zeros, which also come out where a part is missing altogether?"""
    leaves = [pair.expected for pair in pairs(expected, expected)]
    return any(
        bool(leaf.array.any()) if isinstance(leaf, Array) and leaf.array is not None else bool(leaf)
        for leaf in leaves
    )


def _about_type(trial: Trial) -> str | None:
    """Right values in a wrapping that was not asked for."""
    expected, got = trial.expected.value, trial.got.value
    if isinstance(expected, set) and isinstance(got, (list, tuple)):
        if len(got) != len(expected) or not all(item in got for item in expected):
            return None
        return f"The items are right, but in a {type(got).__name__}: `set(...)` makes it a set."
    for wrapping, advice in (
        ("a NumPy array", "`torch.from_numpy(array)` makes a tensor of it, with its dtype"),
        ("a list", "`torch.tensor(numbers)` makes a tensor of it"),
    ):
        unwrapped = _unwrapped(expected, got, wrapping)
        if unwrapped is not got and same(expected, unwrapped, trial.tolerance, any_float=True):
            return f"The values are right, but in {wrapping}: {advice}."
    return None


def _unwrapped(expected: Any, got: Any, wrapping: str) -> Any:
    """A result with its NumPy arrays, or its lists of numbers, as tensors where these belong."""
    if isinstance(expected, Array) and isinstance(got, Array) and got.form == wrapping:
        return replace(got, form="tensor")
    if isinstance(expected, Array) and isinstance(got, (list, tuple)) and wrapping == "a list":
        try:
            numbers = np.asarray(got)
        except ValueError:  # rows of different lengths
            return got
        if numbers.dtype.kind not in "biuf" or numbers.dtype.kind != np.dtype(expected.dtype).kind:
            return got
        return Array(expected.dtype, numbers.shape, numbers)
    both = isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple))
    if both and len(expected) == len(got):
        parts = [_unwrapped(a, b, wrapping) for a, b in zip(expected, got, strict=True)]
        return got if all(a is b for a, b in zip(parts, got, strict=True)) else parts
    return got


def _about_shape(expected: Any, got: Any, tolerance: Tolerance) -> str | None:
    """Right numbers in a wrong shape: which axes are in the way."""
    if not isinstance(expected, Array) or not isinstance(got, Array):
        return None
    if expected.array is None or got.array is None or expected.array.size != got.array.size:
        return None

    def right(numbers: np.ndarray[Any, Any]) -> bool:
        moved = replace(got, array=numbers, shape=numbers.shape)
        return same(expected, moved, tolerance, any_float=True)

    if len(expected.shape) == len(got.shape) <= 5 and any(
        right(got.array.transpose(order)) for order in permutations(range(len(got.shape)))
    ):
        return (
            "The numbers are right, but the axes stand in another order: `transpose` and "
            "`permute` move them, and `torch.stack(..., dim=...)` says where the new one goes."
        )
    if not right(got.array.reshape(expected.shape)):
        return None
    if np.squeeze(got.array).shape != np.squeeze(expected.array).shape:
        return "The numbers are right and in their order: `reshape` gives the shape."
    missing = len(got.shape) < len(expected.shape)
    where = "`unsqueeze` or `keepdim=True` adds it" if missing else "`squeeze` takes it away"
    return (
        f"The numbers are right, but an axis of length 1 is {'missing' if missing else 'too many'}"
        f": {where}."
    )


def _about_dtype(expected: str) -> str:
    if expected == "bool":
        return "Asked for is a boolean tensor: comparisons give one, or `dtype=torch.bool`."
    return (
        "The result has to have the dtype that the inputs ask for, in every precision: no "
        "`.float()`, and new tensors by `zeros_like(x)` or with `dtype=x.dtype`."
    )
