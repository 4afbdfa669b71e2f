"""Sections 3.1 and 5.4: layer normalisation, and the order of dropout, addition and norm."""

import pytest
import torch
from torch import nn

from annotated_transformer.residual import LayerNorm, ResidualConnection, layer_norm


def random_norm(d_model: int, eps: float) -> LayerNorm:
    norm = LayerNorm(d_model, eps).double()
    nn.init.normal_(norm.gamma)
    nn.init.normal_(norm.beta)
    return norm


@pytest.mark.parametrize("eps", [1e-6, 0.5])
def test_the_norm_module_is_the_norm_that_is_taught(eps):
    norm = random_norm(6, eps)
    x = 3 + 2 * torch.randn(2, 4, 6, dtype=torch.float64)
    taught = layer_norm(x, norm.gamma, norm.beta, eps)
    torch.testing.assert_close(norm(x), taught)
    mean, variance = x[1, 2].mean(), ((x[1, 2] - x[1, 2].mean()) ** 2).sum() / 6
    by_hand = norm.gamma * (x[1, 2] - mean) / torch.sqrt(variance + eps) + norm.beta
    torch.testing.assert_close(taught[1, 2], by_hand)


def test_post_norm_is_the_papers_order():
    residual = ResidualConnection(4, dropout=0.0).double()
    residual.norm = random_norm(4, 1e-6)
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    torch.testing.assert_close(residual(x, torch.sin), residual.norm(x + torch.sin(x)))


def test_pre_norm_is_the_later_order():
    residual = ResidualConnection(4, dropout=0.0, norm="pre").double()
    residual.norm = random_norm(4, 1e-6)
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    torch.testing.assert_close(residual(x, torch.sin), x + torch.sin(residual.norm(x)))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_dropout_falls_on_the_sublayers_output_alone(norm):
    """With everything dropped, x goes through untouched but for the norm (section 5.4)."""
    residual = ResidualConnection(4, dropout=0.999999, norm=norm).train()
    x = torch.randn(2, 3, 4)
    expected = residual.norm(x) if norm == "post" else x
    torch.testing.assert_close(residual(x, lambda y: 100 + y), expected)
