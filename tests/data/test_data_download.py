"""One file over HTTP: resumed where it broke off, checked before use, and a sentence otherwise."""

import logging
import threading
from pathlib import Path

import pytest

from annotated_transformer.data import download as download_module
from annotated_transformer.data.download import NoNetworkError, download
from annotated_transformer.errors import WorkError
from local_server import Server, digest, server

__all__ = ["server"]

BODY = bytes(range(256)) * 400


def test_a_download_goes_on_as_long_as_something_arrives(server: Server, tmp_path: Path) -> None:
    server.files["x"] = BODY
    server.breaks, server.break_after = 5, 1000
    path = download(server.url + "x", tmp_path / "x", digest(BODY))
    assert path.read_bytes() == BODY
    assert server.ranges == [None, *(f"bytes={n}000-" for n in range(1, 6))]


def test_a_later_call_goes_on_too(server: Server, tmp_path: Path) -> None:
    server.files["x"] = BODY
    (tmp_path / "x.part").write_bytes(BODY[:300])
    server.breaks, server.break_after = 9, 0
    with pytest.raises(NoNetworkError):
        download(server.url + "x", tmp_path / "x", digest(BODY))
    assert len(server.ranges) == download_module.ATTEMPTS
    assert not (tmp_path / "x").exists()
    assert (tmp_path / "x.part").stat().st_size == 300
    server.breaks = 0
    download(server.url + "x", tmp_path / "x", digest(BODY))
    assert server.ranges[-1] == "bytes=300-"
    assert (tmp_path / "x").read_bytes() == BODY
    assert not (tmp_path / "x.part").exists()


def test_what_is_there_is_not_fetched_again(server: Server, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(BODY)
    download(server.url + "x", tmp_path / "x", digest(BODY))
    assert server.ranges == []


def test_a_server_without_ranges_starts_again(server: Server, tmp_path: Path) -> None:
    server.files["x"] = BODY
    server.breaks, server.break_after, server.honours_range = 1, 100, False
    assert download(server.url + "x", tmp_path / "x", digest(BODY)).read_bytes() == BODY


def test_a_part_that_is_already_whole(server: Server, tmp_path: Path) -> None:
    server.files["x"] = b"whole"
    (tmp_path / "x.part").write_bytes(b"whole")
    assert download(server.url + "x", tmp_path / "x", digest(b"whole")).read_bytes() == b"whole"


@pytest.mark.parametrize("part", [b"", b"who", b"whole and more"])
def test_a_wrong_checksum_is_never_used(server: Server, tmp_path: Path, part: bytes) -> None:
    server.files["x"] = b"other"
    if part:
        (tmp_path / "x.part").write_bytes(part)
    with pytest.raises(WorkError, match=r"gave a file with SHA-256 .* was expected"):
        download(server.url + "x", tmp_path / "x", digest(b"whole"))
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_gone(server: Server, tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="answered 404"):
        download(server.url + "nowhere", tmp_path / "x", "0" * 64)


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


def test_progress_is_said(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(download_module, "SAY_EVERY", 0.0)
    body = bytes(3_000_000)
    server.files["train.tgz"] = body
    (tmp_path / "x.part").write_bytes(body[:1_000_000])
    with caplog.at_level(logging.INFO):
        download(server.url + "train.tgz", tmp_path / "x", digest(body))
    assert caplog.messages[0] == "train.tgz: 1 of 3 MB"
    assert caplog.messages[-1] == "train.tgz: 3 of 3 MB"
