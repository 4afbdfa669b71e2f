"""The built site, as a reader meets it: every page, two widths, light and dark, mouse or keyboard.

`make test` builds the site first; without a built site, or without a Chromium, these are skipped.
"""

import functools
import gzip
import json
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urlparse

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser

from annotated_transformer.data import TRAVELLING_SENTENCE
from annotated_transformer.figures.style import PALETTE
from lanes import LANE
from site_visit import ROOT, SITE, focused, look, open_page, tab_to, turn

PAGES = sorted(
    path.relative_to(SITE).as_posix()
    for path in SITE.rglob("*.html")
    if "_static" not in path.relative_to(SITE).parts
)
# The page at the root only leads on to the first page of the book.
READ = [page for page in PAGES if page != "index.html"]
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]
TRANSLATOR = "book/look_inside.html"


# `make test` looks at one chapter in five and at one page of each kind on a desk; on a phone at
# other chapters, and at all pages that are none. The rest is slow.
FEW = {*CHAPTERS[::5], "book/index.html", "book/exercises.html", "book/mock_interview.html"}
ON_A_PHONE = {*CHAPTERS[2::5], *(page for page in READ if page not in CHAPTERS)}


def some(pages: Sequence[str], few: Collection[str] = FEW) -> list[Any]:
    """All of these; those that are not of the few are slow."""
    return [pytest.param(page, marks=[] if page in few else pytest.mark.slow) for page in pages]


if not PAGES:
    pytest.skip("the site is not built: run `make book` first", allow_module_level=True)


@pytest.mark.browser
@pytest.mark.parametrize("name", some(READ))
def test_page_on_a_desk(browser: Browser, address: str, name: str) -> None:
    visit = open_page(browser, f"{address}/{name}", 1280, "light")
    try:
        look(visit, "light")
        assert visit.violations() == []
        turn(visit, "dark")
        look(visit, "dark")
        # The dark page is the light page in other colours, so only these are looked at again.
        assert visit.violations("colours") == []
    finally:
        visit.page.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", some(READ, ON_A_PHONE))
def test_page_on_a_phone_from_a_folder(browser: Browser, name: str) -> None:
    """Without a server, and narrow, then wide: the article looks as on a desk, the menus do not."""
    visit = open_page(browser, (SITE / name).as_uri(), 390, "dark")
    try:
        look(visit, "dark")
        assert visit.violations("but colours") == []
        turn(visit, "light")
        look(visit, "light")
        visit.page.set_viewport_size({"width": 1280, "height": 900})
        look(visit, "light")
        visit.page.set_viewport_size({"width": 390, "height": 900})
        visit.page.evaluate("document.querySelector('article')?.remove()")
        assert visit.violations("colours") == []
        turn(visit, "dark")
        assert visit.violations("colours") == []
    finally:
        visit.page.context.close()


@pytest.mark.browser
def test_the_root_leads_on(browser: Browser) -> None:
    visit = open_page(browser, (SITE / "index.html").as_uri())
    try:
        visit.page.wait_for_url("**/book/index.html")
        assert visit.elsewhere == []
        assert visit.errors == []
    finally:
        visit.page.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", CHAPTERS[:1])
def test_keyboard_alone(browser: Browser, address: str, name: str) -> None:
    page = open_page(browser, f"{address}/{name}").page
    try:
        page.keyboard.press("Tab")
        assert "Skip to main content" in focused(page)
        page.keyboard.press("Enter")
        assert page.url.endswith("#main-content")

        page.goto(f"{address}/{name}")  # anew: from the place of an address the next Tab goes on
        tab_to(page, "search-button")
        page.keyboard.press("Enter")
        assert page.locator("dialog[open] input[type=search]").evaluate(
            "e => e === document.activeElement"
        )
        page.keyboard.press("Escape")
        assert page.locator("dialog[open]").count() == 0

        tab_to(page, "reference internal")  # the chapters
        tab_to(page, "theme-switch-button")
        modes = []
        for _ in range(3):
            page.keyboard.press("Enter")
            modes.append(page.evaluate("document.documentElement.dataset.mode"))
        assert modes == ["dark", "light", "auto"]
    finally:
        page.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", CHAPTERS[:1])
