"""One function run on one case: what came out, what was raised, what became of the inputs."""

import hashlib
import linecache
import os
import random
import re
from dataclasses import dataclass
from types import CodeType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from annotated_transformer.exercises.exercise import Call, Candidate, Case, Exercise, call
from annotated_transformer.exercises.grader.pristine import original_libraries
from annotated_transformer.exercises.grader.values import pack, unpack

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # exercises/
_TORCH_FOLDER = os.path.dirname(os.path.abspath(torch.__file__))
_DTYPE_COMPLAINT = re.compile(r"dtype|scalar type|Double|Float\b|float32|float64|without overflow")


def _no_arguments(generator: torch.Generator, dtype: torch.dtype) -> Call:
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
    whether numbers were taken out of their tensors on the way (`.item()`, NumPy).
    """

    dtype: str
    value: Any = None
    failure: Failure | None = None
    after: Any = None
    gradients: Any = None
    gradient_failure: Failure | None = None
    left_torch: bool = False


def make_call(exercise: Exercise, index: int, dtype: torch.dtype) -> Call:
    """The arguments of case `index`, the same at every call and in every process."""
    case = cases_of(exercise)[index]
    digest = hashlib.sha256(f"{exercise.id}/{case.name}".encode()).digest()
    generator = torch.Generator().manual_seed(int.from_bytes(digest[:4], "little"))
    return case.make(generator, case.dtype or dtype)


def run_case(exercise: Exercise, index: int, function: Candidate) -> bytes:
    """Run `function` on one case and return the `Outcome` as bytes. Raises nothing of its making.

    A function that refuses float64 for its dtype is given float32 instead, where the case leaves
    the choice open.
    """
    case = cases_of(exercise)[index]
    outcome = _run(exercise, index, function, case.dtype or torch.float64)
    complaint = outcome["failure"]
    if complaint and case.dtype is None and _DTYPE_COMPLAINT.search(complaint["message"]):
        second = _run(exercise, index, function, torch.float32)
        outcome = outcome if second["failure"] else second
    with original_libraries():
        return pack(outcome)


def outcome_of(exercise: Exercise, index: int, function: Candidate, dtype: str) -> Outcome:
    """The `Outcome` of a function of ours in this process, in the dtype a candidate was run in.

    Called inside `pristine()`.
    """
    return read_outcome(pack(_run(exercise, index, function, getattr(torch, dtype))))


def read_outcome(data: bytes) -> Outcome:
    """The `Outcome` that `run_case` packed. Raises ValueError where the bytes are damaged."""
    tree = unpack(data)
    if not isinstance(tree, dict) or not isinstance(tree.get("dtype"), str):
        raise ValueError("damaged value: no outcome")
    fields: dict[str, Any] = {name: tree.get(name) for name in Outcome.__dataclass_fields__}
    fields["left_torch"] = fields["left_torch"] is True
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


def _run(exercise: Exercise, index: int, function: Candidate, dtype: torch.dtype) -> dict[str, Any]:
    case = cases_of(exercise)[index]
    outcome: dict[str, Any] = dict.fromkeys(Outcome.__dataclass_fields__)
    outcome["dtype"] = str(case.dtype or dtype).removeprefix("torch.")
    torch.default_generator.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    with original_libraries():
        arguments = make_call(exercise, index, dtype)
    try:
        outcome["value"] = _observe(case, function, arguments)
    except BaseException as error:  # SystemExit and KeyboardInterrupt are results too
        outcome["failure"] = describe_failure(error)
        return outcome
    outcome["after"] = (arguments.args, dict(arguments.kwargs))
    if case.gradient != "ignored":
        with original_libraries():
            arguments = make_call(exercise, index, dtype)
        watch = _Leaving()
        try:
            outcome["gradients"] = _gradients(case, function, arguments, watch)
        except BaseException as error:
            outcome["gradient_failure"] = describe_failure(error)
        outcome["left_torch"] = watch.seen
    return outcome


def _observe(case: Case, function: Candidate, arguments: Call) -> Any:
    if case.observe is not None:
        return case.observe(function, *arguments.args, **arguments.kwargs)
    return function(*arguments.args, **arguments.kwargs)


class detached(Exception):  # noqa: N801, N818 - its name is what the grader looks for
    """The output does not depend on the inputs as far as autograd knows."""


class _Leaving(TorchFunctionMode):
    """Notices when numbers are taken out of their tensors, where autograd cannot follow."""

    seen = False

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> object:
        name = getattr(func, "__name__", "")
        self.seen = self.seen or name in _WAYS_OUT or (name == "tensor" and _of_tensors(args))
        return func(*args, **(kwargs or {}))


_WAYS_OUT = {"item", "tolist", "numpy", "__array__", "__float__", "__int__", "__bool__"}


def _of_tensors(args: Any) -> bool:
    """Are these the arguments of a `torch.tensor([[a, b], ...])` whose parts are tensors?"""
    return bool(args) and isinstance(args[0], (list, tuple)) and bool(_floating_tensors(args[0]))


def _gradients(
    case: Case, function: Candidate, arguments: Call, watch: _Leaving
) -> list[Tensor | None]:
    leaves = _floating_tensors((arguments.args, dict(arguments.kwargs)))
    for leaf in leaves:
        leaf.requires_grad_(True)
    with watch:
        returned = _observe(case, function, arguments)
    outputs = _floating_tensors(returned)
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


def _floating_tensors(tree: Any) -> list[Tensor]:
    if isinstance(tree, Tensor):
        return [tree] if tree.is_floating_point() else []
    if isinstance(tree, dict):
        tree = list(tree.values())
    if isinstance(tree, (list, tuple)):
        return [tensor for item in tree for tensor in _floating_tensors(item)]
    return []


def describe_failure(error: BaseException) -> dict[str, Any]:
    """Class, message and place of an exception, as plain data; addresses taken out of the text."""
    try:
        message = str(error)[:2000]
    except BaseException:
        message = "(its message cannot be shown)"
    message = re.sub(r"0x[0-9a-fA-F]{6,}", "0x…", message.strip())
    line, source = _place(error)
    return {
        "class_name": type(error).__name__,
        "message": message.split("\nException raised from")[0][:400],
        "line": line,
        "source": source,
    }


def _place(error: BaseException) -> tuple[int | None, str | None]:
    """Line number within the checked function and the text of the line that raised."""
    trace = error.__traceback__
    frames: list[tuple[CodeType, int]] = []
    while trace is not None and len(frames) < 10_000:
        frames.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    ours = (_PACKAGE_FOLDER, _TORCH_FOLDER)
    inner = [frame for frame in frames if not frame[0].co_filename.startswith(ours)]
    if not inner:
        return None, None
    code, number = [f for f in inner if f[0].co_filename == inner[0][0].co_filename][-1]
    source = linecache.getline(code.co_filename, number).strip()
    shown = source if len(source) <= 90 else source[:90] + " …"
    return number - code.co_firstlineno + 1, shown or None
