"""Trees as boxes: every phrase with its label, and what the right tree lacks is marked."""

from typing import Any

import pytest

from annotated_transformer import figures
from annotated_transformer.data.trees import parse
from annotated_transformer.figures import trees

GOLD = parse("(ROOT (S (NP-SBJ (PRP I)) (VP (VBD saw) (NP (PRP it)) (PP (IN in) (NP (NN <b>))))))")
LOW = parse("(ROOT (S (NP (PRP I)) (VP (VBD saw) (NP (NP (PRP it)) (PP (IN in) (NP (NN <b>)))))))")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    bundles: list[dict[str, Any]] = []
    monkeypatch.setattr(trees, "display", lambda bundle, raw: bundles.append(bundle))
    return bundles


def test_what_the_right_tree_lacks_is_marked(shown: list[dict[str, Any]]) -> None:
    assert figures.show_trees([("right", GOLD), ("low & wrong", LOW)], GOLD) == {
        "right": 0,
        "low & wrong": 1,
    }
    (bundle,) = shown
    assert bundle["text/plain"] == (
        "right: (ROOT (S (NP I) (VP saw (NP it) (PP in (NP <b>)))))\n"
        "low & wrong: (ROOT (S (NP I) (VP saw (✗NP (NP it) (PP in (NP <b>))))))"
    )
    markup = bundle["text/html"]
    assert markup.count('class="at-wrong"') == 1
    assert markup.count("<span") == markup.count("</span>") == 6 + 7
    assert "low &amp; wrong" in markup
    assert "<b><b>" not in markup


def test_a_bracket_found_twice_is_wrong_once(shown: list[dict[str, Any]]) -> None:
    once, twice = parse("(ROOT (NP (NN a)))"), parse("(ROOT (NP (NP (NN a))))")
    assert figures.show_trees([("found", twice)], once) == {"found": 1}
    assert figures.show_trees([("alone", twice)]) == {"alone": 0}


def test_punctuation_alone_is_no_bracket(shown: list[dict[str, Any]]) -> None:
    tree = parse("(ROOT (S (NP (NN a)) (PRN (, ,))))")
    assert figures.show_trees([("found", tree)], parse("(ROOT (S (NP (NN a)) (, ,)))")) == {
        "found": 0
    }
