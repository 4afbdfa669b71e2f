"""Mistakes of `tokenization.token_batches` in order and size of the batches."""

from collections.abc import Callable
from itertools import groupby

from annotated_transformer.exercises.content.tokenization.token_batches_variants import (
    Batches,
    batches_with,
    by_length,
    made_with,
)
from annotated_transformer.exercises.exercise import Mistake


def _fixed_size(lengths: list[int], max_tokens: int, of: Callable[[list[int]], int]) -> Batches:
    order = by_length(lengths)
    size = max(1, of(lengths))
    return [order[start : start + size] for start in range(0, len(order), size)]


def _one_length_a_batch(lengths: list[int], max_tokens: int) -> Batches:
    batches = []
    for length, group in groupby(by_length(lengths), key=lambda index: lengths[index]):
        indices = list(group)
        size = max(1, max_tokens // length)
        batches += [indices[start : start + size] for start in range(0, len(indices), size)]
    return batches


def _count_never_reset(lengths: list[int], max_tokens: int) -> Batches:
    """The number of sentences is never set back."""
    batches: Batches = []
    batch: list[int] = []
    for count, index in enumerate(by_length(lengths), start=1):
        if batch and count * lengths[index] > max_tokens:
            batches.append(batch)
            batch = []
        batch.append(index)
    return [*batches, batch]


def _reset_to_zero(lengths: list[int], max_tokens: int) -> Batches:
    """The sentence that begins a batch is not counted."""
    batches: Batches = []
    batch: list[int] = []
    count = 0
    for index in by_length(lengths):
        if batch and (count + 1) * lengths[index] > max_tokens:
            batches.append(batch)
            batch, count = [index], 0
        else:
            batch.append(index)
            count += 1
    return [*batches, batch]


def _first_fit(lengths: list[int], max_tokens: int) -> Batches:
    """Each sentence, as it comes, goes into the first batch that has room."""
    batches: Batches = []
    for index in range(len(lengths)):
        for batch in batches:
            longest = max(lengths[i] for i in [*batch, index])
            if (len(batch) + 1) * longest <= max_tokens:
                batch.append(index)
                break
        else:
            batches.append([index])
    return batches


def _as_given(lengths: list[int]) -> list[int]:
    return list(range(len(lengths)))


def _longest_first(lengths: list[int]) -> list[int]:
    return sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))


def _ties_reversed(lengths: list[int]) -> list[int]:
    return sorted(range(len(lengths)), key=lambda index: (lengths[index], -index))


_PADDING = (
    "The lengths of the sentences are added up: padding is not counted. The tensor has sentences x "
    "longest entries, and that product must not exceed max_tokens."
)
_UNSORTED = (
    "The sentences are taken in the order in which they came. Sort the indices by (length, index) "
    "first: then neighbours are about equally long and little is padded."
)
_LAST_LOST = (
    "The last batch is lost: it is still open when the loop ends, and nobody appends it. Every "
    "index must occur exactly once; append it after the loop."
)
_DESCENDING = (
    "The longest sentences come first. Sort by (length, index), the shortest first: the greedy "
    "filling goes in that order."
)


def _from_the_longest(lengths: list[int], max_tokens: int) -> Batches:
    """Filled from the long end, then put into ascending order."""
    filled = batches_with(lengths, max_tokens, order=lambda given: by_length(given)[::-1])
    return [batch[::-1] for batch in reversed(filled)]


def _as_text(lengths: list[int]) -> list[int]:
    return sorted(range(len(lengths)), key=lambda index: (str(lengths[index]), index))


