"""What an exercise is: statement, cases, reference, named mistakes; and the report a check gives.

Each topic is a package (`content/attention/`, `content/masks/`) with one module an exercise, whose
`__init__.py` lists them in a tuple `EXERCISES`. How to write one, in short (complete example:
`masks.causal` in `content/masks/causal.py`):

* **Cases** are the inputs, ordered from the smallest and most telling to the most general. Include
  length 1 (`isolates="the value path"`), a non-square input with batch > 1, a mask that matters, a
  fully masked row. A case with `stage="other"` (float32, more batch axes, non-contiguous input) is
  looked at only when everything else is right.
* **Mistakes** are wrong implementations with the same signature, most of them the reference with
  lines changed, as a page beside the exercise says (`bank.page`). Each must give, on at
  least one case, something else than the reference, and over all cases something else than every
  other mistake. `tests/exercises/test_exercises_mutation.py` checks both for every exercise.
* **Alternatives** are at least two correct implementations written differently.
* An exercise of kind "test" is another one turned round: see `content.turned`.
* Functions that return named answers (`answer() -> dict`) have no cases: the reference returns
  the expected dictionary and a mistake returns a dictionary of one or more wrong values, for the
  keys it is about. Every wrong key is looked up on its own, so all wrong keys are named.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import torch

from annotated_transformer.exercises.grader.compare import Tolerance

Kind = Literal["code", "shape", "number", "gradient", "derivation", "debug", "test"]
Stage = Literal["main", "other"]
Gradient = Literal["ignored", "noted", "in torch", "required"]
Candidate = Callable[..., Any]


@dataclass(frozen=True)
class Call:
    """The arguments of one call of the candidate. Made by `call(...)`."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)


def call(*args: Any, **kwargs: Any) -> Call:
    """The arguments of one call: `call(x, dim=0)`. Tensors, numbers, lists, dicts, callables."""
    return Call(args, kwargs)


@dataclass(frozen=True)
class Case:
    """One input on which the candidate is compared with the reference.

    name: how a message calls the input, continuing "On ...": "x of shape (2, 3)",
        "a batch of 2 with 3 queries and 5 keys". Give sizes; make small inputs small enough to
        read, since a message shows them in full up to about 30 numbers.
    make: `make(generator, dtype) -> call(...)`. Draw every random number from `generator` (seeded
        from the exercise and the case, so that it never changes) and make floating tensors of
        `dtype`. Called afresh for every run, so nothing can leak from one run into another.
        Arguments may be callables and may keep state; they are made anew for each run.
    isolates: the one mechanism that this case leaves standing, as the end of the sentence "This
        input isolates ...": "the value path: with one key its weight must be 1". Said when
        the values are wrong here and no named mistake matches. Of an exercise of kind "test": what
        is wrong with this implementation.
    stage: "main", or "other" for other shapes and dtypes, the last rung of the ladder.
    dtype: a fixed dtype for this case; None lets the grader choose (float64, or float32 for a
        candidate that cannot take float64).
    observe: `observe(candidate, *args, **kwargs) -> value` when more than the plain return value is
        compared, such as how often a callable argument was called. It runs beside the candidate,
        and also with the reference. None: `candidate(*args, **kwargs)`.
    gradient: "required" compares gradients with respect to every floating tensor among the
        arguments, "in torch" does so too but lets an answer in NumPy or in plain numbers pass with
        a remark, "noted" only adds remarks to a passing report, "ignored" does not look. The first
        two are for functions that are trained through, and the statement says so.
    constants: the positions of arguments that are not trained, such as an encoding: no gradient
        with respect to them is asked for.
    rtol, atol: tolerances; None means 1e-5 in float64, 1e-4 in float32, 2e-2 in half precision,
        relative to each number, and atol = rtol / 100 times the largest expected magnitude.
    """

    name: str
    make: Callable[[torch.Generator, torch.dtype], Call]
    isolates: str | None = None
    stage: Stage = "main"
    dtype: torch.dtype | None = None
    observe: Callable[..., Any] | None = None
    gradient: Gradient = "ignored"
    constants: tuple[int, ...] = ()
    rtol: float | None = None
    atol: float | None = None


