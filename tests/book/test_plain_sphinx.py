"""The way out of Jupyter Book 1, which is in maintenance: plain Sphinx builds the same pages."""

import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
MENU = "{http://www.w3.org/1999/xhtml}"


def articles(site: Path) -> dict[str, str]:
    """What each page of a site says, without menus."""
    found = {}
    for path in site.rglob("*.html"):
        name = path.relative_to(site).as_posix()
        article = re.search(r"<article.*?</article>", path.read_text(encoding="utf-8"), re.DOTALL)
        if article and not name.startswith("_static"):
            found[name] = re.sub(r"\s+", " ", article[0])
    return found


def built(builder: str) -> Path:
    """The folder that a builder of plain Sphinx fills, without a warning."""
    if not (ROOT / "_build" / "static" / ".copied").exists():
        pytest.skip("what pages load is not here: run `make book` first")
    command = [sys.executable, ROOT / "tools" / "plain_sphinx.py", builder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return ROOT / "_build" / "plain" / builder


@pytest.mark.slow
def test_plain_sphinx_builds_the_same_pages() -> None:
    if not (SITE / "book" / "index.html").exists():
        pytest.skip("the site is not built: run `make book` first")
    ours, plain = articles(SITE), articles(built("html"))
    assert ours.keys() == plain.keys()
    assert len(ours) > 50
    assert [name for name in ours if ours[name] != plain[name]] == []


@pytest.mark.slow
def test_an_epub_has_every_page_in_order_its_formulas_and_its_pictures() -> None:
    [path] = built("epub").glob("*.epub")
    with zipfile.ZipFile(path) as book:
        names = book.namelist()
        pages = {name: book.read(name) for name in names if name.endswith(".xhtml")}
    for name, page in pages.items():
        ElementTree.fromstring(page)  # well-formed
        assert b"<script" not in page, name
    chapters = [path.stem for path in sorted((ROOT / "notebooks").glob("*.ipynb"))]
    menu = ElementTree.fromstring(pages["nav.xhtml"])
    links = [link.get("href", "") for link in menu.iter(f"{MENU}a")]
    in_menu = [link for link in links if link.startswith("notebooks/") and "#" not in link]
    assert [Path(link).stem for link in in_menu] == chapters
    formulas = pages["notebooks/02_attention.xhtml"].count(b"<math ")
    assert formulas > 50
    pictures = [name for name in names if name.startswith("_images/")]
    assert len(pictures) > 50
    if checker := shutil.which("epubcheck", path=str(Path(sys.executable).parent)):
        done = subprocess.run([checker, path], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.slow
def test_catalogues_for_translators_hold_every_page() -> None:
    catalogues = built("gettext")
    for name in ("book/glossary", "notebooks/02_attention"):
        text = (catalogues / f"{name}.pot").read_text("utf-8")
        assert text.count("\nmsgid ") > 50, name
