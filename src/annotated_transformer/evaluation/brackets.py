"""Labelled brackets of constituency trees, counted as EVALB counts them (section 6.3, Table 4).

A bracket is a phrase's label with the words that it spans. Of a tree these are counted, as EVALB
(Sekine and Collins) does with the parameters COLLINS.prm, to which the root of GUM is added:

- roots (TOP, ROOT, S1 and a phrase without a label) are not counted, wherever they stand;
- traces (-NONE-) and punctuation (the tags , : `` '' .) are taken out before words are numbered,
  and with them every phrase that holds nothing else;
- a label ends at its first - or =, so that NP-SBJ is NP (unless it begins with it); PRT counts as
  ADVP;
- the same bracket twice, as in (NP (NP the man)), is found as often as it stands in both trees.

Part-of-speech tags are no brackets. A tree whose words are not those of the other is an error:
EVALB leaves such a sentence out of its sums.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from annotated_transformer.data.trees import Tree
from annotated_transformer.errors import CallError

ROOTS = frozenset({"TOP", "ROOT", "S1", ""})
LEFT_OUT = frozenset({"-NONE-", ",", ":", "``", "''", "."})  # tags
SAME = {"PRT": "ADVP"}

Bracket = tuple[str, int, int]  # label, first word, word behind the last


@dataclass(frozen=True)
class BracketCounts:
    """What two trees, or many pairs of them, have in common.

    Attributes:
        matched_by_label: label -> brackets that stand in both.
        gold_by_label: label -> brackets of the trees that are right.
        found_by_label: label -> brackets of the trees that are judged.
        crossing: judged ones that begin inside a right one and end behind it, or the other way.
        sentences: how many pairs.
        complete: pairs of which both have the same brackets.
    """

    matched_by_label: Counter[str] = field(default_factory=Counter)
    gold_by_label: Counter[str] = field(default_factory=Counter)
    found_by_label: Counter[str] = field(default_factory=Counter)
    crossing: int = 0
    sentences: int = 0
    complete: int = 0

    def __add__(self, other: "BracketCounts") -> "BracketCounts":
        return BracketCounts(
            self.matched_by_label + other.matched_by_label,
            self.gold_by_label + other.gold_by_label,
            self.found_by_label + other.found_by_label,
            self.crossing + other.crossing,
            self.sentences + other.sentences,
            self.complete + other.complete,
        )

    @property
    def matched(self) -> int:
        """Brackets that stand in both."""
        return self.matched_by_label.total()

    @property
    def gold(self) -> int:
        """Brackets of the trees that are right."""
        return self.gold_by_label.total()

    @property
    def found(self) -> int:
        """Brackets of the trees that are judged."""
        return self.found_by_label.total()

    @property
    def recall(self) -> float:
        """Percentage of the right brackets that were found."""
        return 100 * self.matched / self.gold if self.gold else 0.0

    @property
    def precision(self) -> float:
        """Percentage of the brackets found that are right."""
        return 100 * self.matched / self.found if self.found else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both, in percent."""
        both = self.gold + self.found
        return 200 * self.matched / both if both else 0.0


def brackets(tree: Tree) -> tuple[list[Bracket], list[str]]:
    """The brackets of a tree that are counted, from the root down, and its words that are left."""
    of_phrases, words = brackets_of_phrases(tree)
    return [bracket for bracket in of_phrases if bracket is not None], words


def brackets_of_phrases(tree: Tree) -> tuple[list[Bracket | None], list[str]]:
    """As `brackets`, with None for each phrase that is not counted, so that none is left out."""
    found: list[Bracket | None] = []
    words: list[str] = []

    def walk(part: Tree) -> None:
        if part.is_tag:
            if part.label not in LEFT_OUT:
                words.append(str(part.children[0]))
            return
        first, place = len(words), len(found)
        found.append(None)
        for child in part.children:
            assert isinstance(child, Tree)
            walk(child)
        category = part.category
        if len(words) > first and category not in ROOTS:
            found[place] = (SAME.get(category, category), first, len(words))

    walk(tree)
    return found, words


def count_brackets(gold: Tree, found: Tree | None) -> BracketCounts:
    """What a tree has of the right one.

    Args:
        gold: the right tree.
        found: the tree that is judged; None if there is none: then nothing is found. (EVALB would
            leave the sentence out.)

    Raises:
        CallError: the two are of other words.
    """
    wanted, words = brackets(gold)
    if found is None:
        return BracketCounts(gold_by_label=_by_label(wanted), sentences=1)
    given, others = brackets(found)
    if words != others:
        raise CallError(
            f"the trees are of other words: {' '.join(others)!r} was given, "
            f"{' '.join(words)!r} is expected (without punctuation)."
        )
    matched = list((Counter(wanted) & Counter(given)).elements())
    spans = {(first, end) for _, first, end in wanted}
    crossing = sum(any(_cross(first, end, *span) for span in spans) for _, first, end in given)
    complete = len(matched) == len(wanted) == len(given)
    return BracketCounts(
        _by_label(matched), _by_label(wanted), _by_label(given), crossing, 1, int(complete)
    )


def _by_label(found: Iterable[Bracket]) -> Counter[str]:
    return Counter(label for label, _, _ in found)


def _cross(first: int, end: int, other_first: int, other_end: int) -> bool:
    """Whether two spans overlap and neither holds the other."""
    return other_first < first < other_end < end or first < other_first < end < other_end


def f1_of_counts(sums: NDArray[Any]) -> NDArray[Any]:
    """F1 in percent, for resampling: sums of matched, right and found (..., 3) -> (...)."""
    matched, gold, found = (sums[..., column] for column in range(3))
    return 200 * matched / (gold + found)


def score_brackets(gold: Iterable[Tree], found: Sequence[Tree | None]) -> BracketCounts:
    """The sum over a corpus.

    Raises:
        CallError: as `count_brackets`, or there are not as many trees as right ones.
    """
    gold = list(gold)
    if len(gold) != len(found):
        raise CallError(f"{len(found)} trees were given for {len(gold)} sentences.")
    return sum(map(count_brackets, gold, found), BracketCounts())
