"""What an EPUB needs that a site has not: formulas as MathML, and pages that are XML.

MathJax, which the site loads, turns every formula into MathML once, in Node. A page of the site may
hold HTML that is no XML, scripts, buttons and fields; here they are left out, and what they would
have shown is read on the site.
"""

import json
import posixpath
import re
import shutil
import subprocess
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from bs4 import BeautifulSoup
from docutils import nodes  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
CONVERT = """
const given = JSON.parse(require("fs").readFileSync(0, "utf-8"));
require("mathjax").init({loader: {load: ["input/tex"]}}).then(async (MathJax) => {
  const made = [];
  for (const [tex, display] of given) made.push(await MathJax.tex2mmlPromise(tex, {display}));
  process.stdout.write(JSON.stringify(made));
});
"""
NOT_IN_A_BOOK = [
    *("script", "button", "input", "select", "textarea", "iframe", "form", "template", "style"),
    "noscript",
]
DROPPED = re.compile(r"on\w+|data-.*|tabindex|loading|open")  # attributes
NAME = re.compile(r"[A-Za-z_:][\w:.-]*")
OF_SVG = {  # what a parser of HTML writes small, and XML has not
    **{"viewbox": "viewBox", "preserveaspectratio": "preserveAspectRatio", "refx": "refX"},
    **{"markerwidth": "markerWidth", "markerheight": "markerHeight", "refy": "refY"},
    **{"textlength": "textLength", "lengthadjust": "lengthAdjust"},
}

formulas: dict[tuple[str, bool], str] = {}  # TeX, and whether it stands alone -> MathML


