"""Position-wise feed-forward networks (section 3.3)."""

from torch import Tensor, nn


class FeedForward(nn.Module):
    """Equation 2: FFN(x) = max(0, x W_1 + b_1) W_2 + b_2, the same at every position.

    Args:
        d_model: width of the input and of the output.
        d_ff: width in between; 2048 in the base model.
    """

    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_model) -> (..., d_model)."""
        return self.outer(self.hidden(x))

    def hidden(self, x: Tensor) -> Tensor:
        """max(0, x W_1 + b_1), (..., d_ff)."""
        return self.inner(x).relu()
