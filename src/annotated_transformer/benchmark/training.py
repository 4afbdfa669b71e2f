"""Training steps of this package and its peers, timed in turn, and the share of the machine's peak.

The unit is a whole step: padding a batch, forward, loss, backward, Adam. Speed is counted in real
tokens, source and target together, without padding. The share of the peak is that of chapter 10:
operations of the model, counted from the sizes without padding, over the time and the peak.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

from annotated_transformer.benchmark.contestants import (
    OURS,
    PRECISIONS,
    Contestant,
    line_up,
)
from annotated_transformer.benchmark.counting import real_sizes, step_operations
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit
from annotated_transformer.errors import WorkError
from annotated_transformer.training.devices import matrix_rate, wait_for
from annotated_transformer.training.settings import Precision
from annotated_transformer.training.signals import asking_to_stop
from annotated_transformer.training.step import Part, count_tokens

WARM_UP = 10  # rounds that do not count; of the shapes in the next ones many have been seen then

Progress = Callable[[int, int], None]  # rounds done, and of how many


Key = tuple[str, Precision]  # a contestant's name and precision


@dataclass(frozen=True)
class Turn:
    """One step of a contestant.

    Attributes:
        seconds: by the clock.
        tokens: real ones, source and target.
        operations: of our model for these pairs (`counting.step_operations`).
        loss: in nats per token.
    """

    seconds: float
    tokens: int
    operations: int
    loss: float

    @property
    def rate(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds


@dataclass(frozen=True)
class Speed:
    """One contestant's result.

    Attributes:
        name: whose it is.
        precision: of the matrix products.
        tokens_per_second: real tokens of source and target; the median over the rounds.
        ours_is: tokens a second of this package, at its defaults and in its best precision (on a
            GPU: its fastest row), over this one's; the median of the rounds' ratios, with the
            quartiles in `low` and `high`.
        loss: of the last round, in nats per token: that it has learned the same task.
    """

    name: str
    precision: Precision
    tokens_per_second: float
    ours_is: float
    low: float
    high: float
    loss: float


@dataclass(frozen=True)
class TrainingReport:
    """What one size gave.

    Attributes:
        preset: the model's name.
        parameters: of our model.
        max_tokens: the budget of a batch, a side.
        warm_up: rounds before those that count.
        rounds: that count.
        speeds: of everybody.
        missing: peers that are not installed.
        operations: of our model in a step, padding not counted (`counting.step_operations`), the
            median.
        peak: by precision, the rate of a large matrix product, in operations a second, the median.
        share_of_peak: by precision of this package's own rows, operations of the model over the
            time of our step and that peak, the median of the rounds.
    """

    preset: str
    parameters: int
    max_tokens: int
    warm_up: int
    rounds: int
    speeds: list[Speed]
    missing: list[str]
    operations: float
    peak: dict[str, float]
    share_of_peak: dict[str, dict[str, float]]

    @property
    def reference(self) -> Speed:
        """The row that all are compared with."""
        return next(speed for speed in self.speeds if speed.low == speed.high == 1)

    def best_of(self, name: str) -> Speed:
        """A contestant in its faster precision. Raises ValueError for one that is not there."""
        return max((s for s in self.speeds if s.name == name), key=lambda s: s.tokens_per_second)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return asdict(self)


def measure_training(
    preset: str,
    split: EncodedSplit,
    vocab_size: int,
    max_tokens: int,
    rounds: int,
    device: torch.device,
    progress: Progress | None = None,
    compiled: Sequence[str] | None = None,
    warm_up: int = WARM_UP,
    precisions: Sequence[Precision] = PRECISIONS,
    peers: Sequence[str] | None = None,
) -> TrainingReport:
    """Let everybody train on the same pairs, one batch a round.

    Args:
        preset: of `TransformerConfig`.
        split: encoded pairs.
        vocab_size: of the vocabulary that encoded them.
        max_tokens: of a batch, a side.
        rounds: how many count.
        device: where to compute.
        progress: told after each round.
        compiled: peers that take part once more by torch.compile, and this package with them.
        warm_up: how many rounds go before those.
        precisions: that everybody takes part in.
        peers: that take part, by name; None: all.

    Returns:
        The report; after Ctrl-C or SIGTERM that of the rounds until then.

    Raises:
        WorkError: if it was stopped before a round counted.
    """
    config = TransformerConfig.preset(preset, vocab_size)
    contestants, missing = line_up(config, split, max_tokens, device, compiled, precisions, peers)
    turns: dict[Key, list[Turn]] = {key_of(one): [] for one in contestants}
    peaks: dict[Precision, list[float]] = {precision: [] for precision in precisions}
    stopped: list[str] = []
    with asking_to_stop(stopped.append):
        for number in range(warm_up + rounds):
            first = number % len(contestants)  # whoever begins has the cold caches
            for one in contestants[first:] + contestants[:first]:
                turns[key_of(one)].append(turn_of(one, number, config, split, device))
            for precision in precisions:
                peaks[precision].append(matrix_rate(device, precision))
            if progress is not None:
                progress(number + 1, warm_up + rounds)
            if stopped:
                break
    rounds = number + 1 - warm_up
    if rounds < 1:
        raise WorkError(
            f"{stopped[0]} came in round {number + 1}, and the first {warm_up} do not count: "
            "nothing is measured."
        )
    counted = {key: found[warm_up:] for key, found in turns.items()}
    best = max(
        (key for key in counted if is_reference(key[0], device)),
        key=lambda key: rate_of(counted[key]),
    )
    return TrainingReport(
        preset,
        config.count_parameters(),
        max_tokens,
        warm_up,
        rounds,
        [speed_of(one, counted[key_of(one)], counted[best]) for one in contestants],
        missing,
        statistics.median(turn.operations for turn in counted[best]),
        {name: statistics.median(found[warm_up:]) for name, found in peaks.items()},
        {
            name: {
                precision: statistics.median(
                    turn.operations / turn.seconds / peak
                    for turn, peak in zip(
                        counted[name, precision], peaks[precision][warm_up:], strict=True
                    )
                )
                for precision in precisions
            }
            for name in dict.fromkeys(one.name for one in contestants)
            if name.startswith(OURS)
        },
    )


def turn_of(
    one: Contestant,
    number: int,
    config: TransformerConfig,
    split: EncodedSplit,
    device: torch.device,
) -> Turn:
    """Let a contestant take the step of a number."""
    pairs = one.pairs(number)
    took, loss = timed(one.step, number, device)
    tokens = count_tokens(split, [Part(list(pairs), 0, 0)])[1]
    return Turn(took, tokens, step_operations(config, real_sizes(split, pairs)), loss)


def key_of(one: Contestant) -> Key:
    """What its results are found by."""
    return one.name, one.precision


def is_reference(name: str, device: torch.device) -> bool:
    """Whether others may be compared with this contestant.

    On a CPU with this package at its defaults. On a GPU with what is fastest of it: shared rows are
    a departure in what stands together in a batch, and in nothing else.
    """
    return name == OURS if device.type == "cpu" else name.startswith(OURS)


def speed_of(one: Contestant, turns: Sequence[Turn], best: Sequence[Turn]) -> Speed:
    """The medians over the rounds that count; `best` is what it is compared with."""
    ratios = [ours.rate / turn.rate for turn, ours in zip(turns, best, strict=True)]
    low, middle, high = quartiles(ratios)
    return Speed(one.name, one.precision, rate_of(turns), middle, low, high, turns[-1].loss)


def rate_of(turns: Sequence[Turn]) -> float:
    """Tokens a second, the median over the rounds."""
    return statistics.median(turn.rate for turn in turns)


def quartiles(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile; of one ratio, that ratio."""
    if len(ratios) == 1:
        return ratios[0], ratios[0], ratios[0]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return low, middle, high