def convert(wanted: list[tuple[str, bool]]) -> None:
    """Fill `formulas`.

    Raises:
        ExtensionError: Node or MathJax is not there, or a formula is none.
    """
    if shutil.which("node") is None or not (ROOT / "node_modules" / "mathjax").is_dir():
        raise ExtensionError("an EPUB's formulas need node and `make node_modules/.installed`")
    done = subprocess.run(
        ["node", "-e", CONVERT],
        cwd=ROOT,
        input=json.dumps(wanted),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise ExtensionError(f"MathJax: {done.stderr[-500:]}")
    made = json.loads(done.stdout)
    for key, markup in zip(wanted, made, strict=True):
        if "<merror" in markup:
            raise ExtensionError(f"MathJax does not understand {key[0]!r}")
        formulas[key] = markup


def gather(app: Sphinx, env: Any) -> None:
    """Convert every formula of the book in one go."""
    found = {
        (node.astext(), isinstance(node, nodes.math_block))
        for name in env.all_docs
        for node in env.get_doctree(name).findall(
            lambda node: isinstance(node, nodes.math | nodes.math_block)
        )
    }
    convert(sorted(found))


def visit_inline(self: Any, node: nodes.Node) -> None:
    """A formula in a line."""
    self.body.append(formulas[node.astext(), False])
    raise nodes.SkipNode


def visit_block(self: Any, node: nodes.Node) -> None:
    """A formula by itself."""
    self.body.append(f'<div class="math">{formulas[node.astext(), True]}</div>')
    raise nodes.SkipNode


def parsed(page: str) -> BeautifulSoup:
    """A page without what only a browser with scripts can use."""
    soup = BeautifulSoup(page, "lxml")
    for part in soup.find_all(NOT_IN_A_BOOK):
        part.decompose()
    for part in soup.find_all("svg"):
        part["xmlns"] = "http://www.w3.org/2000/svg"
    for part in soup.find_all("p"):
        if part.find_parent(["summary", "span", "a", "label", "p"]):
            part.name = "span"
    for part in soup.find_all(True):
        in_svg = part.name == "svg" or part.find_parent("svg")
        part.attrs = {
            OF_SVG.get(name, name) if in_svg else name: value
            for name, value in part.attrs.items()
            if NAME.fullmatch(name)
            and not DROPPED.fullmatch(name)
            and (part.name, name) not in (("details", "name"), ("a", "name"))
        }
    soup.html["xmlns"] = "http://www.w3.org/1999/xhtml"
    soup.html["xmlns:epub"] = "http://www.idpf.org/2007/ops"
    return soup


def lead_inside(soup: BeautifulSoup, name: str, ids: Mapping[str, set[str]]) -> None:
    """Links lead to pages of the book and to places that they have, or elsewhere, or are none.

    Args:
        name: of the page in the book.
        ids: the files of the book, and what ids each has.
    """
    here = PurePosixPath(name).parent
    for part in soup.find_all(["a", "link", "img", "image"]):
        kind = next((name for name in ("href", "src", "xlink:href") if part.has_attr(name)), None)
        if kind is None:  # a place that others lead to
            continue
        url = str(part[kind])
        if re.match(r"[a-z]+:", url):
            continue
        path, _, place = url.partition("#")
        target = posixpath.normpath(str(here / path)) if path else name
        if target.endswith(".html"):
            target = target.removesuffix("html") + "xhtml"
        if target not in ids and part.name == "a":
            part.unwrap()  # its words stay
            continue
        if target not in ids:
            part.decompose()
            continue
        place = f"#{place}" if unquote(place) in ids[target] else ""
        if not path and not place:
            part.unwrap()
        else:
            part[kind] = (posixpath.relpath(target, here) if path else "") + place


def in_step(package: str, pages: Mapping[str, BeautifulSoup], order: Sequence[str]) -> str:
    """content.opf that says which pages hold pictures and formulas, and names the pages in order.

    Args:
        package: content.opf.
        pages: by their names.
        order: of reading, names of pages.
    """
    numbers = {item[2]: item[1] for item in ITEM.finditer(package)}
    reading = [*order, *(name for name in pages if name not in order)]
    spine = "".join(f'\n    <itemref idref="{numbers[name]}" />' for name in reading)

    def with_properties(item: re.Match[str]) -> str:
        held = [kind for kind, tag in HELD.items() if item[2] in pages and pages[item[2]].find(tag)]
        return item[0].replace("/>", f'properties="{" ".join(held)}" />') if held else item[0]

    package = re.sub(r"\s*<itemref [^>]*/>", "", package)
    package = re.sub(r"(<spine [^>]*>)", lambda begin: begin[1] + spine, package)
    return ITEM.sub(with_properties, package)


ITEM = re.compile(r'<item id="([^"]+)" href="([^"]+)"[^>]*/>')
HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE html>\n'
HELD = {"mathml": "math", "svg": "svg"}


def mend_book(app: Sphinx, exception: Exception | None) -> None:
    """Write the EPUB once more: its pages as XML, whose links lead to what is there."""
    if exception is not None or app.builder.name != "epub":
        return
    for path in Path(app.outdir).glob("*.epub"):
        with zipfile.ZipFile(path) as old:
            entries = {entry: old.read(entry) for entry in old.infolist()}
        pages = {
            entry.filename: parsed(content.decode("utf-8"))
            for entry, content in entries.items()
            if entry.filename.endswith(".xhtml") and entry.filename != "nav.xhtml"
        }
        ids: dict[str, set[str]] = {entry.filename: set() for entry in entries}
        ids |= {
            name: {str(part["id"]) for part in soup.find_all(id=True)}
            for name, soup in pages.items()
        }
        menu = next(text for entry, text in entries.items() if entry.filename == "nav.xhtml")
        links = re.findall(r'href="([^"#]+)"', menu.decode("utf-8"))
        order = list(dict.fromkeys(posixpath.normpath(link) for link in links))
        mended = path.with_suffix(".new")
        with zipfile.ZipFile(mended, "w") as new:
            for entry, content in entries.items():
                name = entry.filename
                if name in pages:
                    lead_inside(pages[name], name, ids)
                    content = f"{HEAD}{pages[name].html}\n".encode()
                elif name in ("nav.xhtml", "toc.ncx"):
                    # Their links go by way of the first page's folder.
                    content = content.replace(b"book/../", b"")
                elif name == "content.opf":
                    content = in_step(content.decode("utf-8"), pages, order).encode("utf-8")
                new.writestr(entry, content)
        mended.replace(path)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("env-updated", gather)
    app.connect("build-finished", mend_book)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
