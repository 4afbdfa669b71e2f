"""Random numbers: those of PyTorch for the same seed."""

from typing import Any

import numpy as np
import pytest
import torch

from annotated_transformer.standin import torch as standin

SEEDS = (0, 1, 4_294_967_295, 123_456_789)
SIZES = (1, 3, 15, 16, 17, 40, 100)
TO_THE_BIT = (
    "rand(n, generator=g)",
    "rand(n, generator=g, dtype=t.float64)",
    "randint(2, 17, (n,), generator=g)",
    "randint(0, 2**40, (n,), generator=g)",
    "randint(-5, 5, (n, 2), generator=g)",
    "randperm(n, generator=g)",
    "empty(n).uniform_(-1, 2, generator=g)",
    "empty(n, dtype=t.float64).uniform_(-1, 2, generator=g)",
)
NEARLY = (  # the last digits of logarithm and cosine are the library's own
    "randn(n, generator=g)",
    "randn(n, generator=g, dtype=t.float64)",
    "empty(n).normal_(1, 2, generator=g)",
    "empty(n, dtype=t.float64).normal_(generator=g)",
)


def _drawn(t: Any, code: str, seed: int, n: int) -> list[np.ndarray[Any, Any]]:
    g = t.Generator().manual_seed(seed)
    return [eval(f"t.{code}", {"t": t, "g": g, "n": n}).numpy() for _ in range(3)]


@pytest.mark.parametrize("code", TO_THE_BIT)
def test_equal_to_the_bit(code: str) -> None:
    for seed in SEEDS:
        for n in SIZES:
            for one, other in zip(
                _drawn(torch, code, seed, n), _drawn(standin, code, seed, n), strict=True
            ):
                assert np.array_equal(one, other), (seed, n)


@pytest.mark.parametrize("code", NEARLY)
def test_normal_numbers_differ_in_their_last_digits_alone(code: str) -> None:
    for seed in SEEDS:
        for n in SIZES:
            for one, other in zip(
                _drawn(torch, code, seed, n), _drawn(standin, code, seed, n), strict=True
            ):
                margin = 1e-6 if one.dtype == np.float32 else 1e-14
                assert np.allclose(one, other, 4 * margin, margin), (seed, n)


def test_the_stream_that_is_used_where_none_is_named() -> None:
    for t in (torch, standin):
        t.manual_seed(7)
    assert np.array_equal(torch.rand(5).numpy(), standin.rand(5).numpy())
    before, own_before = torch.get_rng_state(), standin.get_rng_state()
    first = torch.rand(3).numpy(), standin.rand(3).numpy()
    torch.set_rng_state(before)
    standin.set_rng_state(own_before)
    again = torch.rand(3).numpy(), standin.rand(3).numpy()
    assert np.array_equal(*first)
    assert np.array_equal(first[0], again[0])
    assert np.array_equal(first[1], again[1])


def test_layers_begin_with_the_same_numbers() -> None:
    for t in (torch, standin):
        t.manual_seed(3)
    for make in (lambda t: t.nn.Linear(5, 4), lambda t: t.nn.Embedding(7, 6)):
        assert np.allclose(
            make(torch).weight.detach().numpy(), make(standin).weight.detach().numpy(), 1e-5, 1e-6
        )


def test_dropout_leaves_out_as_many_and_scales_the_others() -> None:
    """PyTorch draws otherwise on Intel's processors, so only what it means is said."""
    standin.manual_seed(0)
    dropped = standin.nn.functional.dropout(standin.ones(10_000), 0.25).numpy()
    assert set(np.unique(dropped)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((dropped == 0).mean() - 0.25) < 0.02
