"""BLEU in steps that can be replaced one at a time.

A named mistake of `decoding.corpus_bleu` sits in one of them, so it states only what it does
differently and leaves the rest right.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from annotated_transformer.exercises.exercise import Candidate

Sentence = list[str]
Corpus = list[Sentence]
Grams = Counter[Any]


def windows(sentence: Sentence, n: int) -> Grams:
    return Counter(tuple(sentence[i : i + n]) for i in range(len(sentence) - n + 1))


def clipped(hypothesis: Grams, reference: Grams) -> float:
    return sum((hypothesis & reference).values())


@dataclass(frozen=True)
class Counts:
    """Of one sentence or of a corpus, an entry for each order: matches, totals, the references'.

    c and r: words of hypotheses and references.
    """

    matches: tuple[float, ...]
    totals: tuple[float, ...]
    wanted: tuple[float, ...]
    c: int
    r: int


def added(parts: Sequence[Counts]) -> Counts:
    def total(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
        return tuple(map(sum, zip(*rows, strict=True)))

    return Counts(
        total([part.matches for part in parts]),
        total([part.totals for part in parts]),
        total([part.wanted for part in parts]),
        sum(part.c for part in parts),
        sum(part.r for part in parts),
    )


def precisions(counts: Counts) -> list[float]:
    pairs = zip(counts.matches, counts.totals, strict=True)
    return [matches / total if total else 0.0 for matches, total in pairs]


def geometric(values: list[float]) -> float:
    if min(values) <= 0:
        return 0.0
    return math.exp(sum(map(math.log, values)) / len(values))


def brevity(c: int, r: int) -> float:
    return 1.0 if c >= r else math.exp(1 - r / c) if c else 0.0


@dataclass(frozen=True)
class Steps:
    """BLEU; the defaults are the right one.

    prepare: the whole corpus before counting. orders: of the n-grams. grams: of a sentence. match:
    of two counts. total: of a sentence's counts. rate: precisions from the corpus's counts. mean:
    of the precisions. penalty: from c and r. finish: the number returned.
    """

    prepare: Callable[[Corpus, Corpus], tuple[Corpus, Corpus]] = lambda h, r: (h, r)
    orders: Callable[[int], Sequence[int]] = lambda max_n: range(1, max_n + 1)
    grams: Callable[[Sentence, int], Grams] = windows
    match: Callable[[Grams, Grams], float] = clipped
    total: Callable[[Grams], float] = lambda grams: sum(grams.values())
    rate: Callable[[Counts], list[float]] = precisions
    mean: Callable[[list[float]], float] = geometric
    penalty: Callable[[int, int], float] = brevity
    finish: Callable[[float, float], Any] = lambda penalty, mean: 100 * penalty * mean

    def counted(self, hypothesis: Sentence, reference: Sentence, max_n: int) -> Counts:
        pairs = [(self.grams(hypothesis, n), self.grams(reference, n)) for n in self.orders(max_n)]
        return Counts(
            tuple(self.match(*pair) for pair in pairs),
            tuple(self.total(pair[0]) for pair in pairs),
            tuple(self.total(pair[1]) for pair in pairs),
            len(hypothesis),
            len(reference),
        )

    def score(self, counts: Counts) -> Any:
        mean = self.mean(self.rate(counts))
        return self.finish(self.penalty(counts.c, counts.r), mean)


def bleu_of(**steps: Any) -> Candidate:
    """BLEU with some steps replaced, with the signature of the exercise."""
    own = Steps(**steps)

    def implementation(hypotheses: Corpus, references: Corpus, max_n: int = 4) -> Any:
        return own.score(added(_all_counts(own, hypotheses, references, max_n)))

    return implementation


def _all_counts(steps: Steps, hypotheses: Corpus, references: Corpus, max_n: int) -> list[Counts]:
    hypotheses, references = steps.prepare(hypotheses, references)
    pairs = zip(hypotheses, references, strict=False)
    return [steps.counted(hypothesis, reference, max_n) for hypothesis, reference in pairs]


def from_sentences(combine: Callable[[Steps, list[Counts]], Any], **steps: Any) -> Candidate:
    """A combination of the sentences' counts other than adding them up."""
    own = Steps(**steps)

    def implementation(hypotheses: Corpus, references: Corpus, max_n: int = 4) -> Any:
        return combine(own, _all_counts(own, hypotheses, references, max_n))

    return implementation


def unclipped(hypothesis: Grams, reference: Grams) -> float:
    return sum(count for gram, count in hypothesis.items() if gram in reference)


def rates(of: Callable[[float, float, float], float]) -> Callable[[Counts], list[float]]:
    """Rates from matches, totals and the reference's totals of each order."""
    return lambda counts: [
        of(*numbers) for numbers in zip(counts.matches, counts.totals, counts.wanted, strict=True)
    ]


def share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def finishing(finish: Callable[[float, float], Any]) -> Candidate:
    return bleu_of(finish=finish)


def smoothed_above_unigrams(counts: Counts) -> list[float]:
    return [
        share(m, t) if order == 0 else (m + 1) / (t + 1)
        for order, (m, t) in enumerate(zip(counts.matches, counts.totals, strict=True))
    ]