def timed(step: Callable[[int], float], number: int, device: torch.device) -> tuple[float, float]:
    """(seconds by the clock, loss) of one step."""
    wait_for(device)
    began = time.perf_counter()
    loss = step(number)
    wait_for(device)
    return time.perf_counter() - began, loss


def as_text(report: TrainingReport) -> list[str]:
    """The report for people."""
    lines = [
        f"{report.preset}: {report.parameters:,} parameters, batches of at most "
        f"{report.max_tokens:,} tokens a side, {report.rounds} rounds after {report.warm_up} that "
        "do not count",
        f"  {'':42}{'':6}{'tokens/s':>9}   this package is",
    ]
    for speed in report.speeds:
        ratio = f"{speed.ours_is:.2f} times as fast ({speed.low:.2f} to {speed.high:.2f})"
        if speed == report.reference:
            ratio = "(this row is its best)"
        lines.append(
            f"  {speed.name:42}{speed.precision:6}{speed.tokens_per_second:9,.0f}   {ratio}"
        )
    lines += [f"  {name:42}not installed" for name in report.missing]
    lines.append("  operations of the model, without padding, over time and this machine's peak")
    for name, shares in report.share_of_peak.items():
        for precision, share in shares.items():
            peak = f"of {report.peak[precision] / 1e9:,.0f} GFLOP/s"
            lines.append(f"  {name:42}{precision:6}{share:9.1%}   {peak}")
    return lines
