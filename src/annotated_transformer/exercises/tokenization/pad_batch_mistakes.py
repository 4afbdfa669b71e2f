"""Named mistakes of `tokenization.pad_batch`."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake

Rows = list[list[int]]


def _padded(
    rows: Rows,
    pad_id: int = 0,
    *,
    length: Callable[[list[int]], int] = max,
    left: bool = False,
    both: bool = False,
    fill: Callable[[list[int]], int] | None = None,
) -> Tensor:
    """Rows cut or filled to one length, which is a function of their lengths."""
    width = length([len(row) for row in rows])
    filled = []
    for row in rows:
        row = row[:width]
        missing = width - len(row)
        before = missing if left else missing // 2 if both else 0
        value = pad_id if fill is None else fill(row)
        filled.append([value] * before + row + [value] * (missing - before))
    return torch.tensor(filled, dtype=torch.long)


def _shared(rows: Rows, pad_id: int = 0) -> Tensor:
    longest = max(len(row) for row in rows)
    for row in rows:
        row.extend([pad_id] * (longest - len(row)))
    return torch.tensor(rows)


def _wrapped(rows: Rows, pad_id: int = 0) -> Tensor:
    longest = max(len(row) for row in rows)
    return torch.tensor([[row[i % len(row)] for i in range(longest)] for row in rows])


def _cleaned(rows: Rows, pad_id: int = 0) -> Tensor:
    longest = max(len(row) for row in rows)
    kept = [[token for token in row if token != pad_id] for row in rows]
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in kept])


def _framed(rows: Rows, pad_id: int = 0) -> Tensor:
    return _padded([[1, *row, 2] for row in rows], pad_id)


def _ended(rows: Rows, pad_id: int = 0) -> Tensor:
    return _padded([[*row, 2] for row in rows], pad_id)


def _largest_number(rows: Rows, pad_id: int = 0) -> Tensor:
    return _padded(rows, pad_id, length=lambda lengths: max(max(row) for row in rows))


def _largest_row(rows: Rows, pad_id: int = 0) -> Tensor:
    return _padded(rows, pad_id, length=lambda lengths: len(max(rows)))


def _flat(rows: Rows, pad_id: int = 0) -> Tensor:
    return torch.tensor([token for row in rows for token in row])


def _sorted(rows: Rows, pad_id: int = 0, reverse: bool = False) -> Tensor:
    return _padded(sorted(rows, key=len, reverse=reverse), pad_id)


def _last_row_lost(rows: Rows, pad_id: int = 0) -> Tensor:
    batch = _padded(rows, pad_id)
    batch[-1] = pad_id
    return batch


_GLOBAL = (
    "Every batch is padded to a fixed length. The length of the longest row of *this* batch is "
    "enough: padding costs time and memory and is thrown away. Take `max(len(row) for row in "
    "rows)`."
)
_CUT = (
    "Longer rows are cut off at the length of {}. Words are lost, the end of sentence among them. "
    "Pad the shorter rows instead: to `max(len(row) for row in rows)`."
)
_VALUE = (
    "The rows are filled up with {} instead of `pad_id`. A mask made by `tokens != pad_id` would "
    "take them for words."
)
_DEFAULT = "Without a pad_id the rows are filled up with another number. The default is 0."
_SMALL = (
    "The numbers are in a small integer dtype, which holds no large vocabulary. Asked for is "
    "torch's LongTensor, int64: `dtype=torch.long`."
)
_ROUNDED = (
    "The length is rounded up to a multiple of {}, which some accelerators like. Asked for is the "
    "length of the longest row, no more."
)


def _default(value: int) -> Candidate:
    def pad(rows: Rows, pad_id: int = value) -> Tensor:
        return _padded(rows, pad_id)

    return pad


def _converted(dtype: torch.dtype) -> Candidate:
    return lambda rows, pad_id=0: _padded(rows, pad_id).to(dtype)


def _always(size: int) -> Callable[[list[int]], int]:
    return lambda lengths: size


def _up_to(unit: int) -> Callable[[list[int]], int]:
    return lambda lengths: -(-max(lengths) // unit) * unit


_FIXED = tuple(
    Mistake(f"length-{size}", partial(_padded, length=_always(size)), _GLOBAL)
    for size in (10, 16, 20, 32, 50, 64, 100, 128, 256, 512, 1024)
)


def _before_the_last(rows: Rows, pad_id: int = 0) -> Tensor:
    longest = max(len(row) for row in rows)
    return torch.tensor([row[:-1] + [pad_id] * (longest - len(row)) + row[-1:] for row in rows])


def _zeros_replaced(rows: Rows, pad_id: int = 0) -> Tensor:
    batch = _padded(rows, 0)
    return batch.masked_fill(batch == 0, pad_id)


MISTAKES = (
    *_FIXED,
    Mistake("cut-to-shortest", partial(_padded, length=min), _CUT.format("the shortest")),
    Mistake(
        "cut-to-first",
        partial(_padded, length=lambda lengths: lengths[0]),
        _CUT.format("the first"),
    ),
    Mistake(
        "cut-to-last", partial(_padded, length=lambda lengths: lengths[-1]), _CUT.format("the last")
    ),
    Mistake(
        "cut-to-largest-row",
        _largest_row,
        "The length is that of `max(rows)`. Lists are compared number by number, like words in a "
        "dictionary, so that is the row with the largest first number, not the longest. Take "
        "`max(len(row) for row in rows)` or `max(rows, key=len)`.",
    ),
    Mistake(
        "cut-to-mean",
        partial(_padded, length=lambda lengths: sum(lengths) // len(lengths)),
        _CUT.format("the mean"),
    ),
    Mistake(
        "cut-by-one",
        partial(_padded, length=lambda lengths: max(lengths) - 1),
        "The batch is one column too short: the longest row loses its last token, the end of "
        "sentence. Make it as long as the longest row.",
    ),
    Mistake(
        "one-too-long",
        partial(_padded, length=lambda lengths: max(lengths) + 1),
        "The batch is one column too long: even the longest row ends with padding. Make it as long "
        "as the longest row.",
    ),
    Mistake("multiple-of-8", partial(_padded, length=_up_to(8)), _ROUNDED.format("8")),
    Mistake("multiple-of-4", partial(_padded, length=_up_to(4)), _ROUNDED.format("4")),
    Mistake("multiple-of-2", partial(_padded, length=_up_to(2)), _ROUNDED.format("2")),
    Mistake(
        "power-of-two",
        partial(_padded, length=lambda lengths: 2 ** (max(lengths) - 1).bit_length()),
        "The length is rounded up to a power of two. Asked for is the length of the longest row, "
        "no more.",
    ),
    Mistake(
        "sum-of-lengths",
        partial(_padded, length=sum),
        "The batch is as long as all rows together. It needs the length of the longest row only.",
    ),
    Mistake(
        "as-long-as-the-batch",
        partial(_padded, length=lambda lengths: max(len(lengths), max(lengths))),
        "The number of rows is used as a length. The length of the batch is that of the longest "
        "row, whatever the number of rows.",
    ),
    Mistake(
        "padded-on-the-left",
        partial(_padded, left=True),
        "The padding stands in front of the words. Positions count from the left, so it goes "
        "behind them: `row + [pad_id] * missing`. (On the left is the custom for *generating* with "
        "decoder-only models.)",
    ),
    Mistake(
        "padded-on-both-sides",
        partial(_padded, both=True),
        "The padding is shared between both sides. It goes behind the words.",
    ),
    Mistake(
        "always-zero",
        lambda rows, pad_id=0: _padded(rows, 0),
        "The rows are always filled up with 0: `pad_id` is ignored. Another vocabulary has another "
        "number for padding, and there 0 is a word.",
    ),
    Mistake(
        "default-is-one",
        lambda rows, pad_id=1: _padded(rows, pad_id),
        "Without a pad_id the rows are filled up with 1. The default is 0; 1 is the begin of "
        "sentence.",
    ),
    *(Mistake(f"default-is-{value}", _default(value), _DEFAULT) for value in (-1, -100, 2, 3)),
    Mistake("always-one", partial(_padded, fill=lambda row: 1), _VALUE.format("1")),
    Mistake("always-minus-one", partial(_padded, fill=lambda row: -1), _VALUE.format("-1")),
    Mistake(
        "always-minus-hundred",
        partial(_padded, fill=lambda row: -100),
        _VALUE.format("-100, the number that torch's cross-entropy ignores,"),
    ),
    Mistake(
        "last-token-repeated",
        partial(_padded, fill=lambda row: row[-1]),
        _VALUE.format("copies of their last token"),
    ),
    Mistake("rows-repeated", _wrapped, _VALUE.format("their own tokens from the start")),
    Mistake(
        "pads-removed-first",
        _cleaned,
        "Tokens that equal pad_id are taken out of the rows first. Every token stays where it is; "
        "only what is missing at the end is filled.",
    ),
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
        lambda rows, pad_id=0: _padded(rows, pad_id).T,
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
        lambda rows, pad_id=0: _padded(rows, pad_id).flatten(),
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
        lambda rows, pad_id=0: _padded(rows[::-1], pad_id),
        "The rows come back in reverse order. Keep their order.",
    ),
    Mistake(
        "tokens-reversed",
        lambda rows, pad_id=0: _padded([row[::-1] for row in rows], pad_id),
        "The tokens of each row are reversed. Only pad.",
    ),
    Mistake(
        "last-row-lost",
        _last_row_lost,
        "The last row is empty: the loop ends one too early.",
    ),
    Mistake(
        "float",
        lambda rows, pad_id=0: _padded(rows, pad_id).float(),
        "The numbers are right, but they are floats, as `zeros` of torch and NumPy gives. Token "
        "numbers index a table, so they are integers: `dtype=torch.long`, or `torch.full` with an "
        "integer.",
    ),
    Mistake(
        "int32",
        lambda rows, pad_id=0: _padded(rows, pad_id).int(),
        "The numbers are right, but of dtype int32. Asked for is torch's LongTensor, int64, as "
        "losses and `gather` want it: `dtype=torch.long`.",
    ),
    *(
        Mistake(f"dtype-{name}", _converted(getattr(torch, name)), _SMALL)
        for name in ("int16", "int8", "uint8")
    ),
    Mistake(
        "axis-in-front",
        lambda rows, pad_id=0: _padded(rows, pad_id)[None],
        "There is an axis too many in front, (1, B, max). Asked for are two axes, (B, max).",
    ),
    Mistake(
        "axis-behind",
        lambda rows, pad_id=0: _padded(rows, pad_id)[..., None],
        "There is an axis too many at the end, (B, max, 1). Asked for are two axes, (B, max).",
    ),
    Mistake(
        "axes-of-masks",
        lambda rows, pad_id=0: _padded(rows, pad_id)[:, None, None],
        "The shape is that of a mask, (B, 1, 1, max). Asked for are two axes, (B, max).",
    ),
    Mistake(
        "dictionary",
        lambda rows, pad_id=0: {"input_ids": _padded(rows, pad_id)},
        "A dictionary is returned, as tokenizers of libraries do. Return the tensor alone.",
    ),
    Mistake(
        "first-row-only",
        lambda rows, pad_id=0: _padded(rows[:1], pad_id),
        "Only the first row comes back: is the `return` inside the loop?",
    ),
    Mistake(
        "tokens-sorted",
        lambda rows, pad_id=0: _padded([sorted(row) for row in rows], pad_id),
        "The tokens of each row are sorted. Keep their order: only pad.",
    ),
    Mistake(
        "lists",
        lambda rows, pad_id=0: _padded(rows, pad_id).tolist(),
        "The rows are padded, but they are lists. Make a tensor of them: `torch.tensor(rows)`.",
    ),
    Mistake(
        "list-of-tensors",
        lambda rows, pad_id=0: list(_padded(rows, pad_id)),
        "The rows are padded, but come back as a list of tensors. Put them into one: "
        "`torch.stack(rows)`.",
    ),
    Mistake(
        "numpy",
        lambda rows, pad_id=0: _padded(rows, pad_id).numpy(),
        "The rows are padded, but come back as a NumPy array. Make a tensor of it: "
        "`torch.from_numpy(array)`.",
    ),
    Mistake(
        "with-longest",
        lambda rows, pad_id=0: (_padded(rows, pad_id), max(len(row) for row in rows)),
        "The length comes back too. Return the padded tensor alone.",
    ),
    Mistake(
        "with-list-of-lengths",
        lambda rows, pad_id=0: (_padded(rows, pad_id), [len(row) for row in rows]),
        "The lengths come back too. Return the padded tensor alone.",
    ),
    Mistake(
        "with-mask",
        lambda rows, pad_id=0: (_padded(rows, pad_id), _padded(rows, pad_id) != pad_id),
        "A mask comes back too. Return the padded tensor alone.",
    ),
    Mistake(
        "largest-number-as-length",
        _largest_number,
        "The length is the largest *token number*, not the largest number of tokens. Take "
        "`max(len(row) for row in rows)`.",
    ),
    Mistake(
        "one-pad-each",
        lambda rows, pad_id=0: torch.tensor([[*row, pad_id] for row in rows]),
        "Every row gets one pad, whatever its length, so the rows still differ. Fill each up to "
        "the length of the longest: `row + [pad_id] * (longest - len(row))`.",
    ),
    Mistake(
        "columns-first-cut",
        lambda rows, pad_id=0: torch.tensor(list(zip(*rows, strict=False))),
        "`zip` stops at the end of the shortest row, so words are lost, and it turns rows into "
        "columns. Pad the shorter rows instead; the batch comes first.",
    ),
    Mistake(
        "with-lengths",
        lambda rows, pad_id=0: (_padded(rows, pad_id), torch.tensor([len(row) for row in rows])),
        "The lengths come back too. Return the padded tensor alone.",
    ),
    Mistake(
        "mask-returned",
        lambda rows, pad_id=0: _padded(rows, pad_id) != pad_id,
        "This is the mask of real tokens. Asked for are the tokens themselves, padded.",
    ),
    Mistake(
        "not-padded",
        lambda rows, pad_id=0: torch.tensor(rows),
        "Nothing is padded: a tensor cannot be made from rows of different lengths. Fill the "
        "shorter ones up with pad_id first.",
    ),
    Mistake(
        "changes-rows",
        _shared,
        "The batch is right, but the given rows are filled up too (`extend`, `append` or `+=` on "
        "them): the caller's sentences are changed for good. Make new lists, `row + [...]`.",
    ),
    Mistake(
        "square",
        partial(_padded, length=len),
        "Every row is cut or padded to B tokens, as many as there are rows. The length is that of "
        "the longest row: `max(len(row) for row in rows)`.",
    ),
    Mistake(
        "padded-before-the-last",
        _before_the_last,
        "The padding stands before the last token, so that every row ends with it. It goes behind "
        "the words, the end of sentence among them.",
    ),
    Mistake(
        "zeros-replaced",
        _zeros_replaced,
        "The batch is filled with 0 and every 0 then replaced by pad_id, those of the rows too. "
        "Where 0 is a word it must stay: fill only what is missing.",
    ),
    Mistake(
        "first-token-dropped",
        lambda rows, pad_id=0: _padded([row[1:] for row in rows], pad_id),
        "The first token of each row is lost. Every token stays: only pad.",
    ),
)