def test_phone_keyboard_opens_the_chapters(browser: Browser, address: str, name: str) -> None:
    page = open_page(browser, f"{address}/{name}", 390).page
    try:
        tab_to(page, "primary-toggle")
        page.keyboard.press("Enter")
        page.locator(".bd-docs-nav a.reference").first.wait_for(state="visible")
    finally:
        page.context.close()


# The inks of one theme, and those in which the figures are drawn, as a browser writes colours.
INKS_OF = """([theme, ...roles]) => {
  const probe = document.body.appendChild(document.createElement('i'));
  const inks = ['--ink', ...roles.map(role => `--role-${role}-${theme}`)].map(name => {
    probe.style.color = `var(${name})`;
    return getComputedStyle(probe).color;
  });
  probe.remove();
  return inks;
}"""
DRAWN_IN = """[...document.querySelectorAll('.plotly-figure svg *')]
  .map(e => getComputedStyle(e)).flatMap(style => [style.fill, style.stroke])"""


@pytest.mark.browser
@pytest.mark.parametrize("name", some(CHAPTERS))
def test_folds_and_figures_work_with_keys_in_both_colours(
    browser: Browser, address: str, name: str
) -> None:
    visit = open_page(browser, f"{address}/{name}")
    page = visit.page
    try:
        fold = page.locator("article details").first
        fold.locator("summary").first.focus()
        page.keyboard.press("Enter")
        assert not fold.evaluate("fold => fold.open")
        page.keyboard.press("Enter")
        assert fold.evaluate("fold => fold.open")
        for slider in page.locator(".plotly-figure input[type=range]").all():
            shown = slider.locator("xpath=following-sibling::output")
            before = shown.inner_text()
            slider.focus()
            page.keyboard.press("Home" if slider.input_value() != "0" else "ArrowRight")
            assert shown.inner_text() != before
        for group in page.locator(".plotly-figure [role=group]").all():
            assert group.get_attribute("aria-label") != "Show"  # but what the buttons choose
            group.locator("button").last.press("Enter")
        here = "light"
        for there in ("dark", "light") if page.locator(".plotly-figure").count() else ():
            old = page.evaluate(INKS_OF, [here, *PALETTE])
            turn(visit, there)
            page.wait_for_function(
                "theme => [...document.querySelectorAll('.plotly-figure')]"
                ".every(figure => figure.dataset.drawn === theme)",
                arg=there,
            )
            drawn = {*page.evaluate(DRAWN_IN)}  # with what the reader had chosen
            assert drawn & {*page.evaluate(INKS_OF, [there, *PALETTE])}
            assert not drawn & {*old}
            here = there
    finally:
        page.context.close()


@pytest.mark.browser
@pytest.mark.parametrize("name", some(CHAPTERS))
def test_lanes_open_for_who_is_led_into_them(browser: Browser, address: str, name: str) -> None:
    notebook = json.loads((ROOT / name.replace(".html", ".ipynb")).read_text("utf-8"))
    headings = ["".join(cell["source"]).removeprefix("## ") for cell in notebook["cells"]]
    lanes = [heading for heading in headings if LANE.match(heading)]
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    try:
        page.goto(f"{address}/{name}")
        folds = page.locator("details.lane-fold")
        assert folds.count() == len(lanes)
        opened = "[...document.querySelectorAll('details.lane-fold')].filter(f => f.open).length"
        assert page.evaluate(opened) == 0
        for inside in ("section.lane", "details.lane-fold section[id]"):
            place = page.locator(inside).first.get_attribute("id")
            page.evaluate(f"location.hash = {place!r}")
            page.wait_for_function(f"{opened} === 1")
            page.evaluate("document.querySelectorAll('details').forEach(f => { f.open = false })")
        told = page.evaluate(
            "[...document.querySelectorAll('details.lane-fold p')].map(p => p.textContent)"
        )
        word = max(re.findall("[a-z]+", " ".join(told)), key=len)  # a short one stands everywhere
        page.goto(f"{address}/{name}?highlight={quote(word)}")  # as the search leads there
        page.wait_for_function(f"{opened} >= 1")
        page.evaluate("location.hash = '%E0%A4%A'")  # no name of anything
        page.get_by_role("button", name="Everything").focus()
        page.keyboard.press("Enter")
        assert page.evaluate(opened) == len(lanes)
        page.goto("about:blank")
        page.goto(f"{address}/{name}")
        page.wait_for_function(f"{opened} === {len(lanes)}")
    finally:
        context.close()


