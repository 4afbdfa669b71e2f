"""Taking heads away from a trained model, one, many, or one after the other."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.likelihood import SentenceBatch
from annotated_transformer.transformer import Transformer, evaluation_mode

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

    The field calls it ablation: by zeros, or by the mean.

    Args:
        heads: which.
        instead: attention -> (num_heads, d_v): what each head says at every place instead, see
            `mean_answers`. None: zeros.

    Raises:
        CallError: the model has no such head, or `instead` nothing for its attention.
    """
    by_name: dict[str, list[int]] = {}
    for name, head in heads:
        by_name.setdefault(name, []).append(head)
    known = heads_of(model)
    for name, numbers in by_name.items():
        if lacking := [number for number in numbers if (name, number) not in known]:
            raise CallError(f"this model has no head {lacking[0]} in an attention {name!r}")
        if instead is not None and name not in instead:
            raise CallError(f"`instead` says nothing of {name!r}")
    with ExitStack() as hooks:
        for name, numbers in by_name.items():
            replace = _replacing(
                numbers,
                _attention(model, name).num_heads,
                None if instead is None else instead[name],
            )
            hook = _attention(model, name).output_projection.register_forward_pre_hook(replace)
            hooks.callback(hook.remove)
        yield


def _attention(model: nn.Module, name: str) -> MultiHeadAttention:
    module = model.get_submodule(name)
    assert isinstance(module, MultiHeadAttention)
    return module


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

    with ExitStack() as hooks, evaluation_mode(model):
        for name in {name for name, _ in heads_of(model)}:
            projection = _attention(model, name).output_projection
            hooks.callback(projection.register_forward_pre_hook(adding(name)).remove)
        for batch in batches:
            real["encoder"] = batch.src != model.config.pad_id
            real["decoder"] = batch.tgt[:, :-1] != model.config.pad_id
            model(batch.src, batch.tgt[:, :-1])
    return {
        name: (total / counts[name]).view(_attention(model, name).num_heads, -1)
        for name, total in sums.items()
    }


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
        at_once: how many go each time, at least 1, those first that cost least alone. The loss of a
            step that is not the last of its time is that of its head beside those gone before.
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
