"""Comparisons of plain data (see `values`): structure, closeness, aligned pairs of leaves.

Called inside `pristine()`, so that a patch made in a notebook (`numpy.isfinite`, `builtins.all`)
changes none of these answers.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from annotated_transformer.exercises.grader.values import Array, Foreign

RELATIVE = {
    "float64": 1e-5,
    "complex128": 1e-5,
    "float32": 1e-4,
    "complex64": 1e-4,
    "float16": 2e-2,
    "bfloat16": 2e-2,
}
FLOATING = frozenset(RELATIVE)
Numbers = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Tolerance:
    """relative: to each expected number. absolute: None takes relative / 100 of the largest."""

    relative: float = 1e-5
    absolute: float | None = None

    def within(self, expected: Numbers, got: Numbers) -> Numbers:
        """Elementwise: is `got` close? NaN equals NaN, and an infinity equals itself only."""
        with np.errstate(all="ignore"):
            finite = np.isfinite(expected) & np.isfinite(got)
            size = np.abs(expected)
            largest = float(size[np.isfinite(expected)].max(initial=0.0))
            margin = self.relative * largest / 100 if self.absolute is None else self.absolute
            close = np.abs(got - expected) <= margin + self.relative * size
            same_kind = (expected == got) | ((expected != expected) & (got != got))
        result: Numbers = (close & finite) | (same_kind & ~finite)
        return result


@dataclass(frozen=True)
class Pair:
    """Two leaves at the same place; `path` names the place within what was returned, or is ""."""

    path: str
    expected: Any
    got: Any


def close_mask(expected: Array, got: Array, tolerance: Tolerance) -> Numbers:
    """Elementwise closeness of two arrays of one shape; integers and booleans exactly."""
    assert expected.array is not None
    assert got.array is not None
    if expected.dtype not in FLOATING and got.dtype not in FLOATING:
        equal: Numbers = expected.array == got.array
        return equal
    wider = Tolerance(
        max(tolerance.relative, RELATIVE.get(expected.dtype, 0.0)), tolerance.absolute
    )
    return wider.within(_numbers(expected.array), _numbers(got.array))


def _numbers(array: Numbers) -> Numbers:
    if array.dtype.kind in "fc":
        return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
    return array.astype(np.float64)


def same(expected: Any, got: Any, tolerance: Tolerance, any_float: bool = False) -> bool:
    """Equal structure and close numbers. Lists equal tuples, a 0-d tensor equals its number.

    any_float: also equal when the dtypes are different floating dtypes.
    """
    if isinstance(expected, Array) and isinstance(got, Array):
        dtypes = expected.dtype == got.dtype or (
            any_float and expected.dtype in FLOATING and got.dtype in FLOATING
        )
        if not dtypes or expected.shape != got.shape or expected.form != got.form:
            return False
        if expected.array is None or got.array is None:
            return expected.array is got.array
        return bool(close_mask(expected, got, tolerance).all())
    expected, got = as_number(expected), as_number(got)
    if isinstance(expected, (list, tuple)) and isinstance(got, (list, tuple)):
        return len(expected) == len(got) and all(
            same(a, b, tolerance, any_float) for a, b in zip(expected, got, strict=True)
        )
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(
            same(expected[key], got[key], tolerance, any_float) for key in expected
        )
    if is_number(expected) and is_number(got):
        if isinstance(expected, int) and isinstance(got, int):
            return expected == got
        return close_numbers(expected, got, tolerance)
    if isinstance(expected, Foreign) and isinstance(got, Foreign):
        return expected.class_name == got.class_name
    return type(expected) is type(got) and bool(expected == got)


def close_numbers(expected: float, got: float, tolerance: Tolerance) -> bool:
    """Two plain numbers. The absolute margin is relative / 100 of the expected one at most."""
    one, other = np.asarray([_as_float(expected)]), np.asarray([_as_float(got)])
    return bool(tolerance.within(one, other).all())


def _as_float(number: float) -> float:
    """A whole number too large for a float is as good as infinite."""
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def exactly_same(before: Any, after: Any) -> bool:
    """Equal to the bit, for inputs that must be left untouched."""
    if isinstance(before, Array) and isinstance(after, Array):
        if before.array is None or after.array is None:
            return before.shape == after.shape
        return before.dtype == after.dtype and np.array_equal(
            before.array, after.array, equal_nan=before.dtype in FLOATING
        )
    if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
        return len(before) == len(after) and all(map(exactly_same, before, after))
    if isinstance(before, dict) and isinstance(after, dict):
        return before.keys() == after.keys() and all(
            exactly_same(before[key], after[key]) for key in before
        )
    if isinstance(before, Foreign) and isinstance(after, Foreign):
        return True
    return bool(before == after) or (before != before and after != after)


def is_number(value: Any) -> bool:
    """An int or a float, but not a bool."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_number(value: Any) -> Any:
    """A 0-d array as its Python number; everything else as it is."""
    if isinstance(value, Array) and value.shape == () and value.array is not None:
        return value.array.item()
    return value


