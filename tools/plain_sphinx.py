"""Build the book with plain Sphinx, from the same _config.yml: the way out of Jupyter Book 1.

    python tools/plain_sphinx.py html       _build/plain/html: the pages that `make book` has
    python tools/plain_sphinx.py epub       _build/plain/epub: one file for readers of books
    python tools/plain_sphinx.py gettext    _build/plain/gettext: catalogues for translators

Jupyter Book 1 holds Sphinx at 7; this needs what pyproject.toml lists beside it, of any release.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
PLAIN = ROOT / "_build" / "plain"
OF_JUPYTER_BOOK = ("jupyter_book", "sphinx_comments")
OF_BROWSERS = ("sphinx_copybutton", "sphinx_tippy", "light_pages")
BUILDERS = ("html", "epub", "gettext")


def settings(builder: str) -> dict[str, Any]:
    """What Sphinx reads, made of _config.yml."""
    book = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    found = dict(book["sphinx"]["config"])
    extensions = [name for name in found["extensions"] if name not in OF_JUPYTER_BOOK]
    found |= {
        "project": book["title"],
        "html_title": book["title"],
        "author": book["author"],
        "copyright": book["copyright"],
        "version": "1",
        "exclude_patterns": [*book["exclude_patterns"], "**.ipynb_checkpoints"],
        "extensions": [*extensions, "sphinx_multitoc_numbering"],
        "external_toc_path": "_toc.yml",
        "external_toc_exclude_missing": True,
        "html_theme": "sphinx_book_theme",
        "html_sourcelink_suffix": "",
        "html_theme_options": found["html_theme_options"] | {"home_page_in_toc": True},
        "myst_enable_extensions": book["parse"]["myst_enable_extensions"],
        "myst_url_schemes": ["mailto", "http", "https"],
        "nb_execution_mode": "off",
        "numfig": True,
        "use_multitoc_numbering": True,
        "gettext_compact": False,  # a catalogue a page
        "html_static_path": [str(ROOT / folder) for folder in found["html_static_path"]],
        "templates_path": [str(ROOT / folder) for folder in found["templates_path"]],
        "html_favicon": str(ROOT / found["html_favicon"]),
        "bibtex_bibfiles": [str(ROOT / name) for name in found["bibtex_bibfiles"]],
    }
    if builder == "epub":
        found |= {
            "extensions": [
                *(name for name in found["extensions"] if name not in OF_BROWSERS),
                "epub_pages",
            ],
            "html_static_path": [str(ROOT / "book" / "_epub")],
            "html_math_renderer": "mathml",
            "templates_path": [],
            "html_css_files": [],
            "html_js_files": [],
            "epub_css_files": ["epub.css"],
            "epub_show_urls": "no",
            "epub_tocdepth": 2,
            "epub_tocscope": "includehidden",
        }
    return found


def main(builder: str) -> None:
    """Build; a warning fails."""
    PLAIN.mkdir(parents=True, exist_ok=True)
    for folder in (builder, f".doctrees-{builder}"):  # a page that was not mended would not be read
        shutil.rmtree(PLAIN / folder, ignore_errors=True)
    paths = [str(ROOT / folder) for folder in ("book/_extensions", "tools", "src")]
    lines = [f"import sys\nsys.path[:0] = {paths!r}"]
    lines += [f"{name} = {value!r}" for name, value in settings(builder).items()]
    (PLAIN / "conf.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder]
    command += ["-c", str(PLAIN), "-d", str(PLAIN / f".doctrees-{builder}")]
    command += [str(ROOT), str(PLAIN / builder)]
    if subprocess.run(command, check=False).returncode:
        sys.exit("The book was not built: mend the warnings above.")
    print(f"{(PLAIN / builder).relative_to(ROOT)}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [builder] if builder in BUILDERS:
            main(builder)
        case _:
            sys.exit(__doc__)
