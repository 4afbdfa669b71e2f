"""Attention for bfloat16 on a CPU, by Equation 1."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.attention import fused_attention, scaled_dot_product_attention
from annotated_transformer.fast.cpu_attention import (
    attention_by_precision,
    softmax_in_float32,
    unfused_attention,
)

seeds = st.integers(0, 2**16)


def normal(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_other_precisions_get_pytorchs_own_call(dtype):
    query, key, value = (normal(2, 3, 4, 8, seed=seed, dtype=dtype) for seed in range(3))
    assert torch.equal(
        attention_by_precision(query, key, value), fused_attention(query, key, value)
    )


@pytest.mark.parametrize("masked", [False, True])
def test_the_three_operations_for_a_cpu_are_equation_1(masked):
    """In float64, where bfloat16 cannot hide a scale that is a little wrong."""
    query, key, value = (
        normal(2, 3, 4, 8),
        5 * normal(2, 3, 5, 8, seed=1),
        normal(2, 3, 5, 6, seed=2),
    )
    mask = None
    if masked:
        mask = normal(2, 1, 4, 5, seed=3) > 0
        mask[0, :, 1] = False  # a query that may attend to nothing
    expected, _ = scaled_dot_product_attention(query, key, value, mask)
    got = unfused_attention(query, key, value, mask)
    torch.testing.assert_close(got, expected, rtol=1e-12, atol=1e-12)


@given(st.integers(1, 40), st.sampled_from([torch.float64, torch.bfloat16]), seeds)
def test_the_softmax_in_float32_is_the_softmax_and_has_its_gradient(n_keys, dtype, seed):
    """Rows shorter than a vector are filled up inside: nothing of that may be seen outside."""
    scores = (3 * normal(2, 3, n_keys, seed=seed)).to(dtype).requires_grad_()
    outside = normal(2, 3, n_keys, seed=seed + 1).to(dtype)
    got = softmax_in_float32(scores)
    assert got.dtype == dtype
    (gradient,) = torch.autograd.grad(got, scores, outside)
    exact = scores.detach().double().requires_grad_()
    expected = exact.softmax(-1)
    (expected_gradient,) = torch.autograd.grad(expected, exact, outside.double())
    tolerance = 1e-12 if dtype == torch.float64 else 2**-7
    torch.testing.assert_close(got.double(), expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(gradient.double(), expected_gradient, rtol=tolerance, atol=tolerance)
