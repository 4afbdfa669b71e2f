"""Mistakes of `tokenization.bpe_encode` in the end of the word and in what comes back."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from annotated_transformer.exercises.content.tokenization import merging
from annotated_transformer.exercises.content.tokenization.bpe_encode_variants import (
    encode_word,
    encoded_with,
)
from annotated_transformer.exercises.content.tokenization.merging import END, Pair
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _end_removed(word: str, merges: list[Pair]) -> list[str]:
    symbols = [symbol.removesuffix(END) for symbol in encode_word(word, merges)]
    return [symbol for symbol in symbols if symbol]


def _lone_end_removed(word: str, merges: list[Pair]) -> list[str]:
    return [symbol for symbol in encode_word(word, merges) if symbol != END]


def _end_called(word: str, merges: list[Pair], name: str) -> list[str]:
    return [symbol.replace(END, name) for symbol in encode_word(word, merges)]


def _end_cut_off(word: str, merges: list[Pair]) -> list[str]:
    *before, last = encode_word(word, merges)
    return [*before, *([last.removesuffix(END)] if last != END else []), END]


def _continued_with_end(word: str, merges: list[Pair]) -> list[str]:
    *before, last = encode_word(word, merges)
    return [*(symbol + "@@" for symbol in before), last]


def _continued(word: str, merges: list[Pair]) -> list[str]:
    symbols = _end_removed(word, merges)
    return [symbol + "@@" for symbol in symbols[:-1]] + symbols[-1:]


def _hashes(word: str, merges: list[Pair]) -> list[str]:
    symbols = _end_removed(word, merges)
    return symbols[:1] + ["##" + symbol for symbol in symbols[1:]]


def _known_only(word: str, merges: list[Pair], unknown: str) -> list[str]:
    known = {symbol for pair in merges for symbol in (*pair, "".join(pair))}
    return [symbol if symbol in known else unknown for symbol in encode_word(word, merges)]


def _unknown_dropped(word: str, merges: list[Pair]) -> list[str]:
    known = {symbol for pair in merges for symbol in (*pair, "".join(pair))}
    return [symbol for symbol in encode_word(word, merges) if symbol in known]


def _empties(word: str, merges: list[Pair]) -> list[str]:
    symbols = merging.split_word(word)
    while merges:
        symbols = merging.merge_pair(symbols, merges.pop(0))
    return symbols


def _then(change: Callable[[list[Pair]], Any]) -> Candidate:
    """The right symbols, and the given merges changed."""

    def encode(word: str, merges: list[Pair]) -> list[str]:
        symbols = encode_word(word, merges)
        change(merges)
        return symbols

    return encode


def _pairs(word: str, merges: list[Pair]) -> list[Pair]:
    done = []
    symbols = merging.split_word(word)
    for pair in merges:
        if pair in pairwise(symbols):
            done.append(pair)
            symbols = merging.merge_pair(symbols, pair)
    return done


def _numbers(word: str, merges: list[Pair]) -> list[int]:
    alphabet = sorted({s for pair in merges for s in pair} | {*merging.split_word(word)})
    known = {s: i for i, s in enumerate([*alphabet, *("".join(pair) for pair in merges)])}
    return [known[symbol] for symbol in encode_word(word, merges)]


_IN_FRONT = (
    "The mark stands in front of the word, as GPT-2 and SentencePiece do it. Here it is '</w>' "
    "*after* the last character."
)
_END_NAME = (
    "The end of the word is marked otherwise than with '</w>'. The merges were learned with "
    "'</w>', and the symbols are looked up as they stand."
)
_UNKNOWN = (
    "Characters that no merge has are replaced by an unknown token. They stay as they are: that "
    "any word can be encoded is the point of byte-pair encoding."
)
_CHANGED = (
    "The symbols are right, but the given list `merges` is changed on the way: the next word would "
    "be encoded otherwise. Loop over the list, without `pop`, `sort` or `reverse`."
)


def _glued_to_the_last(word: str, merges: list[Pair]) -> list[str]:
    *before, last = encode_word(word, merges, split=merging.split_without_end)
    return [*before, last + END]


RESULTS = (
    Mistake(
        "no-end-of-word",
        encoded_with(split=merging.split_without_end),
        "The word has no final '</w>'. Merges with it were learned and can never apply, and the "
        "text cannot be put together again. Start from the characters and '</w>'.",
    ),
    Mistake(
        "end-attached",
        encoded_with(split=merging.split_end_attached),
        "'</w>' is glued to the last character (`w</w>`), as later versions of subword-nmt do. "
        "Here it is a symbol of its own: `[*word, '</w>']`.",
    ),
    Mistake(
        "end-in-characters",
        encoded_with(split=merging.split_end_in_characters),
        "'</w>' is taken apart into its characters <, /, w, >: `list(word + '</w>')`. It is one "
        "symbol: `list(word) + ['</w>']`.",
    ),
    Mistake("end-in-front", encoded_with(split=merging.split_end_in_front), _IN_FRONT),
    Mistake("mark-in-front", encoded_with(split=merging.split_g), _IN_FRONT),
    Mistake(
        "end-appended-last",
        lambda word, merges: [*encode_word(word, merges, split=merging.split_without_end), END],
        "'</w>' is put behind the finished symbols, or the merges with it are left out. It is a "
        "symbol like the others and there from the start: merges such as (est, </w>) use it.",
    ),
    *(
        Mistake(f"end-called-{name}", partial(_end_called, name=name), _END_NAME)
        for name in merging.OTHER_ENDS
    ),
    *(
        Mistake(f"end-split-as-{name}", encoded_with(split=merging.split_with(name)), _END_NAME)
        for name in merging.OTHER_ENDS
    ),
    Mistake(
        "end-cut-off",
        _end_cut_off,
        "'</w>' is cut off from the symbol that it has become part of. Merges such as (est, </w>) "
        "join it: `est</w>` is one symbol.",
    ),
    Mistake(
        "begin-and-end-added",
        lambda word, merges: ["<s>", *encode_word(word, merges), "</s>"],
        "Marks for begin and end of sentence are added. Return the symbols of the word alone.",
    ),
    Mistake(
        "joined-again",
        lambda word, merges: "".join(encode_word(word, merges)),
        "The symbols are joined to one string again. Return them as a list.",
    ),
    Mistake(
        "continuation-signs-and-end",
        _continued_with_end,
        "The pieces carry `@@`, the notation of subword-nmt for files. Return the symbols "
        "themselves.",
    ),
    Mistake(
        "end-removed",
        _end_removed,
        "'</w>' is taken off the result. It belongs to the symbols: `est</w>` and `est` are "
        "different tokens, and without it nobody knows where a word ends.",
    ),
    Mistake(
        "lone-end-removed",
        _lone_end_removed,
        "A '</w>' that stays alone is taken off the result. It is a token like the others, and "
        "says where the word ends.",
    ),
    Mistake(
        "continuation-signs",
        _continued,
        "The pieces carry `@@`, the notation of subword-nmt for files. Return the symbols "
        "themselves, with '</w>'.",
    ),
    Mistake(
        "hash-signs",
        _hashes,
        "The pieces carry `##`, the notation of BERT's WordPiece. Return the symbols themselves, "
        "with '</w>'.",
    ),
    Mistake("unknown-token", partial(_known_only, unknown="<unk>"), _UNKNOWN),
    Mistake("unknown-token-of-bert", partial(_known_only, unknown="[UNK]"), _UNKNOWN),
    Mistake("unknown-token-plain", partial(_known_only, unknown="UNK"), _UNKNOWN),
    Mistake(
        "unknown-dropped",
        _unknown_dropped,
        "Symbols that no merge has are left out of the result. They stay as they are: the pieces "
        "put together must give the word again.",
    ),
    Mistake(
        "lower-cased",
        encoded_with(split=merging.split_lower),
        "The word is put into lower case first. Nothing is said of that.",
    ),
    Mistake(
        "bytes",
        encoded_with(split=merging.split_bytes),
        "The word is taken apart into bytes, as GPT-2 does, so that `ü` becomes two symbols. Here "
        "the first symbols are characters.",
    ),
    Mistake(
        "one-string",
        lambda word, merges: " ".join(encode_word(word, merges)),
        "The symbols come back as one string with spaces. Return a list of strings: leave the "
        "`join` out, or `split()` at the end.",
    ),
    Mistake(
        "merges-returned",
        _pairs,
        "The merges that were applied are returned. Asked for are the symbols that are left in the "
        "end.",
    ),
    Mistake(
        "numbers-returned",
        _numbers,
        "Numbers are returned. Asked for are the symbols themselves, as strings.",
    ),
    Mistake(
        "sorted",
        lambda word, merges: sorted(encode_word(word, merges)),
        "The symbols come back sorted (or as a set). Their order is that of the word.",
    ),
    Mistake(
        "in-reverse",
        lambda word, merges: encode_word(word, merges)[::-1],
        "The symbols come back in reverse order. Their order is that of the word.",
    ),
    Mistake("changes-merges", _empties, _CHANGED),
    Mistake("reverses-merges", _then(list.reverse), _CHANGED),
    Mistake("sorts-merges", _then(list.sort), _CHANGED),
    Mistake(
        "end-glued-to-the-last-symbol",
        _glued_to_the_last,
        "'</w>' is glued to the last symbol when all is done. It is a symbol of its own from the "
        "start: only a merge such as (est, </w>) joins it to what stands before.",
    ),
    Mistake(
        "duplicates-removed",
        lambda word, merges: list(dict.fromkeys(encode_word(word, merges))),
        "A symbol that occurs again is left out, as a set or a dictionary does. All symbols stay: "
        "put together they give the word again.",
    ),
)
