"""A model as a parser: whatever it was trained on, what it gives is a tree of the sentence."""

from collections.abc import Callable

import pytest
import torch

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import Vocabulary, encode_split
from annotated_transformer.data.gum import as_rows
from annotated_transformer.data.trees import Tree, in_brackets, leaves_of, parse
from annotated_transformer.errors import CallError
from annotated_transformer.experiments.parsing import parser as parsing
from annotated_transformer.experiments.parsing.parser import Parser
from annotated_transformer.shipped import FOLDER
from annotated_transformer.transformer import Transformer
from toy_search import prefer

TREES = [
    parse("(ROOT (S (NP (DT the) (NN dog)) (VP (VBD saw) (NP (DT the) (NN man)))))"),
    parse("(ROOT (S (NP (DT the) (NN man)) (VP (VBD slept))))"),
    parse("(ROOT (S (NP (DT the) (NN man)) (VP (VBD saw) (NP (DT a) (NN dog)))))"),
    parse("(ROOT (NP (DT a) (NN dog)))"),
]
KNOWN = {"the", "dog", "saw", "man", "slept", "a"}


def untrained(form: str, preset: str = "tiny") -> Parser:
    split = as_rows(TREES, KNOWN, form)
    vocabulary = Vocabulary.of_words(split.sentences(), 60)
    torch.manual_seed(0)
    model = Transformer(TransformerConfig.preset(preset, len(vocabulary)))
    return Parser(model, vocabulary, form)


def liking(token: str, logit: float) -> Parser:
    """One to which this token has this logit, and every other 0, wherever it is."""
    parser = untrained("tree", "tiny/N=1,d_model=16,h=1,d_ff=16")
    with torch.no_grad():
        parser.model.projection.weight.zero_()
    prefer(parser.model, parser.vocabulary.encode(token), logit)
    return parser


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
    tree = untrained("tree").parse(["f(x)", ":)", "["])
    assert parse(in_brackets(tree)) == tree
    assert list(tree.words()) == ["f-LRB-x-RRB-", ":-RRB-", "["]


def test_it_reads_sentences_as_they_were_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parsing, "MAX_EXTRA", 9)
    parser, read = untrained("tree"), list[torch.Tensor]()
    parser.model.source_embedding.register_forward_pre_hook(lambda _, given: read.extend(given[0]))
    sentences = [list(tree.words()) for tree in TREES]
    parser.rows(sentences, beam_size=1)
    parser.free_rows(sentences, beam_size=1)
    trained_on = list(encode_split(as_rows(TREES, KNOWN), parser.vocabulary).source)
    without_padding = [row[row != parser.vocabulary.pad_id].tolist() for row in read]
    assert sorted(without_padding) == sorted(2 * trained_on)


def test_a_row_may_have_300_tokens_more_than_its_sentence() -> None:
    """As in section 6.3. The end is one of them; a free search counts the sentence's end too."""
    parser, lengths = liking("(S", 30), (1, 5)
    sentences = [["the"] * n for n in lengths]
    for row, n in zip(parser.rows(sentences, beam_size=1), lengths, strict=True):
        phrases = (300 - 1) // 2  # an opening and a closing token each
        assert len(row.split()) == n + 2 * phrases
    for row, n in zip(parser.free_rows(sentences, beam_size=1), lengths, strict=True):
        assert len(row.split()) == n + 1 + 300


def test_a_penalty_of_length_brings_longer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is said, a search for trees has none, and a free one the paper's."""
    monkeypatch.setattr(parsing, "MAX_EXTRA", 10)

    def lengths(rows: Callable[..., list[str]]) -> list[int]:
        of_alpha: list[dict[str, float]] = [{}, {"alpha": 0.0}, {"alpha": 0.3}]
        found = [rows([["the", "dog"]], beam_size=25, **given) for given in of_alpha]
        return [len(row.split()) for [row] in found]

    assert lengths(liking("(S", 2.8).rows) == [4, 4, 10]
    assert lengths(liking("(S", 4).free_rows) == [13, 0, 13]
