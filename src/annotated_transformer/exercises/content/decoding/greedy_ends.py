"""Mistakes of `decoding.greedy` at the ends of sentences: rows that are done, and when it stops."""

from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.decoding.greedy_steps import (
    Setting,
    decoder_of,
)
from annotated_transformer.exercises.exercise import Mistake

_NOT_FROZEN = (
    "Rows that have emitted eos go on: ordinary tokens follow their eos. The model always proposes "
    "something, so a done row has to be overruled: keep a boolean `done` for each row and write "
    "pad where it is True."
)

_FILLED = (
    "A row that is done is filled with something else than pad. Behind its eos comes nothing but "
    "pad, which the loss and the masks know how to ignore."
)

_TOO_EARLY = (
    "pad is written in place of eos itself: the row is marked as done before its eos is written. "
    "The eos belongs to the result; only the columns *after* it are pad. Choose pad or token by "
    "`done` first, update `done` afterwards."
)

_TOO_LATE = (
    "A row is frozen one step too late: one more token slips in behind its eos. Update `done` in "
    "the step that writes eos, so that the very next column is pad."
)

_ANY = (
    "Decoding stops for the whole batch when *one* row has emitted eos (`any`), so the other "
    "sentences are cut off. Stop when every row has (`done.all()`)."
)

_AT_ONCE = (
    "Decoding stops only if all rows emit eos in the same step: earlier eos are not remembered. "
    "Keep `done` across the steps, `done = done | (token == eos)`, and stop at `done.all()`."
)

_NEVER = (
    "Decoding always runs for max_len steps, so the result has columns of nothing but pad. Stop as "
    "soon as every row has emitted eos: the last column then holds an eos."
)

_ONE_STEP_LATE = (
    "Decoding stops one step too late: the last column is all pad. Test whether every row is done "
    "right after writing the token, before the model is asked again."
)

_ONE_STEP = (
    "A row gets pad only in the step right behind its eos and then goes on with ordinary tokens: "
    "whether it is done is told from the last token alone, `done = token == eos`. Remember it for "
    "good, `done = done | (token == eos)`."
)

_LAST_LOST = (
    "The loop is left before the last column is written, so the eos that ends the longest sentence "
    "is missing. Append the token first, then test `done.all()`."
)

_NO_BOS = (
    "bos is missing from the result. Column 0 is bos; the generated tokens follow from column 1."
)


def _unfrozen(token: Tensor, done: Tensor, tokens: Tensor, s: Setting) -> Tensor:
    return token


def _frozen_by_last(token: Tensor, done: Tensor, tokens: Tensor, s: Setting) -> Tensor:
    """pad only right behind an eos: the state is not kept."""
    return torch.where(tokens[:, -1] == s.eos, s.pad, token)


def _pads_from_eos_on(token: Tensor, done: Tensor, tokens: Tensor, s: Setting) -> Tensor:
    return torch.where(done | (token == s.eos), s.pad, token)


def _one_late(token: Tensor, done: Tensor, tokens: Tensor, s: Setting) -> Tensor:
    ended = (tokens[:, :-1] == s.eos).any(dim=1)
    return torch.where(ended, s.pad, token)


def _tokens_repeated(token: Tensor, done: Tensor, tokens: Tensor, s: Setting) -> Tensor:
    return torch.where(done, tokens[:, -1], token)


def _all_frozen_with_one(token: Tensor, done: Tensor, tokens: Tensor, s: Setting) -> Tensor:
    return torch.full_like(token, s.pad) if done.any() else token


def _eos_or_pad(done: Tensor, token: Tensor, s: Setting) -> Tensor:
    return done | (token == s.pad)


def _first_row_decides(done: Tensor, token: Tensor, s: Setting) -> Any:
    return done[0]


def _last_row_decides(done: Tensor, token: Tensor, s: Setting) -> Any:
    return done[-1]


def _never(done: Tensor, token: Tensor, s: Setting) -> bool:
    return False


def _any(done: Tensor, token: Tensor, s: Setting) -> Any:
    return done.any()


