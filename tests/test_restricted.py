"""Restricted attention against full attention with a mask; its cost and memory against counts."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.attention import fused_attention
from annotated_transformer.masks import causal_mask
from annotated_transformer.measurements import multiply_adds, peak_bytes
from annotated_transformer.restricted import neighbourhood_mask, restricted_attention


def normal(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@settings(max_examples=60, deadline=None)
@given(n=st.integers(1, 12), before=st.integers(0, 14), after=st.integers(0, 14))
def test_the_mask_is_that_of_two_inequalities(n: int, before: int, after: int) -> None:
    mask = neighbourhood_mask(n, before, after)
    for i in range(n):
        assert mask[i].tolist() == [i - before <= j <= i + after for j in range(n)]


def test_masks_with_names_of_their_own() -> None:
    assert torch.equal(neighbourhood_mask(7, 6, 0), causal_mask(7))
    assert torch.equal(neighbourhood_mask(7, 0, 0), torch.eye(7, dtype=torch.bool))
    assert neighbourhood_mask(7, 6, 6).all()


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 17),
    before=st.integers(0, 6),
    after=st.integers(0, 6),
    tile=st.none() | st.integers(1, 9),
)
def test_output_and_gradients_are_those_of_full_attention_with_the_mask(
    n: int, before: int, after: int, tile: int | None
) -> None:
    tensors = [normal(2, 3, n, d, seed=seed) for seed, d in enumerate((4, 4, 5))]
    weighting, results = normal(2, 3, n, 5, seed=9), []
    mask = neighbourhood_mask(n, before, after)
    for function in (
        lambda q, k, v: restricted_attention(q, k, v, before, after, tile),
        lambda q, k, v: fused_attention(q, k, v, mask),
    ):
        given_tensors = [tensor.clone().requires_grad_() for tensor in tensors]
        output = function(*given_tensors)
        results.append([output, *torch.autograd.grad((output * weighting).sum(), given_tensors)])
    for ours, masked in zip(*results, strict=True):
        torch.testing.assert_close(ours, masked, rtol=1e-10, atol=1e-12)


def test_a_neighbourhood_beyond_the_ends_is_all_of_it() -> None:
    x = normal(1, 5, 4)
    torch.testing.assert_close(restricted_attention(x, x, x, 9, 9), fused_attention(x, x, x))


@pytest.mark.parametrize(("tile", "met"), [(None, 9), (1, 5), (10, 14)])
def test_multiply_adds_are_those_of_the_docstring(tile: int | None, met: int) -> None:
    n, d = 40, 8
    x = torch.zeros(1, n, d)
    counted = multiply_adds(lambda x: restricted_attention(x, x, x, 2, 2, tile), x)
    assert counted == 2 * n * met * d  # a tile meets tile + r - 1 keys, r = 5


def test_memory_grows_with_n() -> None:
    def training(x: Tensor) -> None:
        x = x.detach().requires_grad_()
        restricted_attention(x, x, x, 2, 2).sum().backward()

    peaks = [peak_bytes(training, torch.zeros(1, n, 8)) for n in (50, 100, 200, 400)]
    for small, large in itertools.pairwise(peaks):
        assert 1.9 < large / small < 2.1


@pytest.mark.parametrize(("before", "after", "tile"), [(-1, 0, None), (0, -1, None), (1, 1, 0)])
def test_what_does_not_exist_is_refused(before: int, after: int, tile: int | None) -> None:
    x = torch.zeros(1, 4, 2)
    with pytest.raises(ValueError, match=f"before = {before}, after = {after}"):
        restricted_attention(x, x, x, before, after, tile)


def test_queries_and_keys_are_the_same_positions() -> None:
    with pytest.raises(ValueError, match="3 queries and 4 keys"):
        restricted_attention(torch.zeros(3, 2), torch.zeros(4, 2), torch.zeros(4, 2), 1, 1)
