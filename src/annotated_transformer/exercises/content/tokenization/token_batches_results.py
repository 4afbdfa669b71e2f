"""Mistakes of `tokenization.token_batches` in the indices and in what comes back."""

from annotated_transformer.exercises.content.tokenization.token_batches_variants import (
    Batches,
    batches_with,
    by_length,
    made_with,
)
from annotated_transformer.exercises.exercise import Mistake


def _index_by_value(lengths: list[int], max_tokens: int) -> Batches:
    right = batches_with(lengths, max_tokens)
    return [[lengths.index(lengths[i]) for i in batch] for batch in right]


def _ranks(lengths: list[int], max_tokens: int) -> Batches:
    place = {index: rank for rank, index in enumerate(by_length(lengths))}
    return [[place[i] for i in batch] for batch in batches_with(lengths, max_tokens)]


def _ranks_of_sorted_input(lengths: list[int], max_tokens: int) -> Batches:
    ranks = _ranks(lengths, max_tokens)
    lengths.sort()
    return ranks


def _sorts_the_input(lengths: list[int], max_tokens: int) -> Batches:
    right = batches_with(lengths, max_tokens)
    lengths.sort()
    return right


def _forgotten_empty(lengths: list[int], max_tokens: int) -> Batches:
    return [[], *batches_with(lengths, max_tokens)]


def _one_index_a_length(lengths: list[int], max_tokens: int) -> Batches:
    last = {length: index for index, length in enumerate(lengths)}
    return batches_with(lengths, max_tokens, order=lambda given: [last[n] for n in sorted(last)])


RESULTS = (
    Mistake(
        "overflow-dropped",
        made_with(begin_with_it=False),
        "The sentence that did not fit is dropped: it is neither in the old batch nor in the new. "
        "The new batch begins with it. Every index must occur exactly once.",
    ),
    Mistake(
        "overflow-kept",
        made_with(keep_it=True, begin_with_it=False),
        "The sentence that does not fit still goes into the old batch, which is then too large. It "
        "begins the next one.",
    ),
    Mistake(
        "overflow-twice",
        made_with(keep_it=True),
        "The sentence that does not fit is put into both batches. Every index must occur exactly "
        "once: it begins the new one.",
    ),
    Mistake(
        "first-batch-only",
        lambda lengths, max_tokens: batches_with(lengths, max_tokens)[:1],
        "Only the first batch is returned: is the `return` inside the loop?",
    ),
    Mistake(
        "first-batch-empty",
        _forgotten_empty,
        "The first batch is empty. Do not append the batch before anything is in it.",
    ),
    Mistake(
        "last-batch-empty",
        lambda lengths, max_tokens: [*batches_with(lengths, max_tokens), []],
        "An empty batch stands at the end. Append the open batch only when something is in it.",
    ),
    Mistake(
        "lengths-returned",
        lambda lengths, max_tokens: [
            [lengths[i] for i in batch] for batch in batches_with(lengths, max_tokens)
        ],
        "The batches hold lengths. Asked for are indices into `lengths`, so that the sentences "
        "themselves can be found: sort `range(len(lengths))`.",
    ),
    Mistake(
        "pairs-returned",
        lambda lengths, max_tokens: [
            [(lengths[i], i) for i in batch] for batch in batches_with(lengths, max_tokens)
        ],
        "The batches hold pairs of length and index. Return the indices alone.",
    ),
    Mistake(
        "pairs-of-index-and-length",
        lambda lengths, max_tokens: [
            [(i, lengths[i]) for i in batch] for batch in batches_with(lengths, max_tokens)
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
        lambda lengths, max_tokens: [
            i for batch in batches_with(lengths, max_tokens) for i in batch
        ],
        "The result is one flat list of indices. Return a list of batches, each a list.",
    ),
    Mistake(
        "batches-reversed",
        lambda lengths, max_tokens: batches_with(lengths, max_tokens)[::-1],
        "The batches come back in reverse order, the longest sentences first. Keep the order in "
        "which they were filled.",
    ),
    Mistake(
        "sorted-in-batch",
        lambda lengths, max_tokens: [sorted(batch) for batch in batches_with(lengths, max_tokens)],
        "The indices within a batch are sorted anew by their number. Keep the order by (length, "
        "index).",
    ),
    Mistake(
        "reversed-in-batch",
        lambda lengths, max_tokens: [batch[::-1] for batch in batches_with(lengths, max_tokens)],
        "The indices within a batch are in reverse order. Keep the order by (length, index).",
    ),
    Mistake(
        "counted-from-one",
        lambda lengths, max_tokens: [[i + 1 for i in b] for b in batches_with(lengths, max_tokens)],
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
        "one-index-a-length",
        _one_index_a_length,
        "Of several sentences of equal length only one is kept: a dictionary by length holds one "
        "index each. Every index must occur exactly once; sort the indices themselves.",
    ),
)
