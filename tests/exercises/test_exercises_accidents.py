"""Usual exceptions and usual slips that no bank names: what is said of them in any exercise."""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises import grade
from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Mistake, call
from annotated_transformer.exercises.grader.confinement import Limits
from annotated_transformer.exercises.grader.grading import grade_exercise


@pytest.fixture(autouse=True)
def progress_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANNOTATED_TRANSFORMER_PROGRESS", str(tmp_path / "progress.json"))


def exercise_of(reference: Callable[..., Any], *cases: Case, **changes: Any) -> Exercise:
    """Some exercise of the catalogue with another reference and other cases."""
    one = catalogue()["attention.scaled_dot_product"]
    plain = replace(one, reference=reference, cases=cases, mistakes=(), invariants=())
    return replace(plain, **changes)


def fixed(*arguments: Any, name: str = "fixed arguments", **options: Any) -> Case:
    return Case(name, lambda generator, dtype: call(*arguments), **options)


def case_of(*shapes: tuple[int, ...], name: str = "random tensors", **options: Any) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(*(torch.randn(s, generator=generator, dtype=dtype) for s in shapes))

    return Case(name, make, **options)


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (lambda x: x - x.max(-1), "use `amax`, or take `.values`"),
        (lambda x: (x - x.min(-1, keepdim=True)).exp(), "use `amin`, or take `.values`"),
        (lambda x: torch.exp(x.max(-1)), "use `amax`, or take `.values`"),
        (lambda x: x.max(-1).unsqueeze(-1), "use `amax`, or take `.values`"),
        (lambda x: x - x.sort(-1), "`sort` returns two things"),
        (lambda x: x if x > 0 else -x, "write `if mask is not None`"),
        (lambda x: 0 <= x.long() & x.long() < 3, "Put each comparison in brackets"),
        (lambda x: x.masked_fill(~None, 0.0), "ask `if mask is not None` first"),  # type: ignore[operator]
        (lambda x: (0 == 1) - x, "does not subtract"),
        (lambda x: (x > 0) - (x < 0), "does not subtract"),
        (lambda x: x - (x > 0), "does not subtract"),
        (lambda x: x[torch.ones(3, dtype=torch.bool)], "`x.masked_fill(mask, value)`"),
        (lambda x: x[torch.ones(2, 1) > 0], "without broadcasting"),
        (lambda x: x.view(x.size(0), x.size(1) / 1), "Divide with `//`"),
        (lambda x: x.reshape(x.size(0), x.size(1) / 1), "Divide with `//`"),
        (lambda x: torch.stack([x[i] for i in range(x.size(0) / 1)]), "Divide with `//`"),
        (lambda x: x.transpose(0, 1).view(6), "use `reshape`"),
        (lambda x: 10000.0 ^ 2, "write `**`"),  # type: ignore[operator]
        (lambda x: x ^ 2, "write `**`"),
        (lambda x: max(0, x), "`torch.relu` or `x.clamp(min=0)`"),
        (lambda x: max(abs(x)), "`x.max()`"),
        (lambda x: sorted(x), "`x.sort()`"),
        (lambda x: x - x.mean(-1), "`keepdim=True` (NumPy: `keepdims=True`) keeps that axis"),
        (lambda x: np.ones((2, 3)) - np.ones(2), "(NumPy: `keepdims=True`) keeps that axis"),
        (lambda x: F.cross_entropy(x.new_zeros(2, 5, 7), torch.ones(2, 5).long()), "flatten both"),
        (lambda x: F.cross_entropy(x.new_zeros(10, 7), torch.ones(2, 5).long()), "flatten both"),
        (lambda x: torch.cat([x, x[:, :2]]), "Name the axis that differs"),
        (lambda x: torch.stack([x, x[:, :2]]), "joined by `torch.cat`"),
        (lambda x: torch.stack([1.0, 2.0]), "`torch.tensor(numbers)`"),  # type: ignore[list-item]
        (lambda x: torch.max(0, x), "or `torch.relu(x)`"),  # type: ignore[call-overload]
        (lambda x: torch.maximum(0.0, x), "or `torch.relu(x)`"),  # type: ignore[arg-type]
        (lambda x: torch.minimum(x, 1), "`x.clamp(max=1)`"),  # type: ignore[arg-type]
        (lambda x: torch.sin(3.0), "`math.sin`"),  # type: ignore[arg-type]
        (lambda x: torch.sqrt(4), "`math.sqrt`"),  # type: ignore[arg-type]
        (lambda x: math.sin(x), "`torch.sin`"),
        (lambda x: x / float(x), "`torch.sin`"),
        (lambda x: torch.tensor([x, x]), "takes nested lists of numbers"),
        (lambda x: x + torch.tensor([[1.0, x]]), "takes nested lists of numbers"),
    ],
)
def test_a_usual_exception_is_explained(candidate: Any, words: str) -> None:
    """The wordings are those of the installed Python and PyTorch."""
    report = grade_exercise(exercise_of(torch.exp, case_of((2, 3))), candidate)
    assert report.rung == "returns"
    assert words in (report.diagnosis or "")


def test_a_usual_exception_is_not_taken_for_another_of_its_class() -> None:
    mistake = Mistake("no-such-axis", lambda x: torch.exp(), "There is no argument.")
    exercise = exercise_of(torch.exp, case_of((2, 3)), mistakes=(mistake,))
    assert grade_exercise(exercise, mistake.implementation).mistake == mistake.name
    report = grade_exercise(exercise, lambda x: x - x.max(-1))
    assert report.mistake is None
    assert "amax" in report.message


