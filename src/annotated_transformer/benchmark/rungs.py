"""The rungs of `benchmark ladder`: from the plain step to the fast one, one change at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.attention import MultiHeadAttention, scaled_dot_product_attention
from annotated_transformer.benchmark.contestants import adam
from annotated_transformer.benchmark.counting import (
    BFLOAT16,
    FLOAT32,
    memory,
    sizes_of,
)
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import Batch, EncodedSplit, make_batch
from annotated_transformer.errors import CallError
from annotated_transformer.fast.projected_loss import loss_chunk
from annotated_transformer.training.gradients import StepGradients
from annotated_transformer.training.label_smoothing import label_smoothing_loss
from annotated_transformer.training.planning import PlanRule
from annotated_transformer.training.run_directory import RunConfig
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.training.step import (
    Part,
    count_tokens,
    matrix_precision,
    sum_of,
)
from annotated_transformer.training.trainer import build_model
from annotated_transformer.transformer import Transformer

PARTS = 4  # that the rung with accumulated batches cuts a step into


@dataclass(frozen=True)
class Rung:
    """One way to take a training step.

    Attributes:
        name: to choose it by.
        says: what is new in it.
        bf16: matrix products in bfloat16.
        fast_attention: what the package chooses in place of Equation 1 in separate operations:
            PyTorch's fused kernels, or for bf16 on a CPU three operations.
        fused_adam: a few kernels for all weights in place of several for each.
        by_length: sentences of similar length share a batch, in place of any that come.
        chunked_loss: only real positions are projected, a part of them at a time, as in `train`.
        ahead: the next batch is made meanwhile.
        parts: batches whose gradients make the step.
        compiled: each layer and the embeddings by torch.compile, on a GPU with a fused ReLU.
        shared_rows: several sentences in a row of a batch, so that all have one shape.
        recording: the gradient of a step as one CUDA graph.
    """

    name: str
    says: str
    bf16: bool = False
    fast_attention: bool = False
    fused_adam: bool = False
    by_length: bool = False
    chunked_loss: bool = False
    ahead: bool = False
    parts: int = 1
    compiled: bool = False
    shared_rows: bool = False
    recording: bool = False


def rungs_on(device: torch.device) -> list[Rung]:
    """The ladder, each rung the one before with one change; "parts" stands aside of it.

    CUDA graphs exist on a GPU only, and with them the last rung.
    """
    plain = Rung("plain", "float32, Equation 1 in separate operations, all logits, plain Adam")
    bf16 = replace(plain, name="bf16", says="matrix products in bfloat16", bf16=True)
    on_cpu = device.type == "cpu"  # where `fused_attention` leaves the fused kernel for bf16
    ran = "attention in three operations, softmax in float32" if on_cpu else "fused attention"
    attention = replace(bf16, name="attention", says=ran, fast_attention=True)
    fused = replace(attention, name="adam", says="fused Adam", fused_adam=True)
    length = replace(fused, name="length", says="batches by length: less padding", by_length=True)
    loss = replace(
        length, name="loss", says="real positions only, loss in chunks", chunked_loss=True
    )
    ahead = replace(loss, name="ahead", says="the next batch made meanwhile", ahead=True)
    parts = replace(
        ahead, name="parts", says=f"aside: the same step in {PARTS} accumulated parts", parts=PARTS
    )
    shared = replace(ahead, name="shared", says="sentences share rows: one shape", shared_rows=True)
    compiled = replace(shared, name="compile", says="torch.compile", compiled=True)
    graph = replace(compiled, name="graph", says="one CUDA graph a step", recording=True)
    ladder = [plain, bf16, attention, fused, length, loss, ahead, parts, shared, compiled]
    return [*ladder, graph] if device.type == "cuda" else ladder


def plain_attend(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """Equation 1 in separate operations: the teaching path, its weights thrown away."""
    return scaled_dot_product_attention(queries, keys, values, mask)[0]


def in_order_of_chance(
    lengths: Sequence[tuple[int, int]], max_tokens: int, seed: int = 0
) -> list[list[int]]:
    """Batches within the same budget as `token_batches`, of sentences as chance brings them.

    Raises:
        CallError: a sentence alone is longer than the budget.
    """
    widths = np.asarray(lengths, dtype=np.int64).reshape(-1, 2).max(axis=1)
    if (longest := int(widths.max(initial=0))) > max_tokens:
        raise CallError(
            f"a batch may hold {max_tokens} tokens and the longest sentence has {longest}; "
            f"give a budget of at least {longest}"
        )
    batches: list[list[int]] = []
    batch: list[int] = []
    widest = 0
    for index in np.random.default_rng(seed).permutation(len(widths)).tolist():
        if (len(batch) + 1) * max(widest, int(widths[index])) > max_tokens:
            batches.append(batch)
            batch, widest = [], 0
        batch.append(index)
        widest = max(widest, int(widths[index]))
    return [*batches, batch] if batch else batches


@dataclass(frozen=True)
class Workload:
    """What every rung trains on.

    Attributes:
        config: the model.
        split: encoded pairs.
        max_tokens: of a step, a side.
        steps: different steps that there are; they are taken over and over.
    """

    config: TransformerConfig
    split: EncodedSplit
    max_tokens: int
    steps: int

    def settings(self, rung: Rung) -> TrainingConfig:
        """Of a run that trains as a rung does."""
        return TrainingConfig(
            steps=1,
            max_tokens=self.max_tokens // rung.parts,
            precision="bf16" if rung.bf16 else "fp32",
            share_rows=rung.shared_rows,
            compile=rung.compiled,
        )

    def rule(self, rung: Rung) -> PlanRule:
        """How its pairs are dealt to batches, unless chance deals them."""
        return PlanRule.of(self.settings(rung), int(np.max(self.split.lengths)))

    def batches(self, rung: Rung) -> list[list[list[int]]]:
        """The batches of each step: steps, their parts, the pairs of a part."""
        budget, lengths = self.max_tokens // rung.parts, self.split.lengths
        if rung.by_length:
            batches = self.rule(rung).plan(lengths, epoch=0)
        else:
            batches = in_order_of_chance(lengths, budget)
        wanted = self.steps * rung.parts
        if len(batches) < wanted:
            raise ValueError(
                f"{wanted} batches of {budget:,} tokens are asked for, and the pairs fill only "
                f"{len(batches)}: give more pairs or fewer steps."
            )
        return [batches[first : first + rung.parts] for first in range(0, wanted, rung.parts)]


def bytes_of(rung: Rung, workload: Workload, device: torch.device) -> int:
    """What the largest batch of a rung makes a step hold, counted (`counting.memory`)."""
    on_cpu = device.type == "cpu"
    chunk = loss_chunk(device, workload.max_tokens // rung.parts) if rung.chunked_loss else None
    lengths = np.asarray(workload.split.lengths, dtype=np.int64)
    most = 0
    for indices in (part for parts in workload.batches(rung) for part in parts):
        n_src, n_tgt = (int(width) for width in lengths[indices].max(axis=0))
        sizes = [(n_src, n_tgt)] * len(indices)
        if (shape := workload.rule(rung).shape) is not None:
            sizes = [(shape.width, shape.width)] * shape.rows
        held = memory(
            workload.config,
            sizes_of(sizes),
            item=BFLOAT16 if rung.bf16 else FLOAT32,
            chunk=chunk,
            fused=rung.fast_attention and not (rung.bf16 and on_cpu),
            on_cpu=on_cpu,
        )
        most = max(most, sum(held.values()))
    return most


class RungSteps:
    """Training steps as a rung takes them.

    Args:
        rung: how.
        workload: on what.
        device: where.

    Attributes:
        steps: the parts of each step.
        model: what is trained.
    """

    def __init__(self, rung: Rung, workload: Workload, device: torch.device) -> None:
        self.rung, self.workload, self.device = rung, workload, device
        self.settings = workload.settings(rung)
        self.model: Transformer = build_model(RunConfig(workload.config, self.settings, {}), device)
        self.model.train()
        if not rung.fast_attention:
            for module in self.model.modules():
                if isinstance(module, MultiHeadAttention):
                    setattr(module, "attend", plain_attend)  # noqa: B010  (mypy: a method)
        self.optimizer = adam(self.model, rung.fused_adam)
        batches = enumerate(workload.batches(rung))
        self.steps = [
            [Part(indices, number, place) for place, indices in enumerate(parts)]
            for number, parts in batches
        ]
        self.gradients = StepGradients(
            self.model,
            self.settings,
            longest=int(np.max(workload.split.lengths)),
            ahead=rung.ahead,
            recording=rung.recording,
            packed=False,  # in every layer padding stays, on every rung
        )

    def take(self, number: int) -> float:
        """Take a step; the mean smoothed loss of its target tokens, in nats."""
        parts = self.steps[number % len(self.steps)]
        split = self.workload.split
        target_tokens, _ = count_tokens(split, parts)
        losses = self.start(parts, target_tokens)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.gradients.announce(split, self.steps[(number + 1) % len(self.steps)])
        return sum_of(losses) / target_tokens

    def start(self, parts: list[Part], target_tokens: int) -> list[Tensor]:
        """The gradient of a step; the loss of each part, summed over its tokens."""
        if self.rung.chunked_loss:
            return self.gradients.start(self.workload.split, parts, target_tokens)
        (part,) = parts
        batch = self.gradients.loader.batch(self.workload.split, part)
        assert isinstance(batch, Batch)
        return [self.whole_loss(batch) * target_tokens]

    def whole_loss(self, batch: Batch) -> Tensor:
        """The loss by the logits of every position, padding too, and its gradient."""
        src, tgt = batch.src.to(self.device), batch.tgt.to(self.device)
        with matrix_precision(self.settings, self.device):
            logits = self.model(src, tgt[:, :-1])  # (batch, n_tgt, V)
        if self.rung.bf16:
            logits = logits.float()  # the softmax is in float32 everywhere
        loss = label_smoothing_loss(
            logits, tgt[:, 1:], self.settings.label_smoothing, self.model.config.pad_id
        )
        loss.backward()  # type: ignore[no-untyped-call]
        return loss.detach()

    def padded_positions(self) -> int:
        """Positions of all steps, both sides, padding counted."""
        if (shape := self.gradients.rule.shape) is not None:
            return sum(2 * shape.rows * shape.width for parts in self.steps for _ in parts)
        parts = [part for parts in self.steps for part in parts]
        batches = [make_batch(self.workload.split, part.indices) for part in parts]
        return sum(batch.src.numel() + batch.tgt[:, 1:].numel() for batch in batches)
