"""The grammar read off trees gives the trees and probabilities of NLTK's (nltk_pcfg.json)."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.data.trees import Tree, in_brackets, leaves_of, parse
from annotated_transformer.experiments.parsing.pcfg import Grammar, binary, tagged, tree_of
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
    assert binary(tree, 2, 1).symbol == "S"
    assert binary(parse("(ROOT (NP (NN a)) (. .))"), 2, 1).symbol == "ROOT"
