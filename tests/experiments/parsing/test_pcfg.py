"""The grammar read off trees gives the trees and probabilities of NLTK's (nltk_pcfg.json)."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotated_transformer.data.trees import Tree, in_brackets, leaves_of, parse
from annotated_transformer.experiments.parsing.pcfg import (
    Grammar,
    Node,
    Symbol,
    binary,
    tagged,
    tree_of,
)
from drawn_trees import TREES as DRAWN

NLTK = json.loads((Path(__file__).parent / "nltk_pcfg.json").read_text("utf-8"))
TREES = [parse(tree) for tree in NLTK["trees"]]
ROWS = [list(tree.words()) for tree in TREES]


def grammar(siblings: int = 2, parents: int = 1) -> Grammar:
    return Grammar(TREES, ROWS, siblings, parents)


@pytest.mark.parametrize("case", NLTK["grammars"], ids=lambda case: f"{case['siblings']}")
def test_best_trees_and_their_probabilities_are_nltks(case) -> None:
    ours = grammar(case["siblings"], case["parents"])
    assert len(ours.parent) == case["rules"]
    assert sum(one["tree"] is not None for one in case["best"]) >= 6
    for one in case["best"]:
        words = one["sentence"].split()
        found = ours.best(words)
        if one["tree"] is None:
            assert found is None
            continue
        assert found is not None
        assert found[1] == pytest.approx(one["log_probability"], abs=1e-4)
        assert in_brackets(tree_of(found[0], tagged(found[0], words))) == one["tree"]


@given(DRAWN, st.integers(0, 3), st.integers(0, 1))
def test_a_binary_tree_is_its_tree(tree: Tree, siblings: int, parents: int) -> None:
    node, leaves = binary(tree, siblings, parents), list(leaves_of(tree))
    assert tree_of(node, leaves) == tree
    assert all(len(part.parts) in (0, 2) for part in node.below())
    assert tagged(node, list(tree.words())) == leaves


def test_a_word_never_seen_is_taken_for_a_rare_one() -> None:
    rows = [["◦" if word == "telescope" else word for word in row] for row in ROWS]
    ours = Grammar(TREES, rows)
    words = ["he", "saw", "the", "◦ing", "."]
    found = ours.best(words)
    assert found is not None
    assert in_brackets(tree_of(found[0], tagged(found[0], words))) == (
        "(S (NP (PRP he)) (VP (VBD saw) (NP (DT the) (NN ◦ing))) (. .))"
    )
    assert grammar().best(["he", "flew", "."]) is None


def test_functions_and_a_root_of_one_phrase_are_left_out() -> None:
    tree = parse("(ROOT (S-IMP (VP (VB go)) (. .)))")
    assert str(binary(tree, 2, 1).symbol) == "S"
    assert str(binary(parse("(ROOT (NP (NN a)) (. .))"), 2, 1).symbol) == "ROOT"


def test_a_symbol_reads_as_grammars_are_written() -> None:
    tree = parse(
        "(ROOT (S (NP (NP (DT the) (NN dog))) (VP (VBZ eats) (NP (PRP it)) (ADVP (RB now)))))"
    )
    assert [str(part.symbol) for part in binary(tree, 2, 1).below()] == [
        *("S", "NP+NP^<S>", "DT", "NN"),
        *("VP^<S>", "VBZ", "VP|<NP+PRP-ADVP+RB>^<S>", "NP+PRP", "ADVP+RB"),
    ]


def steps(node: Node, tokens: Sequence[str]) -> list[tuple[Symbol | str, ...]]:
    """What a binary tree is made of: its root, and each symbol with its two parts or its word."""
    left = iter(tokens)
    parts = [
        (part.symbol, *([below.symbol for below in part.parts] or [next(left)]))
        for part in node.below()
    ]
    return [("", node.symbol), *parts]


@settings(max_examples=40)
@given(st.lists(DRAWN, min_size=1, max_size=4), st.integers(1, 3), st.integers(0, 1))
def test_a_best_tree_has_the_product_of_the_shares_of_its_steps(
    trees: list[Tree], siblings: int, parents: int
) -> None:
    """And no tree of the treebank has more."""
    rows = [list(tree.words()) for tree in trees]
    nodes = [binary(tree, siblings, parents) for tree in trees]
    counts = Counter(
        step for node, row in zip(nodes, rows, strict=True) for step in steps(node, row)
    )
    total = Counter(symbol for symbol, *_ in counts.elements())

    def log_probability(node: Node, row: Sequence[str]) -> float:
        return sum(math.log(counts[step] / total[step[0]]) for step in steps(node, row))

    ours = Grammar(trees, rows, siblings, parents)
    for node, row in zip(nodes, rows, strict=True):
        found = ours.best(row)
        assert found is not None
        assert found[1] == pytest.approx(log_probability(found[0], row), rel=1e-4)
        assert found[1] >= log_probability(node, row) - 1e-3


def test_a_word_never_seen_has_a_tag_as_often_as_all_its_rare_words_together() -> None:
    seen = [("NN", "◦"), ("NN", "◦"), ("NN", "◦ing"), ("NN", "dog"), ("VB", "◦"), ("DT", "the")]
    trees = [parse(f"(ROOT ({tag} w))") for tag, _ in seen]
    found = Grammar(trees, [[token] for _, token in seen]).best(["◦ly"])
    assert found is not None
    assert str(found[0].symbol) == "NN"
    assert found[1] == pytest.approx(math.log(3 / 6))  # a noun and rare: three of six trees
