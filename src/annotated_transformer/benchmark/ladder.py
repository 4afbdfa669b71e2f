"""`benchmark ladder`: from the plain training step to the fast one, one change a rung, each timed.

Every rung is written to a file as soon as it is known, so that nothing is lost if the machine is
taken away, and a second call goes on where the first was ended. A rung that fails is written down
with its error, and the next one is tried.
"""

import json
import os
import statistics
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from annotated_transformer.benchmark.counting import sizes_of, step_operations
from annotated_transformer.benchmark.rungs import Rung, RungSteps, Workload, rungs_on, timed_steps
from annotated_transformer.benchmark.training import quartiles
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit
from annotated_transformer.errors import CallError
from annotated_transformer.training.devices import copy_rate, has_bf16, matrix_rate, wait_for
from annotated_transformer.training.settings import Precision
from annotated_transformer.training.step import count_tokens

PROCESSOR_TOKENS = 2048  # of the one step that a GPU's ladder takes on the CPU
CPU = torch.device("cpu")
Row = dict[str, Any]


@dataclass(frozen=True)
class LadderSettings:
    """What a ladder measures.

    Attributes:
        preset: the model.
        vocab_size: of the vocabulary; the paper's is about 37,000.
        max_tokens: of a step, a side, padding counted; the paper's is about 25,000.
        steps: different steps, taken over and over.
        rounds: steps of a rung that count.
        seconds: that a rung may take for them.
    """

    preset: str = "base"
    vocab_size: int = 37_000
    max_tokens: int = 25_000
    steps: int = 4
    rounds: int = 20
    seconds: float = 60.0

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
        CallError: an unknown rung, or the file holds the ladder of another machine or setting.
    """
    rungs = rungs_on(device)
    if unknown := set(only or ()) - {rung.name for rung in rungs}:
        raise CallError(
            f"There is no rung {', '.join(sorted(unknown))} on {device.type}; expected some of "
            f"{', '.join(rung.name for rung in rungs)}."
        )
    head = about(settings, device)
    rows = read_rows(out, head)
    if not rows:
        rows = [{**head, "bytes_per_second": copy_rate(device)}]
        append_row(out, rows[0])
    for row in rows:
        say(row)
    known = {row.get("rung") for row in rows}
    for row in measured_rows(settings, device, rungs, known, only):
        append_row(out, row)
        rows.append(row)
        say(row)
    return rows


def measured_rows(
    settings: LadderSettings,
    device: torch.device,
    rungs: Sequence[Rung],
    known: set[Any],
    only: Sequence[str] | None,
) -> Iterator[Row]:
    """The rows that are not known yet, each as soon as it is measured."""
    workload = settings.workload()
    if device.type != "cpu" and "processor" not in known and only is None:
        small = replace(workload, max_tokens=PROCESSOR_TOKENS, steps=1)
        rung = replace(rungs[0], name="processor", says="the plain step, small, on the CPU")
        yield row_of(rung, small, CPU, replace(settings, rounds=1))
    for rung in rungs:
        if rung.name not in known and (only is None or rung.name in only):
            yield row_of(rung, workload, device, settings)


def about(settings: LadderSettings, device: torch.device) -> Row:
    """What the whole ladder shares; two files with the same can be put together."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    return {
        "torch": torch.__version__,
        "device": str(device),
        "name": name,
        "threads": torch.get_num_threads(),
        **{key: getattr(settings, key) for key in settings.__dataclass_fields__},
    }


def row_of(rung: Rung, workload: Workload, device: torch.device, settings: LadderSettings) -> Row:
    """What a rung gave, or why it gave nothing."""
    row: Row = {"rung": rung.name, "says": rung.says}
    try:
        torch.compiler.reset()  # what other rungs have compiled counts against a limit
        return {**row, **measure_rung(rung, workload, device, settings)}
    except Exception as error:  # of whatever kind: the other rungs are still worth measuring
        traceback.print_exc()
        return {**row, "error": f"{type(error).__name__}: {error}".strip()[:500]}


