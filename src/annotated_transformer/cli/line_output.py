"""A file of translations, one line an input line, that a broken call can be continued in.

Beside the output lies `OUTPUT.resume.json` while the work is not done. It says of which input and
with which options the lines are made, so that nothing else is ever appended to them.
"""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import Any, BinaryIO

from annotated_transformer.cli.sentences import BLOCK
from annotated_transformer.cli.translation_files import refuse_to_overwrite
from annotated_transformer.config import MAX_EXTRA
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.training.checkpoints import write_atomically

CHECKSUMS = ("input", "model")  # of the lines that tell what an output is made of


class LineOutput:
    """Appends whole chunks of lines to a file.

    A chunk is translated as one, so a chunk that was cut off is done again as a whole: the file
    becomes, to the byte, what it would have become without the break.
    """

    def __init__(self, path: Path, file: BinaryIO, lines: int, state: Path | None) -> None:
        self.path, self.file, self.lines, self.state = path, file, lines, state

    @classmethod
    def begin(cls, path: Path, about: dict[str, Any] | None) -> "LineOutput":
        """A new file. `about` is what the lines are made of; None where it cannot be continued.

        Raises:
            CallError: if there is something in it already: nothing is overwritten.
            WorkError: if it cannot be written.
        """
        if state_of(path).exists():
            refuse_to_overwrite(path, "go on with it by the same call with --resume, or delete it.")
        refuse_to_overwrite(path)
        return cls._open(path, about)

    @classmethod
    def resume(cls, path: Path, about: dict[str, Any], at_once: int) -> "LineOutput":
        """The file of a broken call, after the chunks that are whole; a new one if there is none.

        Args:
            about: of this call; it has to be that of the broken one. about["input_lines"] is how
                many lines the input has.
            at_once: lines in a chunk.

        Raises:
            CallError: if the file there was made of something else.
            WorkError: if it cannot be written.
        """
        found = path.stat().st_size if path.exists() else 0
        if not found:
            return cls._open(path, about)
        state = state_of(path)
        lines, whole, size = count_chunks(path, at_once)
        total = about["input_lines"]
        if not state.exists():
            if lines == total:
                print(
                    f"{path} has as many lines as the input, {total:,}, and is left as it is; "
                    "whether this very call made them is not known",
                    file=sys.stderr,
                )
                return cls(path, path.open("ab"), lines, None)
            raise CallError(
                f"{path} cannot be continued: no {state.name} beside it says of what its "
                f"{lines:,} lines are made. Delete it, or name another file."
            )
        check_same(path, read_state(state), about)
        if lines > total:
            raise CallError(
                f"{path} has {lines:,} lines and the input only {total:,}: it is not made of it."
            )
        if lines == total:  # all is there: only the end of the call was missing
            return cls(path, path.open("ab"), lines, state)
        return cls._open(path, about, found, whole, size)

    @classmethod
    def _open(
        cls, path: Path, about: dict[str, Any] | None, found: int = 0, lines: int = 0, size: int = 0
    ) -> "LineOutput":
        """Of the bytes found in the file, `size` stay, which are so many lines."""
        state = None if about is None else state_of(path)
        if not path.parent.is_dir():
            raise WorkError(f"{path} cannot be written: there is no folder {path.parent}.")
        try:
            file = path.open("ab")
            if path.is_file():  # and no pipe
                lock(file, path)
                if path.stat().st_size != found:  # since it was looked at
                    file.close()
                    raise CallError(f"another call has written {path}: name another file.")
            if state is not None:
                text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
                write_atomically(state, lambda unfinished: unfinished.write_text(text, "utf-8"))
                file.truncate(size)
        except OSError as error:
            raise WorkError(f"{path} cannot be written: {error.strerror or error}.") from error
        return cls(path, file, lines, state)

    def write(self, text: str) -> None:
        """Append lines, each with its newline. Raises WorkError if the disk does not take them."""
        try:
            self.file.write(text.encode("utf-8"))
            self.file.flush()
            if self.state is not None:
                os.fsync(self.file.fileno())
        except BrokenPipeError:
            raise
        except OSError as error:
            hint = "" if self.state is None else "; make room, then go on with --resume"
            raise WorkError(f"{self.path} cannot be written: {error.strerror}{hint}.") from error

    def close(self) -> None:
        """Let go of the file, complete or not."""
        with contextlib.suppress(OSError):  # what could not be written has been said
            self.file.close()

    def end(self) -> None:
        """All is written: the file is complete."""
        self.close()
        if self.state is not None:
            self.state.unlink(missing_ok=True)


def lock(file: BinaryIO, path: Path) -> None:
    """Keep other calls from the file for as long as it is open, where the system can do that.

    Raises:
        CallError: if another call has it.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise CallError(
            f"another call is writing {path} at this moment: let it end, or name another file."
        ) from error
    except OSError:  # a file system that knows no locks
        return


def state_of(path: Path) -> Path:
    """The file that lies beside an output as long as it is not complete."""
    return path.with_name(path.name + ".resume.json")


def count_chunks(path: Path, at_once: int) -> tuple[int, int, int]:
    """Of a file: whole lines, those of them in whole chunks, and the bytes of these."""
    lines = position = size = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            start = 0
            while (newline := block.find(b"\n", start)) >= 0:
                lines, start = lines + 1, newline + 1
                if lines % at_once == 0:
                    size = position + start
            position += len(block)
    return lines, lines - lines % at_once, size


def read_state(state: Path) -> dict[str, Any]:
    """What a broken call wrote about its output. Raises WorkError if it is damaged."""
    try:
        # What this package did before there was the option, and so did not write down.
        return {"max_extra": MAX_EXTRA, "engine": "own", **json.loads(state.read_text("utf-8"))}
    except (OSError, ValueError, TypeError) as error:
        raise WorkError(f"{state} is damaged ({error}): delete it and the output.") from error


def check_same(path: Path, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    """Raises CallError, naming what differs, if a file was begun with another input or options."""
    for name in ours:
        if theirs.get(name) != ours[name]:
            values = "" if name in CHECKSUMS else f" ({theirs.get(name)}, now {ours[name]})"
            raise CallError(
                f"{path} was begun with another {name.replace('_', ' ')}{values}, so nothing is "
                "appended: call it as it was begun, or name another file."
            )
