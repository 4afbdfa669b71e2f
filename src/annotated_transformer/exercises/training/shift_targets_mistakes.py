"""Named mistakes of `training.shift_targets`."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake

Tensors = tuple[Tensor, Tensor]


def _cut(
    tgt: Tensor,
    *,
    given: tuple[int, int | None] = (0, -1),
    wanted: tuple[int, int | None] = (1, None),
    dim: int = 1,
) -> Tensors:
    def part(bounds: tuple[int, int | None]) -> Tensor:
        return tgt[:, slice(*bounds)] if dim == 1 else tgt[slice(*bounds)]

    return part(given), part(wanted)


def _rolled(tgt: Tensor, by: int = -1) -> Tensors:
    return tgt, tgt.roll(by, dims=1)


def _filled(tgt: Tensor, value: int) -> Tensors:
    """Both of full length: the last label is a filler."""
    return tgt, torch.cat([tgt[:, 1:], torch.full_like(tgt[:, :1], value)], dim=1)


def _bos_added(tgt: Tensor, value: int = 1) -> Tensors:
    return torch.cat([torch.full_like(tgt[:, :1], value), tgt[:, :-1]], dim=1), tgt


def _ignored(tgt: Tensor) -> Tensors:
    given, wanted = _cut(tgt)
    return given, wanted.masked_fill(wanted == 0, -100)


def _last_real_removed(tgt: Tensor) -> Tensors:
    """The input lacks each row's own last token, the end of sentence, wherever it stands."""
    given = tgt.clone()
    last = (tgt != 0).sum(1) - 1
    given[torch.arange(tgt.size(0)), last.clamp(min=0)] = 0
    return given[:, :-1], tgt[:, 1:]


def _flattened(tgt: Tensor) -> Tensors:
    given, wanted = _cut(tgt)
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
        given, wanted = _cut(tgt.clone())
        change(tgt)
        return given, wanted

    return shift


def _without(tgt: Tensor, *, given: int, wanted: int | None = None) -> Tensors:
    """One token replaced by padding wherever it stands, in the input alone or in both."""
    first, second = _cut(tgt)
    hidden = first.masked_fill(first == given, 0)
    return hidden, second if wanted is None else second.masked_fill(second == wanted, 0)


def _converted(tgt: Tensor, dtype: torch.dtype) -> Tensors:
    given, wanted = _cut(tgt)
    return given.to(dtype), wanted.to(dtype)


_ROLLED = (
    "`roll` puts the first token behind the last, so the model learns to predict the begin of "
    "sentence after the end, and both results keep n columns. Cut instead: `tgt[:, :-1]` and "
    "`tgt[:, 1:]`."
)
_COPY = (
    "Input and labels are the same tokens: the model is asked for the very token it is given, and "
    "copying solves that. The loss goes to zero and translation fails. Position t of the input "
    "predicts position t + 1 of tgt."
)
_FILLED = (
    "The labels are filled up to n columns, and the input still has its last token. That token "
    "predicts nothing: both are (B, n-1), `tgt[:, :-1]` and `tgt[:, 1:]`."
)
_BOS = (
    "A token is put in front of the whole of tgt, as if it had no begin of sentence. tgt begins "
    "with one already: the input is `tgt[:, :-1]` and the labels are `tgt[:, 1:]`, n - 1 columns "
    "each."
)
_BATCH_AXIS = (
    "The cut goes through the batch: the first index of a tensor is the sentence. Positions are "
    "the second: `tgt[:, :-1]`, not `tgt[:-1]`."
)
_FLOAT = (
    "The tokens are turned into floats. They are numbers of a table's rows: keep the dtype of tgt."
)
_LOST = "Only {} come back. Two tensors are asked for: `return decoder_input, labels`."

_CHANGED = (
    "The result is right, but tgt itself is changed in place on the way. The caller still needs "
    "it: slices are enough."
)


def _prefixes(tgt: Tensor) -> Tensors:
    given, wanted = _cut(tgt)
    return given[:, None].expand(-1, given.size(1), -1).tril(), wanted


