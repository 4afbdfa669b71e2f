"""`annotated-transformer data`: what it prints, and the status it ends with."""

import json
from pathlib import Path

import pytest

from annotated_transformer.cli import data as command
from annotated_transformer.cli import main
from annotated_transformer.data import copy_corpus, generate_corpus, multi30k, read_folder
from annotated_transformer.data.download import NoNetworkError
from annotated_transformer.data.folder import write_folder
from annotated_transformer.errors import CallError, WorkError


def test_list_names_every_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "list", "--format", "json"]) == 0
    names = [entry["name"] for entry in json.loads(capsys.readouterr().out)["corpora"]]
    assert names == ["grammar", "copy", "multi30k", "folder"]
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
    }
    again = read_folder(tmp_path)
    for name in ("train", "valid", "test"):
        assert again[name].source == small[name].source
        assert again[name].target == small[name].target


def test_get_and_verify_multi30k(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fetch(folder: Path | None, languages: tuple[str, str]) -> Path:
        assert languages == ("en", "de")
        for name in ("train.en", "train.de", "val.en", "val.de"):
            (tmp_path / name).write_text("a\n")
        return tmp_path

    monkeypatch.setattr(command, "get_multi30k", fetch)
    assert main(["data", "get", "multi30k"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"multi30k is in {tmp_path}",
        "train: 1 pairs",
        "valid: 1 pairs",
    ]
    assert main(["data", "verify", "multi30k", "--data-dir", str(tmp_path)]) == 1
    assert "train.en: differs" in capsys.readouterr().out
    assert main(["data", "verify", "multi30k", "--data-dir", str(tmp_path / "no")]) == 1
    assert "train.en: missing" in capsys.readouterr().out


def test_verify_grammar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = generate_corpus(train=3, valid=3, test=3)
    monkeypatch.setattr(command, "load_corpus", lambda name, **options: other)
    assert main(["data", "verify", "grammar"]) == 1
    assert capsys.readouterr().out == "generated corpus: differs\n"
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
    ],
)
def test_wrong_calls(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", *arguments]) == 2
    printed = capsys.readouterr()
    assert message in printed.err
    assert printed.out == ""


def test_no_network(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **options: object) -> Path:
        raise NoNetworkError("the host cannot be found")

    monkeypatch.setattr(multi30k, "download", fail)
    monkeypatch.setattr(multi30k, "cache_folder", lambda pinned=None: Path("/nowhere"))
    assert main(["data", "get", "multi30k"]) == 1
    error = capsys.readouterr().err
    assert "--data-dir" in error
    assert "--data grammar" in error
    assert len(error.splitlines()) == 1


def test_write_folder_says_what_it_cannot(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="one language"):
        write_folder(copy_corpus(train=10), tmp_path)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorkError, match="cannot be written"):
        write_folder(generate_corpus(train=3, valid=3, test=3), tmp_path / "file")
