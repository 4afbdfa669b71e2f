"""Restricted attention against full attention with a mask; its cost and memory against counts."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from annotated_transformer.attention import fused_attention
from annotated_transformer.benchmark.dispatch import peak_bytes
from annotated_transformer.experiments.measurements import multiply_adds
from annotated_transformer.experiments.restricted import neighbourhood_mask, restricted_attention
from annotated_transformer.masks import causal_mask


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


@pytest.mark.parametrize(
    ("n", "side", "tile", "queries", "met"),
    [
        (40, 2, None, 40, 9),
        (40, 2, 1, 40, 5),
        (40, 2, 10, 40, 14),
        (41, 2, 10, 50, 14),  # nine queries of nobody fill up the last tile
        (200, 16, None, 231, 65),
    ],
)
def test_multiply_adds_are_those_of_the_docstring(
    n: int, side: int, tile: int | None, queries: int, met: int
) -> None:
    d = 8
    x = torch.zeros(1, n, d)
    counted = multiply_adds(lambda x: restricted_attention(x, x, x, side, side, tile), x)
    assert counted == 2 * queries * met * d  # a tile meets tile + r - 1 keys


def test_a_neighbourhood_beyond_the_ends_costs_as_one_that_reaches_them() -> None:
    """15 keys around each query, in one tile of 8 queries that meets 22 keys."""
    n, d = 8, 4
    x = torch.zeros(1, n, d)
    for side, tile in ((7, None), (200, None), (200, 500)):
        counted = multiply_adds(lambda x, s=side, t=tile: restricted_attention(x, x, x, s, s, t), x)
        assert counted == 2 * n * 22 * d


@pytest.mark.parametrize("shift", [-3e4, 3e4])
def test_only_differences_of_scores_count(shift: float) -> None:
    """What is hidden lies below every score, however low: -1000 would not."""
    query, key, value = (normal(11, 2, seed=seed) for seed in range(3))
    query[:, 0], key[:, 0] = 2**0.5, shift
    masked = fused_attention(query, key, value, neighbourhood_mask(11, 2, 1))
    ours = restricted_attention(query, key, value, 2, 1)
    torch.testing.assert_close(ours, masked, rtol=1e-9, atol=1e-9)


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
    three, four, none = (torch.zeros(n, 2) for n in (3, 4, 0))
    with pytest.raises(ValueError, match="3 queries, 4 keys and 4 values"):
        restricted_attention(three, four, four, 1, 1)
    with pytest.raises(ValueError, match="3 queries, 3 keys and 4 values"):
        restricted_attention(three, three, four, 1, 1)
    with pytest.raises(ValueError, match=r"0 queries, .* at least one"):
        restricted_attention(none, none, none, 1, 1)
