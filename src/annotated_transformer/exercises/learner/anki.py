"""The exercises and their known mistakes as cards for Anki, one deck a chapter.

A card of an exercise asks for the function; one of a mistake says what somebody's solution does and
asks what is wrong with it. Every note keeps its identity from one export to
the next, so that importing again updates the cards and leaves their review dates alone.
"""

import contextlib
import hashlib
import html
import io
import itertools
import re
import sqlite3
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from annotated_transformer.errors import CallError
from annotated_transformer.exercises.catalogue import chapter_of
from annotated_transformer.exercises.exercise import Exercise, Mistake
from annotated_transformer.exercises.learner.records import Record
from annotated_transformer.exercises.notebooks import solution_source
from annotated_transformer.exercises.reports.card import prose

MISTAKES = 5  # cards of known mistakes for each exercise, beside the ones the learner made
_MODEL_ID = 1_702_170_603  # any number, the same for ever: Anki knows the card's layout by it
_CSS = """\
.card{font-family:system-ui,sans-serif;font-size:18px;line-height:1.5;text-align:left;
max-width:44em;margin:0 auto;padding:0 .6em}
code,pre{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.85em}
code{overflow-wrap:anywhere}
pre{border:1px solid rgba(128,128,128,.5);border-radius:4px;padding:.5em;overflow-x:auto}
pre code{overflow-wrap:normal}
.about{font-size:.8em;opacity:.8}
details{margin:.4em 0}
summary{cursor:pointer}
"""
_BACK = "{{Front}}<hr id=answer>{{Back}}"


@dataclass(frozen=True)
class AnkiCard:
    """One note with one card. identity: what its stable id in Anki is made from. HTML sides.

    chapter: a chapter's name, "02_attention", or the name of another deck.
    """

    identity: tuple[str, ...]
    chapter: str
    front: str
    back: str
    tags: tuple[str, ...]


def cards(
    exercises: Sequence[Exercise], records: dict[str, Record], mistakes: int = MISTAKES
) -> list[AnkiCard]:
    """The cards of these exercises: each its own, then those of its mistakes."""
    found = []
    for exercise in exercises:
        found.append(exercise_card(exercise))
        made = records.get(exercise.id, Record()).mistakes
        found += [mistake_card(exercise, mistake) for mistake in _telling(exercise, mistakes, made)]
    return found


def exercise_card(exercise: Exercise) -> AnkiCard:
    """Front: what is asked. Back: hints to unfold, the solution, why it is so."""
    hints = [
        f"<details><summary>Hint {number}</summary>{prose(hint)}</details>"
        for number, hint in enumerate(exercise.hints, 1)
    ]
    code = _code(solution_source(exercise))
    return AnkiCard(
        identity=("exercise", exercise.id),
        chapter=chapter_of(exercise.id),
        front=_head(exercise) + _text(exercise.statement) + _code(exercise.signature),
        back="".join(hints) + code + _text(exercise.explanation),
        tags=_tags(exercise, "exercise"),
    )


def mistake_card(exercise: Exercise, mistake: Mistake) -> AnkiCard:
    """Front: what was done. Back: the whole sentence of the check."""
    situation, _ = _parted(mistake.sentence)
    return AnkiCard(
        identity=("mistake", exercise.id, mistake.name),
        chapter=chapter_of(exercise.id),
        front=(
            f"{_head(exercise)}{_code(exercise.signature)}<p>Of a solution the check says:</p>"
            f"<blockquote>{prose(situation)}</blockquote>"
            "<p><strong>What is wrong here, and why?</strong></p>"
        ),
        back=prose(mistake.sentence),
        tags=_tags(exercise, "mistake"),
    )


