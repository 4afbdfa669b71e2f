"""Text too large to be held: read from the disk, encoded once into mapped arrays, same batches."""

import hashlib
import logging
import multiprocessing
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.data import (
    EncodedSplit,
    ParallelCorpus,
    Vocabulary,
    batches_of,
    encode_split,
    encoding,
    generate_corpus,
    read_folder,
    token_store,
)
from annotated_transformer.data.cache import one_at_a_time
from annotated_transformer.data.folder import write_folder
from annotated_transformer.data.text_file import StoredSentences
from annotated_transformer.data.token_store import ArrayWriter, TokenRows
from annotated_transformer.errors import CallError, WorkError
from forked import PATIENCE
from sampling import one_in
from waiting import when_logged


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own."""
    monkeypatch.setattr(token_store, "cache_root", lambda: tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three thousand pairs of the grammar, two of them with an empty side."""
    folder = tmp_path_factory.mktemp("text")
    write_folder(generate_corpus(train=3000, valid=50, test=50), folder)
    lines = (folder / "train.en").read_text().split("\n")
    lines[7] = lines[11] = ""
    (folder / "train.en").write_text("\n".join(lines))
    return folder


@pytest.fixture(scope="module")
def held(folder: Path) -> ParallelCorpus:
    return read_folder(folder)


@pytest.fixture(scope="module")
def stored(folder: Path) -> ParallelCorpus:
    return read_folder(folder, held_bytes=0)


@pytest.fixture(scope="module")
def vocabulary(held: ParallelCorpus) -> Vocabulary:
    return Vocabulary.train(held["train"].sentences(), 400)


def arrays_of(encoded: EncodedSplit) -> tuple[TokenRows, TokenRows]:
    assert isinstance(encoded.source, TokenRows)
    assert isinstance(encoded.target, TokenRows)
    return encoded.source, encoded.target


# --- sentences on the disk ------------------------------------------------------------------------


def test_stored_sentences_are_the_held_ones(held: ParallelCorpus, stored: ParallelCorpus) -> None:
    assert held.origin == stored.origin
    for name in held.splits:
        few, many = held[name], stored[name]
        assert (few.is_stored, many.is_stored) == (False, True)
        assert len(few) == len(many)
        for side, other in ((few.source, many.source), (few.target, many.target)):
            assert isinstance(other, StoredSentences)
            assert list(other) == side
            assert (other[0], other[7], other[-1]) == (side[0], side[7], side[-1])
            assert other[5:20] == side[5:20]
            assert other[20:5:-3] == side[20:5:-3]
            with pytest.raises(IndexError):
                other[len(side)]
        assert list(many.sentences()) == [*few.source, *few.target]


def test_the_checksum_of_a_split(held: ParallelCorpus, stored: ParallelCorpus) -> None:
    for name, split in held.splits.items():
        sides = ("\n".join(side).encode() + b"\n\n" for side in (split.source, split.target))
        assert split.sha256 == hashlib.sha256(b"".join(sides)).hexdigest()
        assert stored[name].sha256 == split.sha256


def test_a_vocabulary_from_an_iterator(stored: ParallelCorpus, vocabulary: Vocabulary) -> None:
    train = stored["train"]
    again = Vocabulary.train(train.sentences(), 400)
    assert again.tokenizer.to_str() == vocabulary.tokenizer.to_str()


@pytest.mark.parametrize("change", ["more", "less", "latin", "gone"])
def test_a_file_that_is_changed_after_it_was_checked(tmp_path: Path, change: str) -> None:
    write_folder(generate_corpus(train=40, valid=5, test=5), tmp_path)
    train = read_folder(tmp_path, held_bytes=0)["train"]
    path = tmp_path / "train.de"
    if change == "gone":
        path.unlink()
    else:
        text = path.read_text()
        new = {"more": text + "x\n", "less": text[:100], "latin": text}[change]
        path.write_bytes(new.encode("latin-1" if change == "latin" else "utf-8"))
    with pytest.raises(WorkError, match=r"train\.de (was changed after|cannot be read)"):
        list(train.target)


# --- ids on the disk ------------------------------------------------------------------------------


@pytest.mark.parametrize("max_length", one_in(3, [14, None, 8]))
def test_mapped_batches_are_the_held_ones_to_the_bit(
    held: ParallelCorpus,
    stored: ParallelCorpus,
    vocabulary: Vocabulary,
    monkeypatch: pytest.MonkeyPatch,
    max_length: int | None,
) -> None:
    monkeypatch.setattr(encoding, "CHUNK", 700)  # more than one, and the last one short
    few = encode_split(held["train"], vocabulary, max_length)
    many = encode_split(stored["train"], vocabulary, max_length)
    for rows, other in zip((few.source, few.target), arrays_of(many), strict=True):
        assert list(other) == rows
        assert other[-1] == rows[-1]
        assert other[3:9] == rows[3:9]
        assert isinstance(other.tokens, np.memmap)
        assert other.tokens.dtype == np.uint16
    assert list(many.indices) == few.indices
    assert (len(many), many.skipped) == (len(few), few.skipped)
    assert (few.skipped > 0) == (max_length is not None)
    whole = encode_split(held["train"], vocabulary)
    assert list(whole.indices) == list(range(len(held["train"])))  # every pair once
    assert few.indices == [
        index for index in whole.indices if max(whole.lengths[index]) <= (max_length or 10**6)
    ]
    assert [tuple(pair) for pair in many.lengths] == few.lengths
    for epoch in (0, 1):
        batches = [list(batches_of(each, 512, seed=3, epoch=epoch)) for each in (few, many)]
        for one, other_one in zip(*batches, strict=True):
            assert torch.equal(one.src, other_one.src)
            assert torch.equal(one.tgt, other_one.tgt)
            assert one.indices == other_one.indices


