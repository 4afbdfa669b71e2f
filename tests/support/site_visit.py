"""The built site open in a browser: what it asked for, what went wrong, what axe-core finds."""

import http.server
from pathlib import Path
from urllib.parse import urlparse

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# What the width of its cell asks for and what limits its height may not meet in one picture.
SQUASHED = """[...document.querySelectorAll('article img')].filter(i => i.clientHeight > 40
  && getComputedStyle(i).objectFit === 'fill'
  && Math.abs(i.clientWidth * i.naturalHeight / i.clientHeight / i.naturalWidth - 1) > 0.03
).map(i => `${i.clientWidth} × ${i.clientHeight}: ${i.alt.slice(0, 60)}`)"""
COLOURS = ["color-contrast", "link-in-text-block"]  # what takes axe longest


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class Visit:
    """One page open in the browser, with everything it asked for and everything that went wrong."""

    def __init__(self, context: BrowserContext, url: str) -> None:
        self.page: Page = context.new_page()
        self.elsewhere: list[str] = []
        self.errors: list[str] = []
        own = urlparse(url).netloc
        self.page.on("request", lambda r: self.note_request(r.url, own))
        self.page.on("pageerror", lambda error: self.errors.append(error.stack or str(error)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        self.page.on("response", lambda r: self.note_response(r.status, r.url))
        self.page.goto(url)
        self.settle()

    def note_request(self, url: str, own: str) -> None:
        parts = urlparse(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != own:
            self.elsewhere.append(url)

    def note_response(self, status: int, url: str) -> None:
        if not 200 <= status < 300 and status != 304:  # as it was: a reload asks
            self.errors.append(f"{status} {url}")

    def settle(self) -> None:
        """Wait for the formulas, open every fold, walk down the page so that all is drawn."""
        self.page.wait_for_function(
            "!document.querySelector('.math') || "
            "(window.MathJax?.startup?.promise && MathJax.startup.promise.then(() => true))"
        )
        folds = "document.querySelectorAll('article details').forEach(fold => { fold.open = true })"
        self.page.evaluate(folds)  # what is folded is read too
        # Not by scrollIntoView, from which newer browsers let the next Tab begin.
        drawn = (
            "figure => { scrollTo(0, scrollY + figure.getBoundingClientRect().top - 100);"
            " return figure.dataset.drawn }"
        )
        for figure in self.page.locator(".plotly-figure").element_handles():
            self.page.wait_for_function(drawn, arg=figure)
        # page.js marks what scrolls a tenth of a second later. The page's own clock is asked, where
        # that comes first however late both are.
        self.page.evaluate("new Promise(done => setTimeout(done, 250))")

    def violations(self, rules: str = "all") -> list[str]:
        """What axe-core finds, one line a place: by all rules, those of colours, or the others."""
        self.page.evaluate(AXE.read_text(encoding="utf-8"))
        # Preloading asks for the style sheets once more, which a page in a folder may not do.
        options: dict[str, object] = {"resultTypes": ["violations"], "preload": False}
        if rules == "colours":
            options["runOnly"] = COLOURS
        if rules == "but colours":
            options["rules"] = {rule: {"enabled": False} for rule in COLOURS}
        found = self.page.evaluate("options => axe.run(options)", options)["violations"]
        return [f"{v['id']}: {n['html'][:160]}" for v in found for n in v["nodes"]]


def open_page(browser: Browser, url: str, width: int = 1280, scheme: str = "light") -> Visit:
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
        timezone_id="Pacific/Kiritimati",  # 14 hours ahead: days are those of UTC all the same
    )
    context.set_default_timeout(120_000)  # a crowded machine is no fault of a page
    return Visit(context, url)


def look(visit: Visit, scheme: str) -> None:
    """What holds for every page, however wide and in whatever colours."""
    page = visit.page
    assert visit.elsewhere == [], "requests to another host"
    assert visit.errors == [], "errors in the console"
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    if page.locator("article .math").count():
        assert page.locator("mjx-container").count(), "no formula is drawn"
    assert page.locator("mjx-merror, [data-mjx-error]").count() == 0, "a formula is wrong"
    broken = "[...document.images].filter(i => !i.naturalWidth).map(i => i.src)"
    assert page.evaluate(broken) == [], "pictures that do not show"
    assert page.evaluate(SQUASHED) == [], "pictures that are not as wide to their height as drawn"
    excess = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert excess <= 0, f"the page scrolls sideways by {excess} px"


def turn(visit: Visit, scheme: str) -> None:
    """The reader's system goes from light to dark, or back: the open page follows."""
    visit.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    visit.page.wait_for_function(f"document.documentElement.dataset.theme === {scheme!r}")
    visit.page.evaluate("new Promise(done => setTimeout(done, 250))")


def focused(page: Page) -> str:
    """What the keyboard is at: its tag, classes and words."""
    return str(
        page.evaluate(
            "(e => `${e.tagName} ${e.className} ${e.getAttribute('aria-label') || ''} "
            "${e.textContent.trim().slice(0, 40)}`)(document.activeElement)"
        )
    )


def tab_to(page: Page, wanted: str, limit: int = 80) -> None:
    """Press Tab until the focus is on something that says ``wanted``."""
    for _ in range(limit):
        page.keyboard.press("Tab")
        if wanted in focused(page):
            return
    pytest.fail(f"{wanted!r} was not reached with {limit} presses of Tab")
