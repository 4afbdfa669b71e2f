"""`training.noam_rate` (section 5.3, equation 3): warm up linearly, then decay with the root."""

import math
from typing import Any

import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def noam_rate(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    climb = step * warmup**-1.5  # the smaller of the two before step = warmup
    decay = step**-0.5  # and this one after it
    rate: float = d_model**-0.5 * min(decay, climb)  # the paper's equation (3)
    return factor * rate


def _by_branches(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    if step == 0:
        step = 1
    peak = factor / math.sqrt(d_model * warmup)
    if step < warmup:
        return peak * step / warmup
    return peak * math.sqrt(warmup / step)


def _by_logarithms(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    log_step = math.log(step or 1)
    exponent = min(-0.5 * log_step, log_step - 1.5 * math.log(warmup))
    return factor * math.exp(exponent - 0.5 * math.log(d_model))


def _by_torch(step: int, d_model: int, warmup: int, factor: float = 1.0) -> Any:
    steps = torch.tensor(float(step), dtype=torch.float64).clamp(min=1.0)
    return factor * d_model**-0.5 * torch.minimum(steps.rsqrt(), steps / warmup**1.5)


def _by_sorting(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step += step < 1
    return sorted([1 / step**0.5, step / warmup**1.5])[0] / d_model**0.5 * factor


def _case(*arguments: float, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(*arguments)

    names = ("step", "d_model", "warmup", "factor")
    given = zip(names, arguments, strict=False)
    name = ", ".join(f"{key} {value}" for key, value in given)
    return Case(name, make, isolates=isolates)


CASES = (
    _case(1, 512, 4000, isolates="the first step: the warm-up term with step = 1"),
    _case(4000, 512, 4000, isolates="the peak, where both terms are equal"),
    _case(0, 512, 4000, isolates="step 0, which counts as step 1"),
    _case(100, 64, 25, isolates="the decay, long after the warm-up"),
    _case(9, 64, 100, isolates="the climb, in the middle of the warm-up"),
    _case(9, 64, 100, 3.0, isolates="factor, during the warm-up"),
    _case(400, 64, 100, 0.5, isolates="factor, during the decay"),
    _case(2, 512, 4000),
    _case(24, 128, 25),
    _case(26, 128, 25),
    _case(2, 16, 1, 2.0),
    _case(0, 32, 10, 0.25),
    _case(100_000, 1024, 4000),
    _case(10, 36, 49),
    _case(1, 4, 1),
)

NOAM_RATE = Exercise(
    id="training.noam_rate",
    title="The learning rate of the paper",
    kind="code",
    difficulty=2,
    minutes=8,
    signature="noam_rate(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float",
    statement=(
        "The paper's learning rate, equation (3), times factor: d_model^-0.5 * min(step^-0.5, "
        "step * warmup^-1.5). Steps are counted from 1; step 0 is treated as step 1."
    ),
    objective="Write the schedule, and say when it peaks and how high.",
    prerequisite="Section 5.3 of the paper",
    hints=(
        "Two curves, step^-0.5 and step * warmup^-1.5. Which is smaller at the start, and where do "
        "they meet?",
        "The rate is the smaller of the two, so it climbs linearly until step = warmup and falls "
        "with the root after it. What is 0 ** -0.5?",
        "`step = max(step, 1)`, then `factor * d_model**-0.5 * min(step**-0.5, step * "
        "warmup**-1.5)`.",
    ),
    reference=noam_rate,
    explanation=(
        "Both terms are equal at step = warmup, where the rate peaks at 1 / sqrt(d_model * "
        "warmup): 6.99e-4 for the base model, 1.75e-7 at its first step. The exponent -1.5 is what "
        "makes them meet. `max` in place of `min` gives the mirror image, enormous at first. "
        "torch's LambdaLR calls its function with 0 first, hence the rule for step 0."
    ),
    cases=CASES,
    mistakes=page(__file__, noam_rate),
    alternatives=(_by_branches, _by_logarithms, _by_torch, _by_sorting),
    starter=(
        "def noam_rate(step, d_model, warmup, factor=1.0):\n"
        '    """The learning rate of a step (1, 2, ...) as a float."""\n'
        "    ...  # your code"
    ),
)
