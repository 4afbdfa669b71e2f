"""The warming-up exercises against NumPy and against running what they show."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.exercises import grade
from annotated_transformer.exercises.content import warmup
from annotated_transformer.exercises.content.warmup import predict_broadcast, view_or_transpose
from annotated_transformer.exercises.content.warmup.pairwise_dot import pairwise_dot

SEEDS = range(40)
FOR_MATRICES = "This is written for two matrices"
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
    for letter, code in re.findall(r"^- ([ABC]) = (.*)$", exercise.statement, re.MULTILINE):
        vector = eval(code, {}, {"x": x})
        assert vector.tolist() == answers[letter]
        apart += letter if {int(a) // 10 for a in vector} == {2} else ""
    assert answers["apart"] == apart
    assert 1 <= len(apart) <= 2


def _chapters_loop(a: Any, b: Any) -> Any:
    result = [[0.0] * len(b) for _ in a]
    for i, row in enumerate(a):
        for j, other_row in enumerate(b):
            for p, q in zip(row, other_row, strict=False):
                result[i][j] += p * q
    return result


def _filled(a: Any, b: Any) -> Any:
    n, m = len(a), len(b)
    out = torch.zeros(n, m)
    for i in range(n):
        for j in range(m):
            out[i, j] = a[i] @ b[j]
    return out


@pytest.mark.parametrize(
    ("candidate", "words"),
    [
        (lambda a, b: torch.tensor(_chapters_loop(a, b)), FOR_MATRICES),
        (lambda a, b: torch.tensor(_chapters_loop(a.tolist(), b.tolist())), "always float32"),
        (lambda a, b: torch.tensor([[(i * j).sum().item() for j in b] for i in a]), FOR_MATRICES),
        (
            lambda a, b: torch.stack([torch.stack([(i * j).sum() for j in b]) for i in a]),
            FOR_MATRICES,
        ),
        (_filled, FOR_MATRICES),
        (lambda a, b: torch.einsum("bnd,bmd->bnm", a, b), "exactly three axes"),
        (lambda a, b: torch.einsum("bhnd,bhmd->bhnm", a, b), "exactly four axes"),
        (lambda a, b: torch.bmm(a, b.mT), "exactly three axes"),
        (lambda a, b: torch.mm(a, b.mT), "takes matrices only"),
        (lambda a, b: torch.tensor([[torch.dot(i, j) for j in b] for i in a]), "matrices only"),
        (lambda a, b: torch.dot(a, b), "takes two vectors"),
        (lambda a, b: (a[:, None] * b[None]).sum(-1), FOR_MATRICES),
        (lambda a, b: (a.unsqueeze(1) * b.unsqueeze(0)).sum(-1), FOR_MATRICES),
    ],
)
def test_a_product_for_matrices_alone_is_told_so(candidate: Any, words: str) -> None:
    report = grade("warmup.pairwise_dot", candidate)
    assert not report.passed
    assert words in (report.diagnosis or "")


@pytest.mark.parametrize(
    "candidate",
    [
        _chapters_loop,
        lambda a, b: _chapters_loop(a.tolist(), b.tolist()),
        lambda a, b: [[(row * other).sum() for other in b] for row in a],
        lambda a, b: [[float(row @ other) for other in b] for row in a],
    ],
)
def test_lists_for_two_matrices_are_told_both(candidate: Any) -> None:
    report = grade("warmup.pairwise_dot", candidate)
    assert not report.passed
    assert "right for two matrices, and it gives nested lists" in (report.diagnosis or "")


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ([12, 13, 22, 23], "index 1 is taken before the reshape"),
        ([12, 13, 22, 23, 32, 33], "index 1 is taken before the reshape"),
        ([20, 21, 30, 31], "the cuts fall after every 4 numbers"),
        ([10, 11, 20, 21], "this is index 0 of axis 0"),
    ],
)
def test_a_reshape_read_at_another_place_is_told_so(vector: list[int], words: str) -> None:
    answers = {**view_or_transpose.answer(), "C": vector}
    report = grade("warmup.view_or_transpose", lambda: answers)
    assert not report.passed
    assert words in (report.diagnosis or "")
