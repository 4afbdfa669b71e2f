"""One function run on one case: what came out, what was raised, what became of the inputs."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from inspect import isfunction, signature
from types import FunctionType
from typing import Any

import torch

from annotated_transformer.exercises.exercise import Call, Candidate, Case, Exercise, call
from annotated_transformer.exercises.grader.pristine import original_libraries
from annotated_transformer.exercises.grader.running import Given, run_once
from annotated_transformer.exercises.grader.values import pack, to_plain, unpack

# The exception of a page's stand-in for torch: it has not what was asked for, in no dtype.
NOT_IN_THIS_PAGE = "NotInThisPage"
_DTYPE_COMPLAINT = re.compile(r"dtype|scalar type|Double|Float\b|float32|float64|without overflow")
# What NumPy says to code that is written in torch.
_WANTS_A_TENSOR = re.compile(r"numpy\.ndarray|'keepdim'|'dim'|not callable|axes don't match")


def _no_arguments(_generator: torch.Generator, _dtype: torch.dtype) -> Call:
    return call()


ANSWER_CASE = Case("answer()", _no_arguments)


def cases_of(exercise: Exercise) -> tuple[Case, ...]:
    """The cases in the order in which they are run: other shapes and dtypes come last."""
    if exercise.asks_for_answers:
        return (ANSWER_CASE,)
    return tuple(sorted(exercise.cases, key=lambda case: case.stage == "other"))


@dataclass(frozen=True)
class Failure:
    """An exception as plain text; `line` and `source` point into the code that was checked."""

    class_name: str
    message: str
    line: int | None = None
    source: str | None = None


@dataclass(frozen=True)
class Outcome:
    """value: what was returned, as plain data, unless `failure`. after: the arguments afterwards.

    gradients: of the floating arguments, where the case asks; `gradient_failure` where autograd
    raised, with class name "detached" where the output does not depend on them at all. left_torch:
    whether numbers were taken out of their tensors on the way (`.item()`, NumPy); outside_torch:
    whether the value was computed from those numbers; in_numpy: whether it was given arrays.
    """

    dtype: str
    value: Any = None
    failure: Failure | None = None
    after: Any = None
    gradients: Any = None
    gradient_failure: Failure | None = None
    left_torch: bool = False
    outside_torch: bool = False
    in_numpy: bool = False


def make_call(exercise: Exercise, index: int, dtype: torch.dtype) -> Call:
    """The arguments of case `index`, the same at every call and in every process."""
    case = cases_of(exercise)[index]
    digest = hashlib.sha256(f"{exercise.id}/{case.name}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:4], "little"))
    return case.make(generator, case.dtype or dtype)


def run_case(exercise: Exercise, index: int, function: Candidate) -> bytes:
    """Run `function` on one case; the `Outcome` as bytes. Raises nothing of its making."""
    outcome = on_what_it_takes(cases_of(exercise)[index], partial(_run, exercise, index, function))
    with original_libraries():
        return pack(outcome)


def on_what_it_takes(
    case: Case, run: Callable[[torch.dtype, bool], dict[str, Any]]
) -> dict[str, Any]:
    """The result on tensors of float64, or on what the candidate takes instead.

    On arrays where it is written in NumPy; in float32 where float64 is refused and the case leaves
    the choice. `run(dtype, arrays)` runs the case.
    """
    outcome = run(case.dtype or torch.float64, False)
    failure = _failure_of(outcome)
    if outcome.get("asks_for_arrays"):
        on_arrays = run(case.dtype or torch.float64, True)
        if _got_further(_failure_of(on_arrays), failure):
            return on_arrays
    if failure is None or failure.class_name == NOT_IN_THIS_PAGE:
        return outcome
    if case.dtype is None and _DTYPE_COMPLAINT.search(failure.message):
        second = run(torch.float32, False)
        return outcome if second.get("failure") else second
    return outcome


def _failure_of(outcome: dict[str, Any]) -> Failure | None:
    return _read_failure(outcome["failure"]) if outcome.get("failure") else None


def _got_further(on_arrays: Failure | None, before: Failure | None) -> bool:
    """Did a candidate return on arrays, or fail no earlier than before, for no lack of a tensor?"""
    if on_arrays is None or before is None:
        return on_arrays is None
    lacks_a_tensor = _WANTS_A_TENSOR.search(on_arrays.message) is not None
    return not lacks_a_tensor and (on_arrays.line or 0) >= (before.line or 0)


def outcome_of(
    exercise: Exercise, index: int, function: Candidate, dtype: str, gradients: bool = True
) -> Outcome:
    """The `Outcome` of a function of ours in this process, in the dtype a candidate was run in.

    Called inside `pristine()`. Without gradients it takes half of the time; all else is the same.
    """
    taken = _run(exercise, index, function, getattr(torch, dtype), gradients=gradients)
    return _read_outcome(to_plain(taken))


def read_outcome(data: bytes) -> Outcome:
    """The `Outcome` that `run_case` packed. Raises ValueError where the bytes are damaged."""
    return _read_outcome(unpack(data))


def _read_outcome(tree: Any) -> Outcome:
    if not isinstance(tree, dict) or not isinstance(tree.get("dtype"), str):
        raise ValueError("damaged value: no outcome")
    fields: dict[str, Any] = {name: tree.get(name) for name in Outcome.__dataclass_fields__}
    for name in ("left_torch", "outside_torch", "in_numpy"):
        fields[name] = fields[name] is True
    for name in ("failure", "gradient_failure"):
        if fields[name] is not None:
            fields[name] = _read_failure(fields[name])
    return Outcome(**fields)


def _read_failure(tree: Any) -> Failure:
    if not isinstance(tree, dict):
        raise ValueError("damaged value: no failure")
    line, source = tree.get("line"), tree.get("source")
    return Failure(
        str(tree.get("class_name")),
        str(tree.get("message")),
        line if isinstance(line, int) else None,
        str(source) if source is not None else None,
    )


def _named(exercise: Exercise, arguments: Call) -> Given:
    """The arguments; functions among them are called as in the statement, in messages too."""
    names = _parameters(exercise.reference)
    args = [_called(value, name) for value, name in zip(arguments.args, names, strict=False)]
    rest = arguments.args[len(args) :]
    return (*args, *rest), {name: _called(v, name) for name, v in arguments.kwargs.items()}


@lru_cache(maxsize=64)
def _parameters(function: Candidate) -> tuple[str, ...]:
    try:
        return tuple(signature(function).parameters)
    except (TypeError, ValueError):  # a function of a library, of which nothing is known
        return ()


def _called(value: Any, name: str) -> Any:
    if isinstance(value, (list, tuple)) and value and all(map(isfunction, value)):
        return type(value)(_called(item, f"{name}[{n}]") for n, item in enumerate(value))
    if not isfunction(value):
        return value
    space = value.__globals__, name, value.__defaults__, value.__closure__
    function = FunctionType(value.__code__, *space)
    function.__kwdefaults__ = value.__kwdefaults__
    function.__dict__.update(value.__dict__)
    function.__qualname__ = name
    return function


def _run(
    exercise: Exercise,
    index: int,
    function: Candidate,
    dtype: torch.dtype,
    arrays: bool = False,
    gradients: bool = True,
) -> dict[str, Any]:
    case = cases_of(exercise)[index]
    around = partial(partial, case.observe) if case.observe else None
    constants = case.constants if gradients and case.gradient != "ignored" else None

    def make() -> Given:
        return _named(exercise, make_call(exercise, index, dtype))

    return {
        **dict.fromkeys(Outcome.__dataclass_fields__),
        "dtype": str(case.dtype or dtype).removeprefix("torch."),
        **run_once(function, make, constants, around, arrays),
    }
