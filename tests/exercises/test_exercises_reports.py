"""What a report shows: numbers without noise, the output of the input that is shown, no markup."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.exercise import Case, Exercise, call
from annotated_transformer.exercises.grader.grading import grade_exercise
from annotated_transformer.exercises.reports.card import report_card
from annotated_transformer.exercises.reports.showing import show_value


@pytest.fixture(autouse=True)
def progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(tmp_path / "progress.json"))


def exercise_of(reference: Callable[..., Any], *cases: Case) -> Exercise:
    """Some exercise of the catalogue with another reference and other cases."""
    one = catalogue()["attention.softmax"]
    return replace(one, reference=reference, cases=cases, mistakes=(), invariants=())


def fixed(*arguments: Any, name: str = "fixed arguments", **options: Any) -> Case:
    return Case(name, lambda generator, dtype: call(*arguments), **options)


def _lines(message: str) -> tuple[str, str]:
    return tuple(  # type: ignore[return-value]
        next(line for line in message.splitlines() if line.startswith(word))[9:].strip()
        for word in ("Expected:", "Got:")
    )


# Numbers


def test_rounding_errors_are_shown_as_zero() -> None:
    x = torch.tensor([1.0, 0.1, 0.2, 0.3], dtype=torch.float64)

    def right(x: Tensor) -> Tensor:
        return torch.stack([x[1] + x[2] - x[3], x[0], -0.0 * x[0]])

    exercise = exercise_of(right, fixed(x))
    report = grade_exercise(exercise, lambda x: right(x) * torch.tensor([1.0, 2.0, 1.0]))
    assert _lines(report.message) == ("[0.0, 1.0000, 0.0]", "[0.0, 2.0000, 0.0]")
    assert "e-17" not in report_card(report).markup


def test_small_numbers_that_differ_are_shown_as_they_are() -> None:
    exercise = exercise_of(lambda x: x, fixed(torch.tensor([1e-16, 0.0], dtype=torch.float64)))
    report = grade_exercise(exercise, lambda x: 3 * x)
    assert _lines(report.message) == ("[1.000e-16, 0.0]", "[3.000e-16, 0.0]")


def test_plain_numbers_are_rounded_for_showing() -> None:
    exercise = exercise_of(lambda x: [x, {"a": (x * 2, 1)}], fixed(0.1 + 0.2))
    report = grade_exercise(exercise, lambda x: [x, {"a": (-0.0 * x, 1)}])
    assert _lines(report.message) == ("[0.3, {'a': (0.6, 1)}]", "[0.3, {'a': (0.0, 1)}]")


# What was printed


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_only_what_was_printed_on_the_input_that_is_shown(method: str) -> None:
    def candidate(x: Tensor) -> Tensor:
        print("length", len(x))
        return x.exp() if len(x) < 3 else x

    cases = tuple(fixed(torch.ones(n), name=f"{n} ones", gradient="noted") for n in (1, 2, 3, 4))
    report = grade_exercise(exercise_of(torch.exp, *cases), candidate, method=method)
    assert report.case == "3 ones"
    assert report.printed == "length 3\n"
    assert "Your code printed on this input: length 3\n" in report.message


def test_what_is_cut_is_marked_in_card_and_text_alike() -> None:
    def candidate(x: Tensor) -> Tensor:
        print("<b>" * 100 + "x" * 10_000)
        return x

    report = grade_exercise(exercise_of(torch.exp, fixed(torch.ones(2))), candidate)
    assert f"printed on this input: {'<b>' * 100} …\n" in report.message
    assert f"<pre>{'&lt;b&gt;' * 100} …</pre>" in report_card(report).markup


def test_a_rounding_error_is_shown_as_nothing() -> None:
    assert show_value(2.775557562e-17) == "0.0"
    assert show_value([-5e-16, 0.25]) == "[0.0, 0.25]"
    assert show_value(1e-9) == "1e-09"
