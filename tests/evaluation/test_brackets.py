"""Brackets are counted as EVALB counts them; its numbers stand in evalb_cases.json."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.data.trees import (
    Tree,
    delinearise,
    in_brackets,
    leaves_of,
    linearise,
    parse,
)
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.brackets import (
    BracketCounts,
    brackets,
    count_brackets,
    f1_of_counts,
    score_brackets,
)
from drawn_trees import TREES

EVALB = json.loads((Path(__file__).parent / "evalb_cases.json").read_text("utf-8"))


@pytest.mark.parametrize("case", EVALB["cases"], ids=lambda case: case["case"])
def test_a_pair_counts_as_in_evalb(case: dict[str, str | int]) -> None:
    counts = count_brackets(parse(str(case["gold"])), parse(str(case["found"])))
    found = (counts.matched, counts.gold, counts.found, counts.crossing)
    assert found == tuple(case[name] for name in ("matched", "of_gold", "of_found", "crossing"))


def test_the_sum_is_evalbs() -> None:
    assert len(EVALB["cases"]) >= 30
    gold, found = ([parse(case[which]) for case in EVALB["cases"]] for which in ("gold", "found"))
    counts, summary = score_brackets(gold, found), EVALB["summary"]
    assert counts.recall == pytest.approx(summary["Bracketing Recall"], abs=0.005)
    assert counts.precision == pytest.approx(summary["Bracketing Precision"], abs=0.005)
    assert counts.f1 == pytest.approx(summary["Bracketing FMeasure"], abs=0.005)
    sums = np.array([[[counts.matched, counts.gold, counts.found]]])
    assert f1_of_counts(sums).tolist() == [[pytest.approx(counts.f1)]]
    complete = 100 * counts.complete / counts.sentences
    assert complete == pytest.approx(summary["Complete match"], abs=0.005)
    crossing = counts.crossing / counts.sentences
    assert crossing == pytest.approx(summary["Average crossing"], abs=0.005)


def test_each_label_has_its_own_counts() -> None:
    gold = parse("(S (NP (NP (DT the) (NN dog))) (VP (VBZ eats)) (PRT (RP up)))")
    found = parse("(S (NP (DT the) (NN dog)) (NP (VBZ eats)) (ADVP (RP up)))")
    counts = sum([count_brackets(gold, found), count_brackets(gold, None)], BracketCounts())
    assert counts.matched_by_label == {"S": 1, "NP": 1, "ADVP": 1}
    assert counts.gold_by_label == {"S": 2, "NP": 4, "VP": 2, "ADVP": 2}
    assert counts.found_by_label == {"S": 1, "NP": 2, "ADVP": 1}
    assert (counts.matched, counts.gold, counts.found) == (3, 10, 4)


def test_a_sentence_without_a_tree_is_all_missed() -> None:
    gold = parse("(ROOT (S (NP (PRP I)) (VP (VBP go))))")
    counts = count_brackets(gold, None)
    assert (counts.matched, counts.gold, counts.found) == (0, 3, 0)
    assert (counts.recall, counts.precision, counts.f1) == (0, 0, 0)


def test_where_no_bracket_is_counted_nothing_is_found_and_all_is_complete() -> None:
    """As in EVALB, whose F1 is then no number."""
    tree = parse("(TOP (UH Yes) (. .))")
    nothing = count_brackets(tree, tree)
    assert nothing == BracketCounts(sentences=1, complete=1)
    assert (nothing.recall, nothing.precision, nothing.f1) == (0, 0, 0)
    assert BracketCounts().f1 == 0


def test_a_round_bracket_in_a_sentence_is_a_word_and_no_punctuation() -> None:
    """EVALB with COLLINS.prm says of this pair: 2 matched, 3 right, 3 found."""
    counts = count_brackets(
        parse("(TOP (NP (NP (NN law)) (PRN (-LRB- -LRB-) (CD 7) (-RRB- -RRB-))))"),
        parse("(TOP (NP (NP (NN law)) (-LRB- -LRB-) (PRN (CD 7)) (-RRB- -RRB-)))"),
    )
    assert (counts.matched, counts.gold, counts.found) == (2, 3, 3)


def test_other_words_and_another_number_of_trees_are_refused() -> None:
    one, other = parse("(S (NP (PRP I)) (VP (VBP go)))"), parse("(S (NP (PRP I)) (VP (VBP went)))")
    with pytest.raises(CallError, match="'I went' was given, 'I go' is expected"):
        count_brackets(one, other)
    with pytest.raises(CallError, match="1 trees were given for 2"):
        score_brackets([one, one], [one])


@given(TREES)
def test_a_row_read_back_is_its_tree(tree: Tree) -> None:
    again, well_formed = delinearise(linearise(tree), list(leaves_of(tree)))
    assert well_formed
    assert again == tree
    assert parse(in_brackets(tree)) == tree
    assert count_brackets(tree, again).matched == len(brackets(tree)[0])


TOKENS = st.sampled_from(["(S", "(NP", "(VP", ")S", ")NP", ")VP", "XX", "XX", "?"])


@given(st.lists(TOKENS, max_size=25), st.integers(1, 8))
def test_whatever_was_written_becomes_a_tree_of_these_words(row: list[str], n: int) -> None:
    leaves = [Tree("NN", (f"w{i}",)) for i in range(n)]
    tree, well_formed = delinearise(" ".join(row), leaves)
    assert list(leaves_of(tree)) == leaves
    assert well_formed == (linearise(tree).split() == row)


@pytest.mark.parametrize(
    ("row", "mended"),
    [
        ("(S (NP XX )NP (VP XX )VP )S", "(S (NP (A a)) (VP (B b)))"),
        ("(S (NP XX )NP (VP XX", "(S (NP (A a)) (VP (B b)))"),
        ("(S (NP XX (VP XX )S", "(S (NP (A a) (VP (B b))))"),
        ("(S (NP XX )NP )S", "( (S (NP (A a))) (B b))"),
        ("(S (NP XX )NP", "(S (NP (A a)) (B b))"),
        ("(S XX )VP XX XX (NP )NP )S", "(S (A a) (B b))"),
        ("", "( (A a) (B b))"),
        ("(S XX )S (S XX )S", "( (S (A a)) (S (B b)))"),
    ],
)
def test_how_a_row_is_mended(row: str, mended: str) -> None:
    leaves = [Tree("A", ("a",)), Tree("B", ("b",))]
    tree, well_formed = delinearise(row, leaves)
    assert in_brackets(tree) == mended
    assert well_formed == (row == "(S (NP XX )NP (VP XX )VP )S")
