"""The tokenization exercises against Hugging Face `tokenizers`, torch and brute force."""

from collections import Counter
from itertools import pairwise

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from torch.nn.utils.rnn import pad_sequence

from annotated_transformer.exercises.content import tokenization
from annotated_transformer.exercises.content.tokenization.bpe_encode import bpe_encode
from annotated_transformer.exercises.content.tokenization.bpe_train import bpe_train
from annotated_transformer.exercises.content.tokenization.pad_batch import pad_batch
from annotated_transformer.exercises.content.tokenization.token_batches import token_batches
from annotated_transformer.exercises.exercise import Exercise

END, ONE_CHARACTER = "</w>", "!"  # tokenizers knows characters only: one stands for </w>

words = st.text("abc", min_size=1, max_size=6)
corpora = st.dictionaries(words, st.integers(1, 9), min_size=1, max_size=6)


def _theirs(text: str) -> str:
    return text.replace(END, ONE_CHARACTER)


def _ours(text: str) -> str:
    return text.replace(ONE_CHARACTER, END)


def test_every_exercise_of_the_topic_is_there() -> None:
    assert [exercise.id for exercise in tokenization.EXERCISES] == [
        "tokenization.bpe_train",
        "tokenization.bpe_encode",
        "tokenization.pad_batch",
        "tokenization.token_batches",
    ]


@pytest.mark.parametrize("exercise", tokenization.EXERCISES, ids=lambda exercise: exercise.id)
def test_banks_and_alternatives_are_rich(exercise: Exercise) -> None:
    assert len(exercise.mistakes) >= 40
    assert len(exercise.alternatives) >= 3
    for mistake in exercise.mistakes:
        assert mistake.sentence[-1] in ".?)", mistake.name
        assert len(mistake.sentence.split()) <= 90, mistake.name


def _merged(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    """Every occurrence of the pair joined, from left to right."""
    merged: list[str] = []
    for symbol in symbols:
        if merged and (merged[-1], symbol) == pair:
            merged[-1] += symbol
        else:
            merged.append(symbol)
    return merged


def _before_the_first_tie(corpus: dict[str, int], n_merges: int) -> list[str]:
    """The symbols that are clearly the most frequent: libraries settle ties in their own ways."""
    symbols = {word: [*word, END] for word in corpus}
    learned = []
    for pair in bpe_train(corpus, n_merges):
        counts: Counter[tuple[str, str]] = Counter()
        for word, count in corpus.items():
            for here in pairwise(symbols[word]):
                counts[here] += count
        if list(counts.values()).count(counts[pair]) > 1:
            break
        learned.append(pair[0] + pair[1])
        symbols = {word: _merged(parts, pair) for word, parts in symbols.items()}
    return learned


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(words, st.integers(1, 40), min_size=2, max_size=8))
@example({"low": 5, "lower": 2, "newest": 6, "widest": 3, "slow": 1})
def test_merges_are_those_of_the_library(corpus: dict[str, int]) -> None:
    # In a run such as aaaa the library counts pairs otherwise once one of them has been merged.
    corpus = {w: n for w, n in corpus.items() if all(a != b for a, b in pairwise(w))}
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    letters = {letter for word in corpus for letter in word} | {ONE_CHARACTER}
    trainer = trainers.BpeTrainer(vocab_size=len(letters) + 6, min_frequency=0, show_progress=False)
    text = (word + ONE_CHARACTER for word, count in corpus.items() for _ in range(count))
    tokenizer.train_from_iterator(text, trainer)
    numbers = tokenizer.get_vocab()
    theirs = [_ours(symbol) for symbol in sorted(numbers, key=numbers.__getitem__)]
    ours = _before_the_first_tie(corpus, 6)
    assert theirs[len(letters) : len(letters) + len(ours)] == ours


@settings(max_examples=100, deadline=None)
@given(corpora, st.integers(0, 12), words)
def test_words_are_encoded_as_by_the_library(
    corpus: dict[str, int], n_merges: int, word: str
) -> None:
    merges = bpe_train(corpus, n_merges)
    symbols = dict.fromkeys([*"abc", ONE_CHARACTER])
    symbols.update(dict.fromkeys(_theirs(first + second) for first, second in merges))
    model = models.BPE(
        {symbol: number for number, symbol in enumerate(symbols)},
        [(_theirs(first), _theirs(second)) for first, second in merges],
    )
    theirs = [_ours(token.value) for token in model.tokenize(word + ONE_CHARACTER)]
    assert bpe_encode(word, merges) == theirs


@given(corpora, st.integers(0, 15))
def test_training_stops_when_nothing_is_left_and_leaves_its_words_whole(
    corpus: dict[str, int], n_merges: int
) -> None:
    merges = bpe_train(corpus, n_merges)
    assert len(merges) <= n_merges
    pieces = {word: bpe_encode(word, merges) for word in corpus}
    assert all("".join(parts) == word + END for word, parts in pieces.items())
    if len(merges) < n_merges:
        assert all(len(parts) == 1 for parts in pieces.values())


@given(corpora, st.integers(0, 12), words)
def test_each_form_of_encoding_gives_the_same_for_learned_merges(
    corpus: dict[str, int], n_merges: int, word: str
) -> None:
    merges = bpe_train(corpus, n_merges)
    expected = bpe_encode(word, merges)
    for alternative in tokenization.bpe_encode.BPE_ENCODE.alternatives:
        assert alternative(word, merges) == expected


@given(corpora, st.integers(0, 12))
def test_each_form_of_training_gives_the_same(corpus: dict[str, int], n_merges: int) -> None:
    expected = bpe_train(corpus, n_merges)
    for alternative in tokenization.bpe_train.BPE_TRAIN.alternatives:
        assert alternative(corpus, n_merges) == expected


@given(st.lists(st.lists(st.integers(0, 50), min_size=1), min_size=1), st.integers(0, 9))
def test_padding_is_that_of_torch(rows: list[list[int]], pad_id: int) -> None:
    theirs = pad_sequence([torch.tensor(row) for row in rows], True, pad_id)
    assert pad_batch(rows, pad_id).equal(theirs)


@given(st.lists(st.integers(1, 20), min_size=1, max_size=30), st.integers(20, 60))
def test_token_batches_keep_every_promise(lengths: list[int], max_tokens: int) -> None:
    batches = token_batches(lengths, max_tokens)
    order = [index for batch in batches for index in batch]
    assert order == [index for _, index in sorted((n, i) for i, n in enumerate(lengths))]
    for batch, following in pairwise([*batches, []]):
        size = pad_batch([[7] * lengths[index] for index in batch]).numel()
        assert 0 < size <= max_tokens
        if following:
            wider = pad_batch([[7] * lengths[index] for index in [*batch, following[0]]])
            assert wider.numel() > max_tokens  # greedy: the next sentence did not fit
