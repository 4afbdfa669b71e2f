"""`benchmark ladder`: from the plain training step to the fast one, one change a rung, each timed.

Every rung is written to a file as soon as it is known, so that nothing is lost if the machine is
taken away, and a second call goes on where the first was ended. A rung that fails is written down
with its error, the next one is tried, and a second call tries the failed one again.
"""

import math
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from annotated_transformer import __version__
from annotated_transformer.benchmark.counting import real_sizes, step_operations
from annotated_transformer.benchmark.ladder_rows import PROCESSOR, Row, append_row, read_rows
from annotated_transformer.benchmark.rungs import Rung, RungSteps, Workload, bytes_of, rungs_on
from annotated_transformer.benchmark.training import quartiles
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit
from annotated_transformer.errors import CallError
from annotated_transformer.training.devices import (
    copy_rate,
    has_bf16,
    matrix_rate,
    memory_of,
    processor_name,
    wait_for,
)
from annotated_transformer.training.settings import Precision
from annotated_transformer.training.step import count_tokens

PROCESSOR_TOKENS = 2048  # of the one step that a GPU's ladder takes on the CPU
CPU = torch.device("cpu")
# What a ladder measures where there is no GPU; the base model at the paper's batch, where there is.
WITHOUT_A_GPU = {"preset": "tiny", "vocab_size": 2_000, "max_tokens": 2_048, "steps": 4}


@dataclass(frozen=True)
class LadderSettings:
    """What a ladder measures.

    Attributes:
        preset: the model.
        vocab_size: of the vocabulary; the paper's is about 37,000.
        max_tokens: of a step, a side, padding counted; the paper's is about 25,000.
        steps: different steps, taken over and over.
        rounds: of all these steps, that count.
        seconds: that a rung may take for them, and as many to warm up.
    """

    preset: str = "base"
    vocab_size: int = 37_000
    max_tokens: int = 25_000
    steps: int = 8
    rounds: int = 5
    seconds: float = 60.0

    @classmethod
    def on(cls, device: torch.device, asked: dict[str, Any]) -> "LadderSettings":
        """What was asked; for the rest a machine without a GPU gets what it can hold."""
        return cls(**{**({} if device.type == "cuda" else WITHOUT_A_GPU), **asked})

    def workload(self) -> Workload:
        """The model and invented pairs, enough for the steps of every rung."""
        config = TransformerConfig.preset(self.preset, self.vocab_size)
        pairs = 4 * self.steps * self.max_tokens // 25  # a mean length is about 27
        return Workload(config, invented_pairs(pairs, config), self.max_tokens, self.steps)


def invented_pairs(pairs: int, config: TransformerConfig, seed: int = 0) -> EncodedSplit:
    """Pairs of random pieces with the lengths of news text, so that no corpus is needed.

    Source lengths are drawn log-normally about a median of 24 pieces (a factor of 1.65 is one
    standard deviation), at most 120; targets are 0.8 to 1.3 times as long. What is written has no
    influence on the time of a step, only how long it is.
    """
    random = np.random.default_rng(seed)
    source = np.clip(np.rint(24 * np.exp(0.5 * random.standard_normal(pairs))), 3, 120).astype(int)
    target = np.clip(np.rint(source * random.uniform(0.8, 1.3, pairs)), 3, 120).astype(int)
    first = max(config.pad_id, config.bos_id, config.eos_id) + 1

    def rows(lengths: Sequence[int], before: list[int]) -> list[list[int]]:
        return [
            [*before, *random.integers(first, config.vocab_size, n - 1).tolist(), config.eos_id]
            for n in lengths
        ]

    sources, targets = rows(source.tolist(), []), rows(target.tolist(), [config.bos_id])
    return EncodedSplit(sources, targets, range(pairs), 0)


