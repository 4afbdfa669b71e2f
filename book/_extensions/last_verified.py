"""At the end of a chapter: when it last ran strictly, as the tests run it, and with what.

`results/verified.json` says so (`tools/verified.py` writes it after such a run). A chapter that has
changed since then says nothing.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from docutils import nodes  # type: ignore[import-untyped]
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
RECORD = ROOT / "results" / "verified.json"


def content_of(notebook: dict[str, Any]) -> str:
    """A digest of the chapter: the cells' tags, sources and stored texts (not of the package)."""
    cells = [
        [
            cell["cell_type"],
            sorted(cell["metadata"].get("tags", [])),
            "".join(cell["source"]),
            *map(text_of, cell.get("outputs", [])),
        ]
        for cell in notebook["cells"]
    ]
    return hashlib.sha256(json.dumps(cells).encode("utf-8")).hexdigest()


def text_of(output: dict[str, Any]) -> str:
    """What an output says, without its pictures."""
    plain = output.get("text") or output.get("data", {}).get("text/plain", "")
    return "".join(plain)


def sentence(chapter: str, notebook: dict[str, Any], record: dict[str, Any]) -> str:
    """What a chapter says of its last strict run; "" if it has changed since then."""
    last = record.get(chapter)
    if last is None or last["content"] != content_of(notebook):
        return ""
    return (
        f"Last run on {last['date']}, every output that is compared as it stands here, with torch "
        f"{last['torch']}, Python {last['python']} and {last['system']}."
    )


def add_sentence(app: Sphinx, doctree: nodes.document) -> None:
    """Behind the chapter's last section."""
    folder, _, chapter = app.env.docname.partition("/")
    if folder != "notebooks" or not RECORD.is_file():
        return
    app.env.note_dependency(str(RECORD))
    path = Path(app.srcdir) / "notebooks" / f"{chapter}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    says = sentence(chapter, notebook, json.loads(RECORD.read_text(encoding="utf-8")))
    if says:
        doctree[0].append(nodes.paragraph("", says, classes=["last-verified"]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", add_sentence)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
