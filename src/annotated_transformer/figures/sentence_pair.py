"""A sentence and its translation, with a line between words that say the same (chapter 1).

It draws and returns what it has drawn.
"""

from collections.abc import Sequence

import numpy as np

from annotated_transformer.figures.style import INKS, TEXT, new_figure

Link = tuple[int, int]  # place of a word in the source, and of one in the target
SPACE = 2.5  # between two words, in letters
SOURCE, TARGET = 0.92, 0.08  # heights of the two lines of words
ABOVE, BELOW = SOURCE - 0.11, TARGET + 0.11  # heights between which the lines run


def draw_sentence_pair(
    source: Sequence[str], target: Sequence[str], links: Sequence[Link]
) -> list[tuple[Link, Link]]:
    """The source above, the target below; a line that crosses another is solid, the rest dashed.

    Args:
        source, target: words and signs.
        links: (place in the source, place in the target) of words that say the same.

    Returns:
        the pairs of lines that cross.
    """
    crossing = [(a, b) for a in links for b in links if a[0] < b[0] and a[1] > b[1]]
    crossed = {link for both in crossing for link in both}
    _, (axes,) = new_figure(5.8, 1.45)
    above, below = _places(source), _places(target)
    for link in links:
        ends = [above[link[0]], below[link[1]]]
        if link in crossed:
            axes.plot(ends, [ABOVE, BELOW], color=INKS[0], lw=2.2)
        else:
            axes.plot(ends, [ABOVE, BELOW], color=TEXT, lw=1.3, ls="--")
    for words, places, height in ((source, above, SOURCE), (target, below, TARGET)):
        for word, place in zip(words, places, strict=True):
            axes.text(place, height, word, ha="center", va="center", color=TEXT)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.set_axis_off()
    return crossing


def _places(words: Sequence[str]) -> list[float]:
    """The middle of each word, when all are set in one line of length 1."""
    sizes = np.array([len(word) + SPACE for word in words])
    places: list[float] = ((sizes.cumsum() - sizes / 2) / sizes.sum()).tolist()
    return places
