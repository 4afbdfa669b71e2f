"""The ladder of a check: rungs in a fixed order, of which the first that fails speaks.

Every rung looks at all main cases before the next rung is climbed, so that the most basic thing
that is wrong is said first, on the smallest case that shows it.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from annotated_transformer.exercises.exercise import Case, Exercise
from annotated_transformer.exercises.grader.compare import (
    FLOATING,
    RELATIVE,
    Pair,
    Tolerance,
    close_mask,
    exactly_same,
    pairs,
    same,
    structure_problem,
)
from annotated_transformer.exercises.grader.outcomes import Failure, Outcome, make_call
from annotated_transformer.exercises.grader.values import Array, to_plain, to_tensors

ANSWER_TOLERANCE = Tolerance(1e-2, 0.0)
IN_NUMPY = (
    "It is written in NumPy: the check handed it arrays and took arrays back. A model hands over "
    "tensors, and no gradient flows back through NumPy."
)
BY_TORCH = " A function that is trained through has to be written with torch."
OUTPUT = "['output']"  # the result itself where an observer of ours returns more beside it


@dataclass(frozen=True)
class Trial:
    """One case with what the reference gave and what the candidate gave, in the same dtype."""

    exercise: Exercise
    index: int
    case: Case
    expected: Outcome
    got: Outcome

    @property
    def tolerance(self) -> Tolerance:
        """What counts as equal here: by the dtype of the run, unless the case says otherwise."""
        relative = self.case.rtol or RELATIVE.get(self.got.dtype, 1e-5)
        return Tolerance(relative, self.case.atol)

    @property
    def pairs(self) -> list[Pair]:
        """The leaves side by side; only to be used where the structures are alike."""
        return list(pairs(self.expected.value, self.got.value))


@dataclass(frozen=True)
class Finding:
    """What a rung has to say: the sentence, and the two values to show where there are any.

    path: of the leaf that it speaks of, as in `Pair`.
    """

    rung: str
    sentence: str
    trial: Trial | None = None
    expected: Any = None
    got: Any = None
    path: str = ""


Rung = Callable[[Trial], Finding | None]


def climb(trials: Iterable[Trial]) -> Finding | None:
    """The first rung that fails, or None. Other shapes and dtypes are the last rung."""
    main = [trial for trial in trials if trial.case.stage == "main"]
    other = [trial for trial in trials if trial.case.stage == "other"]
    for rung in RUNGS:
        for trial in main:
            if finding := rung(trial):
                return finding
    for trial in other:
        for rung in RUNGS:
            if finding := rung(trial):
                sentence = f"All else is right, but on {trial.case.name}: {finding.sentence}"
                return replace(finding, rung="other", sentence=sentence)
    return None


def returns(trial: Trial) -> Finding | None:
    """It raised. The line is counted from the function's first."""
    failure = trial.got.failure
    if failure is None:
        return None
    return Finding("returns", f"Your code raised {describe(failure)}", trial)


def describe(failure: Failure) -> str:
    """An exception with its place and, for the usual accidents, what they mean."""
    place = f" in line {failure.line}" if failure.line else ""
    source = f" (`{failure.source}`)" if failure.line and failure.source else ""
    message = f": {failure.message}" if failure.message else ""
    end = "" if message.endswith((".", "!", "?")) else "."
    text = f"{failure.class_name}{place}{source}{message}{end}"
    if failure.class_name == "RecursionError":
        text += " The function calls itself without reaching an end."
    elif failure.class_name == "SystemExit":
        text += " A function returns its result; it does not leave Python."
    elif is_out_of_memory(failure):
        text += " It asked for far more memory than this exercise needs."
    return text


def is_out_of_memory(failure: Failure) -> bool:
    """Python's own MemoryError, or torch's RuntimeError of the same meaning."""
    return failure.class_name == "MemoryError" or "can't allocate memory" in failure.message


def structure(trial: Trial) -> Finding | None:
    """Type and arity of what was returned."""
    problem = structure_problem(trial.expected.value, trial.got.value)
    if problem is None:
        return None
    if trial.got.value is None:
        problem += " (is the `return` missing?)"
    sentence = f"The type of the result is wrong: {problem}.{_right_part(trial)}"
    return Finding("type", sentence, trial)


