"""Product, bias and ReLU by one kernel: the same numbers and the same gradients."""

import copy

import pytest
import torch
from torch import nn

from annotated_transformer.after.build import network
from annotated_transformer.after.config import KINDS, LaterConfig
from annotated_transformer.fast.fused_relu import linear_relu, use_fused_relu
from annotated_transformer.feed_forward import FeedForward


def test_value_and_gradients_are_those_of_separate_operations() -> None:
    torch.manual_seed(0)
    linear, x = nn.Linear(6, 10).double(), torch.randn(3, 4, 6, dtype=torch.float64)
    plain, fused = x.clone().requires_grad_(), x.clone().requires_grad_()
    weights = torch.randn(3, 4, 10, dtype=torch.float64)
    expected, found = linear(plain).relu(), linear_relu(linear, fused)
    torch.testing.assert_close(found, expected)
    of_plain = torch.autograd.grad((expected * weights).sum(), [plain, *linear.parameters()])
    of_fused = torch.autograd.grad((found * weights).sum(), [fused, *linear.parameters()])
    for ours, theirs in zip(of_fused, of_plain, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_every_feed_forward_network_takes_part() -> None:
    torch.manual_seed(0)
    plain = nn.Sequential(FeedForward(6, 10), FeedForward(6, 10))
    fused = copy.deepcopy(plain)
    use_fused_relu(fused)
    x = torch.randn(5, 6)
    assert not torch.equal(x, plain(x))
    torch.testing.assert_close(fused(x), plain(x))
    assert all("hidden" in vars(module) for module in fused)
    assert list(fused.state_dict()) == list(plain.state_dict())


@pytest.mark.parametrize("kind", KINDS["network"])
def test_a_later_network_stays_what_it_is(kind: str) -> None:
    torch.manual_seed(0)
    config = LaterConfig(4, d_model=6, d_ff=10, num_heads=1, num_layers=1, network=kind)  # type: ignore[arg-type]
    plain = network(config)
    fused = copy.deepcopy(plain)
    use_fused_relu(fused)
    x = torch.randn(5, 6)
    torch.testing.assert_close(fused(x), plain(x))
