"""Batches by a budget of tokens: within it, complete, repeatable, and little padding."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.data import (
    Split,
    Vocabulary,
    batches_of,
    collate,
    copy_corpus,
    encode_split,
    padding_waste,
    token_batches,
)
from annotated_transformer.errors import CallError

lengths_lists = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=80)


@given(lengths_lists, st.integers(30, 200), st.integers(0, 5), st.integers(0, 5))
def test_batches_keep_the_budget_and_hold_everything_once(
    lengths: list[tuple[int, int]], max_tokens: int, seed: int, epoch: int
) -> None:
    batches = token_batches(lengths, max_tokens, seed=seed, epoch=epoch)
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert batch
        for side in (0, 1):
            assert len(batch) * max(lengths[index][side] for index in batch) <= max_tokens
    assert batches == token_batches(lengths, max_tokens, seed=seed, epoch=epoch)


@given(lengths_lists, st.integers(30, 200))
def test_batches_are_sorted_by_source_length_first(
    lengths: list[tuple[int, int]], max_tokens: int
) -> None:
    batches = token_batches(lengths, max_tokens, seed=0, epoch=0)
    runs = sorted([lengths[index] for index in batch] for batch in batches)
    assert [pair for run in runs for pair in run] == sorted(lengths)


def test_epochs_and_seeds_differ() -> None:
    lengths = [(1 + n % 7, 1 + n % 5) for n in range(500)]
    first = token_batches(lengths, 64, seed=0, epoch=0)
    for seed, epoch in ((0, 1), (1, 0)):
        other = token_batches(lengths, 64, seed=seed, epoch=epoch)
        assert other != first
        assert sorted(map(sorted, other)) != sorted(map(sorted, first))  # not only their order


def test_batches_come_in_a_shuffled_order() -> None:
    """Not from short to long: 50 batches of one length each, whose order alone can vary."""
    lengths = [(n, n) for n in range(1, 51)]
    orders = [
        [lengths[batch[0]][0] for batch in token_batches(lengths, 50, seed=0, epoch=epoch)]
        for epoch in range(3)
    ]
    for order in orders:
        steps = sum(after > before for before, after in itertools.pairwise(order))
        assert 0.25 < steps / (len(order) - 1) < 0.75
    assert len(set(map(tuple, orders))) == 3


def test_the_largest_budget_is_used() -> None:
    assert sorted(map(len, token_batches([(4, 4)] * 10, 16, seed=0, epoch=0))) == [2, 4, 4]


def test_a_batch_forgets_the_width_of_the_one_before() -> None:
    """Sorted by the source, so narrow targets come after a wide one."""
    lengths = [(1, 16)] + [(2, 2)] * 8
    assert sorted(map(len, token_batches(lengths, 16, seed=0, epoch=0))) == [1, 8]


def test_a_budget_below_the_longest_sentence() -> None:
    with pytest.raises(CallError, match=r"may hold 8 tokens and the longest sentence has 11"):
        token_batches([(3, 4), (5, 11)], 8, seed=0, epoch=0)


def test_a_negative_seed() -> None:
    with pytest.raises(CallError, match="seed -1 and epoch 0"):
        token_batches([(3, 4)], 8, seed=-1, epoch=0)


def test_no_pairs_no_batches() -> None:
    assert token_batches([], 10, seed=0, epoch=0) == []


def test_collate() -> None:
    padded = collate([[4, 5, 2], [6, 2]], pad_id=0)
    assert torch.equal(padded, torch.tensor([[4, 5, 2], [6, 2, 0]]))
    assert padded.dtype == torch.long
    assert collate([]).shape == (0, 0)
    assert collate([[]]).shape == (1, 0)


def test_padding_waste_by_hand() -> None:
    waste = padding_waste([(1, 2), (3, 2), (5, 5)], [[0, 1], [2]])
    assert waste.source == pytest.approx(1 - 9 / 11)
    assert waste.target == pytest.approx(0.0)


def test_sorting_wastes_less_than_not_sorting() -> None:
    lengths = [(1 + (7 * n) % 23, 1 + (5 * n) % 19) for n in range(2000)]
    ours = padding_waste(lengths, token_batches(lengths, 256, seed=0, epoch=0))
    plain = padding_waste(lengths, [list(range(n, n + 10)) for n in range(0, 2000, 10)])
    assert ours.source < 0.03 < plain.source


def test_encoded_splits() -> None:
    split = Split(["a b", "a b a b a b", ""], ["b", "b", "a"])
    vocabulary = Vocabulary.train(split.source + split.target, 10)
    a, b = vocabulary.encode("a b")
    encoded = encode_split(split, vocabulary)
    assert encoded.source == [[a, b, 2], [a, b, a, b, a, b, 2], [2]]
    assert encoded.target == [[1, b, 2], [1, b, 2], [1, a, 2]]
    assert encoded.lengths == [(3, 2), (7, 2), (1, 2)]
    assert (encoded.skipped, encoded.indices) == (0, [0, 1, 2])
    short = encode_split(split, vocabulary, max_length=3)
    assert (short.skipped, short.indices, len(short)) == (1, [0, 2], 2)
    with pytest.raises(CallError, match="all 3 pairs are longer than the maximum of 1 tokens"):
        encode_split(split, vocabulary, max_length=1)


def test_one_pass_over_a_corpus() -> None:
    train = copy_corpus(train=300)["train"]
    encoded = encode_split(train, Vocabulary.train(train.source, 50))
    seen = []
    for batch in batches_of(encoded, 128, seed=3, epoch=2):
        assert batch.src.numel() <= 128
        assert batch.tgt[:, 1:].numel() <= 128
        assert (batch.tgt[:, 0] == 1).all()
        for row, index in zip(batch.src.tolist(), batch.indices, strict=True):
            assert [token for token in row if token] == encoded.source[index]
        seen += batch.indices
    assert sorted(seen) == list(range(300))


def test_a_split_needs_as_many_targets() -> None:
    with pytest.raises(CallError, match="2 and 1"):
        Split(["a", "b"], ["x"])


def test_the_copy_task() -> None:
    corpus = copy_corpus(seed=1, train=100, valid=20, test=20)
    rows = [row for split in corpus.splits.values() for row in split.source]
    assert len(set(rows)) == len(rows) == 140
    assert all(split.source == split.target for split in corpus.splits.values())
    assert all(4 <= len(row.split()) <= 10 for row in rows)
    assert corpus == copy_corpus(seed=1, train=100, valid=20, test=20)
    assert corpus != copy_corpus(seed=2, train=100, valid=20, test=20)
    assert corpus["test"].alignments is not None
    with pytest.raises(CallError, match="ask for at most 55"):
        copy_corpus(train=100, min_length=1, max_length=2)
