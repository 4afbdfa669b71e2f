"""Named mistakes of `training.noam_rate`, from equation (3) with every exponent open."""

import math
from functools import partial
from typing import Any

from annotated_transformer.exercises.exercise import Candidate, Mistake


def _rate(
    step: int,
    d_model: int,
    warmup: int,
    factor: float = 1.0,
    *,
    pick: Any = min,
    first: int = 1,
    shift: int = 0,
    by_model: float = -0.5,
    decay: float = -0.5,
    climb: float = 1.0,
    by_warmup: float = -1.5,
    power_of_factor: float = 1.0,
) -> float:
    """Equation (3) with every exponent open. first: the step that step 0 is taken for."""
    count = max(step, first) + shift
    late = count**decay if count else 0.0
    rate = d_model**by_model * pick(late, count**climb * warmup**by_warmup)
    return float(factor**power_of_factor * rate)


def _only_root(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return factor * d_model**-0.5 * max(step, 1) ** -0.5


def _only_climb(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return factor * d_model**-0.5 * max(step, 1) * warmup**-1.5


def _zero_at_zero(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return _rate(step, d_model, warmup, factor) if step else 0.0


def _zero_raises(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return float(factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))


def _linear_decay(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    peak = factor * (d_model * warmup) ** -0.5
    return peak * step / warmup if step < warmup else peak * warmup / step


def _constant_after(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return factor * (d_model * warmup) ** -0.5 * min(1.0, max(step, 1) / warmup)


def _constant_before(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return factor * d_model**-0.5 * max(step, warmup) ** -0.5


def _peak_one(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    return factor * min(step / warmup, (warmup / step) ** 0.5)


def _peak_over_model(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return d_model**-0.5 * _peak_one(step, d_model, warmup, factor)


def _cosine(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    peak = factor * (d_model * warmup) ** -0.5
    return peak * step / warmup if step < warmup else peak * (1 + math.cos(step / warmup - 1)) / 2


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
    return round(_rate(step, d_model, warmup, factor), digits)


def _nearly_zero(
    step: int, d_model: int, warmup: int, factor: float = 1.0, *, least: float
) -> float:
    step_or_least = max(float(step), least)
    return float(factor * d_model**-0.5 * min(step_or_least**-0.5, step_or_least * warmup**-1.5))


def _power_of_product(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    return float(factor * d_model**-0.5 * min(step**-0.5, (step * warmup) ** -1.5))


def _decay_from_start(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    return float(factor * d_model**-0.5 * min((step + warmup) ** -0.5, step * warmup**-1.5))


def _climb_to_factor(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return factor * min(max(step, 1) / warmup, 1.0)


def _with(**steps: Any) -> Candidate:
    return partial(_rate, **steps)


def _rest(note: str) -> str:
    return note + " Compare with equation (3): d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)."


_STEP_ZERO = (
    "Step 0 is not taken as step 1: {}. Schedulers of torch begin at 0, so begin with "
    "`step = max(step, 1)`."
)

_ROUNDED = (
    "The rate is rounded, which leaves little or nothing of the first steps. Return it as it is."
)

MISTAKES = (
    Mistake(
        "max-for-min",
        _with(pick=max),
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
        lambda step, d_model, warmup, factor=1.0: _rate(step or warmup, d_model, warmup, factor),
        _STEP_ZERO.format("it gets the highest rate of all"),
    ),
    Mistake(
        "step-zero-as-two",
        _with(first=2),
        "Steps below 2 are taken as step 2. Only step 0 is special, and counts as step 1: "
        "`step = max(step, 1)`.",
    ),
    Mistake(
        "steps-from-zero",
        _with(first=0, shift=1),
        "1 is added to every step. Steps are counted from 1 already; only step 0 is treated as "
        "step 1: `max(step, 1)`.",
    ),
    Mistake(
        "one-step-behind",
        _with(first=2, shift=-1),
        "1 is taken off every step. Steps are counted from 1: use step as it is, and 1 for step 0.",
    ),
    Mistake(
        "decay-only",
        _only_root,
        "There is no warm-up: the rate falls with step^-0.5 from the first step on (a missing "
        "minus sign at warmup's exponent does that too). "
        "Take the smaller of step^-0.5 and step * warmup^-1.5.",
    ),
    Mistake(
        "climb-only",
        _only_climb,
        "The rate climbs for ever. After `warmup` steps it must fall with step^-0.5: take the "
        "smaller of the two terms.",
    ),
    Mistake(
        "no-model-size",
        _with(by_model=0.0),
        _rest(
            "d_model is not used. The factor d_model^-0.5 makes the steps of wide models smaller."
        ),
    ),
    Mistake(
        "model-size-times-root",
        _with(by_model=0.5),
        _rest("The rate is multiplied by sqrt(d_model) instead of divided by it."),
    ),
    Mistake(
        "model-size-not-rooted",
        _with(by_model=-1.0),
        _rest("The rate is divided by d_model instead of by its square root."),
    ),
    Mistake(
        "model-size-multiplied",
        _with(by_model=1.0),
        _rest("The rate is multiplied by d_model instead of divided by its square root."),
    ),
    Mistake(
        "model-size-three-halves",
        _with(by_model=-1.5),
        _rest("The exponent -1.5 stands at d_model; it belongs to warmup."),
    ),
    Mistake(
        "warmup-minus-half",
        _with(by_warmup=-0.5),
        _rest(
            "The warm-up term has warmup^-0.5. It needs -1.5, so that both terms meet at step = "
            "warmup."
        ),
    ),
    Mistake(
        "warmup-minus-one",
        _with(by_warmup=-1.0),
        _rest(
            "The warm-up term is step / warmup. It needs warmup^-1.5, so that both terms meet "
            "at step = warmup."
        ),
    ),
    Mistake(
        "warmup-minus-two",
        _with(by_warmup=-2.0),
        _rest(
            "The warm-up term has warmup^-2. It needs -1.5, so that both terms meet at step = "
            "warmup."
        ),
    ),
    Mistake(
        "power-of-the-product",
        _power_of_product,
        _rest(
            "The power is taken of step * warmup together (brackets). Only warmup is raised to "
            "-1.5."
        ),
    ),
    Mistake(
        "decay-from-the-start",
        _decay_from_start,
        _rest("The late term is (step + warmup)^-0.5. It counts from the first step."),
    ),
    Mistake(
        "decay-minus-one",
        _with(decay=-1.0),
        _rest("The late rate falls with 1 / step instead of 1 / sqrt(step)."),
    ),
    Mistake(
        "decay-three-halves",
        _with(decay=-1.5),
        _rest("The late rate falls with step^-1.5; that exponent belongs to warmup."),
    ),
    Mistake(
        "decay-plus-half",
        _with(decay=0.5),
        _rest("The minus sign of step's exponent is missing, so the rate never falls."),
    ),
    Mistake(
        "climb-root",
        _with(climb=0.5),
        _rest("During warm-up the rate climbs with sqrt(step) instead of linearly."),
    ),
    Mistake(
        "climb-squared",
        _with(climb=2.0),
        _rest("During warm-up the rate climbs with the square of step instead of linearly."),
    ),
    Mistake(
        "climb-falls",
        _with(climb=-1.0),
        _rest("The warm-up term has 1 / step. It is step * warmup^-1.5, which grows."),
    ),
    Mistake(
        "climb-missing",
        _with(climb=0.0),
        _rest("The warm-up term does not contain step, so the rate is constant at first."),
    ),
    Mistake(
        "exponents-exchanged",
        _with(decay=-1.5, by_warmup=-0.5),
        _rest("The exponents -0.5 and -1.5 are exchanged."),
    ),
    Mistake(
        "linear-decay",
        _linear_decay,
        "The rate falls with 1 / step after the warm-up. The paper's falls with 1 / sqrt(step), "
        "much more slowly.",
    ),
    Mistake(
        "constant-after-warmup",
        _constant_after,
        "After the warm-up the rate stays at its peak. It must fall with 1 / sqrt(step).",
    ),
    Mistake(
        "climb-to-factor",
        _climb_to_factor,
        "The rate climbs to `factor` and stays there. The paper's peak is 1 / sqrt(d_model * "
        "warmup), times factor, and after it the rate falls with 1 / sqrt(step).",
    ),
    Mistake(
        "constant-before-warmup",
        _constant_before,
        "During the warm-up the rate stays at its peak, d_model^-0.5 * max(step, warmup)^-0.5. It "
        "must climb linearly from nearly 0: that is what the warm-up is for.",
    ),
    Mistake(
        "cosine-decay",
        _cosine,
        "After the warm-up the rate follows a cosine, as later models do. The paper's falls with "
        "1 / sqrt(step).",
    ),
    Mistake(
        "peak-of-one",
        _peak_one,
        "The rate is scaled so that its peak equals `factor`. The paper's peak is "
        "1 / sqrt(d_model * warmup), times factor.",
    ),
    Mistake(
        "peak-without-warmup",
        _peak_over_model,
        "The rate is scaled so that its peak is factor / sqrt(d_model). The paper's peak is "
        "1 / sqrt(d_model * warmup): the factor warmup^-0.5 is missing.",
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
        lambda step, d_model, warmup, factor=1.0: _rate(step, d_model, warmup),
        "`factor` is not used. It multiplies the whole rate.",
    ),
    Mistake(
        "factor-squared",
        _with(power_of_factor=2.0),
        "`factor` is multiplied in twice. Once is enough.",
    ),
    Mistake(
        "factor-divides",
        _with(power_of_factor=-1.0),
        "The rate is divided by `factor`. It is multiplied by it.",
    ),
    Mistake(
        "factor-added",
        lambda step, d_model, warmup, factor=1.0: factor + _rate(step, d_model, warmup),
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
        lambda step, d_model, warmup, factor=2.0: _rate(step, d_model, warmup, factor),
        "The default of `factor` is 2, as in an older tutorial. It is 1.0, which is the paper.",
    ),
    Mistake(
        "warmup-always-4000",
        lambda step, d_model, warmup, factor=1.0: _rate(step, d_model, 4000, factor),
        "warmup is fixed at 4000, the paper's value. Use the argument.",
    ),
    Mistake(
        "model-size-always-512",
        lambda step, d_model, warmup, factor=1.0: _rate(step, 512, warmup, factor),
        "d_model is fixed at 512, the base model's width. Use the argument.",
    ),
    Mistake(
        "step-and-warmup-exchanged",
        lambda step, d_model, warmup, factor=1.0: _rate(warmup, d_model, max(step, 1), factor),
        "step and warmup are exchanged inside the formula. d_model^-0.5 * min(step^-0.5, step * "
        "warmup^-1.5).",
    ),
    Mistake(
        "list",
        lambda step, d_model, warmup, factor=1.0: [_rate(step, d_model, warmup, factor)],
        "A list is returned. Return the number itself.",
    ),
    Mistake(
        "whole-number",
        lambda step, d_model, warmup, factor=1.0: int(_rate(step, d_model, warmup, factor)),
        "The rate is cut to a whole number, which leaves 0. Return the float.",
    ),
    Mistake(
        "exchanged-arguments",
        lambda step, d_model, warmup, factor=1.0: _rate(step, warmup, d_model, factor),
        "d_model and warmup are exchanged. The order of the arguments is step, d_model, warmup.",
    ),
    Mistake(
        "whole-division",
        _whole_division,
        "Whole division (`//`) rounds the warm-up term down, to 0 in the end. Divide with `/`.",
    ),
    Mistake(
        "negative",
        lambda step, d_model, warmup, factor=1.0: -_rate(step, d_model, warmup, factor),
        "The sign is wrong: a learning rate is positive.",
    ),
    *(
        Mistake(f"rounded-to-{digits}", partial(_rounded, digits=digits), _ROUNDED)
        for digits in (3, 4, 5, 6, 7, 8)
    ),
    Mistake(
        "as-text",
        lambda step, d_model, warmup, factor=1.0: str(_rate(step, d_model, warmup, factor)),
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
