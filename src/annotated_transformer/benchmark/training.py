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
    OURS_BYTE_DROPOUT,
    PRECISIONS,
    Contestant,
    line_up,
)
from annotated_transformer.benchmark.counting import real_sizes, step_operations
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit, token_batches
from annotated_transformer.training.devices import matrix_rate, wait_for
from annotated_transformer.training.settings import Precision
from annotated_transformer.training.step import Part, count_tokens

WARM_UP = 10  # rounds that do not count; of the shapes in the next ones many have been seen then

Progress = Callable[[int, int], None]  # rounds done, and of how many


@dataclass(frozen=True)
class Speed:
    """One contestant's result.

    Attributes:
        name: whose it is.
        precision: of the matrix products.
        tokens_per_second: real tokens of source and target; the median over the rounds.
        ours_is: the time of this package, at its defaults and in its best precision, goes so often
            into this one's; the median of the rounds' ratios, with the quartiles in `low` and
            `high`.
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
    compiled: bool = False,
    warm_up: int = WARM_UP,
) -> TrainingReport:
    """Let everybody train on the same batches, one batch a round.

    Args:
        preset: of `TransformerConfig`.
        split: encoded pairs.
        vocab_size: of the vocabulary that encoded them.
        max_tokens: of a batch, a side.
        rounds: how many count.
        device: where to compute.
        progress: told after each round.
        compiled: whether everybody takes part once more by torch.compile.
        warm_up: how many rounds go before those.
    """
    config = TransformerConfig.preset(preset, vocab_size)
    contestants, missing = line_up(config, split, device, compiled)
    batches = token_batches(split.lengths, max_tokens, seed=0, epoch=0)
    seconds: dict[tuple[str, Precision], list[float]] = {
        (one.name, one.precision): [] for one in contestants
    }
    losses: dict[tuple[str, Precision], float] = {}
    peaks: dict[Precision, list[float]] = {precision: [] for precision in PRECISIONS}
    tokens, operations = [], []
    for number in range(warm_up + rounds):
        indices = batches[number % len(batches)]
        turn = number % len(contestants)  # whoever begins has the cold caches
        for one in contestants[turn:] + contestants[:turn]:
            took, loss = timed(one.step, indices, device)
            seconds[one.name, one.precision].append(took)
            losses[one.name, one.precision] = loss
        for precision in PRECISIONS:
            peaks[precision].append(matrix_rate(device, precision))
        operations.append(step_operations(config, real_sizes(split, indices)))
        tokens.append(count_tokens(split, [Part(list(indices), 0, 0)])[1])
        if progress is not None:
            progress(number + 1, warm_up + rounds)
    counted = slice(warm_up, None)
    ours = max(
        (seconds[OURS, precision][counted] for precision in PRECISIONS),
        key=lambda taken: rate_of(tokens[counted], taken),
    )
    return TrainingReport(
        preset,
        config.count_parameters(),
        max_tokens,
        warm_up,
        rounds,
        [
            speed_of(one, seconds[key][counted], ours, tokens[counted], losses[key])
            for one in contestants
            for key in [(one.name, one.precision)]
        ],
        missing,
        statistics.median(operations[counted]),
        {precision: statistics.median(found[counted]) for precision, found in peaks.items()},
        {
            name: {
                precision: statistics.median(
                    count / took / peak
                    for count, took, peak in zip(
                        operations[counted],
                        seconds[name, precision][counted],
                        peaks[precision][counted],
                        strict=True,
                    )
                )
                for precision in PRECISIONS
            }
            for name in (OURS, OURS_BYTE_DROPOUT)
            if (name, PRECISIONS[0]) in seconds
        },
    )


def speed_of(
    one: Contestant,
    seconds: Sequence[float],
    ours: Sequence[float],
    tokens: Sequence[int],
    loss: float,
) -> Speed:
    """The medians over the rounds that count."""
    ratios = [took / best for took, best in zip(seconds, ours, strict=True)]
    low, middle, high = quartiles(ratios)
    return Speed(one.name, one.precision, rate_of(tokens, seconds), middle, low, high, loss)


def rate_of(tokens: Sequence[int], seconds: Sequence[float]) -> float:
    """Tokens a second, the median over the rounds."""
    return statistics.median(count / took for count, took in zip(tokens, seconds, strict=True))


def quartiles(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile; of one ratio, that ratio."""
    if len(ratios) == 1:
        return ratios[0], ratios[0], ratios[0]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return low, middle, high


def timed(
    step: Callable[[Sequence[int]], float], indices: Sequence[int], device: torch.device
) -> tuple[float, float]:
    """(seconds by the clock, loss) of one step."""
    wait_for(device)
    began = time.perf_counter()
    loss = step(indices)
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
        if speed == report.best_of(OURS):
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
