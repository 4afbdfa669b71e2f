"""GUM: trees read from brackets and written as rows, documents joined, and what is no tree."""

import hashlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.cli import main
from annotated_transformer.data import Vocabulary, gum, load_corpus
from annotated_transformer.data.gum import one_a_line
from annotated_transformer.data.trees import Tree, linearise, parse
from annotated_transformer.data.word_classes import known_words
from annotated_transformer.errors import CallError, WorkError
from local_server import Server, digest, server

__all__ = ["server"]

DOCUMENT = """
(ROOT
  (S
    (NP-SBJ (NNP John))
    (VP (VBZ sleeps) (PRN (-LRB- -LRB-) (ADVP=1 (RB well)) (-RRB- -RRB-)))))

(ROOT (NP (NN End)))
"""
ROW = "(ROOT (S (NP XX )NP (VP XX (PRN XX (ADVP XX )ADVP XX )PRN )VP )S )ROOT"

labels = st.sampled_from(["S", "NP", "VP-TMP", "PRN"])
tags = st.builds(lambda word: Tree("NN", (word,)), st.text("abc.,-", min_size=1, max_size=4))
trees = st.recursive(
    tags, lambda inner: st.builds(Tree, labels, st.lists(inner, min_size=1, max_size=4).map(tuple))
)


def brackets(tree: Tree) -> str:
    inside = (child if isinstance(child, str) else brackets(child) for child in tree.children)
    return f"({tree.label} {' '.join(inside)})"


@given(trees)
def test_a_tree_written_in_brackets_is_read_back(tree: Tree) -> None:
    text = brackets(tree)
    assert parse(text) == tree
    assert parse(text.replace("(", " ( ").replace(" )", ")")) == tree


@given(trees)
def test_rows_open_and_close_every_phrase_and_keep_every_word(tree: Tree) -> None:
    row = linearise(tree).split()
    assert row.count("XX") == len(list(tree.words()))
    open_phrases: list[str] = []
    for token in row:
        if token.startswith("("):
            open_phrases.append(token[1:])
        elif token.startswith(")"):
            assert token[1:] == open_phrases.pop()
    assert not open_phrases


def test_a_tree_by_hand() -> None:
    first, second = map(parse, one_a_line(DOCUMENT))
    assert list(first.words()) == ["John", "sleeps", "(", "well", ")"]
    assert linearise(first) == ROW
    assert linearise(second) == "(ROOT (NP XX )NP )ROOT"


def test_a_tree_without_a_label_at_the_root() -> None:
    tree = parse("( (S (NN a)))")
    assert (tree.label, linearise(tree)) == ("", "( (S XX )S )")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("(S (NP (NN a))", "1 brackets are not closed"),
        ("(S (NN a)))", "ends at character 10 and text follows"),
        (")", "closes nothing"),
        ("a", "begins with a bracket"),
        ("(S ())", "is empty"),
        ("(S)", "is empty"),
        ("", "there is no tree"),
    ],
)
def test_what_is_no_tree(text: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse(text)


@pytest.fixture
def pinned(server: Server, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Three documents on the server."""
    body = DOCUMENT.encode()
    documents = {}
    for split in ("train", "dev", "test"):
        server.files[f"GUM_{split}.ptb"] = body
        documents[split] = [
            {"document": f"GUM_{split}", "bytes": len(body), "sha256": digest(body), "trees": 2}
        ]
    joined = "".join(tree + "\n" for tree in one_a_line(DOCUMENT)).encode()
    facts = {
        "commit": "0" * 40,
        "base_url": server.url,
        "texts": dict.fromkeys(("train.ptb", "dev.ptb", "test.ptb"), digest(joined)),
        "documents": documents,
    }
    monkeypatch.setattr(gum, "pinned_facts", lambda: facts)
    return facts


@pytest.mark.usefixtures("pinned")
def test_from_the_server_to_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotated_transformer.data.published.cache_root", lambda: tmp_path)
    monkeypatch.setattr(gum, "known_words", partial(known_words, at_least=1, most=4))
    corpus = load_corpus("gum", target="tree")
    assert list(corpus.splits) == ["train", "valid", "test"]
    assert corpus["valid"].source == ["john sleeps -lrb- well ◦", "◦"]
    words = corpus["valid"].source[0].split()
    numbers = [f"#{n}" for n in range(1, 6)]
    for form, stands in (("tree", numbers), ("words", words), ("xx", ["XX"] * 5)):
        row = load_corpus("gum", target=form)["valid"].target[0]
        assert row == ROW.replace("XX", "{}").format(*stands)
    vocabulary = Vocabulary.of_words(corpus["valid"].target, 50)
    assert vocabulary.decode(vocabulary.encode(ROW)) == ROW.replace("XX", "<unk>")
    assert corpus.origin["published"] is True
    with pytest.raises(CallError, match="en to de was asked for: give --source en --target tree"):
        load_corpus("gum")


def test_folders_that_are_not_gum(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match=r"holds no train\.ptb; expected train\.ptb, dev\.ptb and"):
        load_corpus("gum", data_dir=tmp_path, target="tree")
    for name in ("train.ptb", "dev.ptb", "test.ptb"):
        (tmp_path / name).write_text("(NP (NN a))\n(NP (NN b)\n")
    with pytest.raises(WorkError, match=r"train\.ptb, line 2, is no tree in brackets: 1 brackets"):
        load_corpus("gum", data_dir=tmp_path, target="tree")


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        (["--lowercase"], "as it is, its tokens unchanged, and --lowercase was given: leave out"),
        (["--bpe-dropout", "0.1"], "'gum' splits no word: leave out --bpe-dropout"),
    ],
)
def test_a_training_that_would_change_its_tokens_is_refused(
    option: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("train.ptb", "dev.ptb", "test.ptb"):
        (tmp_path / name).write_text("(NP (NN a))\n")
    asked = ["--data", "gum", "--target", "tree", "--data-dir", str(tmp_path), "--device", "cpu"]
    assert main(["train", "--run-dir", str(tmp_path / "run"), *asked, *option]) == 2
    assert complaint in capsys.readouterr().err
    assert not (tmp_path / "run" / "config.json").exists()


def test_the_pinned_facts() -> None:
    facts = gum.pinned_facts()
    assert facts["commit"] in facts["base_url"]
    assert {split: len(files) for split, files in facts["documents"].items()} == {
        "train": 84,
        "dev": 12,
        "test": 12,
    }
    assert {split: sum(gum.document_sizes(split)) for split in facts["documents"]} == {
        "train": 3707,
        "dev": 438,
        "test": 491,
    }
    genres = {
        file["document"].split("_")[1] for files in facts["documents"].values() for file in files
    }
    assert genres == {"academic", "bio", "court", "interview", "news", "voyage"}
    assert all(len(source.sha256) == 64 for source in gum.gum().sources)
    assert hashlib.sha256(b"").hexdigest() not in facts["texts"].values()
