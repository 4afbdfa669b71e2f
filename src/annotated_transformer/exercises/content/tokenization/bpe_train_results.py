"""Mistakes of `tokenization.bpe_train` in the number of merges and in what comes back."""

from collections.abc import Callable
from typing import Any

from annotated_transformer.exercises.content.tokenization import merging
from annotated_transformer.exercises.content.tokenization.bpe_train_variants import (
    Words,
    train_merges,
    trained_with,
)
from annotated_transformer.exercises.content.tokenization.merging import Pair
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _vocabulary_size(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    alphabet = {symbol for word in word_counts for symbol in merging.split_word(word)}
    return train_merges(word_counts, max(n_merges - len(alphabet), 0))


def _raises(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    merges = train_merges(word_counts, n_merges)
    if len(merges) < n_merges:
        max(())
    return merges


def _filled_up(word_counts: dict[str, int], n_merges: int) -> list[Pair | None]:
    merges = train_merges(word_counts, n_merges)
    return [*merges, *([None] * (n_merges - len(merges)))]


def _used_up(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    merges = train_merges(word_counts, n_merges)
    for word in list(word_counts):
        word_counts[" ".join([*word, merging.END])] = word_counts.pop(word)
    return merges


def _words(word_counts: dict[str, int], n_merges: int) -> Words:
    words = {word: merging.split_word(word) for word in word_counts}
    for pair in train_merges(word_counts, n_merges):
        words = {word: merging.merge_pair(symbols, pair) for word, symbols in words.items()}
    return words


def _then(change: Callable[[dict[str, int]], Any]) -> Candidate:
    """The right merges, and the given counts changed."""

    def train(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
        merges = train_merges(word_counts, n_merges)
        change(word_counts)
        return merges

    return train


def _symbols(word_counts: dict[str, int], n_merges: int) -> list[str]:
    return [first + second for first, second in train_merges(word_counts, n_merges)]


def _vocabulary(word_counts: dict[str, int], n_merges: int) -> list[str]:
    words = [merging.split_word(word) for word in word_counts]
    alphabet = sorted({symbol for word in words for symbol in word})
    return [*alphabet, *_symbols(word_counts, n_merges)]


_CHANGED = (
    "The merges are right, but the given `word_counts` is changed on the way. Keep the symbols of "
    "the words in a dictionary of your own."
)


RESULTS = (
    Mistake(
        "vocabulary-size",
        _vocabulary_size,
        "n_merges is taken as the size of the whole vocabulary, characters included, so there are "
        "too few merges. It is the number of merges.",
    ),
    Mistake(
        "one-too-few",
        lambda word_counts, n_merges: train_merges(word_counts, max(n_merges - 1, 0)),
        "There is one merge too few. Learn n_merges of them: `for _ in range(n_merges)`.",
    ),
    Mistake(
        "one-too-many",
        lambda word_counts, n_merges: train_merges(word_counts, n_merges + 1),
        "There is one merge too many. Learn n_merges of them, none for 0: `for _ in "
        "range(n_merges)`.",
    ),
    Mistake(
        "n-merges-ignored",
        lambda word_counts, n_merges: train_merges(word_counts, 1000),
        "n_merges is not looked at: merging goes on until no pair is left. Stop after n_merges.",
    ),
    Mistake(
        "one-merge-only",
        lambda word_counts, n_merges: train_merges(word_counts, min(n_merges, 1)),
        "Only one merge is learned: is the `return` inside the loop?",
    ),
    Mistake(
        "stops-at-count-one",
        trained_with(at_least=2),
        "Merging stops when the best pair occurs only once, a common setting of libraries "
        "(min_frequency). Here it goes on until no pair is left.",
    ),
    Mistake(
        "no-pair-raises",
        _raises,
        "When every word is a single symbol, there is no pair to choose and `max` or `min` of "
        "nothing raises. Leave the loop: `if not counts: break`.",
    ),
    Mistake(
        "filled-up",
        _filled_up,
        "When no pair is left, the list is filled up with None. It just ends: return the merges "
        "that there are.",
    ),
    Mistake(
        "merged-symbols-returned",
        _symbols,
        "The new symbols are returned as strings. Asked for are the pairs that were joined: `ab` "
        "could come from (a, b) only, but `abc` from (a, bc) or (ab, c).",
    ),
    Mistake(
        "vocabulary-returned",
        _vocabulary,
        "The whole vocabulary is returned. Asked for are the merged pairs, in the order in which "
        "they were learned: encoding needs that order.",
    ),
    Mistake(
        "with-counts",
        lambda word_counts, n_merges: [(p, 1) for p in train_merges(word_counts, n_merges)],
        "Each pair comes back together with its count. Return the pairs alone.",
    ),
    Mistake(
        "pairs-exchanged",
        lambda word_counts, n_merges: [(b, a) for a, b in train_merges(word_counts, n_merges)],
        "The two symbols of each pair are exchanged: (b, a) for what stands as `a b` in the word. "
        "The left one comes first.",
    ),
    Mistake(
        "as-text",
        lambda word_counts, n_merges: [" ".join(p) for p in train_merges(word_counts, n_merges)],
        "The pairs come back as strings with a space, as they stand in a file of merges. Return "
        "tuples of two symbols.",
    ),
    Mistake(
        "ranks-returned",
        lambda word_counts, n_merges: {
            p: i for i, p in enumerate(train_merges(word_counts, n_merges))
        },
        "A dictionary of pairs and ranks is returned. Return the list of pairs; their order says "
        "the rank.",
    ),
    Mistake(
        "merged-names-returned",
        lambda word_counts, n_merges: {p: "".join(p) for p in train_merges(word_counts, n_merges)},
        "A dictionary of pairs and what they become is returned. Return the list of pairs.",
    ),
    Mistake(
        "words-returned",
        _words,
        "The words come back, cut into symbols. Asked for are the merges that were made on the "
        "way, in the order in which they were learned.",
    ),
    Mistake(
        "in-reverse",
        lambda word_counts, n_merges: train_merges(word_counts, n_merges)[::-1],
        "The merges come back in reverse order, the last learned first. The first learned comes "
        "first: encoding applies them in that order.",
    ),
    Mistake(
        "sorted",
        lambda word_counts, n_merges: sorted(train_merges(word_counts, n_merges)),
        "The merges come back in the order of the alphabet. Keep the order in which they were "
        "learned: encoding applies them in that order.",
    ),
    Mistake("changes-word-counts", _used_up, _CHANGED),
    Mistake("empties-word-counts", _then(dict.clear), _CHANGED),
    Mistake("adds-to-word-counts", _then(lambda counts: counts.update(new=1)), _CHANGED),
    Mistake(
        "zeroes-word-counts",
        _then(lambda counts: counts.update(dict.fromkeys(counts, 0))),
        _CHANGED,
    ),
)