def climb(
    settings: LadderSettings,
    device: torch.device,
    out: Path | None = None,
    only: Sequence[str] | None = None,
    say: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Measure the rungs, one after the other.

    Args:
        settings: what is measured.
        device: where.
        out: a file that gets each row as a line of JSON. Rungs that stand in it are not measured
            again.
        only: names of the rungs that are wanted; None is all.
        say: told each row, new or read.

    Returns:
        The rows: first that of the machine, then one a rung.

    Raises:
        CallError: an unknown rung; the file holds the ladder of another machine or setting; or the
            device has not the memory for any of these rungs, as counted.
    """
    rungs = rungs_on(device)
    if unknown := set(only or ()) - {rung.name for rung in rungs}:
        raise CallError(
            f"There is no rung {', '.join(sorted(unknown))} on {device.type}; expected some of "
            f"{', '.join(rung.name for rung in rungs)}."
        )
    head = about(settings, device)
    rows = read_rows(out, head)
    known = {row.get("rung") for row in rows}
    wanted = [r for r in rungs if r.name not in known and (only is None or r.name in only)]
    workload = settings.workload()
    too_large = [sentence for r in wanted if (sentence := cannot_hold(r, workload, device))]
    if wanted and len(too_large) == len(wanted):
        raise CallError(too_large[0])
    if not rows:
        rows = [{**head, "bytes_per_second": copy_rate(device), "peak": best_peak(device)}]
        append_row(out, rows[0])
    for row in rows:
        say(row)
    with_processor = device.type != "cpu" and PROCESSOR not in known and only is None
    for row in measured_rows(settings, workload, device, rows[0]["peak"], wanted, with_processor):
        append_row(out, row)
        rows.append(row)
        say(row)
    return rows


def measured_rows(
    settings: LadderSettings,
    workload: Workload,
    device: torch.device,
    peak: float,
    wanted: Sequence[Rung],
    with_processor: bool,
) -> Iterator[Row]:
    """The rows that are not known yet, each as soon as it is measured."""
    if with_processor:
        small = replace(workload, max_tokens=PROCESSOR_TOKENS, steps=1)
        plain = rungs_on(CPU)[0]
        rung = replace(plain, name=PROCESSOR, says="the plain step, small, on the CPU")
        yield row_of(rung, small, CPU, best_peak(CPU), replace(settings, rounds=1))
    for rung in wanted:
        yield row_of(rung, workload, device, peak, settings)


def about(settings: LadderSettings, device: torch.device) -> Row:
    """What the whole ladder shares; two files with the same can be put together."""
    on_gpu = device.type == "cuda"
    return {
        "package": __version__,
        "torch": torch.__version__,
        "device": str(device),
        "name": torch.cuda.get_device_name(device) if on_gpu else processor_name(),
        "threads": torch.get_num_threads(),
        **{key: getattr(settings, key) for key in settings.__dataclass_fields__},
    }


def cannot_hold(rung: Rung, workload: Workload, device: torch.device) -> str:
    """Why a rung is not tried: its memory, as counted, or its batches. Empty if it can be."""
    try:
        needed, there = bytes_of(rung, workload, device), memory_of(device)
    except CallError as error:  # a batch too small for a sentence
        return str(error)
    if there is None or needed <= there:
        return ""
    return (
        f"The rung {rung.name} needs {needed / 1e9:,.1f} GB, as counted, and {device.type} has "
        f"{there / 1e9:,.1f}: give a smaller --max-tokens or --sizes."
    )


def row_of(
    rung: Rung, workload: Workload, device: torch.device, peak: float, settings: LadderSettings
) -> Row:
    """What a rung gave, or why it gave nothing."""
    row: Row = {"rung": rung.name, "says": rung.says}
    if sentence := cannot_hold(rung, workload, device):
        return {**row, "error": sentence}
    try:
        torch.compiler.reset()  # what other rungs have compiled counts against a limit
        return {**row, **measure_rung(rung, workload, device, peak, settings)}
    except Exception as error:  # of whatever kind: the other rungs are still worth measuring
        traceback.print_exc()
        return {**row, "error": f"{type(error).__name__}: {error}".strip()[:500]}


def measure_rung(
    rung: Rung, workload: Workload, device: torch.device, peak: float, settings: LadderSettings
) -> Row:
    """Time a rung, and set the operations of the model beside the machine's peak."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    steps = RungSteps(rung, workload, device)
    warm, rounds, loss = timed_rounds(
        steps, settings.rounds, settings.seconds, lambda: wait_for(device)
    )
    row: Row = {}
    if device.type == "cuda":
        row["memory_gib"] = round(torch.cuda.max_memory_allocated(device) / 2**30, 2)
    of_steps = [
        real_sizes(workload.split, [index for part in parts for index in part.indices])
        for parts in steps.steps
    ]
    count = len(of_steps)
    operations = sum(step_operations(workload.config, real) for real in of_steps) / count
    read = sum(real.source + real.target for real in of_steps) / count
    low, middle, high = (taken / count for taken in quartiles(rounds))
    tokens = sum(count_tokens(workload.split, parts)[1] for parts in steps.steps)
    return {
        **row,
        "seconds": middle,
        "seconds_low": low,
        "seconds_high": high,
        "counted_steps": count * len(rounds),
        "tokens_per_second": read / middle,
        "operations": operations,
        "peak": peak,
        "share_of_peak": operations / middle / peak,
        "padding": 1 - tokens / steps.padded_positions(),
        "warm_up_seconds": warm,
        "loss": loss,
    }


def timed_rounds(
    steps: RungSteps, rounds: int, most_seconds: float, wait: Callable[[], None]
) -> tuple[float, list[float], float]:
    """Let a rung take steps, each of the different ones once a round.

    Args:
        rounds: that count.
        most_seconds: for the warm-up, and again for the rounds that count; one step of the one and
            one round of the other is taken whatever it needs. What compiles has all of its warm-up,
            a round and a step, or compiling would count.
        wait: until the device has done what it was given.

    Returns:
        Seconds of the warm-up, seconds of each round that counts, and the last loss.
    """
    patience = math.inf if steps.rung.compiled else most_seconds
    seconds: list[float] = []
    loss = math.nan
    with closing(steps.gradients):
        wait()
        began = time.perf_counter()
        warm = 0.0
        for number in range(len(steps.steps) + 1):
            if number and warm >= patience:
                break
            steps.take(number)
            wait()
            warm = time.perf_counter() - began
        while len(seconds) < rounds and (not seconds or sum(seconds) < most_seconds):
            began = time.perf_counter()
            for number in range(len(steps.steps)):
                loss = steps.take(number)
            wait()
            seconds.append(time.perf_counter() - began)
    return warm, seconds, loss


def best_peak(device: torch.device) -> float:
    """Operations a second of a large matrix product, in the precision that is faster there."""
    precisions: tuple[Precision, ...] = ("fp32", "bf16") if has_bf16(device) else ("fp32",)
    return max(matrix_rate(device, precision) for precision in precisions)