def test_masks_are_spoken_of_where_there_is_one() -> None:
    def asks(x: Tensor) -> Tensor:
        return x if x > 0 else -x

    with_mask = exercise_of(torch.exp, case_of((2, 3)))
    assert "if mask is not None" in grade_exercise(with_mask, asks).message
    without = replace(with_mask, signature="exp(x)")
    message = grade_exercise(without, asks).message
    assert "mask" not in message
    assert "`&`, `|` and `~`" in message


def test_too_many_parameters_or_too_few_are_answered_with_the_signature() -> None:
    exercise = exercise_of(torch.add, case_of((2, 3), (2, 3)))
    for candidate in (lambda x: x, lambda x, y, z: x, lambda: 3):
        assert f"called as the statement says: `{exercise.signature}`" in (
            grade_exercise(exercise, candidate).message
        )


def test_functions_among_the_inputs_have_the_names_of_the_statement() -> None:
    def layer(x: Any, mask: Any, self_attn: Any, ffn: Any, norms: Any) -> Any:
        return self_attn(x, mask)

    message = grade("encoder.layer", layer).message
    assert "TypeError in line 2 (`return self_attn(x, mask)`): self_attn() missing" in message
    assert "`self_attn(x, x, x, mask)`" in message
    assert "<locals>" not in message

    def norms_take_one(x: Any, mask: Any, self_attn: Any, ffn: Any, norms: Any) -> Any:
        return norms[1](x, x)

    message = grade("encoder.layer", norms_take_one).message
    assert "norms[1]() takes" in message
    assert "<locals>" not in message


def test_a_list_that_was_appended_is_told_from_its_items() -> None:
    exercise = exercise_of(lambda n: ["a"] * n, fixed(3), fixed(1))
    for candidate in (lambda n: ["a", ["a"] * (n - 1)], lambda n: [["a"] for _ in range(n)]):
        assert "`extend` its items" in grade_exercise(exercise, candidate).message
    pairs = exercise_of(lambda n: [[n], [n]], fixed(3))
    assert "`extend` its items" in grade_exercise(pairs, lambda n: [[[n]], [[n]]]).message
    assert "`extend`" not in grade_exercise(exercise, lambda n: [1] * n).message


def test_a_loop_without_an_end_is_told_of_the_bound_that_there_is() -> None:
    def for_ever(*arguments: Any) -> None:
        while True:
            pass

    limits = Limits(seconds=1)
    bounded = grade("decoding.greedy", for_ever, limits=limits).message
    assert "after `max_len` new tokens" in bounded
    assert "max_len" not in grade("masks.causal", for_ever, limits=limits).message


# Right numbers in a wrong wrapping or a wrong shape


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (lambda x: x.numpy() * 2, "in a NumPy array: `torch.from_numpy(array)`"),
        (lambda x: (x * 2).tolist(), "in a list: `torch.tensor(numbers)`"),
        (lambda x: x.numpy() * 3, None),
        (lambda x: (x * 3).tolist(), None),
        (lambda x: (2 * x).T, "the axes stand in another order"),
        (lambda x: torch.stack([2 * x[:, 0], 2 * x[:, 1], 2 * x[:, 2]]), "`torch.stack(..., dim="),
        (lambda x: 2 * x[None], "an axis of length 1 is too many: `squeeze`"),
        (lambda x: (2 * x).flatten(), "`reshape` gives the shape"),
        (lambda x: (3 * x).flatten(), None),
        (lambda x: (2 * x).reshape(3, 2), "`reshape` gives the shape"),
    ],
)
def test_right_numbers_in_another_form_are_known(candidate: Any, words: str | None) -> None:
    report = grade_exercise(exercise_of(lambda x: 2 * x, case_of((2, 3))), candidate)
    assert not report.passed
    assert (words in (report.diagnosis or "")) if words else report.diagnosis is None


def test_a_missing_axis_is_known_and_so_are_several_results() -> None:
    mean = exercise_of(lambda x: x.mean(-1, keepdim=True), case_of((2, 3)))
    report = grade_exercise(mean, lambda x: x.mean(-1))
    assert "an axis of length 1 is missing: `unsqueeze`" in (report.diagnosis or "")
    assert report.got.shape == (2,)
    assert "Expected: [[" in report.message
    two = exercise_of(lambda x: (x, x > 0), case_of((2, 3)))
    for wrapped in (lambda x: (x, (x > 0).numpy()), lambda x: (x.numpy(), (x > 0).numpy())):
        assert "NumPy" in (grade_exercise(two, wrapped).diagnosis or "")
    assert "in a list" in (grade_exercise(two, lambda x: (x, (x > 0).tolist())).diagnosis or "")


@pytest.mark.parametrize("name", ["beyond.alibi_bias", "beyond.sliding_window_mask"])
def test_numpy_is_answered_by_one_sentence(name: str) -> None:
    reference = catalogue()[name].reference
    report = grade(name, lambda *given: reference(*given).numpy())
    assert "The values are right, but in a NumPy array" in report.message


def test_what_a_model_says_is_shown() -> None:
    message = grade("decoding.greedy", lambda next_logits, *rest: torch.ones(1, 2).long()).message
    assert "next_logits = a function whose largest logits are, step after step, row 0: [" in message
    assert "Got:      [[1, 1]]" in message
