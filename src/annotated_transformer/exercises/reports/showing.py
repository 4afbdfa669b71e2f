"""Inputs and results written out for a reader, and the plain text of a report."""

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from annotated_transformer.exercises.exercise import Call, Exercise, Report
from annotated_transformer.exercises.grader.compare import Tolerance, close_mask
from annotated_transformer.exercises.grader.values import Array, Foreign

MAX_NUMBERS = 30  # of a tensor shown in full
MAX_SHOWN = 64  # rows x columns of a larger one that are shown at most
NOISE = {"float64": 1e-14, "float32": 1e-9}  # what a sum that should be 0 may come to
BLOCK = 8  # rows, and columns, of the part of a larger one


def show_call(exercise: Exercise, arguments: Call) -> str:
    """The arguments by name, one a line: small ones in full, larger ones by their shapes."""
    try:
        bound = inspect.signature(exercise.reference).bind(*arguments.args, **arguments.kwargs)
        named = dict(bound.arguments)
    except (TypeError, ValueError):
        named = {f"argument {n}": value for n, value in enumerate(arguments.args, 1)}
        named |= dict(arguments.kwargs)
    return "\n".join(f"{name} = {show_argument(value)}" for name, value in named.items())


def show_argument(value: Any) -> str:
    """One argument of a call as text."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        if value.numel() > MAX_NUMBERS:
            return f"{dtype} tensor of shape {tuple(value.shape)}"
        shape = tuple(value.shape)
        return f"{show_numbers(value.detach().float().numpy(), dtype)}  ({dtype}, shape {shape})"
    if callable(value):
        return f"a function {getattr(value, '__name__', '')}".rstrip()
    if isinstance(value, dict) and any(isinstance(item, torch.Tensor) for item in value.values()):
        return "{" + ", ".join(f"{k!r}: {show_argument(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)) and any(
        isinstance(v, torch.Tensor) or callable(v) for v in value
    ):
        return "[" + ", ".join(show_argument(item) for item in value) + "]"
    return _shortened(repr(value))


def show_value(value: Any, at: tuple[int, ...] = ()) -> str:
    """A result as text: a small tensor in full, of a large one the part around the entry `at`."""
    if isinstance(value, Array):
        if value.array is None:
            return f"{value.form} of shape {value.shape}, {value.dtype}"
        shown, what = excerpt(value.array, at)
        return f"{show_numbers(shown, value.dtype)}{what}"
    if isinstance(value, Foreign):
        return value.class_name
    if _holds_arrays(value):
        return "[" + ", ".join(show_value(item) for item in value) + "]"
    if isinstance(value, set) and value:  # in an order that is the same at every run
        return _shortened("{" + ", ".join(sorted(map(show_value, value))) + "}")
    return _shortened(repr(_rounded(value)))


def _rounded(value: Any) -> Any:
    """Plain numbers without the last digits, which are rounding errors."""
    if isinstance(value, float):
        if abs(value) < NOISE["float64"]:
            return 0.0
        return float(f"{value:.10g}") + 0.0  # and no negative zero
    if isinstance(value, (list, tuple)):
        return type(value)(_rounded(item) for item in value)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value


def without_noise(expected: Array, got: Array, tolerance: Tolerance) -> tuple[Array, Array]:
    """Both arrays with 0 for what is as good as 0: rounding errors look like results."""
    wrong = differing(expected, got, tolerance)
    if wrong is None or expected.dtype not in NOISE or got.dtype not in NOISE:
        return expected, got
    assert expected.array is not None
    assert got.array is not None
    finite = np.abs(expected.array[np.isfinite(expected.array)])
    margin = tolerance.relative * float(finite.max(initial=0.0)) / 100
    margin = max(margin, NOISE[expected.dtype], tolerance.absolute or 0.0)
    zero, zero_too = np.abs(expected.array) <= margin, (np.abs(got.array) <= margin) & ~wrong
    if (wrong & zero & (np.abs(got.array) <= margin)).any():
        return expected, got  # what differs must be seen to differ
    return (
        replace(expected, array=np.where(zero, 0, expected.array)),
        replace(got, array=np.where(zero_too, 0, got.array)),
    )


def show_pair(expected: Any, got: Any, tolerance: Tolerance) -> tuple[str, str]:
    """Both values as text; of large tensors the part in which they first differ."""
    if _holds_arrays(expected) and isinstance(got, (list, tuple)) and len(got) == len(expected):
        shown = [show_pair(*items, tolerance) for items in zip(expected, got, strict=True)]
        one, other = (f"[{', '.join(texts)}]" for texts in zip(*shown, strict=True))
        return one, other
    at = first_place(differing(expected, got, tolerance))
    if at:
        expected, got = without_noise(expected, got, tolerance)
    return show_value(expected, at), show_value(got, at)


def _holds_arrays(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and any(isinstance(item, Array) for item in value)


def _shortened(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[:limit] + " …"


def excerpt(
    array: np.ndarray[Any, Any], at: tuple[int, ...] = ()
) -> tuple[np.ndarray[Any, Any], str]:
    """The part of an array that is shown, and a remark naming the part where it is not all.

    The part is the matrix, and of a large one the block of it, that holds the entry `at`.
    """
    if array.ndim <= 2 and array.size <= MAX_SHOWN:
        return array, ""
    at = at or (0,) * array.ndim
    leading = max(array.ndim - 2, 0)
    if array.size == 0:
        return array.reshape(-1), f"  (shape {array.shape})"
    matrix = array[at[:leading]]
    starts = [place // BLOCK * BLOCK for place in at[leading:]]
    part = matrix[tuple(slice(start, start + BLOCK) for start in starts)]
    index = [str(place) for place in at[:leading]]
    if part.shape != matrix.shape:
        index += [
            f"{start or ''}:{start + size}" for start, size in zip(starts, part.shape, strict=True)
        ]
    return part, f"  (the part [{', '.join(index)}] of shape {array.shape})"


def differing(expected: Any, got: Any, tolerance: Tolerance) -> np.ndarray[Any, Any] | None:
    """Where two arrays of one shape differ, as booleans; None where they cannot be compared."""
    if not (isinstance(expected, Array) and isinstance(got, Array)):
        return None
    if expected.array is None or got.array is None or expected.shape != got.shape:
        return None
    wrong: np.ndarray[Any, Any] = ~close_mask(expected, got, tolerance)
    return wrong


def first_place(wrong: np.ndarray[Any, Any] | None) -> tuple[int, ...]:
    """The index of the first True; () where there is none."""
    if wrong is None or not wrong.any():
        return ()
    return tuple(int(place) for place in np.argwhere(wrong)[0])


def show_numbers(array: np.ndarray[Any, Any], dtype: str) -> str:
    """Numbers as nested brackets with at most four decimals, without NumPy's own options."""
    if array.ndim == 0:
        return show_number(array.item(), dtype)
    inner = [show_numbers(part, dtype) for part in array]
    return "[" + ", ".join(inner) + "]"


