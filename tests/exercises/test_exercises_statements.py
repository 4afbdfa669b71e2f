"""What a statement has to say: all that a check asks for, in lines that survive Markdown."""

import re
from typing import Any

import pytest
import torch

from annotated_transformer.exercises import grade
from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.exercise import Exercise
from annotated_transformer.exercises.notebooks import as_markdown, text_of
from sampling import one_in

EXERCISES = list(catalogue().values())
SAYS_THE_DTYPE = re.compile(r"dtype|float32|float64|LongTensor|bool|like x", re.IGNORECASE)


def in_single_precision(result: Any) -> Any:
    """The result with every floating-point tensor as float32."""
    if isinstance(result, torch.Tensor) and result.is_floating_point():
        return result.float()
    if isinstance(result, tuple):
        return tuple(map(in_single_precision, result))
    return result


@pytest.mark.parametrize("exercise", one_in(5, EXERCISES, lambda exercise: exercise.id))
def test_a_dtype_that_is_checked_is_asked_for(exercise: Exercise) -> None:
    report = grade(
        exercise.id,
        lambda *given, **named: in_single_precision(exercise.reference(*given, **named)),
    )
    if not report.passed and report.rung == "dtype":
        assert SAYS_THE_DTYPE.search(exercise.statement + exercise.signature)


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_no_line_of_its_own_is_lost_in_a_paragraph(exercise: Exercise) -> None:
    outside_code = re.sub(r"```.*?```", "", as_markdown(exercise.statement), flags=re.DOTALL)
    for block in outside_code.split("\n\n"):
        lines = block.strip().split("\n")
        assert len(lines) == 1 or all(line.startswith("- ") for line in lines), block


def test_items_are_names_and_code() -> None:
    statement = "Work it out:\n'a': the first\nB: a word\nC: x.view(2, 3)[:, 1]\n- d = e + 1"
    assert as_markdown(statement) == (
        "Work it out:\n\n- `'a'`: the first\n- B: a word\n- C: `x.view(2, 3)[:, 1]`\n- `d = e + 1`"
    )
    with pytest.raises(ValueError, match="is no item"):
        as_markdown("One line\nand another.")


def test_the_head_says_what_comes_before() -> None:
    head = text_of(catalogue()["masks.target"], "2.6").split("\n\n")[1]
    assert head.endswith("comes after: `masks.causal` and `masks.padding`")


@pytest.mark.parametrize("exercise", catalogue().values(), ids=lambda exercise: exercise.id)
def test_nothing_on_the_page_is_taken_for_html(exercise: Exercise) -> None:
    """A page swallows a bare </w>; in backticks it is shown."""
    for text in (exercise.statement, exercise.objective, *exercise.hints, exercise.explanation):
        assert not re.search(r"<[/a-zA-Z!?]", re.sub(r"`[^`]*`", "", text)), text