def _right_part(trial: Trial) -> str:
    """What to say where more, or less, came back than was asked for, and what came is right."""

    def agrees(one: Any, other: Any) -> bool:
        return same(one, other, trial.tolerance, any_float=True)

    expected, got = trial.expected.value, trial.got.value
    several = isinstance(got, (list, tuple))
    if several and not isinstance(expected, (list, tuple)):
        for position, item in enumerate(got):
            if agrees(expected, item):
                return f" Item {position} of it is what is asked for: return that alone."
    elif several and (_depth(got) > _depth(expected) or agrees(expected, list(_flat(got)))):
        return " An item is a list itself: `append` adds a list as one item, `extend` its items."
    elif several and agrees(list(expected), list(got[: len(expected)])):
        return f" The first {len(expected)} are right: return those alone."
    elif isinstance(expected, tuple) and not several:
        for position, item in enumerate(expected):
            if agrees(item, got):
                return f" It is item {position} of the {len(expected)} that are asked for."
    return ""


def _flat(items: Any) -> Iterator[Any]:
    """The items, and in place of a list among them its own."""
    for item in items:
        yield from item if isinstance(item, list) else [item]


def _depth(items: Any) -> int:
    """How many lists stand within each other."""
    return 1 + max(map(_depth, items), default=0) if isinstance(items, list) else 0


def shape(trial: Trial) -> Finding | None:
    """Shapes, tensor by tensor."""
    for pair in trial.pairs:
        if isinstance(pair.expected, Array):
            got = pair.got.shape if isinstance(pair.got, Array) else ()
            if got != pair.expected.shape:
                wanted = f"expected {pair.expected.shape}, got {got}"
                sentence = f"The shape{_of(trial, pair)} is wrong: {wanted}."
                return Finding("shape", sentence, trial, pair.expected, pair.got, pair.path)
    return None


def dtype(trial: Trial) -> Finding | None:
    """Dtypes, tensor by tensor."""
    for pair in trial.pairs:
        if isinstance(pair.expected, Array) and isinstance(pair.got, Array):
            expected, got = pair.expected.dtype, pair.got.dtype
            if expected != got:
                wanted = f"expected {expected}, got {got}"
                sentence = f"The dtype{_of(trial, pair)} is wrong: {wanted}."
                return Finding("dtype", sentence, trial, expected, got, pair.path)
    return None


def finite(trial: Trial) -> Finding | None:
    """NaN or infinity where the expected number is an ordinary one."""
    for pair in trial.pairs:
        expected, got = _floats(pair.expected), _floats(pair.got)
        if expected is None or got is None or expected.shape != got.shape:
            continue
        bad = np.isfinite(expected) & ~np.isfinite(got)
        if bad.any():
            kind = "NaN" if np.isnan(got[bad]).any() else "infinite"
            places = f"{int(bad.sum())} of {bad.size} places"
            sentence = f"The result{_of(trial, pair)} is {kind} at {places}."
            return Finding("finite", sentence, trial, pair.expected, pair.got, pair.path)
    return None


def untouched(trial: Trial) -> Finding | None:
    """The arguments after the call are what they were before."""
    before = make_call(trial.exercise, trial.index, getattr(torch, trial.got.dtype))
    plain = to_plain((before.args, dict(before.kwargs)))
    reference_keeps_them = exactly_same(plain, trial.expected.after)
    if reference_keeps_them and not exactly_same(plain, trial.got.after):
        sentence = (
            "The inputs were changed. Work on new tensors: operations ending in `_`, `+=`, "
            "`sort()`, `append()` and assignments into an argument change the caller's data."
        )
        return Finding("untouched", sentence, trial)
    return None


def invariants(trial: Trial) -> Finding | None:
    """The exercise's own properties, on plain tensors made from the numbers that came back."""
    if not trial.exercise.invariants:
        return None
    arguments = make_call(trial.exercise, trial.index, getattr(torch, trial.got.dtype))
    output = to_tensors(trial.got.value)
    for invariant in trial.exercise.invariants:
        try:
            holds = invariant.holds(arguments, output)
        except Exception:
            holds = True  # an output so odd that the property cannot be asked: values will tell
        if not holds:
            shown = trial.pairs[invariant.part]
            which = f" Shown is {_name(trial, shown)}." if invariant.part else ""
            sentence = invariant.sentence + which
            return Finding("invariant", sentence, trial, shown.expected, shown.got, shown.path)
    return None


def values(trial: Trial) -> Finding | None:
    """The numbers themselves, within the tolerance of the case."""
    for pair in trial.pairs:
        if same(pair.expected, pair.got, trial.tolerance, any_float=True):
            continue
        if pair.path != OUTPUT and (said := getattr(trial.case.observe, "said", None)):
            return Finding("values", said, trial, path=pair.path)
        sentence = f"The values{_of(trial, pair)} are wrong{_extent(pair, trial.tolerance)}."
        return Finding("values", sentence, trial, pair.expected, pair.got, pair.path)
    return None


