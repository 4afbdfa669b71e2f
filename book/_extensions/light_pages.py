"""Take from the built pages what the theme loads on each and none of ours needs.

- Font Awesome as a program of 1.5 MB: the theme's style sheet has the same icons as a font.
- The index of the search: only the page with the results reads it, since nothing is searched while
  one types.
- MathJax, on pages without a formula.

What is taken away is the theme's own wording, so the build fails where something of it stays.
"""

import re
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
TRACES = {  # what a page holds as long as it loads them, however that is written
    "Font Awesome": re.compile(r"scripts/fontawesome\.js"),
    "the search": re.compile(r"(?:searchtools|language_data|searchindex)\.js"),
    "MathJax": re.compile(r"_static/mathjax/"),
}


def lightened(page: str, name: str) -> str:
    """A page without what it does not need.

    Raises:
        ExtensionError: if it still loads something of it.
    """
    wanted = {"the search": name == "search.html", "MathJax": 'class="math' in page}
    for what, pattern in NOT_NEEDED.items():
        if wanted.get(what, False):
            continue
        page = pattern.sub("", page)
        if TRACES[what].search(page):
            raise ExtensionError(
                f"{name} loads {what} in another way than NOT_NEEDED in "
                "book/_extensions/light_pages.py takes away: bring it in step with the theme."
            )
    return page


def setup(app: Sphinx) -> dict[str, bool]:
    def end(app: Sphinx, exception: Exception | None) -> None:
        if exception is None and app.builder.name == "html":
            for path in sorted(Path(app.outdir).rglob("*.html")):
                page = path.read_text(encoding="utf-8")
                light = lightened(page, path.name)
                if light != page:
                    path.write_text(light, encoding="utf-8")

    app.connect("build-finished", end)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
