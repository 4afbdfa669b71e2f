"""What the site's extensions mend: each fails with a sentence where it finds nothing to mend."""

from collections import Counter
from pathlib import Path

import pytest
from sphinx.errors import ExtensionError

import glossary_links
import last_verified
import light_pages
import notebook_links
from accessible_html import (
    MENDS,
    Mend,
    check_every_mend_was_needed,
    check_parts_of_the_theme,
    mended,
)

ENTRY, CORNER = MENDS


def test_a_page_is_mended_and_every_mend_counted() -> None:
    found: Counter[Mend] = Counter()
    page = f"<div {ENTRY.poor}></div><table><tr>{CORNER.poor}{CORNER.poor}</tr></table>"
    assert mended(page, "page", found) == (
        f"<div {ENTRY.sound}></div><table><tr>{CORNER.sound}{CORNER.sound}</tr></table>"
    )
    assert mended("<p>Nothing to mend.</p>", "other", found) == "<p>Nothing to mend.</p>"
    assert found == {ENTRY: 1, CORNER: 2}
    check_every_mend_was_needed(found)


@pytest.mark.parametrize(
    ("otherwise", "mend"),
    [
        ('<div class="x" role="listitem doc-biblioentry">', ENTRY),
        ('<th class="head stub"></th>', CORNER),
        ('<th class="head">\n<p class="y"> </p>\n</th>', CORNER),
        ("<th>&nbsp;</th>", CORNER),
    ],
)
def test_what_is_written_otherwise_fails_the_build(otherwise: str, mend: Mend) -> None:
    with pytest.raises(ExtensionError, match=r"page: .* written otherwise now") as raised:
        mended(f"<p>Text.</p>{otherwise}", "page", Counter())
    assert repr(mend.poor) in str(raised.value)


@pytest.mark.parametrize("mend", MENDS)
def test_a_mend_that_no_page_needed_fails_the_build(mend: Mend) -> None:
    found = Counter({other: 1 for other in MENDS if other is not mend})
    with pytest.raises(ExtensionError, match="found on no page") as raised:
        check_every_mend_was_needed(found)
    assert repr(mend.poor) in str(raised.value)


def test_a_part_that_the_theme_no_longer_has_fails_the_build(tmp_path: Path) -> None:
    ours, theme = tmp_path / "ours", tmp_path / "theme"
    for folder, name in ((ours, "switch.html"), (theme / "components", "switch.html")):
        folder.mkdir(parents=True)
        (folder / name).touch()
    check_parts_of_the_theme([ours], [theme])
    (theme / "components" / "switch.html").rename(theme / "components" / "toggle.html")
    with pytest.raises(ExtensionError, match=r"switch\.html in book/_templates replaces no part"):
        check_parts_of_the_theme([ours], [theme])


def test_a_link_of_a_figure_leads_to_the_page() -> None:
    begin = '<a xlink:href="05_encoder.ipynb" aria-label="Encoder"'
    drawn = f"{begin}><rect/></a> 05_encoder.ipynb"
    context = {"body": drawn + '<a href="https://example.org/x.ipynb">'}
    notebook_links.lead_to_pages(None, "page", "page.html", context, None)  # type: ignore[arg-type]
    assert context["body"] == (
        drawn.replace(begin, '<a href="05_encoder.html"') + '<a href="https://example.org/x.ipynb">'
    )


def test_the_first_use_of_a_term_links_and_no_other() -> None:
    glossary = (
        "# Glossary\n\nSoftmax stands here too.\n\n```{glossary}\nattention\n  A way.\n\n"
        "attention weights\n  Shares.\n\nmemory\n  The output.\n```\n"
    )
    terms = glossary_links.terms_of(glossary)
    assert terms == ("attention weights", "attention")  # the longest first, no everyday word
    seen: set[str] = set()
    pattern = glossary_links.pattern_of(terms)
    pieces = glossary_links.linked("Attention weights: attention, attentions.", pattern, seen)
    assert [piece.astext() for piece in pieces] == [
        "", "Attention weights", ": ", "attention", ", attentions."
    ]  # fmt: skip
    assert seen == {"attention", "attention weights"}
    assert len(glossary_links.linked("More attention.", pattern, seen)) == 1


def test_everyday_words_are_terms_of_the_glossary() -> None:
    page = (Path(__file__).resolve().parents[2] / "book" / "glossary.md").read_text("utf-8")
    terms = glossary_links.terms_of(page.replace("memory\n", "memory\nmemories\n"))
    assert "memories" in terms  # the page is read as it is
    for word in glossary_links.EVERYDAY_WORDS:
        assert f"\n{word}\n" in page, f"{word!r} is no term: take it out of EVERYDAY_WORDS"
        assert word not in terms


PAGE = (
    '<script defer src="../_static/scripts/fontawesome.js?digest=1"></script>\n'
    '<script src="../_static/searchtools.js"></script>\n<script src="../searchindex.js"></script>'
    '<script>window.MathJax = {"a": {}}</script>\n'
    '<script async="async" src="../_static/mathjax/tex-mml-chtml.js?v=1"></script><p>Text.</p>'
)


def test_a_page_loads_only_what_it_needs() -> None:
    assert light_pages.lightened(PAGE, "index.html") == "<p>Text.</p>"
    assert "searchindex" in light_pages.lightened(PAGE, "search.html")
    assert "tex-mml" in light_pages.lightened(f'{PAGE}<p class="math">', "index.html")


@pytest.mark.parametrize(
    ("what", "file"),
    [
        ("Font Awesome", "_static/scripts/fontawesome.js"),
        ("the search", "_static/searchtools.js"),
        ("the search", "searchindex.js"),
        ("MathJax", "_static/mathjax/tex-mml-chtml.js"),
    ],
)
def test_what_is_loaded_in_another_way_fails_the_build(what: str, file: str) -> None:
    page = f'<script type="module">import("../{file}")</script>'
    with pytest.raises(ExtensionError, match=f"index.html loads {what} in another way"):
        light_pages.lightened(page, "index.html")


def test_a_chapter_says_when_it_last_ran_and_nothing_once_it_has_changed() -> None:
    notebook = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}, "source": ["# Masks"]},
            {
                "cell_type": "code",
                "metadata": {"tags": ["core"]},
                "source": ["print(1)"],
                "outputs": [{"text": ["1\n"]}],
            },
        ]
    }
    about = {"date": "2026-11-30", "torch": "2.13.0", "python": "3.11.7", "system": "Linux"}
    record = {"02_masks": {"content": last_verified.content_of(notebook), **about}}
    says = last_verified.sentence("02_masks", notebook, record)
    assert all(value in says for value in about.values())
    assert last_verified.sentence("03_new", notebook, record) == ""
    notebook["cells"][1]["outputs"] = [{"text": ["2\n"]}]
    assert last_verified.sentence("02_masks", notebook, record) == ""
