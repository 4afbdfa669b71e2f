"""Section 5.1: sentence pairs of similar length are batched together, by a budget of tokens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from annotated_transformer.data.encoding import EncodedSplit
from annotated_transformer.errors import CallError

if TYPE_CHECKING:  # a list of corpora needs no PyTorch: it is imported where tensors are made
    from torch import Tensor


def token_batches(
    lengths: Sequence[tuple[int, int]], max_tokens: int, *, seed: int, epoch: int
) -> list[list[int]]:
    """Group pairs of similar length into batches of at most `max_tokens` positions a side.

    Pairs are sorted by source length, then by target length; pairs of equal lengths are shuffled,
    and so is the order of the batches. Both follow from (seed, epoch) alone.

    Args:
        lengths: (source, target) length of each pair as the model sees it (`EncodedSplit.lengths`).
        max_tokens: the budget: pairs x longest sentence, padding counted, for source and target
            each.
        seed: of the run, not negative.
        epoch: number of the pass over the data, not negative.

    Returns:
        Batches of indices into `lengths`; every index occurs once.

    Raises:
        CallError: a sentence alone is longer than the budget (the message gives its length), or a
            seed or epoch is negative.
    """
    if seed < 0 or epoch < 0:
        raise CallError(f"seed {seed} and epoch {epoch} were given; expected none below zero")
    table = np.asarray(lengths, dtype=np.int64).reshape(-1, 2)  # (pairs, 2)
    if len(table) == 0:
        return []
    longest = int(table.max())
    if longest > max_tokens:
        raise CallError(
            f"a batch may hold {max_tokens} tokens and the longest sentence has {longest}; "
            f"give a budget of at least {longest}, or a shorter maximum length"
        )
    random = np.random.default_rng((seed, epoch))
    order = np.lexsort((random.random(len(table)), table[:, 1], table[:, 0]))  # (pairs,)
    batches: list[list[int]] = []
    batch: list[int] = []
    widest = 0
    for index, width in zip(order.tolist(), table.max(axis=1)[order].tolist(), strict=True):
        if (len(batch) + 1) * max(widest, width) > max_tokens:
            batches.append(batch)
            batch, widest = [], 0
        batch.append(index)
        widest = max(widest, width)
    batches.append(batch)
    return [batches[position] for position in random.permutation(len(batches))]


@dataclass(frozen=True)
class Batch:
    """Pairs of one batch, padded.

    Attributes:
        src: (batch, n_src) ids with the end sign.
        tgt: (batch, n_tgt) ids from the start to the end sign; the decoder reads `tgt[:, :-1]` and
            predicts `tgt[:, 1:]`.
        indices: which pairs of the encoded split these are.
    """

    src: "Tensor"
    tgt: "Tensor"
    indices: list[int]


def collate(rows: Sequence[Sequence[int]], pad_id: int = 0) -> "Tensor":
    """Rows of ids of unequal length as one LongTensor (rows, longest), padded at the end."""
    import torch

    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))  # (rows,)
    longest = int(lengths.max(initial=0))
    padded = np.full((len(rows), longest), pad_id, dtype=np.int64)
    real = np.arange(longest) < lengths[:, None]  # (rows, longest)
    padded[real] = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(lengths.sum()))
    return torch.from_numpy(padded)


def make_batch(encoded: EncodedSplit, indices: list[int], pad_id: int = 0) -> Batch:
    """The pairs at `indices` as one padded batch."""
    return Batch(
        src=collate([encoded.source[index] for index in indices], pad_id),
        tgt=collate([encoded.target[index] for index in indices], pad_id),
        indices=indices,
    )


def batches_of(
    encoded: EncodedSplit, max_tokens: int, *, seed: int, epoch: int, pad_id: int = 0
) -> Iterator[Batch]:
    """One pass over an encoded split: `token_batches`, padded one at a time as they are asked."""
    for indices in token_batches(encoded.lengths, max_tokens, seed=seed, epoch=epoch):
        yield make_batch(encoded, indices, pad_id)


@dataclass(frozen=True)
class PaddingWaste:
    """The share of positions that hold padding, from 0 to 1, on each side."""

    source: float
    target: float


def padding_waste(
    lengths: Sequence[tuple[int, int]], batches: Sequence[Sequence[int]]
) -> PaddingWaste:
    """How much of the padded batches is padding."""
    table = np.asarray(lengths, dtype=np.int64).reshape(-1, 2)
    used = np.zeros(2)
    padded = np.zeros(2)
    for batch in batches:
        rows = table[np.asarray(batch, dtype=np.int64)]  # (batch, 2)
        used += rows.sum(axis=0)
        padded += rows.max(axis=0, initial=0) * len(rows)
    source, target = 1.0 - used / np.maximum(padded, 1)
    return PaddingWaste(float(source), float(target))
