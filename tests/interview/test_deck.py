"""The deck of the site: everything of the book is a card, with its day and its topic."""

import collections
import re
import sqlite3
import zipfile
from pathlib import Path

from annotated_transformer.exercises.learner import anki
from annotated_transformer.interview import deck, sheets
from annotated_transformer.interview.bank import questions
from annotated_transformer.interview.sentences import read_sentences

BOOK = Path(__file__).resolve().parents[2] / "book"
ERRATA = (BOOK / "errata.md").read_text(encoding="utf-8")
GLOSSARY = (BOOK / "glossary.md").read_text(encoding="utf-8")
CARDS = deck.cards(ERRATA, GLOSSARY)
KINDS = collections.Counter(card.identity[0] for card in CARDS)


def test_nothing_is_left_out() -> None:
    assert KINDS["question"] == len(questions())
    assert KINDS["number"] == len(sheets.numbers())
    assert KINDS["sentence"] == len(read_sentences(ERRATA)) == len(re.findall("^“", ERRATA, re.M))
    assert KINDS["term"] == GLOSSARY.count("**In short.**")
    assert KINDS["exercise"] == 74
    assert KINDS["mistake"] > 200


def test_each_card_has_one_day_and_a_topic_and_is_there_once() -> None:
    assert len({card.identity for card in CARDS}) == len(CARDS)
    for card in CARDS:
        days = [tag for tag in card.tags if "::day-" in tag]
        assert len(days) == 1, card.identity
        assert int(days[0].rpartition("-")[2]) in (0, 3, 7, 14, 21)
        assert len(card.tags) >= 3 or card.identity[0] in ("exercise", "mistake"), card.identity
        assert "`" not in re.sub(r"<pre>.*?</pre>", "", card.front + card.back, flags=re.DOTALL)


def test_day_0_has_a_deck_of_its_own() -> None:
    core = [card for card in CARDS if card.chapter == deck.CORE]
    short = [question for question in questions().values() if question.short]
    assert len(core) == len(short) + len(sheets.numbers())


def test_anki_finds_the_notes_and_knows_them_again(tmp_path: Path) -> None:
    """Once, by hand, a real Anki imported it, and a second file on top; the days stayed."""
    identities = []
    for number, made in enumerate((deck.whole(ERRATA, GLOSSARY, 1e9), anki.package(CARDS, 2e9))):
        path = tmp_path / f"{number}.apkg"
        path.write_bytes(made)
        with zipfile.ZipFile(path) as archive:
            collection = archive.extract("collection.anki2", tmp_path / str(number))
        with sqlite3.connect(collection) as base:
            identities.append({guid for (guid,) in base.execute("select guid from notes")})
    assert len(identities[0]) == len(CARDS)
    assert identities[0] == identities[1]
