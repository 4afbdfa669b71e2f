"""Notebook cells that settle a fact: their metadata names it, and they assert what they claim."""

import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NOTEBOOKS = Path("notebooks")


@dataclass(frozen=True)
class LedgerCell:
    """A code cell with `"ledger": "FACT"` or `"ledger": ["FACT", ...]` in its metadata.

    Attributes:
        notebook: the file's name without .ipynb.
        number: the cell's place in the notebook, counted from 0.
        facts: the ids it settles.
        heading: the nearest heading above it.
        asserts: whether it contains an `assert`.
        output: what it printed, as stored and as the strict notebook tests hold it.
    """

    notebook: str
    number: int
    facts: tuple[str, ...]
    heading: str
    asserts: bool
    output: str

    @property
    def place(self) -> str:
        """Where it is, for a message."""
        return f"notebooks/{self.notebook}.ipynb, cell {self.number}"


def find_ledger_cells(notebooks: Path = NOTEBOOKS) -> list[LedgerCell]:
    """Every ledger cell of every chapter, in order."""
    return [cell for path in sorted(notebooks.glob("*.ipynb")) for cell in _cells_of_notebook(path)]


def _cells_of_notebook(path: Path) -> list[LedgerCell]:
    cells = []
    heading = ""
    for number, cell in enumerate(json.loads(path.read_text("utf-8"))["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            headings = re.findall(r"^#{1,4} +(.+?) *$", source, flags=re.MULTILINE)
            heading = (
                re.sub(r"^.+ · \d+ min · ", "", headings[-1]) if headings else heading
            )  # a lane
        named = cell["metadata"].get("ledger", [])
        if cell["cell_type"] == "code" and named:
            facts = (named,) if isinstance(named, str) else tuple(named)
            cells.append(
                LedgerCell(
                    path.stem, number, facts, heading, contains_assert(source), printed(cell)
                )
            )
    return cells


def contains_assert(source: str) -> bool:
    """Whether Python source has an assert statement; lines of IPython's own are left out."""
    lines = [line for line in source.splitlines() if not line.startswith(("%", "!"))]
    try:
        tree = ast.parse("\n".join(lines))
    except SyntaxError:
        return False
    return any(isinstance(node, ast.Assert) for node in ast.walk(tree))


def printed(cell: dict[str, Any]) -> str:
    """The cell's stored standard output; "" if it printed nothing."""
    return "".join(
        "".join(output["text"])
        for output in cell.get("outputs", [])
        if output.get("output_type") == "stream" and output.get("name") == "stdout"
    ).strip("\n")
