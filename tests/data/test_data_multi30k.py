"""Multi30k: its pinned facts, and all the way from a server to the corpus."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from annotated_transformer.cli import doctor_run
from annotated_transformer.data import load_corpus, multi30k
from annotated_transformer.data.published import verify
from annotated_transformer.errors import CallError
from local_server import Server, digest, server

__all__ = ["server"]

TEXTS = {
    "train.en": "".join(f"a man number {n} walks .\n" for n in range(3000)),
    "train.de": "".join(f"ein Mann Nummer {n} geht .\n" for n in range(3000)),
    "val.en": "a dog .\n",
    "val.de": "ein Hund .\n",
    "val.fr": "un chien .\n",
}


@pytest.fixture
def pinned(server: Server, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A small corpus on the server, pinned as the real one is."""
    files = []
    for name, text in TEXTS.items():
        packed = gzip.compress(text.encode(), mtime=0)
        server.files[f"{name}.gz"] = packed
        files.append(
            {
                "path": f"{name}.gz",
                "bytes": len(packed),
                "sha256": digest(packed),
                "sha256_unpacked": digest(text.encode()),
            }
        )
    facts = {"commit": "0" * 40, "base_url": server.url, "files": files}
    monkeypatch.setattr(multi30k, "pinned_facts", lambda: facts)
    return facts


@pytest.mark.usefixtures("pinned")
def test_fetched_into_the_cache_and_read(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("annotated_transformer.data.published.cache_root", lambda: tmp_path)
    corpus = load_corpus("multi30k")
    assert (len(corpus["train"]), len(corpus["valid"])) == (3000, 1)
    assert corpus["train"].target[7] == "ein Mann Nummer 7 geht ."
    assert corpus.origin["published"] is True
    assert corpus.origin["commit"] == "0" * 40
    assert multi30k.multi30k().folder == tmp_path / "multi30k-000000000000"
    assert len(server.ranges) == 4
    load_corpus("multi30k")
    assert len(server.ranges) == 4
    corpus = multi30k.multi30k()
    assert verify(corpus, corpus.folder) == dict.fromkeys(list(TEXTS)[:4], "ok")
    assert doctor_run.data()["multi30k"] == "fetched"
    (corpus.folder / "val.de").unlink()
    assert doctor_run.data()["multi30k"] == "not fetched"


def test_a_changed_copy_is_read_and_said(tmp_path: Path, pinned: dict[str, Any]) -> None:
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text)
    assert load_corpus("multi30k", data_dir=tmp_path).origin["published"] is True
    (tmp_path / "val.de").write_text("eine Katze .\n")
    assert load_corpus("multi30k", data_dir=tmp_path).origin["published"] is False
    (tmp_path / "val.en").unlink()
    (tmp_path / "val.de").unlink()
    assert verify(multi30k.multi30k(), tmp_path) == {
        "train.en": "ok",
        "train.de": "ok",
        "val.en": "missing",
        "val.de": "missing",
    }


def test_the_pinned_facts() -> None:
    facts = multi30k.pinned_facts()
    assert facts["commit"] in facts["base_url"]
    train = [file for file in facts["files"] if file["path"].startswith("train")]
    assert {file["lines"] for file in train} == {29000}
    corpus = multi30k.multi30k(("en", "fr"))
    assert len(corpus.sources) == len(corpus.texts) == 12
    assert all(len(source.sha256) == 64 for source in corpus.sources)
    with pytest.raises(CallError, match="not published in 'cs'; it is in en, de, fr"):
        load_corpus("multi30k", target="cs")