@pytest.mark.browser
def test_search_in_a_file_asks_for_no_other(browser: Browser) -> None:
    visit = open_page(browser, f"{(SITE / 'search.html').as_uri()}?q=attention")
    try:
        visit.page.locator("#search-results li a").first.wait_for()
        visit.page.wait_for_timeout(500)  # for what would be fetched now
        assert visit.errors == []
    finally:
        visit.page.context.close()


@pytest.mark.browser
def test_search_finds_a_word(browser: Browser, address: str) -> None:
    visit = open_page(browser, f"{address}/search.html?q=attention")
    try:
        visit.page.locator("#search-results li a").first.wait_for()
        assert visit.elsewhere == []
        assert visit.errors == []
    finally:
        visit.page.context.close()


@pytest.mark.browser
def test_the_first_page_is_light(browser: Browser, address: str) -> None:
    """What it loads before a touch stays below 400 kB as servers send it, compressed."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    sizes: dict[str, int] = {}
    page.on("response", lambda r: sizes.update({r.url: len(gzip.compress(r.body()))}))
    try:
        page.goto(f"{address}/book/index.html", wait_until="networkidle")
        assert sum(sizes.values()) < 400_000, sizes
    finally:
        context.close()


# --- without a browser ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what",
    [
        "article img",
        "article .math",
        "article details > summary",
        "a[href]",
        ".plotly-figure script",
    ],
)
def test_what_is_looked_at_on_every_page_stands_on_some(what: str) -> None:
    """A page without a picture passes; were there none at all, nothing would have been tested."""
    assert any(soup(SITE / name).select_one(what) for name in PAGES)


def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")


@functools.cache
def anchors(path: Path) -> set[str]:
    return set(re.findall(r'<[^>]*\sid="([^"]*)"', path.read_text(encoding="utf-8")))


def dead_links(page: BeautifulSoup, here: Path) -> list[str]:
    """The links inside the book that lead nowhere."""
    dead = []
    for link in page.find_all("a", href=True):
        href = str(link["href"])
        if urlparse(href).scheme or href.startswith("//"):
            continue
        target, fragment = urldefrag(unquote(href))
        path = (here.parent / target.split("?")[0]).resolve() if target else here
        asks = {SITE / TRANSLATOR: "s=", SITE / "book" / "mock_interview.html": "ask="}
        is_view = path in asks and fragment.startswith(asks[path])  # no place of the page
        wanted = fragment and path.suffix == ".html" and not is_view
        if not path.exists() or (wanted and fragment not in anchors(path)):
            dead.append(href)
    return dead


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere_and_pictures_say_what_they_show(name: str) -> None:
    page = soup(SITE / name)
    assert dead_links(page, SITE / name) == []
    pictures = page.select("article img")
    without = [str(p.get("src")) for p in pictures if not str(p.get("alt", "")).strip()]
    paths = [str(p["alt"]) for p in pictures if str(p.get("alt", "")).endswith((".png", ".svg"))]
    assert without == []
    assert paths == [], "a file's name is no description: set mystnb.image.alt in the cell"


@pytest.mark.browser
def test_the_translator_is_worked_with_keys_alone(browser: Browser) -> None:
    """On a phone, from the folder: a sentence, a step, another word, a head away, the same view."""
    visit = open_page(browser, (SITE / TRANSLATOR).as_uri(), 390, "dark")
    page = visit.page

    def says(part: str) -> str:
        return page.locator(f".look-{part}").inner_text()

    try:
        page.locator(".look-next li").first.wait_for()
        assert visit.violations() == []
        tab_to(page, "INPUT", 120)
        page.keyboard.press("Control+A")
        page.keyboard.type(TRAVELLING_SENTENCE.source)
        page.keyboard.press("Enter")
        assert says("text").endswith("vorliest.")
        page.locator(".look-target input").first.focus()
        for _ in range(12):
            page.keyboard.press("ArrowRight")
        assert "To write “vor”, it looks most at “reads”" in says("says")
        tab_to(page, "liest, ")
        page.keyboard.press("Enter")
        assert says("text") == TRAVELLING_SENTENCE.target
        assert "liest" in focused(page)
        page.locator(".look-heads input[value='2.3']").focus()
        page.keyboard.press("ArrowRight")
        assert "layer 2, head 4" in focused(page), "the keyboard keeps its place"
        tab_to(page, "INPUT", 1)
        page.keyboard.press("Space")
        assert "Without one head" in says("effect")
        page.locator(".look-choices input[value='encoder']").press("Space")
        page.locator(".look-source input").first.press("ArrowRight")
        assert "“woman” looks most at" in says("says")
        text, sentence = says("text"), says("says")
        link = page.locator(".look-end a").get_attribute("href")
        page.goto(f"{(SITE / TRANSLATOR).as_uri()}{link}")
        page.reload()
        page.locator(".look-next li").first.wait_for()
        assert (says("text"), says("says")) == (text, sentence)
        look(visit, "dark")
    finally:
        page.context.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    "name",
    [pytest.param("notebooks/09_decoding.html", marks=pytest.mark.slow), "book/index.html"],
)
def test_the_translator_is_loaded_when_it_is_asked_for(
    browser: Browser, address: str, name: str
) -> None:
    visit = open_page(browser, f"{address}/{name}")
    page = visit.page
    try:
        loaded = "typeof BookTranslator"
        assert page.evaluate(loaded) == "undefined"
        if page.locator(".hero").count():
            page.locator(".hero-own input").fill("The sad novel is long.")
            page.keyboard.press("Enter")
            page.locator(".hero-inside[href*=novel]").wait_for()
            assert "Der traurige Roman ist lang." in page.locator(".hero-says").inner_text()
            page.locator(".hero-try").first.press("Enter")
            page.locator(".hero-inside[href*=forest]").wait_for()
            assert (
                "Er läuft in den Wald.” That is right." in page.locator(".hero-says").inner_text()
            )
        else:
            page.get_by_role("button", name="Open it here").press("Enter")
            page.locator(".look-next li").first.wait_for()
            assert "To write “vor”, it looks most" in page.locator(".look-says").inner_text()
        assert page.evaluate(loaded) == "object"
        look(visit, "light")
        assert visit.violations() == []
        turn(visit, "dark")
        assert visit.violations("colours") == []
    finally:
        page.context.close()


@pytest.mark.browser
def test_without_javascript_the_translation_is_a_picture(browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    try:
        page.goto((SITE / TRANSLATOR).as_uri())
        cells = page.locator(".look-weights tbody td")
        shades = "cells => new Set(cells.map(e => getComputedStyle(e).backgroundColor)).size"
        painted = cells.evaluate_all(shades)
        assert painted > 10, "each weight has its shade"
        assert page.locator(".look-text").is_visible()
    finally:
        context.close()


@pytest.mark.browser
@pytest.mark.parametrize(
    "view",
    [
        "look-inside-a-translation",
        "beam=4",
        "s=The+man+sleeps.&p=999999.1&head=9.9&off=x&step=-3",
        "s=The+man+sleeps.&p=0.1.2.3&step=1.5&kind=toString&head=",
        "s=The+man+sleeps.&kind=__proto__&step=NaN&row=99&head=2.0&off=,,a.0",
        "s=%E0%A4%A&step=2",
    ],
)
def test_an_address_that_makes_no_sense_is_no_trap(browser: Browser, view: str) -> None:
    visit = open_page(browser, f"{(SITE / TRANSLATOR).as_uri()}#{view}")
    page = visit.page
    try:
        page.locator(".look-next li").first.wait_for()
        assert visit.errors == []
        assert page.locator(".look-weights tbody tr.look-row").count() == 1
        assert page.locator(".look-heads input:checked").count() == 1
        page.locator(".look-form input").fill("🙂" * 120)
        page.keyboard.press("Enter")
        assert "Write a shorter sentence." in page.locator(".look-notes").inner_text()
        assert not page.locator(".look-heads").is_visible()
        assert visit.errors == []
    finally:
        page.context.close()
