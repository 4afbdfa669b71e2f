"""Mistakes of `tokenization.pad_batch` in rows, axes and what comes back."""

from functools import partial

import torch
from torch import Tensor

from annotated_transformer.exercises.content.tokenization.pad_batch_variants import Rows, pad_with
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _shared(rows: Rows, pad_id: int = 0) -> Tensor:
    longest = max(len(row) for row in rows)
    for row in rows:
        row.extend([pad_id] * (longest - len(row)))
    return torch.tensor(rows)


def _framed(rows: Rows, pad_id: int = 0) -> Tensor:
    return pad_with([[1, *row, 2] for row in rows], pad_id)


def _ended(rows: Rows, pad_id: int = 0) -> Tensor:
    return pad_with([[*row, 2] for row in rows], pad_id)


def _flat(rows: Rows, pad_id: int = 0) -> Tensor:
    return torch.tensor([token for row in rows for token in row])


def _sorted(rows: Rows, pad_id: int = 0, reverse: bool = False) -> Tensor:
    return pad_with(sorted(rows, key=len, reverse=reverse), pad_id)


def _last_row_lost(rows: Rows, pad_id: int = 0) -> Tensor:
    batch = pad_with(rows, pad_id)
    batch[-1] = pad_id
    return batch


_SMALL = (
    "The numbers are in a small integer dtype, which holds no large vocabulary. Asked for is "
    "torch's LongTensor, int64: `dtype=torch.long`."
)


def _converted(dtype: torch.dtype) -> Candidate:
    return lambda rows, pad_id=0: pad_with(rows, pad_id).to(dtype)


