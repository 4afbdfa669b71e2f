"""The exercises on parsing, against the package's own scorer and search."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.data import Vocabulary
from annotated_transformer.data.trees import Tree, delinearise, leaves_of, linearise, parse
from annotated_transformer.evaluation.brackets import brackets, score_brackets
from annotated_transformer.exercises.content.parsing.bracket_f1 import bracket_f1
from annotated_transformer.exercises.content.parsing.next_signs import NEXT_SIGNS, next_signs
from annotated_transformer.exercises.grader.grading import grade_exercise
from annotated_transformer.experiments.parsing.search import TreesOnly
from drawn_trees import TREES

EVALB = Path(__file__).parents[1] / "evaluation" / "evalb_cases.json"
LABELS = ["S", "NP", "VP", "PP", "ADVP"]
MOST = 200  # signs of a drawn row
words_of_sentences = st.one_of(
    st.integers(1, 6).map(lambda n: [f"#{i}" for i in range(1, n + 1)]),
    st.integers(1, 6).map(lambda n: ["XX"] * n),
)


def test_the_f1_is_the_scorers_on_the_trees_that_evalb_scored() -> None:
    pairs = [
        (parse(case["gold"]), parse(case["found"]))
        for case in json.loads(EVALB.read_text("utf-8"))["cases"]
    ]
    gold, found = [list(trees) for trees in zip(*pairs, strict=True)]
    rows = [[brackets(tree)[0] for tree in trees] for trees in (gold, found)]
    assert bracket_f1(*rows) == pytest.approx(score_brackets(gold, found).f1)
    without = [None if number % 3 else tree for number, tree in enumerate(found)]
    rows[1] = [[] if tree is None else brackets(tree)[0] for tree in without]
    assert bracket_f1(*rows) == pytest.approx(score_brackets(gold, without).f1)


def written(tree: Tree, alike: bool = False) -> tuple[list[str], list[str]]:
    """A tree with ROOT at its head as a row of signs, and what stands in it for the words."""
    words = [f"#{i}" for i, _ in enumerate(leaves_of(tree), 1)]
    words = ["XX"] * len(words) if alike else words
    return linearise(Tree("ROOT", tree.children), words).split(), words


@given(TREES, st.booleans())
def test_every_tree_can_be_written(tree: Tree, alike: bool) -> None:
    row, words = written(tree, alike)
    for place, sign in enumerate([*row, "</s>"]):
        assert sign in next_signs(row[:place], words, LABELS)


@given(st.integers(0, 10**6), words_of_sentences)
def test_whatever_is_written_is_a_tree(seed: int, words: list[str]) -> None:
    choose, row = random.Random(seed), list[str]()
    while row[-1:] != ["</s>"] and len(row) < MOST:
        signs = sorted(next_signs(row, words, LABELS))
        row.append(choose.choice(signs))
        if len(row) > MOST // 2:  # words and closing signs, so that it ends
            row[-1] = next(sign for sign in signs[::-1] if sign[0] != "(")
    tree, well_formed = delinearise(" ".join(row[:-1]), [Tree("T", (w,)) for w in words], words)
    assert row[-1] == "</s>"
    assert well_formed
    assert tree.label == "ROOT"


class Even:
    """A decoder to which all signs are alike."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.size = len(vocabulary)

    def next_logits(self, prefixes: torch.Tensor) -> torch.Tensor:
        return torch.zeros(*prefixes.shape[:2], self.size)

    def select(self, sentences: torch.Tensor, parents: torch.Tensor) -> None:
        pass


@given(TREES)
def test_a_search_without_a_limit_allows_the_same(tree: Tree) -> None:
    row, words = written(tree)
    signs = [bracket + label for label in ("ROOT", *LABELS) for bracket in "()"]
    vocabulary = Vocabulary.of_words([" ".join([*signs, *words])], 99)
    ids = vocabulary.tokenizer.get_vocab()
    of_id = {number: sign for sign, number in ids.items()} | {vocabulary.eos_id: "</s>"}
    search = TreesOnly(Even(vocabulary), [[ids[word] for word in words]], [999], vocabulary)
    prefix = [vocabulary.bos_id]
    for place in range(len(row) + 1):
        logits = search.next_logits(torch.tensor([[prefix]]))[0, 0]
        allowed = {of_id[number] for number in logits.isfinite().nonzero().flatten().tolist()}
        assert allowed == next_signs(row[:place], words, LABELS)
        prefix.append(ids[row[place]] if place < len(row) else vocabulary.eos_id)


@pytest.mark.parametrize("kind", [list, tuple, sorted])
def test_signs_in_a_list_are_told_so(kind: Any) -> None:
    report = grade_exercise(NEXT_SIGNS, lambda row, *given: kind(next_signs(row, *given)))
    assert not report.passed
    assert report.rung == "type"
    assert "makes it a set" in report.message


def test_a_frozen_set_is_a_set() -> None:
    assert grade_exercise(NEXT_SIGNS, lambda *given: frozenset(next_signs(*given))).passed


def test_signs_are_shown_in_the_same_order_at_every_run() -> None:
    report = grade_exercise(NEXT_SIGNS, lambda row, *given: next_signs(row, *given) | {"(X", "#9"})
    assert "Expected: {'(ROOT'}\nGot:      {'#9', '(ROOT', '(X'}" in report.message
