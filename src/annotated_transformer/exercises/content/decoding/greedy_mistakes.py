"""Mistakes of `decoding.greedy` in what is shown, chosen and returned, and in the token ids."""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.decoding.greedy_steps import (
    Setting,
    decoder_of,
)
from annotated_transformer.exercises.exercise import Mistake

_LAST_TOKEN = (
    "The model is shown only the last token (`tokens[:, -1:]`). `next_logits` takes the whole "
    "prefix (B, t), bos included: without a cache it knows nothing of what was said before."
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


def _buffer(tokens: Tensor, s: Setting) -> Tensor:
    rest = s.max_len + 1 - tokens.size(1)
    return torch.cat([tokens, torch.full((s.batch_size, rest), s.pad)], dim=1)


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


OTHER_MISTAKES = (
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
