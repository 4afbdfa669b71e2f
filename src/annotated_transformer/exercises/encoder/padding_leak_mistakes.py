"""The named mistakes of `encoder.padding_leak`: wrong padding, places, and measures."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake

Encode = Callable[[Tensor], Tensor]
Lengthen = Callable[[Tensor, int], Tensor]  # of tokens and extra
Choose = Callable[[Tensor, Tensor], Tensor]  # of change or result, and tokens
Measure = Callable[[Tensor], Any]


def _append(tokens: Tensor, extra: int, pad: int = 0) -> Tensor:
    return torch.cat([tokens, tokens.new_full((tokens.size(0), extra), pad)], dim=1)


def _prepend(tokens: Tensor, extra: int) -> Tensor:
    return torch.cat([tokens.new_zeros(tokens.size(0), extra), tokens], dim=1)


def _first_n(after: Tensor, tokens: Tensor) -> Tensor:
    return after[:, : tokens.size(1)]


def _last_n(after: Tensor, tokens: Tensor) -> Tensor:
    return after[:, -tokens.size(1) :]


def _real(change: Tensor, tokens: Tensor) -> Tensor:
    return change[tokens != 0]


def _largest(change: Tensor) -> float:
    return change.abs().max().item()


def _leak(
    lengthen: Lengthen = _append,
    cut: Choose = _first_n,
    choose: Choose = _real,
    measure: Measure = _largest,
) -> Candidate:
    """The test with some of its steps replaced."""

    def implementation(encode: Encode, tokens: Tensor, extra: int) -> Any:
        after = cut(encode(lengthen(tokens, extra)), tokens)
        return measure(choose(after - encode(tokens), tokens))

    return implementation


def _everything(change: Tensor, tokens: Tensor) -> Tensor:
    return change


def _relative(encode: Encode, tokens: Tensor, extra: int) -> float:
    leak: float = _leak()(encode, tokens, extra)
    return leak / float(encode(tokens)[tokens != 0].abs().max())


def _pooled(encode: Encode, tokens: Tensor, extra: int) -> float:
    longer = _append(tokens, extra)
    return _largest(encode(longer).mean(1) - encode(tokens).mean(1))


def _difference_of_maxima(encode: Encode, tokens: Tensor, extra: int) -> float:
    after = _first_n(encode(_append(tokens, extra)), tokens)[tokens != 0]
    return abs((after.abs().max() - encode(tokens)[tokens != 0].abs().max()).item())


def _right_padding_assumed(encode: Encode, tokens: Tensor, extra: int) -> float:
    change = _first_n(encode(_append(tokens, extra)), tokens) - encode(tokens)
    lengths = (tokens != 0).sum(1).tolist()
    return max(_largest(row[:length]) for row, length in zip(change, lengths, strict=True))


def _shares(encode: Encode, tokens: Tensor, extra: int) -> bool:
    leak: float = _leak()(encode, tokens, extra)
    return leak > 1e-6


def _last_words_overwritten(encode: Encode, tokens: Tensor, extra: int) -> float:
    before, real = encode(tokens), tokens != 0
    tokens[:, -extra:] = 0
    return _largest((encode(tokens) - before)[real])


def _last_words_replaced(tokens: Tensor, extra: int) -> Tensor:
    shorter = tokens.clone()
    shorter[:, -extra:] = 0
    return shorter


def _pads_cut(encode: Encode, tokens: Tensor, extra: int) -> float:
    changes = []
    for sentence in tokens:
        real = sentence[sentence != 0][None]
        changes.append(_largest(encode(_append(real, extra))[:, : real.size(1)] - encode(real)))
    return max(changes)


def _against_no_padding(encode: Encode, tokens: Tensor, extra: int) -> float:
    changes = []
    for sentence in tokens:
        real = sentence != 0
        longer = encode(_append(sentence[None], extra))[0, : len(sentence)]
        changes.append(_largest(longer[real] - encode(sentence[real][None])[0]))
    return max(changes)


_ABSOLUTE = "Use `.abs().max()`: the largest absolute change, at any real token."
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
        {"choose": _everything},
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
        {"cut": _last_n},
    ),
    (
        "prepended",
        "The padding is put before the words, and the first n positions are compared: different "
        "words. Append it: `torch.cat([tokens, pads], dim=1)`.",
        {"lengthen": _prepend},
    ),
    (
        "prepended-and-cut-at-the-end",
        "The padding is put before the words, so they move to other positions; a model with "
        "positions would change rightly. Append it: `torch.cat([tokens, pads], dim=1)`.",
        {"lengthen": _prepend, "cut": _last_n},
    ),
    (
        "one-pad",
        "One padding token is appended, whatever `extra` says. Append `extra` of them: the more "
        "there are, the larger their share.",
        {"lengthen": lambda tokens, extra: _append(tokens, 1)},
    ),
    (
        "one-pad-too-many",
        "One padding token too many is appended. `extra` of them are asked for.",
        {"lengthen": lambda tokens, extra: _append(tokens, extra + 1)},
    ),
    (
        "extra-is-the-length",
        "`extra` is taken for the new length or a multiple. It is the number of padding tokens "
        "that are appended.",
        {"lengthen": lambda tokens, extra: _append(tokens, max(extra - tokens.size(1), 0))},
    ),
    (
        "as-many-as-words",
        "As many padding tokens are appended as there are words. `extra` of them are asked for.",
        {"lengthen": lambda tokens, extra: _append(tokens, tokens.size(1))},
    ),
    (
        "pad-is-one",
        _ID.format(what="it is 1, which begins a sentence"),
        {"lengthen": lambda tokens, extra: _append(tokens, extra, 1)},
    ),
    (
        "pad-is-two",
        _ID.format(what="it is 2, which ends a sentence"),
        {"lengthen": lambda tokens, extra: _append(tokens, extra, 2)},
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
        {"lengthen": lambda tokens, extra: _append(tokens, extra, -1)},
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
        "mean",
        "The mean of the changes is taken, not the largest. One changed word among many would "
        "nearly vanish. " + _ABSOLUTE,
        {"measure": lambda change: change.abs().mean().item()},
    ),
    (
        "no-absolute-value",
        "The absolute value is missing: `max` of the signed changes overlooks the negative ones. "
        + _ABSOLUTE,
        {"measure": lambda change: change.max().item()},
    ),
    (
        "absolute-value-last",
        "The absolute value is taken after the maximum, too late: larger negative changes have "
        "been overlooked by then. " + _ABSOLUTE,
        {"measure": lambda change: change.max().abs().item()},
    ),
    (
        "signed-mean",
        "The mean of the signed changes is taken: they cancel. " + _ABSOLUTE,
        {"measure": lambda change: change.mean().item()},
    ),
    (
        "sum",
        "The changes are added up. " + _ABSOLUTE,
        {"measure": lambda change: change.abs().sum().item()},
    ),
    (
        "signed-sum",
        "The signed changes are added up: they cancel. " + _ABSOLUTE,
        {"measure": lambda change: change.sum().abs().item()},
    ),
    (
        "minimum",
        "The smallest change is taken: one word that stays the same hides all others. " + _ABSOLUTE,
        {"measure": lambda change: change.abs().min().item()},
    ),
    (
        "norm",
        "The length (2-norm) of all changes is taken. " + _ABSOLUTE,
        {"measure": lambda change: change.norm().item()},
    ),
    (
        "mean-square",
        "The mean of the squares is taken. " + _ABSOLUTE,
        {"measure": lambda change: change.square().mean().item()},
    ),
    (
        "largest-square",
        "The largest square is taken. " + _ABSOLUTE,
        {"measure": lambda change: change.square().max().item()},
    ),
    (
        "largest-word",
        "The largest length (norm) of a word's change is taken. Asked for is the largest change "
        "of a single number. " + _ABSOLUTE,
        {"measure": lambda change: change.norm(dim=-1).max().item()},
    ),
    (
        "largest-sum-of-a-word",
        "The changes of a word are added up before the largest is taken. Asked for is the largest "
        "change of a single number. " + _ABSOLUTE,
        {"measure": lambda change: change.abs().sum(-1).max().item()},
    ),
    (
        "largest-mean-of-a-word",
        "The mean over the features of a word is taken before the largest. Asked for is the "
        "largest change of a single number. " + _ABSOLUTE,
        {"measure": lambda change: change.abs().mean(-1).max().item()},
    ),
    (
        "mean-of-the-words",
        "The changes of a word are added up and the mean taken over the words. Asked for is the "
        "largest change of a single number. " + _ABSOLUTE,
        {"measure": lambda change: change.abs().sum(-1).mean().item()},
    ),
    (
        "mean-norm-of-the-words",
        "The mean length of a word's change is taken. Asked for is the largest change of a single "
        "number. " + _ABSOLUTE,
        {"measure": lambda change: change.norm(dim=-1).mean().item()},
    ),
    (
        "all-changes",
        "All changes are returned, not a number. Asked for is the largest: `.max().item()`.",
        {"measure": lambda change: change.abs()},
    ),
    (
        "a-number-a-word",
        "One number for each word is returned. Asked for is a single one, the largest of all.",
        {"measure": lambda change: change.abs().amax(-1)},
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
    (
        "padding-counted-mean",
        "The mean over all positions is taken, padding included. Only real tokens count, and of "
        "them the largest change. " + _ABSOLUTE,
        {"choose": _everything, "measure": lambda change: change.abs().mean().item()},
    ),
    (
        "padding-counted-signed",
        "Padding is counted, and the absolute value is missing. Only real tokens count. "
        + _ABSOLUTE,
        {"choose": _everything, "measure": lambda change: change.max().item()},
    ),
    (
        "padding-counted-sum",
        "The changes at all positions are added up, padding included. Only real tokens count. "
        + _ABSOLUTE,
        {"choose": _everything, "measure": lambda change: change.abs().sum().item()},
    ),
)

PADDING_LEAK_MISTAKES = (
    *(Mistake(name, _leak(**parts), text) for name, text, parts in _REPLACED),
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
        lambda encode, tokens, extra: _largest(encode(_append(tokens, extra))[:, tokens.size(1) :]),
        "The vectors of the appended padding are measured. It is the words that may not change: "
        "compare the first n positions of both results.",
    ),
    Mistake(
        "a-number-a-sentence",
        lambda encode, tokens, extra: (
            (_first_n(encode(_append(tokens, extra)), tokens) - encode(tokens)).abs()
            * (tokens != 0).unsqueeze(-1)
        ).amax((1, 2)),
        "One number for each sentence is returned. Asked for is a single one, the largest of all.",
    ),
    Mistake(
        "relative",
        _relative,
        "The change is divided by the size of the result. Asked for is the absolute change.",
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
