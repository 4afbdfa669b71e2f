"""What a parser has to beat."""

from annotated_transformer.data.trees import Tree, in_brackets, leaves_of, parse
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