def test_nothing_left_is_the_same_sentence(
    held: ParallelCorpus, stored: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    for corpus in (held, stored):
        with pytest.raises(CallError, match=r"all \d+ pairs are longer than the maximum of 1 "):
            encode_split(corpus["train"], vocabulary, max_length=1)


def never(*arguments: object) -> Iterator[token_store.EncodedChunk]:
    raise AssertionError("encoded again")
    yield


def test_encoded_once_for_the_same_text_vocabulary_and_length(
    stored: ParallelCorpus, folder: Path, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = encode_split(stored["valid"], vocabulary, 30)
    with monkeypatch.context() as patch:
        patch.setattr(encoding, "encoded_chunks", never)
        again = encode_split(read_folder(folder, held_bytes=0)["valid"], vocabulary, 30)
        assert list(again.source) == list(first.source)
        other = Vocabulary.train(stored["valid"].sentences(), 300)
        for split, words, length in (
            (stored["test"], vocabulary, 30),
            (stored["valid"], other, 30),
            (stored["valid"], vocabulary, 31),
        ):
            with pytest.raises(AssertionError, match="encoded again"):
                next(iter(encode_split(split, words, length).source))


@pytest.mark.parametrize("damage", ["bit", "cut", "gone", "about"])
def test_a_damaged_array_is_encoded_again(
    cache: Path,
    stored: ParallelCorpus,
    vocabulary: Vocabulary,
    caplog: pytest.LogCaptureFixture,
    damage: str,
) -> None:
    whole = list(encode_split(stored["valid"], vocabulary).target)
    (path,) = cache.glob("encoded-*/*/target.npy")
    content = path.read_bytes()
    if damage == "bit":
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    elif damage == "cut":
        path.write_bytes(content[:-20])
    elif damage == "gone":
        path.unlink()
    else:
        path.with_name("about.json").write_text("{")
    caplog.clear()
    assert list(encode_split(stored["valid"], vocabulary).target) == whole
    assert ("target of" in caplog.text and "is damaged" in caplog.text) == (damage != "about")


def test_a_disk_that_is_full_leaves_nothing_that_looks_whole(
    cache: Path,
    stored: ParallelCorpus,
    vocabulary: Vocabulary,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def full(self: ArrayWriter, values: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(ArrayWriter, "append", full)
        with pytest.raises(WorkError, match="No space left on device; make room"):
            encode_split(stored["valid"], vocabulary)
    assert [path for path in cache.rglob("*") if path.is_file() and path.name != ".lock"] == []
    assert len(encode_split(stored["valid"], vocabulary)) == 50


def test_what_a_killed_process_left_is_no_obstacle(
    cache: Path, stored: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    key = encoding.cache_key(stored["valid"], vocabulary, None)
    part = cache / "encoded-1" / key / "part"
    part.mkdir(parents=True)
    (part / "source.npy").write_bytes(b"half")
    assert len(encode_split(stored["valid"], vocabulary)) == 50
    assert not part.exists()


@given(st.lists(st.lists(st.integers(0, 65_535), max_size=30), min_size=1, max_size=40))
def test_an_array_that_grew_is_an_ordinary_npy_file(rows: list[list[int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "grown.npy"
        writer = ArrayWriter(path, np.uint16)
        for row in rows:
            writer.append(row)
        writer.close()
        assert np.load(path).tolist() == [value for row in rows for value in row]


# --- two processes --------------------------------------------------------------------------------


def encode_in_process(
    folder: Path, cache: Path, tokenizer: Path, queue: "multiprocessing.Queue[object]"
) -> None:
    token_store.cache_root = lambda: cache
    began = encoding.encoded_chunks
    encoded: list[int] = []

    def counted(*arguments: object) -> Iterator[token_store.EncodedChunk]:
        for chunk in began(*arguments):  # type: ignore[arg-type]
            encoded.append(1)
            yield chunk

    encoding.encoded_chunks = counted
    split = read_folder(folder, held_bytes=0)["train"]
    rows = encode_split(split, Vocabulary.load(tokenizer)).source
    queue.put((len(encoded), hashlib.sha256(repr(list(rows)).encode()).hexdigest()))


def test_two_processes_encode_once(
    folder: Path, cache: Path, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    vocabulary.save(tmp_path / "tokenizer.json")
    context = multiprocessing.get_context("spawn")
    queue: multiprocessing.Queue[tuple[int, str]] = context.Queue()
    arguments = (folder, cache, tmp_path / "tokenizer.json", queue)
    processes = [context.Process(target=encode_in_process, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    results = [queue.get(timeout=PATIENCE) for _ in processes]
    for process in processes:
        process.join()
    assert sorted(chunks > 0 for chunks, _ in results) == [False, True]
    assert len({digest for _, digest in results}) == 1


def test_who_waits_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from annotated_transformer.data.cache import one_at_a_time\n"
        "with one_at_a_time(Path(sys.argv[1]), 'x'):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.readline()\n"
        "    Path(sys.argv[1], 'done').touch()\n"
    )
    folder = tmp_path / "shared"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", program, str(folder)], **pipes) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with (
            caplog.at_level(logging.WARNING),
            when_logged("waiting for it", other.stdin.close),
            one_at_a_time(folder, "fetching multi30k"),
        ):
            assert (folder / "done").exists()
    assert f"another process is fetching multi30k in {folder}; waiting for it" in caplog.text


def test_a_folder_that_takes_no_lock(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorkError, match="cannot be written"), one_at_a_time(tmp_path / "file", "x"):
        pass
