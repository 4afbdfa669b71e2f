"""Named mistakes of `tokenization.bpe_encode`."""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from annotated_transformer.exercises.exercise import Candidate, Mistake
from annotated_transformer.exercises.tokenization import merging
from annotated_transformer.exercises.tokenization.merging import END, Merge, Pair, Split


def _encode(
    word: str,
    merges: list[Pair],
    *,
    split: Split = merging.split_word,
    merge: Merge = merging.merge_pair,
    again: bool = True,
) -> list[str]:
    """Every merge in the order of learning, repeated while one occurs, so that each step shows."""
    rank = {pair: number for number, pair in reversed(list(enumerate(merges)))}
    symbols = split(word)
    for _ in range(100):
        known = [pair for pair in pairwise(symbols) if pair in rank]
        if not known:
            break
        symbols = merge(symbols, min(known, key=lambda pair: rank[pair]))
        if not again:
            break
    return symbols


def _one_pass(word: str, merges: list[Pair], merge: Merge) -> list[str]:
    symbols = merging.split_word(word)
    for pair in merges:
        symbols = merge(symbols, pair)
    return symbols


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
    return _encode(word, order)


def _joined_text(word: str, merges: list[Pair]) -> list[str]:
    """Two neighbours whose text together is a known symbol, whatever pair made it."""
    rank = {first + second: number for number, (first, second) in reversed([*enumerate(merges)])}
    symbols = merging.split_word(word)
    while known := [pair for pair in pairwise(symbols) if "".join(pair) in rank]:
        symbols = merging.merge_pair(symbols, min(known, key=lambda pair: rank["".join(pair)]))
    return symbols


def _most_frequent(word: str, merges: list[Pair]) -> list[str]:
    symbols = merging.split_word(word)
    while known := [pair for pair in pairwise(symbols) if pair in merges]:
        symbols = merging.merge_pair(symbols, max(known, key=known.count))
    return symbols


def _end_removed(word: str, merges: list[Pair]) -> list[str]:
    symbols = [symbol.removesuffix(END) for symbol in _encode(word, merges)]
    return [symbol for symbol in symbols if symbol]


def _lone_end_removed(word: str, merges: list[Pair]) -> list[str]:
    return [symbol for symbol in _encode(word, merges) if symbol != END]


def _end_called(word: str, merges: list[Pair], name: str) -> list[str]:
    return [symbol.replace(END, name) for symbol in _encode(word, merges)]


def _end_cut_off(word: str, merges: list[Pair]) -> list[str]:
    *before, last = _encode(word, merges)
    return [*before, *([last.removesuffix(END)] if last != END else []), END]


def _continued_with_end(word: str, merges: list[Pair]) -> list[str]:
    *before, last = _encode(word, merges)
    return [*(symbol + "@@" for symbol in before), last]


def _fewest(word: str, merges: list[Pair]) -> list[str]:
    symbols = merging.split_word(word)
    known = {*symbols, *(first + second for first, second in merges)}
    best: list[list[str]] = [[]]
    for end in range(1, len(symbols) + 1):
        cuts = [(start, "".join(symbols[start:end])) for start in range(end)]
        best.append(min(([*best[a], piece] for a, piece in cuts if piece in known), key=len))
    return best[-1]


def _continued(word: str, merges: list[Pair]) -> list[str]:
    symbols = _end_removed(word, merges)
    return [symbol + "@@" for symbol in symbols[:-1]] + symbols[-1:]


def _hashes(word: str, merges: list[Pair]) -> list[str]:
    symbols = _end_removed(word, merges)
    return symbols[:1] + ["##" + symbol for symbol in symbols[1:]]


def _known_only(word: str, merges: list[Pair], unknown: str) -> list[str]:
    known = {symbol for pair in merges for symbol in (*pair, "".join(pair))}
    return [symbol if symbol in known else unknown for symbol in _encode(word, merges)]


def _unknown_dropped(word: str, merges: list[Pair]) -> list[str]:
    known = {symbol for pair in merges for symbol in (*pair, "".join(pair))}
    return [symbol for symbol in _encode(word, merges) if symbol in known]


def _empties(word: str, merges: list[Pair]) -> list[str]:
    symbols = merging.split_word(word)
    while merges:
        symbols = merging.merge_pair(symbols, merges.pop(0))
    return symbols


def _then(change: Callable[[list[Pair]], Any]) -> Candidate:
    """The right symbols, and the given merges changed."""

    def encode(word: str, merges: list[Pair]) -> list[str]:
        symbols = _encode(word, merges)
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
    return [known[symbol] for symbol in _encode(word, merges)]