@dataclass(frozen=True)
class Mistake:
    """One entry of the bank: a misconception as a running implementation, and what to say to it.

    name: short, kebab-case, unique within the exercise: "scale-by-d_k".
    implementation: the misconception, with the signature of the reference. It may raise: an
        exception of the same class on the same cases is also a match. It must return in
        milliseconds. For an `answer()` exercise it returns the wrong values of the keys it is
        about, as a dictionary.
    sentence: what was done, why it is wrong, where to look. Two or three plain sentences to the
        learner ("The scores are divided by d_k, ..."), no markup but `code` in backticks.
    """

    name: str
    implementation: Candidate
    sentence: str


@dataclass(frozen=True)
class Invariant:
    """A property that holds for every right output, said before values are compared.

    holds: `holds(call, output) -> bool`, run in the grader's process on plain copies. `output` has
        the structure of the reference's output. It must not raise for outputs of right shape.
    sentence: what must hold and what it means that it does not. part: which of several returned
    tensors it speaks of, the one that the report shows.
    """

    name: str
    holds: Callable[[Call, Any], bool]
    sentence: str
    part: int = 0


@dataclass(frozen=True)
class Exercise:
    """One exercise of the catalogue.

    id: "topic.name" as in the catalogue. title: a few words. kind, difficulty (1 to 5), minutes.
    signature: one line, the shapes in it: "causal_mask(n: int) -> BoolTensor (n, n)".
    statement: what to write, all that a correct solution needs. objective: what one can do after.
    prerequisite: the exercise or section that comes before. hints: three, from a nudge to nearly
    the answer. reference: the model solution; its source is what `solution()` shows, so
    write it as it should be read. explanation: why it is so, shown with the solution.
    cases: see `Case`; empty for `answer()` exercises. mistakes, alternatives: see the module.
    starter: the stub of the notebook's cell. invariants: see `Invariant`.
    returns: what the values are called, of a function that returns several: ("output", "weights").
    vary: for exercises whose letters and sizes are drawn per learner: `vary(seed) -> Exercise`
        with the same id. Seed 0 must give the exercise as printed in the book.
    """

    id: str
    title: str
    kind: Kind
    difficulty: int
    minutes: int
    signature: str
    statement: str
    objective: str
    prerequisite: str
    hints: tuple[str, str, str]
    reference: Candidate
    explanation: str
    mistakes: tuple[Mistake, ...]
    alternatives: tuple[Candidate, ...]
    starter: str
    cases: tuple[Case, ...] = ()
    invariants: tuple[Invariant, ...] = ()
    returns: tuple[str, ...] = ()
    vary: "Callable[[int], Exercise] | None" = None

    @property
    def asks_for_answers(self) -> bool:
        """True when the candidate is an `answer() -> dict` function rather than code with cases."""
        return not self.cases


@dataclass(frozen=True)
class Report:
    """What a check found. `message` says it all in plain text; the rest is the same in parts.

    passed: whether the candidate is right. attempted: False for a stub that is not written yet.
    rung: the rung of the ladder that spoke: "callable", "returns", "type", "shape", "dtype",
        "finite", "untouched", "invariant", "values", "gradient", "other"; "passed",
        "not attempted" or "unknown exercise".
    case: the name of the input shown. finding: the sentence of the rung alone. given: that input
        written out. expected, got: the two values to show side by side (plain data), None
        where the rung has none. tolerance: how far they may be apart.
    diagnosis: the sentences of the named mistakes, or of the isolated mechanism.
    mistakes: the names of the bank entries that match, the first the most specific;
        where none does, of what any exercise can get wrong: "other-dtype".
    next_hint: how to get the next hint. notes: remarks that do not decide. share: of the named
        answers those that are right, 0 to 1; of a test, the wrong forms that it refuses, 0 where it
        refuses a right one; of code, 1 where it passed. printed: the start of what the candidate
        printed.
    """

    exercise_id: str
    passed: bool
    message: str
    title: str = ""
    attempted: bool = True
    rung: str = ""
    case: str | None = None
    finding: str = ""
    given: str | None = None
    expected: Any = None
    got: Any = None
    tolerance: Tolerance = field(default_factory=Tolerance)
    diagnosis: str | None = None
    mistakes: tuple[str, ...] = ()
    next_hint: str | None = None
    notes: tuple[str, ...] = ()
    printed: str = ""
    share: float = 0.0

    @property
    def mistake(self) -> str | None:
        """The name of the first bank entry that matches, or None."""
        return self.mistakes[0] if self.mistakes else None