def gradient(trial: Trial) -> Finding | None:
    """Gradients with respect to the floating inputs, where the case asks for them.

    Where it asks for those of torch alone, loops over plain numbers or NumPy are no wrong answer,
    nor is anywhere an operation in place that autograd refuses: a note says what they cost. What
    torch made of the inputs has a gradient, though, whatever else was done beside it.
    """
    failure, outside = trial.got.gradient_failure, trial.got.outside_torch
    if trial.case.gradient != "required" and (trial.case.gradient != "in torch" or outside):
        return None
    if failure is not None and _by_inplace(failure):
        return None
    finding = gradient_finding(trial)
    if finding is not None and outside:
        return replace(finding, sentence=finding.sentence + BY_TORCH)
    return finding


def gradient_finding(trial: Trial) -> Finding | None:
    """What is wrong with the gradients, whether or not the case requires them."""
    if trial.case.gradient == "ignored" or trial.got.failure or trial.expected.gradient_failure:
        return None
    failure = trial.got.gradient_failure
    right = failure is None and _gradients_agree(trial)
    if trial.got.in_numpy:
        return Finding("gradient", f"The values are right. {IN_NUMPY}", trial)
    if not right and (trial.got.outside_torch or (trial.got.left_torch and failure is None)):
        sentence = (
            "The values are right, but they are computed outside of torch (`.item()`, `.tolist()`, "
            "`float()`, NumPy), where no gradient can flow back: nothing before this function "
            "could be trained."
        )
        return Finding("gradient", sentence, trial)
    if failure is not None and failure.class_name == "detached":
        sentence = (
            "The values are right, but to autograd the result no longer depends on the inputs: no "
            "gradient flows back, so nothing before this function could be trained. `detach`, "
            "`.data`, `no_grad`, `.item()`, `float()` and `torch.tensor(result)` cut it off. "
            "Return what torch computed from the inputs, as it is."
        )
        return Finding("gradient", sentence, trial)
    if failure is not None and _by_inplace(failure):
        sentence = (
            "The values are right, but nothing before this function can be trained: it changes in "
            "place a tensor that the backward pass needs. Write `e = e / s` instead of `e /= s`."
        )
        return Finding("gradient", sentence, trial)
    if failure is not None:
        sentence = f"The values are right, but the backward pass raised {describe(failure)}"
        return Finding("gradient", sentence, trial)
    if not right:
        sentence = "The values are right, but their gradient with respect to the inputs is not."
        return Finding("gradient", sentence, trial)
    return None


def _gradients_agree(trial: Trial) -> bool:
    loose = Tolerance(trial.tolerance.relative * 10, trial.tolerance.absolute)
    return same(trial.expected.gradients, trial.got.gradients, loose, any_float=True)


def _by_inplace(failure: Failure) -> bool:
    """Autograd's own complaint, in its backward pass, and not raised by a line that is checked."""
    return "modified by an inplace operation" in failure.message and failure.line is None


RUNGS: tuple[Rung, ...] = (
    returns,
    structure,
    shape,
    dtype,
    finite,
    untouched,
    invariants,
    values,
    gradient,
)


def _of(trial: Trial, pair: Pair) -> str:
    return f" of {_name(trial, pair)}" if pair.path not in ("", OUTPUT) else ""


def _name(trial: Trial, pair: Pair) -> str:
    """What to call a part of the result: "`result[1]` (`weights`)" where it has a name."""
    place = re.match(r"\[(\d+)\]", pair.path)
    names = trial.exercise.returns
    name = f" (`{names[int(place[1])]}`)" if place and int(place[1]) < len(names) else ""
    return f"`result{pair.path}`{name}"


def _floats(value: Any) -> np.ndarray[Any, Any] | None:
    if isinstance(value, float):
        return np.asarray(value)
    if isinstance(value, Array) and value.dtype in FLOATING:
        return value.array
    return None


def _extent(pair: Pair, tolerance: Tolerance) -> str:
    """How much of a tensor is wrong, and the first place: " at 3 of 6 places, first at [0, 1]"."""
    expected, got = pair.expected, pair.got
    if not isinstance(expected, Array) or not isinstance(got, Array) or expected.shape == ():
        return ""
    if expected.array is None or got.array is None:
        return ""
    wrong = ~close_mask(expected, got, tolerance)
    first = [int(position) for position in np.argwhere(wrong)[0]]
    return f" at {int(wrong.sum())} of {wrong.size} places, first at {first}"
