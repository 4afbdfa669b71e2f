"""Sentences as ids: in lists, or in mapped arrays where the text is not held in memory either."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import cast

import numpy as np

from annotated_transformer.data.corpus import Split
from annotated_transformer.data.token_store import EncodedChunk, TokenRows, stored_pairs
from annotated_transformer.data.vocabulary import Vocabulary
from annotated_transformer.errors import CallError

Rows = list[list[int]] | TokenRows
CHUNK = 10_000  # pairs encoded at a time


@dataclass(frozen=True)
class EncodedSplit:
    """A split as ids.

    Attributes:
        source: ids of each sentence, the end sign appended.
        target: ids of each translation between the start and the end sign.
        indices: the place of each pair in the split it came from.
        skipped: number of pairs left out because they were too long.
    """

    source: Rows
    target: Rows
    indices: Sequence[int]
    skipped: int

    def __len__(self) -> int:
        return len(self.source)

    @property
    def lengths(self) -> Sequence[tuple[int, int]]:
        """(source, target) lengths as the encoder and the decoder see them.

        The decoder reads the target without its last sign and predicts it without its first, so it
        sees one position fewer than the row has. Of mapped rows this is an array (pairs, 2).
        """
        if isinstance(self.source, TokenRows) and isinstance(self.target, TokenRows):
            table = np.stack([self.source.lengths, self.target.lengths - 1], axis=1)
            return cast(Sequence[tuple[int, int]], table)
        return [(len(s), len(t) - 1) for s, t in zip(self.source, self.target, strict=True)]


def encode_split(
    split: Split, vocabulary: Vocabulary, max_length: int | None = None
) -> EncodedSplit:
    """Turn the sentences of a split into ids.

    Those of a stored split are encoded once into the cache and mapped from there, by this process
    and any other that wants the same.

    Args:
        split: the sentences.
        vocabulary: gives the ids.
        max_length: pairs with more positions than this on either side (as `lengths` counts) are
            left out and counted in `skipped`. None keeps all, as scoring needs.

    Raises:
        CallError: nothing is left.
    """
    chunks = encoded_chunks(split, vocabulary, max_length)
    source: Rows
    target: Rows
    indices: Sequence[int]
    if split.is_stored:
        key = cache_key(split, vocabulary, max_length)
        source, target, places = stored_pairs(key, chunks, np.min_scalar_type(len(vocabulary)))
        indices = cast(Sequence[int], places)
    else:
        source, target, indices = [], [], []
        for chunk in chunks:
            source += chunk.source
            target += chunk.target
            indices += chunk.indices
    return _not_empty(EncodedSplit(source, target, indices, len(split) - len(indices)), max_length)


def encode_pairs(
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    vocabulary: Vocabulary,
    max_length: int | None = None,
) -> EncodedSplit:
    """Pairs of ids, without start and end, as a split; otherwise as `encode_split`."""
    chunk = kept_pairs(sources, targets, vocabulary, max_length)
    skipped = len(sources) - len(chunk.indices)
    return _not_empty(EncodedSplit(chunk.source, chunk.target, chunk.indices, skipped), max_length)


def encoded_chunks(
    split: Split, vocabulary: Vocabulary, max_length: int | None
) -> Iterator[EncodedChunk]:
    """The pairs of a split that are short enough, CHUNK of the split's at a time."""
    pairs, first = zip(split.source, split.target, strict=True), 0
    while some := list(islice(pairs, CHUNK)):
        sources = vocabulary.encode_batch([source for source, _ in some])
        targets = vocabulary.encode_batch([target for _, target in some])
        yield kept_pairs(sources, targets, vocabulary, max_length, first)
        first += len(some)


def kept_pairs(
    sources: Sequence[list[int]],
    targets: Sequence[list[int]],
    vocabulary: Vocabulary,
    max_length: int | None,
    first: int = 0,
) -> EncodedChunk:
    """The pairs that are short enough, with start and end. `first` is the index of the first."""
    eos, bos = [vocabulary.eos_id], [vocabulary.bos_id]
    chunk = EncodedChunk([], [], [])
    for index, (src, tgt) in enumerate(zip(sources, targets, strict=True), first):
        if max_length is None or max(len(src), len(tgt)) + 1 <= max_length:
            chunk.source.append(src + eos)
            chunk.target.append(bos + tgt + eos)
            chunk.indices.append(index)
    return chunk


def _not_empty(encoded: EncodedSplit, max_length: int | None) -> EncodedSplit:
    if not len(encoded.indices):
        raise CallError(
            f"all {encoded.skipped} pairs are longer than the maximum of {max_length} tokens; "
            f"expected a higher maximum"
        )
    return encoded


def cache_key(split: Split, vocabulary: Vocabulary, max_length: int | None) -> str:
    """What determines the ids: the text, the vocabulary and the longest length."""
    vocabulary_sha256 = hashlib.sha256(vocabulary.tokenizer.to_str().encode()).hexdigest()
    parts = (split.sha256, vocabulary_sha256, str(max_length))
    return hashlib.sha256(" ".join(parts).encode()).hexdigest()[:32]
