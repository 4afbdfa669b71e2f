"""Exercises turned round: the learner's test meets right forms and the bank of named mistakes."""

import re
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch

from annotated_transformer.exercises.catalogue import catalogue, chapter_of
from annotated_transformer.exercises.content.masks import causal, causal_test
from annotated_transformer.exercises.content.turned import turned
from annotated_transformer.exercises.exercise import Exercise, Report
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.grading import grade
from annotated_transformer.exercises.grader.outcomes import cases_of
from annotated_transformer.exercises.grader.verdicts import FORMS, form_of, is_right, refuses
from annotated_transformer.exercises.instructor.session import Checked, Session
from annotated_transformer.exercises.notebooks import solution_source

TURNED = [exercise for exercise in catalogue().values() if exercise.kind == "test"]
by_id = pytest.mark.parametrize("exercise", TURNED, ids=lambda exercise: exercise.id)
CAUSAL = "masks.causal_test"
Test = Callable[[Any], Any]


def of(test: Test) -> Report:
    return grade(CAUSAL, test)


@by_id
def test_each_is_rich(exercise: Exercise) -> None:
    right = [case for case in exercise.cases if is_right(case)]
    assert len(right) >= 4
    assert len(exercise.cases) - len(right) >= 15
    assert 1 + len(exercise.alternatives) >= 3
    assert len(exercise.mistakes) >= 8
    assert f"each of {len(exercise.cases) - len(right)} wrong ones" in exercise.statement
    assert chapter_of(exercise.id) == "16_bug_museum"
    assert catalogue()[exercise.id.removesuffix("_test")].id == exercise.prerequisite


@by_id
def test_every_weak_test_is_weak(exercise: Exercise) -> None:
    """Each lets a wrong form through or refuses a right one; no two are weak in the same way."""
    forms = [form_of(exercise, index) for index in range(len(cases_of(exercise)))]
    wanted = tuple(not is_right(case) for case in cases_of(exercise))
    verdicts = {
        mistake.name: tuple(refuses(mistake.implementation, form) for form in forms)
        for mistake in exercise.mistakes
    }
    assert wanted not in verdicts.values()
    assert len(set(verdicts.values())) == len(verdicts)


@by_id
def test_every_wrong_form_gets_through_some_weak_test(exercise: Exercise) -> None:
    """Else no learner would ever meet it; most do, the rest fail whatever is asked."""
    met = {
        case.name
        for index, case in enumerate(cases_of(exercise))
        if not is_right(case)
        and any(not refuses(m.implementation, form_of(exercise, index)) for m in exercise.mistakes)
    }
    wrong = [case for case in exercise.cases if not is_right(case)]
    assert len(met) >= len(wrong) / 2


def test_there_are_eight_and_more() -> None:
    assert len(TURNED) >= 8


def test_all_that_slip_through_are_named() -> None:
    def test_causal_mask(causal_mask):  # type: ignore[no-untyped-def]
        assert causal_mask(1).tolist() == [[True]]

    report = of(test_causal_mask)
    assert not report.passed
    assert report.rung == "lets through"
    assert report.finding.startswith("Of 15 wrong forms 9 get through: ")
    assert set(re.findall(r"`([^`]+)`", report.finding)) == {
        *("transposed", "one-ahead", "float-ones", "integer-ones", "no-mask", "self-only"),
        *("window-of-two", "flipped-columns", "flipped-rows"),
    }
    assert report.diagnosis is not None
    guess, head, *forms = report.diagnosis.splitlines()
    assert guess.startswith("Perhaps: Only n = 1 is tried")  # the nearest of the bank
    assert head == FORMS
    assert len(forms) == 3  # what is wrong with the first three
    assert report.share == pytest.approx(6 / 15)


def test_the_right_form_that_is_refused_is_shown_with_what_was_raised() -> None:
    def test_causal_mask(causal_mask):  # type: ignore[no-untyped-def]
        assert causal_mask(3).float().sum() == 6
        assert causal_mask(3).is_contiguous() is causal_mask(3)[0, 1]

    report = of(test_causal_mask)
    assert report.rung == "refuses"
    assert report.finding.startswith("Your test refuses a right form (")
    assert "AssertionError in line 3" in report.finding
    assert "one of 6 right forms" in report.finding
    assert re.search(r"def \w+\(n: int\) -> Tensor:", report.message)
    assert report.share == 0


def test_one_right_form_alone_is_the_one_that_is_shown() -> None:
    def test_softmax(softmax):  # type: ignore[no-untyped-def]
        x = 1000 + torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
        torch.testing.assert_close(softmax(x), torch.softmax(x, -1))  # in single precision

    report = grade("attention.softmax_test", test_softmax)
    assert report.finding.startswith("Your test refuses a right form (by log sum exp).")
    assert "one of" not in report.finding
    assert "def _by_log_sum_exp(x" in report.message
    assert "Perhaps: The numbers are near 1000 in single precision" in report.message


def test_a_test_that_remembers_has_a_wrong_form_for_its_measure() -> None:
    seen: list[torch.Tensor] = []

    def test_causal_mask(causal_mask):  # type: ignore[no-untyped-def]
        seen.append(causal_mask(5))
        torch.testing.assert_close(causal_mask(5), seen[0])

    assert of(test_causal_mask).rung == "refuses"


def test_a_verdict_that_nobody_looks_at_is_said() -> None:
    def test_causal_mask(causal_mask):  # type: ignore[no-untyped-def]
        return torch.equal(causal_mask(4), torch.ones(4, 4).tril().bool())

    report = of(test_causal_mask)
    assert not report.passed
    assert "Nobody looks" in report.message or "nobody looks" in report.message
    assert report.finding.startswith("Of 15 wrong forms")


