"""What a corpus is here: named splits of aligned sentences (section 5.1 trains on such pairs)."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice
from typing import Any

from annotated_transformer.data.text_file import Sentences
from annotated_transformer.errors import CallError

Alignment = list[tuple[int, int]]


@dataclass(frozen=True)
class Split:
    """Aligned sentences: `source[i]` and `target[i]` mean the same.

    Attributes:
        source: sentences of the source language, one string each; a list, or `StoredSentences`
            where the file is large.
        target: their translations, as many.
        alignments: for each pair the links (i, j): word i of the source is said by word j of the
            target. None where the corpus knows none.
        tags: for each pair the names of the phenomena it shows. None where nobody named them.
    """

    source: Sentences
    target: Sentences
    alignments: list[Alignment] | None = None
    tags: list[tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        if len(self.source) != len(self.target):
            raise CallError(
                f"a split needs as many source as target sentences, and was given "
                f"{len(self.source)} and {len(self.target)}"
            )

    def __len__(self) -> int:
        return len(self.source)

    @property
    def is_stored(self) -> bool:
        """Whether the sentences are read from the disk each time, and not held in memory."""
        return not isinstance(self.source, list)

    def sentences(self) -> Iterator[str]:
        """All of the source, then all of the target, one after the other: for a vocabulary."""
        return chain(self.source, self.target)

    def first(self, count: int) -> "Split":
        """The first so many pairs, held in memory. Raises CallError if there are fewer."""
        if count > len(self):
            raise CallError(
                f"the first {count:,} pairs were asked for, and the corpus has {len(self):,}: "
                "ask for no more."
            )
        return Split(
            list(islice(self.source, count)),
            list(islice(self.target, count)),
            None if self.alignments is None else self.alignments[:count],
            None if self.tags is None else self.tags[:count],
        )

    @cached_property
    def sha256(self) -> str:
        """Of the sentences joined by newlines, each side followed by an empty line."""
        digest = hashlib.sha256()
        for side in (self.source, self.target):
            newline = b""
            for sentence in side:
                digest.update(newline + sentence.encode())
                newline = b"\n"
            digest.update(b"\n\n")
        return digest.hexdigest()


@dataclass(frozen=True)
class ParallelCorpus:
    """A corpus by name, its languages, its splits, and where it comes from.

    `splits` has "train", "valid" and "test", and any further test set under its own name.
    `origin` is plain data (it goes into a run's config.json): files with their checksums, or the
    seed of a generated corpus. With `whole_words` each word is one token, and none is split.
    """

    name: str
    source_language: str
    target_language: str
    splits: dict[str, Split]
    origin: dict[str, Any] = field(default_factory=dict)
    whole_words: bool = False

    def __getitem__(self, split: str) -> Split:
        """The split of that name. Raises CallError, naming the splits there are."""
        if split not in self.splits:
            raise CallError(
                f"the corpus {self.name} has no split {split!r}; it has {', '.join(self.splits)}"
            )
        return self.splits[split]

    def with_training_pairs(self, count: int | None) -> "ParallelCorpus":
        """The same with the first so many training pairs; with all for None.

        Raises:
            CallError: if there are fewer.
        """
        if count is None:
            return self
        return replace(self, splits={**self.splits, "train": self["train"].first(count)})
