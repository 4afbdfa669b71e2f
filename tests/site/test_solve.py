"""Exercises solved in the page: with keys alone, from a folder, in a worker that can be ended."""

import json
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, expect

from annotated_transformer.exercises.catalogue import catalogue
from annotated_transformer.exercises.in_page import check_answer
from annotated_transformer.exercises.learner.records import parse
from annotated_transformer.exercises.notebooks import function_name, solution_source
from site_visit import SITE, Visit, focused, look, open_page, tab_to, turn

if not (SITE / "index.html").exists():
    pytest.skip("the site is not built: run `make book` first", allow_module_level=True)

CHAPTER = "notebooks/02_attention.html"
LATER = "notebooks/15_after_the_paper.html"
NAME = {CHAPTER: "masks.causal", LATER: "beyond.rms_norm"}
RIGHT = {page: solution_source(catalogue()[name]) for page, name in NAME.items()}
INVERTED = "def causal_mask(n):\n    return torch.ones(n, n, dtype=torch.bool).triu(1)\n"
PROGRESS = "JSON.parse(localStorage['annotated-transformer-progress']).exercises"
MOST = 10_000_000  # bytes that Python may cost, compressed
expect.set_options(timeout=60_000)  # a crowded machine is no fault of a page
MISTAKES = 5  # of each exercise
# The keys for a check, twice at the same moment: a fast check would end between two real presses.
# What the worker is asked is counted.
TWICE = """e => {
    const send = Worker.prototype.postMessage;
    window.asked = 0;
    Worker.prototype.postMessage = function (message) {
        if (message.exercise) window.asked += 1;
        return send.apply(this, arguments);
    };
    for (const time of [1, 2]) e.dispatchEvent(new KeyboardEvent("keydown",
        { key: "Enter", keyCode: 13, ctrlKey: true, bubbles: true, cancelable: true }));
}"""


def exercise(page: Page) -> Locator:
    """The exercise that is tried on this page."""
    name = next(name for where, name in NAME.items() if page.url.endswith(where))
    return page.locator(".cell.tag_exercise", has_text=f'check("{name}"')


def status(place: Locator) -> Locator:
    return place.locator(".solve-status")


def write(page: Page, place: Locator, text: str) -> None:
    place.locator(".cm-content").focus()
    page.keyboard.press("Control+A")
    page.keyboard.insert_text(text)


def check(page: Page, place: Locator) -> str:
    """Press the keys for a check; the card's text once it is there."""
    status(place).evaluate("e => { e.textContent = '' }")
    place.locator(".cm-content").press("Control+Enter")
    expect(status(place)).to_contain_text("Checked in")
    return place.locator(".solve-report").inner_text()


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """The later chapter on a phone, from the folder, with its folds open."""
    visit = open_page(browser, (SITE / LATER).as_uri(), 390, "dark")
    yield visit
    visit.page.context.close()


