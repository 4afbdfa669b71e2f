"""A sentence and its translation: which lines cross, and that they are told apart."""

import matplotlib.pyplot as plt

from annotated_transformer import figures

LINKS = [(0, 0), (1, 2), (2, 1), (3, 3)]


def test_lines_that_cross_are_returned_and_solid() -> None:
    crossing = figures.draw_sentence_pair(list("abcd"), list("wxyz"), LINKS)
    assert crossing == [((1, 2), (2, 1))]
    (axes,) = plt.gcf().axes
    assert [line.get_linestyle() for line in axes.lines] == ["--", "-", "-", "--"]
    assert [text.get_text() for text in axes.texts] == list("abcdwxyz")


def test_lines_from_one_word_do_not_cross() -> None:
    assert figures.draw_sentence_pair(["calls"], ["ruft", "an"], [(0, 0), (0, 1)]) == []