def test_what_returns_and_asserts_passes() -> None:
    def test_causal_mask(causal_mask):  # type: ignore[no-untyped-def]
        causal_test.test_causal_mask(causal_mask)
        return True

    assert of(test_causal_mask).passed


def test_any_exception_is_a_no_and_a_slip_of_the_test_is_told() -> None:
    def raising(causal_mask):  # type: ignore[no-untyped-def]
        if causal_mask(2).tolist() != [[True, False], [True, True]]:
            raise ValueError("no")
        torch.testing.assert_close(causal_mask(5), torch.ones(5, 5).tril().bool())

    assert of(raising).passed

    def misspelt(causal_mask):  # type: ignore[no-untyped-def]
        assert causal_masque(3)  # type: ignore[name-defined]  # noqa: F821

    report = of(misspelt)
    assert re.match(r"Given a right form \([a-z ]+\), your test raised NameErr", report.finding)
    assert report.diagnosis is None


def test_what_refuses_all_is_told_with_a_doubt() -> None:
    def test_softmax(softmax):  # type: ignore[no-untyped-def]
        assert softmax(torch.zeros(2))[0] == 7

    report = grade("attention.softmax_test", test_softmax)
    assert report.rung == "refuses"
    assert report.diagnosis is not None
    assert report.diagnosis.startswith("Perhaps: What it compares with overflows itself")


def test_the_central_mistake_is_told_whatever_the_numbers() -> None:
    def test_accumulated_loss(accumulated_loss):  # type: ignore[no-untyped-def]
        drawn = torch.Generator().manual_seed(3)
        logits = [torch.randn(1, 4, 6, generator=drawn), torch.randn(2, 2, 6, generator=drawn)]
        targets = [torch.tensor([[3, 5, 1, 2]]), torch.tensor([[4, 2], [2, 0]])]
        means = [
            torch.nn.functional.cross_entropy(part.transpose(1, 2), target, ignore_index=0)
            for part, target in zip(logits, targets, strict=True)
        ]
        torch.testing.assert_close(accumulated_loss(logits, targets), sum(means) / 2)

    report = grade("training.accumulated_loss_test", test_accumulated_loss)
    assert report.rung == "refuses"
    assert report.diagnosis is not None
    assert report.diagnosis.startswith("Perhaps: It asks for the mean of the means")


def test_a_test_that_takes_no_implementation_is_told_so() -> None:
    def test_causal_mask():  # type: ignore[no-untyped-def]
        assert torch.ones(1)

    report = of(test_causal_mask)
    assert not report.passed
    assert "TypeError" in report.finding


def test_leaving_python_or_looping_is_no_verdict() -> None:
    def leaves(causal_mask):  # type: ignore[no-untyped-def]
        if not causal_mask(3)[1, 0]:
            sys.exit(1)

    report = of(leaves)
    assert not report.passed
    assert "SystemExit" in report.finding

    def loops(causal_mask):  # type: ignore[no-untyped-def]
        while causal_mask(2)[0, 0]:
            pass

    report = grade(CAUSAL, loops, limits=Limits(seconds=1))
    assert "had not returned after" in report.finding


def test_the_starter_and_what_is_empty_are_no_attempt() -> None:
    def test_causal_mask(causal_mask):  # type: ignore[no-untyped-def]
        """Nothing yet."""

    assert not of(test_causal_mask).attempted


def test_forms_look_alike() -> None:
    """Neither its name nor its class says whether a form is right (its source does, to whoever
    reads it; in a marker's process there is none to read)."""

    def test_causal_mask(causal_mask):  # type: ignore[no-untyped-def]
        assert type(causal_mask).__name__ == "function"
        assert causal_mask.__name__ == "causal_mask"

    report = of(test_causal_mask)
    assert report.rung == "lets through"
    assert "Of 15 wrong forms 15 get through" in report.finding


def test_a_mistake_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="no mistake 'misspelt'"):
        turned(
            causal.CAUSAL,
            causal_test.__file__,
            causal_test.test_causal_mask,
            ("inverted", "misspelt"),
            (),
            title="",
            ask="",
            objective="",
            hints=("", "", ""),
            explanation="",
            difficulty=1,
            minutes=1,
        )


@pytest.mark.skipif(sys.platform == "win32", reason="grade needs Linux or macOS")
def test_an_instructor_judges_as_check_does() -> None:
    """Right forms and wrong ones stay with the marker: the notebook only calls them."""
    sources, expected = [], []
    for exercise in TURNED:
        sources.append(solution_source(exercise))
        expected.append((exercise.id, exercise.reference))
    weak = (
        "def test_causal_mask(causal_mask):\n"
        "    for n in (1, 2):\n"
        "        assert causal_mask(n).tolist() == torch.ones(n, n).tril().bool().tolist()"
    )
    space: dict[str, Any] = {"torch": torch}
    exec(weak, space)
    sources.append(weak)
    expected.append((CAUSAL, space["test_causal_mask"]))
    start = "import math\nimport torch\nfrom annotated_transformer.exercises import check"
    cells = [(1, start)] + [
        (number, f"{source}\ncheck({name!r}, {test.__name__})")
        for number, (source, (name, test)) in enumerate(zip(sources, expected, strict=True), 2)
    ]
    with Session(cells, Limits(), 120) as session:
        there = [
            session.grade(catalogue()[event.exercise_id])
            for event in session.events()
            if isinstance(event, Checked)
        ]
    assert [report.exercise_id for report in there] == [name for name, _ in expected]
    for report in there[:-1]:
        assert report.passed, report.message
    here = grade(*expected[-1])
    assert (there[-1].rung, there[-1].finding) == (here.rung, here.finding)
    assert "`window-of-two`" in there[-1].finding