MISTAKES = (
    Mistake("same-tokens", partial(_cut, wanted=(0, -1)), _COPY),
    Mistake("same-tokens-without-bos", partial(_cut, given=(1, None)), _COPY),
    Mistake("same-tokens-uncut", lambda tgt: (tgt, tgt), _COPY + " Neither is cut, besides."),
    Mistake(
        "exchanged",
        partial(_cut, given=(1, None), wanted=(0, -1)),
        "Input and labels are exchanged: the model would see a token and predict the one before "
        "it. Returned first is the decoder's input, all but the last token; then the labels, all "
        "but the first.",
    ),
    Mistake("rolled", _rolled, _ROLLED),
    Mistake(
        "rolled-right",
        partial(_rolled, by=1),
        _ROLLED + " This `roll` goes the wrong way, too: label t is token t - 1.",
    ),
    Mistake("rolled-input", lambda tgt: (tgt.roll(1, dims=1), tgt), _ROLLED),
    Mistake(
        "rolled-through-the-batch",
        lambda tgt: (tgt, tgt.roll(-1)),
        "`roll` without `dims` goes through the flattened tensor, so each row ends with the first "
        "token of the next sentence. Cut instead: `tgt[:, :-1]` and `tgt[:, 1:]`.",
    ),
    Mistake(
        "rolled-back",
        lambda tgt: (tgt[:, :-1], tgt.roll(1, dims=1)[:, :-1]),
        "The labels are shifted to the right instead of the left: label t is token t - 1, and the "
        "last token comes to the front. Label t is token t + 1: `tgt[:, 1:]`.",
    ),
    Mistake(
        "input-uncut",
        lambda tgt: (tgt, tgt[:, 1:]),
        "The input keeps its last token, so it has n positions for n - 1 labels. The last token "
        "predicts nothing: `tgt[:, :-1]`.",
    ),
    Mistake(
        "labels-uncut",
        lambda tgt: (tgt[:, :-1], tgt),
        "The labels keep the first token, so there are n labels for n - 1 positions, and position "
        "t would be asked for token t itself. Nothing predicts the begin of sentence: "
        "`tgt[:, 1:]`.",
    ),
    Mistake("labels-filled", partial(_filled, value=0), _FILLED),
    Mistake("labels-filled-minus-hundred", partial(_filled, value=-100), _FILLED),
    Mistake("labels-filled-eos", partial(_filled, value=2), _FILLED),
    Mistake("bos-added", _bos_added, _BOS),
    Mistake("zero-added", partial(_bos_added, value=0), _BOS),
    Mistake("eos-added", partial(_bos_added, value=2), _BOS),
    Mistake("batch-axis", partial(_cut, dim=0), _BATCH_AXIS),
    Mistake(
        "batch-axis-exchanged",
        partial(_cut, dim=0, given=(1, None), wanted=(0, -1)),
        _BATCH_AXIS + " And input and labels are exchanged.",
    ),
    Mistake(
        "shifted-by-two",
        partial(_cut, given=(0, -2), wanted=(2, None)),
        "The shift is two tokens instead of one, so each position is asked for the word after the "
        "next. Label t is token t + 1.",
    ),
    Mistake(
        "cut-on-both-sides",
        partial(_cut, given=(1, -1), wanted=(1, -1)),
        "First and last token are cut from both. The input needs the first (with it the first "
        "word is predicted), the labels need the last (the model must learn to stop).",
    ),
    Mistake(
        "labels-without-last",
        partial(_cut, given=(0, -2), wanted=(1, -1)),
        "The last token is missing from the labels, so the end of sentence is never learned. "
        "Labels are all but the first, `tgt[:, 1:]`.",
    ),
    Mistake(
        "input-without-first",
        partial(_cut, given=(1, -1), wanted=(2, None)),
        "The first token is missing from the input, so the first word is never predicted from the "
        "begin of sentence. The input is all but the last, `tgt[:, :-1]`.",
    ),
    Mistake(
        "labels-end-early",
        partial(_cut, wanted=(1, -1)),
        "The labels lack the last token as well as the first, so the end of sentence is never "
        "learned and the lengths differ. `tgt[:, 1:]` goes to the end.",
    ),
    Mistake(
        "input-starts-late",
        partial(_cut, given=(1, -1)),
        "The input lacks the first token as well as the last. It begins with the begin of "
        "sentence, from which the first word is predicted: `tgt[:, :-1]`.",
    ),
    Mistake(
        "last-token-only",
        partial(_cut, wanted=(-1, None)),
        "Only the last token is the label, as for a classifier. Every position predicts its "
        "successor: all tokens but the first are labels.",
    ),
    Mistake(
        "last-token-only-flat",
        lambda tgt: (tgt[:, :-1], tgt[:, -1]),
        "Only the last token is the label, as for a classifier. Every position predicts its "
        "successor: all tokens but the first are labels.",
    ),
    Mistake(
        "labels-one-hot",
        lambda tgt: (tgt[:, :-1], torch.nn.functional.one_hot(tgt[:, 1:])),
        "The labels are one-hot vectors. Keep token numbers, (B, n-1): the loss makes of them what "
        "it needs.",
    ),
    Mistake(
        "first-token-only",
        partial(_cut, given=(0, 1)),
        "Only the first token is the input. Teacher forcing gives all tokens but the last at once; "
        "the causal mask hides what is later.",
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
        lambda tgt: _cut(tgt.flip(1)),
        "The sentences are reversed before the cut. Only cut.",
    ),
    Mistake(
        "rolled-over-sentences",
        lambda tgt: (tgt[:, :-1], tgt.roll(-1, dims=0)[:, 1:]),
        "`roll` goes over axis 0, so a sentence gets the labels of another. Positions are axis 1, "
        "and no `roll` is needed: `tgt[:, 1:]`.",
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
        lambda tgt: torch.stack(_cut(tgt)),
        "Both are stacked into one tensor (2, B, n-1). Return two tensors: `return decoder_input, "
        "labels`.",
    ),
    Mistake("input-only", lambda tgt: tgt[:, :-1], _LOST.format("the input's tokens")),
    Mistake("labels-only", lambda tgt: tgt[:, 1:], _LOST.format("the labels")),
    Mistake(
        "dictionary",
        lambda tgt: dict(zip(("decoder_input", "labels"), _cut(tgt), strict=True)),
        "A dictionary is returned. Return two tensors: `return decoder_input, labels`.",
    ),
    Mistake(
        "three-returned",
        lambda tgt: (*_cut(tgt), tgt[:, 1:] != 0),
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
        "labels-next-number",
        lambda tgt: (tgt[:, :-1], tgt[:, :-1] + 1),
        "1 is added to the token *numbers*. The label is the token at the next *position*: "
        "`tgt[:, 1:]`.",
    ),
    Mistake(
        "axis-behind",
        lambda tgt: (tgt[:, :-1, None], tgt[:, 1:, None]),
        "There is an axis too many at the end. Asked for is (B, n-1).",
    ),
    Mistake(
        "halves",
        lambda tgt: tuple(tgt.chunk(2, dim=1)),
        "The sentence is cut into two halves. Input and labels are both nearly the whole sentence, "
        "shifted by one: `tgt[:, :-1]` and `tgt[:, 1:]`.",
    ),
    Mistake(
        "even-and-odd",
        lambda tgt: (tgt[:, ::2], tgt[:, 1::2]),
        "Every other token goes into the input, the others into the labels. Every token but the "
        "last is input: `tgt[:, :-1]` and `tgt[:, 1:]`.",
    ),
    Mistake(
        "rolled-and-exchanged",
        lambda tgt: (tgt.roll(-1, dims=1), tgt),
        _ROLLED + " And input and labels are exchanged.",
    ),
    Mistake(
        "labels-reversed",
        lambda tgt: (tgt[:, :-1], tgt.flip(1)[:, 1:]),
        "The labels are in reverse order. Only cut: `tgt[:, 1:]`.",
    ),
    Mistake(
        "first-sentence-only",
        lambda tgt: (tgt[0, :-1], tgt[0, 1:]),
        "Only the first sentence comes back. Keep the batch: `tgt[:, :-1]` and `tgt[:, 1:]`.",
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
        "all-prefixes",
        _prefixes,
        "The input holds every prefix of the sentence, one for each position. One row a sentence "
        "is enough: the causal mask hides what is later, so all positions are learned at once.",
    ),
    Mistake(
        "one-tensor-joined",
        lambda tgt: torch.cat(_cut(tgt)),
        "Both are joined into one tensor. Return two tensors: `return decoder_input, labels`.",
    ),
    Mistake(
        "labels-of-the-first-sentence",
        lambda tgt: (tgt[:, :-1], tgt[0, 1:]),
        "The labels are those of the first sentence only. Each sentence has its own: `tgt[:, 1:]`.",
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
