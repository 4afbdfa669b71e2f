"""Translations of the same sentences with the same weights, by this package and its peers, in turn.

The unit is the search for all the sentences, from numbers to numbers: the encoder and every step of
the decoder, without tokenization.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from torch import Tensor

from annotated_transformer.benchmark.decoders import (
    OURS,
    Decoder,
    Task,
    as_tensors,
    batches_by_length,
    line_up,
)
from annotated_transformer.benchmark.training import quartiles
from annotated_transformer.decoding.beam import length_penalty
from annotated_transformer.evaluation.likelihood import log_probability
from annotated_transformer.training.devices import wait_for

Clock = Literal["wall", "processor"]
CLOCKS: dict[Clock, Callable[[], float]] = {
    "wall": time.perf_counter,
    "processor": time.process_time,
}
CLOSE = 1e-3  # scores (in nats over the length penalty) that differ by less are called equal


@dataclass(frozen=True)
class Agreement:
    """Which of a contestant's translations are those of this package in fp32, token by token.

    The scores are of this package's model and formula, by which a search that finds a higher one
    has searched better.

    Attributes:
        identical: the same tokens.
        equal: other tokens with an equal score.
        lower: other tokens with a lower score than ours.
        higher: other tokens with a higher score than ours.
    """

    identical: int
    equal: int
    lower: int
    higher: int


@dataclass(frozen=True)
class DecodingSpeed:
    """One contestant's result.

    Attributes:
        name: whose it is.
        precision: of the matrix products.
        sentences_per_second: the median over the rounds.
        ours_is: the time of this package in its better precision goes so often into this one's; the
            median of the rounds' ratios, with the quartiles in `low` and `high`.
        agreement: of its translations with ours.
    """

    name: str
    precision: str
    sentences_per_second: float
    ours_is: float
    low: float
    high: float
    agreement: Agreement


@dataclass(frozen=True)
class DecodingReport:
    """What one model gave.

    Attributes:
        weights: which they were.
        parameters: of our model.
        sentences: that were translated in each round.
        tokens: that this package's best translations have, eos included.
        batches: that they made.
        beam: size of the beam.
        alpha: of the length penalty.
        clock: of the seconds.
        rounds: that count.
        speeds: of everybody.
        missing: peers that are not installed.
    """

    weights: str
    parameters: int
    sentences: int
    tokens: int
    batches: int
    beam: int
    alpha: float
    clock: Clock
    rounds: int
    speeds: list[DecodingSpeed]
    missing: list[str]

    def best_of(self, name: str) -> DecodingSpeed:
        """A contestant in its faster precision. Raises ValueError for one that is not there."""
        return min((s for s in self.speeds if s.name == name), key=lambda s: s.ours_is)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def measure_decoding(
    weights: str,
    task: Task,
    sources: Sequence[Sequence[int]],
    batch_tokens: int,
    rounds: int,
    clock: Clock = "wall",
    progress: Callable[[int, int], None] | None = None,
) -> DecodingReport:
    """Let everybody translate the same batches, all of them in each round.

    Args:
        weights: the name of the weights.
        task: what is asked.
        sources: tokens of each sentence, eos last.
        batch_tokens: source tokens in a batch, padding counted.
        rounds: how many.
        clock: "wall", or "processor" for the time that this process alone has computed: on a
            machine with other work, and of one thread.
        progress: told after each contestant's turn.
    """
    decoders, missing = line_up(task)
    batches = batches_by_length(sources, batch_tokens)
    tensors = as_tensors(sources, batches, task.model)
    seconds: list[list[float]] = [[] for _ in decoders]
    found: list[list[list[int]]] = [[] for _ in decoders]
    for number in range(rounds):
        for turn in range(len(decoders)):
            place = (number + turn) % len(decoders)  # whoever begins has the cold caches
            took, translations = timed(decoders[place], tensors, CLOCKS[clock])
            seconds[place].append(took)
            found[place] = translations
            if progress is not None:
                progress(number * len(decoders) + turn + 1, rounds * len(decoders))
    of_ours = [place for place, one in enumerate(decoders) if one.name == OURS]
    best = min((seconds[place] for place in of_ours), key=statistics.median)
    in_order = [sources[index] for batch in batches for index in batch]
    agreements = compare(task, in_order, found)
    return DecodingReport(
        weights,
        task.model.config.count_parameters(),
        len(sources),
        sum(len(tokens) - 1 for tokens in found[0]),
        len(batches),
        task.beam_size,
        task.alpha,
        clock,
        rounds,
        [
            speed_of(one, took, best, len(sources), agreement)
            for one, took, agreement in zip(decoders, seconds, agreements, strict=True)
        ],
        missing,
    )


def timed(
    one: Decoder, tensors: Sequence[Tensor], clock: Callable[[], float]
) -> tuple[float, list[list[int]]]:
    """(seconds, translations) of all batches.

    The first batch is translated once before the clock runs: whoever had the turn before has left
    the memory of the process in another order, and that is not this one's cost.
    """
    one.decode(tensors[0])
    wait_for(tensors[0].device)
    began = clock()
    translations = [tokens for src in tensors for tokens in one.decode(src)]
    wait_for(tensors[0].device)
    return clock() - began, translations


def speed_of(
    one: Decoder,
    seconds: Sequence[float],
    ours: Sequence[float],
    sentences: int,
    agreement: Agreement,
) -> DecodingSpeed:
    """The medians over the rounds."""
    ratios = [took / best for took, best in zip(seconds, ours, strict=True)]
    low, middle, high = quartiles(ratios)
    rate = sentences / statistics.median(seconds)
    return DecodingSpeed(one.name, one.precision, rate, middle, low, high, agreement)


def compare(
    task: Task, sources: Sequence[Sequence[int]], found: Sequence[list[list[int]]]
) -> list[Agreement]:
    """Everybody's translations held against the first one's."""
    agreements = []
    for translations in found:
        counts = {"identical": 0, "equal": 0, "lower": 0, "higher": 0}
        for source, ours, theirs in zip(sources, found[0], translations, strict=True):
            if ours == theirs:
                counts["identical"] += 1
                continue
            gain = score(task, source, theirs) - score(task, source, ours)
            counts["equal" if abs(gain) < CLOSE else "higher" if gain > 0 else "lower"] += 1
        agreements.append(Agreement(**counts))
    return agreements


def score(task: Task, source: Sequence[int], tokens: Sequence[int]) -> float:
    """The score of a translation, bos first, in our model and by our formula."""
    total = log_probability(task.model, source, tokens, task.banned)
    return total / length_penalty(len(tokens) - 1, task.alpha)


def as_text(report: DecodingReport) -> list[str]:
    """The report for people."""
    width = 1 + max(len(name) for name in [*(one.name for one in report.speeds), *report.missing])
    lines = [
        f"{report.weights}: {report.parameters:,} parameters, {report.sentences} sentences in "
        f"{report.batches} batches, beam {report.beam}, alpha {report.alpha}, "
        f"{report.tokens:,} tokens, {report.rounds} rounds, time by the {report.clock} clock",
        f"  {'':{width}}{'':6}{'sentences/s':>11}   this package is",
    ]
    for speed in report.speeds:
        ratio = f"{speed.ours_is:.2f} times as fast ({speed.low:.2f} to {speed.high:.2f})"
        if speed == report.best_of(OURS):
            ratio = "(this row is its best)"
        lines.append(
            f"  {speed.name:{width}}{speed.precision:6}{speed.sentences_per_second:11,.1f}   "
            f"{ratio}; {in_words(speed.agreement)}"
        )
    return lines + [f"  {name:{width}}not installed" for name in report.missing]


def in_words(agreement: Agreement) -> str:
    """ "196 of 200 as ours in fp32; of the others 1 scores equal, 3 lower, 0 higher"."""
    others = agreement.equal + agreement.lower + agreement.higher
    text = f"{agreement.identical} of {agreement.identical + others} as ours in fp32"
    if others:
        text += (
            f"; of the others {agreement.equal} score equal, {agreement.lower} lower, "
            f"{agreement.higher} higher"
        )
    return text
