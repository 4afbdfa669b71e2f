"""What `evaluate` reports of one split, for people and for programs."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from annotated_transformer.cli.options import counted
from annotated_transformer.cli.scores import Compared, Scored
from annotated_transformer.evaluation.causes_in_texts import LEAST, Cause
from annotated_transformer.evaluation.forensics import ProtocolScore
from annotated_transformer.evaluation.likelihood import Likelihood
from annotated_transformer.evaluation.scoring import TriedSearch, other_limit, searches_in_words
from annotated_transformer.evaluation.significance import Interval


@dataclass(frozen=True)
class SearchReport:
    """How a model translated the split.

    Attributes:
        beam: hypotheses kept.
        alpha: of the length penalty.
        max_extra: tokens that a translation could have more than its source.
        alpha_chosen_on: the split on which both were chosen; None if they were given.
        sentences_also_there: how many sentences of the scored split stand in that one too.
        tuning: what was chosen between there.
        lower_case_model: whether the model knows small letters only; None: it is not known.
        seconds: by the clock, of the translations that are scored.
        cpu_seconds: likewise, of the processor.
        sentences_per_second: by the clock.
        device: where the model was.
        threads: of the processor.
    """

    beam: int
    alpha: float
    max_extra: int
    alpha_chosen_on: str | None
    sentences_also_there: int | None
    tuning: list[TriedSearch] | None
    lower_case_model: bool | None
    seconds: float
    cpu_seconds: float
    sentences_per_second: float
    device: str
    threads: int

    def as_text(self) -> str:
        """Beam, alpha and the limit of length, unless it is the paper's; what was tried."""
        text = f"beam {self.beam}, alpha {self.alpha}{other_limit(self.max_extra)}"
        if not self.tuning:
            return text
        return f"{text} (chosen on {self.alpha_chosen_on}: {searches_in_words(self.tuning)})"


@dataclass(frozen=True)
class Explanation:
    """Why a score is low: its causes, and what was asked and is none."""

    causes: list[Cause]
    nothing_seen: list[str]

    def as_text(self) -> list[str]:
        """A numbered list for people."""
        measured = sum(cause.gain is not None for cause in self.causes)
        rows = ["why the cased score is not higher (gains overlap, so they do not add up):"]
        if not measured:
            rows.append(f"nothing that was measured takes {LEAST} BLEU or more")
        for number, cause in enumerate(self.causes, 1):
            if number == measured + 1:
                rows.append("what else it may be, without a gain that can be computed:")
            gain = "" if cause.gain is None else f" {cause.gain:+.2f} BLEU."
            rows += wrapped(f"{number}. {cause.name}:{gain} {cause.found} {cause.advice}")
        if self.nothing_seen:
            rows += wrapped(f"asked, and no cause found: {', '.join(self.nothing_seen)}")
        return rows


def wrapped(text: str) -> list[str]:
    """Lines of at most 100 characters; what stands in backticks stays on one."""
    together = re.sub("`[^`]*`", lambda command: command[0].replace(" ", "\0"), text)
    lines = textwrap.wrap(
        together, 100, subsequent_indent="   ", break_long_words=False, break_on_hyphens=False
    )
    return [line.replace("\0", " ") for line in lines]


