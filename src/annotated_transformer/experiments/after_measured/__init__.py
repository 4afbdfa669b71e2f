"""What a training step of each row of the study of later parts costs: what chapter 15 shows.

Counted: parameters, multiply-adds of the products forward, bytes kept for the backward pass. Timed:
processor time of whole steps, all rows in turn in one process, round after round, as ratios to the
paper's parts in the same round. The batch has the lengths of Multi30k's sentences and invented
tokens, so that no corpus is needed.

`record.json` is made anew by `python -m annotated_transformer.experiments.after_measured`; with
names of rows behind it, these are added to it.
"""

import sys
import time
from collections.abc import Sequence
from typing import Any

import torch

from annotated_transformer.benchmark.products import multiply_adds
from annotated_transformer.cli.train_run import configuration_of
from annotated_transformer.data import EncodedSplit, make_batch
from annotated_transformer.evidence.ablation.plan import BASE, load_plan
from annotated_transformer.experiments.measurements import kept_for_backward
from annotated_transformer.experiments.records import read_record, write_record
from annotated_transformer.experiments.seeding import seeded
from annotated_transformer.training.run_directory import RunConfig
from annotated_transformer.training.step import batch_loss, update
from annotated_transformer.training.trainer import build_model, build_optimizer

PLAN = "after_multi30k"
SENTENCES, PIECES = 34, 15  # a batch of 512 tokens a side
ROUNDS, STEPS = 7, 6


def configuration(row: str) -> RunConfig:
    """The model and the settings that a row of the plan trains."""
    plan = load_plan(PLAN)
    (task,) = plan.choose([row], 1)
    config = configuration_of(task.commands()[0])
    assert config is not None
    return config


def invented_pairs(vocab_size: int) -> EncodedSplit:
    """Pairs as long as those of Multi30k, in one batch."""
    generator = torch.Generator().manual_seed(0)
    shape = (2, SENTENCES, PIECES - 1)
    source, target = torch.randint(3, vocab_size, shape, generator=generator).tolist()
    sides = [[*line, 2] for line in source], [[1, *line, 2] for line in target]
    return EncodedSplit(*sides, range(SENTENCES), 0)


class Step:
    """Whole training steps of one row on one batch."""

    def __init__(self, row: str) -> None:
        self.config = configuration(row)
        with seeded(0):
            self.model = build_model(self.config, torch.device("cpu"))
        self.optimizer = build_optimizer(self.model, self.config.training)
        split = invented_pairs(self.config.model.vocab_size)
        self.batch = make_batch(split, [*range(SENTENCES)], self.config.model.pad_id)
        self.inputs = self.batch.src, self.batch.tgt[:, :-1]

    def take(self) -> None:
        """One: forward, loss, backward, optimizer."""
        loss = batch_loss(self.model, self.config.training, self.batch)
        (loss / self.batch.tgt[:, 1:].numel()).backward()  # type: ignore[no-untyped-call]
        update(self.optimizer, [*self.model.parameters()], 1e-4, None)

    def seconds(self, steps: int) -> float:
        """Processor time of so many steps, after one that does not count."""
        self.take()
        begun = time.process_time()
        for _ in range(steps):
            self.take()
        return time.process_time() - begun

    def counted(self) -> dict[str, int]:
        """What is the same on every machine."""
        model = self.model.eval()
        kept = kept_for_backward(lambda: model(*self.inputs), model.parameters())
        counts = {
            "parameters": self.config.model.count_parameters(),
            "multiply_adds": multiply_adds(model, *self.inputs),
            "kept_bytes": sum(kept.values()),
        }
        model.train()
        return counts


def steps_of_their_own() -> list[str]:
    """The plan's rows without those that take another's step less often."""
    return [row.name for row in load_plan(PLAN).rows if "steps" not in row.change]


def measure(rows: Sequence[str], rounds: int = ROUNDS, steps: int = STEPS) -> dict[str, Any]:
    """Counts of every row, and its time over the paper's parts', once a round."""
    torch.set_num_threads(1)
    made = {row: Step(row) for row in rows}
    found: dict[str, Any] = {row: {**step.counted(), "time": []} for row, step in made.items()}
    for number in range(rounds + 1):
        print(f"round {number} of {rounds}", file=sys.stderr, flush=True)
        seconds = {row: step.seconds(steps) for row, step in made.items()}
        if number == 0:  # of warming up
            continue
        for row in rows:
            found[row]["time"].append(round(seconds[row] / seconds[BASE], 4))
    found[BASE]["milliseconds"] = round(1000 * seconds[BASE] / steps, 1)
    return found


def load_record() -> dict[str, Any]:
    """The record: which plan and batch, on what, and of each row what `measure` found."""
    return read_record(__file__)


def main() -> None:
    """The command. Rows that came later are named, and timed beside the base."""
    named = sys.argv[1:]
    found = measure([BASE, *named] if named else steps_of_their_own())
    if named:
        found = load_record()["rows"] | {row: found[row] for row in named}
    values = {"plan": PLAN, "sentences": SENTENCES, "pieces": PIECES, "rows": found}
    write_record(__file__, values)
