"""Positional encoding (section 3.5): where a token stands, added to what it is."""

import torch
from torch import Tensor, nn


def sinusoidal_encoding(n_positions: int, d_model: int) -> Tensor:
    """Sine in the even columns, cosine in the odd ones, one wavelength a pair of columns.

    PE[pos, 2i] = sin(pos / 10000^(2i / d_model)) and PE[pos, 2i + 1] = cos(the same angle).

    Args:
        n_positions: how many positions, counted from 0.
        d_model: the width, an even number.

    Returns:
        float32 (n_positions, d_model).

    Raises:
        ValueError: if d_model is odd.
    """
    if d_model % 2:
        raise ValueError(
            f"d_model = {d_model} is odd: sines and cosines come in pairs, so it must be even."
        )
    # Angles in float64: at position 60,000 float32 would keep only two decimals of a radian.
    position = torch.arange(n_positions, dtype=torch.float64)[:, None]  # (n_positions, 1)
    even = torch.arange(0, d_model, 2, dtype=torch.float64)  # (d_model / 2,), the values 2i
    angle = position / 10000.0 ** (even / d_model)  # (n_positions, d_model / 2)
    encoding = torch.stack([angle.sin(), angle.cos()], dim=-1)  # (n_positions, d_model / 2, 2)
    return encoding.reshape(n_positions, d_model).float()


class SinusoidalPositions(nn.Module):
    """The fixed encoding, made once and lengthened when a longer sequence comes."""

    encoding: Tensor

    def __init__(self, d_model: int, n_positions: int = 256) -> None:
        super().__init__()
        self.d_model = d_model
        # Not persistent: it is computed, so it is not part of a checkpoint.
        self.register_buffer(
            "encoding", sinusoidal_encoding(n_positions, d_model), persistent=False
        )

    def forward(self, n: int, start: int = 0) -> Tensor:
        """The encodings of positions start ... start + n - 1; (n, d_model)."""
        if start + n > self.encoding.size(0):
            longer = sinusoidal_encoding(2 * (start + n), self.d_model)
            self.encoding = longer.to(self.encoding)
        return self.encoding[start : start + n]


class LearnedPositions(nn.Module):
    """Row (E) of Table 3: one trained vector a position, up to a fixed number of positions.

    Alone, the table starts at zero; the model's `initialise` draws it as it does embeddings.
    """

    def __init__(self, d_model: int, max_positions: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(max_positions, d_model))

    def forward(self, n: int, start: int = 0) -> Tensor:
        """The vectors of positions start ... start + n - 1; (n, d_model).

        Raises:
            ValueError: if a position beyond the table is asked for.
        """
        if start + n > self.table.size(0):
            raise ValueError(
                f"Position {start + n - 1} was asked for, and the learned table ends at "
                f"{self.table.size(0) - 1}: use shorter sequences, a larger max_positions, or "
                'positions="sinusoidal", which has no end.'
            )
        return self.table[start : start + n]
