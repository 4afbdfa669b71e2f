"""`parsing.bracket_f1`: the score of a parser over a corpus, as Table 4 has it."""

from bisect import bisect_left
from collections import defaultdict

import numpy as np
import torch

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Bracket = tuple[str, int, int]
Corpus = list[list[Bracket]]

_CORPORA: dict[str, tuple[Corpus, Corpus]] = {  # right brackets, brackets found
    "one sentence, 2 of 4 brackets found and nothing else": (
        [[("S", 0, 4), ("NP", 0, 2), ("VP", 2, 4), ("NP", 3, 4)]],
        [[("S", 0, 4), ("VP", 2, 4)]],
    ),
    "one sentence, everything found in another order, and one bracket too many": (
        [[("S", 0, 5), ("NP", 0, 2), ("VP", 2, 5)]],
        [[("NP", 0, 2), ("PP", 3, 5), ("VP", 2, 5), ("S", 0, 5)]],
    ),
    "the right words under other labels": (
        [[("S", 0, 3), ("NP", 0, 1), ("VP", 1, 3)]],
        [[("FRAG", 0, 3), ("NP", 0, 1), ("NP", 1, 3)]],
    ),
    "the right labels over other words": (
        [[("S", 0, 6), ("NP", 0, 3), ("VP", 3, 6), ("PP", 4, 6), ("NP", 5, 6)]],
        [[("S", 0, 6), ("NP", 0, 2), ("VP", 2, 6), ("PP", 4, 5), ("NP", 4, 5)]],
    ),
    "a bracket that stands twice and is found once": (
        [[("NP", 0, 2), ("NP", 0, 2), ("PP", 2, 4)]],
        [[("NP", 0, 2), ("PP", 2, 4)]],
    ),
    "a bracket that stands once and is found three times, another twice in both": (
        [[("S", 0, 3), ("VP", 1, 3), ("VP", 1, 3), ("NP", 0, 1)]],
        [
            [("S", 0, 3), ("S", 0, 3), ("S", 0, 3), ("VP", 1, 3), ("VP", 1, 3), ("PP", 2, 3)],
        ],
    ),
    "a long sentence half found and a short one quite": (
        [
            [
                *[("S", 0, 9), ("NP", 0, 2), ("VP", 2, 9), ("PP", 3, 6), ("NP", 4, 6)],
                *[("SBAR", 6, 9), ("S", 7, 9), ("NP", 7, 8)],
            ],
            [("FRAG", 0, 2), ("NP", 0, 1)],
        ],
        [
            [
                *[("S", 0, 9), ("NP", 0, 2), ("VP", 2, 9), ("PP", 3, 9), ("NP", 4, 9)],
                *[("NP", 7, 8), ("VP", 8, 9)],
            ],
            [("FRAG", 0, 2), ("NP", 0, 1)],
        ],
    ),
    "three sentences, nothing found in the second": (
        [
            [("S", 0, 3), ("NP", 0, 1), ("VP", 1, 3)],
            [("S", 0, 4), ("VP", 0, 4), ("PP", 1, 4), ("NP", 2, 4)],
            [("NP", 0, 2), ("PP", 1, 2)],
        ],
        [
            [("S", 0, 3), ("NP", 0, 2), ("VP", 1, 3)],
            [],
            [("NP", 0, 2), ("ADVP", 1, 2), ("PP", 0, 1)],
        ],
    ),
    "two sentences, each with the brackets of the other, and one bracket right": (
        [
            [("S", 0, 5), ("NP", 0, 2), ("VP", 2, 5)],
            [("S", 0, 3), ("NP", 0, 1), ("VP", 1, 3), ("NP", 2, 3)],
        ],
        [
            [("S", 0, 3), ("NP", 0, 1), ("VP", 1, 3)],
            [("S", 0, 5), ("NP", 0, 2), ("VP", 2, 5), ("NP", 2, 3)],
        ],
    ),
    "two sentences, no bracket right": (
        [[("S", 0, 2), ("VP", 1, 2)], [("NP", 0, 3)]],
        [[("NP", 0, 2)], [("S", 0, 3), ("NP", 0, 1)]],
    ),
    "two sentences, nothing found at all": (
        [[("S", 0, 2), ("NP", 0, 1)], [("NP", 0, 3)]],
        [[], []],
    ),
}


def bracket_f1(
    gold: list[list[tuple[str, int, int]]], found: list[list[tuple[str, int, int]]]
) -> float:
    from collections import Counter

    matched = right = guessed = 0
    for wanted, given in zip(gold, found, strict=True):
        in_both = Counter(wanted) & Counter(given)  # the smaller count of each bracket
        matched += sum(in_both.values())
        right += len(wanted)
        guessed += len(given)
    f1 = 2 * matched / (right + guessed)  # the harmonic mean of precision and recall
    return 100 * f1


def _by_precision_and_recall(gold: Corpus, found: Corpus) -> float:
    """Each match is struck from what the right tree still offers."""
    matched = 0
    for wanted, given in zip(gold, found, strict=True):
        offered = list(wanted)
        for bracket in given:
            if bracket in offered:
                offered.remove(bracket)
                matched += 1
    if not matched:
        return 0.0
    precision = matched / sum(map(len, found))
    recall = matched / sum(map(len, gold))
    return 100 * 2 * precision * recall / (precision + recall)


