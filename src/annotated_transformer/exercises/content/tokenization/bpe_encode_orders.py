"""Mistakes of `tokenization.bpe_encode` in the order in which merges are applied."""

from functools import partial
from itertools import pairwise

from annotated_transformer.exercises.content.tokenization import merging
from annotated_transformer.exercises.content.tokenization.bpe_encode_variants import (
    encode_word,
    one_pass,
)
from annotated_transformer.exercises.content.tokenization.merging import END, Pair
from annotated_transformer.exercises.exercise import Mistake


def _by_place(word: str, merges: list[Pair], leftmost: bool) -> list[str]:
    symbols = merging.split_word(word)
    while True:
        places = [i for i, pair in enumerate(pairwise(symbols)) if pair in merges]
        if not places:
            return symbols
        i = places[0 if leftmost else -1]
        symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]


def _sweeps(word: str, merges: list[Pair], again: bool) -> list[str]:
    """From left to right, neighbours joined wherever any merge allows it; perhaps once more."""
    symbols = merging.split_word(word)
    while True:
        swept: list[str] = []
        places = iter(range(len(symbols)))
        for place in places:
            here = symbols[place : place + 2]
            if tuple(here) in merges:
                swept.append("".join(here))
                next(places, None)
            else:
                swept.append(symbols[place])
        if swept == symbols or not again:
            return swept
        symbols = swept


def _longest_match(word: str, merges: list[Pair], from_left: bool, end: str = END) -> list[str]:
    known = {first + second for first, second in merges}
    rest = merging.split_word(word) if end else list(word)
    symbols: list[str] = []
    while rest:
        for length in range(len(rest), 0, -1):
            piece = "".join(rest[:length] if from_left else rest[-length:])
            if piece in known or length == 1:
                break
        if from_left:
            symbols.append(piece)
            rest = rest[length:]
        else:
            symbols.insert(0, piece)
            rest = rest[:-length]
    return symbols


def _by_length(word: str, merges: list[Pair], longest: bool) -> list[str]:
    """Of the merges that occur, the one with the longest (shortest) result."""
    order = sorted(merges, key=lambda pair: len("".join(pair)), reverse=longest)
    return encode_word(word, order)


def _most_frequent(word: str, merges: list[Pair]) -> list[str]:
    symbols = merging.split_word(word)
    while known := [pair for pair in pairwise(symbols) if pair in merges]:
        symbols = merging.merge_pair(symbols, max(known, key=known.count))
    return symbols


def _fewest(word: str, merges: list[Pair]) -> list[str]:
    symbols = merging.split_word(word)
    known = {*symbols, *(first + second for first, second in merges)}
    best: list[list[str]] = [[]]
    for end in range(1, len(symbols) + 1):
        cuts = [(start, "".join(symbols[start:end])) for start in range(end)]
        best.append(min(([*best[a], piece] for a, piece in cuts if piece in known), key=len))
    return best[-1]


def _until_a_gap(word: str, merges: list[Pair]) -> list[str]:
    """The merges one after the other, up to the first that does not occur."""
    symbols = merging.split_word(word)
    for pair in merges:
        if pair not in pairwise(symbols):
            break
        symbols = merging.merge_pair(symbols, pair)
    return symbols


_LATEST = (
    "The *latest*-learned merge that occurs is applied. The first in `merges` was the most "
    "frequent and goes first: take the smallest position in the list."
)
_LONGEST = (
    "The word is cut into the longest known symbols. That is how WordPiece works; byte-pair "
    "encoding repeats the merges in the order in which they were learned, and the longest symbol "
    "may never come about on that way."
)


ORDERS = (
    Mistake(
        "leftmost-first",
        partial(_by_place, leftmost=True),
        "The leftmost pair that any merge allows is joined first. What decides is which merge was "
        "learned earliest, not where the pair stands.",
    ),
    Mistake(
        "sweeps",
        partial(_sweeps, again=True),
        "The word is swept from left to right, and wherever any merge allows it two symbols are "
        "joined. First comes the merge that was learned first, at all its places; only then the "
        "next.",
    ),
    Mistake(
        "one-sweep",
        partial(_sweeps, again=False),
        "The word is swept once from left to right, and wherever any merge allows it two symbols "
        "are joined. First comes the merge that was learned first, at all its places, and so on "
        "until none occurs.",
    ),
    Mistake(
        "rightmost-first",
        partial(_by_place, leftmost=False),
        "The rightmost pair that any merge allows is joined first. What decides is which merge was "
        "learned earliest, not where the pair stands.",
    ),
    Mistake("longest-match", partial(_longest_match, from_left=True), _LONGEST),
    Mistake("longest-match-from-right", partial(_longest_match, from_left=False), _LONGEST),
    Mistake(
        "longest-match-without-end",
        partial(_longest_match, from_left=True, end=""),
        _LONGEST + " And the word has no '</w>'.",
    ),
    Mistake(
        "longest-result-first",
        partial(_by_length, longest=True),
        "Of the merges that occur, the one with the longest result is applied first. The length "
        "does not matter: the earliest-learned goes first.",
    ),
    Mistake(
        "shortest-result-first",
        partial(_by_length, longest=False),
        "Of the merges that occur, the one with the shortest result is applied first. The length "
        "does not matter: the earliest-learned goes first.",
    ),
    Mistake("latest-first", lambda word, merges: encode_word(word, merges[::-1]), _LATEST),
    Mistake(
        "latest-first-one-pass",
        lambda word, merges: one_pass(word, merges[::-1], merging.merge_pair),
        _LATEST + " Going once through the reversed list also leaves merges out.",
    ),
    Mistake(
        "alphabet-first",
        lambda word, merges: encode_word(word, sorted(merges)),
        "The merges are applied in the order of the alphabet. Their order in `merges` is the order "
        "of learning: do not sort, and do not make a set of them.",
    ),
    Mistake(
        "alphabet-first-one-pass",
        lambda word, merges: one_pass(word, sorted(merges), merging.merge_pair),
        "The merges are gone through once, in the order of the alphabet. Their order in `merges` "
        "is the order of learning: do not sort them.",
    ),
    Mistake(
        "stops-at-a-gap",
        _until_a_gap,
        "Encoding stops at the first merge of the list that does not occur in the word. Later ones "
        "may well occur: skip it and go on to the end of the list (`continue`, not `break`).",
    ),
    Mistake(
        "most-frequent-in-word",
        _most_frequent,
        "The pair that occurs most often in this word is merged first. Frequency decided when the "
        "merges were learned; now their order decides.",
    ),
    Mistake(
        "fewest-symbols",
        _fewest,
        "The word is cut into as few known symbols as possible. Byte-pair encoding repeats the "
        "merges in the order in which they were learned.",
    ),
    Mistake(
        "last-merge-missing",
        lambda word, merges: encode_word(word, merges[:-1]),
        "The last merge of the list is never applied. Go through all of them.",
    ),
    Mistake(
        "first-merge-missing",
        lambda word, merges: encode_word(word, merges[1:]),
        "The first merge of the list is never applied: its position is 0, which counts as False "
        "(`if rank.get(pair)`). Ask `is not None` or `in`.",
    ),
)
