"""Section 3.3, equation 2."""

import torch

from annotated_transformer.feed_forward import FeedForward


def test_feed_forward_is_equation_2_at_every_position():
    feed_forward = FeedForward(4, 6).double()
    x = torch.randn(2, 3, 4, dtype=torch.float64)
    w_1, b_1 = feed_forward.inner.weight.T, feed_forward.inner.bias
    w_2, b_2 = feed_forward.outer.weight.T, feed_forward.outer.bias
    expected = torch.clamp(x @ w_1 + b_1, min=0) @ w_2 + b_2
    torch.testing.assert_close(feed_forward(x), expected)
    torch.testing.assert_close(feed_forward(x[:, 1:2]), expected[:, 1:2])
