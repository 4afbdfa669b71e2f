"""What the front page says of its hero is what the model does."""

import json
import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

import front_page
from annotated_transformer.data import TRAVELLING_SENTENCE
from annotated_transformer.data.grammar import generate_corpus
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.evidence.ledger.facts import load_facts
from annotated_transformer.shipped import load_shipped

INDEX = Path(__file__).resolve().parents[2] / "book" / "index.md"


@pytest.fixture(scope="module")
def data() -> dict[str, object]:
    return front_page.sentence_steps()


def test_of_every_piece_but_one_it_is_sure(data) -> None:
    wrong = front_page.wrong_step(data)
    for number, step in enumerate(data["steps"]):
        (first, share), (second, other), _ = step["likeliest"]
        assert sum(step["weights"]) == pytest.approx(1, abs=0.01)
        assert len(step["weights"]) == len(data["source"])
        if number == wrong:
            assert second == step["next"]
            assert share - other < 0.05
        else:
            assert first == step["next"]
            assert share > 0.85
    assert "it is sure of every piece but one" in INDEX.read_text("utf-8")


def test_greedy_search_gets_it_wrong_and_beam_search_does_not(data) -> None:
    assert data["greedy"] != TRAVELLING_SENTENCE.target == data["beam"]
    said = data["steps"][front_page.wrong_step(data)]["likeliest"][0][0]
    assert front_page.piece_text(said) in data["greedy"]


def test_the_still_picture_tells_the_same_story(data) -> None:
    page = BeautifulSoup(front_page.hero_markup(data), "lxml")
    at = front_page.wrong_step(data)
    assert page.input["value"] == str(at + 1)
    shares = [float(tag.text) for tag in page.select(".hero-share")]
    assert shares == [round(share, 2) for _, share in data["steps"][at]["likeliest"]]
    assert data["greedy"] in page.text
    assert json.loads(page.script.text)["at"] == at
    assert len(page.select(".hero-piece")) == len(data["source"])


def test_the_sentences_to_try_are_translated_as_the_grammar_does() -> None:
    split = generate_corpus()["test"]
    known = dict(zip(split.source, split.target, strict=True))
    model, vocabulary = load_shipped()
    written = translate_sentences(model, vocabulary, front_page.TRY, beam_size=1)
    assert written == [known[sentence] for sentence in front_page.TRY]


def test_the_cell_holds_a_mistake_and_its_card_names_it() -> None:
    code, card = front_page.failing_cell()
    assert "x.var(" in code
    assert "divided by d - 1" in BeautifulSoup(card, "lxml").text


def test_all_facts_are_counted() -> None:
    page = BeautifulSoup(front_page.proof(), "lxml")
    assert page.p.b.text == str(len(load_facts()))
    assert sum(int(tag.text) for tag in page.select("li b")) == len(load_facts())


def test_the_four_beliefs_are_the_papers_numbers() -> None:
    says = " ".join(f"{fact.says} {fact.note}" for fact in load_facts().values())
    for number in ("25.8", "27.3", "3.5 days", "12 hours"):
        assert number in says
        assert number in INDEX.read_text("utf-8")


@pytest.mark.parametrize("finding", front_page.FINDINGS, ids=lambda one: one.chapter)
def test_a_finding_leads_to_the_section_of_its_picture(finding: front_page.Finding) -> None:
    assert finding.anchor == re.sub(r"[^a-z0-9 -]", "", finding.section.lower()).replace(" ", "-")
    picture = front_page.thumbnail(finding)
    assert len(picture) < 25_000
    link = BeautifulSoup(front_page.findings(), "lxml").find("a", href=re.compile(finding.anchor))
    assert link is not None
    assert finding.says in link.text
