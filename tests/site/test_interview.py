"""The pages before an interview, each walked through once."""

import json
import re
from typing import Any

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect
from test_site import dead_links

from annotated_transformer.interview import rounds, sheets
from annotated_transformer.interview.bank import questions
from site_visit import SITE, focused, look, open_page, tab_to

BOOK = SITE / "book"
KEPT = "JSON.parse(localStorage['annotated-transformer-progress']).exercises"

if not BOOK.exists():
    pytest.skip("the site is not built: run `make book` first", allow_module_level=True)


def begin(page: Page, seed: str, minutes: str = "5 minutes") -> None:
    page.locator(".mock-start select").first.select_option(minutes)
    page.locator(".mock-start input[type=text]").fill(seed)
    page.keyboard.press("Enter")


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).press("Enter")


@pytest.mark.browser
def test_the_clock_of_the_whiteboard_stays_in_sight_and_survives_a_reload(
    browser: Browser, address: str
) -> None:
    visit = open_page(browser, f"{address}/book/whiteboard.html", 390, "dark")
    page = visit.page
    try:
        press(page, "Start the clock")
        expect(page.locator(".mock-clock")).to_have_text(re.compile("24:5."))
        page.reload()
        page.locator("#sinusoids").scroll_into_view_if_needed()
        expect(page.locator(".mock-clock")).to_be_in_viewport()
        press(page, "Pause")
        page.evaluate(
            "sessionStorage['annotated-transformer-clock'] = '{\"left\": -3, \"until\": null}'"
        )
        page.reload()
        expect(page.get_by_role("status").filter(has_text="The time is over.")).to_be_visible()
        press(page, "Begin again")
        expect(page.locator(".mock-clock")).to_have_text("25:00")
        page.evaluate("sessionStorage['annotated-transformer-clock'] = '[7'")
        page.reload()
        expect(page.locator(".mock-clock")).to_have_text("25:00")
        assert visit.errors == []
    finally:
        page.context.close()


@pytest.mark.browser
def test_a_round_with_keys_alone_survives_a_reload_and_is_kept(
    browser: Browser, address: str
) -> None:
    drawn = rounds.draw("amber-1", 5)
    visit = open_page(browser, f"{address}/book/mock_interview.html", 390, "dark")
    page = visit.page
    try:
        begin(page, "amber-1")
        assert page.locator(".mock-question").inner_text()
        assert visit.violations("but colours") == []
        tab_to(page, "Hide the clock")
        page.keyboard.press("Enter")
        assert not page.locator(".mock-clock").is_visible()
        for number, question in enumerate(drawn):
            expect(page.locator(".mock-head")).to_contain_text(f"Question {number + 1} of")
            press(page, "Show what must be said")
            assert "mock-question" in focused(page)
            assert "${" not in page.locator(".mock").inner_text()
            ticks = page.locator(".mock-ticks").first.locator("input")
            assert ticks.count() == len(question.points)
            for tick in ticks.all()[: len(question.points) - number]:
                tick.press("Space")
            if number == 0:
                page.reload()  # in the middle
                page.locator(".mock-question").wait_for()
                checked = page.locator(".mock-ticks input:checked")
                assert checked.count() == len(question.points)
            else:
                page.locator(".mock-ticks").nth(1).locator("input").first.press("Space")
            press(page, "They ask next")
            for _ in range(rounds.DEPTH):
                press(page, "Show the answer")
                press(page, "I said that")
            if number == 0:  # a slip is mended
                page.get_by_role("button", name="I said that ✓").first.press("Enter")
                press(page, "I did not ✗")
            press(page, "The next question" if number + 1 < len(drawn) else "How was it?")
        expect(page.locator(".mock-result tbody tr")).to_have_count(
            len({question.skill for question in drawn})
        )
        look(visit, "dark")
        assert visit.violations() == []
        kept = page.evaluate(KEPT)
        first, second = (kept[rounds.PREFIX + question.id] for question in drawn[:2])
        assert first["solved"], "all was said"
        assert second["solved"] is None, "a sentence that sinks"
        assert second["mistakes"] == ["sinks-1"]
        assert kept[f"{rounds.PREFIX}{drawn[0].id}.deep"]["solved"]
        expect(page.locator(".own-counts")).to_contain_text(
            f"{len(drawn)} questions answered, 1 of them well"
        )
        expect(page.locator(".mock h3")).to_have_text("Not said, or better not said")
        page.reload()
        page.locator(".mock-result").wait_for()
        assert page.evaluate(KEPT) == kept, "what was kept once is not kept again"
        press(page, "Another round")
        assert page.locator(".mock-start").is_visible()
    finally:
        page.context.close()


@pytest.mark.browser
def test_what_is_kept_of_a_round_and_makes_no_sense_is_no_trap(
    browser: Browser, address: str
) -> None:
    visit = open_page(browser, f"{address}/book/mock_interview.html")
    page = visit.page
    try:
        for kept in (
            "{",
            '{"seed": 3}',
            '{"seed":"x","minutes":5,"role":"constructor","answers":[]}',
        ):
            page.evaluate("text => { localStorage['annotated-transformer-round'] = text }", kept)
            page.reload()
            page.locator(".mock-start").wait_for()
            expect(page.locator(".mock > p")).to_have_count(1)  # no "could not be loaded"
        begin(page, "<b>&'")
        press(page, "Show what must be said")
        press(page, "End the round")  # once is not enough
        round_ = page.evaluate("() => JSON.parse(localStorage['annotated-transformer-round'])")
        (answer,) = round_["answers"]
        for wrong in (
            {"left": "x"},
            {"answers": [{**answer, "deep": [True] * 4}]},
            {"answers": [{**answer, "id": "after.fields"}]},
            {"answers": [{**answer, "points": "abcd"}]},
            {"answers": [{**answer, "stamp": 1}]},  # the question was changed since
        ):
            page.evaluate(
                "round => { const kept = JSON.stringify(round); addEventListener('pagehide', () => "
                "{ localStorage['annotated-transformer-round'] = kept; }); }",
                round_ | wrong,
            )
            page.reload()
            page.locator(".mock-start").wait_for()
            expect(page.locator(".mock > p")).to_have_count(1)
        begin(page, "<b>&'")
        press(page, "End the round")
        press(page, "Really end it?")
        assert "<b>&'" in page.locator(".mock").inner_text()
        assert visit.errors == []
    finally:
        page.context.close()


