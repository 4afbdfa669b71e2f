"""Mistakes of `tokenization.bpe_encode` in making one merge."""

from functools import partial
from itertools import pairwise

from annotated_transformer.exercises.content.tokenization import merging
from annotated_transformer.exercises.content.tokenization.bpe_encode_variants import (
    encode_word,
    encoded_with,
    one_pass,
)
from annotated_transformer.exercises.content.tokenization.merging import END, Pair
from annotated_transformer.exercises.exercise import Mistake


def _joined_text(word: str, merges: list[Pair]) -> list[str]:
    """Two neighbours whose text together is a known symbol, whatever pair made it."""
    rank = {first + second: number for number, (first, second) in reversed([*enumerate(merges)])}
    symbols = merging.split_word(word)
    while known := [pair for pair in pairwise(symbols) if "".join(pair) in rank]:
        symbols = merging.merge_pair(symbols, min(known, key=lambda pair: rank["".join(pair)]))
    return symbols


MERGES = (
    Mistake(
        "first-place-only",
        partial(one_pass, merge=merging.merge_first_place),
        "Each merge is applied at one place only. Apply it at all its places, from left to right, "
        "before the next merge.",
    ),
    Mistake(
        "last-place-only",
        partial(one_pass, merge=merging.merge_last_place),
        "Each merge is applied at its last place only. Apply it at all its places, from left to "
        "right, before the next merge.",
    ),
    Mistake(
        "one-merge-only",
        encoded_with(again=False),
        "Only one merge is applied. Go on until no merge occurs any more: is the `return` or a "
        "`break` inside the loop?",
    ),
    Mistake(
        "one-place-in-all",
        encoded_with(again=False, merge=merging.merge_first_place),
        "Only one merge is applied, and at one place. Go on until no merge occurs any more: is the "
        "`return` or a `break` inside the loop?",
    ),
    Mistake(
        "from-the-right",
        encoded_with(merge=merging.merge_from_the_right),
        "The pair is merged from right to left: `aaa` becomes `a aa`. Go from left to right, so "
        "that it becomes `aa a`.",
    ),
    Mistake(
        "text-replaced",
        encoded_with(merge=merging.merge_by_text),
        "The pair is replaced in the text of the symbols with spaces between them, without looking "
        "where a symbol begins: in `xa b` the text `a b` is found too. Compare whole symbols.",
    ),
    Mistake(
        "text-replaced-one-pass",
        partial(one_pass, merge=merging.merge_by_text),
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
        encoded_with(merge=merging.merge_overlapping),
        "A symbol is used twice: `aaa` becomes `aa aa`. After joining two symbols go on behind "
        "both of them.",
    ),
    Mistake(
        "merged-and-kept",
        encoded_with(merge=merging.merge_and_keep),
        "The second symbol of a merged pair stays where it was: `a b` becomes `ab b`. After "
        "joining two symbols skip both.",
    ),
    Mistake(
        "either-order",
        partial(one_pass, merge=merging.merge_either_order),
        "A merge is applied in either order, to `b a` as well as `a b`. Only in the order in which "
        "it was learned.",
    ),
    Mistake(
        "order-reversed-in-pair",
        lambda word, merges: encode_word(word, [(second, first) for first, second in merges]),
        "The two symbols of each pair are exchanged: (a, b) is applied to `b a`. The first of the "
        "pair stands on the left.",
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
        "last-symbol-lost",
        encoded_with(merge=merging.merge_and_lose_the_last),
        "A merge loses the last symbol of the word: the loop stops one before the end, since it "
        "looks at pairs. Keep the last symbol where it was not merged.",
    ),
    Mistake(
        "last-symbol-lost-one-pass",
        partial(one_pass, merge=merging.merge_and_lose_the_last),
        "Each merge loses the last symbol of the word: the loop stops one before the end, since it "
        "looks at pairs. Keep the last symbol where it was not merged.",
    ),
)
