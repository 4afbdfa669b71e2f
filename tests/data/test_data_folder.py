"""Folders of parallel text: what is read, and the sentence for everything that is wrong."""

import gzip
import logging
from pathlib import Path

import pytest

from annotated_transformer.data import generate_corpus, load_corpus, read_folder
from annotated_transformer.data.folder import write_folder
from annotated_transformer.errors import CallError, WorkError


def write(folder: Path, **files: str | bytes) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return folder


def test_reads_every_split_by_its_name(tmp_path: Path) -> None:
    write(
        tmp_path,
        train__en="a\nb\n",
        train__de="x\ny\n",
        val__en="c\n",
        val__de="z",
        test_2016_flickr__en="d\n",
        test_2016_flickr__de="w\n",
        notes__txt="not a split\n",
    )
    corpus = load_corpus(data_dir=tmp_path)
    assert list(corpus.splits) == ["train", "valid", "test_2016_flickr"]
    assert corpus["train"].source == ["a", "b"]
    assert corpus["train"].target == ["x", "y"]
    assert corpus["valid"].target == ["z"]
    assert corpus.origin["files"]["val.en"]["lines"] == 1
    with pytest.raises(CallError, match="no split 'test'; it has train, valid, test_2016_flickr"):
        corpus["test"]


@pytest.mark.parametrize("name", ["valid", "val", "dev"])
def test_names_of_the_validation_split(tmp_path: Path, name: str) -> None:
    write(tmp_path, **{f"{name}__en": "a\n", f"{name}__de": "b\n"})
    assert list(read_folder(tmp_path).splits) == ["valid"]


def test_other_languages(tmp_path: Path) -> None:
    write(tmp_path, train__fr="a\n", train__de="b\n", train__en="c\n")
    corpus = read_folder(tmp_path, "de", "fr")
    assert corpus["train"].source == ["b"]
    assert corpus["train"].target == ["a"]


def test_lines_end_at_newline_alone(tmp_path: Path) -> None:
    sentence = "one\u2028still one\x85still\x0cone\x1e"
    write(tmp_path, train__en=f"\ufeff{sentence}\r\ntwo\r\n", train__de="x\ny\n")
    assert read_folder(tmp_path)["train"].source == [sentence, "two"]


def test_empty_lines_are_dropped_from_training_and_kept_elsewhere(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, train__en="a\n\nc\nd\n", train__de="x\ny\n \nw\n")
    write(tmp_path, test__en="a\n\nc\n", test__de="x\ny\nz\n")
    with caplog.at_level(logging.WARNING):
        corpus = read_folder(tmp_path)
    assert corpus["train"].source == ["a", "d"]
    assert corpus["train"].target == ["x", "w"]
    assert corpus["test"].source == ["a", "", "c"]
    assert corpus.origin["dropped_pairs"] == 2
    assert "train.en and train.de: 2 of 4 pairs have an empty side" in caplog.text


