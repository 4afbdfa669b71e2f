"""`training.accumulated_loss`: gradient accumulation must weigh every token alike."""

from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Tensors = list[Tensor]


def accumulated_loss(logits: list[Tensor], targets: list[Tensor], pad_id: int = 0) -> Tensor:
    total = logits[0].new_zeros(())
    tokens = 0
    for scores, target in zip(logits, targets, strict=True):  # one micro-batch
        log_p = scores.log_softmax(-1)  # (b, n, V)
        loss = -log_p.gather(-1, target[..., None]).squeeze(-1)  # (b, n)
        real = target != pad_id
        total = total + loss[real].sum()
        tokens += int(real.sum())
    return total / tokens  # one division, by the tokens of all of them


def _as_one_batch(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    vocab_size = logits[0].size(-1)
    scores = torch.cat([part.reshape(-1, vocab_size) for part in logits])
    return F.cross_entropy(scores, torch.cat([t.reshape(-1) for t in targets]), ignore_index=pad_id)


def _by_weights(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    counts = [(target != pad_id).sum() for target in targets]
    parts = [
        F.cross_entropy(part.transpose(1, 2), target, ignore_index=pad_id) * count / sum(counts)
        for part, target, count in zip(logits, targets, counts, strict=True)
    ]
    return torch.stack(parts).sum()


def _by_sums(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    total, tokens = torch.zeros((), dtype=logits[0].dtype), 0
    for part, target in zip(logits, targets, strict=True):
        flat, labels = part.flatten(0, 1), target.flatten()
        total = total + F.cross_entropy(flat, labels, ignore_index=pad_id, reduction="sum")
        tokens += int(target.ne(pad_id).sum())
    return total / tokens


def _by_loops(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    losses = [
        torch.logsumexp(part[i, t], dim=0) - part[i, t, target[i, t]]
        for part, target in zip(logits, targets, strict=True)
        for i in range(target.size(0))
        for t in range(target.size(1))
        if target[i, t] != pad_id
    ]
    return torch.stack(losses).sum() / len(losses)


def _padded_together(logits: Tensors, targets: Tensors, pad_id: int = 0) -> Tensor:
    longest = max(target.size(1) for target in targets)
    scores = torch.cat([F.pad(part, (0, 0, 0, longest - part.size(1))) for part in logits])
    target = torch.cat([F.pad(t, (0, longest - t.size(1)), value=pad_id) for t in targets])
    real = (target != pad_id).to(scores.dtype)
    loss = F.cross_entropy(scores.mT, target, reduction="none")
    return (loss * real).sum() / real.sum()


def _case(
    name: str,
    targets: list[list[list[int]]],
    vocab_size: int,
    *pad_id: int,
    isolates: str | None = None,
    **options: Any,
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        tokens = [torch.tensor(target) for target in targets]
        sizes = [(*target.shape, vocab_size) for target in tokens]
        logits = [torch.randn(size, generator=generator, dtype=dtype) for size in sizes]
        return call(logits, tokens, *pad_id)

    return Case(name, make, isolates=isolates, gradient="required", **options)


CASES = (
    _case(
        "two micro-batches, 3 tokens and 1 token",
        [[[4, 2, 5]], [[3]]],
        6,
        isolates="the weights of the micro-batches: there is no padding",
    ),
    _case(
        "one micro-batch, 3 tokens and a pad",
        [[[4, 2, 5, 0]]],
        6,
        isolates="the loss of one batch, with padding",
    ),
    _case(
        "two micro-batches of equal shape, 4 and 2 tokens", [[[3, 4], [5, 2]], [[6, 0], [2, 0]]], 7
    ),
    _case(
        "three micro-batches of different shapes",
        [[[3, 5, 2], [4, 2, 0]], [[6, 2]], [[1, 5, 4, 2], [2, 0, 0, 0], [3, 2, 0, 0]]],
        7,
    ),
    _case(
        "pad_id 3: token 0 is a word",
        [[[0, 4, 3], [1, 2, 0]], [[4, 3], [3, 1]]],
        5,
        3,
        isolates="pad_id",
    ),
    _case("four micro-batches of one sentence", [[[4, 6, 3, 2]], [[5, 2]], [[7, 3, 2]], [[2]]], 9),
    _case(
        "float32, two micro-batches",
        [[[3, 5, 2]], [[4, 2, 0], [2, 0, 0]]],
        7,
        stage="other",
        dtype=torch.float32,
    ),
)

ACCUMULATED_LOSS = Exercise(
    id="training.accumulated_loss",
    title="The loss of accumulated micro-batches",
    kind="code",
    difficulty=3,
    minutes=12,
    signature=(
        "accumulated_loss(logits: list of (b_i, n_i, V), targets: list of LongTensor (b_i, n_i), "
        "pad_id: int = 0) -> scalar"
    ),
    statement=(
        "A batch that does not fit into memory is cut into micro-batches. Return the loss one big "
        "batch would give: the mean cross-entropy (plain, not smoothed) over all non-pad tokens of "
        "all micro-batches. Every micro-batch has at least one such token. The result is a scalar "
        "in nats, in the dtype of the logits. Gradients have to flow back to its inputs: it is "
        "trained through."
    ),
    objective="Accumulate gradients so that the result does not depend on how a batch was cut.",
    prerequisite="training.label_smoothing_loss",
    hints=(
        "Two micro-batches, one of 3 tokens and one of 1. How much does each of the four tokens "
        "weigh in the mean over all, and how much in the mean of the two means?",
        "Which two numbers must be collected from each micro-batch so that one division at the end "
        "gives the mean over all tokens?",
        "The sum of the losses (`reduction='sum'`, `ignore_index=pad_id`) and the number of "
        "targets that are not pad. Add up both, divide once.",
    ),
    reference=accumulated_loss,
    explanation=(
        "A mean of means is the mean only where all groups are equally large. Micro-batches are "
        "not: they hold different numbers of real tokens, so tokens in nearly empty ones would "
        "weigh more. Pull request 34191 mended this very bug in Hugging Face's transformers. In "
        "training one divides each sum by the tokens of the *whole* batch, which must be known "
        "before the first backward pass."
    ),
    cases=CASES,
    mistakes=page(__file__, accumulated_loss),
    alternatives=(_as_one_batch, _by_weights, _by_sums, _by_loops, _padded_together),
    starter=(
        "def accumulated_loss(logits, targets, pad_id=0):\n"
        '    """Lists of (b_i, n_i, V) and (b_i, n_i) -> scalar, the mean over all real '
        'tokens."""\n'
        "    ...  # your code"
    ),
)
