"""The warming-up exercises against NumPy and against running what they show."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.exercises import warmup
from annotated_transformer.exercises.warmup import predict_broadcast, view_or_transpose
from annotated_transformer.exercises.warmup.pairwise_dot import pairwise_dot

SEEDS = range(40)
lengths = st.integers(1, 4)


def test_the_topic_is_complete() -> None:
    assert [exercise.id for exercise in warmup.EXERCISES] == [
        "warmup.pairwise_dot",
        "warmup.predict_broadcast",
        "warmup.view_or_transpose",
    ]
    for exercise in warmup.EXERCISES:
        assert len(exercise.mistakes) >= 25
        assert all(mistake.sentence[-1] in ".?" for mistake in exercise.mistakes)


@settings(deadline=None)
@given(leading=st.lists(lengths, max_size=3), n=lengths, m=lengths, d=lengths)
def test_pairwise_dot_is_numpys_einsum(leading: list[int], n: int, m: int, d: int) -> None:
    a, b = torch.randn(*leading, n, d), torch.randn(*leading, m, d)
    expected = np.einsum("...nd,...md->...nm", a.numpy(), b.numpy())
    np.testing.assert_allclose(pairwise_dot(a, b).numpy(), expected, rtol=1e-4, atol=1e-5)


def _shapes_in(statement: str) -> dict[str, tuple[int, ...]]:
    return {
        name: tuple(int(length) for length in re.findall(r"\d+", shape))
        for name, shape in re.findall(r"\b([abxy]) (?:has the shape )?(\([\d, ]+\))", statement)
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_the_broadcasts_are_what_numpy_makes_of_the_statement(seed: int) -> None:
    exercise = predict_broadcast.vary(seed)
    tensors: dict[str, Any] = {k: torch.zeros(v) for k, v in _shapes_in(exercise.statement).items()}
    assert sorted(tensors) == ["a", "b", "x", "y"]
    for key, expected in exercise.reference().items():
        code = re.search(rf"^{key}: (.*)$", exercise.statement, re.MULTILINE)
        assert code is not None
        if expected == "error":
            with pytest.raises(RuntimeError):
                eval(code[1], {}, tensors)
        else:
            assert eval(code[1], {}, tensors).shape == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_no_wrong_answer_is_a_right_one(seed: int) -> None:
    for exercise in (predict_broadcast.vary(seed), view_or_transpose.vary(seed)):
        right = exercise.reference()
        seen = []
        for mistake in exercise.mistakes:
            ((key, value),) = mistake.implementation().items()
            assert value != right[key], mistake.name
            assert (key, value) not in seen, mistake.name
            seen.append((key, value))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_vectors_are_what_comes_out(seed: int) -> None:
    exercise = view_or_transpose.vary(seed)
    draw = view_or_transpose._draw(seed)
    answers, x = exercise.reference(), draw.x()
    apart = ""
    for letter, code in re.findall(r"^([ABC]) = (.*)$", exercise.statement, re.MULTILINE):
        vector = eval(code, {}, {"x": x})
        assert vector.tolist() == answers[letter]
        apart += letter if {int(a) // 10 for a in vector} == {2} else ""
    assert answers["apart"] == apart
    assert 1 <= len(apart) <= 2
