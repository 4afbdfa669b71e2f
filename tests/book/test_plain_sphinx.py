"""The way out of Jupyter Book 1, which is in maintenance: plain Sphinx builds the same pages."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
ONLY_OF_JUPYTER_BOOK = ("jupyter_book", "sphinx_comments")
SOURCES = ("book", "notebooks", "src", "README.md", "CONTRIBUTING.md")


def articles(site: Path) -> dict[str, str]:
    """What each page of a site says, without menus."""
    found = {}
    for path in site.rglob("*.html"):
        name = path.relative_to(site).as_posix()
        article = re.search(r"<article.*?</article>", path.read_text(encoding="utf-8"), re.DOTALL)
        if article and not name.startswith("_static"):
            found[name] = re.sub(r"\s+", " ", article[0])
    return found


@pytest.mark.slow
def test_plain_sphinx_builds_the_same_pages(tmp_path: Path) -> None:
    if not (SITE / "book" / "index.html").exists():
        pytest.skip("the site is not built: run `make book` first")
    for name in SOURCES:
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build" / "static").symlink_to(ROOT / "_build" / "static")
    for name in ("_config.yml", "_toc.yml"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    scripts = Path(sys.executable).parent
    subprocess.run([scripts / "jupyter-book", "config", "sphinx", tmp_path], check=True)
    conf = tmp_path / "conf.py"
    text = conf.read_text(encoding="utf-8")
    for name in ONLY_OF_JUPYTER_BOOK:
        assert f"'{name}', " in text
        text = text.replace(f"'{name}', ", "")
    extensions = f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_extensions')!r})\n"
    conf.write_text(extensions + text, encoding="utf-8")
    out = tmp_path / "site"
    command = [scripts / "sphinx-build", "-q", "-W", "-b", "html", tmp_path, out]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    ours, plain = articles(SITE), articles(out)
    assert ours.keys() == plain.keys()
    assert [name for name in ours if ours[name] != plain[name]] == []
