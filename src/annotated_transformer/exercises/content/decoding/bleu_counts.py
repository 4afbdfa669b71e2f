"""Mistakes of `decoding.corpus_bleu` in what is counted: n-grams, matches, orders, sentences."""

import math
from collections import Counter
from collections.abc import Callable
from itertools import chain
from typing import Any

from annotated_transformer.exercises.content.decoding.bleu_steps import (
    Corpus,
    Counts,
    Grams,
    Sentence,
    bleu_of,
    brevity,
    clipped,
    geometric,
    rates,
    share,
    unclipped,
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

_POOLED = (
    "The n-grams of the whole corpus are compared at once, so a sentence can match the reference "
    "of another one. Clip sentence by sentence, each against its own reference; only the numbers "
    "of matches and totals are added up."
)

_JOINED = (
    "The sentences are joined into one long text, which has n-grams across the ends of sentences. "
    "Take n-grams within each sentence, and add the counts up."
)

_ORDERS = (
    "The orders of the n-grams are off: {}. All of n = 1, 2, ..., max_n count, each with the same "
    "weight: `range(1, max_n + 1)`."
)

_TOO_FEW = "the highest, n = max_n, is missing (`range(1, max_n)` ends before it)"

_ONE_ORDER = "Only a single order of n-grams is used. BLEU combines all orders from 1 to max_n."

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


def _mean_logarithm(values: list[float]) -> float:
    return math.exp(sum(map(math.log, values)) / len(values)) if all(values) else 0.0


def _last_order_missing(hypotheses: Corpus, references: Corpus, max_n: int = 4) -> Any:
    """range(1, max_n), and the sum of logarithms divided by max_n."""

    def mean(values: list[float]) -> float:
        return math.exp(sum(map(math.log, values)) / max_n) if all(values) else 0.0

    return bleu_of(orders=lambda n: range(1, n), mean=mean)(hypotheses, references, max_n)


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


def _of_reference(hypothesis: Grams, reference: Grams) -> float:
    """The reference's occurrences of every shared n-gram."""
    return sum(count for gram, count in reference.items() if gram in hypothesis)


def _f_score(matches: float, total: float, wanted: float) -> float:
    return 2 * matches / (total + wanted) if total + wanted else 0.0


def _in_words(counts: Counts) -> list[float]:
    return [share(matches, counts.c) for matches in counts.matches]


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


COUNT_MISTAKES = (
    Mistake("not-clipped", bleu_of(match=unclipped), _UNCLIPPED),
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
    Mistake("pooled", _pooled, _POOLED),
    Mistake("joined", bleu_of(prepare=_in_one), _JOINED),
    Mistake(
        "unclipped-without-brevity",
        bleu_of(match=unclipped, penalty=lambda c, r: 1.0),
        _UNCLIPPED + " The brevity penalty is missing besides.",
    ),
    Mistake(
        "last-order-missing",
        bleu_of(orders=lambda max_n: range(1, max(max_n, 2))),
        _ORDERS.format(_TOO_FEW),
    ),
    Mistake(
        "last-order-missing-leaving-none",
        bleu_of(orders=lambda max_n: range(1, max_n), mean=_mean_logarithm),
        _ORDERS.format(_TOO_FEW),
    ),
    Mistake(
        "last-order-missing-root-of-all",
        _last_order_missing,
        _ORDERS.format(_TOO_FEW + ", while the mean is still divided by max_n"),
    ),
    Mistake(
        "one-order-more",
        bleu_of(orders=lambda max_n: range(1, max_n + 2)),
        _ORDERS.format("n-grams of max_n + 1 words are counted too"),
    ),
    Mistake(
        "unigrams-missing",
        bleu_of(orders=lambda max_n: range(min(2, max_n), max_n + 1)),
        _ORDERS.format("the unigrams are missing, counting begins with n = 2"),
    ),
    Mistake("highest-order-only", bleu_of(orders=lambda max_n: [max_n]), _ONE_ORDER),
    Mistake("unigrams-only", bleu_of(orders=lambda max_n: [1]), _ONE_ORDER),
    Mistake("recall", bleu_of(rate=rates(lambda m, t, w: share(m, w))), _RECALL),
    Mistake("f-score", bleu_of(rate=rates(_f_score)), _F_SCORE),
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
)
