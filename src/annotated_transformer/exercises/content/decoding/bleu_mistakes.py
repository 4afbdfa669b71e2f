"""Mistakes of `decoding.corpus_bleu` in what is made of the counts: means, brevity, scale."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from annotated_transformer.exercises.content.decoding.bleu_steps import (
    Counts,
    Steps,
    added,
    bleu_of,
    brevity,
    finishing,
    from_sentences,
    geometric,
    precisions,
    rates,
    share,
    smoothed_above_unigrams,
    unclipped,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

_SENTENCES = (
    "A score (or a precision) is computed for each sentence and then averaged. BLEU of a corpus is "
    "no mean of sentences: add up matches and totals over the corpus first, then divide once for "
    "each n."
)

_NO_BREVITY = (
    "The brevity penalty is missing: a hypothesis of a few sure words would get a high score. "
    "When the hypotheses are shorter together than the references, c < r, multiply by "
    "exp(1 - r / c)."
)

_BREVITY_FORM = (
    "The brevity penalty has another form: {}. It is exp(1 - r / c) for c < r, where c is the "
    "length of all hypotheses and r that of all references."
)

_AND_SMOOTHED = (
    " Besides, the counts are smoothed, by adding to matches and totals. Here nothing is smoothed: "
    "if any precision is 0, the score is 0.0."
)

_BREVITY_TURNED = (
    "The brevity penalty is turned round: hypotheses longer than the references are punished "
    "and short ones are not. Too many words already lower the precisions; the penalty is for "
    "c < r: exp(1 - r / c)."
)

_BREVITY_BONUS = (
    "The brevity penalty is applied to long hypotheses too, where exp(1 - r / c) is above 1 and "
    "becomes a bonus. It is 1 when c >= r."
)

_BREVITY_PER_SENTENCE = (
    "The brevity penalty is computed for each sentence. It compares the lengths of the whole "
    "corpus, so that a short sentence may be made up for by a long one: sum c and r first."
)

_MEAN = (
    "The precisions are not combined by their geometric mean. It is the max_n-th root of their "
    "product, exp of the mean of their logarithms: one bad order cannot be hidden by the others."
)

_BASES = (
    "A logarithm to another base than e is undone by `exp`. Logarithm and exponential have to "
    "belong together: `math.log` and `math.exp`."
)

_NO_ROOT = (
    "The precisions are multiplied (or their logarithms added) without the root. The geometric "
    "mean is their product to the power 1 / max_n."
)

_MAX_N = (
    "`max_n` is not used: 4 is written into the code, as the highest order or as the weight 1/4. "
    "It is only the default."
)

_SCALE = (
    "The scale is wrong. The score runs from 0 to 100: 100 times the penalty times the geometric "
    "mean of the precisions, which run from 0 to 1."
)

_ROUNDED = "The score is rounded. Return it as it is; rounding is for showing it."


def _mean_of(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers)


def _mean_score(steps: Steps, parts: list[Counts]) -> float:
    return _mean_of([steps.score(part) for part in parts])


def _weighted_score(steps: Steps, parts: list[Counts]) -> float:
    return sum(part.c * steps.score(part) for part in parts) / sum(part.c for part in parts)


def _mean_precisions(steps: Steps, parts: list[Counts]) -> Any:
    rates = [_mean_of(column) for column in zip(*map(precisions, parts), strict=True)]
    corpus = added(parts)
    return steps.finish(brevity(corpus.c, corpus.r), geometric(rates))


def _mean_brevity(steps: Steps, parts: list[Counts]) -> Any:
    penalty = _mean_of([brevity(part.c, part.r) for part in parts])
    return steps.finish(penalty, geometric(precisions(added(parts))))


def _brevity_of_means(steps: Steps, parts: list[Counts]) -> Any:
    """exp(1 - mean of r / c)"""
    ratio = _mean_of([part.r / max(part.c, 1) for part in parts])
    return steps.finish(min(1.0, math.exp(1 - ratio)), geometric(precisions(added(parts))))


def _product_of_brevities(steps: Steps, parts: list[Counts]) -> Any:
    penalty = math.prod(brevity(part.c, part.r) for part in parts)
    return steps.finish(penalty, geometric(precisions(added(parts))))


def _mixed_bases(log: Callable[[float], float]) -> Candidate:
    def mean(values: list[float]) -> float:
        return math.exp(sum(map(log, values)) / len(values)) if min(values) > 0 else 0.0

    return bleu_of(mean=mean)


def _exp_ratio(c: int, r: int) -> float:
    return math.exp(1 - r / max(c, 1))


SCORE_MISTAKES = (
    Mistake("mean-of-sentences", from_sentences(_mean_score), _SENTENCES),
    Mistake("weighted-mean-of-sentences", from_sentences(_weighted_score), _SENTENCES),
    Mistake("mean-of-precisions", from_sentences(_mean_precisions), _SENTENCES),
    Mistake(
        "mean-of-smoothed-sentences",
        from_sentences(_mean_score, rate=rates(lambda m, t, w: (m + 1) / (t + 1))),
        _SENTENCES + _AND_SMOOTHED,
    ),
    Mistake(
        "mean-of-sentences-smoothed-above-unigrams",
        from_sentences(_mean_score, rate=smoothed_above_unigrams),
        _SENTENCES + _AND_SMOOTHED,
    ),
    Mistake(
        "mean-of-unclipped-sentences", from_sentences(_mean_score, match=unclipped), _SENTENCES
    ),
    Mistake(
        "mean-of-sentences-without-brevity",
        from_sentences(_mean_score, penalty=lambda c, r: 1.0),
        _SENTENCES,
    ),
    Mistake("no-brevity-penalty", bleu_of(penalty=lambda c, r: 1.0), _NO_BREVITY),
    Mistake("brevity-turned", bleu_of(penalty=lambda c, r: brevity(r, c)), _BREVITY_TURNED),
    Mistake(
        "brevity-both-exchanged",
        bleu_of(penalty=lambda c, r: 1.0 if c >= r else math.exp(1 - c / r)),
        "In the brevity penalty c and r are exchanged: exp(1 - c / r) is above 1 for short "
        "hypotheses and rewards them. It is exp(1 - r / c), r the length of the references.",
    ),
    Mistake("brevity-bonus", bleu_of(penalty=_exp_ratio), _BREVITY_BONUS),
    Mistake(
        "brevity-as-a-ratio",
        bleu_of(penalty=lambda c, r: min(1.0, share(c, r))),
        _BREVITY_FORM.format("the ratio min(1, c / r) itself, without the exponential"),
    ),
    Mistake(
        "ratio-for-all",
        bleu_of(penalty=lambda c, r: share(c, r)),
        _BREVITY_FORM.format("the ratio c / r itself, without the exponential and above 1 too"),
    ),
    Mistake(
        "brevity-by-difference",
        bleu_of(penalty=lambda c, r: min(1.0, math.exp((c - r) / max(r, 1)))),
        _BREVITY_FORM.format("exp(c / r - 1), where c and r have changed places"),
    ),
    Mistake(
        "brevity-without-one",
        bleu_of(penalty=lambda c, r: 1.0 if c >= r else math.exp(-r / max(c, 1))),
        _BREVITY_FORM.format("exp(-r / c), without the 1"),
    ),
    Mistake(
        "brevity-without-exp",
        bleu_of(penalty=lambda c, r: 1.0 if c >= r else 1 - r / c),
        _BREVITY_FORM.format("1 - r / c, without the exponential"),
    ),
    Mistake(
        "brevity-at-least-one",
        bleu_of(penalty=lambda c, r: max(1.0, _exp_ratio(c, r))),
        "The larger of 1 and exp(1 - r / c) is taken: short hypotheses go free and long ones get "
        "a bonus. The penalty is the *smaller* of both: it never exceeds 1.",
    ),
    Mistake(
        "mean-brevity",
        from_sentences(_mean_brevity),
        _BREVITY_PER_SENTENCE,
    ),
    Mistake("brevity-of-mean-ratios", from_sentences(_brevity_of_means), _BREVITY_PER_SENTENCE),
    Mistake("product-of-brevities", from_sentences(_product_of_brevities), _BREVITY_PER_SENTENCE),
    Mistake(
        "brevity-in-the-mean",
        bleu_of(finish=lambda penalty, mean: 100 * penalty**0.25 * mean),
        "The brevity penalty stands under the root of the geometric mean, or is weighted like a "
        "precision. It multiplies the mean as a whole.",
    ),
    Mistake(
        "divided-by-brevity",
        bleu_of(finish=lambda penalty, mean: 100 * mean / penalty if penalty else 0.0),
        "The brevity penalty raises the score of short hypotheses: the mean is divided by it, or "
        "the sign within it is wrong, exp(r / c - 1). Multiply by exp(1 - r / c), at most 1.",
    ),
    Mistake("arithmetic-mean", bleu_of(mean=_mean_of), _MEAN),
    Mistake(
        "arithmetic-mean-or-zero", bleu_of(mean=lambda v: _mean_of(v) if min(v) > 0 else 0.0), _MEAN
    ),
    Mistake(
        "harmonic-mean",
        bleu_of(mean=lambda v: len(v) / sum(1 / x for x in v) if min(v) > 0 else 0.0),
        _MEAN,
    ),
    Mistake("smallest-precision", bleu_of(mean=min), _MEAN),
    Mistake("sum-of-precisions", bleu_of(mean=sum), _MEAN),
    Mistake(
        "matches-of-all-orders",
        bleu_of(rate=lambda counts: [share(sum(counts.matches), sum(counts.totals))]),
        "Matches and totals of all orders are added up into one precision. Each order has a "
        "precision of its own; their geometric mean is taken.",
    ),
    Mistake("log-to-base-10", _mixed_bases(math.log10), _BASES),
    Mistake("log-to-base-2", _mixed_bases(math.log2), _BASES),
    Mistake(
        "halving-weights",
        bleu_of(mean=lambda v: math.prod(x**0.5 ** (k + 1) for k, x in enumerate(v))),
        _MEAN + " All orders weigh the same, 1 / max_n.",
    ),
    Mistake("product", bleu_of(mean=math.prod), _NO_ROOT),
    Mistake("square-root", bleu_of(mean=lambda v: math.sqrt(math.prod(v))), _NO_ROOT),
    Mistake("fixed-fourth-root", bleu_of(mean=lambda v: math.prod(v) ** 0.25), _MAX_N),
    Mistake("four-orders-fixed", bleu_of(orders=lambda max_n: range(1, 5)), _MAX_N),
    Mistake(
        "always-zero",
        bleu_of(orders=lambda max_n: [*range(1, max_n), 10**6]),
        "The result is always 0.0. Perhaps the lists have max_n entries and the loop fills fewer "
        "of them (`range(1, max_n)`), so that one precision stays 0: the orders are `range(1, "
        "max_n + 1)`.",
    ),
    Mistake("zero-to-one", finishing(lambda penalty, mean: penalty * mean), _SCALE),
    Mistake("percent-twice", finishing(lambda penalty, mean: 1e4 * penalty * mean), _SCALE),
    Mistake(
        "zero-to-one-unclipped",
        bleu_of(finish=lambda penalty, mean: penalty * mean, match=unclipped),
        _SCALE + " Besides, the matches are not clipped at the reference's counts.",
    ),
    Mistake(
        "zero-to-one-without-brevity",
        bleu_of(finish=lambda penalty, mean: penalty * mean, penalty=lambda c, r: 1.0),
        _SCALE + " Besides, the brevity penalty is missing.",
    ),
    Mistake(
        "zero-to-one-mean-of-sentences",
        from_sentences(_mean_score, finish=lambda penalty, mean: penalty * mean),
        _SENTENCES + " The result, besides, runs from 0 to 100.",
    ),
    Mistake("rounded-to-two", finishing(lambda p, mean: round(100 * p * mean, 2)), _ROUNDED),
    Mistake("rounded-to-one", finishing(lambda p, mean: round(100 * p * mean, 1)), _ROUNDED),
    Mistake("rounded", finishing(lambda p, mean: round(100 * p * mean)), _ROUNDED),
    Mistake(
        "penalty-too",
        from_sentences(
            lambda steps, parts: (
                steps.score(added(parts)),
                steps.penalty(added(parts).c, added(parts).r),
            )
        ),
        "More than the score is returned. Asked for is one number, from 0 to 100.",
    ),
    Mistake(
        "precisions-too",
        from_sentences(lambda steps, parts: (steps.score(added(parts)), precisions(added(parts)))),
        "More than the score is returned. Asked for is one number, from 0 to 100.",
    ),
)
