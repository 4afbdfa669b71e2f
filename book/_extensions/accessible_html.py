"""Mend what docutils and the theme write and a screen reader stumbles over.

- An entry of the bibliography gets the role ``doc-biblioentry``, which is deprecated and not what
  a list may hold.
- A table whose corner is empty gets an empty heading cell; an empty cell is all it is.
- The theme's parts in book/_templates stand in for files of the theme with the same names.

All of this leans on how another project writes its pages today. A mend that finds nothing to mend
would be lost without a word, so the build fails instead and says which.
"""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


@dataclass(frozen=True)
class Mend:
    """Text that docutils writes, what stands in its place, and what no page may hold afterwards."""

    poor: str
    sound: str
    unwanted: re.Pattern[str]


EMPTY_HEADING = re.compile(r"<th\b[^>]*>(?:\s|&nbsp;|&#160;|</?p\b[^>]*>)*</th>")
MENDS = (
    Mend('role="doc-biblioentry"', 'role="listitem"', re.compile(r'role="[^"]*doc-biblioentry')),
    Mend('<th class="head"><p></p></th>', '<td class="head"></td>', EMPTY_HEADING),
)


def mended(body: str, pagename: str, found: Counter[Mend]) -> str:
    """The text of a page with every mend made, each counted in `found`.

    Raises:
        ExtensionError: if the page still holds what a mend is to take away, written otherwise.
    """
    for mend in MENDS:
        found[mend] += body.count(mend.poor)
        body = body.replace(mend.poor, mend.sound)
    for mend in MENDS:
        if left := mend.unwanted.search(body):
            raise ExtensionError(
                f"{pagename}: {left[0]!r} is what the mend of {mend.poor!r} should have taken "
                "away, and it is written otherwise now: bring MENDS in "
                "book/_extensions/accessible_html.py in step with this version of docutils."
            )
    return body


def check_every_mend_was_needed(found: Counter[Mend]) -> None:
    """Raises ExtensionError for a mend that no page of the book needed."""
    for mend in MENDS:
        if not found[mend]:
            raise ExtensionError(
                f"{mend.poor!r} was found on no page, so its mend did nothing: docutils writes it "
                "otherwise now, or the book no longer needs it. Bring MENDS in "
                "book/_extensions/accessible_html.py in step, or take the mend out."
            )


def check_parts_of_the_theme(ours: list[Path], theme: list[Path]) -> None:
    """Raises ExtensionError for a template of ours that replaces nothing in the theme."""
    names = {path.name for folder in theme for path in folder.rglob("*.html")}
    for path in (path for folder in ours for path in sorted(folder.rglob("*.html"))):
        if path.name not in names:
            raise ExtensionError(
                f"{path.name} in book/_templates replaces no part of the theme: this version of "
                "the theme has no file of that name. See what it calls that part now."
            )


def setup(app: Sphinx) -> dict[str, bool]:
    found: Counter[Mend] = Counter()

    def begin(app: Sphinx) -> None:
        if app.builder.name == "html":
            ours = [Path(app.confdir, folder) for folder in app.config.templates_path]
            theme = [Path(folder) for folder in app.builder.theme.get_theme_dirs()]
            check_parts_of_the_theme(ours, theme)

    def mend_page(
        app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: object
    ) -> None:
        if "body" in context:
            context["body"] = mended(context["body"], pagename, found)

    def end(app: Sphinx, exception: Exception | None) -> None:
        if exception is None and app.builder.name == "html":
            check_every_mend_was_needed(found)

    app.connect("builder-inited", begin)
    app.connect("html-page-context", mend_page)
    app.connect("build-finished", end)
    return {"parallel_read_safe": True, "parallel_write_safe": False}  # one process counts
