"""Multi30k against a server on this machine: fetched, resumed, checked, and no network."""

import gzip
import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from annotated_transformer.data import download as download_module
from annotated_transformer.data import load_corpus, multi30k
from annotated_transformer.data.download import NoNetworkError, download
from annotated_transformer.data.multi30k import (
    Manifest,
    PinnedFile,
    get_multi30k,
    manifest,
    verify_multi30k,
)
from annotated_transformer.errors import CallError, WorkError

TEXTS = {
    "train.en": "".join(f"a man number {n} walks .\n" for n in range(3000)),
    "train.de": "".join(f"ein Mann Nummer {n} geht .\n" for n in range(3000)),
    "val.en": "a dog .\n",
    "val.de": "ein Hund .\n",
}


class Server:
    """Serves files, and breaks off after `break_after` bytes as often as `breaks` says."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.breaks = 0
        self.break_after = 0
        self.honours_range = True
        self.ranges: list[str | None] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.ranges.append(handler.headers.get("Range"))
        body = self.files.get(handler.path.removeprefix("/"))
        if body is None:
            handler.send_error(404)
            return
        start = 0
        if self.honours_range and (wanted := handler.headers.get("Range")):
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                handler.send_error(416)
                return
        handler.send_response(206 if start else 200)
        handler.send_header("Content-Length", str(len(body) - start))
        handler.end_headers()
        rest = body[start:]
        if self.breaks:
            self.breaks -= 1
            rest = rest[: self.break_after]
        handler.wfile.write(rest)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def pinned(server: Server) -> Manifest:
    """A small corpus on the server, pinned as the real one is."""
    files = []
    for name, text in TEXTS.items():
        packed = gzip.compress(text.encode(), mtime=0)
        server.files[f"{name}.gz"] = packed
        files.append(
            PinnedFile(
                path=f"{name}.gz",
                bytes=len(packed),
                sha256=digest(packed),
                lines=text.count("\n"),
                sha256_unpacked=digest(text.encode()),
                bytes_unpacked=len(text.encode()),
            )
        )
    return Manifest("0" * 40, server.url, tuple(files))


def test_fetches_checks_and_unpacks_once(server: Server, pinned: Manifest, tmp_path: Path) -> None:
    get_multi30k(tmp_path, pinned=pinned)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == TEXTS
    assert len(server.ranges) == 4
    get_multi30k(tmp_path, pinned=pinned)
    assert len(server.ranges) == 4
    corpus = load_corpus("multi30k", data_dir=tmp_path)
    assert (len(corpus["train"]), len(corpus["valid"])) == (3000, 1)
    assert corpus.origin["published"] is False  # the real checksums are others


def test_a_broken_download_goes_on_where_it_stopped(
    server: Server, pinned: Manifest, tmp_path: Path
) -> None:
    server.breaks, server.break_after = 2, 1000
    get_multi30k(tmp_path, pinned=pinned)
    assert server.ranges[:3] == [None, "bytes=1000-", "bytes=2000-"]
    assert (tmp_path / "train.en").read_text() == TEXTS["train.en"]


def test_a_later_call_goes_on_too(server: Server, tmp_path: Path) -> None:
    body = bytes(range(256)) * 400
    server.files["x"] = body
    server.breaks, server.break_after = 3, 100
    path = tmp_path / "x"
    with pytest.raises(NoNetworkError):
        download(server.url + "x", path, digest(body))
    assert not path.exists()
    assert (tmp_path / "x.part").stat().st_size == 300
    download(server.url + "x", path, digest(body))
    assert server.ranges[-1] == "bytes=300-"
    assert path.read_bytes() == body
    assert not (tmp_path / "x.part").exists()


def test_a_server_without_ranges_starts_again(server: Server, tmp_path: Path) -> None:
    body = bytes(range(256)) * 400
    server.files["x"] = body
    server.breaks, server.break_after, server.honours_range = 1, 100, False
    assert download(server.url + "x", tmp_path / "x", digest(body)).read_bytes() == body


def test_a_part_that_is_already_whole(server: Server, tmp_path: Path) -> None:
    server.files["x"] = b"whole"
    (tmp_path / "x.part").write_bytes(b"whole")
    assert download(server.url + "x", tmp_path / "x", digest(b"whole")).read_bytes() == b"whole"


def test_wrong_checksum_is_never_used(server: Server, pinned: Manifest, tmp_path: Path) -> None:
    server.files["train.en.gz"] = gzip.compress(b"something else\n")
    with pytest.raises(WorkError, match=r"gave a file with SHA-256 .* was expected"):
        get_multi30k(tmp_path, pinned=pinned)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_gone(server: Server, tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="answered 404"):
        download(server.url + "nowhere", tmp_path / "x", "0" * 64)


def test_no_network_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pinned: Manifest
) -> None:
    unreachable = Manifest(pinned.commit, "http://127.0.0.1:1/", pinned.files)
    with pytest.raises(NoNetworkError, match=r"--data-dir.*--data grammar") as caught:
        get_multi30k(tmp_path, pinned=unreachable)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(multi30k, "manifest", lambda: unreachable)
    monkeypatch.setattr(multi30k, "cache_folder", lambda pinned=None: tmp_path)
    with pytest.raises(NoNetworkError, match="without a network"):
        load_corpus("multi30k")


def test_a_host_that_does_not_answer(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download_module, "ATTEMPTS", 1)
    silent = threading.Event()
    monkeypatch.setattr(server, "answer", lambda handler: silent.wait(5))
    with pytest.raises(NoNetworkError, match="timed out"):
        download(server.url + "x", tmp_path / "x", "0" * 64, timeout=0.2)
    silent.set()


def test_a_disk_that_takes_nothing(server: Server, tmp_path: Path) -> None:
    server.files["x"] = b"content"
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(WorkError, match="cannot be written"):
        download(server.url + "x", tmp_path / "file" / "x", digest(b"content"))


def test_verify(pinned: Manifest, tmp_path: Path) -> None:
    get_multi30k(tmp_path, pinned=pinned)
    (tmp_path / "train.de").write_text("changed\n")
    (tmp_path / "val.de").unlink()
    assert verify_multi30k(tmp_path, pinned=pinned) == {
        "train.en": "ok",
        "train.de": "differs",
        "val.en": "ok",
        "val.de": "missing",
    }


def test_the_pinned_facts() -> None:
    facts = manifest()
    assert facts.languages == ("en", "de", "fr")
    assert facts.commit in facts.base_url
    assert {file.lines for file in facts.files if file.path.startswith("train")} == {29000}
    assert all(len(file.sha256) == len(file.sha256_unpacked) == 64 for file in facts.files)
    with pytest.raises(CallError, match="not published in 'cs'"):
        load_corpus("multi30k", target="cs")
