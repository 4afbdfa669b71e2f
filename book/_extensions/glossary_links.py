"""In a chapter, the first time a term of the glossary is used it links to its entry.

In a lane, which is folded at first, only where the core has not done so: who reads the core alone
finds every term there.

A chapter is a notebook in plain Markdown, which has no way to write such a link that JupyterLab
would understand; on the site every term gets one, and with it the card that opens on hover.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

from lane_folds import in_a_lane

# Terms that are everyday words too: "from memory", "the value of n", "without much loss".
EVERYDAY_WORDS = {"key", "loss", "memory", "scaling", "score", "value"}
NO_LINK_INSIDE = (
    nodes.title,
    nodes.literal,
    nodes.literal_block,
    nodes.reference,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.strong,
    addnodes.pending_xref,
)


@cache
def terms_of(text: str) -> tuple[str, ...]:
    """The terms of the glossary page with this text that mean nothing else, the longest first."""
    block = text[text.index("```{glossary}") :]
    terms = re.findall(r"^(\w.*)$", block, re.MULTILINE)
    return tuple(sorted(set(terms) - EVERYDAY_WORDS, key=len, reverse=True))


def pattern_of(terms: tuple[str, ...]) -> re.Pattern[str]:
    """Any of the terms as a whole word, in the singular or with an s."""
    return re.compile(rf"\b({'|'.join(map(re.escape, terms))})s?\b", re.IGNORECASE)


def linked(text: str, pattern: re.Pattern[str], seen: set[str]) -> list[nodes.Node]:
    """The text in pieces: plain ones, and links for terms not yet in `seen`, which grows."""
    pieces: list[nodes.Node] = []
    start = 0
    for found in pattern.finditer(text):
        term = found[1].lower()
        if term in seen:
            continue
        seen.add(term)
        link = addnodes.pending_xref(
            "", refdomain="std", reftype="term", reftarget=found[1], refexplicit=True, refwarn=True
        )
        link += nodes.inline("", found[0], classes=["xref", "std", "std-term"])
        pieces += [nodes.Text(text[start : found.start()]), link]
        start = found.end()
    return [*pieces, nodes.Text(text[start:])]


class GlossaryLinks(SphinxTransform):
    """Link the first use of each term in the paragraphs of a chapter."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        if not self.env.docname.startswith("notebooks/"):
            return
        glossary = Path(self.app.srcdir) / "book" / "glossary.md"
        self.env.note_dependency(str(glossary))
        pattern = pattern_of(terms_of(glossary.read_text(encoding="utf-8")))
        in_core: set[str] = set()
        anywhere: set[str] = set()
        for paragraph in list(self.document.findall(nodes.paragraph)):
            if isinstance(paragraph.parent, nodes.entry):
                continue  # a cell of a table: often the very place where the word is explained
            seen = anywhere if in_a_lane(paragraph) else in_core
            for text in list(paragraph.findall(nodes.Text)):
                if _may_hold_a_link(text, paragraph):
                    pieces = linked(text.astext(), pattern, seen)
                    anywhere |= seen
                    if len(pieces) > 1 and text.parent is not None:
                        text.parent.replace(text, pieces)


def _may_hold_a_link(text: nodes.Text, paragraph: nodes.paragraph) -> bool:
    node: nodes.Node | None = text.parent
    while node is not None and node is not paragraph:
        if isinstance(node, NO_LINK_INSIDE):
            return False
        node = node.parent
    return True


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(GlossaryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
