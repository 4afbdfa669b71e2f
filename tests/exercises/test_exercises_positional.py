"""The exercises on positions against NumPy, complex numbers and the package's own encoding."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.exercises.content import positional
from annotated_transformer.exercises.content.positional import wavelengths
from annotated_transformer.exercises.content.positional.shift_matrix import shift_matrix
from annotated_transformer.exercises.content.positional.sinusoidal import sinusoidal_encoding
from annotated_transformer.exercises.grader.grading import grade
from annotated_transformer.positional import sinusoidal_encoding as of_the_package

widths = st.integers(1, 20).map(lambda pairs: 2 * pairs)


def test_the_topic_is_complete() -> None:
    assert [exercise.id for exercise in positional.EXERCISES] == [
        "positional.sinusoidal",
        "positional.shift_matrix",
        "positional.wavelengths",
    ]
    for exercise in positional.EXERCISES:
        assert len(exercise.mistakes) >= 30
        assert all(mistake.sentence[-1] in ".?" for mistake in exercise.mistakes)


@settings(deadline=None)
@given(n_positions=st.integers(1, 60), d_model=widths)
def test_the_encoding_is_that_of_complex_numbers_in_numpy(n_positions: int, d_model: int) -> None:
    rates = 1e4 ** -np.linspace(0, 1, d_model // 2, endpoint=False)
    turned = np.exp(1j * np.outer(np.arange(n_positions), rates))
    encoding = sinusoidal_encoding(n_positions, d_model)
    assert encoding.dtype == torch.float32
    np.testing.assert_allclose(encoding[:, ::2], turned.imag, atol=1e-6)
    np.testing.assert_allclose(encoding[:, 1::2], turned.real, atol=1e-6)


def test_the_encoding_is_the_packages() -> None:
    torch.testing.assert_close(sinusoidal_encoding(100, 64), of_the_package(100, 64))


@settings(deadline=None)
@given(k=st.integers(-30, 30), d_model=widths, p=st.integers(30, 90))
def test_the_matrix_takes_every_position_k_further(k: int, d_model: int, p: int) -> None:
    encoding = of_the_package(130, d_model)
    torch.testing.assert_close(
        shift_matrix(k, d_model) @ encoding[p], encoding[p + k], atol=1e-5, rtol=0
    )


@settings(deadline=None, max_examples=20)
@given(k=st.integers(-9, 9), d_model=widths)
def test_shifts_add_up_and_keep_lengths(k: int, d_model: int) -> None:
    twice = shift_matrix(k, d_model) @ shift_matrix(k, d_model)
    torch.testing.assert_close(twice, shift_matrix(2 * k, d_model), atol=1e-5, rtol=0)
    torch.testing.assert_close(
        shift_matrix(k, d_model).T, shift_matrix(-k, d_model), atol=1e-6, rtol=0
    )


def test_the_wavelengths_are_those_of_the_encoding() -> None:
    lengths = wavelengths.answer()
    assert lengths["longest"] == pytest.approx(60_611, abs=1)
    angle_of_one_step = np.arctan2(
        *sinusoidal_encoding(2, 512)[1].double().reshape(-1, 2).T.numpy()
    )
    np.testing.assert_allclose(2 * np.pi / angle_of_one_step.max(), lengths["shortest"], rtol=1e-6)
    np.testing.assert_allclose(2 * np.pi / angle_of_one_step.min(), lengths["longest"], rtol=1e-6)


def test_two_right_answers_are_both() -> None:
    assert grade("positional.wavelengths", wavelengths.answer).finding == "Right in both answers."


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_shift_may_come_in_either_precision(dtype: torch.dtype) -> None:
    report = grade("positional.shift_matrix", lambda k, d: shift_matrix(k, d).to(dtype))
    assert report.passed, report.message


def _row_of_positions(n_positions: int, d_model: int) -> Tensor:
    pos, two_i = torch.arange(n_positions), torch.arange(0, d_model, 2)
    encoding = torch.zeros(n_positions, d_model)
    encoding[:, 0::2] = torch.sin(pos / torch.pow(10000, two_i / d_model))
    encoding[:, 1::2] = torch.cos(pos / torch.pow(10000, two_i / d_model))
    return encoding


def _row_of_positions_times_speeds(n_positions: int, d_model: int) -> Tensor:
    pos = torch.arange(0, n_positions, dtype=torch.float)
    speed = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    encoding = torch.zeros(n_positions, d_model)
    encoding[:, 0::2] = torch.sin(pos * speed)
    encoding[:, 1::2] = torch.cos(pos * speed)
    return encoding


@pytest.mark.parametrize(
    ("exercise_id", "candidate", "words"),
    [
        ("positional.sinusoidal", _row_of_positions, "positions need a column"),
        ("positional.sinusoidal", _row_of_positions_times_speeds, "positions need a column"),
        ("positional.shift_matrix", lambda k, d: k * torch.eye(d), "k times the identity"),
        ("positional.shift_matrix", lambda k, d: torch.eye(d), "This is the identity"),
    ],
)
def test_a_slip_is_called_by_its_name(
    exercise_id: str, candidate: Callable[[int, int], Tensor], words: str
) -> None:
    report = grade(exercise_id, candidate)
    assert not report.passed
    assert words in (report.diagnosis or "")


@pytest.mark.parametrize(
    ("longest", "words"),
    [
        (math.tau * 10000 * 510 / 512, "is multiplied by 510 / 512"),
        (math.tau * 10000, "what the paper's text says"),
    ],
)
def test_an_exponent_that_was_multiplied_is_not_the_papers_sentence(
    longest: float, words: str
) -> None:
    report = grade("positional.wavelengths", lambda: {"shortest": 6.28, "longest": longest})
    assert words in report.message
