"""Files of translations that `evaluate` reads and writes, one translation a line."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from annotated_transformer.data.text_file import BYTE_ORDER_MARK
from annotated_transformer.errors import CallError, WorkError


def read_translations(path: Path, lines: int, split: str) -> list[str]:
    """A file of translations, one a line.

    Raises:
        CallError: if it cannot be read, is not UTF-8, or has another number of lines.
    """
    try:
        raw = path.read_bytes().removeprefix(BYTE_ORDER_MARK)
    except (FileNotFoundError, IsADirectoryError) as error:
        folder = isinstance(error, IsADirectoryError)
        what = f"{path} is a folder" if folder else f"there is no file {path}"
        raise CallError(f"{what}: name a file of translations, one a line.") from error
    except OSError as error:
        raise CallError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        number = raw.count(b"\n", 0, error.start) + 1
        raise CallError(
            f"line {number} of {path} is not UTF-8: convert the file, for example with iconv."
        ) from error
    found = (
        [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")] if text else []
    )
    if len(found) != lines:
        raise CallError(
            f"{path} has {len(found):,} lines and the split {split} {lines:,}: line n has to be "
            "the translation of its line n. With the longer of the two files cut to the length of "
            "the other, --explain may say from which line on they are apart."
        )
    return found


def refuse_to_overwrite(path: Path, instead: str = "name another file, or delete it.") -> None:
    """Raises CallError if there is something in the file already, and says what to do instead."""
    if path.is_file() and path.stat().st_size:
        raise CallError(f"{path} is there already and nothing is overwritten: {instead}")


def check_writable(path: Path) -> None:
    """Raises WorkError if no file can be written there. Nothing that is there is touched."""
    is_new = not path.exists()
    if not (is_new or path.is_file() or path.is_dir()):
        return  # a pipe or a terminal: opening it would already say something
    try:
        with open(path, "ab"):
            pass
        if is_new:
            path.unlink()
    except OSError as error:
        raise WorkError(
            f"the translations cannot be written to {path}: {error}. Nothing was translated."
        ) from error


def write_lines(path: Path, lines: Sequence[str]) -> WorkError | None:
    """One translation a line; where that fails, into a temporary file instead.

    Returns:
        What to raise once the scores are printed: where the translations are. None if all is well.
    """
    text = "".join(one_line(line) + "\n" for line in lines)
    try:
        if path.is_file() and path.stat().st_size:
            raise FileExistsError("somebody has written it meanwhile")
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        said = f"the translations cannot be written to {path}: {error}"
        try:
            with tempfile.NamedTemporaryFile("wb", suffix=".txt", delete=False) as file:
                file.write(text.encode("utf-8"))
        except OSError as another:
            return WorkError(f"{said}. Neither into a temporary file: {another}.")
        return WorkError(f"{said}. They are in {file.name} instead.")
    print(f"translations written to {path}", file=sys.stderr)
    return None


def one_line(text: str) -> str:
    """A translation in which the model wrote an end of line would become two lines."""
    return text.replace("\r", " ").replace("\n", " ")
