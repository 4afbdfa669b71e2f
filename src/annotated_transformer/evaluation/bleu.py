"""BLEU from scratch (Papineni and others, 2002): the measure of Table 2.

Everything is counted sentence by sentence and added up over the corpus; only then is anything
divided. So a corpus is a table with one row a sentence, and its score needs nothing but the sums
of the columns. Scores of resampled corpora (`significance`) come from the same table.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_N = 4  # n-grams of 1, 2, 3 and 4 words
Smoothing = Literal["none", "exp"]
Array = NDArray[Any]


def corpus_bleu(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    max_n: int = MAX_N,
    smoothing: Smoothing = "none",
) -> float:
    """BLEU of a corpus, from 0 to 100. Each sentence is a list of words.

    Args:
        hypotheses: the translations.
        references: as many, one each.
        max_n: the longest n-grams.
        smoothing: see `bleu_of_counts`.
    """
    return float(bleu_of_counts(count_corpus(hypotheses, references, max_n).sum(0), smoothing))


def ngrams(words: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    """How often each row of n words occurs: m words have m - n + 1 of them, or none."""
    return Counter(tuple(words[i : i + n]) for i in range(len(words) - n + 1))


def count_sentence(
    hypothesis: Sequence[str], reference: Sequence[str], max_n: int = MAX_N
) -> list[int]:
    """What one sentence adds to the sums.

    Returns:
        c, r, then max_n matches, then max_n totals (the order is sacreBLEU's): the words of the
        hypothesis and of the reference; for each n the n-grams of the hypothesis that the
        reference has too, each at most as often as it has it; and all n-grams of the hypothesis.
    """
    matches, totals = [], []
    for n in range(1, max_n + 1):
        ours = ngrams(hypothesis, n)
        clipped = ours & ngrams(reference, n)  # the smaller count of each n-gram
        matches.append(clipped.total())
        totals.append(ours.total())
    return [len(hypothesis), len(reference), *matches, *totals]


def count_corpus(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[str]], max_n: int = MAX_N
) -> Array:
    """`count_sentence` of every pair: (sentences, 2 + 2 * max_n)."""
    rows = [
        count_sentence(ours, theirs, max_n)
        for ours, theirs in zip(hypotheses, references, strict=True)
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, 2 + 2 * max_n)


def bleu_of_counts(sums: ArrayLike, smoothing: Smoothing = "none") -> Array:
    """Brevity penalty times the geometric mean of the precisions, from 0 to 100.

    Without smoothing one precision of 0 makes the score 0. "exp" (sacreBLEU's default) takes 1/2
    for the first order without a match, 1/4 for the second and so on; a corpus without any match
    at all, or without a single n-gram of some order, scores 0 all the same.

    Args:
        sums: (..., 2 + 2 * max_n), as from `count_sentence`, added up over a corpus; leading
            dimensions are several corpora.

    Returns:
        (...)
    """
    sums = np.asarray(sums, dtype=np.float64)
    c, r = sums[..., 0], sums[..., 1]  # (...)
    matches, totals = np.split(sums[..., 2:], 2, axis=-1)  # (..., max_n) each
    none_at_all = ~matches.any(-1)  # (...)
    if smoothing == "exp":
        zeros_so_far = np.cumsum(matches == 0, axis=-1)  # (..., max_n)
        matches = np.where(matches == 0, 0.5**zeros_so_far, matches)
    with np.errstate(divide="ignore", invalid="ignore"):  # log(0) = -inf, and exp(-inf) = 0
        precisions = np.where(totals > 0, matches / totals, 0.0)  # (..., max_n)
        geometric_mean = np.exp(np.log(precisions).mean(-1))  # (...)
        brevity_penalty = np.where(c < r, np.exp(1 - r / c), 1.0)  # (...)
    return np.where(none_at_all, 0.0, 100 * brevity_penalty * geometric_mean)


def words_13a(line: str) -> list[str]:
    """The words of a plain line as `13a`, sacreBLEU's default, splits it.

    It is the tokenisation of mteval-v13a.pl, WMT's own scorer: punctuation and symbols of ASCII
    stand alone, but a full stop or comma stays between two digits (3.5 and 1,000), and a hyphen
    stays inside a word unless a digit stands before it. Quotation marks such as „ are no ASCII and
    stay where they are.
    """
    line = line.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for name, sign in (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")):
        line = line.replace(name, sign)
    line = f" {line} "
    line = re.sub(r"([{-~\[-` -&(-+:-@/])", r" \1 ", line)  # all but ' , - . and what follows
    line = re.sub(r"([^0-9])([.,])", r"\1 \2 ", line)  # no digit before it
    line = re.sub(r"([.,])([^0-9])", r" \1 \2", line)  # no digit after it
    line = re.sub(r"([0-9])(-)", r"\1 \2 ", line)  # a hyphen after a digit
    return line.split()
