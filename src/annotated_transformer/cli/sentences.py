"""Sentences as they come in: of the call, of a file, of a pipe or of somebody who types."""

import hashlib
import io
import select
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from annotated_transformer.data.text_file import BYTE_ORDER_MARK, open_bytes
from annotated_transformer.errors import CallError, WorkError

LINES_AT_ONCE = 1024  # enough to sort by length, and output comes soon
LONGEST_LINE = 1_000_000  # bytes: of more than any model here can translate
PAUSE = 0.1  # seconds without input, after which what has come is translated
COMPLAINTS = 10  # lines that are named; further ones are only counted
BLOCK = 1 << 16  # bytes
SAY_EVERY = 10.0  # seconds between two lines of progress in a log


@dataclass(frozen=True)
class InputFile:
    """A file of sentences: how many, and what tells its content from another."""

    path: Path
    lines: int
    sha256: str


def inspect_input(path: Path) -> InputFile:
    """Read a file once. Raises CallError if it cannot be read."""
    digest, lines, last = hashlib.sha256(), 0, b"\n"
    try:
        with open_bytes(path) as file:
            while block := file.read(BLOCK):
                digest.update(block)
                lines += block.count(b"\n")
                last = block
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise CallError(f"{path} cannot be read: {reason}.") from error
    return InputFile(path, lines + (not last.endswith(b"\n")), digest.hexdigest())


class Sentences:
    """The lines of a stream as text, a chunk at a time.

    A line that is not UTF-8, or far too long, is named on standard error and comes as "", so that
    line n of the output stays the translation of line n of the input.

    stream: bytes. name: what it is called in messages. live: whether somebody may be waiting for
    an answer, so that a chunk ends when nothing comes for a moment.
    """

    def __init__(self, stream: BinaryIO, name: str, live: bool) -> None:
        self.stream, self.name, self.live = stream, name, live
        self.left_empty = 0

    def chunks(
        self, skip: int = 0, skipped: Callable[[list[str]], None] = lambda chunk: None
    ) -> Iterator[list[str]]:
        """Lists of at most LINES_AT_ONCE sentences, after `skip` lines of an earlier call.

        Those were named then, if they could not be read; here they are only counted, and handed to
        `skipped`, some at a time.
        """
        chunk: list[str] = []
        number = 0
        for line in self._lines():
            if line is None:  # a pause
                if chunk and number > skip:
                    yield chunk
                    chunk = []
                continue
            number += 1
            text = self._text(line, number, aloud=number > skip)
            chunk.append(text)
            if number == skip or (number < skip and len(chunk) == LINES_AT_ONCE):
                skipped(chunk)
                chunk = []
            elif len(chunk) == LINES_AT_ONCE:
                yield chunk
                chunk = []
        if chunk and number > skip:
            yield chunk
        elif chunk:  # the stream is shorter than what an earlier call read
            skipped(chunk)

    def _lines(self) -> Iterator[bytes | None]:
        r"""Lines without their \n; None where nothing has come for a moment."""
        rest = b""
        while True:
            if self.live and nothing_waits(self.stream):
                yield None
            block = read_some(self.stream)
            if not block:
                break
            *whole, rest = (rest + block).split(b"\n")
            yield from whole
            rest = rest[: LONGEST_LINE + 1]  # what is too long already need not be kept
        if rest:
            yield rest

    def _text(self, line: bytes, number: int, aloud: bool) -> str:
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if len(line) > LONGEST_LINE:
            return self._leave_empty(number, aloud, f"is longer than {LONGEST_LINE:,} bytes")
        try:
            return line.rstrip(b"\r").decode("utf-8")
        except UnicodeDecodeError as error:
            return self._leave_empty(
                number,
                aloud,
                f"is not UTF-8 ({error.reason} at byte {error.start + 1} of the line)",
            )

    def _leave_empty(self, number: int, aloud: bool, reason: str) -> str:
        self.left_empty += 1
        if not aloud:
            return ""
        if self.left_empty <= COMPLAINTS:
            print(f"line {number} of {self.name} {reason}: it stays empty", file=sys.stderr)
        if self.left_empty == COMPLAINTS + 1:
            print(f"further such lines of {self.name} are only counted", file=sys.stderr)
        return ""


def nothing_waits(stream: BinaryIO) -> bool:
    """Whether nothing comes for a moment. Where a system cannot tell: whether it is typed."""
    try:
        return not select.select([stream], [], [], PAUSE)[0]
    except (OSError, ValueError, io.UnsupportedOperation):
        return stream.isatty()


def read_some(stream: BinaryIO) -> bytes:
    """What is there, up to a block; waits for the first byte. b"" at the end."""
    read = getattr(stream, "read1", stream.read)
    try:
        block: bytes = read(BLOCK)
    except (OSError, EOFError) as error:
        raise WorkError(f"the input cannot be read further: {error}.") from error
    return block


class Progress:
    """How far it is, on standard error: over and over on a terminal, now and then in a log.

    total: how many lines there are; None where nobody knows.
    done: lines that an earlier call has translated.
    silent: nothing is said where translations appear on the same terminal.
    what: is at work, where that needs a word.
    """

    def __init__(self, total: int | None, done: int, silent: bool, what: str = "") -> None:
        self.total, self.first, self.silent = total, done, silent
        self.what = f"{what}: " if what else ""
        self.on_terminal = sys.stderr.isatty()
        self.began = self.said = time.monotonic()
        self.open_line = False

    def __call__(self, lines: int) -> None:
        """So many lines are translated."""
        now = time.monotonic()
        if self.silent or not (self.on_terminal or now - self.said >= SAY_EVERY):
            return
        self.said = now
        speed = (lines - self.first) / max(now - self.began, 1e-9)
        text = f"{lines:,} lines, {speed:,.1f} a second"
        if self.total is not None and speed > 0:
            minutes, seconds = divmod(int((self.total - lines) / speed), 60)
            text = (
                f"{lines:,} of {self.total:,} lines, {speed:,.1f} a second, "
                f"{minutes}:{seconds:02d} left"
            )
        text = self.what + text
        if self.on_terminal:
            print(f"\r\x1b[2K{text}", end="", file=sys.stderr, flush=True)
            self.open_line = True
        else:
            print(text, file=sys.stderr, flush=True)

    def of_search(self, done: int, total: int) -> None:
        """What `translate_sentences` tells: so many sentences of those that are searched."""
        self.total = total
        self(done)
        if done == total:
            self.end()

    def end(self) -> None:
        """Leave the line on which progress was written."""
        if self.open_line:
            print(file=sys.stderr)
            self.open_line = False
