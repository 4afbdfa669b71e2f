"""The learning rate (section 5.3): a linear warm-up, then the inverse square root of the step."""

from dataclasses import dataclass


def noam_rate(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    """Equation 3: d_model^-0.5 * min(step^-0.5, step * warmup^-1.5), times `factor`.

    Args:
        step: counted from 1; step 0 is taken as step 1.
        d_model: width of the model; wider models learn with smaller steps.
        warmup: steps until the peak; 4,000 in the paper.
        factor: 1 in the paper.
    """
    step = max(step, 1)
    return factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)


@dataclass(frozen=True)
class LearningRateSchedule:
    """Equation 3, with two named departures for short runs.

    Args:
        d_model: width of the model.
        warmup: steps until the peak.
        peak: the rate at the peak; None leaves the paper's, d_model^-0.5 * warmup^-0.5.
        decay: the last share of the run over which the rate falls linearly to zero on top of
            equation 3; 0 as in the paper.
    """

    d_model: int
    warmup: int
    peak: float | None = None
    decay: float = 0.0

    def rate(self, step: int, progress: float = 0.0) -> float:
        """The rate of one step.

        Args:
            step: counted from 1.
            progress: share of the run that is done, from 0 to 1.
        """
        factor = 1.0
        if self.peak is not None:
            factor = self.peak / noam_rate(self.warmup, self.d_model, self.warmup)
        if self.decay > 0:
            factor *= min(1.0, max(0.0, (1.0 - progress) / self.decay))
        return noam_rate(step, self.d_model, self.warmup, factor)
