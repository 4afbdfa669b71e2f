"""BLEU and chrF from scratch are what sacreBLEU counts."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from annotated_transformer.evaluation.bleu import (
    bleu_of_counts,
    corpus_bleu,
    count_corpus,
    count_sentence,
    words_13a,
)
from annotated_transformer.evaluation.chrf import chrf_of_counts, count_characters
from annotated_transformer.exercises.content.decoding.corpus_bleu import CORPUS_BLEU

words = st.lists(st.sampled_from(["der", "hund", "und", "haus", "a"]), max_size=9)
corpora = st.lists(st.tuples(words, words), min_size=1, max_size=6)
texts = st.lists(st.tuples(st.text("ab c,ä"), st.text("ab c,ä")), min_size=1, max_size=5)


@settings(max_examples=200, deadline=None)
@given(corpora, st.sampled_from(["none", "exp"]), st.integers(1, 5))
def test_it_is_sacrebleu_on_words(pairs, smoothing, max_n):
    metric = BLEU(tokenize="none", smooth_method=smoothing, max_ngram_order=max_n, force=True)
    expected = metric.corpus_score(
        [" ".join(ours) for ours, _ in pairs], [[" ".join(theirs) for _, theirs in pairs]]
    )
    ours, theirs = zip(*pairs, strict=True)
    assert corpus_bleu(ours, theirs, max_n, smoothing) == pytest.approx(expected.score, abs=1e-9)


@settings(max_examples=100, deadline=None)
@given(corpora, st.integers(1, 4))
def test_it_is_the_exercise_where_nothing_is_smoothed(pairs, max_n):
    hypotheses, references = map(list, zip(*pairs, strict=True))
    expected = CORPUS_BLEU.reference(hypotheses, references, max_n)
    assert corpus_bleu(hypotheses, references, max_n) == pytest.approx(expected, abs=1e-9)


def test_the_counts_of_a_sentence_by_hand():
    ours, theirs = ["the", "the", "the", "cat"], ["the", "cat", "sat"]
    #                                    c  r  matches     totals
    assert count_sentence(ours, theirs) == [4, 3, 2, 1, 0, 0, 4, 3, 2, 1]
    assert count_sentence([], theirs) == [0, 3, *[0] * 8]


def test_an_order_without_a_match_is_halved_each_time():
    #       c  r  matches     totals
    sums = [6, 6, 3, 1, 0, 0, 6, 5, 4, 3]
    plain = [3 / 6, 1 / 5, 1 / (2 * 4), 1 / (4 * 3)]
    assert bleu_of_counts(sums, "exp") == pytest.approx(100 * np.prod(plain) ** 0.25)
    assert bleu_of_counts(sums) == 0


def test_several_corpora_at_once_are_each_alone():
    rows = count_corpus([["a", "b", "c", "d"], ["a"], []], [["a", "b", "c", "d", "e"], ["b"], []])
    sums = np.stack([rows.sum(0), rows[0], rows[1], rows[2]]).reshape(2, 2, -1)
    for smoothing in ("none", "exp"):
        together = bleu_of_counts(sums, smoothing)
        assert together.shape == (2, 2)
        alone = [bleu_of_counts(row, smoothing) for row in sums.reshape(4, -1)]
        np.testing.assert_allclose(together.ravel(), alone)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("aZ9 ä„.,-'\"&;<>()[]{}~_^`|\\/:@#$%+*=?!") | st.characters()))
def test_13a_cuts_as_sacrebleu(line):
    line = line.replace("\n", " ").replace("\r", " ")  # a line has no line ends
    assert words_13a(line) == BLEU(tokenize="13a").tokenizer(line.rstrip()).split()


def test_13a_on_the_cases_of_its_docstring():
    words = words_13a("3.5 von 1,000 (rot-weiß), 2-3 &quot;x&quot; „so“.")
    assert " ".join(words) == '3.5 von 1,000 ( rot-weiß ) , 2 - 3 " x " „so“ .'


@settings(max_examples=200, deadline=None)
@given(texts)
def test_chrf_is_sacrebleus(pairs):
    ours, theirs = map(list, zip(*pairs, strict=True))
    expected = CHRF().corpus_score(ours, [theirs]).score
    found = chrf_of_counts(count_characters(ours, theirs).sum(0))
    assert found == pytest.approx(expected, abs=1e-9)


def test_chrf_of_several_corpora_at_once():
    rows = count_characters(["abc de", "x", ""], ["abc df", "y", "z"])
    together = chrf_of_counts(np.stack([rows.sum(0), *rows]))
    np.testing.assert_allclose(together, [chrf_of_counts(r) for r in (rows.sum(0), *rows)])


def test_unequal_corpora_are_refused():
    for count in (count_corpus, partial(count_corpus, max_n=2)):
        with pytest.raises(ValueError, match="argument 2 is longer"):
            count([["a"]], [["a"], ["b"]])
