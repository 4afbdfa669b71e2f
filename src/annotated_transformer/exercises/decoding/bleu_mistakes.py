"""The named mistakes of `decoding.corpus_bleu`, each a step of `bleu_steps`."""

import math
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from annotated_transformer.exercises.decoding.bleu_steps import (
    Corpus,
    Counts,
    Grams,
    Sentence,
    Steps,
    added,
    bleu_of,
    brevity,
    clipped,
    from_sentences,
    geometric,
    precisions,
    windows,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

_UNCLIPPED = (
    "Matches are not clipped: every n-gram of the hypothesis that occurs in the reference counts, "
    'however often it is repeated, so "the the the" would score. Count each n-gram at most as '
    "often as its reference has it: min of the two counts, `hypothesis & reference` of Counters."
)
_SETS = (
    "Each different n-gram counts once, as in a set: repetitions are lost, in the matches, the "
    "totals, or both. Count occurrences with a Counter; clip them at the reference's count, not at "
    "1."
)
_SENTENCES = (
    "A score (or a precision) is computed for each sentence and then averaged. BLEU of a corpus is "
    "no mean of sentences: add up matches and totals over the corpus first, then divide once for "
    "each n."
)
_POOLED = (
    "The n-grams of the whole corpus are compared at once, so a sentence can match the reference "
    "of another one. Clip sentence by sentence, each against its own reference; only the numbers "
    "of matches and totals are added up."
)
_JOINED = (
    "The sentences are joined into one long text, which has n-grams across the ends of sentences. "
    "Take n-grams within each sentence, and add the counts up."
)
_NO_BREVITY = (
    "The brevity penalty is missing: a hypothesis of a few sure words would get a high score. "
    "When the hypotheses are shorter together than the references, c < r, multiply by "
    "exp(1 - r / c)."
)
_BREVITY_FORM = (
    "The brevity penalty has another form than exp(1 - r / c), where c is the length of all "
    "hypotheses and r that of all references."
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
_ORDERS = (
    "The orders of the n-grams are off. All of n = 1, 2, ..., max_n count, each with the same "
    "weight: `range(1, max_n + 1)`."
)
_ONE_ORDER = "Only a single order of n-grams is used. BLEU combines all orders from 1 to max_n."
_SCALE = (
    "The scale is wrong. The score runs from 0 to 100: 100 times the penalty times the geometric "
    "mean of the precisions, which run from 0 to 1."
)
_SMOOTHED = (
    "The counts are smoothed: something is added to matches or totals, or a zero is replaced. Here "
    "nothing is smoothed: if any precision is 0, BLEU is 0.0."
)
_SKIPPED = (
    "Orders without a match are left out of the mean. Without smoothing one precision of 0 makes "
    "the geometric mean, and BLEU, 0.0."
)
_RECALL = (
    "The matches are divided by the n-grams of the references: that is recall. BLEU is built on "
    "precision, matches divided by the n-grams of the *hypotheses*; instead of recall it has the "
    "brevity penalty."
)
_F_SCORE = (
    "Precision and recall are combined. BLEU takes precision alone and the brevity penalty "
    "instead of recall."
)
_SWAPPED = (
    "Hypotheses and references are exchanged. The totals are those of the hypotheses, and the "
    "penalty is for hypotheses that are too short."
)
_WINDOWS = (
    "The n-grams of a sentence are miscounted: a sentence of m words has m - n + 1 of them, at "
    "the starts 0 to m - n, and none when m < n."
)
_CHARACTERS = (
    "n-grams are taken of characters, or words are glued together so that different n-grams look "
    "alike. An n-gram is a tuple of n whole words."
)
_CASE = (
    "Words are changed before they are compared (lower case). They are compared as they are "
    'given; whether "The" is "the" is decided by who prepares the text.'
)
_BAG = (
    "The order of the words is lost: an n-gram is not compared as a row of n words but as a set of "
    "them, or as words anywhere in the sentence. Take tuples of n words that stand side by side."
)
_ROUNDED = "The score is rounded. Return it as it is; rounding is for showing it."
_ZERO_RAISES = (
    "An order without any match raises, because the logarithm of 0 is asked for. Test for it: if "
    "any precision is 0, return 0.0."
)
_ZERO = (
    "An order without any match does not give 0.0. Without smoothing, one precision of 0 makes the "
    "whole score 0.0: test for it before taking logarithms."
)


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


def _pooled(hypotheses: Corpus, references: Corpus, max_n: int = 4) -> float:
    """Counters of the whole corpus, clipped against each other."""

    def all_grams(corpus: Corpus, n: int) -> Grams:
        return sum((windows(sentence, n) for sentence in corpus), Counter())

    c, r = (sum(map(len, corpus)) for corpus in (hypotheses, references))
    rates = []
    for n in range(1, max_n + 1):
        grams, wanted = all_grams(hypotheses, n), all_grams(references, n)
        rates.append(clipped(grams, wanted) / max(sum(grams.values()), 1))
    return 100 * brevity(c, r) * geometric(rates)


def _in_one(hypotheses: Corpus, references: Corpus) -> tuple[Corpus, Corpus]:
    return [list(chain(*hypotheses))], [list(chain(*references))]


def _changed(change: Callable[[str], str]) -> Callable[[Corpus, Corpus], tuple[Corpus, Corpus]]:
    def prepare(hypotheses: Corpus, references: Corpus) -> tuple[Corpus, Corpus]:
        both = (
            [[change(word) for word in s] for s in corpus] for corpus in (hypotheses, references)
        )
        return next(both), next(both)

    return prepare


def _unclipped(hypothesis: Grams, reference: Grams) -> float:
    return sum(count for gram, count in hypothesis.items() if gram in reference)


def _of_reference(hypothesis: Grams, reference: Grams) -> float:
    """The reference's occurrences of every shared n-gram."""
    return sum(count for gram, count in reference.items() if gram in hypothesis)


def _rates(of: Callable[[float, float, float], float]) -> Callable[[Counts], list[float]]:
    """Rates from matches, totals and the reference's totals of each order."""
    return lambda counts: [
        of(*numbers) for numbers in zip(counts.matches, counts.totals, counts.wanted, strict=True)
    ]


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _f_score(matches: float, total: float, wanted: float) -> float:
    return 2 * matches / (total + wanted) if total + wanted else 0.0


def _smoothed_above_unigrams(counts: Counts) -> list[float]:
    return [
        _share(m, t) if order == 0 else (m + 1) / (t + 1)
        for order, (m, t) in enumerate(zip(counts.matches, counts.totals, strict=True))
    ]


def _exponentially_smoothed(counts: Counts) -> list[float]:
    """sacreBLEU's default: the k-th order without a match gets 1 / (2^k total)."""
    rates, k = [], 1
    for matches, total in zip(counts.matches, counts.totals, strict=True):
        if matches == 0:
            k *= 2
        rates.append(_share(matches, total) if matches else 1 / (k * max(total, 1)))
    return rates


def _without_zeros(values: list[float]) -> float:
    positive = [value for value in values if value > 0]
    return geometric(positive) if positive else 0.0


def _mixed_bases(log: Callable[[float], float]) -> Candidate:
    def mean(values: list[float]) -> float:
        return math.exp(sum(map(log, values)) / len(values)) if min(values) > 0 else 0.0

    return bleu_of(mean=mean)


def _zeros_as_factor_one(values: list[float]) -> float:
    """Logarithms of the positive ones, divided by all."""
    return math.exp(sum(math.log(v) for v in values if v > 0) / len(values))


def _log_of_zero(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values))


def _in_words(counts: Counts) -> list[float]:
    return [_share(matches, counts.c) for matches in counts.matches]


def _exp_ratio(c: int, r: int) -> float:
    return math.exp(1 - r / max(c, 1))


def _windows_without_last(sentence: Sentence, n: int) -> Grams:
    return Counter(tuple(sentence[i : i + n]) for i in range(len(sentence) - n))


def _windows_running_out(sentence: Sentence, n: int) -> Grams:
    """Short rests at the end count as n-grams."""
    return Counter(tuple(sentence[i : i + n]) for i in range(len(sentence)))


def _side_by_side(sentence: Sentence, n: int) -> Grams:
    """Blocks of n words that do not overlap."""
    return Counter(tuple(sentence[i : i + n]) for i in range(0, len(sentence) - n + 1, n))


def _characters(sentence: Sentence, n: int) -> Grams:
    text = " ".join(sentence)
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def _glued(sentence: Sentence, n: int) -> Grams:
    return Counter("".join(gram) for gram in windows(sentence, n).elements())


def _sorted_grams(sentence: Sentence, n: int) -> Grams:
    return Counter(tuple(sorted(gram)) for gram in windows(sentence, n).elements())


def _padded(sentence: Sentence, n: int) -> Grams:
    return windows(["<s>"] * (n - 1) + sentence + ["</s>"] * (n - 1), n)


def _finishing(finish: Callable[[float, float], Any]) -> Candidate:
    return bleu_of(finish=finish)


def _counting(last: int, least: int | None) -> Candidate:
    """Windows counted apart from their number. last: 0 leaves the last window out.

    least: a sentence's total is at least this; None lets it go below 0 in short sentences.
    """

    def implementation(hypotheses: Corpus, references: Corpus, max_n: int = 4) -> float:
        rates = []
        for n in range(1, max_n + 1):
            matches = total = 0.0
            for pair in zip(hypotheses, references, strict=True):
                ours, theirs = (windows(s if last else s[:-1], n) for s in pair)
                matches += clipped(ours, theirs)
                number = len(pair[0]) - n + 1
                total += number if least is None else max(number, least)
            rates.append(matches / total)
        return (
            100 * brevity(*(sum(map(len, c)) for c in (hypotheses, references))) * geometric(rates)
        )

    return implementation


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
            bleu_of(rate=_rates(lambda m, t, w: (m or size) / max(t, 1))),
            _SMOOTHED,
        ),
    )


