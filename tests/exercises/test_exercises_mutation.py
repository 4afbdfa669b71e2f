"""The grader tested by mutation: every exercise accepts what is right and names what is wrong."""

import functools
import itertools
import os
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch

from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.exercise import Exercise, Mistake, Report
from annotated_transformer.exercises.grader import diagnosis
from annotated_transformer.exercises.grader.compare import Tolerance
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.diagnosis import PARTS, same_result
from annotated_transformer.exercises.grader.grading import grade, grade_exercise, judge
from annotated_transformer.exercises.grader.outcomes import Outcome, cases_of, outcome_of, run_case
from annotated_transformer.exercises.grader.pristine import pristine
from annotated_transformer.exercises.grader.sandbox import Run
from annotated_transformer.exercises.notebooks import IMPORTS, function_name, solution_source
from sampling import one_in

EXERCISES = list(catalogue().values())
by_id = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)


def of_one_in(every: int, exercises: list[Exercise] = EXERCISES) -> Any:
    return pytest.mark.parametrize("exercise", one_in(every, exercises, lambda one: one.id))


DRAWN = [exercise for exercise in EXERCISES if exercise.vary is not None]
SEEDS = (1, 2)
EVERY = 100  # of the mistakes one in so many goes the whole way, through a process of its own
MISSPELT = {"NameError", "UnboundLocalError", "AttributeError", "ImportError"}
Record = Callable[[str, object], None]  # what `record_property` is; conftest prints a table


@pytest.fixture(autouse=True)
def own_progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(tmp_path / "progress.json"))


def _variants(exercise: Exercise) -> list[Exercise]:
    """The exercise as printed, and as three learners get it where it is drawn per learner."""
    if exercise.vary is None:
        return [exercise]
    return [exercise, *(exercise.vary(seed) for seed in SEEDS)]


def _candidate(exercise: Exercise, mistake: Mistake) -> Callable[..., Any]:
    """The mistake as a learner would hand it in: wrong answers stand among right ones."""
    if not exercise.asks_for_answers:
        return mistake.implementation
    return lambda: {**exercise.reference(), **mistake.implementation()}


@functools.lru_cache(maxsize=8192)  # more than one exercise asks for
def _outcome_once(exercise_id: str, *told: Any) -> Outcome:
    return outcome_of(catalogue()[exercise_id], *told)


def _outcome_known(exercise: Exercise, *told: Any) -> Outcome:
    """`outcome_of`, which is the same at every call: once for each mistake, case and dtype.

    Every mistake is compared with all others, which would otherwise all run again each time.
    """
    return _outcome_once(exercise.id, *told)


def _judged_here(exercise: Exercise, candidate: Callable[..., Any]) -> Report:
    """What `grade` says of a candidate that needs no process of its own, since it is ours."""
    with pristine(), mock.patch.object(diagnosis, "outcome_of", _outcome_known):
        outcomes = {i: run_case(exercise, i, candidate) for i in range(len(cases_of(exercise)))}
        return judge(exercise, Run(outcomes, end="finished"), Limits())


def _profile(exercise: Exercise, function: Callable[..., Any]) -> list[Outcome]:
    """What a function gives on every case."""
    numbers = range(len(cases_of(exercise)))
    with pristine():
        return [
            outcome_of(
                exercise,
                number,
                function,
                str(cases_of(exercise)[number].dtype or "float64").removeprefix("torch."),
            )
            for number in numbers
        ]


def _processor_seconds() -> float:
    """Used by this process and by all that it has started and that have ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _all_fail(profile: list[Outcome]) -> bool:
    return all(outcome.failure is not None for outcome in profile)


def _alike(one: list[Outcome], other: list[Outcome]) -> bool:
    tolerance = Tolerance()
    return all(part(a, b, tolerance) for a, b in zip(one, other, strict=True) for part in PARTS)


@by_id
def test_the_reference_passes(exercise: Exercise, record_property: Record) -> None:
    for variant in _variants(exercise):
        begun = time.perf_counter()
        report = grade_exercise(variant, variant.reference)
        record_property("check", [exercise.id, "seconds", time.perf_counter() - begun])
        record_property("check", [exercise.id, "accepted", report.passed])
        assert report.passed, report.message
        assert not report.notes


@by_id
def test_a_check_answers_in_two_seconds(exercise: Exercise) -> None:
    """Of processor time, with that of its process: a busy machine only takes longer by the clock.

    Once in three is enough, since what runs beside it on a core takes from its caches.
    """

    def seconds() -> float:
        begun = _processor_seconds()
        grade_exercise(exercise, exercise.reference)
        return _processor_seconds() - begun

    assert any(seconds() < 2 for _ in range(3))


def _spoiled(value: Any) -> Any:
    """Of the same kind and shape, and wrong in a way that no mistake of a bank is."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_spoiled, value))
    if isinstance(value, dict):
        return {name: _spoiled(item) for name, item in value.items()}
    if isinstance(value, torch.Tensor) and value.dtype == torch.bool:
        return ~value
    if isinstance(value, bool):
        return not value
    floating = isinstance(value, float) or (
        isinstance(value, torch.Tensor) and value.is_floating_point()
    )
    if floating:
        return value * 1.37 + 0.11
    return value + 1 if isinstance(value, (int, torch.Tensor)) else value