@pytest.mark.browser
def test_one_sentence_after_the_other(browser: Browser) -> None:
    visit = open_page(browser, (BOOK / "mock_interview.html").as_uri(), 390)
    page = visit.page
    try:
        page.reload()  # with folds as they are at first
        seen = page.locator(".wrong-sentences details:visible")
        expect(seen).to_have_count(1)
        seen.locator("summary").press("Enter")
        first = seen.locator("summary").inner_text()
        press(page, "I knew")
        assert seen.locator("summary").inner_text() != first
        expect(page.locator(".wrong-sentences [role=status]")).to_contain_text("1 of 1 known")
        press(page, "Show all sentences")
        assert seen.count() > 40
        assert visit.errors == []
    finally:
        page.context.close()


@pytest.mark.browser
def test_the_blank_drawing_is_filled(browser: Browser) -> None:
    visit = open_page(browser, (BOOK / "blank_drawing.html").as_uri(), 390, "dark")
    page = visit.page
    try:
        blanks = page.locator(".blank").all()
        for blank in blanks:
            blank.locator("select").select_option(blank.get_attribute("data-name"))
        blanks[0].locator("select").select_option("Linear")
        press(page, "Check")
        expect(page.locator(".drawing-row")).to_contain_text(f"{len(blanks) - 1} of {len(blanks)}")
        assert page.locator(".blank-wrong").count() == 1
        page.locator(".blank-right summary").last.press("Enter")
        look(visit, "dark")
        assert visit.violations() == []
        blanks[0].locator("select").select_option(blanks[0].get_attribute("data-name"))
        press(page, "Check")
        expect(page.locator(".drawing-row")).to_contain_text("All 16")
        press(page, "Begin again")
        assert page.locator(".blank select:visible").count() == len(blanks)
    finally:
        page.context.close()


@pytest.mark.browser
def test_a_number_is_checked_and_counts_for_the_skill(browser: Browser, address: str) -> None:
    problem = sheets.problems()["bottleneck"]
    visit = open_page(browser, f"{address}/book/practice.html", 390)
    page = visit.page
    try:
        form = page.locator(f"#{problem.id} .problem-check")
        says = form.locator("[role=status]")
        for typed, said in (("x", "Write a number"), ("512", "Table 1"), ("3,072", "Right")):
            form.locator("input").fill(typed)
            page.keyboard.press("Enter")
            expect(says).to_contain_text(said)
        own = page.evaluate(KEPT)[f"{rounds.PREFIX}problem.{problem.id}"]
        assert (own["attempts"], bool(own["solved"])) == (2, True)
        skill = "[data-skill]"
        page.goto(f"{address}/book/self_assessment.html")
        section = page.locator(f"#{problem.skill}{skill}")
        told: dict[str, Any] = json.loads(str(section.get_attribute("data-skill")))
        level = section.locator(".skill-level")
        expect(level).to_contain_text("Nothing is shown")
        done = [*told["questions"], told["third"], f"{told['third']}.deep"]
        for names, shown in ((done[:1], 2), (done[:2], 4), (done, 5)):
            page.evaluate(
                "names => names.forEach(name => OwnProgress.change(`interview.${name}`, "
                "record => OwnProgress.attempted(record, true, OwnProgress.today())))",
                names,
            )
            page.reload()
            expect(level).to_contain_text(f"Shown in this browser: level {shown}")
        look(visit, "light")
        section.get_by_role("link").first.press("Enter")  # a round of one question
        expect(page.locator(".mock-head")).to_contain_text("Question 1 of 1")
    finally:
        page.context.close()


@pytest.mark.browser
def test_the_cheat_sheet_prints_on_one_sheet(browser: Browser) -> None:
    visit = open_page(browser, (BOOK / "cheat_sheet.html").as_uri())
    try:
        printed = visit.page.pdf(format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 1
    finally:
        visit.page.context.close()


@pytest.mark.browser
def test_without_javascript_there_is_a_round_on_paper(browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    try:
        page.goto((BOOK / "mock_interview.html").as_uri())
        assert page.locator(".mock .ask").count() == len(rounds.draw("paper", 20, "everyone"))
        assert page.locator(".score-card").is_visible()
        page.goto((BOOK / "blank_drawing.html").as_uri())
        assert page.locator(".blank summary").first.is_visible()
        page.goto((BOOK / "practice.html").as_uri())
        assert not page.locator(".problem-check").first.is_visible()
    finally:
        context.close()


def test_every_piece_of_evidence_of_a_round_leads_somewhere() -> None:
    script = (SITE / "_static" / "interview_bank.js").read_text(encoding="utf-8")
    bank = json.loads(script.removeprefix("globalThis.BOOK_INTERVIEW=").rstrip(";\n"))
    assert len(bank["questions"]) == len(questions())
    page = BeautifulSoup(" ".join(_texts(bank)), "lxml")
    assert len(page.select("a[href]")) > 400
    assert dead_links(page, BOOK / "mock_interview.html") == []


def _texts(tree: Any) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return [text for part in parts for text in _texts(part)]
