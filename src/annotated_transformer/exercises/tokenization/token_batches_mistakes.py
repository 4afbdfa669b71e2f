"""Named mistakes of `tokenization.token_batches`."""

from collections.abc import Callable
from functools import partial
from itertools import groupby
from typing import Any

from annotated_transformer.exercises.exercise import Candidate, Mistake

Batches = list[list[int]]


def _by_length(lengths: list[int]) -> list[int]:
    return sorted(range(len(lengths)), key=lambda index: (lengths[index], index))


def _batches(
    lengths: list[int],
    max_tokens: int,
    *,
    order: Callable[[list[int]], list[int]] = _by_length,
    size: Callable[[list[int]], int] = lambda found: len(found) * max(found),
    strict: bool = False,
    afterwards: bool = False,
    last: bool = True,
    begin_with_it: bool = True,
    keep_it: bool = False,
) -> Batches:
    """size: of the lengths of a batch. begin_with_it: what does not fit begins the next batch."""
    batches: Batches = []
    batch: list[int] = []
    for index in order(lengths):
        tried = [lengths[i] for i in (batch if afterwards else [*batch, index])]
        used = size(tried) if tried else 0
        full = used >= max_tokens if strict or afterwards else used > max_tokens
        if batch and full:
            batches.append([*batch, index] if keep_it else batch)
            batch = [index] if begin_with_it else []
        else:
            batch = [*batch, index]
    return [*batches, batch] if last and batch else batches


def _fixed_size(lengths: list[int], max_tokens: int, of: Callable[[list[int]], int]) -> Batches:
    order = _by_length(lengths)
    size = max(1, of(lengths))
    return [order[start : start + size] for start in range(0, len(order), size)]


