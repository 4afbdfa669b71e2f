"""Random numbers of a seed, without a trace in those of the notebook around it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Within the block torch draws as after `torch.manual_seed(seed)`; afterwards as if nothing
    had been drawn."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield
