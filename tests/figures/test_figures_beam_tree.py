"""The tree of a beam search: every node can be chosen, and choosing marks what leads to it."""

import itertools
import re
from xml.etree import ElementTree

import pytest

import browser
from annotated_transformer.decoding import beam_search
from annotated_transformer.decoding.beam_steps import SearchStep
from annotated_transformer.figures import BeamNode, beam_tree, nodes_of, show_beam_tree
from annotated_transformer.figures.beam_tree import ROW, best_ended, path_to, told, tree_markup
from toy_search import some_sources, toy_model

# Two places a step; the second of step 1 turns out to be the better one.
NODES = (
    BeamNode(1, "a", -0.5, None),
    BeamNode(1, "<b>", -0.9, None),
    BeamNode(2, "end", -1.0, 1, score=-0.91),
    BeamNode(2, "end", -1.4, 0, score=-1.28),
)


def parts(name: str = "beam") -> ElementTree.Element:
    found = re.search("<fieldset.*</fieldset>", tree_markup(NODES, "A search", name))
    assert found
    closed = re.sub(r"(<input[^>]*?)( checked)?>", r"\1/>", found[0])  # HTML to XML
    return ElementTree.fromstring(closed)


def test_the_best_has_the_highest_score_and_its_path_is_known() -> None:
    assert best_ended(NODES) == 2
    assert path_to(NODES, 2) == [1, 2]
    assert told(NODES, 2) == "Step 2, place 1: <b> end. ln P -1.00, ended, score -0.910, the best."
    assert told(NODES, 0) == "Step 1, place 1: a. ln P -0.50, alive."


def test_the_tree_of_a_search_holds_what_was_kept_and_finds_the_same_best() -> None:
    model, src = toy_model(1), some_sources(1)[:1]
    steps: list[SearchStep] = []
    [[best]] = beam_search(model, src, beam_size=3, max_extra=4, watch=steps.append)
    nodes = nodes_of(steps, lambda tokens: [str(token) for token in tokens])
    assert len(nodes) == sum(e.fate != "pruned" for step in steps for e in step.considered)
    winner = best_ended(nodes)
    assert nodes[winner].score == pytest.approx(best.score)
    path = [int(nodes[place].piece) for place in path_to(nodes, winner)]
    assert path == list(best.tokens[1:])
    for before, after in itertools.pairwise(nodes):
        assert before.step < after.step or before.total >= after.total
    assert tree_markup(nodes, "A search").count('class="at-step"') == len(steps)


def test_nodes_that_make_no_tree_are_refused() -> None:
    with pytest.raises(ValueError, match="no hypothesis has ended"):
        best_ended(NODES[:2])
    with pytest.raises(ValueError, match="node 0 comes before its parent 1"):
        best_ended((BeamNode(2, "end", -1.0, 1, score=-1.0), NODES[0]))


def test_every_node_is_a_named_choice_of_one_group() -> None:
    tree = parts()
    inputs = tree.findall(".//input")
    assert [one.get("type") for one in inputs] == ["radio"] * 4
    assert len({one.get("name") for one in inputs}) == 1
    for place, label in enumerate(tree.findall(".//label")):
        assert told(NODES, place) in "".join(label.itertext())
    assert [p.text for p in tree.findall(".//div/p")] == [told(NODES, i) for i in range(4)]
    assert tree.findtext("legend") == "A search"


def test_lines_lead_from_parent_to_child_and_frames_tell_the_winner() -> None:
    tree = parts()
    lines = {line.get("id"): line for line in tree.iter("path")}
    assert set(lines) == {"at-beam-beam-e2", "at-beam-beam-e3"}
    assert lines["at-beam-beam-e2"].get("d") == f"M75 40L25 {ROW}"
    assert lines["at-beam-beam-e3"].get("d") == f"M25 40L75 {ROW}"
    classes = [label.get("class") for label in tree.findall(".//label")]
    assert classes == [None, "at-won", "at-won at-ended", "at-ended"]


def test_two_trees_of_one_page_share_no_id() -> None:
    ids = [{one.get("id") for one in parts(name).iter() if one.get("id")} for name in ("x", "y")]
    assert not ids[0] & ids[1]
    names = [{one.get("name") for one in parts(name).iter("input")} for name in ("x", "y")]
    assert not names[0] & names[1]


def test_what_is_shown_is_also_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[dict[str, str]] = []
    monkeypatch.setattr(beam_tree, "display", lambda bundle, raw: shown.append(bundle))
    found = show_beam_tree(NODES, "A search")
    assert found == {"steps": 2, "nodes": 4, "ended": 2, "winner": 2}
    (bundle,) = shown
    assert "A search" in bundle["text/plain"]
    assert all(told(NODES, place) in bundle["text/plain"] for place in range(4))
    assert "<script" not in bundle["text/html"]
    assert "&lt;b&gt;" in bundle["text/html"]
    assert bundle["text/html"] == tree_markup(NODES, "A search")


def test_the_arrow_keys_walk_through_it_and_mark_the_way() -> None:
    with browser.sync_playwright() as playwright:
        chromium = browser.launch(playwright)
        if chromium is None:
            pytest.skip(browser.HOW_TO_GET_ONE)
        page = chromium.new_page(viewport={"width": 390, "height": 800})
        page.set_content(f"<main>{tree_markup(NODES, 'A search')}</main>")
        seen = "[...document.querySelectorAll('.at-beam-told p')].filter(p => p.checkVisibility())"
        texts = f"{seen}.map(p => p.textContent)"
        assert page.evaluate(texts) == [told(NODES, 2)]  # the winner, before anything is chosen
        page.keyboard.press("Tab")
        page.keyboard.press("ArrowDown")
        assert page.evaluate(texts) == [told(NODES, 3)]
        filled = (
            "[...document.querySelectorAll('.at-beam label')].map(label => "
            "getComputedStyle(label).backgroundColor)"
        )
        colours = page.evaluate(filled)
        assert colours[0] == colours[3] != colours[1] == colours[2]
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        chromium.close()


def test_the_first_steps_are_shown_once_they_are_asked_for() -> None:
    assert "at-early" not in tree_markup(NODES, "A search")
    markup = tree_markup(NODES, "A search", folded=1)
    assert markup.count('class="at-early"') + markup.count('class="at-won at-early"') == 2
    with browser.sync_playwright() as playwright:
        chromium = browser.launch(playwright)
        if chromium is None:
            pytest.skip(browser.HOW_TO_GET_ONE)
        page = chromium.new_page(viewport={"width": 390, "height": 800})
        page.set_content(f"<main>{markup}</main>")
        seen = (
            "[...document.querySelectorAll('.at-beam-tree label')].map("
            "label => label.checkVisibility())"
        )
        height = "document.querySelector('.at-beam').getBoundingClientRect().height"
        assert page.evaluate(seen) == [False, False, True, True]
        folded = page.evaluate(height)
        page.get_by_label("Show step 1 too").check()
        assert page.evaluate(seen) == [True] * 4
        assert page.evaluate(height) == folded + ROW
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        chromium.close()
