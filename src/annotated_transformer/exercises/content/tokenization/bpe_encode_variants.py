"""An encoder with every step replaceable, from which the mistakes are made."""

from functools import partial
from itertools import pairwise
from typing import Any

from annotated_transformer.exercises.content.tokenization import merging
from annotated_transformer.exercises.content.tokenization.merging import Merge, Pair, Split
from annotated_transformer.exercises.exercise import Candidate


def encode_word(
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


def one_pass(word: str, merges: list[Pair], merge: Merge) -> list[str]:
    symbols = merging.split_word(word)
    for pair in merges:
        symbols = merge(symbols, pair)
    return symbols


def encoded_with(**steps: Any) -> Candidate:
    return partial(encode_word, **steps)
