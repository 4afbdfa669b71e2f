"""WMT 2014 from small archives of the same form, on a server of this machine."""

import gzip
import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from annotated_transformer.data import load_corpus, wmt14
from annotated_transformer.data.published import Published, Source, get, verify
from annotated_transformer.errors import CallError, WorkError
from local_server import Server, digest, server

__all__ = ["server"]

SGM = '<srcset>\n<doc>\n<seg id="1"> {0}  one </seg>\n<seg id="2">{0} &amp; two</seg>\n</doc>'
MEMBERS = {
    "training-parallel-europarl-v7.tgz": {
        "training/europarl-v7.de-en.en": "ep one\nep two\n",
        "training/europarl-v7.de-en.de": "ep eins\nep zwei\n",
        "training/europarl-v7.fr-en.en": "ep one\n",
        "training/europarl-v7.fr-en.fr": "ep un",  # without a newline at the end
    },
    "training-parallel-commoncrawl.tgz": {
        "commoncrawl.de-en.de": "cc\u2028eins\n",
        "commoncrawl.de-en.annotation": "ignored\n",
        "commoncrawl.de-en.en": "cc one\n",
        "commoncrawl.fr-en.en": "cc one\n",
        "commoncrawl.fr-en.fr": "cc un\n",
    },
    "training-parallel-nc-v9.tgz": {
        f"training/news-commentary-v9.{pair}-en.{language}": f"nc {language}\n"
        for pair in ("de", "fr")
        for language in (pair, "en")
    },
    "training-parallel-un.tgz": {
        "un/undoc.2000.fr-en.en": "un one\n",
        "un/undoc.2000.fr-en.fr": "un un\n",
    },
    "training-giga-fren.tar": {
        "giga-fren.release2.fixed.en.gz": "giga one\n",
        "giga-fren.release2.fixed.fr.gz": "giga un\n",
    },
    "dev.tgz": {
        **{
            f"dev/newstest2013.{language}": f"valid {language}\n" for language in ("en", "de", "fr")
        },
        "dev/newstest2014-deen-ref.en.sgm": SGM.format("test"),
        "dev/newstest2014-deen-src.de.sgm": SGM.format("Test"),
        "dev/newstest2014-fren-ref.en.sgm": SGM.format("test"),
        "dev/newstest2014-fren-src.fr.sgm": SGM.format("essai"),
    },
}


def packed(name: str, members: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if name.endswith("tgz") else "w") as tar:
        for member, text in members.items():
            content = text.encode()
            if member.endswith(".gz"):
                content = gzip.compress(content)
            entry = tarfile.TarInfo(member)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def on_server(server: Server, other: str, members: dict[str, dict[str, str]]) -> Published:
    """The corpus made from archives that lie on the server."""
    bodies = {name: packed(name, inside) for name, inside in members.items()}
    server.files.update(bodies)
    archives = tuple(
        replace(
            archive,
            source=Source(
                server.url + archive.source.name,
                len(bodies[archive.source.name]),
                digest(bodies[archive.source.name]),
            ),
        )
        for archive in wmt14.ARCHIVES
    )
    return wmt14.published_from(other, archives)


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
