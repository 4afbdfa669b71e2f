"""Mend what docutils writes and a screen reader stumbles over.

- An entry of the bibliography gets the role ``doc-biblioentry``, which is deprecated and not what
  a list may hold.
- A table whose corner is empty gets an empty heading cell; an empty cell is all it is.
"""

from typing import Any

from sphinx.application import Sphinx

MENDED = {
    'role="doc-biblioentry"': 'role="listitem"',
    '<th class="head"><p></p></th>': '<td class="head"></td>',
    '<th class="head"></th>': '<td class="head"></td>',
}


def mend(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    for poor, sound in MENDED.items():
        if "body" in context:
            context["body"] = context["body"].replace(poor, sound)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
