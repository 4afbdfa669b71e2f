"""The shared byte-pair vocabulary: text comes back, files are checked, training repeats itself."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from annotated_transformer.data import Vocabulary
from annotated_transformer.errors import CallError, WorkError

TEXTS = [
    "The old man doesn't see the dog, and the cat sleeps.",
    "Der alte Mann sieht den Hund nicht, und die Katze schläft.",
    "Grüße aus Köln: »Ja«, sagte er (leise) - 100 % richtig!",
    "the the the der der der cat cat Katze Katze < > / s",
]
ALPHABET = sorted(set("".join(TEXTS)) - {" "})


@cache
def vocabulary() -> Vocabulary:
    return Vocabulary.train(TEXTS, 200)


words = st.text(st.sampled_from(ALPHABET), min_size=1, max_size=8)


@given(st.lists(words, max_size=12).map(" ".join))
def test_text_of_known_characters_comes_back(text: str) -> None:
    assert vocabulary().decode(vocabulary().encode(text)) == text


@given(st.text(max_size=40))
def test_any_text_gives_ids_in_range(text: str) -> None:
    ids = vocabulary().encode(text)
    assert all(0 <= token < len(vocabulary()) for token in ids)
    assert not {0, 1, 2} & set(ids)


@given(st.lists(words, min_size=1, max_size=6))
def test_the_words_of_pieces(parts: list[str]) -> None:
    text = " ".join(part for part in parts if part.isalpha())
    indices = vocabulary().word_indices(text)
    assert sorted(set(indices)) == list(range(len(text.split())))
    assert indices == sorted(indices)
    assert len(indices) == len(vocabulary().encode(text))


def test_punctuation_is_a_word_of_its_own() -> None:
    vocab = vocabulary()
    text = "the cat, the dog ."
    pieces = vocab.pieces(vocab.encode(text))
    words_of: dict[int, str] = {}
    for piece, word in zip(pieces, vocab.word_indices(text), strict=True):
        words_of[word] = words_of.get(word, "") + piece
    assert list(words_of.values()) == ["▁the", "▁cat", ",", "▁the", "▁dog", "▁."]


def test_specials() -> None:
    vocab = vocabulary()
    assert [vocab.pad_id, vocab.bos_id, vocab.eos_id, vocab.unk_id] == [0, 1, 2, 3]
    assert vocab.pieces([0, 1, 2, 3]) == ["<pad>", "<s>", "</s>", "<unk>"]
    ids = vocab.encode("the cat")
    assert vocab.decode([1, *ids, 2, 0, 0]) == "the cat"
    assert vocab.decode(vocab.encode("the 猫")) == "the <unk>"
    # The text "</s>" is text: it must not end a sentence.
    assert vocab.eos_id not in vocab.encode("the </s> cat")
    assert vocab.decode(vocab.encode("the </s> cat")) == "the </s> cat"


def test_white_space_and_composition_are_normalised() -> None:
    vocab = vocabulary()
    assert vocab.decode(vocab.encode("  the\t cat\u00a0\n")) == "the cat"
    assert vocab.encode("scha\u0308ft") == vocab.encode("schäft")
    assert vocab.encode("") == []


def test_batch_equals_one_by_one() -> None:
    assert vocabulary().encode_batch(TEXTS) == [vocabulary().encode(text) for text in TEXTS]


def test_lowercase_is_kept_in_the_file(tmp_path: Path) -> None:
    vocab = Vocabulary.train(TEXTS, 200, lowercase=True)
    vocab.save(tmp_path / "tokenizer.json")
    loaded = Vocabulary.load(tmp_path / "tokenizer.json")
    for each in (vocab, loaded):
        assert each.decode(each.encode("Die KATZE schläft.")) == "die katze schläft."


def test_save_and_load(tmp_path: Path) -> None:
    vocabulary().save(tmp_path / "tokenizer.json")
    loaded = Vocabulary.load(tmp_path / "tokenizer.json")
    assert len(loaded) == len(vocabulary())
    texts = [*TEXTS, "a </s> in the text"]
    assert loaded.encode_batch(texts) == vocabulary().encode_batch(texts)


def test_the_same_texts_give_the_same_file() -> None:
    program = (
        "import sys, json, hashlib\n"
        "from annotated_transformer.data import Vocabulary\n"
        "texts = json.load(sys.stdin)\n"
        "file = Vocabulary.train(texts, 150).tokenizer.to_str()\n"
        "print(hashlib.sha256(file.encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            input=json.dumps(TEXTS),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for _ in range(3)
    }
    assert len(digests) == 1


def test_wrong_sizes_and_no_text() -> None:
    with pytest.raises(CallError, match=r"vocab_size is 20.*give at least \d+"):
        Vocabulary.train(TEXTS, 20)
    with pytest.raises(CallError, match="no text"):
        Vocabulary.train([], 100)


def test_files_that_are_no_vocabulary(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="is not there"):
        Vocabulary.load(tmp_path / "tokenizer.json")
    whole = tmp_path / "whole.json"
    vocabulary().save(whole)
    cut = tmp_path / "cut.json"
    cut.write_bytes(whole.read_bytes()[:500])
    other = tmp_path / "other.json"
    other.write_text('{"a": 1}')
    noise = tmp_path / "noise.json"
    noise.write_bytes(b"\xff\xfe\x00")
    for path in (cut, other, noise):
        with pytest.raises(WorkError, match="cannot be read as a tokenizer"):
            Vocabulary.load(path)
    foreign = tmp_path / "foreign.json"
    Tokenizer(models.BPE({"a": 0, "b": 1}, [])).save(str(foreign))
    with pytest.raises(WorkError, match="tokenizer of another program"):
        Vocabulary.load(foreign)
    with pytest.raises(WorkError, match="cannot be written"):
        vocabulary().save(tmp_path / "nowhere" / "tokenizer.json")