@of_one_in(15, [exercise for exercise in EXERCISES if not exercise.asks_for_answers])
def test_what_nobody_foresaw_is_answered_in_seconds(exercise: Exercise) -> None:
    """Of processor time: where no mistake fits, and no two, all that there is has been tried.

    What the mistakes do is kept, so that the next answer to the same exercise is told sooner.
    """

    def candidate(*args: Any, **kwargs: Any) -> Any:
        return _spoiled(exercise.reference(*args, **kwargs))

    begun = _processor_seconds()
    grade_exercise(exercise, candidate)
    first = _processor_seconds() - begun
    with mock.patch.object(diagnosis, "outcome_of", wraps=outcome_of) as ran:
        grade_exercise(exercise, candidate)
    assert first < 8  # 4.5 on the slowest machine seen, where 1.1 was the median
    entries = {mistake.implementation for mistake in exercise.mistakes}
    assert not [call for call in ran.call_args_list if call.args[2] in entries]


@of_one_in(3)
def test_every_alternative_passes(exercise: Exercise, record_property: Record) -> None:
    assert exercise.asks_for_answers or len(exercise.alternatives) >= 2
    for variant in _variants(exercise):
        for alternative in variant.alternatives:
            report = grade_exercise(variant, alternative)
            record_property("check", [exercise.id, "accepted", report.passed])
            assert report.passed, f"{alternative.__name__}: {report.message}"


@pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])
@by_id
def test_mistakes_are_rejected_with_their_own_sentences(
    exercise: Exercise, every: int, record_property: Record
) -> None:
    wrong = []
    for number, mistake in enumerate(exercise.mistakes[::every]):
        begun = time.perf_counter()
        if number * every % EVERY == 0:
            report = grade_exercise(exercise, _candidate(exercise, mistake))
            record_property("check", [exercise.id, "seconds", time.perf_counter() - begun])
        else:
            report = _judged_here(exercise, _candidate(exercise, mistake))
        record_property("check", [exercise.id, "rejected", not report.passed])
        record_property("check", [exercise.id, "named", mistake.name in report.mistakes])
        named = report.mistakes == (mistake.name,) or (
            exercise.asks_for_answers and mistake.name in report.mistakes
        )
        if report.passed or not named or mistake.sentence not in report.message:
            wrong.append(f"{mistake.name}: {'accepted' if report.passed else report.message}")
    assert not wrong


@pytest.mark.parametrize("every", [20, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", one_in(len(SEEDS), SEEDS))
@pytest.mark.parametrize("exercise", DRAWN, ids=lambda exercise: exercise.id)
def test_mistakes_are_named_whatever_the_learner_draws(
    exercise: Exercise, seed: int, every: int
) -> None:
    assert exercise.vary is not None
    variant = exercise.vary(seed)
    for mistake in variant.mistakes[:: max(1, every // 8) if variant.asks_for_answers else every]:
        report = grade_exercise(variant, _candidate(variant, mistake))
        assert mistake.name in report.mistakes, f"{mistake.name}: {report.message}"


@of_one_in(5)
def test_the_cases_tell_the_mistakes_apart(exercise: Exercise) -> None:
    """Two that say the same may end in the same accidents, but for the numbers in them."""
    if exercise.asks_for_answers:
        pytest.skip("answers are looked up by key")
    profiles = {m.name: _profile(exercise, m.implementation) for m in exercise.mistakes}
    profiles["the reference"] = _profile(exercise, exercise.reference)
    for name, outcomes in profiles.items():
        raised = {outcome.failure.class_name for outcome in outcomes if outcome.failure}
        assert not raised & MISSPELT, f"{name} raises {raised}: a slip of who wrote the entry"
    says = {m.name: m.sentence for m in exercise.mistakes} | {"the reference": ""}
    for (one, first), (other, second) in itertools.combinations(profiles.items(), 2):
        alike = _alike(first, second)
        assert not alike or (_all_fail(first) and says[one] == says[other]), (
            f"no case tells {one!r} from {other!r}"
        )


@by_id
def test_the_cases_are_the_same_at_every_call(exercise: Exercise) -> None:
    first, second = (_profile(exercise, exercise.reference) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        assert one.failure is None
        assert same_result(one, other, Tolerance(0.0, 0.0))


@by_id
def test_the_exercise_is_complete(exercise: Exercise) -> None:
    names = [mistake.name for mistake in exercise.mistakes]
    assert names
    assert len(set(names)) == len(names)
    assert all(len(mistake.sentence) > 40 for mistake in exercise.mistakes)
    assert all(len(hint) > 20 for hint in exercise.hints)
    texts = (exercise.title, exercise.statement, exercise.objective, exercise.explanation)
    assert all(text.strip() for text in (*texts, exercise.prerequisite, exercise.signature))
    assert 1 <= exercise.difficulty <= 5
    assert exercise.minutes > 0


@of_one_in(3)
def test_the_solution_stands_alone(exercise: Exercise) -> None:
    """Pasted into a notebook that has imported nothing but what a workbook imports, it passes."""
    space: dict[str, Any] = {"check": lambda *arguments: None}
    exec(IMPORTS.partition("\n\nfrom annotated_transformer")[0], space)
    exec(solution_source(exercise), space)
    report = grade_exercise(exercise, space[function_name(exercise)])
    assert report.passed, report.message


@by_id
def test_the_starter_is_not_an_attempt(exercise: Exercise, tmp_path: Path) -> None:
    source = tmp_path / "starter.py"
    source.write_text(exercise.starter + "\n")
    space: dict[str, Any] = {"torch": torch}
    exec(compile(source.read_text(), str(source), "exec"), space)
    functions = [value for value in space.values() if isinstance(value, types.FunctionType)]
    report = grade(exercise.id, functions[-1])
    assert not report.passed
    assert not report.attempted, report.message
    assert report.rung == "not attempted"