@dataclass(frozen=True)
class Report:
    """All that is found of one split.

    Attributes:
        run_dir: the model's; "shipped" for the one that comes with the package.
        hypotheses: the file that was scored in place of a model's translations.
        data: name of the corpus.
        split: which part of it.
        source: language of the source.
        target: language of the references.
        sentences: how many.
        scores: of the translations.
        every_protocol: BLEU under each protocol in use, if asked for.
        against: name of a file of other translations, and how they compare.
        length_ratio: words of the translations over words of the references.
        empty: translations without a word whose references have some.
        search: how the model translated.
        likelihood: of the references; None for an imported model, which cuts them as sources.
        left_out_of_likelihood: pairs that were too long for it.
        explanation: why the score is not higher, if asked for.
    """

    run_dir: str | None
    hypotheses: str | None
    data: str
    split: str
    source: str
    target: str
    sentences: int
    scores: list[Scored]
    every_protocol: list[ProtocolScore]
    against: tuple[str, list[Compared]] | None
    length_ratio: float
    empty: int
    search: SearchReport | None
    likelihood: Likelihood | None
    left_out_of_likelihood: int
    explanation: Explanation | None

    def as_json(self) -> dict[str, Any]:
        """One object. Without a model the search is null, and what was not asked for too.

        The likelihood is left out where there is none.
        """
        values = {field: value for field, value in vars(self).items() if field not in NESTED}
        searched = {"beam": None, "alpha": None, "alpha_chosen_on": None, "max_extra": None}
        if self.search is not None:
            searched = asdict(self.search)
        likelihood: dict[str, Any] = {}
        if self.likelihood is not None:
            likelihood = {
                **asdict(self.likelihood),
                "left_out_of_likelihood": self.left_out_of_likelihood,
            }
        against = None
        if self.against is not None:
            file, compared = self.against
            against = {"file": file, "scores": [asdict(one) for one in compared]}
        return {
            **values,
            **searched,
            "scores": [one.as_json() for one in self.scores],
            "every_protocol": [asdict(score) for score in self.every_protocol] or None,
            "against": against,
            "explanation": asdict(self.explanation) if self.explanation else None,
            **likelihood,
        }

    def as_text(self) -> list[str]:
        """Lines for people."""
        head = (
            f"{self.data} {self.split}, {self.source} to {self.target}, "
            f"{self.sentences:,} sentences"
        )
        length = f"{'length':16} {self.length_ratio:7.3f}   words for each word of the references"
        if self.empty:
            length += f"; {counted(self.empty, 'translation')} empty where the reference is not"
        how = self.search.as_text() if self.search else f"translations of {self.hypotheses}"
        return [
            head,
            how,
            *scores_as_text(self.scores),
            length,
            *self._model_as_text(),
            *(comparison_as_text(*self.against) if self.against else []),
            *(protocols_as_text(self.every_protocol) if self.every_protocol else []),
            *(self.explanation.as_text() if self.explanation else []),
        ]

    def _model_as_text(self) -> list[str]:
        if self.search is None:
            return []
        return [
            *self._likelihood_as_text(),
            f"{'speed':16} {self.search.sentences_per_second:7.1f}   sentences a second on "
            f"{self.search.device}, {self.search.threads} threads",
        ]

    def _likelihood_as_text(self) -> list[str]:
        found = self.likelihood
        if found is None:
            return [f"{'perplexity':16} {'-':>7}   an imported model cuts references as sources"]
        left_out = ""
        if self.left_out_of_likelihood:
            pairs = counted(self.left_out_of_likelihood, "pair")
            left_out = f"; {pairs} too long for the model left out"
        return [
            f"{'loss':16} {found.loss:7.3f}   nats per token, not smoothed, "
            f"{found.tokens:,} tokens{left_out}",
            f"{'perplexity':16} {found.perplexity:7.2f}   per token of the model's vocabulary",
            f"{'accuracy':16} {100 * found.accuracy:7.2f}   % of tokens, the true past given",
        ]


NESTED = (
    "scores",
    "every_protocol",
    "against",
    "search",
    "likelihood",
    "left_out_of_likelihood",
    "explanation",
)


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


def comparison_as_text(file: str, compared: Sequence[Compared]) -> list[str]:
    """What a comparison found, for people."""
    first = compared[0]
    rows = [
        f"against {file}: ours minus theirs, {first.bootstrap.trials:,} resamples, "
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


def protocols_as_text(scores: Sequence[ProtocolScore]) -> list[str]:
    """The same translations under every protocol, for people."""
    rows = ["the same translations under each protocol in use:"]
    for score in scores:
        rows.append(f"{score.name:16} {score.value:7.2f}   {score.signature}")
        rows += [" " * 27 + line for line in textwrap.wrap(score.used_by, 72)]
    return rows
