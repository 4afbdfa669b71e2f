"""Text in a form that nobody should score: in pieces, with entities, tokenised, lower-cased."""

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from sacremoses import MosesDetokenizer

from annotated_transformer.data.vocabulary import WORD_MARK
from annotated_transformer.evaluation.causes_in_texts import LEAST, Cause, Texts

APART = re.compile(r" [.,]( |$)")
ENTITY = re.compile(r"&(\w+|#\d+|#x[0-9a-fA-F]+);")
PIECE = re.compile(f"@@( |$)|{WORD_MARK}")  # of subword-nmt, of SentencePiece


def share_with(pattern: re.Pattern[str], lines: Sequence[str]) -> float:
    """In how many of the lines it stands, from 0 to 1."""
    return sum(bool(pattern.search(line)) for line in lines) / max(1, len(lines))


def share_of_capitals(lines: Sequence[str]) -> float:
    """Among the letters."""
    letters = [letter for line in lines for letter in line if letter.isalpha()]
    return sum(letter.isupper() for letter in letters) / max(1, len(letters))


def detokenised(texts: Texts) -> Texts:
    """Words and signs put together on one side, where far more lines have them apart."""
    ours, theirs = share_with(APART, texts.hypotheses), share_with(APART, texts.references)
    if max(ours, theirs) < 0.05 or min(ours, theirs) > max(ours, theirs) / 2:
        return texts
    moses = MosesDetokenizer(lang=texts.language)

    def together(lines: Sequence[str]) -> list[str]:
        return [moses.detokenize(line.split(), unescape=False) for line in lines]

    if ours > theirs:
        return replace(texts, hypotheses=together(texts.hypotheses))
    return replace(texts, references=together(texts.references))


def in_small_letters(texts: Texts) -> Texts:
    """Both sides, where one has far fewer capitals than the other."""
    sides = (texts.hypotheses, texts.references)
    shares = [share_of_capitals(side) for side in sides]
    if min(shares) >= 0.85 * max(shares):
        return texts
    ours, theirs = ([line.lower() for line in side] for side in sides)
    return replace(texts, hypotheses=ours, references=theirs)


def joined(texts: Texts) -> Texts:
    """Translations with their pieces put together."""
    return replace(texts, hypotheses=[joined_line(line) for line in texts.hypotheses])


def joined_line(line: str) -> str:
    """A line without marks of pieces."""
    if WORD_MARK in line:
        line = "".join(line.split()).replace(WORD_MARK, " ").strip()
    return re.sub("@@( |$)", "", line)


def unescaped(texts: Texts) -> Texts:
    """Entities read as characters, on both sides."""
    ours, theirs = ([*map(html.unescape, side)] for side in (texts.hypotheses, texts.references))
    return replace(texts, hypotheses=ours, references=theirs)


class Form(NamedTuple):
    """How text may be written that nobody should score so.

    undo: the same texts without it.
    measure: a side -> how much of it there is, from 0 to 1.
    found: a sentence, with what was measured on {ours} and {theirs}, to which a score is added.
    advice: as in a `Cause`.
    """

    undo: Callable[[Texts], Texts]
    measure: Callable[[Sequence[str]], float]
    found: str
    advice: str


FORMS = {  # in the order in which they are undone
    "pieces not joined": Form(
        joined,
        partial(share_with, PIECE),
        f"Marks of pieces (@@ or {WORD_MARK}) stand in "
        "{ours:.0%} of the translations; joined, they score",
        "Join pieces to words before scoring.",
    ),
    "entities": Form(
        unescaped,
        partial(share_with, ENTITY),
        "Entities such as &apos; stand in {ours:.0%} of the translations and in {theirs:.0%} of "
        "the references; as characters, they score",
        "Turn them into characters on both sides; tokenisers of the Moses family write them.",
    ),
    "tokenised text": Form(
        detokenised,
        partial(share_with, APART),
        "A space stands before a full stop or comma in {ours:.0%} of the translations and in "
        "{theirs:.0%} of the references; put together again, they score",
        "Detokenise before scoring: sacreBLEU expects plain text and cuts it itself.",
    ),
    "letter case": Form(
        in_small_letters,
        share_of_capitals,
        "Of the letters {ours:.1%} are capitals in the translations and {theirs:.1%} in the "
        "references; all made small, they score",
        "Train and translate with capital letters, or compare with lower-cased scores only.",
    ),
}


def mend(texts: Texts) -> tuple[list[Cause], Texts]:
    """Undo one of FORMS after the other, where that gains something.

    Returns:
        What was undone, each with its gain over what came before; and the mended texts.
    """
    found = []
    for name, (undo, measure, sentence, advice) in FORMS.items():
        undone = undo(texts)
        gain = undone.score - texts.score
        if gain >= LEAST:
            shares = {"ours": measure(texts.hypotheses), "theirs": measure(texts.references)}
            says = f"{sentence.format(**shares)} {undone.score:.2f}."
            found.append(Cause(name, says, gain, advice))
            texts = undone
    return found, texts
