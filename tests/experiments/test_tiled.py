"""Attention in tiles against the plain form, torch's kernel and numerical derivatives."""

import itertools
import math
import re
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from annotated_transformer.attention import scaled_dot_product_attention
from annotated_transformer.benchmark.dispatch import peak_bytes
from annotated_transformer.experiments.measurements import gap, multiply_adds
from annotated_transformer.experiments.tiled import online_softmax_attention, tiled_attention


def draws(*shapes: tuple[int, ...], seed: int = 0) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


def inputs(n_queries: int, n_keys: int, d_k: int = 5, d_v: int = 3, seed: int = 0) -> list[Tensor]:
    shapes = ((2, 3, n_queries, d_k), (2, 3, n_keys, d_k), (2, 3, n_keys, d_v))
    return draws(*shapes, seed=seed)


@settings(max_examples=60, deadline=None)
@given(
    n_queries=st.integers(1, 12),
    n_keys=st.integers(1, 12),
    tile=st.integers(1, 14),
    seed=st.integers(0, 9),
)
def test_output_and_gradients_are_those_of_the_plain_form(
    n_queries: int, n_keys: int, tile: int, seed: int
) -> None:
    tensors = inputs(n_queries, n_keys, seed=seed)
    (weighting,) = draws((2, 3, n_queries, 3), seed=seed + 100)
    results = []
    for function in (
        lambda q, k, v: tiled_attention(q, k, v, tile),
        lambda q, k, v: scaled_dot_product_attention(q, k, v)[0],
        functional.scaled_dot_product_attention,
    ):
        given_tensors = [tensor.clone().requires_grad_() for tensor in tensors]
        output = function(*given_tensors)
        results.append([output, *torch.autograd.grad((output * weighting).sum(), given_tensors)])
    for ours, plain, torchs in zip(*results, strict=True):
        torch.testing.assert_close(ours, plain, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(ours, torchs, rtol=1e-10, atol=1e-12)


def test_gradients_are_numerical_derivatives() -> None:
    tensors = [x[0, :2].contiguous().requires_grad_() for x in inputs(5, 7)]
    assert torch.autograd.gradcheck(lambda q, k, v: tiled_attention(q, k, v, 3), tensors)


@pytest.mark.parametrize("steep", [1.0, 300.0])
def test_scores_that_rise_from_key_to_key_do_not_overflow(steep: float) -> None:
    """The largest score changes with every tile for one query and never for the other."""
    key = torch.linspace(-3, 3, 9)[:, None]
    query, value = torch.tensor([[steep], [-steep]]), torch.arange(9.0)[:, None]
    plain, _ = scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(tiled_attention(query, key, value, 2), plain)


@pytest.mark.parametrize("shift", [-3e4, 3e4])
def test_only_differences_of_scores_count(shift: float) -> None:
    query, key, value = (x[0, 0] for x in inputs(4, 6, d_k=2))
    query[:, 0], key[:, 0] = math.sqrt(2), shift
    plain, _ = scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(tiled_attention(query, key, value, 4), plain, rtol=1e-9, atol=1e-9)


def test_the_sum_that_is_kept_is_that_of_all_keys() -> None:
    query, key, value = inputs(4, 9)
    _, log_sums = online_softmax_attention(query, key, value, 2)
    scores = query @ key.mT / math.sqrt(5)
    torch.testing.assert_close(log_sums, scores.logsumexp(-1, keepdim=True))


def training(x: Tensor) -> None:
    """One pass forward and one backward."""
    x = x.detach().requires_grad_()
    tiled_attention(x, x, x, 16).sum().backward()


def test_memory_grows_by_the_same_with_every_tile() -> None:
    """A straight line, exactly: two steps of equal size. The plain form's steps grow."""
    for function in (training, lambda x: tiled_attention(x, x, x, 16)):
        peaks = [peak_bytes(function, torch.zeros(1, n, 8)) for n in (64, 128, 192, 256)]
        assert len({b - a for a, b in itertools.pairwise(peaks)}) == 1
    plain = [
        peak_bytes(lambda x: scaled_dot_product_attention(x, x, x), torch.zeros(1, n, 8))
        for n in (64, 128, 256)
    ]
    assert plain[2] - plain[1] > 3 * (plain[1] - plain[0])


def test_backward_computes_the_scores_again() -> None:
    """Two products forward, five backward: in the plain form autograd has four."""
    n, d = 32, 8
    x = torch.zeros(1, n, d)
    assert multiply_adds(lambda x: tiled_attention(x, x, x, 8), x) == 2 * n * n * d
    with torch.enable_grad():  # `multiply_adds` switches gradients off
        made = x.clone().requires_grad_()
        output = tiled_attention(made, made, made, 8).sum()
        assert multiply_adds(lambda: output.backward()) == 5 * n * n * d


def test_inputs_stay_as_they_are_and_no_second_derivative_is_promised() -> None:
    tensors = [x.requires_grad_() for x in inputs(4, 6)]
    before = [x.detach().clone() for x in tensors]
    output = tiled_attention(*tensors, 2)
    (first, *_) = torch.autograd.grad(output.square().sum(), tensors, create_graph=True)
    for tensor, copy in zip(tensors, before, strict=True):
        assert torch.equal(tensor, copy)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        first.sum().backward()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_tensors_of_16_bits_are_added_up_in_32(dtype: torch.dtype) -> None:
    """At most as inexact as the plain form in the same type; sums in 16 bits are twice that."""
    tensors = [x.to(dtype) for x in draws(*[(256, 8)] * 3)]
    (weighting,) = draws((256, 8), seed=1)

    def output_and_gradients(function: Any, dtype: torch.dtype) -> list[Tensor]:
        given = [x.to(dtype).requires_grad_() for x in tensors]
        output = function(*given)
        loss = (output * weighting.to(dtype)).sum()
        return [output, *torch.autograd.grad(loss, given)]

    def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return scaled_dot_product_attention(q, k, v)[0]

    exact = output_and_gradients(plain, torch.float64)
    in_tiles = output_and_gradients(lambda q, k, v: tiled_attention(q, k, v, 16), dtype)
    at_once = output_and_gradients(plain, dtype)
    for ours, theirs, true in zip(in_tiles, at_once, exact, strict=True):
        assert ours.dtype == dtype
        assert gap(ours, true) <= gap(theirs, true)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_gradient_in_16_bits_is_not_multiplied_in_them(dtype: torch.dtype) -> None:
    """By hand: the output is 129, and with dO = 129 the sum of dO ∘ O is 16,641: 15 bits.

    Either type of 16 bits makes 16,640 of it, and (-64, 65) of the gradient of the keys, which is
    (128 · 129 - 16,641) / 2 = -64.5 for the first and 64.5 for the second.
    """
    query, value = torch.ones(1, 1, dtype=dtype), torch.tensor([[128.0], [130.0]], dtype=dtype)
    key = torch.zeros(2, 1, dtype=dtype, requires_grad=True)
    output = tiled_attention(query, key, value, 1)
    (found,) = torch.autograd.grad(output, key, torch.full_like(output, 129))
    assert output.item() == 129
    assert found.flatten().tolist() == [-64.5, 64.5]


@pytest.mark.parametrize(
    ("place", "shape", "complaint"),
    [
        (1, (1, 1, 6, 5), "keys (1, 1, 6, 5)"),  # would be repeated forward, and fail backward
        (2, (1, 1, 6, 3), "values (1, 1, 6, 3)"),
        (1, (2, 3, 6, 4), "a key as wide as a query"),
        (2, (2, 3, 7, 3), "keys and values equally many"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    place: int, shape: tuple[int, ...], complaint: str
) -> None:
    tensors = inputs(4, 6)
    tensors[place] = torch.zeros(shape, dtype=torch.float64)
    with pytest.raises(ValueError, match=re.escape(complaint)):
        tiled_attention(*tensors)


def test_types_that_do_not_fit_are_refused() -> None:
    query, key, value = inputs(4, 6)
    with pytest.raises(ValueError, match=r"torch\.float64, torch\.float32 and torch\.float64"):
        tiled_attention(query, key.float(), value)
    with pytest.raises(ValueError, match="one floating-point type"):
        tiled_attention(query.long(), key.long(), value.long())


def test_a_tile_of_nothing_and_no_keys_are_refused() -> None:
    query, key, value = inputs(4, 6)
    with pytest.raises(ValueError, match="tile = 0 and 6 keys"):
        tiled_attention(query, key, value, 0)
    with pytest.raises(ValueError, match="tile = 256 and 0 keys"):
        tiled_attention(query, key[..., :0, :], value[..., :0, :])
