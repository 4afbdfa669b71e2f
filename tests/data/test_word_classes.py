"""Words as a parser sees them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.data.trees import Tree, delinearise, leaves_of, linearise, parse
from annotated_transformer.data.word_classes import class_of, known_words, tokens_of, words_of_text

KNOWN = {"the", "-lrb-", "dog"}


@pytest.mark.parametrize(
    ("word", "is_first", "name"),
    [
        ("hyperinflation", False, "◦ion"),
        ("Hyperinflation", True, "◦ion"),
        ("Hyperinflation", False, "◦Aion"),
        ("1930s", False, "◦0s"),
        ("anti-war", False, "◦-"),
        ("-", False, "◦"),
        ("is", False, "◦"),  # an ending needs a word before it
        ("Ely", False, "◦A"),
    ],
)
def test_a_class_says_how_a_word_looks(word: str, is_first: bool, name: str) -> None:
    assert class_of(word, is_first) == name


def test_known_words_stay_and_others_become_classes() -> None:
    assert tokens_of(["The", "dog", "(", "Fido", ")", "Walked"], KNOWN) == [
        *("the", "dog", "-lrb-", "◦A", "◦", "◦Aed"),
    ]


def test_only_distinct_trees_are_counted() -> None:
    trees = [parse(f"(NP (DT the) (NN {noun}))") for noun in ("dog", "dog", "dog", "cat")]
    assert known_words(trees, at_least=2) == {"the"}
    assert known_words(trees, at_least=1) == {"the", "dog", "cat"}
    assert known_words(trees, at_least=1, most=1) == {"the"}


def test_sentences_joined_under_one_root_are_not_counted_again() -> None:
    one, two = "(NP (DT the) (NN dog))", "(VP (VBZ sees) (NP (DT the)))"
    alone = [parse(f"(ROOT {sentence})") for sentence in (one, two)]
    assert known_words([*alone, *alone, parse(f"(ROOT {one} {two})")], at_least=2) == {"the"}


def test_a_text_is_cut_as_treebanks_cut_it() -> None:
    text = "Don't say it's \"well-known\" (Mr. Smith paid $5.50, or 20% of it, in the 1930s)..."
    assert words_of_text(text) == [
        *("Do", "n't", "say", "it", "'s", '"', "well", "-", "known", '"', "(", "Mr.", "Smith"),
        *("paid", "$", "5.50", ",", "or", "20", "%", "of", "it", ",", "in", "the", "1930s", ")"),
        "...",
    ]
    assert words_of_text("We’d go. The dogs’ house; the U.S. café") == [
        *("We", "’d", "go", ".", "The", "dogs", "’", "house", ";", "the", "U.S.", "café"),
    ]


@given(st.text())
def test_no_letter_is_lost(text: str) -> None:
    assert "".join(words_of_text(text)) == "".join(text.split())


@given(st.lists(st.text("ab()-", min_size=1, max_size=4), min_size=1, max_size=5))
def test_no_word_looks_like_a_bracket_of_the_tree(words: list[str]) -> None:
    leaves = tuple(Tree("NN", (word,)) for word in words)
    tree = Tree("S", (Tree("NP", leaves),))
    tokens = tokens_of(words, known={"a", "-lrb-b"})
    row = linearise(tree, tokens)
    assert delinearise(row, list(leaves_of(tree)), tokens) == (tree, True)
