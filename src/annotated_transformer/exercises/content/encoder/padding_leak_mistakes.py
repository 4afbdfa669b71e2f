"""The named mistakes of `encoder.padding_leak`: wrong padding, places, and measures."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.encoder.padding_leak_measures import MEASURE_MISTAKES
from annotated_transformer.exercises.content.encoder.padding_leak_steps import (
    Encode,
    Measure,
    append,
    everything,
    first_n,
    largest,
    last_n,
    leak,
    prepend,
    real,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _compared_as(what: Callable[[Tensor, Tensor], Tensor], measure: Measure = largest) -> Candidate:
    """The results at real tokens, after and before, compared in another way."""

    def implementation(encode: Encode, tokens: Tensor, extra: int) -> Any:
        after = first_n(encode(append(tokens, extra)), tokens)
        return measure(what(real(after, tokens), real(encode(tokens), tokens)))

    return implementation


def _worst_sentence(encode: Encode, tokens: Tensor, extra: int) -> float:
    change = first_n(encode(append(tokens, extra)), tokens) - encode(tokens)
    return max(float(row[seen].abs().mean()) for row, seen in zip(change, tokens != 0, strict=True))


def _interleaved(encode: Encode, tokens: Tensor, extra: int) -> float:
    spread = torch.stack([tokens, torch.zeros_like(tokens)], dim=2).flatten(1)
    return largest(real(encode(spread)[:, ::2] - encode(tokens), tokens))


def _tokens_zeroed(encode: Encode, tokens: Tensor, extra: int) -> Any:
    result = leak()(encode, tokens, extra)
    tokens.zero_()
    return result


_RELATIVE = "The change is divided by the size of the result. Asked for is the absolute change."


def _pooled(encode: Encode, tokens: Tensor, extra: int) -> float:
    longer = append(tokens, extra)
    return largest(encode(longer).mean(1) - encode(tokens).mean(1))


def _difference_of_maxima(encode: Encode, tokens: Tensor, extra: int) -> float:
    after = first_n(encode(append(tokens, extra)), tokens)[tokens != 0]
    return abs((after.abs().max() - encode(tokens)[tokens != 0].abs().max()).item())


def _right_padding_assumed(encode: Encode, tokens: Tensor, extra: int) -> float:
    change = first_n(encode(append(tokens, extra)), tokens) - encode(tokens)
    lengths = (tokens != 0).sum(1).tolist()
    return max(largest(row[:length]) for row, length in zip(change, lengths, strict=True))


def _shares(encode: Encode, tokens: Tensor, extra: int) -> bool:
    largest_change: float = leak()(encode, tokens, extra)
    return largest_change > 1e-6


def _last_words_overwritten(encode: Encode, tokens: Tensor, extra: int) -> float:
    before, real = encode(tokens), tokens != 0
    tokens[:, -extra:] = 0
    return largest((encode(tokens) - before)[real])


def _last_words_replaced(tokens: Tensor, extra: int) -> Tensor:
    shorter = tokens.clone()
    shorter[:, -extra:] = 0
    return shorter


def _pads_cut(encode: Encode, tokens: Tensor, extra: int) -> float:
    changes = []
    for sentence in tokens:
        real = sentence[sentence != 0][None]
        changes.append(largest(encode(append(real, extra))[:, : real.size(1)] - encode(real)))
    return max(changes)


def _against_no_padding(encode: Encode, tokens: Tensor, extra: int) -> float:
    changes = []
    for sentence in tokens:
        real = sentence != 0
        longer = encode(append(sentence[None], extra))[0, : len(sentence)]
        changes.append(largest(longer[real] - encode(sentence[real][None])[0]))
    return max(changes)


_ID = (
    "The appended token is not the padding: {what}. A word that is added does change a sentence, "
    "and rightly. The padding token is 0."
)

# A name, what to say, and what is replaced.
_REPLACED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "padding-counted",
        "All n positions are compared, padding included. What an encoder returns at padding may "
        "be anything, nobody reads it: leave out the positions at which tokens is 0.",
        {"choose": everything},
    ),
    (
        "padding-only",
        "The choice is inverted: the padding is compared and the real tokens are left out. Real "
        "tokens are those that are not 0, `tokens != 0`.",
        {"choose": lambda change, tokens: change[tokens == 0]},
    ),
    (
        "not-cut",
        "The longer result is compared with the shorter one as it is: they have n + extra and n "
        "positions. Cut the longer one to the first n, `[:, :n]`.",
        {"cut": lambda after, tokens: after},
    ),
    (
        "last-positions",
        "The last n positions of the longer result are compared, `[:, -n:]`: the words have not "
        "moved, the padding stands behind them. Cut with `[:, :n]`.",
        {"cut": last_n},
    ),
    (
        "prepended",
        "The padding is put before the words, and the first n positions are compared: different "
        "words. Append it: `torch.cat([tokens, pads], dim=1)`.",
        {"lengthen": prepend},
    ),
    (
        "prepended-and-cut-at-the-end",
        "The padding is put before the words, so they move to other positions; a model with "
        "positions would change rightly. Append it: `torch.cat([tokens, pads], dim=1)`.",
        {"lengthen": prepend, "cut": last_n},
    ),
    (
        "one-pad",
        "One padding token is appended, whatever `extra` says. Append `extra` of them: the more "
        "there are, the larger their share.",
        {"lengthen": lambda tokens, extra: append(tokens, 1)},
    ),
    (
        "one-pad-too-many",
        "One padding token too many is appended. `extra` of them are asked for.",
        {"lengthen": lambda tokens, extra: append(tokens, extra + 1)},
    ),
    (
        "extra-is-the-length",
        "`extra` is taken for the new length or a multiple. It is the number of padding tokens "
        "that are appended.",
        {"lengthen": lambda tokens, extra: append(tokens, max(extra - tokens.size(1), 0))},
    ),
    (
        "as-many-as-words",
        "As many padding tokens are appended as there are words. `extra` of them are asked for.",
        {"lengthen": lambda tokens, extra: append(tokens, tokens.size(1))},
    ),
    (
        "pad-is-one",
        _ID.format(what="it is 1, which begins a sentence"),
        {"lengthen": lambda tokens, extra: append(tokens, extra, 1)},
    ),
    (
        "pad-is-two",
        _ID.format(what="it is 2, which ends a sentence"),
        {"lengthen": lambda tokens, extra: append(tokens, extra, 2)},
    ),
    (
        "last-token-repeated",
        _ID.format(what="the last token is repeated"),
        {
            "lengthen": lambda tokens, extra: torch.cat(
                [tokens, tokens[:, -1:].expand(-1, extra)], dim=1
            )
        },
    ),
    (
        "sentence-repeated",
        _ID.format(what="the sentence itself is repeated"),
        {"lengthen": lambda tokens, extra: torch.cat([tokens, tokens], dim=1)},
    ),
    (
        "pad-is-minus-one",
        _ID.format(what="it is -1, which picks the last row of the table"),
        {"lengthen": lambda tokens, extra: append(tokens, extra, -1)},
    ),
    (
        "float-pads",
        "The padding is made of floats (`torch.zeros(B, extra)`), and so become the tokens, which "
        "can then no longer index a table. Make it with `tokens.new_zeros(...)` or "
        "`dtype=torch.long`.",
        {
            "lengthen": lambda tokens, extra: torch.cat(
                [tokens, torch.zeros(tokens.size(0), extra)], dim=1
            )
        },
    ),
    (
        "nothing-appended",
        "The result is always 0, whatever `encode` does: both times the same sentences are "
        "encoded, or the padding went into sentences of its own (dim=0). Append `extra` padding "
        "tokens to each sentence, along dim=1.",
        {"lengthen": lambda tokens, extra: tokens},
    ),
    (
        "last-words-replaced",
        "The last words are replaced by padding instead of padding being appended: other words "
        "then change rightly, for a part of the sentence has gone.",
        {"lengthen": _last_words_replaced},
    ),
    (
        "first-sentence",
        "Only the first sentence is looked at. The change may be in any of them.",
        {"choose": lambda change, tokens: change[:1][tokens[:1] != 0]},
    ),
    (
        "first-word",
        "Only the first position is looked at. The change may be at any real token.",
        {"choose": lambda change, tokens: change[:, 0]},
    ),
    (
        "last-position",
        "Only the last position is looked at. The change may be at any real token, and the last "
        "position may hold padding.",
        {"choose": lambda change, tokens: change[:, -1]},
    ),
)

PADDING_LEAK_MISTAKES = (
    *MEASURE_MISTAKES,
    *(Mistake(name, leak(**parts), text) for name, text, parts in _REPLACED),
    Mistake(
        "pooled",
        _pooled,
        "The positions are averaged before comparing, padding included. Compare word by word, at "
        "real tokens.",
    ),
    Mistake(
        "difference-of-maxima",
        _difference_of_maxima,
        "The largest number of each result is taken first and then compared: two different "
        "results can have the same largest number. Subtract first, then `.abs().max()`.",
    ),
    Mistake(
        "right-padding-assumed",
        _right_padding_assumed,
        "As many positions from the front are compared as there are real tokens. Padding may "
        "stand anywhere, on the left too: choose with `tokens != 0`.",
    ),
    Mistake(
        "vectors-at-the-padding",
        lambda encode, tokens, extra: largest(encode(append(tokens, extra))[:, tokens.size(1) :]),
        "The vectors of the appended padding are measured. It is the words that may not change: "
        "compare the first n positions of both results.",
    ),
    Mistake(
        "a-number-a-sentence",
        lambda encode, tokens, extra: (
            (first_n(encode(append(tokens, extra)), tokens) - encode(tokens)).abs()
            * (tokens != 0).unsqueeze(-1)
        ).amax((1, 2)),
        "One number for each sentence is returned. Asked for is a single one, the largest of all.",
    ),
    Mistake(
        "relative",
        _compared_as(lambda after, before: (after - before) / before.abs().max()),
        _RELATIVE,
    ),
    Mistake(
        "relative-to-each",
        _compared_as(lambda after, before: (after - before) / before),
        _RELATIVE,
    ),
    Mistake(
        "relative-to-each-after",
        _compared_as(lambda after, before: (after - before) / after),
        _RELATIVE,
    ),
    Mistake(
        "divided-by-extra",
        lambda encode, tokens, extra: leak()(encode, tokens, extra) / extra,
        "The change is divided by `extra`. Asked for is the change itself, of all the padding "
        "together.",
    ),
    Mistake(
        "special-tokens-left-out",
        leak(choose=lambda change, tokens: change[tokens > 2]),
        "Tokens 1 and 2, the beginning and the end of a sentence, are left out. Real tokens are "
        "all but 0: `tokens != 0`.",
    ),
    Mistake(
        "padding-after-every-word",
        _interleaved,
        "The padding is put between the words. Append it: `torch.cat([tokens, pads], dim=1)`.",
    ),
    Mistake(
        "absolute-values-first",
        _compared_as(lambda after, before: after.abs() - before.abs()),
        "The absolute values of the two results are compared: a number that only changes its sign "
        "passes. Subtract first, then `.abs().max()`.",
    ),
    Mistake(
        "norms-compared",
        _compared_as(lambda after, before: after.norm(dim=-1) - before.norm(dim=-1)),
        "The lengths of the two vectors are compared: a vector that turns passes. Subtract first, "
        "then `.abs().max()`.",
    ),
    Mistake(
        "largest-mean-of-a-sentence",
        _worst_sentence,
        "The mean is taken over each sentence, and the largest of these. Use `.abs().max()`: the "
        "largest absolute change, at any real token.",
    ),
    Mistake(
        "tokens-zeroed",
        _tokens_zeroed,
        "The value is right, but the caller's tokens are overwritten. Make the longer batch with "
        "`torch.cat`, which is a new tensor.",
    ),
    Mistake(
        "true-or-false",
        _shares,
        "True or False is returned. Asked for is a number, the largest absolute change.",
    ),
    Mistake(
        "tokens-overwritten",
        _last_words_overwritten,
        "The caller's last tokens are overwritten with padding. Append padding to a new tensor, "
        "with `torch.cat`, and leave tokens untouched.",
    ),
    Mistake(
        "padding-removed-first",
        _pads_cut,
        "The padding that tokens holds already is removed first. Encode tokens as they came, once "
        "with and once without `extra` more.",
    ),
    Mistake(
        "against-no-padding",
        _against_no_padding,
        "The longer sentence is compared with one without any padding. The comparison asked for "
        "is with tokens as they came, whatever padding they hold.",
    ),
)
