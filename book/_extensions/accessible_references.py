"""Mend the roles of the bibliography: docutils calls an entry of its list ``doc-biblioentry``.

That role is deprecated, and a list's children must be list items.
"""

from typing import Any

from sphinx.application import Sphinx


def mend_roles(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
) -> None:
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", mend_roles)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
