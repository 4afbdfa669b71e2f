"""Links to chapters inside figures lead to pages on the site, as they lead to notebooks elsewhere.

A figure is the output of a cell, which no builder looks into: the drawing of the model links to
"05_encoder.ipynb", which is right beside the notebook and in JupyterLab. Here it becomes the page.
"""

import re
from typing import Any

from sphinx.application import Sphinx

# On the site a link's or fold's visible words are its name; a label of its own says other ones.
LABEL = re.compile(r'(<a href="(?:\.\./notebooks/)?\d\d_\w+\.html"|<summary) aria-label="[^"]*"')
LINK = re.compile(r'<a xlink:href="((?:\.\./notebooks/)?\d\d_\w+)\.ipynb"')


def lead_to_pages(app: Sphinx, page: str, template: str, context: dict[str, Any], _: Any) -> None:
    """Rewrite the links of a page's body."""
    if "body" in context:
        context["body"] = LABEL.sub(r"\1", LINK.sub(r'<a href="\1.html"', context["body"]))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", lead_to_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
