"""Fetch one file over HTTP: with a timeout, resuming what broke off, and checked before use."""

import contextlib
import hashlib
import http.client
import logging
import os
import ssl
import time
import urllib.error
import urllib.request
from pathlib import Path

from annotated_transformer.errors import WorkError

logger = logging.getLogger(__name__)

CHUNK = 1 << 16  # bytes
ATTEMPTS = 3  # connections in a row that bring nothing
SAY_EVERY = 10.0  # seconds between two lines of progress
TIMEOUT = 30.0  # seconds without an answer


class NoNetworkError(WorkError):
    """The host could not be reached, or stopped answering."""


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's bytes, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def download(url: str, path: Path, sha256: str, *, timeout: float = TIMEOUT) -> Path:
    """Fetch `url` to `path`, unless it is there already with the right checksum.

    What has arrived is kept in `path` + ".part" and continued with a Range request, in this call
    (as long as connections bring something) or in a later one. `path` appears in one step, and only
    with the right bytes.

    Raises:
        NoNetworkError: the host cannot be reached or broke off each time.
        WorkError: the address answers with an error, the bytes have another checksum, or the disk
            does not take them.
    """
    if path.is_file() and sha256_of(path) == sha256:
        return path
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fetch_remaining(url, part, timeout)
        found = sha256_of(part)
        if found != sha256:
            part.unlink()
            raise WorkError(
                f"{url} gave a file with SHA-256 {found} and {sha256} was expected; it was thrown "
                f"away: fetch again, and if this stays so, the file at that address has changed"
            )
        os.replace(part, path)
    except OSError as error:
        raise WorkError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def fetch_remaining(url: str, part: Path, timeout: float) -> None:
    """Append to `part` what is missing; ATTEMPTS connections in a row may bring nothing."""
    fruitless = 0
    while True:
        have = size_of(part)
        try:
            fetch_once(url, part, timeout)
            return
        except urllib.error.HTTPError as error:
            with contextlib.closing(error):
                raise WorkError(f"{url} answered {error.code} {error.reason}") from error
        except (
            urllib.error.URLError,
            http.client.HTTPException,
            ConnectionError,
            TimeoutError,
            ssl.SSLError,
        ) as error:
            reason = getattr(error, "reason", None) or error
            fruitless = 0 if size_of(part) > have else fruitless + 1
            if fruitless == ATTEMPTS:
                raise NoNetworkError(f"{url} cannot be fetched ({reason})") from error
            logger.info("%s broke off (%s); going on where it stopped", url, reason)


def size_of(part: Path) -> int:
    """Bytes that have arrived."""
    return part.stat().st_size if part.exists() else 0


def fetch_once(url: str, part: Path, timeout: float) -> None:
    """One connection: ask for the bytes from the end of `part` on, and append them.

    Raises:
        http.client.IncompleteRead: the connection ended before the announced length.
    """
    have = size_of(part)
    request = urllib.request.Request(url, headers={"User-Agent": "annotated-transformer"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if (
            error.code == 416
        ):  # nothing after what we have: the checksum decides whether it is right
            error.close()
            return
        raise
    with response:
        resumed = response.status == 206
        expected = int(response.headers.get("Content-Length", -1))
        received = 0
        before = have if resumed else 0
        say_at = time.monotonic() + SAY_EVERY
        with part.open("ab" if resumed else "wb") as file:
            while chunk := response.read(CHUNK):
                file.write(chunk)
                received += len(chunk)
                if time.monotonic() >= say_at:
                    say_progress(url, before + received, before + expected)
                    say_at = time.monotonic() + SAY_EVERY
    if 0 <= expected != received:
        raise http.client.IncompleteRead(b"", expected - received)


def say_progress(url: str, have: int, of: int) -> None:
    """One line: how much of a file has arrived."""
    name = url.rpartition("/")[2]
    logger.info("%s: %d of %d MB", name, have // 1_000_000, of // 1_000_000)
