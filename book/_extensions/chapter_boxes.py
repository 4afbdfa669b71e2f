"""Give the boxes and the exercises of a chapter their look on the site.

In a notebook a box is a plain block quote that begins with its name in bold, so that it reads well
in JupyterLab and in Colab too. Here each such quote gets the classes ``box`` and ``box-<name>``
("Common trap." becomes ``box-common-trap``), which book/_static/book.css styles. A section whose
heading says "Exercise 2.1: ..." gets the class ``exercise``.
"""

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

EXERCISE = re.compile(r"Exercise \d+\.\d+:")
FURNITURE = re.compile(r"[^a-z0-9]+")


def box_name(quote: nodes.block_quote) -> str | None:
    """The name of a box as a class ("common-trap"); None for an ordinary quotation."""
    paragraph = quote.next_node(nodes.paragraph)
    first = next((x for x in paragraph.children if x.astext()), None) if paragraph else None
    if not isinstance(first, nodes.strong):
        return None
    label = re.split(r"[.:?!(]", first.astext())[0]
    return FURNITURE.sub("-", label.lower()).strip("-") or None


class ChapterBoxes(SphinxTransform):
    """Mark the block quotes that are boxes, and the sections that are exercises."""

    default_priority = 500

    def apply(self, **_: Any) -> None:
        for quote in self.document.findall(nodes.block_quote):
            if name := box_name(quote):
                quote["classes"] += ["box", f"box-{name}"]
        for section in self.document.findall(nodes.section):
            title = section.next_node(nodes.title)
            if title is not None and EXERCISE.match(title.astext()):
                section["classes"].append("exercise")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(ChapterBoxes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
