"""What `evaluate` counts: scores with intervals, and against another output."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from annotated_transformer.errors import WorkError
from annotated_transformer.evaluation.scoring import Score, count_sentences, score_corpus
from annotated_transformer.evaluation.significance import (
    Comparison,
    Counted,
    Interval,
    bootstrap_interval,
    paired_bootstrap,
    paired_randomisation,
)

SAME_SCORE = 1e-6  # points by which two ways to count may differ


@dataclass(frozen=True)
class Compared:
    """One score of another output, and whether the difference is more than chance."""

    name: str
    theirs: float
    bootstrap: Comparison
    randomisation: Comparison


@dataclass(frozen=True)
class Scored:
    """A score, and between which values it lies for other sentences; None if that was left out."""

    score: Score
    interval: Interval | None

    def as_json(self) -> dict[str, Any]:
        """Name, value, signature, interval."""
        return {**asdict(self.score), "interval": self.interval and asdict(self.interval)}


def score_with_intervals(
    hypotheses: Sequence[str], references: Sequence[str], language: str, resamples: int
) -> list[Scored]:
    """Every score of `score_corpus`; its interval if resamples is not 0."""
    return [
        Scored(
            score,
            bootstrap_interval(counts_of(score, hypotheses, references, language), resamples)
            if resamples
            else None,
        )
        for score in score_corpus(hypotheses, references, language=language)
    ]


def counts_of(
    score: Score, hypotheses: Sequence[str], references: Sequence[str], language: str
) -> Counted:
    """What each sentence adds to a score: what its interval is drawn from.

    sacreBLEU gave the score, and this package counts the sentences.

    Raises:
        WorkError: if the two do not agree, as a future release of sacreBLEU may not.
    """
    counted_here = count_sentences(hypotheses, references, score.name, language)
    if abs(counted_here.score - score.value) > SAME_SCORE:
        raise WorkError(
            f"{score.name}: sacreBLEU {version('sacrebleu')} finds {score.value:.4f} and the count "
            f"of this package {counted_here.score:.4f}, so an interval would belong to another "
            "score: install the release of requirements-lock.txt, or give --bootstrap 0 and no "
            "--against."
        )
    return counted_here


def compare(
    scored: Sequence[Scored],
    hypotheses: Sequence[str],
    others: Sequence[str],
    references: Sequence[str],
    language: str,
    resamples: int,
) -> list[Compared]:
    """Our translations, scored already, against another file of the same sentences."""
    compared = []
    for own, score in zip(scored, score_corpus(others, references, language=language), strict=True):
        ours = counts_of(own.score, hypotheses, references, language)
        theirs = counts_of(score, others, references, language)
        compared.append(
            Compared(
                score.name,
                score.value,
                paired_bootstrap(ours, theirs, resamples),
                paired_randomisation(ours, theirs),
            )
        )
    return compared


def length_ratio(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Words of the translations over words of the references: below 1 they are too short."""
    return sum(len(line.split()) for line in hypotheses) / max(
        1, sum(len(line.split()) for line in references)
    )


def count_empty(hypotheses: Sequence[str], references: Sequence[str]) -> int:
    """How many translations have no word although their references have some."""
    return sum(
        not ours.split() and bool(theirs.split())
        for ours, theirs in zip(hypotheses, references, strict=True)
    )
