"""Who takes part in `benchmark training`: this package and its peers, each in both precisions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from annotated_transformer.benchmark.peers import AnnotatedPeer, MarianPeer, TorchPeer, compile_peer
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit, make_batch, token_batches
from annotated_transformer.data.shared_rows import RowShape, SharedRowBatch, shared_row_batches
from annotated_transformer.training.graphs import RecordedGradients
from annotated_transformer.training.loading import Loader
from annotated_transformer.training.run_directory import RunConfig
from annotated_transformer.training.settings import Precision, TrainingConfig
from annotated_transformer.training.step import Part, count_tokens, start_gradients, sum_of
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
class Contestant:
    """One model in one precision.

    Attributes:
        name: whose it is.
        precision: of the matrix products.
        batches: what it trains on, over and over.
        step: one whole training step: batch, forward, loss, backward, Adam.
    """

    name: str
    precision: Precision
    batches: Batches
    step: Step

    def pairs(self, number: int) -> Sequence[int]:
        """Those of the batch of a number."""
        return self.batches[number % len(self.batches)]


def line_up(
    config: TransformerConfig,
    split: EncodedSplit,
    max_tokens: int,
    device: torch.device,
    compiled: Sequence[str] | None = None,
    precisions: Sequence[Precision] = PRECISIONS,
    peers: Sequence[str] | None = None,
) -> tuple[list[Contestant], list[str]]:
    """Everybody who can take part, ours first, and who cannot because it is not installed.

    All batches are by length, but for this package's shared rows. Byte dropout saves time on a CPU
    only, and a recorded step needs a GPU, so each takes part only there.

    Args:
        max_tokens: of a batch, a side.
        compiled: names of those PEERS that take part a second time by torch.compile, layer by
            layer, and this package with them, as `train --compile` does it; None: nobody does.
        peers: names of PEERS; None: all.
    """
    by_length = token_batches(split.lengths, max_tokens, seed=0, epoch=0)
    contestants: list[Contestant] = []

    def ours(name: str, **settings: Any) -> None:
        for precision in precisions:
            recipe = TrainingConfig(steps=1, precision=precision, **settings)
            step, batches = our_step(config, split, by_length, device, max_tokens, recipe)
            contestants.append(Contestant(name, precision, batches, step))

    ours(OURS)
    if device.type == "cpu":
        ours(OURS_BYTE_DROPOUT, byte_dropout=True)
    else:
        ours(OURS_SHARED_ROWS, share_rows=True)
    missing = []
    for name in PEERS if peers is None else peers:
        try:
            for precision in precisions:
                peer = PEERS[name](config)
                step = peer_step(peer, split, by_length, device, precision, config.pad_id)
                contestants.append(Contestant(name, precision, by_length, step))
        except ImportError:
            missing.append(name)
    if compiled is not None:
        if device.type == "cpu":
            ours(OURS + COMPILED, compile=True)
        else:
            ours(OURS_SHARED_ROWS + COMPILED, compile=True, share_rows=True)
        there = {one.name for one in contestants}
        for name in (name for name in compiled if name in there):
            for precision in precisions:
                peer = PEERS[name](config)
                compile_peer(peer)
                step = peer_step(peer, split, by_length, device, precision, config.pad_id)
                contestants.append(Contestant(name + COMPILED, precision, by_length, step))
    return contestants, missing


def adam(model: nn.Module, fused: bool = True) -> torch.optim.Adam:
    """The same optimizer for everybody, at the paper's settings (section 5.3).

    Args:
        fused: one kernel for all weights; else one weight matrix after the other.
    """
    return torch.optim.Adam(
        model.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, foreach=False, fused=fused
    )


def our_step(
    config: TransformerConfig,
    split: EncodedSplit,
    by_length: Batches,
    device: torch.device,
    max_tokens: int,
    settings: TrainingConfig,
) -> tuple[Step, Batches]:
    """What `train` does in a step with these settings, and on what."""
    model = build_model(RunConfig(config, settings, {}), device).train()
    optimizer = adam(model)
    batches, shape, recorded = by_length, None, None
    if settings.share_rows:
        shape = RowShape.of(max_tokens, int(np.max(split.lengths)))
        batches = shared_row_batches(split.lengths, shape, seed=0, epoch=0)
        recorded = RecordedGradients(model, settings) if device.type == "cuda" else None
    loader = Loader(config.pad_id, device, device.type == "cuda", shape)

    def part(number: int) -> Part:
        return Part(list(batches[number % len(batches)]), epoch=0, place=number)

    def step(number: int) -> float:
        own = part(number)
        target_tokens, _ = count_tokens(split, [own])
        batch = loader.batch(split, own)
        if recorded is not None:
            assert isinstance(batch, SharedRowBatch)
            losses = [recorded.add(batch, target_tokens)]
        else:
            losses = start_gradients(model, settings, split, [own], target_tokens, [batch])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loader.announce(split, [part(number + 1)])
        return sum_of(losses) / target_tokens

    return step, batches


def peer_step(
    model: nn.Module,
    split: EncodedSplit,
    batches: Batches,
    device: torch.device,
    precision: Precision,
    pad_id: int,
) -> Step:
    """The plain loop that everybody writes, under autocast for bf16."""
    model.to(device).train()
    optimizer = adam(model)

    def step(number: int) -> float:
        batch = make_batch(split, list(batches[number % len(batches)]), pad_id)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            loss = model(batch.src.to(device), batch.tgt.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    return step
