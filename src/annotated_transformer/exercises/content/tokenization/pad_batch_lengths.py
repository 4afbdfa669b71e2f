"""Mistakes of `tokenization.pad_batch` in the length of the batch and in what fills it."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from annotated_transformer.exercises.content.tokenization.pad_batch_variants import Rows, pad_with
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _wrapped(rows: Rows, pad_id: int = 0) -> Tensor:
    longest = max(len(row) for row in rows)
    return torch.tensor([[row[i % len(row)] for i in range(longest)] for row in rows])


def _cleaned(rows: Rows, pad_id: int = 0) -> Tensor:
    longest = max(len(row) for row in rows)
    kept = [[token for token in row if token != pad_id] for row in rows]
    return torch.tensor([row + [pad_id] * (longest - len(row)) for row in kept])


def _largest_number(rows: Rows, pad_id: int = 0) -> Tensor:
    return pad_with(rows, pad_id, length=lambda lengths: max(max(row) for row in rows))


def _largest_row(rows: Rows, pad_id: int = 0) -> Tensor:
    return pad_with(rows, pad_id, length=lambda lengths: len(max(rows)))


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
_ROUNDED = (
    "The length is rounded up to a multiple of {}, which some accelerators like. Asked for is the "
    "length of the longest row, no more."
)


def _default(value: int) -> Candidate:
    def pad(rows: Rows, pad_id: int = value) -> Tensor:
        return pad_with(rows, pad_id)

    return pad


def _always(size: int) -> Callable[[list[int]], int]:
    return lambda lengths: size


def _up_to(unit: int) -> Callable[[list[int]], int]:
    return lambda lengths: -(-max(lengths) // unit) * unit


_FIXED = tuple(
    Mistake(f"length-{size}", partial(pad_with, length=_always(size)), _GLOBAL)
    for size in (10, 16, 20, 32, 50, 64, 100, 128, 256, 512, 1024)
)


def _before_the_last(rows: Rows, pad_id: int = 0) -> Tensor:
    longest = max(len(row) for row in rows)
    return torch.tensor([row[:-1] + [pad_id] * (longest - len(row)) + row[-1:] for row in rows])


def _zeros_replaced(rows: Rows, pad_id: int = 0) -> Tensor:
    batch = pad_with(rows, 0)
    return batch.masked_fill(batch == 0, pad_id)


LENGTHS = (
    *_FIXED,
    Mistake("cut-to-shortest", partial(pad_with, length=min), _CUT.format("the shortest")),
    Mistake(
        "cut-to-first",
        partial(pad_with, length=lambda lengths: lengths[0]),
        _CUT.format("the first"),
    ),
    Mistake(
        "cut-to-last",
        partial(pad_with, length=lambda lengths: lengths[-1]),
        _CUT.format("the last"),
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
        partial(pad_with, length=lambda lengths: sum(lengths) // len(lengths)),
        _CUT.format("the mean"),
    ),
    Mistake(
        "cut-by-one",
        partial(pad_with, length=lambda lengths: max(lengths) - 1),
        "The batch is one column too short: the longest row loses its last token, the end of "
        "sentence. Make it as long as the longest row.",
    ),
    Mistake(
        "one-too-long",
        partial(pad_with, length=lambda lengths: max(lengths) + 1),
        "The batch is one column too long: even the longest row ends with padding. Make it as long "
        "as the longest row.",
    ),
    Mistake("multiple-of-8", partial(pad_with, length=_up_to(8)), _ROUNDED.format("8")),
    Mistake("multiple-of-4", partial(pad_with, length=_up_to(4)), _ROUNDED.format("4")),
    Mistake("multiple-of-2", partial(pad_with, length=_up_to(2)), _ROUNDED.format("2")),
    Mistake(
        "power-of-two",
        partial(pad_with, length=lambda lengths: 2 ** (max(lengths) - 1).bit_length()),
        "The length is rounded up to a power of two. Asked for is the length of the longest row, "
        "no more.",
    ),
    Mistake(
        "sum-of-lengths",
        partial(pad_with, length=sum),
        "The batch is as long as all rows together. It needs the length of the longest row only.",
    ),
    Mistake(
        "as-long-as-the-batch",
        partial(pad_with, length=lambda lengths: max(len(lengths), max(lengths))),
        "The number of rows is used as a length. The length of the batch is that of the longest "
        "row, whatever the number of rows.",
    ),
    Mistake(
        "padded-on-the-left",
        partial(pad_with, left=True),
        "The padding stands in front of the words. Positions count from the left, so it goes "
        "behind them: `row + [pad_id] * missing`. (On the left is the custom for *generating* with "
        "decoder-only models.)",
    ),
    Mistake(
        "padded-on-both-sides",
        partial(pad_with, both=True),
        "The padding is shared between both sides. It goes behind the words.",
    ),
    Mistake(
        "always-zero",
        lambda rows, pad_id=0: pad_with(rows, 0),
        "The rows are always filled up with 0: `pad_id` is ignored. Another vocabulary has another "
        "number for padding, and there 0 is a word.",
    ),
    Mistake(
        "default-is-one",
        lambda rows, pad_id=1: pad_with(rows, pad_id),
        "Without a pad_id the rows are filled up with 1. The default is 0; 1 is the begin of "
        "sentence.",
    ),
    *(Mistake(f"default-is-{value}", _default(value), _DEFAULT) for value in (-1, -100, 2, 3)),
    Mistake("always-one", partial(pad_with, fill=lambda row: 1), _VALUE.format("1")),
    Mistake("always-minus-one", partial(pad_with, fill=lambda row: -1), _VALUE.format("-1")),
    Mistake(
        "always-minus-hundred",
        partial(pad_with, fill=lambda row: -100),
        _VALUE.format("-100, the number that torch's cross-entropy ignores,"),
    ),
    Mistake(
        "last-token-repeated",
        partial(pad_with, fill=lambda row: row[-1]),
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
        "not-padded",
        lambda rows, pad_id=0: torch.tensor(rows),
        "Nothing is padded: a tensor cannot be made from rows of different lengths. Fill the "
        "shorter ones up with pad_id first.",
    ),
    Mistake(
        "square",
        partial(pad_with, length=len),
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
)
