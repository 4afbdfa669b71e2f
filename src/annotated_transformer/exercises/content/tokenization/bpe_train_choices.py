"""Mistakes of `tokenization.bpe_train` in choosing a pair and in merging it."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from annotated_transformer.exercises.content.tokenization import merging
from annotated_transformer.exercises.content.tokenization.bpe_train_variants import (
    Counts,
    Words,
    count_pairs,
    most_frequent,
    train_merges,
    trained_with,
)
from annotated_transformer.exercises.content.tokenization.merging import Pair
from annotated_transformer.exercises.exercise import Mistake


def _by(key: Callable[[Pair, int], Any]) -> Callable[[Counts, Words], Pair]:
    return lambda counts, words: min(counts, key=lambda pair: key(pair, counts[pair]))


def _with_end(pair: Pair, mark: str) -> Pair:
    return pair[0].replace(merging.END, mark), pair[1].replace(merging.END, mark)


def _last_seen(counts: Counts, words: Words) -> Pair:
    return min(reversed(list(counts)), key=lambda pair: -counts[pair])


def _wordpiece(counts: Counts, words: Words) -> Pair:
    single: Counter[str] = Counter()
    for (first, second), count in counts.items():
        single[first] += count
        single[second] += count
    return min(counts, key=lambda p: (-counts[p] / (single[p[0]] * single[p[1]]), p))


def _no_update(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    counts = count_pairs({w: merging.split_word(w) for w in word_counts}, word_counts, "")
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:n_merges]


def _same_again(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    return train_merges(word_counts, n_merges, merge=lambda symbols, pair: list(symbols))


def _stale_counts(word_counts: dict[str, int], n_merges: int) -> list[Pair]:
    """Words are rewritten, but the counts of gone neighbours are never taken down."""
    words = {word: merging.split_word(word) for word in word_counts}
    totals: Counter[Pair] = Counter(count_pairs(words, word_counts, ""))
    merges: list[Pair] = []
    while len(merges) < n_merges and totals:
        best = most_frequent(totals, words)
        merges.append(best)
        del totals[best]
        words = {word: merging.merge_pair(symbols, best) for word, symbols in words.items()}
        for pair, count in count_pairs(words, word_counts, "").items():
            if best[0] + best[1] in pair:
                totals[pair] = count
    return merges


_TIES = (
    "Among pairs of equal count the result follows {}. The rule is: the lexicographically smallest "
    "pair, compared as a tuple. A rule is needed so that everybody learns the same merges: choose "
    "by `(-count, pair)`."
)
_NOT_COUNTED_ANEW = (
    "The pairs are counted once, at the beginning, and the most frequent ones returned. After each "
    "merge there are new symbols with new neighbours, and old pairs are gone: merge in every word, "
    "then count again."
)


def _several_at_once(
    word_counts: dict[str, int],
    n_merges: int,
    several: Callable[[Counts], list[Pair]],
) -> list[Pair]:
    """More than one merge from each count of the pairs."""
    words = {word: merging.split_word(word) for word in word_counts}
    merges: list[Pair] = []
    while len(merges) < n_merges:
        counts = count_pairs(words, word_counts, "")
        if not counts:
            break
        for best in several(counts):
            merges.append(best)
            words = {word: merging.merge_pair(symbols, best) for word, symbols in words.items()}
    return merges[:n_merges]


def _best(counts: Counts) -> list[Pair]:
    return sorted(counts, key=lambda pair: (-counts[pair], pair))


_SEVERAL = (
    "{} from one count. A merge takes symbols away from other pairs and makes new ones, so what "
    "came second may be gone: after every single merge count anew."
)


CHOICES = (
    Mistake(
        "ties-first-seen",
        trained_with(choose=lambda counts, words: max(counts, key=lambda pair: counts[pair])),
        _TIES.format("the order in which they were first seen (`max` alone, or `most_common`)"),
    ),
    Mistake("ties-last-seen", trained_with(choose=_last_seen), _TIES.format("which was seen last")),
    Mistake(
        "ties-largest",
        trained_with(
            choose=lambda counts, words: max(counts, key=lambda pair: (counts[pair], pair))
        ),
        "Among pairs of equal count the lexicographically *largest* is taken: `max` with the key "
        "(count, pair) does that. Take the smallest: `min` with the key (-count, pair).",
    ),
    Mistake(
        "ties-by-joined-text",
        trained_with(choose=_by(lambda pair, count: (-count, "".join(pair)))),
        _TIES.format("the joined text, so that (ab, a) comes before (a, bc)"),
    ),
    Mistake(
        "ties-by-written-tuple",
        trained_with(choose=_by(lambda pair, count: (-count, str(pair)))),
        _TIES.format("the tuple written out, quotes and all (`str(pair)`)"),
    ),
    Mistake(
        "ties-without-end",
        trained_with(choose=_by(lambda pair, count: (-count, *_with_end(pair, "")))),
        _TIES.format("the symbols without '</w>'"),
    ),
    Mistake(
        "ties-end-last",
        trained_with(choose=_by(lambda pair, count: (-count, *_with_end(pair, "~")))),
        _TIES.format("an alphabet in which '</w>' stands last"),
    ),
    Mistake(
        "ties-by-second-symbol",
        trained_with(choose=_by(lambda pair, count: (-count, pair[::-1]))),
        _TIES.format("the second symbol"),
    ),
    Mistake(
        "ties-longest",
        trained_with(choose=_by(lambda pair, count: (-count, -len("".join(pair)), pair))),
        _TIES.format("the length of the new symbol, the longest first"),
    ),
    Mistake(
        "ties-shortest",
        trained_with(choose=_by(lambda pair, count: (-count, len("".join(pair)), pair))),
        _TIES.format("the length of the new symbol, the shortest first"),
    ),
    Mistake(
        "ties-shortest-first-seen",
        trained_with(choose=_by(lambda pair, count: (-count, len("".join(pair))))),
        _TIES.format("the length of the new symbol, the shortest first"),
    ),
    Mistake(
        "ties-longest-first-seen",
        trained_with(choose=_by(lambda pair, count: (-count, -len("".join(pair))))),
        _TIES.format("the length of the new symbol, the longest first"),
    ),
    Mistake(
        "weighted-with-length",
        trained_with(choose=_by(lambda pair, count: (-count * len("".join(pair)), pair))),
        "The counts are multiplied by the length of the new symbol. Byte-pair encoding takes the "
        "plain count; the length plays no part.",
    ),
    Mistake(
        "rarest-first",
        trained_with(choose=_by(lambda pair, count: (count, pair))),
        "The *rarest* pair is merged. Byte-pair encoding joins what occurs often: the largest "
        "count first, in the key `(-count, pair)` with a minus sign.",
    ),
    Mistake(
        "counts-not-compared",
        trained_with(choose=_by(lambda pair, count: pair)),
        "The lexicographically smallest pair is merged, whatever its count (`min(counts)`). The "
        "count comes first, the alphabet only settles ties.",
    ),
    Mistake(
        "wordpiece-score",
        trained_with(choose=_wordpiece),
        "The count is divided by the counts of the two symbols, which is the score of WordPiece "
        "(BERT). Byte-pair encoding takes the plain count.",
    ),
    Mistake("no-update", _no_update, _NOT_COUNTED_ANEW),
    Mistake(
        "same-pair-again",
        _same_again,
        "The same pair is returned again and again: the words are never rewritten. Join the pair "
        "in every word before counting again, and keep the result.",
    ),
    Mistake(
        "stale-counts",
        _stale_counts,
        "New pairs are added after each merge, but the counts of pairs that the merge has broken "
        "are not taken down. After (a, b), an a that went into `ab` has no other neighbour any "
        "more: count all pairs anew.",
    ),
    Mistake(
        "merged-at-first-place",
        trained_with(merge=merging.merge_first_place),
        "In each word only the first occurrence of the pair is merged. Merge all of them, going "
        "on after the one just joined.",
    ),
    Mistake(
        "merged-at-last-place",
        trained_with(merge=merging.merge_last_place),
        "In each word only the last occurrence of the pair is merged. Merge all of them, from left "
        "to right.",
    ),
    Mistake(
        "merged-from-the-right",
        trained_with(merge=merging.merge_from_the_right),
        "The pair is merged from right to left: `aaa` becomes `a aa`. Go from left to right, so "
        "that it becomes `aa a`.",
    ),
    Mistake(
        "merged-in-text",
        trained_with(merge=merging.merge_by_text),
        "The pair is replaced in the text of the symbols with spaces between them, without looking "
        "where a symbol begins: in `xa b` the text `a b` is found too. Compare whole symbols.",
    ),
    Mistake(
        "merged-overlapping",
        trained_with(merge=merging.merge_overlapping),
        "A symbol is used twice: `aaa` becomes `aa aa`. After joining two symbols go on behind "
        "both of them.",
    ),
    Mistake(
        "merged-and-kept",
        trained_with(merge=merging.merge_and_keep),
        "The second symbol of a merged pair stays where it was: `a b` becomes `ab b`. After "
        "joining two symbols skip both.",
    ),
    Mistake(
        "last-symbol-lost",
        trained_with(merge=merging.merge_and_lose_the_last),
        "When a word is rewritten, its last symbol is lost: the loop stops one before the end, "
        "since it looks at pairs. Keep the last symbol where it was not merged.",
    ),
    Mistake(
        "merged-either-order",
        trained_with(merge=merging.merge_either_order),
        "The pair is merged in either order, `b a` as well as `a b`. Only the order that was "
        "counted.",
    ),
    Mistake(
        "two-merges-a-count",
        partial(_several_at_once, several=lambda counts: _best(counts)[:2]),
        _SEVERAL.format("Two merges are taken"),
    ),
    Mistake(
        "all-ties-at-once",
        partial(
            _several_at_once,
            several=lambda counts: [p for p in _best(counts) if counts[p] == max(counts.values())],
        ),
        _SEVERAL.format("All pairs of the highest count are merged"),
    ),
)
