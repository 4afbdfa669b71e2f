"""What is said of a wrong answer is true of the input that is shown."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from annotated_transformer.exercises import grade
from annotated_transformer.exercises.bank import together
from annotated_transformer.exercises.catalogue import catalogue, find
from annotated_transformer.exercises.exercise import Case, Exercise, Mistake
from annotated_transformer.exercises.grader import diagnosis
from annotated_transformer.exercises.grader.grading import grade_exercise
from sampling import one_in
from small_exercises import case_of, exercise_of, fixed

CODE = [exercise for exercise in catalogue().values() if not exercise.asks_for_answers]


@pytest.fixture(autouse=True)
def progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(tmp_path / "progress.json"))


def drawn(*shape: int) -> Case:
    return case_of(shape, name=f"x of shape {shape}")


# Exceptions


@pytest.mark.parametrize("exercise", one_in(3, CODE, lambda exercise: exercise.id))
def test_an_exception_of_no_bearing_is_given_no_sentence_of_the_bank(exercise: Exercise) -> None:
    def candidate(*arguments: Any, **named: Any) -> Any:
        return torch.zeros(2, 3) @ torch.zeros(2, 3)

    report = grade_exercise(exercise, candidate)
    assert report.rung == "returns"
    assert report.mistakes == ()
    assert all(mistake.sentence not in report.message for mistake in exercise.mistakes)


def test_a_forgotten_keepdim_is_not_taken_for_a_concatenation() -> None:
    def candidate(x: Any, sublayer: Any, gamma: Any, beta: Any, eps: float = 1e-6) -> Any:
        y = x + sublayer(x)
        return gamma * (y - y.mean(-1)) / (y.var(-1, unbiased=False) + eps).sqrt() + beta

    report = grade("encoder.sublayer_connection", candidate)
    assert report.rung == "returns"
    assert "concatenated" not in report.message


RAISING = exercise_of(
    torch.exp,
    drawn(2, 3),
    drawn(1, 4),
    mistakes=(
        Mistake("past-the-end", lambda x: x.exp()[5], "It reads past the end."),
        Mistake("product", lambda x: x.exp() @ x, "It is a product with itself."),
    ),
)


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (lambda x: x[5], "past-the-end"),
        (lambda x: x[6], None),  # other numbers: it need not be the same slip
        (lambda x: [][5], None),
        (lambda x: x @ x, "product"),
        (lambda x: x.T @ x.T, None),
        (lambda x: x + torch.ones(7, dtype=x.dtype), None),
        (lambda x: x.nonsense, None),
    ],
)
def test_where_nothing_returns_an_exception_is_compared_to_the_number(
    candidate: Any, name: str | None
) -> None:
    assert grade_exercise(RAISING, candidate).mistake == name


@pytest.mark.parametrize(
    ("candidate", "name"),
    [
        (lambda pairs: 2 * sum(pairs) / min([len(pairs)] * len(pairs)), "empty+doubled"),
        (lambda pairs: 2 * sum(pairs) / len(pairs), "doubled"),
        (lambda pairs: sum(pairs) / max([len(pairs)] * len(pairs)), "empty"),
        (lambda pairs: sum(pairs) / [len(pairs)][0 if pairs else 1], None),
    ],
)
def test_an_exception_beside_values_is_known_in_other_words(candidate: Any, name: str) -> None:
    """`min` of nothing and `max` of nothing are one accident, a list's end is another."""

    def mean(pairs: list[float]) -> float:
        return sum(pairs) / len(pairs) if pairs else 0.0

    doubled = Mistake("doubled", lambda pairs: 2 * mean(pairs), "It is doubled.")
    empty = Mistake("empty", lambda pairs: mean(pairs) / max(p * 0 + 1 for p in pairs), "Empty.")
    cases = tuple(fixed(list(range(1, n + 1)), name=f"{n} pairs") for n in (0, 2, 3))
    report = grade_exercise(exercise_of(mean, *cases, mistakes=(doubled, empty)), candidate)
    assert "+".join(report.mistakes) == (name or "")


# The input that is shown


def _unlike(x: Tensor, least: int) -> Tensor:
    """Doubled, as a named mistake, but on small inputs wrong in another way."""
    return x.exp() * (2 if len(x) >= least else 7)


@pytest.mark.parametrize("least", [1, 2, 3])
def test_the_input_shown_is_one_that_the_sentence_explains(least: int) -> None:
    doubled = Mistake("doubled", lambda x: x.exp() * 2, "It is doubled.")
    cases = tuple(drawn(n, 2) for n in range(1, 6))
    exercise = exercise_of(torch.exp, *cases, mistakes=(doubled,))
    report = grade_exercise(exercise, lambda x: _unlike(x, least))
    assert report.mistakes == ("doubled",)
    assert report.case == f"x of shape ({least}, 2)"
    assert report.got.array == pytest.approx(2 * report.expected.array)


def test_an_exception_that_the_sentence_does_not_explain_is_said_beside_it() -> None:
    def candidate(x: Tensor) -> Tensor:
        return x.exp() * 2 if len(x) > 1 else x[7]

    doubled = Mistake("doubled", lambda x: x.exp() * 2, "It is doubled.")
    exercise = exercise_of(torch.exp, drawn(1, 2), drawn(2, 2), mistakes=(doubled,))
    report = grade_exercise(exercise, candidate)
    assert (report.rung, report.case) == ("values", "x of shape (2, 2)")
    assert "It is doubled." in (report.diagnosis or "")
    assert "On x of shape (1, 2) it raised IndexError" in (report.diagnosis or "")


