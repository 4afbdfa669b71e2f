"""Mistakes of `training.shift_targets` in the tokens and in what comes back."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from annotated_transformer.exercises.content.training.shift_targets_variants import (
    LOST,
    Tensors,
    cut_both,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _ignored(tgt: Tensor) -> Tensors:
    given, wanted = cut_both(tgt)
    return given, wanted.masked_fill(wanted == 0, -100)


def _last_real_removed(tgt: Tensor) -> Tensors:
    """The input lacks each row's own last token, the end of sentence, wherever it stands."""
    given = tgt.clone()
    last = (tgt != 0).sum(1) - 1
    given[torch.arange(tgt.size(0)), last.clamp(min=0)] = 0
    return given[:, :-1], tgt[:, 1:]


def _flattened(tgt: Tensor) -> Tensors:
    given, wanted = cut_both(tgt)
    return given, wanted.flatten()


def _one_row(tgt: Tensor) -> Tensors:
    row = tgt.flatten()
    return row[:-1], row[1:]


def _in_place(tgt: Tensor) -> Tensors:
    wanted = tgt[:, 1:].clone()
    given = tgt[:, :-1].clone()
    tgt[:, :-1] = wanted
    return given, wanted


def _then(change: Callable[[Tensor], object]) -> Candidate:
    """The right tensors as copies, and the given tgt changed."""

    def shift(tgt: Tensor) -> Tensors:
        given, wanted = cut_both(tgt.clone())
        change(tgt)
        return given, wanted

    return shift


def _without(tgt: Tensor, *, given: int, wanted: int | None = None) -> Tensors:
    """One token replaced by padding wherever it stands, in the input alone or in both."""
    first, second = cut_both(tgt)
    hidden = first.masked_fill(first == given, 0)
    return hidden, second if wanted is None else second.masked_fill(second == wanted, 0)


def _converted(tgt: Tensor, dtype: torch.dtype) -> Tensors:
    given, wanted = cut_both(tgt)
    return given.to(dtype), wanted.to(dtype)


_FLOAT = (
    "The tokens are turned into floats. They are numbers of a table's rows: keep the dtype of tgt."
)
_CHANGED = (
    "The result is right, but tgt itself is changed in place on the way. The caller still needs "
    "it: slices are enough."
)


