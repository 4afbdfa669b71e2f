"""The exercises on ablations against torch's counter, NumPy and the printed Table 3."""

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.config import TransformerConfig
from annotated_transformer.evidence.ablation.intervals import t_975, welch_margin
from annotated_transformer.evidence.table3 import TABLE_3
from annotated_transformer.exercises.content import ablations
from annotated_transformer.exercises.content.ablations import read_table3
from annotated_transformer.exercises.content.ablations.attention_flops import attention_flops
from annotated_transformer.exercises.content.ablations.seed_noise import SEED_NOISE, seed_noise
from annotated_transformer.exercises.grader.grading import grade_exercise

scores = st.lists(st.floats(10, 40), min_size=2, max_size=8)


def test_the_topic_is_complete() -> None:
    assert [exercise.id for exercise in ablations.EXERCISES] == [
        "ablations.read_table3",
        "ablations.attention_flops",
        "ablations.seed_noise",
    ]
    for exercise in ablations.EXERCISES:
        assert len(exercise.mistakes) >= 30
        assert all(mistake.sentence[-1] in ".?" for mistake in exercise.mistakes)


def test_the_table_is_read_as_the_package_prints_it() -> None:
    vocabulary = 1000
    rows = {
        TransformerConfig.preset(row.preset, vocab_size=vocabulary).num_heads: row
        for row in TABLE_3
        if row.preset == "base" or row.preset.startswith("A")
    }
    best = max(row.bleu for row in rows.values())
    answers = read_table3.answer()
    assert answers["best_heads"] == sorted(h for h, row in rows.items() if row.bleu == best)
    assert answers["best_heads_by_perplexity"] == min(rows, key=lambda h: rows[h].perplexity)
    assert answers["loss_at_one_head"] == pytest.approx(best - rows[1].bleu)
    assert answers["base_bleu"] == rows[8].bleu


@settings(deadline=None, max_examples=30)
@given(n=st.integers(1, 20), n_heads=st.integers(1, 4), d_k=st.integers(1, 6))
def test_the_operations_are_those_torch_counts(n: int, n_heads: int, d_k: int) -> None:
    d = n_heads * d_k
    layers = [nn.Linear(d, d, bias=False) for _ in range(4)]
    with FlopCounterMode(display=False) as counter:
        x = torch.zeros(n, d)
        q, k, v = (layer(x).reshape(n, n_heads, d_k).transpose(0, 1) for layer in layers[:3])
        heads = torch.bmm(torch.bmm(q, k.transpose(1, 2)).softmax(-1), v)
        layers[3](heads.transpose(0, 1).reshape(n, d))
    assert attention_flops(n, d, n_heads)[0] == counter.get_total_flops()


@given(n_heads=st.integers(1, 8), d_k=st.integers(1, 64))
def test_at_that_length_both_parts_cost_the_same(n_heads: int, d_k: int) -> None:
    """Three lengths give the two coefficients of a·n + b·n²."""
    d = n_heads * d_k
    one, two = (attention_flops(n, d, n_heads)[0] for n in (1, 2))
    quadratic = (two - 2 * one) // 2
    linear = one - quadratic
    length = attention_flops(1, d, n_heads)[1]
    assert linear * length == quadratic * length**2


@settings(deadline=None)
@given(a=scores, b=scores)
def test_the_noise_is_what_numpy_says(a: list[float], b: list[float]) -> None:
    difference, error, decided = seed_noise(a, b)
    assert difference == pytest.approx(np.mean(a) - np.mean(b), abs=1e-9)
    expected = math.sqrt(np.var(a, ddof=1) / len(a) + np.var(b, ddof=1) / len(b))
    assert error == pytest.approx(expected, abs=1e-9)
    assert decided == (abs(difference) > 2 * error)


def test_two_seeds_of_one_model_are_seldom_decided() -> None:
    generator = np.random.default_rng(0)
    draws = generator.normal(25.0, 0.3, size=(2000, 2, 5)).tolist()
    share = sum(seed_noise(a, b)[2] for a, b in draws) / len(draws)
    assert 0.04 < share < 0.12


def test_the_cases_stand_clear_of_the_border() -> None:
    """In float32 too a right solution must decide as the reference does."""
    ratios = []
    for case in SEED_NOISE.cases:
        a, b = case.make(torch.Generator(), torch.float64).args
        difference, error, _ = seed_noise(a, b)
        ratios.append(abs(difference) / error)
    assert all(abs(ratio - 2) > 0.01 for ratio in ratios)
    assert any(1.96 < ratio < 2 for ratio in ratios)


def exact_welch_factor(a: list[float], b: list[float]) -> float:
    """Between the table's factors t is nearly linear in 1 / nu."""
    parts = [np.var(scores, ddof=1) / len(scores) for scores in (a, b)]
    nu = sum(parts) ** 2 / (parts[0] ** 2 / (len(a) - 1) + parts[1] ** 2 / (len(b) - 1))
    below = max(1, math.floor(nu))
    return float(np.interp(1 / nu, [1 / (below + 1), 1 / below], [t_975(below + 1), t_975(below)]))


@pytest.mark.parametrize(
    "factor",
    [
        lambda a, b: welch_margin(a, b) / seed_noise(a, b)[1],
        exact_welch_factor,
        lambda a, b: t_975(len(a) + len(b) - 2),
        lambda a, b: t_975(min(len(a), len(b)) - 1),
        lambda a, b: t_975(max(len(a), len(b)) - 1),
        lambda a, b: t_975(len(a) - 1),
        lambda a, b: t_975(len(b) - 1),
        lambda a, b: t_975(2),
        lambda a, b: t_975(4),
        lambda a, b: t_975(8),
    ],
)
def test_who_decides_by_a_t_factor_is_told_so_and_nothing_besides(
    factor: Callable[[list[float], list[float]], float],
) -> None:
    def by_t(a: list[float], b: list[float]) -> tuple[float, float, bool]:
        difference, error, _ = seed_noise(a, b)
        return difference, error, abs(difference) > factor(a, b) * error

    report = grade_exercise(SEED_NOISE, by_t)
    assert len(report.mistakes) == 1
    assert "Welch's interval, or another t factor, decides here." in report.message
    assert "Besides" not in report.message