def test_of_two_sentences_the_first_is_about_the_input_that_is_shown() -> None:
    def scaled(x: Tensor, shift: Tensor, by: float = 1.0, sign: float = 1.0) -> Tensor:
        return x * by + sign * shift

    twice = Mistake("twice", lambda x, shift: scaled(x, shift, 2.0), "x is doubled.")
    minus = Mistake("minus", lambda x, shift: scaled(x, shift, 1.0, -1.0), "It is taken off.")
    ones, none = torch.ones(2, 3), torch.zeros(2, 3)
    cases = (
        fixed(ones, ones, name="both"),
        fixed(none, ones, name="shift"),
        fixed(ones, none, name="x"),
    )
    praised = replace(minus, sentence="The first part is right, but it is taken off.")
    of_praised = exercise_of(scaled, *cases, mistakes=(twice, praised))
    assert grade_exercise(of_praised, lambda x, shift: x * 2 - shift).diagnosis == (
        "Perhaps two mistakes at once. The first part is taken off. Besides: x is doubled."
    )
    exercise = exercise_of(scaled, *cases, mistakes=(twice, minus))
    report = grade_exercise(exercise, lambda x, shift: x * 2 - shift)
    assert report.case == "shift"
    assert report.mistakes == ("minus", "twice")
    assert report.diagnosis == (
        "Perhaps two mistakes at once. It is taken off. Besides: x is doubled."
    )
    seen_apart = exercise_of(scaled, *cases[1:], mistakes=(twice, minus))
    assert grade_exercise(seen_apart, lambda x, shift: x * 2 - shift).diagnosis == (
        "It is taken off. Besides: x is doubled."
    )


def test_the_sentence_on_the_part_that_is_shown_comes_first() -> None:
    def candidate(source: Tensor, target: Tensor, prefix_length: int, pad_id: int = 0) -> Any:
        position = torch.arange(target.size(1))
        earlier = position <= position[:, None]
        real = (target != pad_id)[:, None, None, :]
        first = (source != pad_id)[:, None, None, :]
        prefix = real & (earlier & (position <= prefix_length))
        return first, real & earlier, prefix, (source != pad_id)[:, None, :, None]

    report = grade("masks.find_bug", candidate)
    assert report.rung == "shape"
    assert (report.diagnosis or "").startswith("In `cross_attention`")


# Where no mistake is named


def test_what_opens_two_sentences_is_said_once() -> None:
    exercise = find("encoder.sublayer_connection")
    named = {mistake.name: mistake for mistake in exercise.mistakes}
    candidate = together(named["norm-eps-1e-5-fixed"], named["norm-no-shift"])
    assert candidate is not None
    report = grade_exercise(exercise, candidate)
    assert set(report.mistakes) == {"norm-eps-1e-5-fixed", "norm-no-shift"}
    assert report.message.count("Look at the normalisation itself.") == 1
    assert "Besides: " in report.message


def test_zeros_that_were_expected_prove_no_part_right() -> None:
    """A gradient without the path through the mean is also 0 where that path is all there is."""
    ones, none = torch.ones(2, 3), torch.zeros(2, 3)
    cases = (
        fixed(ones, ones, name="both"),
        fixed(none, none, name="nothing", isolates="the path of zeros"),
        fixed(none, ones, name="y", isolates="the path of y: x is zero"),
    )
    report = grade_exercise(exercise_of(lambda x, y: x + y, *cases), lambda x, y: x * 0.3 + y)
    assert "Already right: the path of y." in (report.diagnosis or "")
    assert "zeros" not in (report.diagnosis or "")


@pytest.mark.parametrize("seed", [0, 1])
def test_a_letter_that_is_none_is_answered_with_the_letters(seed: int) -> None:
    exercise = find("training.find_bug", seed)
    assert exercise is not None
    right = exercise.reference()
    report = grade_exercise(exercise, lambda: {**right, "loop_6": "Z"})
    assert "one of the letters A, B, C, D, E, F, G, H, I, J, alone" in report.message
    several = grade("warmup.view_or_transpose", lambda: {"apart": "Z"})
    assert "one of the letters" not in several.message


def test_how_many_masks_are_wrong_is_not_counted() -> None:
    """Of two that are left as they were the first is named; how the second is wrong is open."""
    for mistake in catalogue()["masks.find_bug"].mistakes:
        assert "more of the four" not in mistake.sentence
        if "+" in mistake.name:
            assert "look at the others" in mistake.sentence


def test_what_is_like_no_mistake_does_not_run_the_whole_bank(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A number where a tensor is asked for: one case of the bank says that nobody does that."""
    ran: list[int] = []
    original = diagnosis.outcome_of

    def counted(exercise: Any, index: int, *rest: Any) -> Any:
        ran.append(index)
        return original(exercise, index, *rest)

    monkeypatch.setattr(diagnosis, "outcome_of", counted)
    result = grade("attention.softmax", lambda x, dim=-1: 1)
    assert not result.passed
    assert len(set(ran)) == 1


def test_an_exception_is_not_explained_by_what_would_raise_where_all_is_right() -> None:
    exercise = catalogue()["attention.scaled_dot_product"]

    def candidate(q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        if q.dim() == 5:
            q @ k  # as whoever has not transposed the keys, but on five axes alone
        return exercise.reference(q, k, v, mask)

    report = grade_exercise(exercise, candidate)
    assert not report.passed
    assert report.mistakes == ()