def show_number(value: Any, dtype: str) -> str:
    """One number: four decimals, or the scientific form where these would hide it."""
    if dtype == "bool":
        return str(bool(value))
    if dtype.startswith(("int", "uint")):
        return str(int(value))
    if isinstance(value, complex):
        return f"{value:.4g}"
    if not np.isfinite(value) or value == 0:
        return str(value + 0.0).replace("nan", "NaN")
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e5 else f"{value:.3e}"


def write_report(report: Report) -> Report:
    """The report with its `message`: all its parts as plain text."""
    return replace(report, message="\n".join(_lines(report)))


def shown_on(report: Report) -> str:
    """The line that leads to the input; the name of the case may be all there is to it."""
    if report.given == report.case:
        return f"Shown on {report.case}."
    return "The input:" if report.rung == "other" else f"Shown on {report.case}:"


def printed(report: Report) -> str:
    """The start of what the candidate printed on the input that is shown."""
    return _shortened(report.printed.strip())


def where_printed(report: Report) -> str:
    """On the input that is shown, where one is."""
    return " on this input" if report.given else ""


def both_as_text(report: Report) -> list[str]:
    """What was expected and what came, a line each."""
    expected, got = show_pair(report.expected, report.got, report.tolerance)
    return [f"Expected: {expected}", f"Got:      {got}"]


def _lines(report: Report) -> list[str]:
    if report.rung == "unknown exercise":
        return [report.finding]
    state = "passed" if report.passed else "not yet right" if report.attempted else "to do"
    lines = [f"{report.exercise_id} ({report.title}): {state}", report.finding]
    lines += [shown_on(report)] if report.given else []
    if report.given and report.given != report.case:
        lines += [f"    {line}" for line in report.given.splitlines()]
    if report.expected is not None:
        lines += both_as_text(report)
    if report.diagnosis:
        lines.append(f"Why: {report.diagnosis}")
    if report.printed and not report.passed:
        lines.append(f"Your code printed{where_printed(report)}: {printed(report)}")
    lines += [f"Note: {note}" for note in report.notes]
    if report.next_hint:
        lines.append(report.next_hint)
    return lines
