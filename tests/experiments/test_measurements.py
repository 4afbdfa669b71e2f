"""Gaps, dependences, counts and chains, each against a case known by hand."""

import warnings

import numpy as np
import pytest
import torch
from torch import Tensor

from annotated_transformer.attention import fused_attention, scaled_dot_product_attention
from annotated_transformer.experiments.measurements import (
    gap,
    longest_chain,
    multiply_adds,
)
from annotated_transformer.experiments.tiled import online_softmax_attention, tiled_attention


def test_gap_is_the_largest_difference_of_lists_arrays_and_tensors() -> None:
    ours = [[1.0, 2.0], [3.0, 4.0]]
    theirs = torch.tensor([[1.0, 2.5], [3.0, 4.25]], requires_grad=True)
    assert gap(ours, theirs) == gap(theirs, np.array(ours)) == 0.5


def test_gap_takes_a_list_of_arrays_without_a_warning() -> None:
    rows = [np.array([1.0, 2.0]), np.array([3.0, 4.0])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gap(rows, torch.tensor([[1.0, 2.0], [3.0, 5.0]])) == 1.0


def test_gap_repeats_nothing_to_fit() -> None:
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(1, 2\) were given"):
        gap([1.0, 2.0], [[1.0, 2.0]])


def test_multiply_adds_of_two_products() -> None:
    def both(a: Tensor, b: Tensor) -> Tensor:
        return (a @ b) @ b.T

    a, b = torch.zeros(3, 4, requires_grad=True), torch.zeros(4, 5)
    assert multiply_adds(both, a, b) == 2 * 3 * 4 * 5


@pytest.mark.parametrize("masked", [False, True])
def test_multiply_adds_inside_fused_attention_are_counted(masked: bool) -> None:
    """As many as the teaching path's, whichever kernel PyTorch picks."""
    query, key, value = torch.randn(2, 3, 5, 8), torch.randn(2, 3, 7, 8), torch.randn(2, 3, 7, 8)
    mask = torch.rand(2, 1, 5, 7) > 0.3 if masked else None
    by_hand = 2 * 3 * 5 * 7 * (8 + 8)
    for attend in (fused_attention, scaled_dot_product_attention):
        assert multiply_adds(attend, query, key, value, mask) == by_hand


def test_multiply_adds_do_without_a_kernel_that_a_release_has_renamed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operations = torch.ops.aten

    class Renamed:
        def __getattr__(self, name: str) -> object:
            if name == "_scaled_dot_product_flash_attention_for_cpu":
                raise AttributeError(name)
            return getattr(operations, name)

    monkeypatch.setattr(torch.ops, "aten", Renamed())
    assert multiply_adds(torch.matmul, torch.zeros(3, 4), torch.zeros(4, 5)) == 3 * 4 * 5


def test_longest_chain_of_a_known_chain() -> None:
    def chain(x: Tensor) -> Tensor:
        y = x.exp().sin() + x  # exp, sin, add: the short way does not count
        return y.cos()

    assert longest_chain(chain, torch.zeros(3, 2)) == 5  # and the input itself
    with pytest.raises(ValueError, match="does not depend on the inputs"):
        longest_chain(lambda x: torch.ones(2), torch.zeros(2))


def test_longest_chain_of_attention_grows_with_the_number_of_tiles() -> None:
    """And stays in the plain form. A backward of its own hides what is inside."""
    plain = lambda x: scaled_dot_product_attention(x, x, x)[0]  # noqa: E731
    online = lambda x: online_softmax_attention(x, x, x, 16)[0]  # noqa: E731
    inputs = [torch.zeros(1, n, 8) for n in (64, 128, 256)]
    assert len({longest_chain(plain, x) for x in inputs}) == 1
    four, eight, sixteen = (longest_chain(online, x) for x in inputs)
    assert (eight - four, sixteen - eight) == (2 * 4, 2 * 8)
    assert longest_chain(lambda x: tiled_attention(x, x, x, 16), inputs[0]) == 2