def _one_length_a_batch(lengths: list[int], max_tokens: int) -> Batches:
    batches = []
    for length, group in groupby(_by_length(lengths), key=lambda index: lengths[index]):
        indices = list(group)
        size = max(1, max_tokens // length)
        batches += [indices[start : start + size] for start in range(0, len(indices), size)]
    return batches


def _count_never_reset(lengths: list[int], max_tokens: int) -> Batches:
    """The number of sentences is never set back."""
    batches: Batches = []
    batch: list[int] = []
    for count, index in enumerate(_by_length(lengths), start=1):
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
    for index in _by_length(lengths):
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


def _index_by_value(lengths: list[int], max_tokens: int) -> Batches:
    right = _batches(lengths, max_tokens)
    return [[lengths.index(lengths[i]) for i in batch] for batch in right]


def _ranks(lengths: list[int], max_tokens: int) -> Batches:
    place = {index: rank for rank, index in enumerate(_by_length(lengths))}
    return [[place[i] for i in batch] for batch in _batches(lengths, max_tokens)]


def _ranks_of_sorted_input(lengths: list[int], max_tokens: int) -> Batches:
    ranks = _ranks(lengths, max_tokens)
    lengths.sort()
    return ranks


def _sorts_the_input(lengths: list[int], max_tokens: int) -> Batches:
    right = _batches(lengths, max_tokens)
    lengths.sort()
    return right


def _forgotten_empty(lengths: list[int], max_tokens: int) -> Batches:
    return [[], *_batches(lengths, max_tokens)]


def _made(**steps: Any) -> Candidate:
    return partial(_batches, **steps)


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
    filled = _batches(lengths, max_tokens, order=lambda given: _by_length(given)[::-1])
    return [batch[::-1] for batch in reversed(filled)]


def _as_text(lengths: list[int]) -> list[int]:
    return sorted(range(len(lengths)), key=lambda index: (str(lengths[index]), index))


def _one_index_a_length(lengths: list[int], max_tokens: int) -> Batches:
    last = {length: index for index, length in enumerate(lengths)}
    return _batches(lengths, max_tokens, order=lambda given: [last[n] for n in sorted(last)])


MISTAKES = (
    Mistake("padding-uncounted", _made(size=sum), _PADDING),
    Mistake(
        "padding-uncounted-last-lost",
        _made(size=sum, last=False),
        _PADDING + " And the batch that is open at the end is lost.",
    ),
    Mistake(
        "padding-uncounted-strict",
        _made(size=sum, strict=True),
        _PADDING + " And a batch may hold max_tokens exactly: `<=`.",
    ),
    Mistake(
        "padding-uncounted-afterwards",
        _made(size=sum, afterwards=True),
        _PADDING + " And the sum is looked at after a sentence has joined, when it is too late.",
    ),
    Mistake(
        "padding-uncounted-unsorted",
        _made(size=sum, order=_as_given),
        _PADDING + " And the indices are not sorted by (length, index).",
    ),
    Mistake("last-batch-lost", _made(last=False), _LAST_LOST),
    Mistake("not-sorted", _made(order=_as_given), _UNSORTED),
    Mistake(
        "not-sorted-newest-length",
        _made(order=_as_given, size=lambda found: len(found) * found[-1]),
        _UNSORTED + " Here the newest sentence is not the longest, either.",
    ),
    Mistake("longest-first", _made(order=_longest_first), _DESCENDING),
    Mistake(
        "sorted-backwards",
        _made(order=lambda lengths: _by_length(lengths)[::-1]),
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
        _made(order=_ties_reversed),
        "Among equal lengths the larger index comes first. Sort by (length, index), both "
        "ascending; Python's `sorted` by length alone keeps the order of the indices.",
    ),
    Mistake(
        "strictly-less",
        _made(strict=True),
        "A batch of exactly max_tokens is refused. The padded size may equal max_tokens: close the "
        "batch only when it would be larger.",
    ),
    Mistake(
        "checked-afterwards",
        _made(afterwards=True),
        "The size is looked at after a sentence has joined, so the batch is closed when it is "
        "already too large. Ask whether the sentence fits before it joins: with `len(batch) + 1`.",
    ),
    Mistake(
        "size-without-the-new-one",
        _made(size=lambda found: (len(found) - 1) * max(found)),
        "The new sentence is not counted: `len(batch) * longest` is the size before it joins. With "
        "it there are `len(batch) + 1` sentences.",
    ),
    Mistake(
        "longest-without-the-new-one",
        _made(size=lambda found: len(found) * max([0, *found[:-1]])),
        "The longest sentence is looked up before the new one joins. In sorted order the new one "
        "is the longest: its length counts.",
    ),
    Mistake(
        "shortest-for-longest",
        _made(size=lambda found: len(found) * min(found)),
        "The size is reckoned with the shortest sentence of the batch, its first. All are padded "
        "to the longest, the one that joins last.",
    ),
    Mistake(
        "mean-for-longest",
        _made(size=lambda found: (len(found) + 1) * sum(found) // len(found)),
        "The size is not sentences x longest. Multiply the number of sentences, the new one "
        "included, with the length of the longest.",
    ),
    Mistake(
        "counts-sentences",
        _made(size=len),
        "max_tokens is taken as a number of sentences. It bounds tokens, padding included: "
        "sentences x longest.",
    ),
    Mistake(
        "counts-longest-only",
        _made(size=max),
        "Only the length of the longest is compared with max_tokens, so everything goes into one "
        "batch. Multiply it with the number of sentences.",
    ),
    Mistake(
        "one-token-more",
        _made(size=lambda found: len(found) * (max(found) + 1)),
        "One token is added to each length, as for an end of sentence. The lengths are used as "
        "they are given.",
    ),
    Mistake(
        "two-tokens-more",
        _made(size=lambda found: len(found) * (max(found) + 2)),
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
        "overflow-dropped",
        _made(begin_with_it=False),
        "The sentence that did not fit is dropped: it is neither in the old batch nor in the new. "
        "The new batch begins with it. Every index must occur exactly once.",
    ),
    Mistake(
        "overflow-kept",
        _made(keep_it=True, begin_with_it=False),
        "The sentence that does not fit still goes into the old batch, which is then too large. It "
        "begins the next one.",
    ),
    Mistake(
        "overflow-twice",
        _made(keep_it=True),
        "The sentence that does not fit is put into both batches. Every index must occur exactly "
        "once: it begins the new one.",
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
        lambda lengths, max_tokens: [[index] for index in _by_length(lengths)],
        "Every sentence has a batch of its own. Fill each batch as long as sentences x longest <= "
        "max_tokens.",
    ),
    Mistake(
        "first-batch-only",
        lambda lengths, max_tokens: _batches(lengths, max_tokens)[:1],
        "Only the first batch is returned: is the `return` inside the loop?",
    ),
    Mistake(
        "first-batch-empty",
        _forgotten_empty,
        "The first batch is empty. Do not append the batch before anything is in it.",
    ),
    Mistake(
        "last-batch-empty",
        lambda lengths, max_tokens: [*_batches(lengths, max_tokens), []],
        "An empty batch stands at the end. Append the open batch only when something is in it.",
    ),
    Mistake(
        "lengths-returned",
        lambda lengths, max_tokens: [
            [lengths[i] for i in batch] for batch in _batches(lengths, max_tokens)
        ],
        "The batches hold lengths. Asked for are indices into `lengths`, so that the sentences "
        "themselves can be found: sort `range(len(lengths))`.",
    ),
    Mistake(
        "pairs-returned",
        lambda lengths, max_tokens: [
            [(lengths[i], i) for i in batch] for batch in _batches(lengths, max_tokens)
        ],
        "The batches hold pairs of length and index. Return the indices alone.",
    ),
    Mistake(
        "pairs-of-index-and-length",
        lambda lengths, max_tokens: [
            [(i, lengths[i]) for i in batch] for batch in _batches(lengths, max_tokens)
        ],
        "The batches hold pairs of index and length. Return the indices alone.",
    ),
    Mistake(
        "ranks-returned",
        _ranks,
        "The numbers are places in the sorted list, not indices into `lengths`. Keep the index of "
        "each sentence when sorting.",
    ),
    Mistake(
        "index-by-value",
        _index_by_value,
        "The index is looked up by the length (`lengths.index`), so of equal lengths the first is "
        "always found and occurs several times. Sort the indices themselves.",
    ),
    Mistake(
        "flat",
        lambda lengths, max_tokens: [i for batch in _batches(lengths, max_tokens) for i in batch],
        "The result is one flat list of indices. Return a list of batches, each a list.",
    ),
    Mistake(
        "batches-reversed",
        lambda lengths, max_tokens: _batches(lengths, max_tokens)[::-1],
        "The batches come back in reverse order, the longest sentences first. Keep the order in "
        "which they were filled.",
    ),
    Mistake(
        "sorted-in-batch",
        lambda lengths, max_tokens: [sorted(batch) for batch in _batches(lengths, max_tokens)],
        "The indices within a batch are sorted anew by their number. Keep the order by (length, "
        "index).",
    ),
    Mistake(
        "reversed-in-batch",
        lambda lengths, max_tokens: [batch[::-1] for batch in _batches(lengths, max_tokens)],
        "The indices within a batch are in reverse order. Keep the order by (length, index).",
    ),
    Mistake(
        "counted-from-one",
        lambda lengths, max_tokens: [[i + 1 for i in b] for b in _batches(lengths, max_tokens)],
        "The indices are counted from 1. The first sentence has index 0.",
    ),
    Mistake(
        "ranks-of-the-sorted-input",
        _ranks_of_sorted_input,
        "The given list `lengths` itself is sorted (`.sort()`), so the numbers are places in the "
        "sorted list, and the caller's list is changed. Sort the indices instead: `sorted("
        "range(len(lengths)), key=...)`.",
    ),
    Mistake(
        "changes-lengths",
        _sorts_the_input,
        "The batches are right, but the given list `lengths` is sorted on the way: from now on it "
        "belongs to other sentences. Use `sorted`, not `.sort()`.",
    ),
    Mistake(
        "filled-from-the-longest",
        _from_the_longest,
        "The batches are filled from the longest sentences down and only then put into ascending "
        "order, so they are cut at other places. Fill from the shortest up.",
    ),
    Mistake(
        "sorted-as-text",
        _made(order=_as_text),
        "The lengths are sorted as text, where 10 comes before 2. Sort them as numbers.",
    ),
    Mistake(
        "one-index-a-length",
        _one_index_a_length,
        "Of several sentences of equal length only one is kept: a dictionary by length holds one "
        "index each. Every index must occur exactly once; sort the indices themselves.",
    ),
    Mistake(
        "padding-bounded",
        _made(size=lambda found: len(found) * max(found) - sum(found)),
        "Only the padding is compared with max_tokens. Words and padding together must fit: "
        "sentences x longest.",
    ),
)
