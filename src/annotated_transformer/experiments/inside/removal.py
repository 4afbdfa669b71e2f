"""Taking heads away from a trained model, one, many, or one after the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.evaluation.likelihood import SentenceBatch, teacher_forced
from annotated_transformer.transformer import Transformer

Head = tuple[str, int]  # the attention's name in the model, and the head's number in it


def heads_of(model: nn.Module) -> list[Head]:
    """Every head of a model, in the order of its modules."""
    return [
        (name, head)
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
        for head in range(module.num_heads)
    ]


@contextmanager
def without_heads(
    model: nn.Module, heads: Iterable[Head], instead: Mapping[str, Tensor] | None = None
) -> Iterator[None]:
    """While the block runs, some heads say nothing: their answers do not reach W^O.

    Args:
        heads: which.
        instead: attention -> (num_heads, d_v): what each head says at every place instead, see
            `mean_answers`. None: zeros.

    Raises:
        KeyError: the model has no attention of that name, or it has no head of that number.
    """
    known = set(heads_of(model))
    by_name: dict[str, list[int]] = {}
    for name, head in heads:
        if (name, head) not in known:
            raise KeyError(f"{name} has no head {head} in this model")
        by_name.setdefault(name, []).append(head)
    hooks = [
        _output_of(model, name).register_forward_pre_hook(
            _replacing(
                numbers,
                _attention(model, name).num_heads,
                None if instead is None else instead[name],
            )
        )
        for name, numbers in by_name.items()
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _attention(model: nn.Module, name: str) -> MultiHeadAttention:
    module = model.get_submodule(name)
    assert isinstance(module, MultiHeadAttention)
    return module


def _output_of(model: nn.Module, name: str) -> nn.Module:
    return _attention(model, name).output_projection


def _replacing(
    numbers: Sequence[int], num_heads: int, instead: Tensor | None
) -> Callable[[nn.Module, tuple[Tensor]], tuple[Tensor]]:
    def replace(_: nn.Module, inputs: tuple[Tensor]) -> tuple[Tensor]:
        (merged,) = inputs  # (batch, n, num_heads * d_v)
        heads = merged.view(*merged.shape[:-1], num_heads, -1).clone()
        for number in numbers:
            heads[..., number, :] = 0.0 if instead is None else instead[number]
        return (heads.flatten(-2),)

    return replace


@torch.no_grad()
def mean_answers(model: Transformer, batches: Iterable[SentenceBatch]) -> dict[str, Tensor]:
    """What each head says on average over all real places: attention -> (num_heads, d_v)."""
    sums: dict[str, Tensor] = {}
    counts: dict[str, int] = {}
    real: dict[str, Tensor] = {}

    def adding(name: str) -> Callable[[nn.Module, tuple[Tensor]], None]:
        def add(_: nn.Module, inputs: tuple[Tensor]) -> None:
            rows = inputs[0][real[name.split(".")[0]]]  # (places, num_heads * d_v)
            sums[name] = sums.get(name, torch.zeros(())) + rows.sum(0)
            counts[name] = counts.get(name, 0) + len(rows)

        return add

    hooks = [
        _output_of(model, name).register_forward_pre_hook(adding(name))
        for name in {name for name, _ in heads_of(model)}
    ]
    try:
        for batch in batches:
            real["encoder"] = batch.src != model.config.pad_id
            real["decoder"] = batch.tgt[:, :-1] != model.config.pad_id
            model(batch.src, batch.tgt[:, :-1])
    finally:
        for hook in hooks:
            hook.remove()
    return {
        name: (total / counts[name]).view(_attention(model, name).num_heads, -1)
        for name, total in sums.items()
    }


@torch.no_grad()
def right_next(model: Transformer, batches: Iterable[SentenceBatch]) -> tuple[float, float]:
    """After each true beginning: the share of next tokens that are right, and the loss in nats."""
    right, loss, tokens = 0.0, 0.0, 0
    for batch in batches:
        hidden, answers = teacher_forced(model, batch)
        logits = model.project(hidden)  # (tokens, vocab_size)
        right += float((logits.argmax(-1) == answers).sum())
        loss += float(nn.functional.cross_entropy(logits, answers, reduction="sum"))
        tokens += len(answers)
    return right / tokens, loss / tokens


@dataclass(frozen=True)
class Step:
    """One head more taken away, and the loss with all those gone that are gone by then."""

    head: Head
    loss: float


def remove_greedily(
    loss_without: Callable[[Sequence[Head]], float], heads: Sequence[Head], at_once: int = 1
) -> Iterator[Step]:
    """Take away, each time, the head without which the loss is lowest, until none is left.

    Args:
        loss_without: the loss without these heads. It is asked about h (h + 1) / 2 times for h
            heads, divided by `at_once`.
        heads: those that may go.
        at_once: how many go each time, those first that cost least alone. The loss of a step that
            is not the last of its time is then that of its head alone beside those gone before.
    """
    gone: list[Head] = []
    while len(gone) < len(heads):
        left = [head for head in heads if head not in gone]
        losses = [loss_without([*gone, head]) for head in left]
        order = sorted(range(len(left)), key=losses.__getitem__)[:at_once]
        gone += [left[n] for n in order]
        for n in order[:-1]:
            yield Step(left[n], losses[n])
        together = losses[order[0]] if len(order) == 1 else loss_without(gone)
        yield Step(left[order[-1]], together)
