"""Who takes part in `benchmark training`: this package and its peers, each in both precisions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import nn

from annotated_transformer.benchmark.peers import AnnotatedPeer, MarianPeer, TorchPeer
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit, make_batch
from annotated_transformer.training.run_directory import RunConfig
from annotated_transformer.training.settings import Precision, TrainingConfig
from annotated_transformer.training.step import Part, add_gradients, count_tokens
from annotated_transformer.training.trainer import build_model

OURS = "this package"  # at its defaults
COMPILED = ", compiled"
OURS_BYTE_DROPOUT = "this package, --byte-dropout"  # a named departure, which no peer has
PEERS = {
    "Hugging Face Marian": MarianPeer,
    "torch.nn.Transformer": TorchPeer,
    "The Annotated Transformer's architecture": AnnotatedPeer,
}
PRECISIONS: tuple[Precision, ...] = ("fp32", "bf16")

Step = Callable[[Sequence[int]], float]  # one optimizer step on some pairs; gives their mean loss


@dataclass(frozen=True)
class Contestant:
    """One model in one precision.

    Attributes:
        name: whose it is.
        precision: of the matrix products.
        step: one whole training step: batch, forward, loss, backward, Adam.
    """

    name: str
    precision: Precision
    step: Step


def line_up(
    config: TransformerConfig,
    split: EncodedSplit,
    device: torch.device,
    compiled: bool = False,
) -> tuple[list[Contestant], list[str]]:
    """Everybody who can take part, ours first, and who cannot because it is not installed.

    Byte dropout saves time on a CPU only, so it takes part only there. With `compiled` everybody
    takes part a second time by torch.compile: this package as `train --compile` does it, a peer
    as one module.
    """
    ours = (OURS, OURS_BYTE_DROPOUT) if device.type == "cpu" else (OURS,)
    contestants = [
        Contestant(
            name, precision, our_step(config, split, device, precision, name == OURS_BYTE_DROPOUT)
        )
        for name in ours
        for precision in PRECISIONS
    ]
    missing = []
    for name, build in PEERS.items():
        try:
            for precision in PRECISIONS:
                step = peer_step(build(config), split, device, precision, config.pad_id)
                contestants.append(Contestant(name, precision, step))
        except ImportError:
            missing.append(name)
    if compiled:
        for precision in PRECISIONS:
            step = our_step(config, split, device, precision, byte_dropout=False, compiled=True)
            contestants.append(Contestant(OURS + COMPILED, precision, step))
        for name in [name for name in PEERS if name not in missing]:
            for precision in PRECISIONS:
                peer = PEERS[name](config)
                peer.compile()
                step = peer_step(peer, split, device, precision, config.pad_id)
                contestants.append(Contestant(name + COMPILED, precision, step))
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
    device: torch.device,
    precision: Precision,
    byte_dropout: bool,
    compiled: bool = False,
) -> Step:
    """What `train` does in a step; with `--byte-dropout` or `--compile` if asked."""
    settings = TrainingConfig(
        steps=1, precision=precision, byte_dropout=byte_dropout, compile=compiled
    )
    model = build_model(RunConfig(config, settings, {}), device).train()
    optimizer = adam(model)

    def step(indices: Sequence[int]) -> float:
        part = [Part(list(indices), epoch=0, place=0)]
        target_tokens, _ = count_tokens(split, part)
        loss = add_gradients(model, settings, split, part, target_tokens)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss / target_tokens

    return step


def peer_step(
    model: nn.Module, split: EncodedSplit, device: torch.device, precision: Precision, pad_id: int
) -> Step:
    """The plain loop that everybody writes, under autocast for bf16."""
    model.to(device).train()
    optimizer = adam(model)

    def step(indices: Sequence[int]) -> float:
        batch = make_batch(split, list(indices), pad_id)
        with torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
            loss = model(batch.src.to(device), batch.tgt.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    return step
