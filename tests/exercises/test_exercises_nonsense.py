"""Whatever is answered, and whatever fails in the search for a reason: there is a report."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from annotated_transformer.exercises import grade
from annotated_transformer.exercises.catalogue import catalogue, find
from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.grader import grading
from annotated_transformer.exercises.grader.answers import (
    about_kind,
    diagnose_answer,
    same_answer,
    wrong_answers,
)
from annotated_transformer.exercises.grader.values import to_plain
from annotated_transformer.exercises.reports.showing import show_value

NONSENSE: tuple[Any, ...] = (
    *(None, ..., True, 0, -7, 10**400, 3.5, float("nan"), float("inf"), 2j, "", "B", "no such"),
    *([], [1], [10, 20, 21, 30], ["B"], (), (1, 2, 3, 4), (None,), [[1, 2], ["x", None]], {}),
    *({"a": [1]}, {1, 2}, object(), len, b"B", range(3), 10**4000),
    *(torch.tensor(5), torch.tensor([1, 2, 3, 4]), torch.zeros(2, 3), torch.zeros(0)),
    *([torch.tensor([1.0])], (torch.zeros(2, 2), "x"), torch.zeros(2, 3).size(), torch.float32),
    *(np.zeros(4), np.float64(2.0), torch.empty(3, device="meta")),
)
ANSWERED = [exercise for exercise in catalogue().values() if exercise.asks_for_answers]


@pytest.fixture(autouse=True)
def progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(tmp_path / "progress.json"))


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("exercise", ANSWERED, ids=lambda exercise: exercise.id)
def test_no_answer_to_any_question_is_too_strange(exercise: Exercise, seed: int) -> None:
    """Without the net that `grade` has for a failure of the search itself."""
    drawn = find(exercise.id, seed)
    assert drawn is not None
    expected = to_plain(drawn.reference())
    for key in expected:
        for nonsense in NONSENSE:
            value = to_plain(nonsense)
            if same_answer(expected[key], value):
                continue
            assert wrong_answers({key: expected[key]}, {key: value}) == [key]
            mistake = diagnose_answer(drawn, key, value)
            sentence = mistake.sentence if mistake else about_kind(drawn, key, expected[key], value)
            assert sentence.rstrip()
            assert show_value(value)


@pytest.mark.parametrize("exercise", ANSWERED, ids=lambda exercise: exercise.id)
def test_a_report_on_nothing_but_nonsense(exercise: Exercise) -> None:
    for shift in (0, 13, 26):
        answers = {
            key: NONSENSE[(shift + 5 * number) % len(NONSENSE)]
            for number, key in enumerate(exercise.reference())
        }
        report = grade(exercise.id, lambda answers=answers: answers)
        assert not report.passed
        assert report.message
    assert grade(exercise.id, lambda: {**exercise.reference(), (1, 2): [torch.ones(2)]}).passed


def test_other_vectors_are_told_what_is_wrong() -> None:
    given = {"A": [10, 20, 30, 40], "B": [20, 21, 22, 23], "C": [30, 31, 12, 13], "apart": "B"}
    message = grade("warmup.view_or_transpose", lambda: given).message
    assert "'A' = [10, 20, 30, 40]: " in message
    message = grade("ablations.read_table3", lambda: {"best_heads": [3, 5]}).message
    assert "'best_heads' = [3, 5]: This is not the value." in message


@pytest.mark.parametrize("make", [torch.tensor, np.array, tuple])
def test_a_vector_may_be_answered_as_a_tensor_or_an_array(make: Any) -> None:
    right = catalogue()["warmup.view_or_transpose"].reference()
    given = {key: make(value) if key != "apart" else value for key, value in right.items()}
    assert grade("warmup.view_or_transpose", lambda: given).passed
    wrong = {**given, "A": make(right["A"][:3])}
    message = grade("warmup.view_or_transpose", lambda: wrong).message
    assert "This has 3 parts; the answer has 4" in message


@pytest.mark.parametrize("broken", ["diagnose", "mechanism", "diagnose_answer", "about_kind"])
def test_a_failure_in_the_search_for_a_reason_costs_the_reason_alone(
    broken: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails(*arguments: object) -> None:
        raise TypeError("a fault of the grader")

    monkeypatch.setattr(grading, broken, fails)
    report = grade("warmup.pairwise_dot", lambda a, b: 7 * a @ b.mT)
    assert not report.passed
    assert report.rung == "values"
    if broken == "diagnose":
        assert report.mistakes == ()
    answered = grade("warmup.view_or_transpose", lambda: {"A": [1, 2, 3, 4], "apart": "Q"})
    assert answered.finding == "0 of 4 answers are right."
    if broken == "about_kind":
        assert "This is not the value." in answered.message
    assert "grader" not in capfd.readouterr().err
