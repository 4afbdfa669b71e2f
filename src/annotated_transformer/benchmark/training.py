"""Training steps of this package and its peers, timed in turn, and the share of the machine's peak.

The unit is a whole step: padding a batch, forward, loss, backward, Adam. Speed is counted in real
tokens, source and target together, without padding. The share of the peak is that of chapter 10:
operations of the model, counted from the sizes without padding, over the time and the peak.

Each contestant has a process of its own. That of this package stays; the others come one after the
other and take turns with it.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import torch

from annotated_transformer.benchmark.contestants import (
    OURS,
    PEERS,
    PRECISIONS,
    Entry,
    Task,
    Turn,
    line_up,
)
from annotated_transformer.benchmark.processes import OwnProcess
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit
from annotated_transformer.errors import WorkError
from annotated_transformer.training.settings import Precision
from annotated_transformer.training.signals import asking_to_stop

WARM_UP = 6  # steps of each that do not count
STEPS = 3  # of a turn that count; before them comes one that does not
KEPT = ", freed memory kept"
WIDTH = max(map(len, PEERS)) + len(KEPT) + 2  # of a name in the table

Key = tuple[str, Precision]  # a contestant's name and precision


class Progress(Protocol):
    """Is told what is done."""

    def __call__(self, what: str, done: int, of: int) -> None: ...


class Participant(Protocol):
    """What is asked of a contestant, wherever it is."""

    def turn(self, numbers: Sequence[int]) -> list[Turn]: ...

    def peak(self, precision: Precision) -> float: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Round:
    """A turn of each side on the same numbers.

    Attributes:
        ours: of this package.
        theirs: of the other.
        peak: by precision, operations a second of a large matrix product at that time.
    """

    ours: Turn
    theirs: Turn
    peak: dict[str, float]


@dataclass(frozen=True)
class Speed:
    """One contestant's result.

    Attributes:
        name: whose it is.
        precision: of the matrix products.
        tokens_per_second: real tokens of source and target. Of the row that all are compared with
            the median over all rounds; of the others that over `ours_is`, for a machine is not
            equally fast at all times.
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
        rounds: turns of each.
        steps: of a turn that count.
        speeds: of everybody; that all are compared with stands first.
        missing: peers that are not installed.
        failed: the last line of what a contestant that failed said, by its row.
        operations: of our model in a step, padding not counted (`counting.step_operations`), the
            median.
        peak: by precision, the rate of a large matrix product, in operations a second, the median.
        share_of_peak: by precision of this package's own rows, operations of the model over the
            time of our step and that peak, compared as speeds are.
    """

    preset: str
    parameters: int
    max_tokens: int
    rounds: int
    steps: int
    speeds: list[Speed]
    missing: list[str]
    failed: dict[str, str]
    operations: float
    peak: dict[str, float]
    share_of_peak: dict[str, dict[str, float]]

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
    progress: Progress = lambda what, done, of: None,
    compiled: Sequence[str] | None = None,
    warm_up: int = WARM_UP,
    steps: int = STEPS,
    precisions: Sequence[Precision] = PRECISIONS,
    peers: Sequence[str] | None = None,
    start: Callable[[Entry, Task], Participant] = OwnProcess,
) -> TrainingReport:
    """Let everybody train, in turn with this package, on the same pairs (but for shared rows).

    A turn is a step that does not count and some that do: a process that has waited finds its data
    out of the caches, and some of its memory taken back by the machine that runs a virtual one.

    Args:
        preset: of `TransformerConfig`.
        split: encoded pairs.
        vocab_size: of the vocabulary that encoded them.
        max_tokens: of a batch, a side.
        rounds: turns of each.
        device: where to compute.
        progress: told after each round.
        compiled: peers that take part once more by torch.compile, and this package with them.
        warm_up: steps of each before those that count.
        steps: of a turn that count.
        precisions: that everybody takes part in.
        peers: that take part, by name; None: all.
        start: makes a contestant.

    Returns:
        The report; after Ctrl-C or SIGTERM that of the rounds until then.

    Raises:
        WorkError: if this package's own process fails, or all is stopped before a round was whole.
    """
    task = Task(TransformerConfig.preset(preset, vocab_size), split, max_tokens, device)
    entries = line_up(device, compiled, precisions, peers)
    stopped: list[str] = []
    missing: list[str] = []
    failed: dict[str, str] = {}
    found: dict[Key, list[Round]] = {}

    def rounds_with(ours: Participant, theirs: Participant, entry: Entry) -> None:
        theirs.turn(range(warm_up))
        for number in range(rounds):
            sides = [ours, theirs] if number % 2 else [theirs, ours]
            first = warm_up + number * steps
            turns = {side: side.turn(range(first - 1, first + steps))[1:] for side in sides}
            peak: dict[str, float] = {one: ours.peak(one) for one in precisions}
            done = Round(together(turns[ours]), together(turns[theirs]), peak)
            found.setdefault(key_of(entry), []).append(done)
            ratio = done.ours.rate / done.theirs.rate  # said at once: a lent machine may be gone
            what = f"{preset}, {entry.name} in {entry.precision}, this package {ratio:.2f} times"
            progress(what, number + 1, rounds)
            if stopped:
                return

    def meet(ours: Participant, entry: Entry) -> None:
        """Add the rounds of one of the others, or why there are none."""
        if stopped or entry.name in missing:
            return
        try:
            theirs = start(entry, task)
            try:
                rounds_with(ours, theirs, entry)
            finally:
                theirs.close()
        except ImportError:
            missing.append(entry.name)
        except WorkError as error:
            failed[f"{entry.name} in {entry.precision}"] = str(error).strip().splitlines()[-1]

    with asking_to_stop(stopped.append):
        reference, ours = fastest(
            [entry for entry in entries if is_reference(entry.name, device)],
            lambda entry: start(entry, task),
            warm_up,
            steps,
        )
        try:
            for entry in entries:
                if entry != reference:
                    meet(ours, entry)
            for peer in PEERS if device.type == "cpu" else ():
                if (best := best_precision(peer, found)) is not None:
                    meet(ours, Entry(peer + KEPT, best, peer, keeps_memory=True))
        finally:
            ours.close()
    if not found:
        why = f"{stopped[0]} came" if stopped else "; ".join(failed.values()) or "All ended"
        raise WorkError(f"{why} before the first round was whole: nothing is measured.")
    everybody = [one for rounds_of in found.values() for one in rounds_of]
    pace = statistics.median(one.ours.rate for one in everybody)
    peaks: dict[str, float] = {
        name: statistics.median(one.peak[name] for one in everybody) for name in precisions
    }
    return TrainingReport(
        preset,
        task.config.count_parameters(),
        max_tokens,
        rounds,
        steps,
        [
            speed_of(key_of(reference), [replace(one, theirs=one.ours) for one in everybody], pace),
            *(speed_of(key, rounds_of, pace) for key, rounds_of in found.items()),
        ],
        missing,
        failed,
        statistics.median(one.ours.operations / steps for one in everybody),
        peaks,
        shares_of_peak(key_of(reference), found, peaks),
    )


def fastest(
    entries: Sequence[Entry], start: Callable[[Entry], Participant], warm_up: int, steps: int
) -> tuple[Entry, Participant]:
    """Who of these does most tokens a second, and the contestant, ready to go on."""
    best: tuple[float, Entry, Participant] | None = None
    for entry in entries:
        one = start(entry)
        try:
            one.turn(range(warm_up))
            rate = together(one.turn(range(warm_up, warm_up + steps))).rate
        except BaseException:
            one.close()
            if best is not None:
                best[2].close()
            raise
        if best is None or rate > best[0]:
            if best is not None:
                best[2].close()
            best = rate, entry, one
        else:
            one.close()
    assert best is not None
    return best[1], best[2]


def together(turns: Sequence[Turn]) -> Turn:
    """Several steps as one turn."""
    return Turn(
        sum(turn.seconds for turn in turns),
        sum(turn.tokens for turn in turns),
        sum(turn.operations for turn in turns),
        turns[-1].loss,
    )


def key_of(entry: Entry) -> Key:
    """What its results are found by."""
    return entry.name, entry.precision


def is_reference(name: str, device: torch.device) -> bool:
    """Whether others may be compared with this contestant.

    On a CPU with this package at its defaults. On a GPU with what is fastest of it: shared rows are
    a departure in what stands together in a batch, and in nothing else.
    """
    return name == OURS if device.type == "cpu" else name.startswith(OURS)


def best_precision(peer: str, found: dict[Key, list[Round]]) -> Precision | None:
    """In which a peer is faster; None if it has not been measured."""
    behind = {
        precision: statistics.median(one.ours.rate / one.theirs.rate for one in rounds)
        for (name, precision), rounds in found.items()
        if name == peer
    }
    return min(behind, key=lambda one: behind[one], default=None)


def speed_of(key: Key, rounds: Sequence[Round], pace: float) -> Speed:
    """The medians over the rounds; `pace` is that of this package, in tokens a second."""
    low, middle, high = quartiles([one.ours.rate / one.theirs.rate for one in rounds])
    return Speed(*key, pace / middle, middle, low, high, rounds[-1].theirs.loss)


def shares_of_peak(
    reference: Key, found: dict[Key, list[Round]], peaks: dict[str, float]
) -> dict[str, dict[str, float]]:
    """Of this package's own rows, by name and precision."""
    everybody = [one.ours for rounds in found.values() for one in rounds]
    pace = statistics.median(turn.operations / turn.seconds for turn in everybody)
    name, precision = reference
    shares = {name: {str(precision): pace / peaks[precision]}}
    for (name, precision), rounds in found.items():
        if name.startswith(OURS):
            times = statistics.median(
                (one.theirs.operations / one.theirs.seconds)
                / (one.ours.operations / one.ours.seconds)
                for one in rounds
            )
            shares.setdefault(name, {})[precision] = pace * times / peaks[precision]
    return shares


