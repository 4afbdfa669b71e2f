"""Inputs and results written out for a reader, and the plain text of a report."""

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from annotated_transformer.exercises.exercise import Call, Exercise, Report
from annotated_transformer.exercises.values import Array, Foreign

MAX_NUMBERS = 30  # of a tensor shown in full
MAX_SHOWN = 64  # rows x columns of a larger one that are shown at most


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
    if isinstance(value, (list, tuple)) and any(isinstance(v, torch.Tensor) for v in value):
        return "[" + ", ".join(show_argument(item) for item in value) + "]"
    return _shortened(repr(value))


def show_value(value: Any) -> str:
    """A result as text: the numbers of a small tensor, of a large one the first matrix."""
    if isinstance(value, Array):
        if value.array is None:
            return f"{value.form} of shape {value.shape}, {value.dtype}"
        shown, what = excerpt(value.array)
        text = show_numbers(shown, value.dtype)
        return f"{text}{what}"
    if isinstance(value, Foreign):
        return value.class_name
    if isinstance(value, (list, tuple)) and any(isinstance(item, Array) for item in value):
        return "[" + ", ".join(show_value(item) for item in value) + "]"
    return _shortened(repr(value))


def _shortened(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[:limit] + " …"


def excerpt(array: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], str]:
    """The part of an array that is shown, and a remark naming the part where it is not all."""
    if array.ndim <= 2 and array.size <= MAX_SHOWN:
        return array, ""
    matrix, index = array, []
    while matrix.ndim > 2:
        index.append("0")
        matrix = matrix[0] if len(matrix) else matrix.reshape(-1)
    part = matrix[tuple(slice(0, 8) for _ in range(matrix.ndim))]
    if part.shape != matrix.shape:
        index += [f":{size}" for size in part.shape]
    return part, f"  (the part [{', '.join(index)}] of shape {array.shape})"


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
        return str(value).replace("nan", "NaN")
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e5 else f"{value:.3e}"


def write_report(report: Report) -> Report:
    """The report with its `message`: all its parts as plain text."""
    return replace(report, message="\n".join(_lines(report)))


def shown_on(report: Report) -> str:
    """The line that leads to the input; the name of the case may be all there is to it."""
    if report.given == report.case:
        return f"Shown on {report.case}."
    return "The input:" if report.rung == "other" else f"Shown on {report.case}:"


def _lines(report: Report) -> list[str]:
    if report.rung == "unknown exercise":
        return [report.finding]
    state = "passed" if report.passed else "not yet right" if report.attempted else "to do"
    lines = [f"{report.exercise_id} ({report.title}): {state}", report.finding]
    lines += [shown_on(report)] if report.given else []
    if report.given and report.given != report.case:
        lines += [f"    {line}" for line in report.given.splitlines()]
    if report.rung in ("values", "finite", "invariant", "other") and report.expected is not None:
        lines.append(f"Expected: {show_value(report.expected)}")
        lines.append(f"Got:      {show_value(report.got)}")
    if report.diagnosis:
        lines.append(f"Why: {report.diagnosis}")
    if report.printed and not report.passed:
        lines.append(f"Your code printed: {_shortened(report.printed.strip())}")
    lines += [f"Note: {note}" for note in report.notes]
    if report.next_hint:
        lines.append(report.next_hint)
    return lines
