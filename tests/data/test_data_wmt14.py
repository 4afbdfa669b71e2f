"""WMT 2014 from small archives of the same form, on a server of this machine."""

from pathlib import Path

import pytest

from annotated_transformer.data import load_corpus
from annotated_transformer.data.published import get, verify
from annotated_transformer.errors import CallError, WorkError
from local_server import Server, server
from wmt14_archives import MEMBERS, on_server

__all__ = ["server"]


def test_german(server: Server, tmp_path: Path) -> None:
    corpus = on_server(server, "de", MEMBERS)
    get(corpus, tmp_path)
    assert len(server.ranges) == 4  # the archives for French alone are not fetched
    assert verify(corpus, tmp_path) == dict.fromkeys(corpus.texts, "ok")
    read = load_corpus("wmt14", data_dir=tmp_path)
    assert read["train"].source == ["ep one", "ep two", "cc one", "nc en"]
    assert read["train"].target == ["ep eins", "ep zwei", "cc\u2028eins", "nc de"]
    assert (read["valid"].source, read["valid"].target) == (["valid en"], ["valid de"])
    assert read["test"].source == ["test one", "test &amp; two"]
    assert read["test"].target == ["Test one", "Test &amp; two"]
    left = {path.name for path in tmp_path.iterdir()} - {".lock", "checksums.json"}
    assert left == set(corpus.texts)  # the archives are gone


def test_french(server: Server, tmp_path: Path) -> None:
    get(on_server(server, "fr", MEMBERS), tmp_path)
    assert len(server.ranges) == 6
    read = load_corpus("wmt14", data_dir=tmp_path, source="fr", target="en")
    assert read["train"].source == ["ep un", "cc un", "nc fr", "un un", "giga un"]
    assert read["train"].target == ["ep one", "cc one", "nc en", "un one", "giga one"]


@pytest.mark.parametrize("change", ["longer", "gone"])
def test_an_archive_of_another_form(server: Server, tmp_path: Path, change: str) -> None:
    europarl = dict(MEMBERS["training-parallel-europarl-v7.tgz"])
    if change == "longer":
        europarl["training/europarl-v7.de-en.en"] += "ep three\n"
    else:
        del europarl["training/europarl-v7.de-en.de"]
    members = {**MEMBERS, "training-parallel-europarl-v7.tgz": europarl}
    with pytest.raises(WorkError, match=r"europarl-v7\.tgz should hold .* with as many lines"):
        get(on_server(server, "de", members), tmp_path)
    assert not (tmp_path / "train.en").exists()


def test_gigabytes_are_not_fetched_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotated_transformer.data.published.cache_root", lambda: tmp_path)
    with pytest.raises(CallError, match=r"data get wmt14 --source en --target de \(1,695 MB\)"):
        load_corpus("wmt14")
    with pytest.raises(CallError, match=r"--target fr \(6,655 MB\)"):
        load_corpus("wmt14", target="fr")


def test_other_languages() -> None:
    with pytest.raises(CallError, match="between English and another language, not de to fr"):
        load_corpus("wmt14", source="de", target="fr")
    with pytest.raises(CallError, match="English with de or fr here; 'cs' was asked for"):
        load_corpus("wmt14", target="cs")
