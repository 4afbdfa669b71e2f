"""`inside.alignment_error_rate`: guessed links between words against known ones."""

import numpy as np
import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Links = list[tuple[int, int]]

_LINKS: dict[str, tuple[Links, Links, Links]] = {
    "one link, guessed rightly": ([(0, 0)], [(0, 0)], []),
    "one link, guessed wrongly": ([(0, 1)], [(0, 0)], []),
    "three guesses, two sure links, one possible": (
        [(0, 0), (1, 1), (2, 1)],
        [(0, 0), (1, 2)],
        [(1, 1)],
    ),
    "a guess that is possible alone": ([(2, 3)], [(0, 0), (1, 1)], [(2, 3), (2, 2)]),
    "possible links that name the sure ones again": (
        [(0, 0), (1, 1), (3, 2), (4, 4)],
        [(0, 0), (1, 1), (2, 2)],
        [(0, 0), (1, 1), (2, 2), (3, 2), (2, 3)],
    ),
    "sure links alone, more guesses than links": (
        [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3)],
        [(0, 0), (2, 1), (3, 3)],
        [],
    ),
    "no guess": ([], [(0, 0), (1, 1)], [(1, 2)]),
    "many possible links, few sure ones": (
        [(0, 0), (1, 2), (2, 1), (5, 5)],
        [(0, 0)],
        [(1, 2), (2, 1), (1, 1), (2, 2), (3, 3), (4, 4)],
    ),
    "links whose ends are exchanged": ([(0, 3), (3, 0), (2, 2)], [(3, 0), (2, 2), (1, 4)], []),
    "everything guessed": (
        [(i, j) for i in range(3) for j in range(3)],
        [(0, 0), (1, 1)],
        [(0, 1), (2, 2), (2, 1)],
    ),
}


def alignment_error_rate(guessed: Links, sure: Links, possible: Links) -> float:
    said = set(guessed)
    must = set(sure)
    may = set(possible) | must  # whatever is sure is possible
    in_sure = len(said & must)
    in_possible = len(said & may)
    return 1 - (in_sure + in_possible) / (len(said) + len(must))


def _by_counting(guessed: Links, sure: Links, possible: Links) -> float:
    right = 0
    for link in guessed:
        if link in sure:
            right += 2
        elif link in possible:
            right += 1
    return (len(guessed) + len(sure) - right) / (len(guessed) + len(sure))


def _by_numpy(guessed: Links, sure: Links, possible: Links) -> object:
    def table(links: Links) -> np.ndarray:
        cells = np.zeros((8, 8), dtype=bool)
        for i, j in links:
            cells[i, j] = True
        return cells

    a, s, p = table(guessed), table(sure), table(possible)
    return 1.0 - ((a & s).sum() + (a & (p | s)).sum()) / (a.sum() + s.sum())


def _by_torch(guessed: Links, sure: Links, possible: Links) -> torch.Tensor:
    def table(links: Links) -> torch.Tensor:
        cells = torch.zeros(8, 8, dtype=torch.float64)
        for i, j in links:
            cells[i, j] = 1.0
        return cells

    a, s = table(guessed), table(sure)
    p = torch.maximum(table(possible), s)
    return 1 - ((a * s).sum() + (a * p).sum()) / (a.sum() + s.sum())


def _by_precision_and_recall(guessed: Links, sure: Links, possible: Links) -> float:
    """The mean of both, weighed by the links over which each is taken."""
    a, s = frozenset(guessed), frozenset(sure)
    precision = sum(link in s or link in possible for link in a) / max(1, len(a))
    recall = len(a.intersection(s)) / len(s)
    return 1 - (len(a) * precision + len(s) * recall) / (len(a) + len(s))


def _case(name: str, guessed: Links, sure: Links, possible: Links) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(list(guessed), list(sure), list(possible))

    return Case(name, make)


ALIGNMENT_ERROR_RATE = Exercise(
    id="inside.alignment_error_rate",
    title="The alignment error rate",
    kind="code",
    difficulty=2,
    minutes=8,
    signature=(
        "alignment_error_rate(guessed, sure, possible: lists of (int, int), no link twice) -> float"
    ),
    statement=(
        "A link (i, j) says that word i of the source is translated by word j of the target. "
        "People who link words by hand mark some links as sure and some as merely possible; a sure "
        "link is possible too, whether or not `possible` names it. With A the guessed links, S the "
        "sure and P the possible ones, return AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|) for one "
        "sentence, a number from 0 to 1. There is always a sure link; there may be no guess."
    ),
    objective="Score an alignment as it has been done since 2000.",
    prerequisite="precision and recall",
    hints=(
        "Which guesses cost nothing although nobody is sure of them? Where does a forgotten link "
        "come into the formula, and where a wrong one?",
        "Make sets of the three lists. P is the union of `possible` and `sure`.",
        "`len(A & S) + len(A & P)` is divided by `len(A) + len(S)`; 1 minus that is the error.",
    ),
    reference=alignment_error_rate,
    explanation=(
        "A guess may be doubtful where people doubt too: it counts as right if it is possible. A "
        "link must be found only where it is sure. So precision is taken over P and recall over S, "
        "and the two counts are added above and below one line. Where only sure links are known, "
        "as in the grammar, P is S and the rate is 1 - F1. It has a weakness: a guess that is "
        "merely possible lowers any rate above 0, so it pays to make many of them."
    ),
    cases=tuple(_case(name, *links) for name, links in _LINKS.items()),
    mistakes=page(__file__, alignment_error_rate),
    alternatives=(_by_counting, _by_numpy, _by_torch, _by_precision_and_recall),
    starter=(
        "def alignment_error_rate(guessed, sure, possible):\n"
        '    """Three lists of links (i, j) -> a number from 0 to 1, 0 is best."""\n'
        "    ...  # your code"
    ),
)
