"""Section 3.2: the teaching path by its definition, the fast path by the teaching path."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.attention import (
    MultiHeadAttention,
    fused_attention,
    merge_heads,
    scaled_dot_product_attention,
    softmax,
    split_heads,
)
from annotated_transformer.inspection import recording_attention

seeds = st.integers(0, 2**16)
sizes = st.integers(1, 6)


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


# softmax


@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_softmax_is_torchs(dim):
    x = normal(3, 4, 5)
    torch.testing.assert_close(softmax(x, dim), x.softmax(dim))


def test_softmax_does_not_overflow_and_leaves_its_input_alone():
    x = torch.tensor([[1e4, -1e4, 0.0], [-1e4, -1e4, -1e4]])
    before = x.clone()
    torch.testing.assert_close(softmax(x), torch.tensor([[1.0, 0, 0], [1 / 3, 1 / 3, 1 / 3]]))
    assert torch.equal(x, before)


# Equation 1


def attention_by_hand(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """One query at a time, one key at a time; (n_queries, d_v)."""
    rows = []
    for i in range(len(query)):
        allowed = [j for j in range(len(key)) if mask[i, j]]
        scores = [
            sum((query[i, c] * key[j, c]).item() for c in range(query.size(1)))
            / math.sqrt(query.size(1))
            for j in allowed
        ]
        total = sum(map(math.exp, scores))
        row = torch.zeros(value.size(1), dtype=value.dtype)
        for j, score in zip(allowed, scores, strict=True):
            row += math.exp(score) / total * value[j]
        rows.append(row)
    return torch.stack(rows)


@settings(max_examples=40, deadline=None)
@given(seeds, sizes, sizes, sizes, sizes)
def test_attention_is_equation_1(seed, n_queries, n_keys, d_k, d_v):
    query, key = normal(n_queries, d_k, seed=seed), normal(n_keys, d_k, seed=seed + 1)
    value = normal(n_keys, d_v, seed=seed + 2)
    mask = normal(n_queries, n_keys, seed=seed + 3) > -0.5
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    torch.testing.assert_close(output, attention_by_hand(query, key, value, mask))
    torch.testing.assert_close(weights.sum(-1), mask.any(-1).double())
    assert (weights[~mask] == 0).all()
    everywhere = torch.ones_like(mask)
    output, _ = scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(output, attention_by_hand(query, key, value, everywhere))


def test_scaling_keeps_the_variance_of_the_scores_at_one():
    """Footnote 4: q.k has variance d_k; divided by sqrt(d_k), 1."""
    d_k = 64
    query, key = normal(400, d_k), normal(400, d_k, seed=1)
    _, weights = scaled_dot_product_attention(query, key, key)
    scores = weights.log()
    scores = scores - scores.mean(-1, keepdim=True)  # the logarithm of a softmax, centred
    assert scores.var().item() == pytest.approx(1.0, abs=0.05)


def inputs(
    seed: int, n_queries: int, n_keys: int, d_k: int, d_v: int, dtype: torch.dtype
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two sentences of three heads; a mask with a whole row of the first sentence forbidden."""
    query = normal(2, 3, n_queries, d_k, seed=seed).to(dtype).requires_grad_()
    key = normal(2, 3, n_keys, d_k, seed=seed + 1).to(dtype).requires_grad_()
    value = normal(2, 3, n_keys, d_v, seed=seed + 2).to(dtype).requires_grad_()
    mask = normal(2, 1, n_queries, n_keys, seed=seed + 3) > 0
    mask[0, :, 0] = False
    return query, key, value, mask


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-5)])
@settings(max_examples=25, deadline=None)
@given(seed=seeds, n_queries=sizes, n_keys=sizes, d_k=sizes, d_v=sizes)
def test_the_fast_path_is_the_teaching_path(dtype, tolerance, seed, n_queries, n_keys, d_k, d_v):
    """Outputs and gradients, with and without a mask, rows that may attend to nothing included."""
    *tensors, mask = inputs(seed, n_queries, n_keys, d_k, d_v, dtype)
    for given_mask in (mask, None):
        taught, _ = scaled_dot_product_attention(*tensors, given_mask)
        fast = fused_attention(*tensors, given_mask)
        torch.testing.assert_close(fast, taught, atol=tolerance, rtol=tolerance)
        weights = normal(*taught.shape, seed=seed + 4).to(dtype)
        gradients = torch.autograd.grad((taught * weights).sum(), tensors)
        fast_gradients = torch.autograd.grad((fast * weights).sum(), tensors)
        for ours, theirs in zip(fast_gradients, gradients, strict=True):
            torch.testing.assert_close(ours, theirs, atol=10 * tolerance, rtol=10 * tolerance)
            assert ours.isfinite().all()


