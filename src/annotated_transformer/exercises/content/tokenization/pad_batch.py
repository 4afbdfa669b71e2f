"""`tokenization.pad_batch`: sentences of different lengths as one tensor (section 5.1)."""

from itertools import zip_longest

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Rows = list[list[int]]


def pad_batch(rows: Rows, pad_id: int = 0) -> Tensor:
    longest = max(len(row) for row in rows)
    padded = []
    for row in rows:
        missing = [pad_id] * (longest - len(row))
        padded.append(row + missing)  # a new list, the given row stays as it is
    return torch.tensor(padded)  # (B, longest), of dtype long


def _by_filling(rows: Rows, pad_id: int = 0) -> Tensor:
    longest = max(map(len, rows))
    batch = torch.full((len(rows), longest), pad_id)
    for i, row in enumerate(rows):
        batch[i, : len(row)] = torch.tensor(row)
    return batch


def _by_torch(rows: Rows, pad_id: int = 0) -> Tensor:
    tensors = [torch.tensor(row) for row in rows]
    return pad_sequence(tensors, batch_first=True, padding_value=pad_id)


def _by_columns(rows: Rows, pad_id: int = 0) -> Tensor:
    return torch.tensor(list(zip_longest(*rows, fillvalue=pad_id))).T.contiguous()


def _by_numpy(rows: Rows, pad_id: int = 0) -> Tensor:
    batch = np.full((len(rows), max(len(row) for row in rows)), pad_id, dtype=np.int64)
    for i in range(len(rows)):
        for j in range(len(rows[i])):
            batch[i, j] = rows[i][j]
    return torch.from_numpy(batch)


def _case(rows: Rows, *pad_id: int, name: str | None = None, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call([list(row) for row in rows], *pad_id)

    pad = f", pad_id {pad_id[0]}" if pad_id else ""
    return Case((name or f"rows {rows}") + pad, make, isolates=isolates)


CASES = (
    _case([[5, 6, 2], [7, 2]], isolates="one missing place at the end of the second row"),
    _case([[5, 2]], isolates="a batch of one row, which needs no padding"),
    _case([[4, 2], [5, 6, 7, 8, 2], [9, 3, 2]], isolates="the length of the longest row"),
    _case(
        [[4, 2], [9, 3, 2], [5, 6, 7, 8, 2], [3, 1, 6, 2]],
        isolates="that the longest row is neither the last nor the one with the largest numbers",
    ),
    _case([[4, 2], [5, 6, 2]], 9, isolates="a pad_id that is not 0"),
    _case([[0, 4, 0, 2], [5, 0]], 3, isolates="a vocabulary in which 0 is a word and 3 is padding"),
    _case([[3, 4, 3, 5], [7, 3]], 3, isolates="tokens that equal pad_id inside a row"),
    _case([[8], [7], [6], [5, 4], [3]]),
    _case([[3, 1, 4], [1, 5, 9], [2, 6, 5]], name="three rows of one length"),
    _case([[12, 40, 7, 31, 5, 9, 2], [11, 2], [8, 6, 2], [13, 14, 15, 16, 2]], 1),
)

PAD_BATCH = Exercise(
    id="tokenization.pad_batch",
    title="Pad a batch",
    kind="code",
    difficulty=1,
    minutes=5,
    signature="pad_batch(rows: list[list[int]], pad_id: int = 0) -> LongTensor (B, max)",
    statement=(
        "Put B rows of token numbers, none of them empty, into one LongTensor (B, max), where max "
        "is the length of the longest row. The rows keep their order; shorter ones are filled up "
        "with pad_id at the end. The given lists are not changed."
    ),
    objective="Make a tensor of sentences that are not equally long.",
    prerequisite="Section 5.1 of the paper",
    hints=(
        "What shape has the batch of [5, 6, 2] and [7, 2], and which entry of it is not a word?",
        "Find the length of the longest row first. How many places is each of the others short?",
        "`row + [pad_id] * (longest - len(row))` is a row of full length, and a new list. "
        "`torch.tensor` makes a LongTensor of such rows.",
    ),
    reference=pad_batch,
    explanation=(
        "A tensor has no ragged rows, so the short ones are filled up with a token that every mask "
        "and loss leaves out. As many as the longest row of this batch needs, not of the whole "
        "corpus: what is padded is computed and thrown away, which is why section 5.1 puts "
        "sentences of about the same length together."
    ),
    cases=CASES,
    mistakes=page(__file__, pad_batch),
    alternatives=(_by_filling, _by_torch, _by_columns, _by_numpy),
    starter=(
        "def pad_batch(rows, pad_id=0):\n"
        '    """B lists of token numbers -> LongTensor (B, length of the longest)."""\n'
        "    ...  # your code"
    ),
)
