"""Mistakes of `training.noam_rate` in its arguments and in what comes back."""

from functools import partial

from annotated_transformer.exercises.content.training.noam_rate_variants import open_rate, rate_with
from annotated_transformer.exercises.exercise import Mistake


def _zero_at_zero(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return open_rate(step, d_model, warmup, factor) if step else 0.0


def _zero_raises(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def _factor_inside(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    return float(d_model**-0.5 * min(factor * step**-0.5, step * warmup**-1.5))


def _factor_on_climb(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    return float(d_model**-0.5 * min(step**-0.5, factor * step * warmup**-1.5))


def _whole_division(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    return float(factor * d_model**-0.5 * min(step**-0.5, step // warmup**1.5))


def _multiplied(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    return float(factor * d_model**-0.5 * step**-0.5 * step * warmup**-1.5)


def _added(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    return float(factor * d_model**-0.5 * (step**-0.5 + step * warmup**-1.5))


def _rounded(step: int, d_model: int, warmup: int, factor: float = 1.0, *, digits: int) -> float:
    return round(open_rate(step, d_model, warmup, factor), digits)


def _nearly_zero(
    step: int, d_model: int, warmup: int, factor: float = 1.0, *, least: float
) -> float:
    step_or_least = max(float(step), least)
    return float(factor * d_model**-0.5 * min(step_or_least**-0.5, step_or_least * warmup**-1.5))


_STEP_ZERO = (
    "Step 0 is not taken as step 1: {}. Schedulers of torch begin at 0, so begin with "
    "`step = max(step, 1)`."
)
_ROUNDED = (
    "The rate is rounded, which leaves little or nothing of the first steps. Return it as it is."
)


ARGUMENTS = (
    Mistake(
        "max-for-min",
        rate_with(pick=max),
        "The larger of the two terms is taken. That begins with an enormous rate and later grows "
        "without end: the rate must be the smaller, `min(step**-0.5, step * warmup**-1.5)`.",
    ),
    Mistake(
        "step-zero-gives-zero",
        _zero_at_zero,
        _STEP_ZERO.format("the rate there is 0, so a whole step of training is lost"),
    ),
    Mistake(
        "step-zero-raises",
        _zero_raises,
        _STEP_ZERO.format("0 ** -0.5 raises ZeroDivisionError"),
    ),
    *(
        Mistake(
            f"step-zero-as-{least}",
            partial(_nearly_zero, least=least),
            _STEP_ZERO.format("it is replaced by a tiny number, and the rate there is nearly 0"),
        )
        for least in (1e-12, 1e-10, 1e-9, 1e-8, 1e-6, 1e-5, 1e-3)
    ),
    Mistake(
        "step-zero-as-warmup",
        lambda step, d_model, warmup, factor=1.0: open_rate(
            step or warmup, d_model, warmup, factor
        ),
        _STEP_ZERO.format("it gets the highest rate of all"),
    ),
    Mistake(
        "step-zero-as-two",
        rate_with(first=2),
        "Steps below 2 are taken as step 2. Only step 0 is special, and counts as step 1: "
        "`step = max(step, 1)`.",
    ),
    Mistake(
        "steps-from-zero",
        rate_with(first=0, shift=1),
        "1 is added to every step. Steps are counted from 1 already; only step 0 is treated as "
        "step 1: `max(step, 1)`.",
    ),
    Mistake(
        "one-step-behind",
        rate_with(first=2, shift=-1),
        "1 is taken off every step. Steps are counted from 1: use step as it is, and 1 for step 0.",
    ),
    Mistake(
        "terms-multiplied",
        _multiplied,
        "The two terms are multiplied. The smaller of the two is the rate: `min`.",
    ),
    Mistake(
        "terms-added",
        _added,
        "The two terms are added. The smaller of the two is the rate: `min`.",
    ),
    Mistake(
        "factor-ignored",
        lambda step, d_model, warmup, factor=1.0: open_rate(step, d_model, warmup),
        "`factor` is not used. It multiplies the whole rate.",
    ),
    Mistake(
        "factor-squared",
        rate_with(power_of_factor=2.0),
        "`factor` is multiplied in twice. Once is enough.",
    ),
    Mistake(
        "factor-divides",
        rate_with(power_of_factor=-1.0),
        "The rate is divided by `factor`. It is multiplied by it.",
    ),
    Mistake(
        "factor-added",
        lambda step, d_model, warmup, factor=1.0: factor + open_rate(step, d_model, warmup),
        "`factor` is added to the rate. It multiplies it.",
    ),
    Mistake(
        "factor-on-decay-only",
        _factor_inside,
        "`factor` multiplies only one of the two terms, step^-0.5. It stands before `min` and "
        "multiplies the whole rate.",
    ),
    Mistake(
        "factor-on-climb-only",
        _factor_on_climb,
        "`factor` multiplies only one of the two terms, the warm-up. It stands before `min` and "
        "multiplies the whole rate.",
    ),
    Mistake(
        "factor-default-two",
        lambda step, d_model, warmup, factor=2.0: open_rate(step, d_model, warmup, factor),
        "The default of `factor` is 2, as in an older tutorial. It is 1.0, which is the paper.",
    ),
    Mistake(
        "warmup-always-4000",
        lambda step, d_model, warmup, factor=1.0: open_rate(step, d_model, 4000, factor),
        "warmup is fixed at 4000, the paper's value. Use the argument.",
    ),
    Mistake(
        "model-size-always-512",
        lambda step, d_model, warmup, factor=1.0: open_rate(step, 512, warmup, factor),
        "d_model is fixed at 512, the base model's width. Use the argument.",
    ),
    Mistake(
        "step-and-warmup-exchanged",
        lambda step, d_model, warmup, factor=1.0: open_rate(warmup, d_model, max(step, 1), factor),
        "step and warmup are exchanged inside the formula. d_model^-0.5 * min(step^-0.5, step * "
        "warmup^-1.5).",
    ),
    Mistake(
        "list",
        lambda step, d_model, warmup, factor=1.0: [open_rate(step, d_model, warmup, factor)],
        "A list is returned. Return the number itself.",
    ),
    Mistake(
        "whole-number",
        lambda step, d_model, warmup, factor=1.0: int(open_rate(step, d_model, warmup, factor)),
        "The rate is cut to a whole number, which leaves 0. Return the float.",
    ),
    Mistake(
        "exchanged-arguments",
        lambda step, d_model, warmup, factor=1.0: open_rate(step, warmup, d_model, factor),
        "d_model and warmup are exchanged. The order of the arguments is step, d_model, warmup.",
    ),
    Mistake(
        "whole-division",
        _whole_division,
        "Whole division (`//`) rounds the warm-up term down, to 0 in the end. Divide with `/`.",
    ),
    Mistake(
        "negative",
        lambda step, d_model, warmup, factor=1.0: -open_rate(step, d_model, warmup, factor),
        "The sign is wrong: a learning rate is positive.",
    ),
    *(
        Mistake(f"rounded-to-{digits}", partial(_rounded, digits=digits), _ROUNDED)
        for digits in (3, 4, 5, 6, 7, 8)
    ),
    Mistake(
        "as-text",
        lambda step, d_model, warmup, factor=1.0: str(open_rate(step, d_model, warmup, factor)),
        "A string is returned. Return the number itself.",
    ),
    Mistake(
        "both-terms",
        lambda step, d_model, warmup, factor=1.0: (
            factor * d_model**-0.5 * max(step, 1) ** -0.5,
            factor * d_model**-0.5 * max(step, 1) * warmup**-1.5,
        ),
        "Both terms are returned. The rate is the smaller of them: one number.",
    ),
)