def test_a_query_that_may_attend_to_nothing_gets_zeros():
    *tensors, mask = inputs(0, 4, 5, 3, 2, torch.float64)
    output, weights = scaled_dot_product_attention(*tensors, mask)
    assert (output[0, :, 0] == 0).all()
    assert (weights[0, :, 0] == 0).all()
    assert (fused_attention(*tensors, mask)[0, :, 0] == 0).all()


# Multi-head attention


def test_heads_are_blocks_of_columns_and_merge_undoes_split():
    x = torch.arange(2 * 3 * 8).view(2, 3, 8)
    heads = split_heads(x, 4)
    assert heads.shape == (2, 4, 3, 2)
    assert torch.equal(heads[:, 1], x[:, :, 2:4])
    assert torch.equal(merge_heads(heads), x)


def test_multi_head_attention_is_its_heads_one_by_one():
    d_model, num_heads, d_k, d_v = 10, 3, 4, 2
    attention = MultiHeadAttention(d_model, num_heads, d_k, d_v).double()
    query, key, value = (normal(2, n, d_model, seed=seed) for seed, n in enumerate((5, 7, 7)))
    mask = normal(2, 1, 5, 7, seed=9) > 0
    heads = []
    for i in range(num_heads):
        w_q = attention.query_projection.weight[i * d_k : (i + 1) * d_k]
        w_k = attention.key_projection.weight[i * d_k : (i + 1) * d_k]
        w_v = attention.value_projection.weight[i * d_v : (i + 1) * d_v]
        head, _ = scaled_dot_product_attention(
            query @ w_q.T, key @ w_k.T, value @ w_v.T, mask.squeeze(1)
        )
        heads.append(head)
    expected = torch.cat(heads, dim=-1) @ attention.output_projection.weight.T
    torch.testing.assert_close(attention(query, key, value, mask), expected)


def test_the_papers_projections_have_no_bias():
    assert sorted(dict(MultiHeadAttention(8, 2).named_parameters())) == [
        f"{name}_projection.weight" for name in ("key", "output", "query", "value")
    ]
    assert len(list(MultiHeadAttention(8, 2, bias=True).parameters())) == 8


def test_the_order_of_keys_does_not_matter():
    attention = MultiHeadAttention(8, 2).double()
    query, memory = normal(1, 3, 8), normal(1, 6, 8, seed=1)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    torch.testing.assert_close(
        attention(query, memory, memory), attention(query, memory[:, order], memory[:, order])
    )


def test_heads_must_share_d_model_evenly():
    with pytest.raises(ValueError, match="d_model = 10 cannot be shared evenly by num_heads = 3"):
        MultiHeadAttention(10, 3)


def test_attention_dropout_acts_in_training_only():
    attention = MultiHeadAttention(8, 2, dropout=0.5).double()
    x = normal(1, 6, 8)
    expected = attention.eval()(x, x, x)
    torch.testing.assert_close(attention(x, x, x), expected)
    torch.manual_seed(0)
    assert not torch.allclose(attention.train()(x, x, x), expected)


def test_recorded_weights_are_those_that_made_the_output():
    attention = MultiHeadAttention(8, 2).double()
    x, mask = normal(1, 4, 8), torch.ones(4, 4, dtype=torch.bool).tril()
    expected = attention(x, x, x, mask)
    model = torch.nn.ModuleDict({"attention": attention})
    with recording_attention(model) as recorded:
        torch.testing.assert_close(attention(x, x, x, mask), expected)
    weights = recorded["attention"]
    assert weights.shape == (1, 2, 4, 4)
    _, values = attention.project_key_value(x, x)
    torch.testing.assert_close(attention.combine(weights @ values), expected)
    assert not attention.keep_weights
    assert attention.weights is None