RESULTS = (
    Mistake(
        "labels-one-hot",
        lambda tgt: (tgt[:, :-1], torch.nn.functional.one_hot(tgt[:, 1:])),
        "The labels are one-hot vectors. Keep token numbers, (B, n-1): the loss makes of them what "
        "it needs.",
    ),
    Mistake(
        "labels-padding-minus-hundred",
        _ignored,
        "Padding in the labels is replaced by -100, which torch's cross-entropy leaves out. Here "
        "the labels keep pad_id, and the loss looks for that.",
    ),
    Mistake(
        "eos-removed-from-input",
        partial(_without, given=2),
        "The end of sentence in the input is replaced by padding. That is neither needed nor asked "
        "for: what stands behind it in the labels is padding, which the loss leaves out.",
    ),
    Mistake(
        "eos-removed-from-both",
        partial(_without, given=2, wanted=2),
        "The end of sentence is replaced by padding in the input and in the labels, so the model "
        "never learns to stop. Only cut: the tokens stay as they are.",
    ),
    Mistake(
        "bos-removed-from-input",
        partial(_without, given=1),
        "The begin of sentence in the input is replaced by padding. It is what the first word is "
        "predicted from: only cut.",
    ),
    Mistake(
        "last-real-token-removed",
        _last_real_removed,
        "The last real token of each row is replaced by padding before the cut. Only the last "
        "*column* goes: in shorter rows that is padding already, and a label of padding is left "
        "out by the loss.",
    ),
    Mistake(
        "labels-cut-then-reversed",
        lambda tgt: (tgt[:, :-1], tgt[:, 1:].flip(1)),
        "The labels are in reverse order. Only cut: `tgt[:, 1:]`.",
    ),
    Mistake(
        "reversed",
        lambda tgt: (tgt[:, :-1].flip(1), tgt[:, 1:].flip(1)),
        "The tokens are in reverse order. Only cut.",
    ),
    Mistake(
        "reversed-then-cut",
        lambda tgt: cut_both(tgt.flip(1)),
        "The sentences are reversed before the cut. Only cut.",
    ),
    Mistake(
        "transposed",
        lambda tgt: (tgt[:, :-1].T, tgt[:, 1:].T),
        "The axes are exchanged, (n-1, B). The batch comes first: (B, n-1).",
    ),
    Mistake(
        "labels-flattened",
        _flattened,
        "The labels are flattened to one axis, as for `F.cross_entropy`. Asked for is (B, n-1); "
        "the loss can flatten them itself.",
    ),
    Mistake(
        "one-long-row",
        _one_row,
        "The batch is flattened into one long row before the shift, so the last token of a "
        "sentence predicts the first of the next. Shift within each row: `tgt[:, 1:]`.",
    ),
    Mistake(
        "one-tensor",
        lambda tgt: torch.stack(cut_both(tgt)),
        "Both are stacked into one tensor (2, B, n-1). Return two tensors: `return decoder_input, "
        "labels`.",
    ),
    Mistake("labels-only", lambda tgt: tgt[:, 1:], LOST.format("the labels")),
    Mistake(
        "dictionary",
        lambda tgt: dict(zip(("decoder_input", "labels"), cut_both(tgt), strict=True)),
        "A dictionary is returned. Return two tensors: `return decoder_input, labels`.",
    ),
    Mistake(
        "three-returned",
        lambda tgt: (*cut_both(tgt), tgt[:, 1:] != 0),
        "Three things are returned, a mask among them. Asked for are two: decoder input and "
        "labels.",
    ),
    Mistake("float", partial(_converted, dtype=torch.float32), _FLOAT),
    Mistake(
        "int32",
        partial(_converted, dtype=torch.int32),
        "The tokens are turned into int32. Keep the dtype of tgt, int64: losses and `gather` want "
        "it.",
    ),
    Mistake("double", partial(_converted, dtype=torch.float64), _FLOAT),
    Mistake(
        "labels-float",
        lambda tgt: (tgt[:, :-1], tgt[:, 1:].float()),
        _FLOAT,
    ),
    Mistake(
        "labels-as-mask",
        lambda tgt: (tgt[:, :-1], tgt[:, 1:] != 0),
        "The labels are a mask of real tokens. Asked for are the tokens themselves.",
    ),
    Mistake(
        "axis-behind",
        lambda tgt: (tgt[:, :-1, None], tgt[:, 1:, None]),
        "There is an axis too many at the end. Asked for is (B, n-1).",
    ),
    Mistake(
        "labels-reversed",
        lambda tgt: (tgt[:, :-1], tgt.flip(1)[:, 1:]),
        "The labels are in reverse order. Only cut: `tgt[:, 1:]`.",
    ),
    Mistake(
        "lists",
        lambda tgt: (tgt[:, :-1].tolist(), tgt[:, 1:].tolist()),
        "Lists are returned. Keep tensors: slicing `tgt` gives them.",
    ),
    Mistake("changes-tgt", _in_place, _CHANGED),
    Mistake("clears-last-column", _then(lambda tgt: tgt[:, -1].zero_()), _CHANGED),
    Mistake("clears-first-column", _then(lambda tgt: tgt[:, 0].zero_()), _CHANGED),
    Mistake("marks-padding-in-tgt", _then(lambda tgt: tgt.masked_fill_(tgt == 0, -100)), _CHANGED),
    Mistake(
        "one-tensor-joined",
        lambda tgt: torch.cat(cut_both(tgt)),
        "Both are joined into one tensor. Return two tensors: `return decoder_input, labels`.",
    ),
    Mistake(
        "labels-padding-eos",
        lambda tgt: (tgt[:, :-1], tgt[:, 1:].masked_fill(tgt[:, 1:] == 0, 2)),
        "Padding in the labels is replaced by the end of sentence, so the model would learn to "
        "write it again and again. The tokens stay as they are, padding too.",
    ),
    Mistake(
        "pairs-of-rows",
        lambda tgt: [(row[:-1], row[1:]) for row in tgt],
        "A list with one pair for each sentence is returned. Asked for are two tensors for the "
        "whole batch: `tgt[:, :-1]` and `tgt[:, 1:]`.",
    ),
)