def quartiles(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The lower quartile, the median and the upper quartile; of one ratio, that ratio."""
    if len(ratios) == 1:
        return ratios[0], ratios[0], ratios[0]
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return low, middle, high


def as_text(report: TrainingReport) -> list[str]:
    """The report for people."""
    lines = [
        f"{report.preset}: {report.parameters:,} parameters, batches of at most "
        f"{report.max_tokens:,} tokens a side; everybody in a process of its own, "
        f"{report.rounds} turns of {report.steps} steps in turn with this package",
        f"  {'':{WIDTH}}{'':6}{'tokens/s':>9}   this package is",
    ]
    for speed in report.speeds:
        ratio = f"{speed.ours_is:.2f} times as fast ({speed.low:.2f} to {speed.high:.2f})"
        if speed == report.speeds[0]:
            ratio = "(this row is its best)"
        lines.append(
            f"  {speed.name:{WIDTH}}{speed.precision:6}{speed.tokens_per_second:9,.0f}   {ratio}"
        )
    lines += [f"  {name:{WIDTH}}not installed" for name in report.missing]
    lines += [f"  {name:{WIDTH}}failed: {line}" for name, line in report.failed.items()]
    lines.append("  operations of the model, without padding, over time and this machine's peak")
    for name, shares in report.share_of_peak.items():
        for precision, share in shares.items():
            peak = f"of {report.peak[precision] / 1e9:,.0f} GFLOP/s"
            lines.append(f"  {name:{WIDTH}}{precision:6}{share:9.1%}   {peak}")
    return lines
