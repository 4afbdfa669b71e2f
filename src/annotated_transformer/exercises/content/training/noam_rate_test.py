"""`training.noam_rate_test`: a test of the schedule (section 5.3, equation 3)."""

from collections.abc import Callable

from annotated_transformer.exercises.content.training.noam_rate import NOAM_RATE
from annotated_transformer.exercises.content.turned import turned

Rate = Callable[..., float]


def test_noam_rate(noam_rate: Rate) -> None:
    for d_model, warmup in ((512, 4000), (64, 100)):
        peak = (d_model * warmup) ** -0.5
        for step, share in ((1, 1 / warmup), (warmup // 2, 0.5), (warmup, 1.0), (4 * warmup, 0.5)):
            rate = float(noam_rate(step, d_model, warmup))
            assert abs(rate / (peak * share) - 1) < 1e-6
            assert abs(float(noam_rate(step, d_model, warmup, 3.0)) / rate - 3) < 1e-6
        assert float(noam_rate(0, d_model, warmup)) == float(noam_rate(1, d_model, warmup))


def _by_the_equation(noam_rate: Rate) -> None:
    for step in (1, 2, 50, 99, 100, 101, 150, 400, 5000, 12345):
        for d_model, warmup, factor in ((256, 100, 1.0), (512, 4000, 2.0), (16, 10, 0.5)):
            expected = factor * d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
            assert abs(noam_rate(step, d_model, warmup, factor) - expected) < 1e-9 + 1e-6 * expected
    assert abs(noam_rate(0, 64, 10) - noam_rate(1, 64, 10)) < 1e-12
    assert abs(noam_rate(7, 64, 10) - noam_rate(7, 64, 10, 1.0)) < 1e-12


def _by_what_is_known(noam_rate: Rate) -> None:
    rates = [float(noam_rate(step, 512, 4000)) for step in range(1, 12001)]
    assert max(rates) == rates[3999]
    assert 6.98e-4 < rates[3999] < 6.99e-4  # the paper's highest rate
    for step in (1, 2, 1000, 2500):  # a straight line before
        assert abs(rates[step - 1] / rates[0] - step) < 1e-5 * step
    for step in (5000, 8000, 12000):  # with the root behind
        assert abs(rates[step - 1] / rates[3999] - (4000 / step) ** 0.5) < 1e-6
    assert abs(noam_rate(4000, 2048, 4000) / rates[3999] - 0.5) < 1e-6  # the root of the width
    assert abs(noam_rate(1000, 512, 1000) / rates[3999] - 2) < 1e-5
    for step in (100, 9000):
        assert abs(noam_rate(step, 512, 4000, 7.0) / rates[step - 1] - 7) < 1e-5
    assert abs(noam_rate(0, 512, 4000) / rates[0] - 1) < 1e-9


NOAM_RATE_TEST = turned(
    NOAM_RATE,
    __file__,
    test_noam_rate,
    wrong=(
        *("decay-only", "climb-only", "no-model-size", "model-size-not-rooted"),
        *("warmup-minus-half", "warmup-minus-one", "decay-minus-one", "climb-squared"),
        *("linear-decay", "constant-after-warmup", "constant-before-warmup", "cosine-decay"),
        *("peak-of-one", "exponential-decay", "max-for-min", "step-zero-gives-zero"),
        *("steps-from-zero", "one-step-behind", "terms-added", "factor-ignored"),
        *("factor-squared", "factor-on-decay-only", "factor-on-climb-only", "factor-default-two"),
        *("warmup-always-4000", "model-size-always-512", "whole-number"),
    ),
    alternatives=(_by_the_equation, _by_what_is_known),
    title="A test of the schedule",
    ask=(
        "Write a test of `noam_rate(step, d_model, warmup, factor=1.0)`, equation (3). Steps count "
        "from 1, and step 0 is taken as step 1."
    ),
    objective="Test a formula at the places where its parts change over.",
    hints=(
        "Where is the rate highest, and how high is it there? What is it at half of the warm-up, "
        "and at four times as many steps?",
        "With warm-up 4000 and width 512 alone, a form that has them fixed gets through. And a "
        "factor has to do the same before the peak and behind it.",
        "The peak is `(d_model * warmup) ** -0.5`, at `step = warmup`; half of it at `warmup / 2` "
        "and at `4 * warmup`; compare ratios, since the rates are small.",
    ),
    explanation=(
        "A rate is a small number, and a tolerance that is not relative forgives everything: "
        "`torch.allclose` takes 1e-8 besides, `assert abs(a - b) < 1e-3` all that there is. The "
        "equation has two branches and one place where they meet, so three steps and two sets of "
        "sizes tell nearly every wrong form."
    ),
    difficulty=2,
    minutes=10,
)