def pairs(expected: Any, got: Any, path: str = "") -> Iterator[Pair]:
    """The leaves of two structures that `structure_problem` found alike, side by side.

    A list of plain things is one leaf: a reader compares it as a whole.
    """
    if isinstance(expected, dict) and isinstance(got, dict):
        for key in expected:
            yield from pairs(expected[key], got[key], f"{path}[{key!r}]")
    elif isinstance(expected, (list, tuple)) and _holds_tensors(expected):
        if len(expected) == len(got):
            for position, (a, b) in enumerate(zip(expected, got, strict=True)):
                yield from pairs(a, b, f"{path}[{position}]")
        else:
            yield Pair(path, expected, got)
    else:
        yield Pair(path, expected, got)


def _holds_tensors(items: Any) -> bool:
    return any(isinstance(item, (Array, dict, tuple, list)) and _has_array(item) for item in items)


def _has_array(item: Any) -> bool:
    if isinstance(item, dict):
        item = list(item.values())
    if isinstance(item, (list, tuple)):
        return any(_has_array(part) for part in item)
    return isinstance(item, Array)


def structure_problem(expected: Any, got: Any, where: str = "") -> str | None:
    """Why `got` is of the wrong type or arity, as the rest of "Expected ...", or None.

    The length of a list is a matter of values, that of a tuple one of arity.
    """
    place = f" at {where}" if where else ""
    problem = f"expected {kind_of(expected)}{place}, got {kind_of(got)}"
    if isinstance(expected, Array):
        if isinstance(got, Array):
            return None if got.form == "tensor" else problem
        number = is_number(got) or isinstance(got, bool)
        return None if expected.shape == () and number else problem
    if isinstance(expected, (list, tuple)):
        if not isinstance(got, (list, tuple)):
            return problem
        if isinstance(expected, tuple) and len(got) != len(expected):
            return problem
        for position, (a, b) in enumerate(zip(expected, got, strict=False)):
            if inner := structure_problem(a, b, f"{where}[{position}]"):
                return inner
        return None
    if isinstance(expected, dict):
        return _dict_problem(expected, got, where) if isinstance(got, dict) else problem
    got = as_number(got)
    if is_number(expected):
        return None if is_number(got) else problem
    return None if type(got) is type(expected) else problem


def _dict_problem(expected: dict[Any, Any], got: dict[Any, Any], where: str) -> str | None:
    missing = [repr(key) for key in expected if key not in got]
    surplus = [repr(key) for key in got if key not in expected]
    if missing:
        return f"the returned dict has no entry {', '.join(missing)}"
    if surplus:
        return f"the returned dict has an entry that was not asked for: {', '.join(surplus)}"
    for key in expected:
        if inner := structure_problem(expected[key], got[key], f"{where}[{key!r}]"):
            return inner
    return None


def kind_of(value: Any) -> str:
    """What a thing is, for a sentence: "a tensor of shape (2, 3)", "a tuple of 2", "None"."""
    if isinstance(value, Array):
        if value.form != "tensor":
            return f"{value.form} of shape {value.shape}"
        return f"a tensor of shape {value.shape}"
    if isinstance(value, Foreign):
        article = "" if value.class_name.startswith(("a ", "an ")) else "an object of class "
        return f"{article}{value.class_name}"
    if value is None or value is Ellipsis:
        return "None" if value is None else "`...`"
    if isinstance(value, (list, tuple, set)):
        return f"a {type(value).__name__} of {len(value)}"
    names = {bool: "a bool", int: "an int", float: "a float", str: "a string", dict: "a dict"}
    return names.get(type(value), type(value).__name__)
