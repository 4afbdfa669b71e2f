"""What there is to say of a test that a learner wrote: what slips through it, what it refuses.

An exercise of kind "test" is another one turned round. Its cases are implementations, each given to
the test as its only argument: right forms, which it has to let through, and wrong ones, which it
has to refuse.
"""

import inspect
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import torch

from annotated_transformer.exercises.exercise import Candidate, Case, Exercise, Mistake
from annotated_transformer.exercises.grader.ladder import Finding, Trial, describe
from annotated_transformer.exercises.grader.outcomes import cases_of, make_call

RETURNS = (
    "Your test returns something, and nobody looks at what a test returns. Say what has to hold "
    "with `assert`, which raises an AssertionError where it does not."
)
FORMS = (
    "What is wrong with these forms, as it is said to who writes one; give your test an input, or "
    "a line, on which each differs from the right ones."
)
SHOWN = 3  # wrong forms that are said in words; of the others the names are enough


def refuses(test: Candidate, implementation: Candidate) -> bool:
    """Whether a test raises, which is how it says no. The observer of the wrong forms' cases."""
    try:
        test(implementation)
    except Exception:
        return True
    return False


def is_right(case: Case) -> bool:
    """Whether its implementation is a right form. These run unobserved: what is raised is told."""
    return case.observe is None


def finding_of(trials: Sequence[Trial]) -> Finding | None:
    """What is wrong with a test, or None: a right form that is refused comes before all else."""
    failed = [trial for trial in trials if trial.got.failure is not None]
    if failed:
        first = failed[0]
        assert first.got.failure is not None
        says = first.got.failure.message.partition("\n")[0]  # the rest counts what is off
        raised = describe(replace(first.got.failure, message=says))
        if not _by_assertion(first):
            return Finding("returns", f"Given {first.case.name}, your test raised {raised}", first)
        more = sum(is_right(trial.case) for trial in failed)
        others = f" It is one of {more} right forms that are refused." if more > 1 else ""
        sentence = f"Your test refuses {first.case.name}. It raised {raised}{others}"
        return Finding("refuses", sentence, first)
    slipped = slipped_through(trials)
    if not slipped:
        return None
    number = "one gets" if len(slipped) == 1 else f"{len(slipped)} get"
    names = ", ".join(f"`{trial.case.name}`" for trial in slipped)
    sentence = f"Of {wrong_forms(trials)} wrong forms {number} through: {names}."
    return Finding("lets through", sentence, slipped[0])


def _by_assertion(trial: Trial) -> bool:
    """Whether the test said no, and did not stumble."""
    return trial.got.failure is not None and trial.got.failure.class_name == "AssertionError"


def is_refused(trial: Trial) -> bool:
    """Whether the test said no to this implementation."""
    if is_right(trial.case):
        return trial.got.failure is not None
    return trial.got.value is True


def wrong_forms(trials: Sequence[Trial]) -> int:
    """How many there are."""
    return sum(not is_right(trial.case) for trial in trials)


def slipped_through(trials: Sequence[Trial]) -> list[Trial]:
    """The wrong forms that the test does not refuse."""
    return [trial for trial in trials if not is_right(trial.case) and not is_refused(trial)]


def share_of(trials: Sequence[Trial]) -> float:
    """Of the wrong forms those that it refuses, 0 where it refuses a right one too."""
    if any(trial.got.failure is not None for trial in trials):
        return 0.0
    return 1 - len(slipped_through(trials)) / wrong_forms(trials)


def explained(exercise: Exercise, trials: Sequence[Trial]) -> tuple[str, tuple[str, ...]]:
    """Why a test is weak, in words, and the name of the weak test of the bank that does the same.

    Where none does quite the same, what the bank says of the nearest is a guess, and said as one;
    and what is wrong with the forms that get through is said.
    """
    stumbles = any(trial.got.failure is not None and not _by_assertion(trial) for trial in trials)
    if stumbles:
        return "", ()
    verdict = tuple(map(is_refused, trials))
    for weak in exercise.mistakes:
        if _verdict_of(exercise, weak) == verdict:
            return f"Perhaps: {weak.sentence}" if all(verdict) else weak.sentence, (weak.name,)
    looked_at_by_nobody = any(
        is_right(trial.case) and trial.got.failure is None and trial.got.value is not None
        for trial in trials
    )
    if looked_at_by_nobody:
        return RETURNS, ()
    near = _nearest(exercise, trials)
    guess = f"Perhaps: {near.sentence}" if near else ""
    if any(trial.got.failure is not None for trial in trials):
        return guess, ()  # first let the right forms through
    slipped = [trial.case for trial in slipped_through(trials)]
    forms = [f"`{case.name}`: {case.isolates}" for case in slipped[:SHOWN]]
    return "\n".join([guess, FORMS, *forms] if guess else [FORMS, *forms]), ()


def _nearest(exercise: Exercise, trials: Sequence[Trial]) -> Mistake | None:
    """The weak test of the bank that errs most like this one, if there is any like it.

    It refuses the same right forms; and if none, nothing gets through it that is refused here.
    """
    verdict = tuple(map(is_refused, trials))
    right = [is_right(trial.case) for trial in trials]

    def alike(other: tuple[bool, ...]) -> bool:
        pairs = list(zip(verdict, other, right, strict=True))
        refuses_right = any(one for one, _, is_right_form in pairs if is_right_form)
        same = all(one == two for one, two, is_right_form in pairs if is_right_form)
        return same and (refuses_right or all(two or not one for one, two, _ in pairs))

    def apart(weak: Mistake) -> int:
        other = _verdict_of(exercise, weak)
        return sum(one != two for one, two in zip(verdict, other, strict=True))

    those = [weak for weak in exercise.mistakes if alike(_verdict_of(exercise, weak))]
    return min(those, key=apart, default=None)


@lru_cache(maxsize=128)
def _verdict_of(exercise: Exercise, weak: Mistake) -> tuple[bool, ...]:
    """Which implementations a test of ours refuses."""
    forms = [form_of(exercise, index) for index in range(len(cases_of(exercise)))]
    return tuple(refuses(weak.implementation, form) for form in forms)


def form_of(exercise: Exercise, index: int) -> Any:
    """The implementation of a case."""
    return make_call(exercise, index, torch.float64).args[0]


def source_of(exercise: Exercise, trial: Trial) -> str:
    """The right form that was refused, as it is written; "" for a wrong one."""
    if not is_right(trial.case):
        return ""
    return textwrap.dedent(inspect.getsource(form_of(exercise, trial.index))).rstrip()
