"""A notebook that was handed in, as the sources of its code cells. It is read, never run, here."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotated_transformer.errors import WorkError

MAX_BYTES = 32 * 2**20
MAX_CELLS = 2_000


class UnreadableError(WorkError):
    """A file that is no notebook, as a sentence without its subject: "is larger than ..."."""


@dataclass(frozen=True)
class Submission:
    """cells: number (from 1, over all cells) and source of each code cell. digest: SHA-256."""

    name: str
    digest: str
    cells: tuple[tuple[int, str], ...]


def read_submission(path: Path) -> Submission:
    """Read a notebook. Raises UnreadableError for what is none; nothing in it is trusted."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UnreadableError(f"cannot be read ({error.strerror or error})") from None
    if len(data) > MAX_BYTES:
        raise UnreadableError(f"is larger than {MAX_BYTES // 2**20} MiB; clear its outputs")
    try:
        tree = json.loads(data)
    except (ValueError, RecursionError):
        raise UnreadableError("is not a notebook (no JSON); save it as .ipynb") from None
    return Submission(str(path), hashlib.sha256(data).hexdigest(), tuple(_code_cells(tree)))


def _code_cells(tree: Any) -> list[tuple[int, str]]:
    if not isinstance(tree, dict) or not isinstance(tree.get("cells"), list):
        raise UnreadableError("is not a notebook of format 4 (no list of cells); save it anew")
    found = []
    for number, cell in enumerate(tree["cells"][:MAX_CELLS], 1):
        if not isinstance(cell, dict) or cell.get("cell_type") != "code":
            continue
        source = cell.get("source")
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        if isinstance(source, str) and source.strip():
            found.append((number, _as_python(source)))
    return found


def _as_python(source: str) -> str:
    """Magics and shell lines as the calls that IPython makes of them; anything else as it is."""
    from IPython.core.inputtransformer2 import TransformerManager

    try:
        python: str = TransformerManager().transform_cell(source)  # type: ignore[no-untyped-call]
        return python
    except SyntaxError:  # the cell will say so itself when it is run
        return source