SIZES = (
    Mistake("padding-uncounted", made_with(size=sum), _PADDING),
    Mistake(
        "padding-uncounted-last-lost",
        made_with(size=sum, last=False),
        _PADDING + " And the batch that is open at the end is lost.",
    ),
    Mistake(
        "padding-uncounted-strict",
        made_with(size=sum, strict=True),
        _PADDING + " And a batch may hold max_tokens exactly: `<=`.",
    ),
    Mistake(
        "padding-uncounted-afterwards",
        made_with(size=sum, afterwards=True),
        _PADDING + " And the sum is looked at after a sentence has joined, when it is too late.",
    ),
    Mistake(
        "padding-uncounted-unsorted",
        made_with(size=sum, order=_as_given),
        _PADDING + " And the indices are not sorted by (length, index).",
    ),
    Mistake("last-batch-lost", made_with(last=False), _LAST_LOST),
    Mistake("not-sorted", made_with(order=_as_given), _UNSORTED),
    Mistake(
        "not-sorted-newest-length",
        made_with(order=_as_given, size=lambda found: len(found) * found[-1]),
        _UNSORTED + " Here the newest sentence is not the longest, either.",
    ),
    Mistake("longest-first", made_with(order=_longest_first), _DESCENDING),
    Mistake(
        "sorted-backwards",
        made_with(order=lambda lengths: by_length(lengths)[::-1]),
        _DESCENDING + " `reverse=True` turns the order of equal lengths round as well.",
    ),
    Mistake(
        "first-fit-unsorted",
        _first_fit,
        _UNSORTED + " And each goes into the first batch that has room: only the present batch is "
        "filled, what no longer fits begins the next one.",
    ),
    Mistake(
        "ties-reversed",
        made_with(order=_ties_reversed),
        "Among equal lengths the larger index comes first. Sort by (length, index), both "
        "ascending; Python's `sorted` by length alone keeps the order of the indices.",
    ),
    Mistake(
        "strictly-less",
        made_with(strict=True),
        "A batch of exactly max_tokens is refused. The padded size may equal max_tokens: close the "
        "batch only when it would be larger.",
    ),
    Mistake(
        "checked-afterwards",
        made_with(afterwards=True),
        "The size is looked at after a sentence has joined, so the batch is closed when it is "
        "already too large. Ask whether the sentence fits before it joins: with `len(batch) + 1`.",
    ),
    Mistake(
        "size-without-the-new-one",
        made_with(size=lambda found: (len(found) - 1) * max(found)),
        "The new sentence is not counted: `len(batch) * longest` is the size before it joins. With "
        "it there are `len(batch) + 1` sentences.",
    ),
    Mistake(
        "longest-without-the-new-one",
        made_with(size=lambda found: len(found) * max([0, *found[:-1]])),
        "The longest sentence is looked up before the new one joins. In sorted order the new one "
        "is the longest: its length counts.",
    ),
    Mistake(
        "shortest-for-longest",
        made_with(size=lambda found: len(found) * min(found)),
        "The size is reckoned with the shortest sentence of the batch, its first. All are padded "
        "to the longest, the one that joins last.",
    ),
    Mistake(
        "mean-for-longest",
        made_with(size=lambda found: (len(found) + 1) * sum(found) // len(found)),
        "The size is not sentences x longest. Multiply the number of sentences, the new one "
        "included, with the length of the longest.",
    ),
    Mistake(
        "counts-sentences",
        made_with(size=len),
        "max_tokens is taken as a number of sentences. It bounds tokens, padding included: "
        "sentences x longest.",
    ),
    Mistake(
        "counts-longest-only",
        made_with(size=max),
        "Only the length of the longest is compared with max_tokens, so everything goes into one "
        "batch. Multiply it with the number of sentences.",
    ),
    Mistake(
        "one-token-more",
        made_with(size=lambda found: len(found) * (max(found) + 1)),
        "One token is added to each length, as for an end of sentence. The lengths are used as "
        "they are given.",
    ),
    Mistake(
        "two-tokens-more",
        made_with(size=lambda found: len(found) * (max(found) + 2)),
        "Two tokens are added to each length, as for begin and end of sentence. The lengths are "
        "used as they are given.",
    ),
    Mistake(
        "count-never-reset",
        _count_never_reset,
        "The number of sentences is not set back when a new batch begins, so batches become too "
        "small. Count the sentences of the present batch.",
    ),
    Mistake(
        "first-sentence-uncounted",
        _reset_to_zero,
        "The sentence that begins a new batch is not counted, so a batch can hold one too many. A "
        "new batch begins with one sentence, not with none.",
    ),
    Mistake(
        "fixed-size-by-longest",
        lambda lengths, max_tokens: _fixed_size(
            lengths, max_tokens, lambda found: max_tokens // max(found)
        ),
        "All batches have the same number of sentences, reckoned with the longest of the whole "
        "corpus. Short sentences can go into larger batches: decide for each batch with its own "
        "longest.",
    ),
    Mistake(
        "fixed-size-by-mean",
        lambda lengths, max_tokens: _fixed_size(
            lengths, max_tokens, lambda found: max_tokens * len(found) // sum(found)
        ),
        "All batches have the same number of sentences, reckoned with the mean length, so batches "
        "of long sentences are too large. Decide for each batch with its own longest.",
    ),
    Mistake(
        "one-length-a-batch",
        _one_length_a_batch,
        "Only sentences of exactly the same length share a batch. Any neighbours in sorted order "
        "may, as long as the padded size fits.",
    ),
    Mistake(
        "one-sentence-a-batch",
        lambda lengths, max_tokens: [[index] for index in by_length(lengths)],
        "Every sentence has a batch of its own. Fill each batch as long as sentences x longest <= "
        "max_tokens.",
    ),
    Mistake(
        "filled-from-the-longest",
        _from_the_longest,
        "The batches are filled from the longest sentences down and only then put into ascending "
        "order, so they are cut at other places. Fill from the shortest up.",
    ),
    Mistake(
        "sorted-as-text",
        made_with(order=_as_text),
        "The lengths are sorted as text, where 10 comes before 2. Sort them as numbers.",
    ),
    Mistake(
        "padding-bounded",
        made_with(size=lambda found: len(found) * max(found) - sum(found)),
        "Only the padding is compared with max_tokens. Words and padding together must fit: "
        "sentences x longest.",
    ),
)
