"""Mistakes of `training.shift_targets` in where the target is cut."""

from functools import partial

import torch
from torch import Tensor

from annotated_transformer.exercises.content.training.shift_targets_variants import (
    LOST,
    Tensors,
    cut_both,
)
from annotated_transformer.exercises.exercise import Mistake


def _rolled(tgt: Tensor, by: int = -1) -> Tensors:
    return tgt, tgt.roll(by, dims=1)


def _filled(tgt: Tensor, value: int) -> Tensors:
    """Both of full length: the last label is a filler."""
    return tgt, torch.cat([tgt[:, 1:], torch.full_like(tgt[:, :1], value)], dim=1)


def _bos_added(tgt: Tensor, value: int = 1) -> Tensors:
    return torch.cat([torch.full_like(tgt[:, :1], value), tgt[:, :-1]], dim=1), tgt


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


def _prefixes(tgt: Tensor) -> Tensors:
    given, wanted = cut_both(tgt)
    return given[:, None].expand(-1, given.size(1), -1).tril(), wanted


CUTS = (
    Mistake("same-tokens", partial(cut_both, wanted=(0, -1)), _COPY),
    Mistake("same-tokens-without-bos", partial(cut_both, given=(1, None)), _COPY),
    Mistake("same-tokens-uncut", lambda tgt: (tgt, tgt), _COPY + " Neither is cut, besides."),
    Mistake(
        "exchanged",
        partial(cut_both, given=(1, None), wanted=(0, -1)),
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
    Mistake("batch-axis", partial(cut_both, dim=0), _BATCH_AXIS),
    Mistake(
        "batch-axis-exchanged",
        partial(cut_both, dim=0, given=(1, None), wanted=(0, -1)),
        _BATCH_AXIS + " And input and labels are exchanged.",
    ),
    Mistake(
        "shifted-by-two",
        partial(cut_both, given=(0, -2), wanted=(2, None)),
        "The shift is two tokens instead of one, so each position is asked for the word after the "
        "next. Label t is token t + 1.",
    ),
    Mistake(
        "cut-on-both-sides",
        partial(cut_both, given=(1, -1), wanted=(1, -1)),
        "First and last token are cut from both. The input needs the first (with it the first "
        "word is predicted), the labels need the last (the model must learn to stop).",
    ),
    Mistake(
        "labels-without-last",
        partial(cut_both, given=(0, -2), wanted=(1, -1)),
        "The last token is missing from the labels, so the end of sentence is never learned. "
        "Labels are all but the first, `tgt[:, 1:]`.",
    ),
    Mistake(
        "input-without-first",
        partial(cut_both, given=(1, -1), wanted=(2, None)),
        "The first token is missing from the input, so the first word is never predicted from the "
        "begin of sentence. The input is all but the last, `tgt[:, :-1]`.",
    ),
    Mistake(
        "labels-end-early",
        partial(cut_both, wanted=(1, -1)),
        "The labels lack the last token as well as the first, so the end of sentence is never "
        "learned and the lengths differ. `tgt[:, 1:]` goes to the end.",
    ),
    Mistake(
        "input-starts-late",
        partial(cut_both, given=(1, -1)),
        "The input lacks the first token as well as the last. It begins with the begin of "
        "sentence, from which the first word is predicted: `tgt[:, :-1]`.",
    ),
    Mistake(
        "last-token-only",
        partial(cut_both, wanted=(-1, None)),
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
        "first-token-only",
        partial(cut_both, given=(0, 1)),
        "Only the first token is the input. Teacher forcing gives all tokens but the last at once; "
        "the causal mask hides what is later.",
    ),
    Mistake(
        "rolled-over-sentences",
        lambda tgt: (tgt[:, :-1], tgt.roll(-1, dims=0)[:, 1:]),
        "`roll` goes over axis 0, so a sentence gets the labels of another. Positions are axis 1, "
        "and no `roll` is needed: `tgt[:, 1:]`.",
    ),
    Mistake("input-only", lambda tgt: tgt[:, :-1], LOST.format("the input's tokens")),
    Mistake(
        "labels-next-number",
        lambda tgt: (tgt[:, :-1], tgt[:, :-1] + 1),
        "1 is added to the token *numbers*. The label is the token at the next *position*: "
        "`tgt[:, 1:]`.",
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
        "first-sentence-only",
        lambda tgt: (tgt[0, :-1], tgt[0, 1:]),
        "Only the first sentence comes back. Keep the batch: `tgt[:, :-1]` and `tgt[:, 1:]`.",
    ),
    Mistake(
        "all-prefixes",
        _prefixes,
        "The input holds every prefix of the sentence, one for each position. One row a sentence "
        "is enough: the causal mask hides what is later, so all positions are learned at once.",
    ),
    Mistake(
        "labels-of-the-first-sentence",
        lambda tgt: (tgt[:, :-1], tgt[0, 1:]),
        "The labels are those of the first sentence only. Each sentence has its own: `tgt[:, 1:]`.",
    ),
)
