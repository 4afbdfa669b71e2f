"""Mistakes of `training.noam_rate` in the curve: exponents, climb and decay."""

import math

from annotated_transformer.exercises.content.training.noam_rate_variants import rate_with
from annotated_transformer.exercises.exercise import Mistake


def _only_root(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return factor * d_model**-0.5 * max(step, 1) ** -0.5


def _only_climb(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return factor * d_model**-0.5 * max(step, 1) * warmup**-1.5


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


def _power_of_product(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    return float(factor * d_model**-0.5 * min(step**-0.5, (step * warmup) ** -1.5))


def _decay_from_start(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    step = max(step, 1)
    return float(factor * d_model**-0.5 * min((step + warmup) ** -0.5, step * warmup**-1.5))


def _climb_to_factor(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    return factor * min(max(step, 1) / warmup, 1.0)


def _rest(note: str) -> str:
    return note + " Compare with equation (3): d_model^-0.5 * min(step^-0.5, step * warmup^-1.5)."


def _decay_from_the_peak(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    if step <= warmup:
        return factor * d_model**-0.5 * max(step, 1) * warmup**-1.5
    return float(factor * d_model**-0.5 * (step - warmup) ** -0.5)


def _exponential_decay(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    peak = factor * (d_model * warmup) ** -0.5
    late = max(step, 1) / warmup
    return peak * late if late < 1 else peak * math.exp(1 - late)


def _climb_like_root(step: int, d_model: int, warmup: int, factor: float = 1.0) -> float:
    late = max(step, 1) / warmup
    return float(factor * (d_model * warmup) ** -0.5 * min(late**0.5, late**-0.5))


SHAPES = (
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
        rate_with(by_model=0.0),
        _rest(
            "d_model is not used. The factor d_model^-0.5 makes the steps of wide models smaller."
        ),
    ),
    Mistake(
        "model-size-times-root",
        rate_with(by_model=0.5),
        _rest("The rate is multiplied by sqrt(d_model) instead of divided by it."),
    ),
    Mistake(
        "model-size-not-rooted",
        rate_with(by_model=-1.0),
        _rest("The rate is divided by d_model instead of by its square root."),
    ),
    Mistake(
        "model-size-multiplied",
        rate_with(by_model=1.0),
        _rest("The rate is multiplied by d_model instead of divided by its square root."),
    ),
    Mistake(
        "model-size-three-halves",
        rate_with(by_model=-1.5),
        _rest("The exponent -1.5 stands at d_model; it belongs to warmup."),
    ),
    Mistake(
        "warmup-minus-half",
        rate_with(by_warmup=-0.5),
        _rest(
            "The warm-up term has warmup^-0.5. It needs -1.5, so that both terms meet at step = "
            "warmup."
        ),
    ),
    Mistake(
        "warmup-minus-one",
        rate_with(by_warmup=-1.0),
        _rest(
            "The warm-up term is step / warmup. It needs warmup^-1.5, so that both terms meet "
            "at step = warmup."
        ),
    ),
    Mistake(
        "warmup-minus-two",
        rate_with(by_warmup=-2.0),
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
        rate_with(decay=-1.0),
        _rest("The late rate falls with 1 / step instead of 1 / sqrt(step)."),
    ),
    Mistake(
        "decay-three-halves",
        rate_with(decay=-1.5),
        _rest("The late rate falls with step^-1.5; that exponent belongs to warmup."),
    ),
    Mistake(
        "decay-plus-half",
        rate_with(decay=0.5),
        _rest("The minus sign of step's exponent is missing, so the rate never falls."),
    ),
    Mistake(
        "climb-root",
        rate_with(climb=0.5),
        _rest("During warm-up the rate climbs with sqrt(step) instead of linearly."),
    ),
    Mistake(
        "climb-squared",
        rate_with(climb=2.0),
        _rest("During warm-up the rate climbs with the square of step instead of linearly."),
    ),
    Mistake(
        "climb-falls",
        rate_with(climb=-1.0),
        _rest("The warm-up term has 1 / step. It is step * warmup^-1.5, which grows."),
    ),
    Mistake(
        "climb-missing",
        rate_with(climb=0.0),
        _rest("The warm-up term does not contain step, so the rate is constant at first."),
    ),
    Mistake(
        "exponents-exchanged",
        rate_with(decay=-1.5, by_warmup=-0.5),
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
        "decay-from-the-peak",
        _decay_from_the_peak,
        _rest(
            "The late term is (step - warmup)^-0.5: it counts from the end of the warm-up, so the "
            "rate jumps there. It counts from the first step."
        ),
    ),
    Mistake(
        "exponential-decay",
        _exponential_decay,
        _rest("After the warm-up the rate falls exponentially. It falls with 1 / sqrt(step)."),
    ),
    Mistake(
        "climb-like-root",
        _climb_like_root,
        _rest(
            "The rate climbs to its peak with sqrt(step). It climbs in a straight line: step * "
            "warmup^-1.5."
        ),
    ),
)
