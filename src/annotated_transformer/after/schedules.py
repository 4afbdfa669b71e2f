"""Learning rates that came after equation 3: a warm-up, and then another shape."""

import math
from dataclasses import dataclass
from typing import Literal

Shape = Literal["cosine", "plateau"]


@dataclass(frozen=True)
class LaterSchedule:
    """A linear warm-up to the peak, times one of two shapes over the length of the run.

    "cosine" falls along half a wave from the first step to the last (Loshchilov and Hutter, 2016),
    during the warm-up too: the highest rate stays below the peak, by more the longer the warm-up.
    "plateau" stays at the peak and falls in a straight line at the end: warm-up, stable, decay (Hu
    et al., 2024, whose fall is exponential). The end can be decided late, because nothing before it
    depends on it.

    Args:
        shape: which of the two.
        peak: to which the warm-up rises.
        warmup: steps until then.
        decay: share of the run over which "plateau" falls to zero.
    """

    shape: Shape
    peak: float
    warmup: int
    decay: float

    def rate(self, step: int, progress: float) -> float:
        """The rate of one step.

        Args:
            step: counted from 1.
            progress: share of the run that is done, from 0 to 1.
        """
        rising = min(1.0, max(step, 1) / self.warmup)
        if self.shape == "cosine":
            return self.peak * rising * (1 + math.cos(math.pi * progress)) / 2
        return self.peak * rising * min(1.0, max(0.0, (1 - progress) / self.decay))
