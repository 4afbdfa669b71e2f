"""The named mistakes of `decoding.greedy`."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.decoding.greedy_steps import (
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
_LAST_LOST = (
    "The loop is left before the last column is written, so the eos that ends the longest sentence "
    "is missing. Append the token first, then test `done.all()`."
)
_LAST_TOKEN = (
    "The model is shown only the last token (`tokens[:, -1:]`). `next_logits` takes the whole "
    "prefix (B, t), bos included: without a cache it knows nothing of what was said before."
)
_NO_BOS = (
    "bos is missing from the result. Column 0 is bos; the generated tokens follow from column 1."
)
_MAX_LEN = (
    "The limit on the length is off. At most max_len *new* tokens are generated, and bos is not "
    "one of them: without eos the result has max_len + 1 columns."
)
_IDS = (
    "A token id is written into the code. `bos`, `eos` and `pad` are arguments; 1, 2 and 0 are "
    "only their defaults."
)
_DEFAULTS = (
    "The defaults are not those of the statement: bos=1, eos=2, pad=0. A call that leaves them out "
    "means these."
)
_BEGINS = (
    "Column 0 holds pad (or zeros) instead of bos, so the model is shown a prefix that it was "
    "never trained on. Start with `torch.full((batch_size, 1), bos)`."
)
_SEQUENCE_OF_LOGITS = (
    "The logits are indexed as if they were (B, t, V), `[:, -1]`. `next_logits` already returns "
    "the logits of the next token alone, (B, V): take the argmax over the last axis directly."
)
_AXIS = (
    "The argmax is not taken over the vocabulary for each row. The logits are (B, V): "
    "`argmax(dim=-1)` gives (B,), one token for each sentence."
)
_RETURNED = (
    "The tokens are right, but they are not returned as asked: one LongTensor (B, L), without "
    "lists, other dtypes or additional results."
)
_PER_ROW = (
    "Rows that are done are left out of the call. `next_logits` decodes all B sentences at once "
    "and takes a prefix for each, (B, t): keep every row in and overrule the done ones with pad."
)
_BUFFER = (
    "The model is shown a buffer of the full length with pads where nothing has been generated "
    "yet. It takes the prefix so far, (B, t): slice it, `tokens[:, :t]`."
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


def _buffer(tokens: Tensor, s: Setting) -> Tensor:
    rest = s.max_len + 1 - tokens.size(1)
    return torch.cat([tokens, torch.full((s.batch_size, rest), s.pad)], dim=1)


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


def _as_rows(tokens: Tensor, s: Setting) -> list[list[int]]:
    """Each sentence up to its eos, as lists."""
    rows = []
    for row in tokens.tolist():
        rows.append(row[: row.index(s.eos) + 1] if s.eos in row else row)
    return rows


def _only_live_rows(
    next_logits: Any, batch_size: int, max_len: int, bos: int = 1, eos: int = 2, pad: int = 0
) -> Tensor:
    tokens = torch.full((batch_size, 1), bos)
    done = torch.zeros(batch_size, dtype=torch.bool)
    for _ in range(max_len):
        column = torch.full((batch_size,), pad)
        column[~done] = next_logits(tokens[~done]).argmax(-1)
        done |= column == eos
        tokens = torch.cat([tokens, column[:, None]], dim=1)
        if done.all():
            break
    return tokens


def _argmax_over_the_batch_masked(
    next_logits: Any, batch_size: int, max_len: int, bos: int = 1, eos: int = 2, pad: int = 0
) -> Tensor:
    """Pads written by indexing, which is where it raises."""
    tokens = torch.full((batch_size, 1), bos)
    done = torch.zeros(batch_size, dtype=torch.bool)
    for _ in range(max_len):
        token = next_logits(tokens).argmax(dim=0)
        token[done] = pad
        tokens = torch.cat([tokens, token[:, None]], dim=1)
        done = done | (token == eos)
        if done.all():
            break
    return tokens


def _with_defaults(bos: int, eos: int, pad: int) -> Any:
    """The right decoder with other defaults."""
    right, usual = decoder_of(), (bos, eos, pad)

    def implementation(next_logits: Any, batch_size: int, max_len: int, *ids: int) -> Any:
        return right(next_logits, batch_size, max_len, *(*ids, *usual[len(ids) :]))

    return implementation


def _fixed(**ids: int) -> Any:
    return decoder_of(given=lambda s: replace(s, **ids))


def _last_of_a_sequence(logits: Tensor) -> Tensor:
    return logits[:, -1].argmax(dim=-1).reshape(1)


def _sampled(logits: Tensor) -> Tensor:
    return torch.multinomial(logits.softmax(-1), 1)[:, 0]


MISTAKES = (
    Mistake("not-frozen", decoder_of(freeze=_unfrozen), _NOT_FROZEN),
    Mistake("not-frozen-not-stopped", decoder_of(freeze=_unfrozen, stop=_never), _NOT_FROZEN),
    Mistake("not-frozen-stopped-at-once", decoder_of(freeze=_unfrozen, stop=_at_once), _AT_ONCE),
    Mistake(
        "frozen-for-one-step",
        decoder_of(freeze=_frozen_by_last),
        "A row gets pad only in the step right behind its eos and then goes on with ordinary "
        "tokens: whether it is done is told from the last token alone. Remember it for good, "
        "`done = done | (token == eos)`.",
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
    Mistake("last-token-shown", decoder_of(show=lambda tokens, s: tokens[:, -1:]), _LAST_TOKEN),
    Mistake("token-without-axis-shown", decoder_of(show=lambda t, s: t[:, -1]), _LAST_TOKEN),
    Mistake("buffer-shown", decoder_of(show=_buffer), _BUFFER),
    Mistake(
        "bos-not-shown",
        decoder_of(show=lambda tokens, s: tokens[:, 1:] if tokens.size(1) > 1 else tokens),
        "The model is shown the prefix without bos. It was trained with bos in front: show it all "
        "tokens so far, (B, t).",
    ),
    Mistake("live-rows-shown", _only_live_rows, _PER_ROW),
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
    Mistake(
        "one-token-less", decoder_of(given=lambda s: replace(s, max_len=s.max_len - 1)), _MAX_LEN
    ),
    Mistake(
        "one-token-more", decoder_of(given=lambda s: replace(s, max_len=s.max_len + 1)), _MAX_LEN
    ),
    Mistake(
        "max-len-ignored",
        decoder_of(given=lambda s: replace(s, max_len=30)),
        "`max_len` is not obeyed: rows that never emit eos go on. At most max_len new tokens are "
        "generated.",
    ),
    Mistake("bos-fixed", _fixed(bos=1), _IDS),
    Mistake("eos-fixed", _fixed(eos=2), _IDS),
    Mistake("pad-fixed", _fixed(pad=0), _IDS),
    Mistake("all-ids-fixed", _fixed(bos=1, eos=2, pad=0), _IDS),
    Mistake(
        "eos-and-pad-exchanged",
        decoder_of(given=lambda s: replace(s, eos=s.pad, pad=s.eos)),
        "eos and pad are exchanged. The order of the arguments is bos, eos, pad.",
    ),
    Mistake(
        "begins-with-pad",
        decoder_of(start=lambda s: torch.full((s.batch_size, 1), s.pad)),
        _BEGINS,
    ),
    Mistake(
        "begins-with-zeros",
        decoder_of(start=lambda s: torch.zeros(s.batch_size, 1, dtype=torch.long)),
        _BEGINS,
    ),
    Mistake(
        "begins-with-eos",
        decoder_of(start=lambda s: torch.full((s.batch_size, 1), s.eos)),
        "Column 0 holds eos instead of bos. Some libraries start that way; here it is bos.",
    ),
    Mistake("default-bos-eos-swapped", _with_defaults(2, 1, 0), _DEFAULTS),
    Mistake("defaults-0-1-2", _with_defaults(0, 1, 2), _DEFAULTS),
    Mistake("defaults-1-2-3", _with_defaults(1, 2, 3), _DEFAULTS),
    Mistake(
        "one-row",
        decoder_of(given=lambda s: replace(s, batch_size=1)),
        "`next_logits` is given one row alone. It decodes all `batch_size` sentences side by side, "
        "each with a row of its own: start with `torch.full((batch_size, 1), bos)` and keep all "
        "rows in one tensor.",
    ),
    Mistake("sequence-of-logits", decoder_of(choose=_last_of_a_sequence), _SEQUENCE_OF_LOGITS),
    Mistake(
        "sequence-of-logits-with-vocabulary",
        decoder_of(choose=lambda logits: logits[:, -1, :].argmax(dim=-1)),
        _SEQUENCE_OF_LOGITS,
    ),
    Mistake(
        "last-row-of-logits",
        decoder_of(choose=lambda logits: logits[-1].argmax(-1).expand(len(logits))),
        _AXIS,
    ),
    Mistake(
        "first-row-of-logits",
        decoder_of(choose=lambda logits: logits[0].argmax(-1).expand(len(logits))),
        _AXIS,
    ),
    Mistake(
        "argmax-of-all",
        decoder_of(choose=lambda logits: logits.argmax().expand(len(logits))),
        _AXIS,
    ),
    Mistake(
        "argmax-over-the-batch",
        decoder_of(choose=lambda logits: logits.argmax(dim=0)),
        _AXIS,
    ),
    Mistake("argmax-over-the-batch-masked", _argmax_over_the_batch_masked, _AXIS),
    Mistake(
        "argmax-over-the-batch-cut",
        decoder_of(choose=lambda logits: logits.argmax(dim=0)[: len(logits)]),
        _AXIS,
    ),
    Mistake(
        "least-probable",
        decoder_of(choose=lambda logits: logits.argmin(dim=-1)),
        "The token with the lowest logit is taken. The most probable one has the highest: "
        "`argmax`.",
    ),
    Mistake(
        "second-best",
        decoder_of(choose=lambda logits: logits.topk(2).indices[:, 1]),
        "The second best token is taken. Greedy decoding takes the best: `argmax(dim=-1)`.",
    ),
    Mistake(
        "sampled",
        decoder_of(choose=_sampled),
        "Tokens are drawn at random (`multinomial`). Greedy decoding always takes the most "
        "probable token: `argmax(dim=-1)`.",
    ),
    Mistake(
        "largest-magnitude",
        decoder_of(choose=lambda logits: logits.abs().argmax(dim=-1)),
        "The largest *absolute* logit is taken. A large negative logit means improbable: take the "
        "argmax of the logits as they are.",
    ),
    Mistake(
        "floats-shown",
        decoder_of(show=lambda tokens, s: tokens.float()),
        "The tokens are floats, and the model refuses them: it looks tokens up in a table. Make "
        "them integers, `torch.full((batch_size, 1), bos)` with an int bos, or `dtype=torch.long`.",
    ),
    Mistake("list-of-rows", decoder_of(present=lambda t, s: t.tolist()), _RETURNED),
    Mistake("list-of-sentences", decoder_of(present=_as_rows), _RETURNED),
    Mistake("int32", decoder_of(present=lambda tokens, s: tokens.int()), _RETURNED),
    Mistake("floats", decoder_of(present=lambda tokens, s: tokens.float()), _RETURNED),
    Mistake(
        "transposed",
        decoder_of(present=lambda tokens, s: tokens.T),
        "The result is (L, B), one column a sentence. Batch first: (B, L).",
    ),
    Mistake(
        "last-column-alone",
        decoder_of(present=lambda tokens, s: tokens[:, -1:]),
        "Only the last tokens are returned. Return all of them, bos first: (B, L).",
    ),
    Mistake(
        "lengths-returned-too",
        decoder_of(present=lambda tokens, s: (tokens, (tokens != s.pad).sum(1))),
        _RETURNED,
    ),
    Mistake(
        "flags-returned-too",
        decoder_of(present=lambda tokens, s: (tokens, (tokens == s.eos).any(1))),
        _RETURNED,
    ),
    Mistake(
        "list-of-flags-returned-too",
        decoder_of(present=lambda tokens, s: (tokens, (tokens == s.eos).any(1).tolist())),
        _RETURNED,
    ),
)