def measure_rung(
    rung: Rung, workload: Workload, device: torch.device, settings: LadderSettings
) -> Row:
    """Time a rung, and set the operations of the model beside the machine's peak."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)
    steps = RungSteps(rung, workload, device)
    warm, seconds, numbers, losses = timed_steps(
        steps, workload.steps + 1, settings.rounds, settings.seconds, lambda: wait_for(device)
    )
    row: Row = {}
    if device.type == "cuda":  # before the peak is measured, whose matrices take memory too
        row["memory_gib"] = round(torch.cuda.max_memory_allocated(device) / 2**30, 2)
    peak = best_peak(device)
    real = [real_work(workload, steps, number) for number in numbers]
    rates = [tokens / took for (tokens, _), took in zip(real, seconds, strict=True)]
    shares = [operations / took / peak for (_, operations), took in zip(real, seconds, strict=True)]
    low, middle, high = quartiles(seconds)
    tokens = sum(count_tokens(workload.split, parts)[1] for parts in steps.steps)
    return {
        **row,
        "seconds": middle,
        "seconds_low": low,
        "seconds_high": high,
        "counted_steps": len(seconds),
        "tokens_per_second": statistics.median(rates),
        "operations": statistics.median(operations for _, operations in real),
        "peak": peak,
        "share_of_peak": statistics.median(shares),
        "padding": 1 - tokens / steps.padded_positions(),
        "warm_up_seconds": warm,
        "loss": losses[-1],
    }


def real_work(workload: Workload, steps: RungSteps, number: int) -> tuple[int, int]:
    """(tokens, operations of the model) of a step, padding not counted."""
    parts = steps.steps[number % len(steps.steps)]
    indices = [index for part in parts for index in part.indices]
    split = workload.split
    lengths = [(len(split.source[index]), len(split.target[index]) - 1) for index in indices]
    sizes = sizes_of(lengths)
    return sizes.source + sizes.target, step_operations(workload.config, sizes)


def best_peak(device: torch.device) -> float:
    """Operations a second of a large matrix product, in the precision that is faster there."""
    precisions: tuple[Precision, ...] = ("fp32", "bf16") if has_bf16(device) else ("fp32",)
    return max(matrix_rate(device, precision) for precision in precisions)


def read_rows(out: Path | None, head: Row) -> list[Row]:
    """The rows that a file holds already; a line cut off by a crash is left out.

    Raises:
        CallError: if they are another ladder's.
    """
    if out is None or not out.exists():
        return []
    rows: list[Row] = []
    for line in out.read_text("utf-8").splitlines():
        try:
            rows.append(json.loads(line))
        except ValueError:
            continue
    if rows and (differing := [key for key in head if rows[0].get(key) != head[key]]):
        key = differing[0]
        raise CallError(
            f"{out} holds a ladder with {key} {rows[0].get(key)!r}, and this one has "
            f"{head[key]!r}: name another --out."
        )
    return rows


def append_row(out: Path | None, row: Row) -> None:
    """Write a row and see it onto the disk."""
    if out is None:
        return
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())


def as_text(row: Row) -> str:
    """A row for people."""
    if "rung" not in row:
        return (
            f"{row['name']}, torch {row['torch']}: {row['preset']}, vocabulary "
            f"{row['vocab_size']:,}, {row['max_tokens']:,} tokens a side and step\n"
            f"  {'':10} {'ms':>9} {'tokens/s':>10} {'of peak':>7} {'padding':>7}"
        )
    if "error" in row:
        return f"  {row['rung']:10} failed: {row['error'].splitlines()[0]}"
    memory = f", {row['memory_gib']} GiB" if "memory_gib" in row else ""
    return (
        f"  {row['rung']:10} {1000 * row['seconds']:9,.1f} {row['tokens_per_second']:10,.0f} "
        f"{row['share_of_peak']:7.1%} {row['padding']:7.1%}   {row['says']}{memory}"
    )