_SMALL = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-12, 1e-15, 1e-16, 1e-20, 1e-100)
_REPLACED_ZEROS = (
    *chain(*map(_zeros_replaced, _SMALL)),
    _zeros_replaced(sys.float_info.min)[0],
)


MISTAKES = (
    Mistake("not-clipped", bleu_of(match=_unclipped), _UNCLIPPED),
    Mistake("clipped-at-one", bleu_of(match=lambda h, r: len(h.keys() & r.keys())), _SETS),
    Mistake(
        "sets",
        bleu_of(match=lambda h, r: len(h.keys() & r.keys()), total=lambda grams: len(grams)),
        _SETS,
    ),
    Mistake("totals-of-different-ones", bleu_of(total=lambda grams: len(grams)), _SETS),
    Mistake(
        "occurrences-in-the-reference",
        bleu_of(match=_of_reference),
        "A shared n-gram counts as often as the *reference* has it. It counts as often as the "
        "hypothesis has it, but at most as often as the reference: the smaller of both counts.",
    ),
    Mistake("mean-of-sentences", from_sentences(_mean_score), _SENTENCES),
    Mistake("weighted-mean-of-sentences", from_sentences(_weighted_score), _SENTENCES),
    Mistake("mean-of-precisions", from_sentences(_mean_precisions), _SENTENCES),
    Mistake(
        "mean-of-smoothed-sentences",
        from_sentences(_mean_score, rate=_rates(lambda m, t, w: (m + 1) / (t + 1))),
        _SENTENCES,
    ),
    Mistake(
        "mean-of-unclipped-sentences", from_sentences(_mean_score, match=_unclipped), _SENTENCES
    ),
    Mistake(
        "mean-of-sentences-without-brevity",
        from_sentences(_mean_score, penalty=lambda c, r: 1.0),
        _SENTENCES,
    ),
    Mistake("pooled", _pooled, _POOLED),
    Mistake("joined", bleu_of(prepare=_in_one), _JOINED),
    Mistake("no-brevity-penalty", bleu_of(penalty=lambda c, r: 1.0), _NO_BREVITY),
    Mistake(
        "unclipped-without-brevity",
        bleu_of(match=_unclipped, penalty=lambda c, r: 1.0),
        _UNCLIPPED + " The brevity penalty is missing besides.",
    ),
    Mistake("brevity-turned", bleu_of(penalty=lambda c, r: brevity(r, c)), _BREVITY_TURNED),
    Mistake(
        "brevity-both-exchanged",
        bleu_of(penalty=lambda c, r: 1.0 if c >= r else math.exp(1 - c / r)),
        "In the brevity penalty c and r are exchanged: exp(1 - c / r) is above 1 for short "
        "hypotheses and rewards them. It is exp(1 - r / c), r the length of the references.",
    ),
    Mistake("brevity-bonus", bleu_of(penalty=_exp_ratio), _BREVITY_BONUS),
    Mistake(
        "brevity-as-a-ratio", bleu_of(penalty=lambda c, r: min(1.0, _share(c, r))), _BREVITY_FORM
    ),
    Mistake("ratio-for-all", bleu_of(penalty=lambda c, r: _share(c, r)), _BREVITY_FORM),
    Mistake(
        "brevity-by-difference",
        bleu_of(penalty=lambda c, r: min(1.0, math.exp((c - r) / max(r, 1)))),
        _BREVITY_FORM,
    ),
    Mistake(
        "brevity-without-one",
        bleu_of(penalty=lambda c, r: 1.0 if c >= r else math.exp(-r / max(c, 1))),
        _BREVITY_FORM,
    ),
    Mistake(
        "brevity-without-exp",
        bleu_of(penalty=lambda c, r: 1.0 if c >= r else 1 - r / c),
        _BREVITY_FORM,
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
        bleu_of(rate=lambda counts: [_share(sum(counts.matches), sum(counts.totals))]),
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
    Mistake("last-order-missing", bleu_of(orders=lambda max_n: range(1, max(max_n, 2))), _ORDERS),
    Mistake("one-order-more", bleu_of(orders=lambda max_n: range(1, max_n + 2)), _ORDERS),
    Mistake(
        "unigrams-missing",
        bleu_of(orders=lambda max_n: range(min(2, max_n), max_n + 1)),
        _ORDERS,
    ),
    Mistake("highest-order-only", bleu_of(orders=lambda max_n: [max_n]), _ONE_ORDER),
    Mistake("unigrams-only", bleu_of(orders=lambda max_n: [1]), _ONE_ORDER),
    Mistake("zero-to-one", _finishing(lambda penalty, mean: penalty * mean), _SCALE),
    Mistake("percent-twice", _finishing(lambda penalty, mean: 1e4 * penalty * mean), _SCALE),
    Mistake(
        "zero-to-one-unclipped",
        bleu_of(finish=lambda penalty, mean: penalty * mean, match=_unclipped),
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
    Mistake("one-added", bleu_of(rate=_rates(lambda m, t, w: (m + 1) / (t + 1))), _SMOOTHED),
    Mistake("one-added-above-unigrams", bleu_of(rate=_smoothed_above_unigrams), _SMOOTHED),
    Mistake(
        "one-added-to-matches", bleu_of(rate=_rates(lambda m, t, w: (m + 1) / max(t, 1))), _SMOOTHED
    ),
    Mistake("exponentially-smoothed", bleu_of(rate=_exponentially_smoothed), _SMOOTHED),
    Mistake(
        "tenth-for-zero",
        bleu_of(rate=_rates(lambda m, t, w: (m or 0.1) / max(t, 1))),
        _SMOOTHED,
    ),
    Mistake(
        "half-for-zero", bleu_of(rate=_rates(lambda m, t, w: (m or 0.5) / max(t, 1))), _SMOOTHED
    ),
    Mistake(
        "one-for-zero", bleu_of(rate=_rates(lambda m, t, w: (m or 1.0) / max(t, 1))), _SMOOTHED
    ),
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
        _finishing(lambda penalty, mean: 100 * penalty * mean if mean else None),
        _ZERO,
    ),
    Mistake("recall", bleu_of(rate=_rates(lambda m, t, w: _share(m, w))), _RECALL),
    Mistake("f-score", bleu_of(rate=_rates(_f_score)), _F_SCORE),
    Mistake("exchanged", bleu_of(prepare=lambda h, r: (r, h)), _SWAPPED),
    Mistake("last-window-missing", bleu_of(grams=_windows_without_last), _WINDOWS),
    Mistake("last-window-unmatched", _counting(0, 1), _WINDOWS),
    Mistake("negative-totals", _counting(1, None), _WINDOWS),
    Mistake("totals-of-at-least-one", _counting(1, 1), _WINDOWS),
    Mistake("short-windows-too", bleu_of(grams=_windows_running_out), _WINDOWS),
    Mistake("windows-side-by-side", bleu_of(grams=_side_by_side), _WINDOWS),
    Mistake("padded-windows", bleu_of(grams=_padded), _WINDOWS),
    Mistake("totals-in-words", bleu_of(rate=_in_words), _WINDOWS),
    Mistake("characters", bleu_of(grams=_characters), _CHARACTERS),
    Mistake("glued", bleu_of(grams=_glued), _CHARACTERS),
    Mistake("sorted-words", bleu_of(grams=_sorted_grams), _BAG),
    Mistake("lower-case", bleu_of(prepare=_changed(str.lower)), _CASE),
    Mistake("rounded-to-two", _finishing(lambda p, mean: round(100 * p * mean, 2)), _ROUNDED),
    Mistake("rounded-to-one", _finishing(lambda p, mean: round(100 * p * mean, 1)), _ROUNDED),
    Mistake("rounded", _finishing(lambda p, mean: round(100 * p * mean)), _ROUNDED),
    Mistake(
        "first-sentence-only",
        bleu_of(prepare=lambda h, r: (h[:1], r[:1])),
        "Only the first sentence is scored. Add the counts up over all pairs of the corpus.",
    ),
    Mistake(
        "last-sentence-missing",
        bleu_of(prepare=lambda h, r: (h[:-1] or h, r[:-1] or r)),
        "The last sentence is left out. Add the counts up over all pairs of the corpus.",
    ),
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
