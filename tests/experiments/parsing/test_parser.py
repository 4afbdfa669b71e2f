"""A model as a parser: whatever it was trained on, what it gives is a tree of the sentence."""

import pytest
import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import Vocabulary
from annotated_transformer.data.gum import as_rows
from annotated_transformer.data.trees import Tree, in_brackets, leaves_of, parse
from annotated_transformer.errors import CallError
from annotated_transformer.experiments.parsing.parser import Parser
from annotated_transformer.shipped import FOLDER
from annotated_transformer.transformer import Transformer

TREES = [
    parse("(ROOT (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN man)))))"),
    parse("(ROOT (S (NP (DT the) (NN man)) (VP (VBD slept))))"),
    parse("(ROOT (S (NP (DT the) (NN man)) (VP (VBD saw) (NP (DT a) (NN dog)))))"),
    parse("(ROOT (NP (DT a) (NN dog)))"),
]
KNOWN = {"the", "dog", "saw", "man", "slept", "a"}


def untrained(form: str) -> Parser:
    split = as_rows(TREES, KNOWN, form)
    vocabulary = Vocabulary.of_words(split.sentences(), 60)
    torch.manual_seed(0)
    model = Transformer(TransformerConfig.preset("tiny", len(vocabulary)))
    return Parser(model, vocabulary, form)


@pytest.mark.parametrize("form", ["tree", "words", "xx"])
def test_whatever_it_is_asked_it_gives_a_tree(form: str) -> None:
    parser = untrained(form)
    sentences = [["The", "dog", "ran"], ["a"], ["saw", "(", "man", ")"], ["the", "the", "the"]]
    rows = parser.rows(sentences, beam_size=2)
    assert rows == [parser.rows([words], beam_size=2)[0] for words in sentences]
    assert parser.model.training
    for row, words in zip(rows, sentences, strict=True):
        leaves = [Tree("T", (word,)) for word in words]
        tree, well_formed = parser.read(row, leaves)
        assert well_formed
        assert list(leaves_of(tree)) == leaves


@pytest.mark.parametrize("form", ["tree", "words", "xx"])
def test_right_rows_are_read_back(form: str) -> None:
    parser = untrained(form)
    for row, tree in zip(as_rows(TREES, KNOWN, form).target, TREES, strict=True):
        assert parser.read(row, list(leaves_of(tree))) == (tree, True)


def test_what_is_no_sentence_is_refused_and_so_is_a_translator() -> None:
    parser = untrained("tree")
    for given in ([], "the dog"):
        with pytest.raises(CallError, match="a list of its words is expected"):
            parser.rows([given])
    with pytest.raises(CallError, match="writes no trees; give a run with --data gum"):
        Parser.load(FOLDER)


def test_a_tree_can_be_read_again_whatever_its_words_are() -> None:
    tree = untrained("tree").parse(["the", "(", "dog", ")"])
    assert parse(in_brackets(tree)) == tree
    assert list(tree.words()) == ["the", "(", "dog", ")"]
