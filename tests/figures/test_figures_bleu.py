"""The picture of BLEU: its bars are the n-grams, and its shares are the score's."""

import math
from collections import Counter

import matplotlib.pyplot as plt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from annotated_transformer import figures
from annotated_transformer.evaluation import bleu
from annotated_transformer.figures.bleu import (
    CROSS,
    FOUND,
    MISSING,
    TICK,
    columns_of,
    found_ngrams,
)

WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=9)
TRANSLATION = ["die", "Frau", "liest", "das", "Buch"]
REFERENCE = ["die", "Frau", "liest", "das", "alte", "Buch"]


@given(WORDS, WORDS, st.integers(1, 5))
def test_an_ngram_is_found_as_often_as_the_reference_has_it(
    translation: list[str], reference: list[str], n: int
) -> None:
    found = found_ngrams(translation, reference, n)
    assert len(found) == max(0, len(translation) - n + 1)
    ours, theirs = (
        Counter(zip(*(words[i:] for i in range(n)), strict=False))
        for words in (translation, reference)
    )
    assert sum(found) == (ours & theirs).total()


@given(WORDS, WORDS)
def test_words_keep_their_order_and_only_equal_ones_or_replaced_ones_share_a_column(
    translation: list[str], reference: list[str]
) -> None:
    ours, theirs = columns_of(translation, reference)
    assert (len(ours), len(theirs)) == (len(translation), len(reference))
    for columns in (ours, theirs):
        assert columns == sorted(set(columns))
    assert {*ours, *theirs} == set(range(1 + max(*ours, *theirs)))  # no column is empty
    if translation == reference:
        assert ours == theirs


def test_the_missing_word_leaves_its_column_free() -> None:
    assert columns_of(TRANSLATION, REFERENCE) == ([0, 1, 2, 3, 5], [0, 1, 2, 3, 4, 5])


def test_the_drawn_shares_give_the_score() -> None:
    drawn = figures.draw_ngrams(TRANSLATION, REFERENCE)
    assert drawn == {1: (5, 5), 2: (3, 4), 3: (2, 3), 4: (1, 2)}
    product = math.prod(found / total for found, total in drawn.values())
    score = 100 * math.exp(1 - 6 / 5) * product ** (1 / 4)
    assert score == pytest.approx(bleu.corpus_bleu([TRANSLATION], [REFERENCE]))


def test_every_ngram_has_its_bar_under_its_words_with_its_mark() -> None:
    drawn = figures.draw_ngrams(TRANSLATION, REFERENCE)
    (axis,) = plt.gcf().axes
    bars = [patch for patch in axis.patches if isinstance(patch, Rectangle)]
    found = [mark for n in drawn for mark in found_ngrams(TRANSLATION, REFERENCE, n)]
    columns = columns_of(TRANSLATION, REFERENCE)[0]
    spans = [(columns[i], columns[i + n - 1] + 1) for n in drawn for i in range(5 - n + 1)]
    fills = [to_hex(bar.get_facecolor()).upper() for bar in bars]
    assert fills == [FOUND if mark else MISSING for mark in found]
    for bar, (left, right) in zip(bars, spans, strict=True):
        assert left < bar.get_x() < bar.get_x() + bar.get_width() < right
    for one in bars:  # no bar lies on another
        others = [bar for bar in bars if bar is not one and bar.get_y() == one.get_y()]
        assert all(
            bar.get_x() > one.get_x() + one.get_width()
            or bar.get_x() + bar.get_width() < one.get_x()
            for bar in others
        )
    words = [text.get_text() for text in axis.texts]
    assert words[:11] == REFERENCE + TRANSLATION
    assert [word for word in words if word in (TICK, CROSS)] == [
        TICK if mark else CROSS for mark in found
    ]
    assert [word for word in words if "/" in word] == ["5/5", "3/4", "2/3", "1/2"]


def test_a_sentence_shorter_than_an_ngram_has_none() -> None:
    assert figures.draw_ngrams(["a", "b"], ["a"]) == {1: (1, 2), 2: (0, 1), 3: (0, 0), 4: (0, 0)}
