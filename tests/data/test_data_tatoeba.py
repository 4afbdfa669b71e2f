"""Tatoeba: no sentence in two splits, whatever the pairs are, and the same splits each time."""

import io
import itertools
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.data import load_corpus, tatoeba
from annotated_transformer.data.published import Published, Source, get
from annotated_transformer.data.tatoeba import linked_groups, read_pairs, split_pairs
from annotated_transformer.errors import CallError
from local_server import Server, digest, server

__all__ = ["server"]

sentences = st.integers(0, 30).map(lambda n: f"Sentence {n}") | st.integers(0, 30).map(
    lambda n: f"SENTENCE {n}"
)
pairs_lists = st.lists(st.tuples(sentences, sentences), unique=True, max_size=60)


@given(pairs_lists)
def test_no_sentence_is_in_two_splits(pairs: list[tuple[str, str]]) -> None:
    splits = split_pairs(pairs, held_out=5)
    for one, other in itertools.combinations(splits.values(), 2):
        for side in (0, 1):
            assert not {p[side].lower() for p in one} & {p[side].lower() for p in other}
    assert splits == split_pairs(pairs, held_out=5)
    kept = [pair for split in splits.values() for pair in split]
    assert len(set(kept)) == len(kept)
    assert set(kept) <= set(pairs)
    assert splits["train"] == [pair for pair in pairs if pair in set(splits["train"])]


@given(pairs_lists)
def test_groups_are_what_is_linked_and_no_more(pairs: list[tuple[str, str]]) -> None:
    groups = linked_groups(pairs)
    assert sorted(index for group in groups for index in group) == list(range(len(pairs)))

    def linked(i: int, j: int) -> bool:
        return any(pairs[i][side].lower() == pairs[j][side].lower() for side in (0, 1))

    for one, other in itertools.combinations(groups, 2):
        assert not any(linked(i, j) for i in one for j in other)
    for group in groups:  # everything is reached from the first over links inside the group
        reached = {group[0]}
        while more := {j for j in group if any(linked(i, j) for i in reached)} - reached:
            reached |= more
        assert reached == set(group)


def test_a_held_out_group_is_left_out_whole() -> None:
    """One pair of a group is held out, the others are nowhere; large groups are for training."""
    group = [("Hi.", "Hallo."), ("Hi.", "Tag."), ("Hey.", "Tag.")]
    large = [("Go.", f"Geh {n}.") for n in range(4)]
    splits = split_pairs([*group, *large], held_out=1)
    assert splits == {"train": large, "valid": [], "test": [group[0]]}


def test_sentences_are_tidied_and_doubles_dropped() -> None:
    text = "a\u200b b\u00a0 c\tx\n" + "a b c\tx\tattribution\n" + "d\te\n"
    assert read_pairs(text) == [("a b c", "x"), ("d", "e")]


def test_from_the_server_to_the_corpus(server: Server, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("deu.txt", "".join(f"I am {n}.\tIch bin {n}.\n" for n in range(4100)))
    body = buffer.getvalue()
    server.files["deu-eng.zip"] = body
    source = Source(server.url + "deu-eng.zip", len(body), digest(body))
    texts = dict.fromkeys(tatoeba.TEXTS)
    get(Published("tatoeba", "1", "free", (source,), texts, tatoeba.make_texts), tmp_path)
    corpus = load_corpus("tatoeba", data_dir=tmp_path)
    assert {name: len(split) for name, split in corpus.splits.items()} == {
        "train": 100,
        "valid": 2000,
        "test": 2000,
    }
    assert corpus.origin["published"] is False
    turned = load_corpus("tatoeba", data_dir=tmp_path, source="de", target="en")
    assert turned["test"].source == corpus["test"].target
    with pytest.raises(CallError, match="is English and German; en to fr was asked for"):
        load_corpus("tatoeba", data_dir=tmp_path, target="fr")
