"""Is a difference of two scores more than chance? Resampling (Koehn, 2004; Riezler, Maxwell, 2005).

A test set is a sample of sentences: with others, the score would have been another. How far apart
such scores would lie is tried by drawing new test sets from this one. A draw is scored from the
table of counts, one row a sentence, so nothing is translated or tokenised again and a thousand
draws cost a product of two matrices.

The draws, the intervals and the p-values are sacreBLEU's, for the same seed; the tests hold them
together. Only ties differ: here a draw that reaches the real difference counts as one that large,
so that two equal outputs have p = 1; sacreBLEU counts those beyond it. Resampling sentences knows
nothing of another seed of the training: that is another sample.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotated_transformer.errors import CallError

RESAMPLES = 1000
TRIALS = 10_000
SEED = 12345  # sacreBLEU's
AT_ONCE = 1 << 22  # numbers of draws held in memory
TIE = 1e-9  # the last digits of a score depend on the order of sums

Array = NDArray[Any]
ScoreOf = Callable[[Array], Array]  # sums of counts (..., columns) -> scores (...)


@dataclass(frozen=True)
class Counted:
    """What each sentence of a corpus adds to a score, and how the score follows from the sums.

    counts: (sentences, columns).
    score_of: sums of the columns (..., columns) -> scores (...).
    """

    counts: Array
    score_of: ScoreOf

    @property
    def score(self) -> float:
        """Of the corpus."""
        return float(self.score_of(self.counts.sum(0)))


def in_groups(counted: Counted, sizes: Sequence[int]) -> Counted:
    """A row for each group of sentences that follow each other, such as those of one document.

    Sentences of a document resemble each other; who draws whole documents allows for that.

    Args:
        counted: a row for each sentence.
        sizes: how many sentences each group has, one at least.

    Raises:
        CallError: the groups have other numbers of sentences together than there are.
    """
    if sum(sizes) != len(counted.counts) or min(sizes) < 1:
        raise CallError(
            f"groups of {sum(sizes)} sentences were given for {len(counted.counts)}; give as many, "
            "at least one to a group."
        )
    begins = np.cumsum([0, *sizes[:-1]])
    return Counted(np.add.reduceat(counted.counts, begins), counted.score_of)


@dataclass(frozen=True)
class Interval:
    """Between which values 95% of the scores of resampled test sets lie."""

    low: float
    high: float
    resamples: int
    seed: int


@dataclass(frozen=True)
class Comparison:
    """Two systems on the same sentences.

    difference: our score minus theirs.
    p_value: how often a difference as large comes about where the two do not differ; the
        bootstrap's is too small (`paired_bootstrap`).
    method: "paired bootstrap" or "paired approximate randomisation".
    trials: how often was drawn.
    interval: of the difference; None where the method gives none.
    wins: share of the resampled test sets on which ours scores higher (Koehn); None likewise.
    """

    difference: float
    p_value: float
    method: str
    trials: int
    seed: int
    interval: Interval | None = None
    wins: float | None = None


def resampled_scores(system: Counted, resamples: int = RESAMPLES, seed: int = SEED) -> Array:
    """Scores of new test sets, each of as many sentences, drawn with replacement: (resamples,).

    Systems on the same sentences get the same draws for the same seed.
    """
    sentences = len(system.counts)
    if not sentences:
        raise CallError("there is no sentence to draw from; give at least one.")
    generator = np.random.default_rng(seed)
    scores = []
    rows = max(1, AT_ONCE // sentences)
    for begin in range(0, resamples, rows):
        count = min(rows, resamples - begin)
        drawn = generator.choice(sentences, size=(count, sentences), replace=True)
        drawn += sentences * np.arange(count)[:, None]  # one range of numbers a resample
        times = np.bincount(drawn.ravel(), minlength=count * sentences)
        weights = times.reshape(count, sentences).astype(np.float64)  # how often each was drawn
        scores.append(system.score_of(weights @ system.counts))  # (count,)
    return np.concatenate(scores) if scores else np.zeros(0)


def middle_95(scores: Array) -> tuple[float, float]:
    """The range that is left when a fortieth of the values is taken off at either end."""
    ordered = np.sort(scores)
    cut = len(ordered) // 40
    return float(ordered[cut]), float(ordered[-1 - cut])


def bootstrap_interval(system: Counted, resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """The interval of one system's score."""
    return Interval(*middle_95(resampled_scores(system, resamples, seed)), resamples, seed)


def paired_bootstrap(
    ours: Counted, theirs: Counted, resamples: int = RESAMPLES, seed: int = SEED
) -> Comparison:
    """Both systems on the same resampled test sets (Koehn, 2004).

    The p-value is sacreBLEU's: how often the size of the difference lies above its own mean by as
    much as the real one, or more. That looks at one side only. Of two systems that are equally
    good it calls about one pair in nine different at p < 0.05, where `paired_randomisation` keeps
    to one in twenty.

    Raises:
        CallError: if the two have different numbers of sentences.
    """
    difference = _difference(ours, theirs)
    differences = resampled_scores(ours, resamples, seed) - resampled_scores(
        theirs, resamples, seed
    )  # (resamples,)
    sizes = np.abs(differences)
    return Comparison(
        difference,
        _p_value(sizes - sizes.mean(), difference),
        "paired bootstrap",
        resamples,
        seed,
        Interval(*middle_95(differences), resamples, seed),
        float((differences > TIE).mean()),
    )


def paired_randomisation(
    ours: Counted, theirs: Counted, trials: int = TRIALS, seed: int = SEED
) -> Comparison:
    """For each sentence a coin says which system is called ours (Riezler and Maxwell, 2005).

    If the two did not differ, one mixture would differ from the other as ours does from theirs:
    the p-value is how often it differs as much, or more.

    Raises:
        CallError: if the two have different numbers of sentences.
    """
    difference = _difference(ours, theirs)
    sentences = len(ours.counts)
    generator = np.random.default_rng(seed)
    both = ours.counts.sum(0) + theirs.counts.sum(0)  # (columns,)
    apart = theirs.counts - ours.counts  # (sentences, columns)
    sizes = []
    # NumPy cuts coins from numbers of 32 bits: so many rows a block give the coins of one block.
    rows = 32 * max(1, AT_ONCE // sentences // 32)
    for begin in range(0, trials, rows):
        coins = generator.integers(2, size=(min(rows, trials - begin), sentences), dtype=bool)
        exchanged = coins.astype(np.float64)  # (rows, sentences)
        first = exchanged @ apart + ours.counts.sum(0)  # (rows, columns)
        sizes.append(np.abs(ours.score_of(first) - ours.score_of(both - first)))
    return Comparison(
        difference,
        _p_value(np.concatenate(sizes), difference),
        "paired approximate randomisation",
        trials,
        seed,
    )


def _difference(ours: Counted, theirs: Counted) -> float:
    if len(ours.counts) != len(theirs.counts):
        raise CallError(
            f"one system has {len(ours.counts)} translations and the other "
            f"{len(theirs.counts)}: they are compared sentence by sentence, so both need the same."
        )
    if not len(ours.counts):
        raise CallError("there is no sentence to draw from; give at least one.")
    return ours.score - theirs.score


def _p_value(sizes: Array, difference: float) -> float:
    """The share of values that reach the real difference; it itself counts as one of them."""
    reached = int((sizes >= abs(difference) - TIE).sum())
    return (reached + 1) / (len(sizes) + 1)