def _at_once(done: Tensor, token: Tensor, s: Setting) -> Any:
    return (token == s.eos).all()


def _one_step_late(done: Tensor, token: Tensor, s: Setting) -> Any:
    return (token == s.pad).all()


END_MISTAKES = (
    Mistake("not-frozen", decoder_of(freeze=_unfrozen), _NOT_FROZEN),
    Mistake("not-frozen-not-stopped", decoder_of(freeze=_unfrozen, stop=_never), _NOT_FROZEN),
    Mistake("not-frozen-stopped-at-once", decoder_of(freeze=_unfrozen, stop=_at_once), _AT_ONCE),
    Mistake("frozen-for-one-step", decoder_of(freeze=_frozen_by_last), _ONE_STEP),
    Mistake(
        "frozen-for-one-step-stopped-at-once",
        decoder_of(freeze=_frozen_by_last, stop=_at_once),
        _ONE_STEP,
    ),
    Mistake(
        "frozen-for-one-step-never-stopped",
        decoder_of(freeze=_frozen_by_last, stop=_never),
        _ONE_STEP + " Besides, decoding does not stop when every row has emitted eos.",
    ),
    Mistake("filled-with-eos", decoder_of(freeze=_tokens_repeated), _FILLED),
    Mistake(
        "filled-with-eos-to-the-end",
        decoder_of(freeze=_tokens_repeated, stop=_never),
        _FILLED,
    ),
    Mistake(
        "filled-with-bos",
        decoder_of(freeze=lambda token, done, tokens, s: torch.where(done, s.bos, token)),
        _FILLED,
    ),
    Mistake(
        "filled-with-minus-one",
        decoder_of(freeze=lambda token, done, tokens, s: torch.where(done, -1, token)),
        _FILLED,
    ),
    Mistake("pad-for-eos", decoder_of(freeze=_pads_from_eos_on, mark=_eos_or_pad), _TOO_EARLY),
    Mistake(
        "pad-for-eos-never-stopped",
        decoder_of(freeze=_pads_from_eos_on, mark=_eos_or_pad, stop=_never),
        _TOO_EARLY,
    ),
    Mistake("frozen-one-late", decoder_of(freeze=_one_late), _TOO_LATE),
    Mistake(
        "frozen-and-stopped-one-late",
        decoder_of(freeze=_one_late, stop=_one_step_late),
        _TOO_LATE,
    ),
    Mistake(
        "all-frozen-with-one",
        decoder_of(freeze=_all_frozen_with_one),
        "As soon as one row has emitted eos, all rows get pad. Each row is done by itself: choose "
        "pad or token row by row, `torch.where(done, pad, token)`.",
    ),
    Mistake("stopped-by-any", decoder_of(stop=_any), _ANY),
    Mistake("stopped-by-any-before-writing", decoder_of(stop=_any, stop_before_writing=True), _ANY),
    Mistake("stopped-by-the-first-row", decoder_of(stop=_first_row_decides), _ANY),
    Mistake("stopped-by-the-last-row", decoder_of(stop=_last_row_decides), _ANY),
    Mistake("stopped-at-once-only", decoder_of(stop=_at_once), _AT_ONCE),
    Mistake("never-stopped", decoder_of(stop=_never), _NEVER),
    Mistake("stopped-one-step-late", decoder_of(stop=_one_step_late), _ONE_STEP_LATE),
    Mistake("last-column-lost", decoder_of(stop_before_writing=True), _LAST_LOST),
    Mistake("bos-dropped", decoder_of(present=lambda tokens, s: tokens[:, 1:]), _NO_BOS),
    Mistake(
        "bos-dropped-not-frozen",
        decoder_of(present=lambda tokens, s: tokens[:, 1:], freeze=_unfrozen),
        _NO_BOS + " Besides, rows that have emitted eos go on instead of getting pad.",
    ),
    Mistake(
        "bos-dropped-never-stopped",
        decoder_of(present=lambda tokens, s: tokens[:, 1:], stop=_never),
        _NO_BOS + " Besides, decoding does not stop when every row has emitted eos.",
    ),
)