RESULTS = (
    Mistake(
        "bos-and-eos-added",
        _framed,
        "Begin and end of sentence are added to the rows. They are there already where they are "
        "wanted: only pad.",
    ),
    Mistake(
        "eos-added",
        _ended,
        "An end of sentence is added to every row. It is there already where it is wanted: only "
        "pad.",
    ),
    Mistake(
        "columns-first",
        lambda rows, pad_id=0: pad_with(rows, pad_id).T,
        "The axes are exchanged: (max, B), as torch's `pad_sequence` gives by default and as "
        "`zip_longest` does. The batch comes first: `batch_first=True`, or transpose.",
    ),
    Mistake(
        "one-long-row",
        _flat,
        "The rows are put one after the other into one long row, so nobody knows where a sentence "
        "ends. Each row of the result is one sentence: (B, max).",
    ),
    Mistake(
        "flattened",
        lambda rows, pad_id=0: pad_with(rows, pad_id).flatten(),
        "The padded batch is flattened to one axis. It has two, (B, max).",
    ),
    Mistake(
        "sorted-ascending",
        _sorted,
        "The rows come back sorted by length. Keep their order, or source and target of a pair no "
        "longer belong together.",
    ),
    Mistake(
        "sorted-descending",
        partial(_sorted, reverse=True),
        "The rows come back sorted by length, the longest first, as packed sequences once needed. "
        "Keep their order, or source and target of a pair no longer belong together.",
    ),
    Mistake(
        "rows-reversed",
        lambda rows, pad_id=0: pad_with(rows[::-1], pad_id),
        "The rows come back in reverse order. Keep their order.",
    ),
    Mistake(
        "tokens-reversed",
        lambda rows, pad_id=0: pad_with([row[::-1] for row in rows], pad_id),
        "The tokens of each row are reversed. Only pad.",
    ),
    Mistake(
        "last-row-lost",
        _last_row_lost,
        "The last row is empty: the loop ends one too early.",
    ),
    Mistake(
        "float",
        lambda rows, pad_id=0: pad_with(rows, pad_id).float(),
        "The numbers are right, but they are floats, as `zeros` of torch and NumPy gives. Token "
        "numbers index a table, so they are integers: `dtype=torch.long`, or `torch.full` with an "
        "integer.",
    ),
    Mistake(
        "int32",
        lambda rows, pad_id=0: pad_with(rows, pad_id).int(),
        "The numbers are right, but of dtype int32. Asked for is torch's LongTensor, int64, as "
        "losses and `gather` want it: `dtype=torch.long`.",
    ),
    *(
        Mistake(f"dtype-{name}", _converted(getattr(torch, name)), _SMALL)
        for name in ("int16", "int8", "uint8")
    ),
    Mistake(
        "axis-in-front",
        lambda rows, pad_id=0: pad_with(rows, pad_id)[None],
        "There is an axis too many in front, (1, B, max). Asked for are two axes, (B, max).",
    ),
    Mistake(
        "axis-behind",
        lambda rows, pad_id=0: pad_with(rows, pad_id)[..., None],
        "There is an axis too many at the end, (B, max, 1). Asked for are two axes, (B, max).",
    ),
    Mistake(
        "axes-of-masks",
        lambda rows, pad_id=0: pad_with(rows, pad_id)[:, None, None],
        "The shape is that of a mask, (B, 1, 1, max). Asked for are two axes, (B, max).",
    ),
    Mistake(
        "dictionary",
        lambda rows, pad_id=0: {"input_ids": pad_with(rows, pad_id)},
        "A dictionary is returned, as tokenizers of libraries do. Return the tensor alone.",
    ),
    Mistake(
        "first-row-only",
        lambda rows, pad_id=0: pad_with(rows[:1], pad_id),
        "Only the first row comes back: is the `return` inside the loop?",
    ),
    Mistake(
        "tokens-sorted",
        lambda rows, pad_id=0: pad_with([sorted(row) for row in rows], pad_id),
        "The tokens of each row are sorted. Keep their order: only pad.",
    ),
    Mistake(
        "lists",
        lambda rows, pad_id=0: pad_with(rows, pad_id).tolist(),
        "The rows are padded, but they are lists. Make a tensor of them: `torch.tensor(rows)`.",
    ),
    Mistake(
        "list-of-tensors",
        lambda rows, pad_id=0: list(pad_with(rows, pad_id)),
        "The rows are padded, but come back as a list of tensors. Put them into one: "
        "`torch.stack(rows)`.",
    ),
    Mistake(
        "numpy",
        lambda rows, pad_id=0: pad_with(rows, pad_id).numpy(),
        "The rows are padded, but come back as a NumPy array. Make a tensor of it: "
        "`torch.from_numpy(array)`.",
    ),
    Mistake(
        "with-longest",
        lambda rows, pad_id=0: (pad_with(rows, pad_id), max(len(row) for row in rows)),
        "The length comes back too. Return the padded tensor alone.",
    ),
    Mistake(
        "with-list-of-lengths",
        lambda rows, pad_id=0: (pad_with(rows, pad_id), [len(row) for row in rows]),
        "The lengths come back too. Return the padded tensor alone.",
    ),
    Mistake(
        "with-mask",
        lambda rows, pad_id=0: (pad_with(rows, pad_id), pad_with(rows, pad_id) != pad_id),
        "A mask comes back too. Return the padded tensor alone.",
    ),
    Mistake(
        "columns-first-cut",
        lambda rows, pad_id=0: torch.tensor(list(zip(*rows, strict=False))),
        "`zip` stops at the end of the shortest row, so words are lost, and it turns rows into "
        "columns. Pad the shorter rows instead; the batch comes first.",
    ),
    Mistake(
        "with-lengths",
        lambda rows, pad_id=0: (pad_with(rows, pad_id), torch.tensor([len(row) for row in rows])),
        "The lengths come back too. Return the padded tensor alone.",
    ),
    Mistake(
        "mask-returned",
        lambda rows, pad_id=0: pad_with(rows, pad_id) != pad_id,
        "This is the mask of real tokens. Asked for are the tokens themselves, padded.",
    ),
    Mistake(
        "changes-rows",
        _shared,
        "The batch is right, but the given rows are filled up too (`extend`, `append` or `+=` on "
        "them): the caller's sentences are changed for good. Make new lists, `row + [...]`.",
    ),
    Mistake(
        "first-token-dropped",
        lambda rows, pad_id=0: pad_with([row[1:] for row in rows], pad_id),
        "The first token of each row is lost. Every token stays: only pad.",
    ),
)