def test_unequal_line_counts(tmp_path: Path) -> None:
    write(tmp_path, train__en="a\nb\nc\n", train__de="x\ny\n")
    with pytest.raises(WorkError, match=r"train\.en has 3 lines and .*train\.de has 2"):
        read_folder(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\n\n  \n"])
def test_empty_file(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, train__en="a\n", train__de=content)
    with pytest.raises(WorkError, match=r"train\.de is empty"):
        read_folder(tmp_path)


def test_not_utf8_says_where(tmp_path: Path) -> None:
    write(tmp_path, train__en="a\nb\n", train__de="gut\nschön\n".encode("latin-1"))
    with pytest.raises(
        WorkError, match=r"train\.de is not UTF-8: byte 0xf6 at offset 7, in line 2"
    ):
        read_folder(tmp_path)


def test_training_without_one_whole_pair(tmp_path: Path) -> None:
    write(tmp_path, train__en="a\n\n", train__de="\nb\n")
    with pytest.raises(WorkError, match="no pair with text on both sides"):
        read_folder(tmp_path)


def test_wrong_calls(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="is not a folder"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(CallError, match="it holds nothing"):
        read_folder(tmp_path)
    write(tmp_path, train__en="a\n")
    with pytest.raises(CallError, match=r"holds train\.en and no train\.de"):
        read_folder(tmp_path)
    with pytest.raises(CallError, match="source and target are both 'en'"):
        read_folder(tmp_path, "en", "en")
    write(tmp_path, train__de="a\n", val__en="a\n", dev__en="a\n")
    with pytest.raises(CallError, match=r"dev\.en and val\.en, which are both the validation"):
        read_folder(tmp_path)


def test_corpora_by_name(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="no corpus 'wmt99'; expected one of"):
        load_corpus("wmt99")
    with pytest.raises(CallError, match="needs --data-dir"):
        load_corpus("folder")
    with pytest.raises(CallError, match="generated and reads no folder"):
        load_corpus("copy", data_dir=tmp_path)


def test_tatoeba_and_wmt14_need_their_files(tmp_path: Path) -> None:
    for name in ("tatoeba", "wmt14", "multi30k"):
        with pytest.raises(CallError, match="is not a folder"):
            load_corpus(name, data_dir=tmp_path / "nowhere")


# --- text written by other tools ------------------------------------------------------------------


def test_gzipped_text_is_the_same_corpus(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain", tmp_path / "packed"
    texts = {"train.en": "a\nb\n", "train.de": "x\ny\n", "val.en": "c\n", "val.de": "z\n"}
    for folder in (plain, packed):
        folder.mkdir()
    for name, text in texts.items():
        (plain / name).write_text(text)
        (packed / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    (packed / "val.de.gz").unlink()
    (packed / "val.de").write_text(texts["val.de"])  # one packed, one not
    assert read_folder(packed) == read_folder(plain)
    (packed / "train.de.gz").write_bytes(gzip.compress(b"x\ny\n")[:-12])
    with pytest.raises(WorkError, match=r"train\.de\.gz cannot be read: Compressed file ended"):
        read_folder(packed)
    (packed / "train.de.gz").write_bytes(b"x\ny\n")
    with pytest.raises(WorkError, match=r"train\.de\.gz cannot be read: Not a gzipped file"):
        read_folder(packed)
    (packed / "train.de.gz").unlink()
    with pytest.raises(CallError, match=r"holds train\.en\.gz and no train\.de: the split train"):
        read_folder(packed)


def test_of_a_file_and_its_packed_copy_the_file_is_read(tmp_path: Path) -> None:
    write(tmp_path, train__en="a\n", train__de="x\n")
    (tmp_path / "train.en.gz").write_bytes(gzip.compress(b"an older state\n"))
    assert read_folder(tmp_path)["train"].source == ["a"]


def test_windows_line_ends_are_taken_off_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, train__en="a\r\nb\r\nc\n", train__de="x\ny\nz\n")
    with caplog.at_level(logging.WARNING):
        corpus = read_folder(tmp_path)
    assert corpus["train"].source == ["a", "b", "c"]
    assert "train.en: 2 of 3 lines end as on Windows (CR LF); the CR was taken off" in caplog.text
    assert "train.de" not in caplog.text


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a\nb\n".encode("utf-16"), "is UTF-16; convert the file with iconv -f UTF-16"),
        ("a\nb\n".encode("utf-16-le"), "holds a zero byte in line 1: it is UTF-16 or no text"),
        (b"a\rb\rc\r", "ends its lines with CR alone, as old Macs did"),
        (b"\xef\xbb\xbf\n", "is empty"),
    ],
)
def test_other_encodings(tmp_path: Path, content: bytes, complaint: str) -> None:
    write(tmp_path, train__en=content, train__de="x\ny\n")
    with pytest.raises(WorkError, match=rf"train\.en {complaint}"):
        read_folder(tmp_path)


def test_writing_never_replaces_what_is_there(tmp_path: Path) -> None:
    corpus = generate_corpus(train=5, valid=3, test=3)
    write_folder(corpus, tmp_path)
    write_folder(corpus, tmp_path)  # the same content is no conflict
    write(tmp_path, valid__en="mine\n")
    with pytest.raises(CallError, match=r"valid\.en is there with other content and nothing is"):
        write_folder(corpus, tmp_path)
    assert (tmp_path / "valid.en").read_text() == "mine\n"
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.slow
def test_the_first_training_pairs_are_a_corpus_with_the_same_other_splits() -> None:
    whole = load_corpus("grammar")
    few = whole.with_training_pairs(5)
    assert few["train"].source == whole["train"].source[:5]
    assert few["train"].target == whole["train"].target[:5]
    assert few["train"].alignments == whole["train"].alignments[:5]
    assert few["train"].tags == whole["train"].tags[:5]
    assert few["valid"] is whole["valid"]
    assert few["train"].sha256 != whole["train"].sha256
    assert whole.with_training_pairs(None) is whole
    with pytest.raises(
        CallError, match="the first 60,001 pairs were asked for, and the corpus has"
    ):
        whole.with_training_pairs(60_001)
