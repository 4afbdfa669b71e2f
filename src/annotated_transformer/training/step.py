"""One optimizer step: its gradient, over as many batches as it has, and what Adam makes of it.

A machine that cannot hold a batch of 25,000 tokens (section 5.1) takes it in several parts. The
loss of each part is divided by the target tokens of all parts together, so that the gradients add
up to that of the whole batch. A mean of the parts' means would be another number, because parts of
equal budgets have unequal numbers of real tokens.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.data import Batch, EncodedSplit, make_batch
from annotated_transformer.data.token_store import lengths_of
from annotated_transformer.evaluation.likelihood import teacher_forced
from annotated_transformer.fast.packing import can_be_packed, packed_teacher_forced
from annotated_transformer.fast.projected_loss import projected_label_smoothing_loss
from annotated_transformer.fast.shared_rows import (
    SharedRowBatch,
    teacher_forced_in_shared_rows,
)
from annotated_transformer.training.r_drop import in_pairs, twice
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.transformer import Transformer


@dataclass(frozen=True)
class Part:
    """One batch of a step.

    Args:
        indices: the pairs.
        epoch: the pass over the data that it belongs to, from 0.
        place: its place among the batches of that epoch, from 0.
    """

    indices: list[int]
    epoch: int
    place: int


def parts_of_step(batches: list[list[int]], epoch: int, first: int, accumulate: int) -> list[Part]:
    """The next `accumulate` batches of an epoch, or what is left of it.

    The last step of an epoch may have fewer: every pair is seen once an epoch, and that step is
    the mean over its own, fewer tokens.
    """
    following = batches[first : first + accumulate]
    return [Part(indices, epoch, first + number) for number, indices in enumerate(following)]


def steps_of_epoch(batches: int, accumulate: int) -> int:
    """How many steps an epoch has; the last may be smaller."""
    return -(-batches // accumulate)


def count_tokens(split: EncodedSplit, parts: Sequence[Part]) -> tuple[int, int]:
    """(target tokens to predict, source and target tokens together) of a step, without padding."""
    indices = [index for part in parts for index in part.indices]
    source = sum(lengths_of(split.source, indices))
    target = sum(lengths_of(split.target, indices)) - len(indices)  # the first is not predicted
    return target, source + target


def add_gradients(
    model: Transformer,
    settings: TrainingConfig,
    split: EncodedSplit,
    parts: Sequence[Part],
    target_tokens: int,
    batches: Iterable[Batch | SharedRowBatch] | None = None,
    packed: bool | None = None,
) -> float:
    """Add the gradient of each part of a step to the model's, and wait for it.

    Args:
        parts: those that this process takes.
        target_tokens: of the whole step, whoever takes it.
        batches: of these parts, where somebody has made them (`loading`); None makes them here.
        packed: whether padding is left out of every layer; None is `leaves_padding_out`.

    Returns:
        The loss, summed over the tokens of these parts, in nats: the smoothed one, and with R-Drop
        the mean of both passes' with half of the weighted disagreement.
    """
    return sum_of(start_gradients(model, settings, split, parts, target_tokens, batches, packed))


def sum_of(losses: Sequence[Tensor]) -> float:
    """The sum of the parts' losses; on a GPU it waits until they are known."""
    return sum(torch.stack(list(losses)).tolist()) if losses else 0.0


def start_gradients(
    model: Transformer,
    settings: TrainingConfig,
    split: EncodedSplit,
    parts: Sequence[Part],
    target_tokens: int,
    batches: Iterable[Batch | SharedRowBatch] | None = None,
    packed: bool | None = None,
) -> list[Tensor]:
    """`add_gradients` without waiting: a GPU may still be at work afterwards.

    Returns:
        The loss of each part: scalars on the model's device.
    """
    losses = []
    if packed is None:
        packed = leaves_padding_out(settings, model)
    if batches is None:
        batches = (make_batch(split, part.indices, model.config.pad_id) for part in parts)
    for part, batch in zip(parts, batches, strict=True):
        if settings.batch_tokens and settings.accumulate > 1:
            seed_dropout(settings.seed, part)
        loss = batch_loss(model, settings, batch, packed)
        mean_loss = loss / target_tokens
        mean_loss.backward()  # type: ignore[no-untyped-call]
        losses.append(loss.detach())
    return losses


def update(
    optimizer: torch.optim.Optimizer, parameters: Sequence[Tensor], rate: float, clip: float | None
) -> float:
    """Let the optimizer take the step that the gradients ask for, and clear them.

    Args:
        rate: the learning rate of this step.
        clip: a gradient whose norm over all weights is longer is shortened to this; None: none is.

    Returns:
        That norm; 0 where nothing is clipped.
    """
    for group in optimizer.param_groups:
        group["lr"] = rate
    norm = 0.0 if clip is None else float(torch.nn.utils.clip_grad_norm_(parameters, clip))
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return norm


def batch_loss(
    model: Transformer,
    settings: TrainingConfig,
    batch: Batch | SharedRowBatch,
    packed: bool = False,
) -> Tensor:
    """The loss of a batch, summed over its tokens, in nats, as `add_gradients` returns it.

    Args:
        packed: whether padding is left out of every layer.
    """
    if settings.r_drop:
        batch = twice(batch)
    real = None
    with matrix_precision(settings, model.device):
        if isinstance(batch, SharedRowBatch):
            hidden, answers, real = teacher_forced_in_shared_rows(model, batch)
        else:
            read = packed_teacher_forced if packed else teacher_forced
            hidden, answers = read(model, batch)  # (tokens, d_model), (tokens,)
    if settings.precision == "bf16":
        hidden = hidden.bfloat16()
    if settings.r_drop:
        hidden, answers = in_pairs(hidden), in_pairs(answers)
        real = None if real is None else in_pairs(real)
    loss = projected_label_smoothing_loss(
        hidden,
        model.projection.weight,
        answers,
        settings.label_smoothing,
        r_drop=settings.r_drop,
        real=real,
    )
    return loss / 2 if settings.r_drop else loss  # the mean of both passes


def leaves_padding_out(settings: TrainingConfig, model: Transformer) -> bool:
    """Whether only real tokens go through the layers (`packing`).

    In bfloat16 on a CPU, where a step is then shorter by about a tenth on two cores, and by less on
    one (benchmarks/README.md). In float32 nothing was gained when it was tried. On a GPU it has
    not been measured. What is compiled wants few shapes, while every batch has another number of
    real tokens. Attention of another kind than the paper's keeps its padding.

    Runs that were recorded before this was so drew their dropout for padding too: they are not
    repeated to the bit.
    """
    in_bf16_on_cpu = settings.precision == "bf16" and model.device.type == "cpu"
    return in_bf16_on_cpu and not settings.compile and can_be_packed(model.config)


def seed_dropout(seed: int, part: Part) -> None:
    """Make the dropout of a part depend on the run's seed and the part's place alone.

    So it does not matter which process takes a part, nor what was computed before it.
    """
    drawn = np.random.default_rng((seed, part.epoch, part.place)).integers(2**63)
    torch.manual_seed(int(drawn))


def matrix_precision(settings: TrainingConfig, device: torch.device) -> torch.autocast:
    """Products and activations in bfloat16 inside, where the settings ask for it."""
    return torch.autocast(device.type, torch.bfloat16, enabled=settings.precision == "bf16")