@pytest.mark.browser
def test_an_exercise_with_keys_alone(visit: Visit) -> None:
    page, place = visit.page, exercise(visit.page)
    place.locator(".solve-offer button").focus()
    page.keyboard.press("Enter")
    expect(place.locator(".cm-content")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("def rms_norm(x, gamma, eps=1e-6):\nreturn gamma * x / 1")
    assert "x / 1" in place.locator(".cm-content").inner_text()  # "/" is no call for the search
    page.keyboard.press("Home")
    page.keyboard.press("Tab")  # the line goes in; more, where the editor did so by itself
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    assert "Check" in focused(page), "Escape, then Tab, leads out of the editor"
    page.keyboard.press("Enter")
    expect(status(place)).to_contain_text("Checked in")
    assert "not yet right" in place.locator(".solve-report").inner_text()
    tab_to(page, "Hint", 3)
    page.keyboard.press("Enter")
    assert "Hint 1 of 3" in focused(page)
    look(visit, "dark")
    assert visit.violations() == []
    turn(visit, "light")
    assert visit.violations("colours") == []
    cell = "from annotated_transformer.exercises import check, hint\n"  # as in a notebook
    write(page, place, cell + RIGHT[LATER])
    status(place).evaluate("e => { e.textContent = '' }")
    place.locator(".cm-content").evaluate(TWICE)  # while it is checked it is not checked again
    expect(status(place)).to_contain_text("Checked in")
    assert "passed" in place.locator(".solve-report").inner_text()
    assert page.evaluate("window.asked") == 1
    place.get_by_role("button", name="Solution").press("Enter")
    assert "Solution" in focused(page)
    record = page.evaluate(PROGRESS)[NAME[LATER]]
    assert (record["attempts"], record["hints"], record["level"]) == (2, 1, 1)
    assert record["solution_seen"]
    day = page.evaluate("new Date().toISOString().slice(0, 10)")  # in UTC, wherever one is
    assert record["solved"] == record["last"] == day
    assert parse(page.evaluate("localStorage['annotated-transformer-progress']").encode())
    assert visit.elsewhere == []


@pytest.mark.browser
def test_what_was_written_is_there_again(browser: Browser, address: str) -> None:
    page = open_page(browser, f"{address}/{CHAPTER}", 390).page
    place = exercise(page)
    try:
        place.locator(".solve-offer button").click()
        write(page, place, "half a thou")
        page.reload()
        expect(place.locator(".cm-content")).to_have_text("half a thou")
        folds = "document.querySelectorAll('details').forEach(fold => { fold.open = true })"
        page.evaluate(folds)
        place.get_by_role("button", name="Start again").click()
        expect(place.locator(".cm-content")).to_contain_text("def causal_mask(n):")
        place.get_by_role("button", name="Undo").click()
        expect(place.locator(".cm-content")).to_have_text("half a thou")
        page.keyboard.press("Control+Z")
        expect(place.locator(".cm-content")).to_contain_text("def causal_mask(n):")
    finally:
        page.context.close()


@pytest.mark.browser
def test_python_is_loaded_at_the_first_check_and_is_as_large_as_is_said(
    browser: Browser, address: str
) -> None:
    visit = open_page(browser, f"{address}/{CHAPTER}")
    page, place = visit.page, exercise(visit.page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    try:
        place.locator(".solve-offer button").click()
        write(page, place, INVERTED)
        said = re.search(r"([\d.]+) MB", status(place).inner_text())
        assert not [url for url in asked if "/python/" in url and "sizes.js" not in url]
        assert "not yet right" in check(page, place)
        sizes = page.evaluate("PYTHON_SIZES")
        parts = [url.rsplit("/", 1)[1] for url in asked if "/python/" in url]
        assert {*parts} == {"sizes.js", *(f"{name}.js" for name in sizes)}
        assert sum(sizes.values()) < MOST
        assert said is not None
        assert float(said[1]) == round(sum(sizes.values()) / 1e6, 1)
        assert visit.elsewhere == []
        assert visit.errors == []
    finally:
        page.context.close()


@pytest.mark.browser
def test_what_ends_python_costs_the_reader_some_seconds(visit: Visit) -> None:
    page, place = visit.page, exercise(visit.page)
    place.locator(".solve-offer button").click()
    write(page, place, RIGHT[LATER])
    assert "passed" in check(page, place)
    write(page, place, "def rms_norm(*_):\n    while True: pass\n")
    begun = time.monotonic()
    assert "had not returned after 7 seconds" in check(page, place)
    assert time.monotonic() - begun < 8 + 2  # the keys and the card included
    write(page, place, RIGHT[LATER])
    assert "passed" in check(page, place)
    write(page, place, "import os\ndef rms_norm(*_):\n    os._exit(3)\n")
    assert "ended or crashed Python" in check(page, place)
    write(page, place, "def rms_norm(*_):\n    return rms_norm()\n")
    assert "RecursionError" in check(page, place)
    write(page, place, "def rms_norm(*_):\n    while True: pass\n")
    place.locator(".solve-check").click()
    place.get_by_role("button", name="Stop").click()
    expect(status(place)).to_contain_text("Stopped")
    expect(place.locator(".solve-check")).to_be_focused()
    assert page.evaluate(PROGRESS)[NAME[LATER]]["attempts"] == 4  # what was stopped is none
    write(page, place, "from js import fetch\nfetch('https://example.org/')\n" + RIGHT[LATER])
    check(page, place)
    assert visit.elsewhere == []


@pytest.mark.browser
@pytest.mark.slow  # Python starts three times: half a minute
def test_an_answer_that_replaces_modules_spoils_no_other(visit: Visit) -> None:
    page, place = visit.page, exercise(visit.page)
    place.locator(".solve-offer button").click()
    wrecking = "import sys\nsys.modules['torch'] = None\nimport linecache\nlinecache.cache = None\n"
    for last in ("", "raise ValueError\n"):
        write(page, place, wrecking + RIGHT[LATER] + last)
        check(page, place)
        write(page, place, RIGHT[LATER])
        assert "passed" in check(page, place), "the next answer is judged as if there had been none"


@pytest.mark.browser
def test_what_the_page_lacks_is_said_and_is_no_attempt(visit: Visit) -> None:
    page, place = visit.page, exercise(visit.page)
    place.locator(".solve-offer button").click()
    narrow = "np.repeat(np.arange(3), np.array([1, 2, 3], np.int64))"  # places have 32 bits here
    for line in ("torch.fft.fft(torch.ones(3))", "__import__('scipy')", narrow):
        write(page, place, f"def rms_norm(*_):\n    return {line}\n")
        assert "right or wrong" in check(page, place)
    write(page, place, "def rms_norm(*_)\n")
    assert "does not run yet" in check(page, place)
    assert page.evaluate("localStorage['annotated-transformer-progress'] ?? null") is None


@pytest.mark.browser
def test_a_site_without_python_says_so(browser: Browser) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.route("**/python/sizes.js", lambda route: route.fulfill(body="PYTHON_SIZES = {}"))
    try:
        page.goto((SITE / "book" / "index.html").as_uri())
        place = page.locator(".mend")
        place.get_by_role("button", name="Mend it here").click()
        expect(status(place)).to_contain_text("without Python")
        assert place.locator(".solve-check").is_disabled()
    finally:
        context.close()


@pytest.mark.browser
def test_a_browser_that_keeps_nothing_still_checks(browser: Browser) -> None:
    context = browser.new_context()
    context.add_init_script(
        "Object.defineProperty(globalThis, 'localStorage', { get() { throw new Error('no'); } })"
    )
    page = context.new_page()
    try:
        page.goto((SITE / "book" / "index.html").as_uri())
        place = page.locator(".mend")
        place.get_by_role("button", name="Mend it here").click()
        assert "divided by d - 1" in check(page, place)
        write(page, place, "def layer_norm(): ...")
        expect(status(place)).to_contain_text("keeps nothing")
    finally:
        context.close()


@pytest.mark.browser
def test_progress_goes_to_a_file_and_comes_from_one(browser: Browser, tmp_path: Path) -> None:
    visit = open_page(browser, (SITE / "book" / "exercises.html").as_uri(), 390)
    page = visit.page
    panel = page.locator(".own-progress")
    theirs = {"version": 2, "exercises": {NAME[CHAPTER]: {"solved": "2026-01-05", "level": 1}}}
    mine = {"version": 2, "exercises": {NAME[LATER]: {"attempts": 3}}}
    store = "text => { localStorage['annotated-transformer-progress'] = text }"
    page.evaluate(store, json.dumps(mine))
    try:
        for text, said in (
            (json.dumps(theirs), "1 entries read"),
            ("no", "it is no JSON. Nothing was changed"),
            ('{"version": 9, "exercises": {}}', "newer than these pages"),
        ):
            (tmp_path / "file.json").write_text(text, encoding="utf-8")
            panel.locator("input").set_input_files(tmp_path / "file.json")
            expect(panel.locator("[role=status]")).to_contain_text(said)
        (tmp_path / "theirs.json").write_text(json.dumps(theirs), encoding="utf-8")
        expect(panel).to_contain_text(
            f"1 of {len(catalogue())} solved, 1 tried and still open, 1 to be solved again today"
        )
        own = page.get_by_text(NAME[CHAPTER], exact=True)  # masks.causal, not masks.causal_test
        row = page.locator(".map-table tr", has=own)
        expect(row).to_contain_text("to be solved again since 2026-01-05")
        with page.expect_download() as saved:
            panel.get_by_role("button", name="Save to a file").click()
        data = Path(saved.value.path()).read_bytes()
        both = {"version": 2, "exercises": {**mine["exercises"], **theirs["exercises"]}}
        assert parse(data) == parse(json.dumps(both).encode())
        for kept, said in (
            ("{damaged", "nothing was lost"),
            ('{"version": 9, "exercises": {}}', "keeps"),
        ):
            page.evaluate(store, kept)
            panel.locator("input").set_input_files(tmp_path / "theirs.json")
            expect(panel.locator("[role=status]")).to_contain_text(said)
            assert kept in page.evaluate("Object.values(localStorage)"), "nothing is overwritten"
        assert visit.violations() == []
    finally:
        page.context.close()


# --- every exercise -------------------------------------------------------------------------------


def answers() -> list[tuple[str, str, str]]:
    """An exercise's id, what is answered, and the answer: right forms and some of the mistakes."""
    draw = random.Random(0)
    found = []
    for name, one in catalogue().items():
        ways = ["reference", *(f"alternatives[{n}]" for n in range(len(one.alternatives)))]
        for number in draw.sample(range(len(one.mistakes)), min(MISTAKES, len(one.mistakes))):
            ways.append(f"mistakes[{number}].implementation")
        for way in ways:
            find = "from annotated_transformer.exercises.catalogue import find"
            answer = f'{find}\n{function_name(one)} = find("{name}").{way}\n'
            found.append((name, way, answer))
    return found


def is_a_test(name: str) -> bool:
    return catalogue()[name].kind == "test"


def alike_but_for_words(here: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """What a test raises is worded by torch, and its last bits are torch's own."""
    return all(here[part] == wanted[part] for part in ("state", "mistakes", "spent"))


@pytest.mark.browser
@pytest.mark.slow  # some 600 checks, each twice: four minutes
def test_every_exercise_gets_the_report_of_a_notebook(browser: Browser) -> None:
    """The same card, letter by letter; right forms that use what the page lacks are told so."""
    torch.set_num_threads(1)
    visit = open_page(browser, (SITE / "book" / "index.html").as_uri())
    page = visit.page
    page.locator(".mend").get_by_role("button", name="Mend it here").click()
    page.locator(".mend .cm-content").wait_for()
    ask = """async ([name, answer]) => {
      const python = globalThis.BookSolve.python;
      await python.start(() => {});
      return python.check(name, answer, () => {});
    }"""
    others: list[tuple[str, str, Any]] = []
    not_here, seconds = [], []
    for name, way, answer in answers():
        begun = time.monotonic()
        here = page.evaluate(ask, [name, answer])
        seconds.append(time.monotonic() - begun)
        wanted = json.loads(check_answer(name, answer))
        if here["state"] == "not here":
            not_here.append((name, way))
        elif here != wanted and not (is_a_test(name) and alike_but_for_words(here, wanted)):
            others.append((name, way, here["markup"]))
    page.context.close()
    assert not others
    assert {*not_here} == {
        ("decoding.cache_bytes", "alternatives[2]"),  # the meta device
        ("ablations.attention_flops", "alternatives[4]"),  # a counter of FLOPs
    }
    assert sorted(seconds)[len(seconds) // 2] < 1
