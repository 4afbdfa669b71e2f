"""The attention, mask and multi-head exercises against independent implementations."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.exercises.content import attention, masks, multi_head
from annotated_transformer.exercises.content.attention import find_bug as faulty_listings
from annotated_transformer.exercises.content.attention.predict_shapes import PREDICT_SHAPES
from annotated_transformer.exercises.content.attention.predict_shapes_mistakes import Sizes
from annotated_transformer.exercises.content.attention.scaled_dot_product import (
    SCALED_DOT_PRODUCT,
    scaled_dot_product_attention,
)
from annotated_transformer.exercises.content.attention.score_variance import SCORE_VARIANCE
from annotated_transformer.exercises.content.attention.softmax import softmax
from annotated_transformer.exercises.content.attention.softmax_jacobian import softmax_jacobian
from annotated_transformer.exercises.content.masks import find_bug as faulty_masks
from annotated_transformer.exercises.content.masks.causal import causal_mask
from annotated_transformer.exercises.content.masks.padding import padding_mask
from annotated_transformer.exercises.content.masks.target import target_mask
from annotated_transformer.exercises.content.multi_head.attention import (
    MULTI_HEAD_ATTENTION,
    multi_head_attention,
)
from annotated_transformer.exercises.content.multi_head.equivariance import order_gap
from annotated_transformer.exercises.content.multi_head.merge_heads import merge_heads
from annotated_transformer.exercises.content.multi_head.split_heads import split_heads
from annotated_transformer.exercises.exercise import Case, Exercise

EXERCISES = [
    exercise
    for topic in (attention, masks, multi_head)
    for exercise in topic.EXERCISES
    if exercise.kind != "test"  # those turned round are in test_turned_round
]
SEEDS = (0, 1, 2, 3, 17)

token_rows = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=1, max_size=3)
)


def _inputs(case: Case, seed: int = 5) -> tuple[Any, ...]:
    generator = torch.Generator().manual_seed(seed)
    return case.make(generator, case.dtype or torch.float64).args


def test_every_exercise_of_the_three_topics_is_there() -> None:
    assert {exercise.id for exercise in EXERCISES} == {
        "attention.softmax",
        "attention.scaled_dot_product",
        "attention.predict_shapes",
        "attention.score_variance",
        "attention.softmax_jacobian",
        "attention.find_bug",
        "masks.causal",
        "masks.padding",
        "masks.target",
        "masks.find_bug",
        "multihead.split_heads",
        "multihead.merge_heads",
        "multihead.attention",
        "multihead.equivariance",
    }


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda exercise: exercise.id)
def test_banks_and_alternatives_are_rich(exercise: Exercise) -> None:
    assert len(exercise.mistakes) >= 15
    assert len(exercise.alternatives) >= (2 if exercise.kind in ("debug", "shape", "number") else 4)
    for mistake in exercise.mistakes:
        assert mistake.sentence[-1] in ".?", mistake.name
        assert len(mistake.sentence.split()) <= 140, mistake.name


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_equals_torch(dim: int) -> None:
    x = torch.randn(3, 4, 5, dtype=torch.float64) * 5000
    torch.testing.assert_close(softmax(x, dim), torch.softmax(x, dim))


def test_scaled_dot_product_equals_torch_on_every_case() -> None:
    for case in SCALED_DOT_PRODUCT.cases:
        q, k, v, *mask = _inputs(case)
        output, weights = scaled_dot_product_attention(q, k, v, *mask)
        expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[0] if mask else None)
        torch.testing.assert_close(output, expected)
        torch.testing.assert_close(weights @ v, expected)


def test_some_case_has_a_query_that_may_attend_to_nothing() -> None:
    empty = [
        case
        for case in SCALED_DOT_PRODUCT.cases
        if len(_inputs(case)) > 3 and not _inputs(case)[3].any(-1).all()
    ]
    assert len(empty) >= 3
    q, k, v, mask = _inputs(empty[0])
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    nothing = ~mask.any(-1).expand(weights.shape[:-1])
    assert (output[nothing] == 0).all()
    assert (weights[nothing] == 0).all()


def test_multi_head_attention_equals_torch_on_every_case() -> None:
    for case in MULTI_HEAD_ATTENTION.cases:
        query, key, value, w_q, w_k, w_v, w_o, n_heads, *mask = _inputs(case)
        layer = torch.nn.MultiheadAttention(
            w_q.size(0), n_heads, bias=False, batch_first=True, dtype=query.dtype
        )
        with torch.no_grad():
            layer.in_proj_weight.copy_(torch.cat([w_q.T, w_k.T, w_v.T]))
            layer.out_proj.weight.copy_(w_o.T)
        forbidden = None
        if mask:
            shape = (query.size(0), n_heads, query.size(1), key.size(1))
            forbidden = (~mask[0]).expand(shape).flatten(0, 1)
        expected, _ = layer(query, key, value, attn_mask=forbidden, need_weights=True)
        got = multi_head_attention(query, key, value, w_q, w_k, w_v, w_o, n_heads, *mask)
        torch.testing.assert_close(got, expected.nan_to_num(0.0))  # torch: NaN where all is hidden


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 3), st.integers(1, 4), st.integers(1, 4), st.integers(1, 4))
def test_merging_undoes_splitting(batch: int, n: int, n_heads: int, d_k: int) -> None:
    x = torch.randn(batch, n, n_heads * d_k)
    heads = split_heads(x, n_heads)
    assert torch.equal(merge_heads(heads), x)
    for i in range(n_heads):
        assert torch.equal(heads[:, i], x[:, :, i * d_k : (i + 1) * d_k])


@settings(max_examples=40, deadline=None)
@given(token_rows, st.integers(0, 4))
def test_masks_by_their_definition(rows: list[list[int]], pad_id: int) -> None:
    tokens = torch.tensor(rows)
    padding, target = padding_mask(tokens, pad_id), target_mask(tokens, pad_id)
    n = tokens.size(1)
    assert padding.shape == (len(rows), 1, 1, n)
    assert target.shape == (len(rows), 1, n, n)
    for b, row in enumerate(rows):
        for j, token in enumerate(row):
            assert bool(padding[b, 0, 0, j]) == (token != pad_id)
            for i in range(n):
                assert bool(target[b, 0, i, j]) == (token != pad_id and j <= i)
                assert bool(causal_mask(n)[i, j]) == (j <= i)


def test_the_four_masks_by_their_definition() -> None:
    source, target = (
        torch.tensor([[0, 5, 6], [7, 2, 0]]),
        torch.tensor([[1, 0, 4, 2], [0, 1, 3, 0]]),
    )
    encoder, decoder, prefix, cross = faulty_masks.four_masks(source, target, 2)
    assert torch.equal(encoder, padding_mask(source))
    assert torch.equal(cross, padding_mask(source))
    assert torch.equal(decoder, target_mask(target))
    assert torch.equal(prefix[0, 0, 0], torch.tensor([True, False, False, False]))
    assert torch.equal(prefix[1, 0, 0], torch.tensor([False, True, False, False]))
    assert torch.equal(prefix[1, 0, 2], torch.tensor([False, True, True, False]))


def test_the_jacobian_equals_autograd() -> None:
    scores = torch.randn(5, dtype=torch.float64)
    expected = torch.autograd.functional.jacobian(lambda s: torch.softmax(s, 0), scores)
    torch.testing.assert_close(softmax_jacobian(torch.softmax(scores, 0)), expected)


def test_the_variance_of_a_score_is_measured() -> None:
    answers = SCORE_VARIANCE.reference()
    q, k = torch.randn(2, 200_000, 64, generator=torch.Generator().manual_seed(0))
    scores = (q * k).sum(-1)
    assert float(scores.var()) == pytest.approx(answers["variance"], rel=0.02)
    assert float(scores.std()) == pytest.approx(answers["std"], rel=0.01)
    assert float((scores / math.sqrt(64)).std()) == pytest.approx(
        answers["std_after_scaling"], rel=0.01
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_predicted_shapes_are_those_of_the_computation(seed: int) -> None:
    assert PREDICT_SHAPES.vary is not None
    exercise = PREDICT_SHAPES.vary(seed)
    answers = exercise.reference()
    b, h, n_q, n_k = answers["scores"]
    d_v = answers["output"][-1]
    scores = torch.zeros(b, h, n_q, 3) @ torch.zeros(b, h, n_k, 3).mT
    assert tuple((scores.softmax(-1) @ torch.zeros(b, h, n_k, d_v)).shape) == answers["output"]
    assert (
        scores.masked_fill(torch.ones(answers["key_padding_mask"]).bool(), 0).shape == scores.shape
    )
    assert str(answers["output"][:3])[:-1] in exercise.statement
    if seed == 0:
        assert exercise is PREDICT_SHAPES
        assert answers["scores"] == (Sizes().batch, Sizes().heads, Sizes().n_q, Sizes().n_k)


def _defined_by(source: str) -> dict[str, Callable[..., Any]]:
    space: dict[str, Any] = {"torch": torch, "math": math}
    exec(source, space)
    return space


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, Tensor):
        return one.shape == other.shape and torch.allclose(
            one.double(), other.double(), equal_nan=True
        )
    return all(_alike(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("seed", SEEDS)
def test_each_listing_has_the_fault_of_its_letter(seed: int) -> None:
    draw = faulty_listings._draw(seed)
    space = _defined_by(faulty_listings.listings(draw))
    named = {mistake.name: mistake.implementation for mistake in SCALED_DOT_PRODUCT.mistakes}
    with_masks = [case for case in SCALED_DOT_PRODUCT.cases if len(_inputs(case)) > 3]
    exercise = faulty_listings.vary(seed)
    for (key, letter), fault in zip(exercise.reference().items(), draw.shown, strict=True):
        assert f"{letter}: {fault.described}" in exercise.statement
        differs = 0
        for case in with_masks:
            inputs = _inputs(case)
            try:
                expected = named[fault.name](*inputs)
            except RuntimeError:  # the keys of another width than the values
                continue
            assert _alike(space[key](*inputs), expected), (key, fault.name, case.name)
            differs += not _alike(expected, scaled_dot_product_attention(*inputs))
        assert differs, fault.name


@pytest.mark.parametrize("seed", SEEDS)
def test_the_masks_to_repair_are_wrong_in_every_line(seed: int) -> None:
    exercise = faulty_masks.vary(seed)
    assert exercise.starter in exercise.statement
    as_found = _defined_by(exercise.starter)["four_masks"]
    unrepaired = [m for m in exercise.mistakes if m.name.count("+") == 3]
    assert len(unrepaired) == 1
    wrong = [False] * 4
    for case in exercise.cases:
        got, right = as_found(*_inputs(case)), exercise.reference(*_inputs(case))
        assert _alike(got, unrepaired[0].implementation(*_inputs(case)))
        wrong = [w or not _alike(a, b) for w, a, b in zip(wrong, got, right, strict=True)]
    assert all(wrong)


def test_attention_without_positions_is_equivariant_and_not_invariant() -> None:
    x, perm = torch.randn(5, 3, dtype=torch.float64), torch.tensor([2, 0, 3, 4, 1])

    def attend(rows: Tensor) -> Tensor:
        return scaled_dot_product_attention(rows, rows, rows)[0]

    assert order_gap(attend, x, perm) < 1e-12
    assert (attend(x[perm]) - attend(x)).abs().max() > 0.1
    assert order_gap(lambda rows: rows.cumsum(0), x, perm) > 0.1
