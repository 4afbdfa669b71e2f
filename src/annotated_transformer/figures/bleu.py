"""The picture of BLEU (chapter 9): which n-grams of a translation its reference has too.

It draws and returns the numbers it has drawn.
"""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle

from annotated_transformer.figures.style import SIGNED_STOPS, TEXT, add_legend, new_figure

FOUND, MISSING = SIGNED_STOPS[3], SIGNED_STOPS[1]  # light blue and light rust: ink on both is black
TICK, CROSS = "✓", "×"
BAR = 0.84  # height of a bar, of 1 from bar to bar
LONGEST = 4  # the n of the longest n-grams
GAP = 0.45  # between the bars of n and those of n + 1


def found_ngrams(translation: Sequence[str], reference: Sequence[str], n: int) -> list[bool]:
    """Whether the reference has each n-gram of the translation, each as often as it has it."""
    left = Counter(tuple(reference[i : i + n]) for i in range(len(reference) - n + 1))
    found = []
    for i in range(len(translation) - n + 1):
        ngram = tuple(translation[i : i + n])
        found.append(left[ngram] > 0)
        left[ngram] -= 1  # clipping: what was found once is not found again
    return found


def columns_of(translation: Sequence[str], reference: Sequence[str]) -> tuple[list[int], list[int]]:
    """Where to write the words, from left to right, so that equal ones stand below each other."""
    places: tuple[list[int], list[int]] = ([], [])
    start = 0
    matcher = SequenceMatcher(None, translation, reference, autojunk=False)
    for _, a, a_end, b, b_end in matcher.get_opcodes():
        places[0].extend(range(start, start + a_end - a))
        places[1].extend(range(start, start + b_end - b))
        start += max(a_end - a, b_end - b)
    return places


def draw_ngrams(translation: Sequence[str], reference: Sequence[str]) -> dict[int, tuple[int, int]]:
    """Both sentences, and below them a bar for each n-gram of the translation: found or not.

    Args:
        translation: its words.
        reference: its words.

    Returns:
        n -> how many n-grams of the translation the reference has too, and how many there are.
    """
    found = {n: found_ngrams(translation, reference, n) for n in range(1, LONGEST + 1)}
    ours, theirs = columns_of(translation, reference)
    width = 1 + max(*ours, *theirs)
    lines = sum(max(1, min(n, len(marks))) for n, marks in found.items())
    bottom = 2.4 + lines + GAP * LONGEST
    figure, (axis,) = new_figure(4.7, 0.45 + 0.2 * bottom)
    names = {0.0: "reference", 1.2: "translation"}
    for y, words, columns in ((0.0, reference, theirs), (1.2, translation, ours)):
        for word, column in zip(words, columns, strict=True):
            axis.text(column + 0.5, y, word, ha="center", va="center", fontsize=12.5, color=TEXT)
    top = 2.4
    for n, marks in found.items():
        lanes = max(1, min(n, len(marks)))  # bars that overlap stand below each other
        for i, mark in enumerate(marks):
            _bar(axis, ours[i], ours[i + n - 1] + 1, top + i % n, mark)
        middle = top + (lanes - 1) / 2
        share = f"{sum(marks)}/{len(marks)}"
        axis.text(width + 0.25, middle, share, va="center", fontsize=12.5, color=TEXT)
        names[middle] = f"n = {n}"
        top += lanes + GAP
    axis.set_yticks(list(names), list(names.values()))
    axis.set_xticks([])
    axis.tick_params(length=0, labelsize=12)
    axis.spines[:].set_visible(False)
    axis.set_xlim(0, width + 0.8)
    axis.set_ylim(bottom - 0.5, -0.6)
    add_legend(
        figure,
        handles=[
            Patch(facecolor=FOUND, edgecolor=TEXT, label=f"{TICK} in the reference"),
            Patch(facecolor=MISSING, edgecolor=TEXT, label=f"{CROSS} not in the reference"),
        ],
        loc="outside lower center",
        ncols=2,
        fontsize=11,
        handlelength=1.2,
        columnspacing=1.0,
    )
    return {n: (sum(marks), len(marks)) for n, marks in found.items()}


def _bar(axis: Axes, left: float, right: float, y: float, found: bool) -> None:
    """An n-gram under its words, with its mark."""
    axis.add_patch(
        Rectangle(
            (left + 0.06, y - BAR / 2),
            right - left - 0.12,
            BAR,
            facecolor=FOUND if found else MISSING,
            edgecolor=TEXT,
            lw=0.8,
        )
    )
    mark = TICK if found else CROSS
    middle = (left + right) / 2
    axis.text(middle, y, mark, ha="center", va="center_baseline", fontsize=11, color="#000000")