def _by_numbered_brackets(gold: Corpus, found: Corpus) -> float:
    """Two plain sets: a bracket with its sentence, and the how-manieth of its kind it is."""

    def numbered(corpus: Corpus) -> set[tuple[object, ...]]:
        seen: dict[tuple[object, ...], int] = defaultdict(int)
        marked: set[tuple[object, ...]] = set()
        for sentence, brackets in enumerate(corpus):
            for bracket in brackets:
                seen[sentence, bracket] += 1
                marked.add((sentence, *bracket, seen[sentence, bracket]))
        return marked

    one, other = numbered(gold), numbered(found)
    return 100.0 * (1 - len(one ^ other) / (len(one) + len(other)))


def _by_numpy(gold: Corpus, found: Corpus) -> object:
    """Two rows of counts, with a column for each bracket of each sentence."""
    rows = [
        [f"{i} {bracket}" for i, brackets in enumerate(corpus) for bracket in brackets]
        for corpus in (gold, found)
    ]
    kinds = np.unique(np.array(rows[0] + rows[1]))
    counts = np.zeros((2, len(kinds)))
    for row, brackets in enumerate(rows):
        np.add.at(counts[row], np.searchsorted(kinds, np.array(brackets, dtype=kinds.dtype)), 1)
    return 200 * np.minimum(counts[0], counts[1]).sum() / counts.sum()


def _by_sorting(gold: Corpus, found: Corpus) -> float:
    """Both in order, and each bracket found is looked up behind the last that was used."""
    one = sorted((i, *bracket) for i, brackets in enumerate(gold) for bracket in brackets)
    other = sorted((i, *bracket) for i, brackets in enumerate(found) for bracket in brackets)
    matched = place = 0
    for bracket in other:
        place = bisect_left(one, bracket, lo=place)
        if one[place : place + 1] == [bracket]:
            matched, place = matched + 1, place + 1
    return matched / (len(one) + len(other)) * 200


def _by_recursion(gold: Corpus, found: Corpus) -> float:
    def matches(wanted: list[Bracket], given: list[Bracket]) -> int:
        if not wanted or not given:
            return 0
        first, *rest = wanted
        if first not in given:
            return matches(rest, given)
        place = given.index(first)
        return 1 + matches(rest, given[:place] + given[place + 1 :])

    return 2e2 * sum(map(matches, gold, found)) / sum(map(len, gold + found))


def _case(name: str, gold: Corpus, found: Corpus) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call([list(one) for one in gold], [list(one) for one in found])

    return Case(name, make)


BRACKET_F1 = Exercise(
    id="parsing.bracket_f1",
    title="The F1 of brackets",
    kind="code",
    difficulty=2,
    minutes=8,
    signature=(
        "bracket_f1(gold, found: for each sentence a list of (str, int, int)) -> float, 0 to 100"
    ),
    statement=(
        "A bracket is a phrase of a tree, (label, first, end): ('NP', 0, 2) is a noun phrase over "
        "words 0 and 1. `gold[i]` holds the brackets of the right tree of sentence i, at least "
        "one; `found[i]` those of the tree that a parser wrote, perhaps none. The order within a "
        "list says nothing, and a bracket may stand in it more than once. A bracket found is "
        "matched if the right tree of the same sentence has it too, with label and both ends, and "
        "as often as it stands in both. Precision is the share of the brackets found that are "
        "matched, recall the share of the right ones, both over all sentences together. Return "
        "their harmonic mean F1 in percent, not rounded, and 0.0 if nothing is matched."
    ),
    objective="Score a parser as Table 4 does.",
    prerequisite="precision and recall",
    hints=(
        "Three numbers are all that is needed, each summed over all sentences. Which? And what "
        "becomes of a bracket that the right tree has once and the parser wrote twice?",
        "`Counter(wanted) & Counter(given)` keeps each bracket as often as both have it. Make it "
        "for each sentence, and add up its values.",
        "With m matched brackets of g right ones and f found ones, precision is m / f and recall "
        "m / g. Their harmonic mean is 2 * m / (g + f), and 0 of itself where m is 0.",
    ),
    reference=bracket_f1,
    explanation=(
        "The counts of all sentences are added first and divided once, so a long sentence weighs "
        "more than a short one: a mean of the sentences' F1 is another number. A bracket is "
        "matched as often as it stands in both trees, as in (NP (NP ...)), which has the same "
        "bracket twice; sets would lose one. From m, g and f the harmonic mean is "
        "2 * m / (g + f), without a division by zero where nothing is matched. EVALB, the usual "
        "scorer of such trees, computes the same, once it has taken punctuation, the root and the "
        "functions of labels out of them; but it leaves a sentence without a tree out, and here "
        "all its brackets count as not found."
    ),
    cases=tuple(_case(name, *corpora) for name, corpora in _CORPORA.items()),
    mistakes=page(__file__, bracket_f1),
    alternatives=(
        _by_precision_and_recall,
        _by_numbered_brackets,
        _by_numpy,
        _by_sorting,
        _by_recursion,
    ),
    starter=(
        "def bracket_f1(gold, found):\n"
        '    """Two lists of lists of brackets (label, first, end) -> F1 in percent."""\n'
        "    ...  # your code"
    ),
)
