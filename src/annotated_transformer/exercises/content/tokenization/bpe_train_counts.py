"""Mistakes of `tokenization.bpe_train` in the first symbols and in counting pairs."""

from collections import Counter
from functools import partial
from itertools import pairwise

from annotated_transformer.exercises.content.tokenization import merging
from annotated_transformer.exercises.content.tokenization.bpe_train_variants import (
    most_frequent,
    train_merges,
    trained_with,
)
from annotated_transformer.exercises.content.tokenization.merging import Pair
from annotated_transformer.exercises.exercise import Mistake


def _each_word_alone(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    merges: list[Pair] = []
    for word, count in word_counts.items():
        for pair in train_merges({word: count}, n_merges):
            if pair not in merges:
                merges.append(pair)
    return merges[:n_merges]


def _as_one_row(
    word_counts: dict[str, int], n_merges: int, *, end: str = merging.END, once: bool = False
) -> list[Pair]:
    """The words one after the other, each as often as it occurs or `once`, `end` after each."""
    ends = [end] if end else []
    symbols = [
        symbol
        for word, count in word_counts.items()
        for _ in range(1 if once else count)
        for symbol in [*word, *ends]
    ]
    merges: list[Pair] = []
    for _ in range(n_merges):
        counts = Counter(pairwise(symbols))
        if not counts:
            break
        best = most_frequent(counts, {})
        merges.append(best)
        symbols = merging.merge_pair(symbols, best)
    return merges


def _as_one_weighted_row(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    """Each word once in the row; a pair weighs as much as the word of its first symbol."""
    row = [(s, count) for word, count in word_counts.items() for s in merging.split_word(word)]
    merges: list[Pair] = []
    for _ in range(n_merges):
        counts: Counter[Pair] = Counter()
        for (first, count), (second, _) in pairwise(row):
            counts[first, second] += count
        if not counts:
            break
        best = most_frequent(counts, {})
        merges.append(best)
        joined: list[tuple[str, int]] = []
        for symbol, count in row:
            if joined and (joined[-1][0], symbol) == best:
                joined[-1] = (joined[-1][0] + symbol, joined[-1][1])
            else:
                joined.append((symbol, count))
        row = joined
    return merges


_END_NAME = (
    "The words end in another mark than '</w>'. The result is compared as it stands, and files of "
    "merges are read by other programs: use '</w>'."
)
_IN_FRONT = (
    "The mark stands in front of the word, as in GPT-2, SentencePiece and this book's own package. "
    "Here it is '</w>' *after* the last character, so that endings become symbols."
)


def _long_words_only(word_counts: dict[str, int], n_merges: int, least: int) -> list[Pair]:
    kept = {word: count for word, count in word_counts.items() if len(word) >= least}
    return train_merges(kept, n_merges)


_ACROSS = "Pairs are counted across the border of two words, as if the corpus were one long row. "
_SHORT_LEFT_OUT = (
    "Short words are left out. Every word counts: even a word of one character has a pair, that "
    "character and '</w>'."
)


COUNTS = (
    Mistake(
        "no-end-of-word",
        trained_with(split=merging.split_without_end),
        "No pair ever holds '</w>': the words have no such symbol, or its pairs are left out (a "
        "loop that ends one too early does that). Then an ending cannot be told from the same "
        "letters inside a word. Start from the characters and '</w>', and count up to the last.",
    ),
    Mistake(
        "end-attached",
        trained_with(split=merging.split_end_attached),
        "'</w>' is glued to the last character (`w</w>`), as later versions of subword-nmt do. "
        "Here it is a symbol of its own: `[*word, '</w>']`.",
    ),
    Mistake(
        "end-in-characters",
        trained_with(split=merging.split_end_in_characters),
        "'</w>' is taken apart into its characters <, /, w, >: `list(word + '</w>')`. It is one "
        "symbol: `list(word) + ['</w>']`.",
    ),
    Mistake("end-in-front", trained_with(split=merging.split_end_in_front), _IN_FRONT),
    Mistake("mark-in-front-gpt2", trained_with(split=merging.split_g), _IN_FRONT),
    Mistake(
        "mark-in-front-sentencepiece", trained_with(split=merging.split_sentencepiece), _IN_FRONT
    ),
    *(
        Mistake(f"end-called-{name}", trained_with(split=merging.split_with(name)), _END_NAME)
        for name in merging.OTHER_ENDS
    ),
    Mistake(
        "word-reversed",
        trained_with(split=lambda word: [*word[::-1], merging.END]),
        "The characters of a word are reversed. Its symbols are its characters in their order, "
        "then '</w>'.",
    ),
    Mistake(
        "word-not-split",
        trained_with(split=lambda word: [word, merging.END]),
        "The words are not taken apart: each is one symbol and '</w>'. Start from the characters, "
        "`list(word) + ['</w>']` (`split()` cuts at spaces).",
    ),
    Mistake(
        "start-of-word-added",
        trained_with(split=merging.split_both_ends),
        "The words also begin with a mark of their own. Only the end is marked: characters, then "
        "'</w>'.",
    ),
    Mistake(
        "lower-cased",
        trained_with(split=merging.split_lower),
        "The words are put into lower case first. Nothing is said of that: `Band` and `band` begin "
        "with different symbols.",
    ),
    Mistake(
        "bytes",
        trained_with(split=merging.split_bytes),
        "The words are taken apart into bytes, as GPT-2 does, so that `ü` becomes two symbols. "
        "Here the first symbols are characters.",
    ),
    Mistake(
        "counts-ignored",
        trained_with(count="unweighted"),
        "Every word counts once, however often it occurs. A pair is worth the count of its word at "
        "each position: `counts[pair] += word_counts[word]`.",
    ),
    Mistake(
        "once-per-word",
        trained_with(count="once per word"),
        "A pair that stands twice in a word is counted once (a set of pairs). Every position "
        "counts: in `banana` the pair (a, n) occurs twice.",
    ),
    Mistake(
        "no-overlapping-positions",
        trained_with(count="no overlap"),
        "In `aaa` the pair (a, a) is counted once, because only one merge would be possible there. "
        "The rule here is simpler: every position where the pair stands counts, so twice.",
    ),
    Mistake(
        "count-overwritten",
        trained_with(count="overwritten"),
        "The count of a pair is overwritten by each word that has it (`=` for `+=`). Counts add up "
        "over all positions of all words.",
    ),
    Mistake(
        "largest-count",
        trained_with(count="largest"),
        "A pair gets the count of the most frequent word that has it. Counts add up over all "
        "positions of all words.",
    ),
    Mistake(
        "first-pair-only",
        trained_with(count="first pair"),
        "Only the first pair of each word is counted. Go on to the last: `zip(symbols, "
        "symbols[1:])`.",
    ),
    Mistake(
        "both-orders",
        trained_with(count="both orders"),
        "(a, b) and (b, a) are counted as one pair. Order matters: `ab` and `ba` are different "
        "symbols.",
    ),
    Mistake(
        "each-word-alone",
        _each_word_alone,
        "The merges are learned from each word on its own and put one after the other. The counts "
        "of all words are added before a pair is chosen.",
    ),
    Mistake(
        "across-words",
        _as_one_row,
        _ACROSS + "A pair lies within one word: the last symbol is '</w>'.",
    ),
    Mistake(
        "across-words-each-once",
        partial(_as_one_row, once=True),
        _ACROSS + "A pair lies within one word. And each word counts once, however often it "
        "occurs: weigh its pairs with its count.",
    ),
    Mistake(
        "across-words-weighted",
        _as_one_weighted_row,
        _ACROSS + "A pair lies within one word: go through the words one by one.",
    ),
    Mistake(
        "words-joined",
        partial(_as_one_row, end=""),
        _ACROSS + "And there is no '</w>' in it. Go through the words one by one, each with its "
        "'</w>'.",
    ),
    Mistake(
        "words-joined-by-spaces",
        partial(_as_one_row, end=" "),
        _ACROSS + "And a space parts the words, where '</w>' is asked for. Go through the words "
        "one by one, each with its '</w>'.",
    ),
    Mistake("one-letter-words-left-out", partial(_long_words_only, least=2), _SHORT_LEFT_OUT),
    Mistake("two-letter-words-left-out", partial(_long_words_only, least=3), _SHORT_LEFT_OUT),
)
