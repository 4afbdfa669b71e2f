"""Exercises turned round: the learner writes the test, and the bank of mistakes is what it meets.

The cases are implementations of another exercise: its reference and alternatives, which the test
has to let through, and some of its named mistakes, which it has to refuse. The bank holds weak
tests, the alternatives are tests that are right.
"""

import random
from collections.abc import Sequence
from typing import Any

import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Candidate, Case, Exercise, call
from annotated_transformer.exercises.grader.verdicts import refuses

HOW = (
    "Write it as for pytest: it is given an implementation, calls it on inputs of your own, and "
    "raises an AssertionError (`assert`) where something does not hold. It is right if every right "
    "form of `{of}` gets through, however it is written, and each of {wrong} wrong ones is "
    "refused. Keep inputs small: up to 5,000 numbers."
)


def turned(
    of: Exercise,
    module_file: str,
    test: Candidate,
    wrong: Sequence[str],
    alternatives: Sequence[Candidate],
    *,
    title: str,
    ask: str,
    objective: str,
    hints: tuple[str, str, str],
    explanation: str,
    difficulty: int,
    minutes: int,
) -> Exercise:
    """The exercise of writing a test for another one.

    Args:
        of: the exercise that is turned round.
        module_file: the `__file__` of the module, beside which the page of weak tests lies.
        test: the model solution; its one parameter is called as the function of `of`.
        wrong: names of mistakes of `of` that the test has to refuse. None of those that can only be
            seen where function and test share a process: inputs changed in place, gradients cut
            off, arrays for tensors.
        alternatives: other tests that are right.
        ask: what the test is of, in a sentence; what it has to do stands behind.
        title, objective, hints, explanation, difficulty, minutes: see `Exercise`.

    Raises:
        ValueError: if `of` has no mistake of such a name.
    """
    known = {mistake.name: mistake for mistake in of.mistakes}
    if unknown := set(wrong) - known.keys():
        raise ValueError(f"{of.id} has no mistake {min(unknown)!r}")
    name = of.reference.__name__
    right = [("the reference", of.reference)]
    right += [(one.__name__.strip("_").replace("_", " "), one) for one in of.alternatives]
    return Exercise(
        id=f"{of.id}_test",
        title=title,
        kind="test",
        difficulty=difficulty,
        minutes=minutes,
        signature=f"test_{name}({name}) -> None; raises AssertionError for a wrong {name}",
        statement=f"{ask} {HOW.format(of=of.id, wrong=len(wrong))}",
        objective=objective,
        prerequisite=of.id,
        hints=hints,
        reference=test,
        explanation=explanation,
        cases=_mixed(
            [_case(f"a right form ({form})", function) for form, function in right],
            [_case(n, known[n].implementation, known[n].sentence) for n in wrong],
        ),
        mistakes=page(module_file, test),
        alternatives=tuple(alternatives),
        starter=(
            f"def test_{name}({name}):\n"
            f'    """{name} is right, or this raises AssertionError."""\n'
            "    ...  # your code"
        ),
    )


def _mixed(right: Sequence[Case], wrong: Sequence[Case]) -> tuple[Case, ...]:
    """A wrong form first, then by chance, the same each time.

    So a test that remembers what it was given first has taken a wrong form for its measure.
    """
    first, *others = wrong
    drawn = random.Random(first.name)
    rest = [*right, *others]
    drawn.shuffle(rest)
    return (first, *rest)


def _case(name: str, implementation: Candidate, wrong: str | None = None) -> Case:
    """One implementation; `wrong` says what is wrong with it, None of a right one."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:  # noqa: ARG001
        return call(form)

    def form(*args: Any, **kwargs: Any) -> Any:  # all of them look alike
        return implementation(*args, **kwargs)

    form.__wrapped__ = implementation  # type: ignore[attr-defined]
    return Case(name, make, isolates=wrong, observe=refuses if wrong else None)
