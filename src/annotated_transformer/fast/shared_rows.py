"""Batches whose rows are shared by several sentences, so that hardly a position is padding.

A row of a padded batch holds one sentence and fills up with padding. Here a row holds as many
sentences as fit, one behind the other, and every position knows which of them it belongs to. The
masks keep them apart. All batches have the same shape, whatever their sentences: what is compiled
or recorded for one of them serves all. The paper's authors trained so on machines that want one
shape (tensor2tensor calls it packing).

Both sides of a pair stand in rows of the same number, because the decoder's row attends to the
encoder's.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from annotated_transformer.data.batching import PaddingWaste
from annotated_transformer.data.encoding import EncodedSplit
from annotated_transformer.errors import CallError
from annotated_transformer.fast.embedding import FastEmbedding
from annotated_transformer.fast.packing import up_to_multiple
from annotated_transformer.masks import causal_mask
from annotated_transformer.transformer import Transformer

MULTIPLE = 64  # of the positions in a row
MISSES = 16  # pairs in a row that fit nowhere: then a batch is full


@dataclass(frozen=True)
class RowShape:
    """The shape of every batch.

    Attributes:
        rows: how many.
        width: positions of a row, on each side.
    """

    rows: int
    width: int

    @classmethod
    def of(cls, max_tokens: int, longest: int) -> "RowShape":
        """As many rows as the budget allows, each wide enough for the longest sentence.

        Args:
            max_tokens: positions of a batch, a side.
            longest: of all sentences, as model positions.

        Raises:
            CallError: a single row is larger than the budget.
        """
        width = up_to_multiple(longest, MULTIPLE)
        if width > max_tokens:
            raise CallError(
                f"a batch may hold {max_tokens} tokens, and a row that sentences share has {width} "
                f"here (the longest sentence has {longest}); give a budget of at least {width}, or "
                "a shorter maximum length"
            )
        return cls(max_tokens // width, width)


class _Rows:
    """The rows of one batch as they fill."""

    def __init__(self, shape: RowShape) -> None:
        # Room for the source, room for the target, number; of the rows that are not full.
        self.room = [[shape.width, shape.width, number] for number in range(shape.rows)]
        self.width = shape.width

    def place(self, n_src: int, n_tgt: int) -> tuple[int, int, int] | None:
        """The first row with room for a pair, and where in it each side begins; None: there is
        none."""
        for at, row in enumerate(self.room):
            if row[0] >= n_src and row[1] >= n_tgt:
                places = row[2], self.width - row[0], self.width - row[1]
                row[0] -= n_src
                row[1] -= n_tgt
                if row[0] < 2 or row[1] < 2:  # a pair of a word and an end sign no longer fits
                    del self.room[at]
                return places
        return None


def shared_row_batches(
    lengths: Sequence[tuple[int, int]], shape: RowShape, *, seed: int, epoch: int
) -> list[list[int]]:
    """Group pairs into batches that fit into `shape`, in an order of chance.

    A batch is begun with about as many pairs as it can hold, the long ones first; then single pairs
    fill the gaps. What does not fit begins the next batch. The order follows from (seed, epoch).

    Args:
        lengths: (source, target) length of each pair as the model sees it (`EncodedSplit.lengths`).
        shape: of every batch.
        seed: of the run, not negative.
        epoch: number of the pass over the data, not negative.

    Returns:
        Batches of indices into `lengths`, each in the order in which `shared_row_batch` places
        them; every index occurs once.
    """
    table = np.asarray(lengths, dtype=np.int64).reshape(-1, 2)  # (pairs, 2)
    waiting = np.random.default_rng((seed, epoch)).permutation(len(table)).tolist()
    waiting.reverse()  # the next one stands last
    sizes = table.tolist()
    batches: list[list[int]] = []
    while waiting:
        rows = _Rows(shape)
        batch: list[int] = []
        later: list[int] = []
        for index in _about_one_batch(waiting, sizes, shape):
            (batch if rows.place(*sizes[index]) else later).append(index)
        misses = 0
        while waiting and misses < MISSES:
            index = waiting.pop()
            fits = rows.place(*sizes[index]) is not None
            (batch if fits else later).append(index)
            misses = 0 if fits else misses + 1
        waiting.extend(reversed(later))
        batches.append(batch)
    return batches


def _about_one_batch(
    waiting: list[int], sizes: Sequence[Sequence[int]], shape: RowShape
) -> list[int]:
    """Take from the end of `waiting` what has as many tokens as the batch; the long pairs first."""
    capacity, source, target = shape.rows * shape.width, 0, 0
    taken: list[int] = []
    while waiting:
        n_src, n_tgt = sizes[waiting[-1]]
        if source + n_src > capacity or target + n_tgt > capacity:
            break
        source, target = source + n_src, target + n_tgt
        taken.append(waiting.pop())
    return sorted(taken, key=lambda index: max(sizes[index]), reverse=True)


def shared_row_waste(
    lengths: Sequence[tuple[int, int]], batches: Sequence[Sequence[int]], shape: RowShape
) -> PaddingWaste:
    """How much of the batches is padding."""
    table = np.asarray(lengths, dtype=np.int64).reshape(-1, 2)
    used = sum(table[np.asarray(batch, dtype=np.int64)].sum(axis=0) for batch in batches)
    source, target = 1 - used / (len(batches) * shape.rows * shape.width)
    return PaddingWaste(float(source), float(target))


@dataclass(frozen=True)
class SharedRowBatch:
    """Pairs in shared rows.

    Attributes:
        numbers: integers (7, rows, width): everything below, so that one copy moves it.
        indices: which pairs of the encoded split these are.
    """

    numbers: Tensor
    indices: list[int]

    @property
    def src(self) -> Tensor:
        """Source tokens, each sentence with its end sign, (rows, width)."""
        return self.numbers[0]

    @property
    def src_at(self) -> Tensor:
        """Where in its sentence a source token stands, from 0, (rows, width)."""
        return self.numbers[1]

    @property
    def src_of(self) -> Tensor:
        """Which sentence of its row a source token belongs to, from 1; 0: padding."""
        return self.numbers[2]

    @property
    def read(self) -> Tensor:
        """Target tokens that the decoder reads, each sentence from its start sign on."""
        return self.numbers[3]

    @property
    def tgt_at(self) -> Tensor:
        """Where in its sentence a target token stands, from 0."""
        return self.numbers[4]

    @property
    def tgt_of(self) -> Tensor:
        """Which sentence of its row a target token belongs to, from 1; 0: padding."""
        return self.numbers[5]

    @property
    def labels(self) -> Tensor:
        """The token that each target position is to predict."""
        return self.numbers[6]


def shared_row_batch(
    encoded: EncodedSplit, indices: list[int], shape: RowShape, pad_id: int = 0
) -> SharedRowBatch:
    """The pairs at `indices`, placed one after the other where they fit first.

    Raises:
        ValueError: if they do not fit; those of `shared_row_batches` do.
    """
    rows, placed = _Rows(shape), []
    for index in indices:
        place = rows.place(len(encoded.source[index]), len(encoded.target[index]) - 1)
        if place is None:
            raise ValueError(f"pair {index} has no room in {shape.rows} rows of {shape.width}.")
        placed.append(place)
    of_rows, src_begins, tgt_begins = np.array(placed).T
    sentences = _numbers_within_rows(of_rows)
    src = [np.asarray(encoded.source[index]) for index in indices]
    tgt = [np.asarray(encoded.target[index]) for index in indices]
    begins = of_rows * shape.width
    numbers = np.zeros((7, shape.rows * shape.width), dtype=np.int64)
    numbers[[0, 3, 6]] = pad_id
    _fill(numbers[0:3], begins + src_begins, src, sentences)
    _fill(numbers[3:6], begins + tgt_begins, [ids[:-1] for ids in tgt], sentences)
    _fill(numbers[6:7], begins + tgt_begins, [ids[1:] for ids in tgt], sentences)
    return SharedRowBatch(torch.from_numpy(numbers.reshape(7, shape.rows, shape.width)), indices)


def _numbers_within_rows(of_rows: np.ndarray) -> np.ndarray:
    """Which sentence of its row each pair is: 1 for the first that was placed there, and so on."""
    order = np.argsort(of_rows, kind="stable")
    first_of_row = np.searchsorted(of_rows[order], of_rows[order])
    numbers = np.empty(len(of_rows), dtype=np.int64)
    numbers[order] = np.arange(len(of_rows)) - first_of_row + 1
    return numbers


def _fill(
    planes: np.ndarray, begins: np.ndarray, sides: Sequence[np.ndarray], sentences: np.ndarray
) -> None:
    """Write one side of every pair where it begins.

    Args:
        planes: tokens, and where there are three their positions and sentences too, each (rows *
            width,).
        begins: of each pair, as a place in a plane.
        sides: the tokens of each pair.
        sentences: which sentence of its row each pair is.
    """
    counts = np.array([len(side) for side in sides])
    at = np.arange(counts.sum()) - np.repeat(counts.cumsum() - counts, counts)
    places = np.repeat(begins, counts) + at
    values = np.concatenate(sides), at, np.repeat(sentences, counts)
    for plane, value in zip(planes, values, strict=False):
        plane[places] = value


def same_sentence_mask(queries: Tensor, keys: Tensor) -> Tensor:
    """Where sentences share a row, a query may attend to the keys of its own sentence only.

    Padding, of which nobody reads what it makes, may attend to all, so that there is something.

    Args:
        queries: the number of the sentence that each position belongs to, 0 for padding,
            (batch, n_queries).
        keys: likewise, (batch, n_keys).

    Returns:
        bool (batch, 1, n_queries, n_keys).
    """
    same = queries[:, :, None] == keys[:, None, :]  # (batch, n_queries, n_keys)
    return (same | (queries == 0)[:, :, None])[:, None]


def teacher_forced_in_shared_rows(
    model: Transformer, batch: SharedRowBatch
) -> tuple[Tensor, Tensor, Tensor]:
    """The decoder's output at every position of a batch whose rows are shared, padding included.

    The model has to have been given the fast paths (`use_fast_paths`).

    Returns:
        (rows * width, d_model), not yet projected; the token that each is to predict, (rows *
        width,); and which of them are real.

    Raises:
        ValueError: for a model that has not got them.
    """
    if not isinstance(model.source_embedding, FastEmbedding):
        raise ValueError("this model takes no shared rows yet: call use_fast_paths(model) first.")
    batch = SharedRowBatch(batch.numbers.to(model.device, non_blocking=True), batch.indices)
    n = batch.read.size(1)
    src_mask = same_sentence_mask(batch.src_of, batch.src_of)  # (rows, 1, n, n), all three
    tgt_mask = same_sentence_mask(batch.tgt_of, batch.tgt_of) & causal_mask(n, batch.read.device)
    memory_mask = same_sentence_mask(batch.tgt_of, batch.src_of)
    memory = model.encoder(model.source_embedding(batch.src, at=batch.src_at), src_mask)
    x = model.target_embedding(batch.read, at=batch.tgt_at)  # (rows, n, d_model)
    hidden = model.decoder(x, memory, memory_mask, tgt_mask)
    return hidden.flatten(0, 1), batch.labels.flatten(), batch.tgt_of.flatten() != 0