def _encoded(**steps: Any) -> Candidate:
    return partial(_encode, **steps)


_LATEST = (
    "The *latest*-learned merge that occurs is applied. The first in `merges` was the most "
    "frequent and goes first: take the smallest position in the list."
)
_LONGEST = (
    "The word is cut into the longest known symbols. That is how WordPiece works; byte-pair "
    "encoding repeats the merges in the order in which they were learned, and the longest symbol "
    "may never come about on that way."
)
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

MISTAKES = (
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
    Mistake("latest-first", lambda word, merges: _encode(word, merges[::-1]), _LATEST),
    Mistake(
        "latest-first-one-pass",
        lambda word, merges: _one_pass(word, merges[::-1], merging.merge_pair),
        _LATEST + " Going once through the reversed list also leaves merges out.",
    ),
    Mistake(
        "alphabet-first",
        lambda word, merges: _encode(word, sorted(merges)),
        "The merges are applied in the order of the alphabet. Their order in `merges` is the order "
        "of learning: do not sort, and do not make a set of them.",
    ),
    Mistake(
        "alphabet-first-one-pass",
        lambda word, merges: _one_pass(word, sorted(merges), merging.merge_pair),
        "The merges are gone through once, in the order of the alphabet. Their order in `merges` "
        "is the order of learning: do not sort them.",
    ),
    Mistake(
        "most-frequent-in-word",
        _most_frequent,
        "The pair that occurs most often in this word is merged first. Frequency decided when the "
        "merges were learned; now their order decides.",
    ),
    Mistake(
        "first-place-only",
        partial(_one_pass, merge=merging.merge_first_place),
        "Each merge is applied at one place only. Apply it at all its places, from left to right, "
        "before the next merge.",
    ),
    Mistake(
        "last-place-only",
        partial(_one_pass, merge=merging.merge_last_place),
        "Each merge is applied at its last place only. Apply it at all its places, from left to "
        "right, before the next merge.",
    ),
    Mistake(
        "one-merge-only",
        _encoded(again=False),
        "Only one merge is applied. Go on until no merge occurs any more: is the `return` or a "
        "`break` inside the loop?",
    ),
    Mistake(
        "one-place-in-all",
        _encoded(again=False, merge=merging.merge_first_place),
        "Only one merge is applied, and at one place. Go on until no merge occurs any more: is the "
        "`return` or a `break` inside the loop?",
    ),
    Mistake(
        "from-the-right",
        _encoded(merge=merging.merge_from_the_right),
        "The pair is merged from right to left: `aaa` becomes `a aa`. Go from left to right, so "
        "that it becomes `aa a`.",
    ),
    Mistake(
        "text-replaced",
        _encoded(merge=merging.merge_by_text),
        "The pair is replaced in the text of the symbols with spaces between them, without looking "
        "where a symbol begins: in `xa b` the text `a b` is found too. Compare whole symbols.",
    ),
    Mistake(
        "text-replaced-one-pass",
        partial(_one_pass, merge=merging.merge_by_text),
        "The pair is replaced in the text of the symbols with spaces between them, without looking "
        "where a symbol begins: in `xa b` the text `a b` is found too. Compare whole symbols.",
    ),
    Mistake(
        "joined-text-compared",
        _joined_text,
        "Two neighbours are joined because their text together is a known symbol, although this "
        "pair was never learned: (ab, c) is not (a, bc). Compare the pair, not the joined text.",
    ),
    Mistake(
        "overlapping",
        _encoded(merge=merging.merge_overlapping),
        "A symbol is used twice: `aaa` becomes `aa aa`. After joining two symbols go on behind "
        "both of them.",
    ),
    Mistake(
        "merged-and-kept",
        _encoded(merge=merging.merge_and_keep),
        "The second symbol of a merged pair stays where it was: `a b` becomes `ab b`. After "
        "joining two symbols skip both.",
    ),
    Mistake(
        "either-order",
        partial(_one_pass, merge=merging.merge_either_order),
        "A merge is applied in either order, to `b a` as well as `a b`. Only in the order in which "
        "it was learned.",
    ),
    Mistake(
        "order-reversed-in-pair",
        lambda word, merges: _encode(word, [(second, first) for first, second in merges]),
        "The two symbols of each pair are exchanged: (a, b) is applied to `b a`. The first of the "
        "pair stands on the left.",
    ),
    Mistake(
        "no-end-of-word",
        _encoded(split=merging.split_without_end),
        "The word has no final '</w>'. Merges with it were learned and can never apply, and the "
        "text cannot be put together again. Start from the characters and '</w>'.",
    ),
    Mistake(
        "end-attached",
        _encoded(split=merging.split_end_attached),
        "'</w>' is glued to the last character (`w</w>`), as later versions of subword-nmt do. "
        "Here it is a symbol of its own: `[*word, '</w>']`.",
    ),
    Mistake(
        "end-in-characters",
        _encoded(split=merging.split_end_in_characters),
        "'</w>' is taken apart into its characters <, /, w, >: `list(word + '</w>')`. It is one "
        "symbol: `list(word) + ['</w>']`.",
    ),
    Mistake("end-in-front", _encoded(split=merging.split_end_in_front), _IN_FRONT),
    Mistake("mark-in-front", _encoded(split=merging.split_g), _IN_FRONT),
    Mistake(
        "end-appended-last",
        lambda word, merges: [*_encode(word, merges, split=merging.split_without_end), END],
        "'</w>' is put behind the finished symbols, or the merges with it are left out. It is a "
        "symbol like the others and there from the start: merges such as (est, </w>) use it.",
    ),
    *(
        Mistake(f"end-called-{name}", partial(_end_called, name=name), _END_NAME)
        for name in merging.OTHER_ENDS
    ),
    *(
        Mistake(f"end-split-as-{name}", _encoded(split=merging.split_with(name)), _END_NAME)
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
        lambda word, merges: ["<s>", *_encode(word, merges), "</s>"],
        "Marks for begin and end of sentence are added. Return the symbols of the word alone.",
    ),
    Mistake(
        "joined-again",
        lambda word, merges: "".join(_encode(word, merges)),
        "The symbols are joined to one string again. Return them as a list.",
    ),
    Mistake(
        "continuation-signs-and-end",
        _continued_with_end,
        "The pieces carry `@@`, the notation of subword-nmt for files. Return the symbols "
        "themselves.",
    ),
    Mistake(
        "fewest-symbols",
        _fewest,
        "The word is cut into as few known symbols as possible. Byte-pair encoding repeats the "
        "merges in the order in which they were learned.",
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
        _encoded(split=merging.split_lower),
        "The word is put into lower case first. Nothing is said of that.",
    ),
    Mistake(
        "bytes",
        _encoded(split=merging.split_bytes),
        "The word is taken apart into bytes, as GPT-2 does, so that `ü` becomes two symbols. Here "
        "the first symbols are characters.",
    ),
    Mistake(
        "no-merges",
        lambda word, merges: merging.split_word(word),
        "No merge is applied: these are the characters and '</w>'. Is the result of a merge kept "
        "(`symbols = ...`), and are pairs of the symbols compared with tuples?",
    ),
    Mistake(
        "whole-word",
        lambda word, merges: [word + END],
        "The whole word is returned as one symbol. Start from its characters and join only what "
        "the merges allow.",
    ),
    Mistake(
        "last-merge-missing",
        lambda word, merges: _encode(word, merges[:-1]),
        "The last merge of the list is never applied. Go through all of them.",
    ),
    Mistake(
        "first-merge-missing",
        lambda word, merges: _encode(word, merges[1:]),
        "The first merge of the list is never applied: its position is 0, which counts as False "
        "(`if rank.get(pair)`). Ask `is not None` or `in`.",
    ),
    Mistake(
        "one-string",
        lambda word, merges: " ".join(_encode(word, merges)),
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
        lambda word, merges: sorted(_encode(word, merges)),
        "The symbols come back sorted (or as a set). Their order is that of the word.",
    ),
    Mistake(
        "in-reverse",
        lambda word, merges: _encode(word, merges)[::-1],
        "The symbols come back in reverse order. Their order is that of the word.",
    ),
    Mistake(
        "last-symbol-lost",
        _encoded(merge=merging.merge_and_lose_the_last),
        "A merge loses the last symbol of the word: the loop stops one before the end, since it "
        "looks at pairs. Keep the last symbol where it was not merged.",
    ),
    Mistake(
        "last-symbol-lost-one-pass",
        partial(_one_pass, merge=merging.merge_and_lose_the_last),
        "Each merge loses the last symbol of the word: the loop stops one before the end, since it "
        "looks at pairs. Keep the last symbol where it was not merged.",
    ),
    Mistake("changes-merges", _empties, _CHANGED),
    Mistake("reverses-merges", _then(list.reverse), _CHANGED),
    Mistake("sorts-merges", _then(list.sort), _CHANGED),
)
