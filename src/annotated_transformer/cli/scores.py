"""What `evaluate` reports: scores with intervals, against another output, for people."""

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from annotated_transformer.cli.options import counted
from annotated_transformer.config import MAX_EXTRA
from annotated_transformer.errors import WorkError
from annotated_transformer.forensics import ProtocolScore
from annotated_transformer.likelihood import Likelihood
from annotated_transformer.scoring import Score, count_sentences, score_corpus, searches_in_words
from annotated_transformer.significance import (
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


def scores_as_text(scored: Sequence[Scored]) -> list[str]:
    """A line a score, for people."""
    rows = []
    for one in scored:
        interval = "" if one.interval is None else f"  {as_range(one.interval):16}"
        rows.append(f"{one.score.name:16} {one.score.value:7.2f}{interval}   {one.score.signature}")
    if scored and scored[0].interval is not None:
        rows.append(
            f"{'':16} in brackets: 95% of {scored[0].interval.resamples:,} test sets drawn from "
            "this one; another seed of the training is not in it"
        )
    return rows


def comparison_as_text(path: Path, compared: Sequence[Compared]) -> list[str]:
    """What a comparison found, for people."""
    first = compared[0]
    rows = [
        f"against {path}: ours minus theirs, {first.bootstrap.trials:,} resamples, "
        f"{first.randomisation.trials:,} random exchanges"
    ]
    for one in compared:
        interval = one.bootstrap.interval
        assert interval is not None
        rows.append(
            f"{one.name:16} {one.bootstrap.difference:+7.2f}  {as_range(interval, '+'):16}   "
            f"p = {one.bootstrap.p_value:.4f} (bootstrap), {one.randomisation.p_value:.4f} "
            f"(randomisation), theirs {one.theirs:.2f}"
        )
    return rows


def as_range(interval: Interval, sign: str = "") -> str:
    """ "[38.17, 41.66]"."""
    return f"[{interval.low:{sign}.2f}, {interval.high:{sign}.2f}]"


def as_text(
    report: dict[str, Any], scored: Sequence[Scored], likelihood: Likelihood | None
) -> list[str]:
    """The report for people."""
    head = (
        f"{report['data']} {report['split']}, {report['source']} to {report['target']}, "
        f"{report['sentences']:,} sentences"
    )
    length = f"{'length':16} {report['length_ratio']:7.3f}   words for each word of the references"
    if report["empty"]:
        length += f"; {counted(report['empty'], 'translation')} empty where the reference is not"
    if likelihood is None:
        return [head, f"translations of {report['hypotheses']}", *scores_as_text(scored), length]
    left_out = ""
    if report["left_out_of_likelihood"]:
        pairs = counted(report["left_out_of_likelihood"], "pair")
        left_out = f"; {pairs} too long for the model left out"
    return [
        head,
        search_as_text(report),
        *scores_as_text(scored),
        length,
        f"{'loss':16} {likelihood.loss:7.3f}   nats per token, not smoothed, "
        f"{likelihood.tokens:,} tokens{left_out}",
        f"{'perplexity':16} {likelihood.perplexity:7.2f}   per token of the model's vocabulary",
        f"{'accuracy':16} {100 * likelihood.accuracy:7.2f}   % of tokens, the true past given",
        f"{'speed':16} {report['sentences_per_second']:7.1f}   sentences a second on "
        f"{report['device']}, {report['threads']} threads",
    ]


def search_as_text(report: dict[str, Any]) -> str:
    """Beam, alpha and the limit of length, unless it is the paper's; what was chosen between."""
    text = f"beam {report['beam']}, alpha {report['alpha']}"
    if report["max_extra"] != MAX_EXTRA:
        text += f", at most source + {report['max_extra']} tokens"
    if not report["tuning"]:
        return text
    tried = searches_in_words(
        (one["alpha"], one["max_extra"], one["score"]) for one in report["tuning"]
    )
    return f"{text} (chosen on {report['alpha_chosen_on']}: {tried})"


def protocols_as_text(scores: Sequence[ProtocolScore]) -> list[str]:
    """The same translations under every protocol, for people."""
    rows = ["the same translations under each protocol in use:"]
    for score in scores:
        rows.append(f"{score.name:16} {score.value:7.2f}   {score.signature}")
        rows += [" " * 27 + line for line in textwrap.wrap(score.used_by, 72)]
    return rows


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