def package(notes: Sequence[AnkiCard], timestamp: float | None = None) -> bytes:
    """An .apkg file with these cards, a deck for each chapter.

    timestamp: seconds since 1970 (default now). Anki updates a note when the file is the newer.
    Raises CallError where genanki, which writes the format, is not installed.
    """
    genanki = _genanki()
    fields = [{"name": "Front"}, {"name": "Back"}]
    template = {"name": "Card", "qfmt": "{{Front}}", "afmt": _BACK}
    model = genanki.Model(_MODEL_ID, "Annotated Transformer", fields, [template], css=_CSS)
    decks: dict[str, Any] = {}
    for note in notes:
        number, _, words = note.chapter.partition("_")
        name = f"Annotated Transformer::{number} {words.replace('_', ' ')}".strip()
        deck = decks.setdefault(name, genanki.Deck(_number_for(name), name))
        deck.add_note(
            genanki.Note(
                model=model,
                fields=[note.front, note.back],
                tags=list(note.tags),
                guid=genanki.guid_for("annotated-transformer", *note.identity),
                sort_field=" ".join(note.identity),
            )
        )
    return _zipped(genanki.Package(list(decks.values())), timestamp or time.time())


def _zipped(package: Any, timestamp: float) -> bytes:
    """What the package's own write_to_file does, which leaves its collection in the temp folder."""
    written = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(written, "w") as archive:
        path = Path(folder) / "collection.anki2"
        with contextlib.closing(sqlite3.connect(path)) as collection, collection:
            ids = itertools.count(int(timestamp * 1000))
            package.write_to_db(collection.cursor(), timestamp, ids)
        archive.write(path, path.name, zipfile.ZIP_DEFLATED)
        archive.writestr("media", "{}")
    return written.getvalue()


def _telling(exercise: Exercise, number: int, made: Sequence[str]) -> list[Mistake]:
    """The mistakes worth a card: those made, and the first of the bank, each front once.

    Left out are answers to a question (the question is on the exercise's own card), two mistakes
    at once (each has its own entry), and sentences of one part, whose front would be the back.
    """
    if exercise.asks_for_answers:
        return []
    names = {part for name in made for part in name.split("+")}
    usable = [m for m in exercise.mistakes if "+" not in m.name and _parted(m.sentence)[1]]
    own = _each_front_once([mistake for mistake in usable if mistake.name in names])
    every = _each_front_once([*own, *usable])
    return every[: len(own) + number]


def _each_front_once(mistakes: Sequence[Mistake]) -> list[Mistake]:
    first: dict[str, Mistake] = {}
    for mistake in mistakes:
        first.setdefault(_parted(mistake.sentence)[0], mistake)
    return list(first.values())


def _parted(sentence: str) -> tuple[str, str]:
    """What was done, and the rest: why it is wrong, where to look. Cut where no code is open."""
    for found in re.finditer(r"[.?!] +(?=[A-Z`])|: ", sentence):
        before, rest = sentence[: found.start()], sentence[found.end() :]
        if before.count("`") % 2 == 0 and before.count("(") == before.count(")"):
            return f"{before}{'.' if found[0] == ': ' else found[0].rstrip()}", rest
    return sentence, ""


def _head(exercise: Exercise) -> str:
    about = f"{exercise.id} · {exercise.kind} · difficulty {exercise.difficulty} of 5"
    title = html.escape(exercise.title)
    return f'<p><strong>{title}</strong><br><span class="about">{html.escape(about)}</span></p>'


def _text(text: str) -> str:
    """Paragraphs; those that are code keep their lines."""
    parts = []
    for block in text.split("\n\n"):
        is_code = block.startswith(("def ", "    "))
        parts.append(_code(block) if is_code else prose(block))
    return "".join(parts)


def _code(source: str) -> str:
    return f"<pre><code>{html.escape(source, quote=False)}</code></pre>"


def _tags(exercise: Exercise, what: str) -> tuple[str, ...]:
    topic, _, name = exercise.id.partition(".")
    return (f"annotated-transformer::{what}", f"annotated-transformer::{topic}::{name}")


def _number_for(name: str) -> int:
    """A deck's number, the same at every export, in the range that genanki asks for."""
    return 2**30 + int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % 2**30


def _genanki() -> Any:
    try:
        import genanki
    except ImportError:
        raise CallError(
            "cards for Anki are written by genanki, which is not installed: "
            "pip install genanki, or install this package as annotated-transformer[anki]"
        ) from None
    return genanki
