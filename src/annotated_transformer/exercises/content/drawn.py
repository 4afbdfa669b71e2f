"""Random inputs of the exercises on the encoder and the decoder."""

import torch
from torch import Tensor


def drawn(generator: torch.Generator, dtype: torch.dtype, *shape: int) -> Tensor:
    """Normal numbers, the same ones in every dtype but for rounding."""
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def gain_and_shift(generator: torch.Generator, dtype: torch.dtype, d: int) -> tuple[Tensor, Tensor]:
    """gamma and beta, (d,) each, far enough from 1 and 0 to be seen."""
    gamma = 1.5 + 0.5 * drawn(generator, dtype, d)
    beta = 0.5 + drawn(generator, dtype, d)
    return gamma, beta
