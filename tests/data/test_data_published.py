"""Fetching, making and checking a corpus: shared, resumed, nothing of the user's overwritten."""

import json
import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from annotated_transformer.data import published
from annotated_transformer.data.download import NoNetworkError
from annotated_transformer.data.published import Published, Source, get, verify
from annotated_transformer.errors import WorkError
from local_server import Server, digest, server
from waiting import when_logged

__all__ = ["server"]

FETCHED = {"a.bin": b"first " * 1000, "b.bin": b"second " * 1000}
TEXTS = {"train.en": b"FIRST " * 1000, "train.de": b"SECOND " * 1000}


def upper(fetched: Path, made: Path) -> None:
    for source, text in zip(FETCHED, TEXTS, strict=True):
        (made / text).write_bytes((fetched / source).read_bytes().upper())


@pytest.fixture
def small(server: Server) -> Callable[..., Published]:
    """A corpus of two files on the server; its text has checksums, or has not."""
    server.files.update(FETCHED)

    def build(known: bool = True, make: Callable[[Path, Path], None] = upper) -> Published:
        return Published(
            name="small",
            version="1",
            terms="free",
            sources=tuple(
                Source(server.url + name, len(body), digest(body)) for name, body in FETCHED.items()
            ),
            texts={name: digest(text) if known else None for name, text in TEXTS.items()},
            make=make,
        )

    return build


def visible(folder: Path) -> dict[str, bytes]:
    """The files of a folder but for the lock and the record."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (".lock", "checksums.json")
    }


@pytest.mark.parametrize("known", [True, False])
def test_fetched_made_and_checked_once(
    server: Server, small: Callable[..., Published], tmp_path: Path, known: bool
) -> None:
    corpus = small(known)
    assert get(corpus, tmp_path) == tmp_path
    assert visible(tmp_path) == TEXTS
    assert len(server.ranges) == 2
    get(corpus, tmp_path)
    assert len(server.ranges) == 2
    assert verify(corpus, tmp_path) == dict.fromkeys(TEXTS, "ok")


@pytest.mark.parametrize("known", [True, False])
def test_damage_is_found_and_left_alone(
    small: Callable[..., Published], tmp_path: Path, known: bool
) -> None:
    corpus = small(known)
    get(corpus, tmp_path)
    (tmp_path / "train.de").write_bytes(b"mine")
    assert verify(corpus, tmp_path) == {"train.en": "ok", "train.de": "differs"}
    with pytest.raises(WorkError, match=r"train\.de is not the published file and nothing is over"):
        get(corpus, tmp_path)
    assert (tmp_path / "train.de").read_bytes() == b"mine"
    (tmp_path / "train.de").unlink()
    get(corpus, tmp_path)
    assert visible(tmp_path) == TEXTS


def test_text_that_nobody_recorded(small: Callable[..., Published], tmp_path: Path) -> None:
    (tmp_path / "train.en").write_bytes(b"mine")
    corpus = small(False)
    assert verify(corpus, tmp_path) == {"train.en": "unrecorded", "train.de": "missing"}
    with pytest.raises(WorkError, match="nothing is overwritten"):
        get(corpus, tmp_path)
    (tmp_path / "checksums.json").write_text("{")
    with pytest.raises(WorkError, match=r"checksums\.json is damaged"):
        verify(corpus, tmp_path)


def test_what_was_fetched_before_a_break_is_not_fetched_again(
    server: Server, small: Callable[..., Published], tmp_path: Path
) -> None:
    del server.files["b.bin"]
    with pytest.raises(WorkError, match="answered 404"):
        get(small(), tmp_path)
    server.files.update(FETCHED)
    server.ranges.clear()
    get(small(), tmp_path)
    assert len(server.ranges) == 1
    assert visible(tmp_path) == TEXTS


def test_a_process_killed_while_making(small: Callable[..., Published], tmp_path: Path) -> None:
    def die(fetched: Path, made: Path) -> None:
        (made / "train.en").write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        get(small(make=die), tmp_path)
    assert not (tmp_path / "train.en").exists()
    get(small(), tmp_path)
    assert visible(tmp_path) == TEXTS


def test_text_that_is_made_wrong_is_not_put_in_place(
    small: Callable[..., Published], tmp_path: Path
) -> None:
    def wrong(fetched: Path, made: Path) -> None:
        for name in TEXTS:
            (made / name).write_bytes(b"something else")

    with pytest.raises(WorkError, match=r"train\.en has SHA-256 .* though what was fetched is"):
        get(small(make=wrong), tmp_path)
    assert not (tmp_path / "train.en").exists()


def test_a_full_disk(small: Callable[..., Published], tmp_path: Path) -> None:
    def full(fetched: Path, made: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(WorkError, match="No space left on device; make room, then go on"):
        get(small(make=full), tmp_path)


def test_no_network_is_one_sentence(small: Callable[..., Published], tmp_path: Path) -> None:
    corpus = small()
    away = Source("http://127.0.0.1:1/a.bin", 1, "0" * 64)
    corpus = Published(corpus.name, "1", "free", (away,), corpus.texts, corpus.make)
    with pytest.raises(
        NoNetworkError, match=r"without a network.*--data-dir.*--data grammar"
    ) as no:
        get(corpus, tmp_path)
    assert "\n" not in str(no.value)


def test_the_second_process_waits_and_uses_what_the_first_fetched(
    server: Server,
    small: Callable[..., Published],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Another process holds the lock, puts the texts in place, and lets go."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from annotated_transformer.data.cache import one_at_a_time\n"
        "folder = Path(sys.argv[1])\n"
        "with one_at_a_time(folder, 'fetching small'):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.readline()\n"
        f"    for name, text in {TEXTS!r}.items():\n"
        "        (folder / name).write_bytes(text)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as first:
        assert first.stdin is not None
        assert first.stdout is not None
        assert first.stdout.readline() == b"held\n"
        with caplog.at_level(logging.WARNING), when_logged("waiting for it", first.stdin.close):
            get(small(), tmp_path)
    assert "another process is fetching small" in caplog.text
    assert server.ranges == []


def test_the_cache_is_one_folder_a_version(
    small: Callable[..., Published], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published, "cache_root", lambda: tmp_path)
    assert get(small()) == tmp_path / "small-1"
    assert json.loads((tmp_path / "small-1" / "checksums.json").read_text()) == {
        name: digest(text) for name, text in TEXTS.items()
    }
