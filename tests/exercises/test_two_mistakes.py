"""Two mistakes at once, drawn from each bank and listed nowhere: both are named.

And `strangers/`: two wrong answers an exercise by somebody who had seen the tasks and no bank.
"""

import functools
import itertools
import json
import random
import runpy
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from annotated_transformer.exercises.bank import together
from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.exercise import Exercise, Mistake
from annotated_transformer.exercises.grader.compare import Tolerance
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.diagnosis import PARTS
from annotated_transformer.exercises.grader.grading import grade, judge
from annotated_transformer.exercises.grader.outcomes import Outcome, cases_of, outcome_of, run_case
from annotated_transformer.exercises.grader.pristine import pristine
from annotated_transformer.exercises.grader.sandbox import Run

STRANGERS = Path(__file__).parent / "strangers"
NAMED = json.loads((STRANGERS / "named.json").read_text(encoding="utf-8"))
Candidate = Callable[..., Any]
Profile = Callable[[int], Outcome]


def profile(exercise: Exercise, function: Candidate) -> Profile:
    """What a function gives on the case of a number: run when it is asked for, once."""

    @functools.cache
    def on(number: int) -> Outcome:
        dtype = str(cases_of(exercise)[number].dtype or "float64").removeprefix("torch.")
        return outcome_of(exercise, number, function, dtype)

    return on


def alike(exercise: Exercise, one: Profile, other: Profile) -> bool:
    numbers = range(len(cases_of(exercise)))
    return all(part(one(n), other(n), Tolerance()) for n in numbers for part in PARTS)


def both(exercise: Exercise, one: Mistake, other: Mistake) -> Candidate | None:
    """A candidate with both mistakes; None where they are about the same place."""
    if not exercise.asks_for_answers:
        return together(one, other)
    first, second = one.implementation(), other.implementation()
    if set(first) & set(second):
        return None
    return lambda: {**exercise.reference(), **first, **second}


def drawn(exercise: Exercise, number: int) -> Iterator[tuple[Mistake, Mistake, Candidate]]:
    """Pairs of which each changes something that the other leaves, and which no entry equals."""
    pairs = list(itertools.combinations(exercise.mistakes, 2))
    random.Random(exercise.id).shuffle(pairs)
    entries = []
    if not exercise.asks_for_answers:
        functions = (exercise.reference, *(m.implementation for m in exercise.mistakes))
        entries = [profile(exercise, function) for function in functions]
    found = 0
    for one, other in pairs[: 6 * number]:
        candidate = both(exercise, one, other)
        if candidate is None:
            continue
        own = profile(exercise, candidate)
        if any(alike(exercise, own, entry) for entry in entries):
            continue
        yield one, other, candidate
        found += 1
        if found == number:
            return


def parts_of(names: tuple[str, ...]) -> set[str]:
    """Of names such as "a+b", which an entry has that is itself two, both."""
    return {part for name in names for part in name.split("+")}


def says_the_same(exercise: Exercise, names: tuple[str, ...], candidate: Candidate) -> bool:
    """Whether the mistakes of these names, made together, do what the candidate does.

    Two pairs can be one function: the cross-attention left out and two norms exchanged is the first
    norm missing and the cross-attention's norm alone.
    """
    found = [mistake for mistake in exercise.mistakes if mistake.name in names]
    if not found:
        return False
    one, other = found[0], found[-1]
    function = one.implementation if len(found) == 1 else both(exercise, one, other)
    if function is None or exercise.asks_for_answers:
        return False
    return alike(exercise, profile(exercise, function), profile(exercise, candidate))


@pytest.mark.parametrize(
    ("number", "every", "exercises", "pairs"),
    [(1, 8, 5, 5), pytest.param(50, 1, 40, 2000, marks=pytest.mark.slow)],
    ids=["a few", "thousands"],
)
def test_both_are_named(number: int, every: int, exercises: int, pairs: int) -> None:
    """Many seconds for the few: a pair is told apart from all others of its bank."""
    seen, true, complete, false = set(), 0, 0, 0
    seconds: list[float] = []
    tried = [one for one in catalogue().values() if one.kind != "test"]  # two weak tests are one
    for exercise in tried[::every]:
        with pristine():
            for one, other, candidate in drawn(exercise, number):
                run = {n: run_case(exercise, n, candidate) for n in range(len(cases_of(exercise)))}
                begun = time.process_time()
                report = judge(exercise, Run(run, end="finished"), Limits())
                seconds.append(time.process_time() - begun)
                assert not report.passed
                wanted, named = parts_of((one.name, other.name)), parts_of(report.mistakes)
                seen.add(exercise.id)
                exact = wanted == named or says_the_same(exercise, report.mistakes, candidate)
                true += exact or bool(wanted & named)
                complete += exact or wanted <= named
                false += bool(named - wanted) and not exact
                if not exact:
                    print(exercise.id, one.name, other.name, report.mistakes)
    found = len(seconds)
    print(
        f"{found} pairs of {len(seen)} exercises: a true one named {true / found:.1%}, "
        f"both {complete / found:.1%}, a false one {false / found:.1%}; a check took "
        f"{statistics.median(seconds):.2f} s in the median, {max(seconds):.2f} s at worst"
    )
    assert len(seen) >= exercises
    assert found >= pairs
    assert true / found >= 0.95
    assert complete / found >= 0.85
    assert false / found <= (0.02 if number > 1 else 0.05), "of a few one more is a lot"
    # `make test` has other tests beside this one on machines of every speed.
    slack = 1 if number > 1 else 2
    assert statistics.median(seconds) < slack
    assert max(seconds) < 5 * slack


def strangers() -> Iterator[tuple[str, Candidate]]:
    """Each answer with its exercise."""
    for path in sorted(STRANGERS.glob("*.py")):
        for exercise_id, answers in runpy.run_path(str(path))["ANSWERS"].items():
            yield from ((exercise_id, answer) for answer in answers)


def name_of(exercise_id: str, answer: Candidate) -> str:
    return f"{exercise_id}/{answer.__name__}"


@pytest.mark.parametrize(
    "every", [16, pytest.param(1, marks=pytest.mark.slow)], ids=["a few", "all"]
)
def test_of_a_strangers_two_mistakes_both_are_named(every: int) -> None:
    """named.json has the names, and whether they say both mistakes; a reader has judged that.

    Where this fails the names have changed: judge them anew, and write them there.
    """
    for exercise_id, answer in list(strangers())[::every]:
        report = grade(exercise_id, answer)
        assert not report.passed
        assert list(report.mistakes) == NAMED[name_of(exercise_id, answer)]["names"], (
            answer.__name__
        )


def test_how_many_of_the_strangers_mistakes_are_named() -> None:
    assert {name_of(*one) for one in strangers()} == set(NAMED)
    says = [told["says"] for told in NAMED.values()]
    assert len(says) >= 96
    assert says.count("both") / len(says) >= 0.85
    assert says.count("none") / len(says) <= 0.05
