"""A trainer with every step replaceable, from which the mistakes are made."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from annotated_transformer.exercises.content.tokenization import merging
from annotated_transformer.exercises.content.tokenization.merging import Merge, Pair, Split
from annotated_transformer.exercises.exercise import Candidate

Counts = dict[Pair, int]
Words = dict[str, list[str]]


def most_frequent(counts: Counts, words: Words) -> Pair:
    return min(counts, key=lambda pair: (-counts[pair], pair))


def count_pairs(words: Words, weights: dict[str, int], how: str) -> Counts:
    counts: Counter[Pair] = Counter()
    for word, symbols in words.items():
        weight = 1 if how == "unweighted" else weights[word]
        pairs = list(pairwise(symbols))
        if how == "once per word":
            pairs = list(dict.fromkeys(pairs))
        if how == "first pair":
            pairs = pairs[:1]
        if how == "both orders":
            pairs = [*pairs, *(pair[::-1] for pair in pairs)]
        previous = -2
        for place, pair in enumerate(pairs):
            if how == "no overlap" and place == previous + 1 and pairs[previous] == pair:
                continue
            previous = place
            if how == "overwritten":
                counts[pair] = weight
            elif how == "largest":
                counts[pair] = max(counts[pair], weight)
            else:
                counts[pair] += weight
    return dict(counts)


def train_merges(
    word_counts: dict[str, int],
    n_merges: int,
    *,
    split: Split = merging.split_word,
    count: str = "",
    choose: Callable[[Counts, Words], Pair] = most_frequent,
    merge: Merge = merging.merge_pair,
    at_least: int = 1,
) -> list[Pair]:
    words = {word: split(word) for word in word_counts}
    merges: list[Pair] = []
    for _ in range(n_merges):
        counts = count_pairs(words, word_counts, count)
        if not counts or max(counts.values()) < at_least:
            break
        best = choose(counts, words)
        merges.append(best)
        words = {word: merge(symbols, best) for word, symbols in words.items()}
    return merges


def trained_with(**steps: Any) -> Candidate:
    return partial(train_merges, **steps)
