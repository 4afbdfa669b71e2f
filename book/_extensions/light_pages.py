"""Take from the built pages what the theme loads on each and none of ours needs.

- Font Awesome as a program of 1.5 MB: the theme's style sheet has the same icons as a font.
- The index of the search: only the page with the results reads it, since nothing is searched while
  one types.
- MathJax, on pages without a formula.

What is taken away is the theme's own wording, so the build fails where it is found nowhere.
"""

import re
from collections import Counter
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

SCRIPT = r'<script[^>]* src="[^"]*{}[^"]*"></script>\s*'
NOT_NEEDED = {
    "Font Awesome": re.compile(SCRIPT.format(r"scripts/fontawesome\.js")),
    "the search": re.compile(SCRIPT.format(r"(?:searchtools|language_data|searchindex)\.js")),
    "MathJax": re.compile(
        r"<script>window\.MathJax = .*?</script>\s*" + SCRIPT.format(r"_static/mathjax/")
    ),
}


def lightened(page: str, name: str, found: Counter[str]) -> str:
    """A page without what it does not need; each that was found is counted."""
    wanted = {"the search": name == "search.html", "MathJax": 'class="math' in page}
    for what, pattern in NOT_NEEDED.items():
        if not wanted.get(what, False):
            page, number = pattern.subn("", page)
            found[what] += number
    return page


def check_all_was_found(found: Counter[str]) -> None:
    """Raises ExtensionError for what no page of the theme had."""
    if missing := [what for what in NOT_NEEDED if not found[what]]:
        raise ExtensionError(
            f"{', '.join(missing)}: no page loads this in the way that NOT_NEEDED in "
            "book/_extensions/light_pages.py takes away: bring it in step with the theme, or take "
            "it out."
        )


def setup(app: Sphinx) -> dict[str, bool]:
    def end(app: Sphinx, exception: Exception | None) -> None:
        if exception is None and app.builder.format == "html":
            found: Counter[str] = Counter()
            for path in sorted(Path(app.outdir).rglob("*.html")):
                page = path.read_text(encoding="utf-8")
                light = lightened(page, path.name, found)
                if light != page:
                    path.write_text(light, encoding="utf-8")
            check_all_was_found(found)

    app.connect("build-finished", end)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
