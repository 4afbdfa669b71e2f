"""One file of sentences, plain or gzipped: checked in one pass, then read from the disk."""

import gzip
import hashlib
import logging
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO, cast, overload

from annotated_transformer.errors import WorkError

logger = logging.getLogger(__name__)

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class TextFile:
    """What one pass over a file of sentences found out.

    Attributes:
        path: the file; text inside .gz is unpacked as it is read.
        lines: how many sentences.
        bytes: size of the text, unpacked.
        sha256: of the text, unpacked.
        stamp: time of the last change, and size on the disk.
    """

    path: Path
    lines: int
    bytes: int
    sha256: str
    stamp: tuple[int, int]

    def __iter__(self) -> Iterator[str]:
        r"""The sentences, read anew.

        Lines end at \n alone: `str.splitlines` would also split at U+2028, U+0085 or a form feed,
        which occur inside sentences of real corpora and would shift every later pair. A \r before
        the \n (Windows) is taken off, and so is a byte order mark.

        Raises:
            WorkError: the file is no longer the one that was checked.
        """
        first = True
        for raw in raw_lines(self.path):
            if first:
                raw = raw.removeprefix(BYTE_ORDER_MARK)
                first = False
            try:
                yield raw.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
            except UnicodeDecodeError as error:
                raise self._changed() from error
        if stamp_of(self.path) != self.stamp:
            raise self._changed()

    def _changed(self) -> WorkError:
        return WorkError(
            f"{self.path} was changed after it had been checked; begin again when nothing writes "
            f"to it"
        )


def stamp_of(path: Path) -> tuple[int, int]:
    """What differs once a file has been changed. Raises WorkError if it is gone."""
    try:
        state = path.stat()
    except OSError as error:
        raise WorkError(f"{path} cannot be read: {error.strerror}") from error
    return state.st_mtime_ns, state.st_size


def raw_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file as bytes, ends included. Raises WorkError if it cannot be read."""
    try:
        with open_bytes(path) as file:
            yield from file
    except (OSError, EOFError, zlib.error) as error:
        reason = getattr(error, "strerror", None) or error
        raise WorkError(f"{path} cannot be read: {reason}") from error


def open_bytes(path: Path) -> BinaryIO:
    """A file to read from, unpacked if its name ends in .gz."""
    if path.suffix == ".gz":
        return cast(BinaryIO, gzip.open(path, "rb"))
    return path.open("rb")


def inspect(path: Path) -> TextFile:
    """Read a file once and check every line.

    Raises:
        WorkError: it is empty, or is not UTF-8 text (with the line and the byte).
    """
    stamp = stamp_of(path)
    digest = hashlib.sha256()
    lines = size = windows_lines = 0
    holds_text = False
    for raw in raw_lines(path):
        if lines == 0 and raw.startswith(UTF16_MARKS):
            raise WorkError(f"{path} is UTF-16; convert the file with iconv -f UTF-16 -t UTF-8")
        lines += 1
        try:
            raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise WorkError(
                f"{path} is not UTF-8: byte 0x{raw[error.start]:02x} at offset "
                f"{size + error.start}, in line {lines}; convert the file, for example with iconv "
                f"-f LATIN1 -t UTF-8"
            ) from error
        if b"\0" in raw:
            raise WorkError(
                f"{path} holds a zero byte in line {lines}: it is UTF-16 or no text; expected "
                f"UTF-8, one sentence a line"
            )
        digest.update(raw)
        size += len(raw)
        windows_lines += raw.endswith(b"\r\n")
        holds_text = holds_text or bool(raw.removeprefix(BYTE_ORDER_MARK).strip())
    if lines == 1 and raw.rstrip(b"\r\n").count(b"\r") > 0:
        raise WorkError(
            f"{path} ends its lines with CR alone, as old Macs did; convert the file, for example "
            f"with tr '\\r' '\\n'"
        )
    if not holds_text:
        raise WorkError(f"{path} is empty; expected one sentence a line")
    if windows_lines:
        logger.warning(
            "%s: %d of %d lines end as on Windows (CR LF); the CR was taken off",
            path.name,
            windows_lines,
            lines,
        )
    return TextFile(path, lines, size, digest.hexdigest(), stamp)


class StoredSentences(Sequence[str]):
    """The sentences of a file too large to be held: read from the disk each time.

    Made to be read from the front: an index costs the reading of all lines before it.
    """

    def __init__(self, file: TextFile, left_out: Collection[int] = ()) -> None:
        """`left_out` are the numbers of lines, from 0, that are not part of the split."""
        self.file = file
        self.left_out = frozenset(left_out)

    def __len__(self) -> int:
        return self.file.lines - len(self.left_out)

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self.file):
            if number not in self.left_out:
                yield line

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        wanted = range(len(self))[index]
        if isinstance(wanted, int):
            return next(islice(iter(self), wanted, None))
        if wanted.step == 1:
            return list(islice(iter(self), wanted.start, wanted.stop))
        return list(self)[index]


Sentences = list[str] | StoredSentences
