"""All of the book as cards for Anki: exercises, questions, errata, glossary, numbers.

What everybody needs on day 0 is a deck of its own: the questions of the cheat sheet, and the
numbers. Every card says by a tag on which day of the 21 it comes (0, 3, 7, 14, 21) and its topic.
"""

import html
import re
from collections.abc import Iterator

from annotated_transformer.exercises.catalogue import catalogue, chapter_of
from annotated_transformer.exercises.learner import anki
from annotated_transformer.exercises.learner.anki import AnkiCard
from annotated_transformer.interview import sheets
from annotated_transformer.interview.bank import Question, questions
from annotated_transformer.interview.markup import as_html
from annotated_transformer.interview.sentences import Sentence, read_sentences

CORE = "Day 0, the core"
DAYS = {
    **dict.fromkeys(("recurrence", "drawing", "equation"), 0),
    **dict.fromkeys(("heads", "positions", "layers"), 3),
    "training": 7,
    **dict.fromkeys(("results", "limits", "after"), 14),
}
HARD = 21  # the day of what is asked only where they dig
LAST_CHAPTER = {0: 2, 3: 5, 7: 9, 14: 13}  # of each day's exercises; the others come on day 21
TAG = "annotated-transformer"
_TERM = re.compile(
    r"^(?P<term>\S.*)\n  \*\*In short\.\*\* (?P<short>.+)\n\n  \*\*Precisely\.\*\* (?P<precise>.+)",
    re.MULTILINE,
)


def whole(errata: str, glossary: str, timestamp: float | None = None) -> bytes:
    """The deck of the site, an .apkg file.

    Args:
        errata: the text of that page.
        glossary: the text of that page.
        timestamp: as in `anki.package`.
    """
    return anki.package(cards(errata, glossary), timestamp)


def cards(errata: str, glossary: str) -> list[AnkiCard]:
    """Every card, each tagged with its day and its topic."""
    return [
        *_exercises(),
        *map(question_card, questions().values()),
        *map(number_card, sheets.numbers()),
        *map(sentence_card, read_sentences(errata)),
        *_terms(glossary),
    ]


def _exercises() -> Iterator[AnkiCard]:
    for card in anki.cards([*catalogue().values()], {}):
        chapter = int(card.chapter.partition("_")[0])
        day = next((day for day, last in LAST_CHAPTER.items() if chapter <= last), HARD)
        yield AnkiCard(
            card.identity, card.chapter, card.front, card.back, (*card.tags, f"{TAG}::day-{day}")
        )


def question_card(question: Question) -> AnkiCard:
    """Front: the question. Back: the answer, what must be said, what sinks."""
    day = HARD if question.level == 3 else DAYS[question.skill]
    points = "".join(f"<li>{as_html(point.text)}</li>" for point in question.points)
    sinks = "".join(f"<li>{as_html(sink.text)}</li>" for sink in question.sinks)
    trains = ", ".join(f"{name} (chapter {int(chapter_of(name)[:2])})" for name in question.trains)
    return AnkiCard(
        identity=("question", question.id),
        chapter=CORE if question.short else "Interview",
        front=f"<p>{as_html(question.text)}</p>"
        f'<p class="about">{question.role}, {question.seconds} seconds, aloud</p>',
        back=(f"<p><strong>{as_html(question.short)}</strong></p>" if question.short else "")
        + f"<p>{as_html(question.answer.text)}</p><ul>{points}</ul>"
        f"<p><strong>What sinks you</strong></p><ul>{sinks}</ul>"
        "<details><summary>How do you know?</summary>"
        f"<p>{as_html(question.how.text)}</p></details>"
        + (f'<p class="about">Trained by {html.escape(trains)}</p>' if trains else ""),
        tags=(f"{TAG}::question", f"{TAG}::{question.skill}", f"{TAG}::day-{day}"),
    )


def number_card(number: sheets.Number) -> AnkiCard:
    """Front: the number. Back: under which conditions it is true."""
    return AnkiCard(
        identity=("number", number.text),
        chapter=CORE,
        front=f"<p><strong>{as_html(number.text)}</strong></p><p>Of what, and when?</p>",
        back=f"<p>{as_html(number.condition.text)}</p>",
        tags=(f"{TAG}::number", f"{TAG}::results", f"{TAG}::day-0"),
    )


def sentence_card(sentence: Sentence) -> AnkiCard:
    """Front: what is often said. Back: what is so."""
    return AnkiCard(
        identity=("sentence", sentence.claim),
        chapter="Errata",
        front=f"<blockquote>{as_html(sentence.claim)}</blockquote>"
        "<p><strong>What is wrong with this sentence?</strong></p>",
        back=f"<p>{as_html(sentence.truth)}</p>",
        tags=(f"{TAG}::errata", f"{TAG}::{_tag(sentence.section)}", f"{TAG}::day-14"),
    )


def _terms(glossary: str) -> Iterator[AnkiCard]:
    for found in _TERM.finditer(glossary):
        yield AnkiCard(
            identity=("term", found["term"]),
            chapter="Glossary",
            front=f"<p><strong>{html.escape(found['term'])}</strong></p>",
            back=f"<p>{as_html(found['short'])}</p><p>{as_html(found['precise'])}</p>",
            tags=(f"{TAG}::glossary", f"{TAG}::{found['term'][0].lower()}", f"{TAG}::day-3"),
        )


def _tag(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
