"""A notebook that was handed in, as the sources of its code cells. It is read, never run, here."""

import errno
import hashlib
import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotated_transformer.errors import WorkError

MAX_BYTES = 4 * 2**20
MAX_CELLS = 2_000
MAX_SPECIAL_LINES = 50  # magics, shell commands, questions in one cell
MAX_SPECIAL_WORK = 400_000  # characters times special lines, of a whole notebook: under a second
SPECIAL = re.compile(r"^\s*[%!?]|[%!]\w|\?\s*$")


class UnreadableError(WorkError):
    """A file that is no notebook, as a sentence without its subject: "is larger than ..."."""


@dataclass(frozen=True)
class Submission:
    """The bytes of a file, as they were before any notebook of the class was run."""

    name: str
    data: bytes = b""
    problem: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the file; empty where it could not be read."""
        return hashlib.sha256(self.data).hexdigest() if self.data else ""

    def cells(self) -> list[tuple[int, str]]:
        """Number (from 1, over all cells) and source of each code cell. Raises UnreadableError."""
        if self.problem:
            raise UnreadableError(self.problem)
        try:
            tree = json.loads(self.data)
        except (ValueError, RecursionError):
            raise UnreadableError("is not a notebook (no JSON); save it as .ipynb") from None
        return _code_cells(tree)


def read_submission(path: Path) -> Submission:
    """Take the bytes of a file; what is wrong with it is said when its cells are asked for.

    A link is not followed: it would earn the marks of what it points to. Nothing is waited for, as
    it would be at the end of a pipe.
    """
    try:
        data = _bytes_of(path)
    except UnreadableError as error:
        return Submission(str(path), problem=str(error))
    except OSError as error:
        return Submission(str(path), problem=f"cannot be read ({error.strerror or error})")
    if len(data) > MAX_BYTES:
        problem = f"is larger than {MAX_BYTES // 2**20} MiB; clear its outputs and save it again"
        return Submission(str(path), problem=problem)
    return Submission(str(path), data)


def _bytes_of(path: Path) -> bytes:
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnreadableError("is a link to another file; hand in the file itself") from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise UnreadableError("is no ordinary file")
    with open(descriptor, "rb") as file:
        return file.read(MAX_BYTES + 1)


def _code_cells(tree: Any) -> list[tuple[int, str]]:
    if not isinstance(tree, dict) or not isinstance(tree.get("cells"), list):
        raise UnreadableError("is not a notebook of format 4 (no list of cells); save it anew")
    found, work = [], 0
    for number, cell in enumerate(tree["cells"][:MAX_CELLS], 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source")
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        if not isinstance(source, str) or not source.strip():
            continue
        special = sum(1 for line in source.splitlines() if SPECIAL.search(line))
        work += special * len(source)
        if 0 < special <= MAX_SPECIAL_LINES and work <= MAX_SPECIAL_WORK:
            source = _as_python(source)
        found.append((number, source))
    return found


def _as_python(source: str) -> str:
    """Magics and shell lines as the calls that IPython makes of them; anything else as it is."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        python: str = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
    except Exception:  # the cell will say so itself when it is run
        return source
    return python
