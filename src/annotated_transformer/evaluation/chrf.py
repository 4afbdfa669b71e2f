"""chrF2 from scratch (Popović, 2015): the F-score of character n-grams, n from 1 to 6."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MAX_N = 6
BETA = 2  # recall weighs twice precision
Array = NDArray[Any]


def character_ngrams(line: str, n: int) -> Counter[str]:
    """How often each row of n characters occurs; spaces are left out first."""
    text = "".join(line.split())
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


def count_characters(hypotheses: Sequence[str], references: Sequence[str]) -> Array:
    """What each sentence adds to the sums.

    Returns:
        (sentences, 3 * MAX_N): for each n the n-grams of the hypothesis (0 where the reference has
        none to compare with), those of the reference, and the matches, clipped as in BLEU.
    """
    rows = []
    for ours, theirs in zip(hypotheses, references, strict=True):
        row: list[int] = []
        for n in range(1, MAX_N + 1):
            found, wanted = character_ngrams(ours, n), character_ngrams(theirs, n)
            row += [found.total() if wanted else 0, wanted.total(), (found & wanted).total()]
        rows.append(row)
    return np.array(rows, dtype=np.float64).reshape(-1, 3 * MAX_N)


def chrf_of_counts(sums: ArrayLike) -> Array:
    """chrF2 from 0 to 100. sums: (..., 3 * MAX_N), leading dimensions are several corpora."""
    sums = np.asarray(sums, dtype=np.float64)
    found, wanted, matches = (sums[..., place::3] for place in range(3))  # (..., MAX_N) each
    with np.errstate(divide="ignore", invalid="ignore"):
        counted = (found > 0) & (wanted > 0)  # (..., MAX_N)
        orders = counted.sum(-1)  # (...)
        precision = np.where(counted, matches / found, 0.0).sum(-1) / orders  # (...)
        recall = np.where(counted, matches / wanted, 0.0).sum(-1) / orders  # (...)
        f_score = (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)
    return np.where(np.isfinite(f_score), 100 * f_score, 0.0)
