"""What a parser has to beat."""

from functools import partial

import pytest

from annotated_transformer.data.trees import Tree, in_brackets, leaves_of, parse
from annotated_transformer.data.word_classes import known_words
from annotated_transformer.experiments.parsing import rivals
from annotated_transformer.experiments.parsing.pcfg import tree_of
from annotated_transformer.experiments.parsing.rivals import (
    GrammarParser,
    most_frequent_label,
    right_branching,
)

TREES = [
    parse("(ROOT (S (NP (PRP he)) (VP (VBD slept)) (. .)))"),
    parse("(ROOT (S (NP (PRP he)) (VP (VBD ate)) (. .)))"),
    parse("(ROOT (S (NP (PRP he)) (VP (VBD ate) (NP (NN soup))) (. .)))"),
    parse("(ROOT (NP (NN soup)))"),
    parse("(ROOT (NP (NN soup) (NN bowl)))"),
]


def test_a_tree_that_branches_to_the_right() -> None:
    def of(text: str) -> str:
        return in_brackets(right_branching(list(leaves_of(parse(text))), "NP"))

    assert of("(S (A a) (B b) (C c) (. .))") == "(ROOT (NP (A a) (NP (B b) (C c))) (. .))"
    assert of("(S (A a) (B b))") == "(ROOT (NP (A a) (B b)))"
    assert of("(S (A a) (. .))") == "(ROOT (NP (A a)) (. .))"
    assert of("(S (. .))") == "(ROOT (NP (. .)))"


def test_the_most_frequent_label_is_a_phrases() -> None:
    assert most_frequent_label(TREES) == "NP"


def test_a_parser_read_off_trees() -> None:
    parser = GrammarParser(TREES)
    tree = parser.parse(["He", "slept", "."])
    assert tree is not None
    assert in_brackets(tree) == "(ROOT (S (NP (PRP He)) (VP (VBD slept)) (. .)))"
    leaves = [Tree("X", (word,)) for word in ("soup", "soup")]
    coarse = parser.parse(["soup", "soup"], leaves)
    assert coarse is not None
    assert list(leaves_of(coarse)) == leaves
    assert parser.parse([".", "."]) is None


def test_it_knows_the_words_that_stand_in_three_trees() -> None:
    assert GrammarParser(TREES).known == {"he", "soup", "."}  # and not "ate", of two


@pytest.fixture
def all_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the words that stand in one tree."""
    monkeypatch.setattr(rivals, "known_words", partial(known_words, at_least=1))


@pytest.mark.usefixtures("all_known")
def test_the_finer_grammar_knows_two_siblings_and_the_parent_and_the_coarser_one_and_none() -> None:
    parser = GrammarParser(
        [
            parse("(ROOT (S (NP (A a) (B b) (C c) (D d)) (V v)))"),
            parse("(ROOT (S (NP (X x) (B b) (C c) (E e)) (V v)))"),
            parse("(ROOT (S (NP (Y y) (B b) (F f)) (VP (V v) (NP (G g) (H h)))))"),
        ]
    )
    fine, coarse = parser.grammars
    for sentence, is_fine in (
        ("a b c e v", True),  # b c d and b c e begin with the same two
        ("a b f v", False),  # behind a came b c, behind y b f: they have b alone in common
        ("g h v", False),  # a noun phrase that stood in a VP, and now in an S
    ):
        words = sentence.split()
        assert (fine.best(words) is not None) == is_fine
        assert coarse.best(words) is not None
        tree = parser.parse(words)
        assert tree is not None
        assert list(tree.words()) == words


@pytest.mark.usefixtures("all_known")
def test_the_coarser_grammar_is_not_asked_where_the_finer_has_a_tree() -> None:
    right = parse("(ROOT (S (NP (K k) (L l)) (M m)))")
    parser = GrammarParser(
        [
            right,
            parse("(ROOT (S (K k) (NP (G g) (H h))))"),
            *[parse("(ROOT (S (V v) (VP (V v) (NP (L l) (M m)))))")] * 5,
        ]
    )
    words, leaves = list(right.words()), list(leaves_of(right))
    coarser = parser.grammars[1].best(words)
    assert coarser is not None
    assert in_brackets(tree_of(coarser[0], leaves)) == "(S (K k) (NP (L l) (M m)))"
    assert parser.parse(words) == right
