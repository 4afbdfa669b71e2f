"""`annotated-transformer data`: what it prints, and the status it ends with."""

import json
from pathlib import Path

import pytest

from annotated_transformer.cli import data as command
from annotated_transformer.cli import main
from annotated_transformer.data import (
    copy_corpus,
    generate_corpus,
    multi30k,
    published,
    read_folder,
)
from annotated_transformer.data.download import NoNetworkError
from annotated_transformer.data.folder import write_folder
from annotated_transformer.data.published import Published
from annotated_transformer.errors import CallError, WorkError


def test_list_names_every_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list", "--format", "json"]) == 0
    names = [entry["name"] for entry in json.loads(capsys.readouterr().out)["corpora"]]
    assert names == [
        "grammar",
        "copy",
        "multi30k",
        "tatoeba",
        "wmt14",
        "gum",
        "folder",
    ]
    assert main(["data", "list"]) == 0
    assert capsys.readouterr().out.splitlines()[0].startswith("grammar")


def test_get_writes_a_generated_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = generate_corpus(train=30, valid=5, test=5)
    monkeypatch.setattr(command, "load_corpus", lambda name, **options: small)
    assert main(["data", "get", "grammar", "--data-dir", str(tmp_path), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "name": "grammar",
        "folder": str(tmp_path),
        "pairs": {"train": 30, "valid": 5, "test": 5},
        "terms": None,
    }
    again = read_folder(tmp_path)
    for name in ("train", "valid", "test"):
        assert again[name].source == small[name].source
        assert again[name].target == small[name].target


def test_get_and_verify_multi30k(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(corpus: Published, folder: Path | None) -> Path:
        assert set(corpus.texts) >= {"train.en", "train.de"}
        for name in ("train.en", "train.de", "val.en", "val.de"):
            (tmp_path / name).write_text("a\n")
        return tmp_path

    monkeypatch.setattr(command, "get", fetch)
    assert main(["data", "get", "multi30k"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"multi30k is in {tmp_path}",
        "train: 1 pairs",
        "valid: 1 pairs",
        f"terms: {multi30k.TERMS}",
    ]
    assert main(["data", "verify", "multi30k", "--data-dir", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "train.en: differs" in printed.out
    assert f"val.de in {tmp_path} differ from what their checksums say: move" in printed.err
    assert "data get multi30k" in printed.err
    assert main(["data", "verify", "multi30k", "--data-dir", str(tmp_path / "no")]) == 1
    printed = capsys.readouterr()
    assert "train.en: missing" in printed.out
    assert "holds no file of multi30k" in printed.err
    assert main(["data", "verify", "wmt14", "--data-dir", str(tmp_path)]) == 1
    assert "there is nothing to compare with" in capsys.readouterr().err


def test_verify_grammar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = generate_corpus(train=3, valid=3, test=3)
    monkeypatch.setattr(command, "load_corpus", lambda name, **options: other)
    assert main(["data", "verify", "grammar"]) == 1
    printed = capsys.readouterr()
    assert printed.out == "generated corpus: differs\n"
    assert "install the package anew" in printed.err
    monkeypatch.setattr(command, "DEFAULT_SHA256", command.corpus_sha256(other))
    assert main(["data", "verify", "grammar", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"] == {"generated corpus": "ok"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["get", "wmt99"], "there is no corpus 'wmt99'"),
        (["verify", "wmt99"], "there is no corpus 'wmt99'"),
        (["get", "folder"], "nothing to fetch"),
        (["verify", "copy"], "no published checksum"),
        (["get", "multi30k", "--target", "xx"], "not published in 'xx'"),
        (["get", "wmt14", "--target", "cs"], "English with de or fr"),
        (["verify", "wmt14", "--source", "de"], "not de to de"),
    ],
)
def test_wrong_calls(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


def test_no_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **options: object) -> Path:
        raise NoNetworkError("the host cannot be found")

    monkeypatch.setattr(published, "download", fail)
    monkeypatch.setattr(published, "cache_root", lambda: tmp_path)
    for name in ("multi30k", "tatoeba", "gum"):
        assert main(["data", "get", name]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        progress, error = printed.err.splitlines()
        assert progress.startswith(f"{name}: file 1 of ")
        assert f"{name} cannot be fetched without a network" in error
        assert "--data-dir" in error
        assert "--data grammar" in error


def test_write_folder_says_what_it_cannot(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="one language"):
        write_folder(copy_corpus(train=10), tmp_path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorkError, match="cannot be written"):
        write_folder(generate_corpus(train=3, valid=3, test=3), tmp_path / "file")
