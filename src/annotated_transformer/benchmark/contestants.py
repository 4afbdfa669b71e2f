"""Who takes part in `benchmark training`: this package and its peers, each in both precisions."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import nn

from annotated_transformer.benchmark.counting import real_sizes, step_operations
from annotated_transformer.benchmark.peers import AnnotatedPeer, MarianPeer, TorchPeer, compile_peer
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit, make_batch, token_batches
from annotated_transformer.fast.memory import keep_freed_memory
from annotated_transformer.training.devices import matrix_rate, wait_for
from annotated_transformer.training.gradients import StepGradients
from annotated_transformer.training.run_directory import RunConfig
from annotated_transformer.training.settings import Precision, TrainingConfig
from annotated_transformer.training.step import Part, count_tokens, sum_of
from annotated_transformer.training.trainer import build_model

OURS = "this package"  # at its defaults
COMPILED = ", compiled"
OURS_BYTE_DROPOUT = "this package, --byte-dropout"  # a named departure, which no peer has
OURS_SHARED_ROWS = "this package, --share-rows"  # likewise
PEERS = {
    "Hugging Face Marian": MarianPeer,
    "torch.nn.Transformer": TorchPeer,
    "The Annotated Transformer's architecture": AnnotatedPeer,
}
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")

Batches = Sequence[Sequence[int]]  # pairs by number
Step = Callable[[int], float]  # the optimizer step on the batch of a number; gives its mean loss


@dataclass(frozen=True)
class Entry:
    """Who takes part, before anything is built; it can be sent to another process.

    Attributes:
        name: of its row.
        precision: of the matrix products.
        peer: which of PEERS it is; "": this package.
        settings: of this package's `TrainingConfig`, beside the precision.
        compiled: whether a peer is compiled layer by layer.
        keeps_memory: whether the C library keeps what is freed (`fast.memory`), as `train` asks
            it to.
    """

    name: str
    precision: Precision
    peer: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    compiled: bool = False
    keeps_memory: bool = False


def line_up(
    device: torch.device,
    compiled: Sequence[str] | None = None,
    precisions: Sequence[Precision] = PRECISIONS,
    peers: Sequence[str] | None = None,
) -> list[Entry]:
    """Everybody who takes part, ours first.

    Byte dropout saves time on a CPU only, and a recorded step needs a GPU, so each takes part only
    there.

    Args:
        compiled: names of those PEERS that take part a second time by torch.compile, layer by
            layer, and this package with them, as `train --compile` does it; None: nobody does.
        peers: names of PEERS; None: all.
    """
    on_cpu = device.type == "cpu"
    ours: dict[str, dict[str, Any]] = {OURS: {}}
    if on_cpu:
        ours[OURS_BYTE_DROPOUT] = {"byte_dropout": True}
    else:
        ours[OURS_SHARED_ROWS] = {"share_rows": True}
    if compiled is not None and on_cpu:
        ours[OURS + COMPILED] = {"compile": True}
    elif compiled is not None:
        ours[OURS_SHARED_ROWS + COMPILED] = {"compile": True, "share_rows": True}
    entries = [
        Entry(name, precision, settings=settings, keeps_memory=True)
        for name, settings in ours.items()
        for precision in precisions
    ]
    for once_more in (False, True):
        for peer in PEERS if peers is None else peers:
            if not once_more or peer in (compiled or ()):
                name = peer + COMPILED if once_more else peer
                entries += [
                    Entry(name, precision, peer, compiled=once_more) for precision in precisions
                ]
    return entries


@dataclass(frozen=True)
class Task:
    """What everybody trains.

    Attributes:
        config: the model.
        split: the pairs.
        max_tokens: of a batch, a side.
        device: where.
    """

    config: TransformerConfig
    split: EncodedSplit
    max_tokens: int
    device: torch.device


@dataclass(frozen=True)
class Turn:
    """One or more steps of a contestant.

    Attributes:
        seconds: by the clock.
        tokens: real ones, source and target.
        operations: of our model for these pairs (`counting.step_operations`).
        loss: of the last step, in nats per token.
    """

    seconds: float
    tokens: int
    operations: int
    loss: float

    @property
    def rate(self) -> float:
        """Tokens a second."""
        return self.tokens / self.seconds


class Contestant:
    """One who takes part, built in this process.

    All batches are by length, but for this package's shared rows.

    Raises:
        ImportError: of a peer that is not installed.
    """

    def __init__(self, entry: Entry, task: Task) -> None:
        if entry.keeps_memory:
            keep_freed_memory()
        self.task = task
        self.batches: Batches
        self.step: Step
        if entry.peer:
            model = PEERS[entry.peer](task.config)
            if entry.compiled:
                compile_peer(model)
            self.batches = token_batches(task.split.lengths, task.max_tokens, seed=0, epoch=0)
            self.step = peer_step(model, task, self.batches, entry.precision)
        else:
            settings = TrainingConfig(
                steps=1, max_tokens=task.max_tokens, precision=entry.precision, **entry.settings
            )
            self.batches, self.step = our_step(task, settings)

    def turn(self, numbers: Sequence[int]) -> list[Turn]:
        """Take the steps on the batches of these numbers: each a whole training step."""
        turns = []
        for number in numbers:
            pairs = list(self.batches[number % len(self.batches)])
            wait_for(self.task.device)
            began = time.perf_counter()
            loss = self.step(number)
            wait_for(self.task.device)
            seconds = time.perf_counter() - began
            _, tokens = count_tokens(self.task.split, [Part(pairs, 0, 0)])
            operations = step_operations(self.task.config, real_sizes(self.task.split, pairs))
            turns.append(Turn(seconds, tokens, operations, loss))
        return turns

    def peak(self, precision: Precision) -> float:
        """Operations a second of a large matrix product."""
        return matrix_rate(self.task.device, precision)

    def close(self) -> None:
        """Nothing is left to do."""


def adam(model: nn.Module, fused: bool = True) -> torch.optim.Adam:
    """The same optimizer for everybody, at the paper's settings (section 5.3).

    Args:
        fused: a few kernels for all weights; else one weight matrix after the other.
    """
    return torch.optim.Adam(
        model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, foreach=False, fused=fused
    )


def our_step(task: Task, settings: TrainingConfig) -> tuple[Batches, Step]:
    """The batches that `train` makes with these settings, and what it does in a step."""
    split, lengths = task.split, task.split.lengths
    model = build_model(RunConfig(task.config, settings, {}), task.device).train()
    optimizer = adam(model)
    gradients = StepGradients(model, settings, longest=int(np.max(lengths)))
    batches = gradients.rule.plan(lengths, epoch=0)

    def part(number: int) -> Part:
        return Part(batches[number % len(batches)], epoch=0, place=number)

    def step(number: int) -> float:
        target_tokens, _ = count_tokens(split, [part(number)])
        losses = gradients.start(split, [part(number)], target_tokens)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        gradients.announce(split, [part(number + 1)])
        return sum_of(losses) / target_tokens

    return batches, step


def peer_step(model: nn.Module, task: Task, batches: Batches, precision: Precision) -> Step:
    """The plain loop that everybody writes, under autocast for bf16."""
    device = task.device
    model.to(device).train()
    optimizer = adam(model)

    def step(number: int) -> float:
        batch = make_batch(task.split, list(batches[number % len(batches)]), task.config.pad_id)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            loss = model(batch.src.to(device), batch.tgt.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    return step
