"""Mistakes of `decoding.corpus_bleu` with precisions of 0: smoothed, left out, not caught."""

import math
import sys
from itertools import chain

from annotated_transformer.exercises.content.decoding.bleu_steps import (
    Counts,
    bleu_of,
    clipped,
    finishing,
    geometric,
    rates,
    share,
    smoothed_above_unigrams,
)
from annotated_transformer.exercises.exercise import Mistake

_SMOOTHED = (
    "The counts are smoothed: something is added to matches or totals, or a zero is replaced. Here "
    "nothing is smoothed: if any precision is 0, BLEU is 0.0."
)

_SKIPPED = (
    "Orders without a match are left out of the mean. Without smoothing one precision of 0 makes "
    "the geometric mean, and BLEU, 0.0."
)

_ZERO_RAISES = (
    "An order without any match raises, because the logarithm of 0 is asked for. Test for it: if "
    "any precision is 0, return 0.0."
)

_ZERO = (
    "An order without any match does not give 0.0. Without smoothing, one precision of 0 makes the "
    "whole score 0.0: test for it before taking logarithms."
)


def _exponentially_smoothed(counts: Counts) -> list[float]:
    """sacreBLEU's default: the k-th order without a match gets 1 / (2^k total)."""
    rates, k = [], 1
    for matches, total in zip(counts.matches, counts.totals, strict=True):
        if matches == 0:
            k *= 2
        rates.append(share(matches, total) if matches else 1 / (k * max(total, 1)))
    return rates


def _without_zeros(values: list[float]) -> float:
    positive = [value for value in values if value > 0]
    return geometric(positive) if positive else 0.0


def _zeros_as_factor_one(values: list[float]) -> float:
    """Logarithms of the positive ones, divided by all."""
    return math.exp(sum(math.log(v) for v in values if v > 0) / len(values))


def _log_of_zero(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _zeros_replaced(size: float) -> tuple[Mistake, Mistake]:
    """A small number in the place of a precision, or of a number of matches, of 0."""
    return (
        Mistake(
            f"precision-{size:.0e}-for-zero",
            bleu_of(mean=lambda values: geometric([value or size for value in values])),
            _SMOOTHED,
        ),
        Mistake(
            f"{size:.0e}-matches-for-zero",
            bleu_of(rate=rates(lambda m, t, w: (m or size) / max(t, 1))),
            _SMOOTHED,
        ),
    )


_SMALL = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12, 1e-15, 1e-16, 1e-20, 1e-100)

_REPLACED_ZEROS = (
    *chain(*map(_zeros_replaced, _SMALL)),
    _zeros_replaced(sys.float_info.min)[0],
)


ZERO_MISTAKES = (
    Mistake("one-added", bleu_of(rate=rates(lambda m, t, w: (m + 1) / (t + 1))), _SMOOTHED),
    Mistake("one-added-above-unigrams", bleu_of(rate=smoothed_above_unigrams), _SMOOTHED),
    Mistake(
        "one-added-to-matches", bleu_of(rate=rates(lambda m, t, w: (m + 1) / max(t, 1))), _SMOOTHED
    ),
    Mistake(
        "one-added-in-every-sentence",
        bleu_of(
            match=lambda ours, theirs: clipped(ours, theirs) + 1,
            total=lambda grams: sum(grams.values()) + 1,
        ),
        "1 is added to matches and totals in every sentence, so the more sentences, the more is "
        "added. Here nothing is smoothed: if any precision is 0, BLEU is 0.0.",
    ),
    Mistake("exponentially-smoothed", bleu_of(rate=_exponentially_smoothed), _SMOOTHED),
    Mistake(
        "tenth-for-zero",
        bleu_of(rate=rates(lambda m, t, w: (m or 0.1) / max(t, 1))),
        _SMOOTHED,
    ),
    Mistake(
        "half-for-zero", bleu_of(rate=rates(lambda m, t, w: (m or 0.5) / max(t, 1))), _SMOOTHED
    ),
    Mistake("one-for-zero", bleu_of(rate=rates(lambda m, t, w: (m or 1.0) / max(t, 1))), _SMOOTHED),
    *_REPLACED_ZEROS,
    Mistake("zeros-left-out", bleu_of(mean=_without_zeros), _SKIPPED),
    Mistake("zeros-as-ones", bleu_of(mean=_zeros_as_factor_one), _SKIPPED),
    Mistake("log-of-zero", bleu_of(mean=_log_of_zero), _ZERO_RAISES),
    Mistake(
        "nan-for-zero",
        bleu_of(mean=lambda v: geometric(v) if min(v) > 0 else float("nan")),
        _ZERO,
    ),
    Mistake(
        "none-for-zero",
        finishing(lambda penalty, mean: 100 * penalty * mean if mean else None),
        _ZERO,
    ),
)
