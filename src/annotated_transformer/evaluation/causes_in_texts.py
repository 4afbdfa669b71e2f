"""What translations, references and sources tell of a low score, without the model.

A table has what may be wrong with single lines, which are then left out; the functions below it are
the causes of a kind of their own.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from annotated_transformer.evaluation.bleu import (
    MAX_N,
    Array,
    bleu_of_counts,
    count_corpus,
    ngrams,
    words_13a,
)
from annotated_transformer.evaluation.forensics import score_under_every_protocol
from annotated_transformer.evaluation.scoring import cased_bleu

LEAST = 0.1  # points of BLEU: what gains less is no cause
FEWEST = 0.1  # share of the lines: fewer cannot speak for a file
FEWEST_SHIFTED = 10  # lines in a row: fewer may be like their neighbours by chance
MOST_OF_THEM = 0.75  # share of shifted lines that are each nearer to the neighbour's reference
MATCHES = slice(2, 2 + MAX_N)  # of the columns of `count_corpus`
TOO_LONG = 1.05  # words for a word of the references
UNKNOWN = re.compile(r"<unk>|\u2047|\bUNK\b")


@dataclass(frozen=True)
class Cause:
    """What may make a score low.

    name: one or two words.
    found: one sentence, what was measured.
    gain: points of BLEU more without it; None where no score without it can be computed.
    advice: one sentence, what to do.
    """

    name: str
    found: str
    gain: float | None
    advice: str


@dataclass(frozen=True)
class Texts:
    """Translations, their references and their sources, a line each; language: of the first two."""

    hypotheses: Sequence[str]
    references: Sequence[str]
    sources: Sequence[str]
    language: str = "de"

    @cached_property
    def score(self) -> float:
        """Cased BLEU."""
        return cased_bleu(self.hypotheses, self.references).value

    @cached_property
    def words(self) -> tuple[list[list[str]], list[list[str]]]:
        """Of each translation and of each reference, as sacreBLEU cuts them."""
        return [*map(words_13a, self.hypotheses)], [*map(words_13a, self.references)]

    @cached_property
    def counts(self) -> Array:
        """What each translation has in common with its reference (`count_corpus`)."""
        return count_corpus(*self.words)

    def lines(self, wanted: Sequence[int]) -> "Texts":
        """Some of the lines."""
        ours, theirs, sources = (
            [side[index] for index in wanted]
            for side in (self.hypotheses, self.references, self.sources)
        )
        return Texts(ours, theirs, sources, self.language)


# --- lines that can be left out -------------------------------------------------------------------

Words = list[str]


def repeats(words: Words) -> bool:
    """Whether three words in a row stand there three times or more."""
    return max(ngrams(words, 3).values(), default=0) >= 3


def has_unknown(words: Words) -> bool:
    """Whether a sign for an unknown word stands there."""
    return bool(UNKNOWN.search(" ".join(words)))


class Lines(NamedTuple):
    """What may be wrong with some of the lines.

    is_wrong: words of a translation, its reference, its source -> whether it is.
    found: what follows on "12 of 1,000".
    advice: as in a `Cause`.
    """

    is_wrong: Callable[[Words, Words, Words], bool]
    found: str
    advice: str


LINES = {
    "empty references": Lines(
        lambda ours, theirs, _: bool(ours) and not theirs,
        "references are empty where the translation is not",
        "Fill these pairs or remove them, in all files alike.",
    ),
    "untranslated references": Lines(
        lambda ours, theirs, source: ours != theirs == source != [],
        "references are their source, untranslated",
        "Look whether files of source and target were exchanged or mixed.",
    ),
    "copied sources": Lines(
        lambda ours, theirs, source: theirs != ours == source != [],
        "translations are their source, untranslated",
        "Look for such pairs in the training data, and take them out.",
    ),
    "empty translations": Lines(
        lambda ours, theirs, _: bool(theirs) and not ours,
        "translations are empty where the reference is not",
        "Raise --alpha, chosen on valid, or search greedily: a beam may prefer the empty line.",
    ),
    "loops": Lines(
        lambda ours, theirs, _: repeats(ours) and not repeats(theirs),
        "translations have three words in a row three times or more",
        "Lower --alpha or --max-extra, chosen on valid, or train longer.",
    ),
    "unknown words": Lines(
        lambda ours, theirs, _: has_unknown(ours) and not has_unknown(theirs),
        "translations have <unk> or another sign for an unknown word",
        "Learn a vocabulary of pieces from text with the same letters and signs.",
    ),
}


def others_alone(name: str, texts: Texts, lines: Lines) -> Cause | None:
    """One of LINES, and what the other lines score."""
    triples = zip(texts.hypotheses, texts.references, texts.sources, strict=True)
    wrong = [lines.is_wrong(*(line.split() for line in triple)) for triple in triples]
    if not any(wrong):
        return None
    count = f"{sum(wrong):,} of {len(wrong):,} {lines.found}"
    others = [index for index, is_wrong in enumerate(wrong) if not is_wrong]
    if len(others) < FEWEST * len(wrong):
        return Cause(name, f"{count}.", None, lines.advice)
    alone = texts.lines(others)
    found = f"{count}; without these lines the score is {alone.score:.2f}."
    return Cause(name, found, alone.score - texts.score, lines.advice)


# --- of a kind of their own -----------------------------------------------------------------------


def shifted_references(texts: Texts) -> Cause | None:
    """Lines in a row, each beside the reference of its neighbour, if that doubles their score.

    A line that one file lacks shifts all lines behind it, up to one that the other file lacks.
    """
    ours, theirs = texts.words
    found = (
        off_by_one(texts.counts, count_corpus(ours[:-1], theirs[1:]), "next"),
        off_by_one(texts.counts, count_corpus(ours[1:], theirs[:-1]), "previous"),
    )
    return max(filter(None, found), key=lambda cause: cause.gain or 0, default=None)


def off_by_one(straight: Array, shifted: Array, which: str) -> Cause | None:
    """The lines in a row that have most n-grams more in common with a neighbour's reference.

    Args:
        straight: what each line has in common with its own, (lines, columns).
        shifted: what it has in common with that of the "next" line or of the "previous" one, which
            the first line has not; (lines - 1, columns).
        which: of the two.
    """
    gained = (shifted - straight[:-1])[:, MATCHES].sum(1)  # (lines - 1,)
    sums = np.concatenate([[0], gained.cumsum()])  # before the first line, and behind each
    end = int((sums - np.minimum.accumulate(sums)).argmax())
    begin = int(sums[: end + 1].argmin())
    number, first = end - begin, begin + (1 if which == "next" else 2)
    if number < FEWEST_SHIFTED or (gained[begin:end] > 0).mean() < MOST_OF_THEM:
        return None
    before, after = (bleu_of_rows(rows[begin:end]) for rows in (straight, shifted))
    if after < 2 * before:
        return None
    mended = np.concatenate([straight[:begin], shifted[begin:end], straight[end + 1 :]])
    return Cause(
        "shifted references",
        f"Lines {first:,} to {first + number - 1:,} of the translations score {before:.2f}, and "
        f"{after:.2f} against the reference of the {which} line.",
        bleu_of_rows(mended) - bleu_of_rows(straight),
        f"Look near line {begin + 1:,} for a line that one file has and the other has not, often "
        "an empty one.",
    )


def bleu_of_rows(rows: Array) -> float:
    """Cased BLEU of lines that `count_corpus` has counted."""
    return float(bleu_of_counts(rows.sum(0), "exp"))


def length(texts: Texts) -> Cause | None:
    """The brevity penalty; of translations that are too long, only how long they are."""
    written, expected = map(float, texts.counts.sum(0)[:2])
    if not written or not expected:
        return None
    found = f"Translations have {written / expected:.3f} tokens for each token of the references"
    if written > TOO_LONG * expected:
        advice = "Lower --alpha or --max-extra, chosen on valid, and look for loops."
        return Cause("length", f"{found}, and each word too many counts as wrong.", None, advice)
    penalty = min(1.0, math.exp(1 - expected / written))
    if not penalty:  # too small for a number
        return Cause("length", f"{found}.", None, "Look whether the right file is scored.")
    return Cause(
        "length",
        f"{found}, and the brevity penalty takes {1 - penalty:.1%} of the score.",
        texts.score / penalty - texts.score,
        "Raise --alpha, chosen on valid, and look whether --max-extra cuts long sentences.",
    )


def protocol(texts: Texts) -> Cause:
    """What other ways of counting make of the same texts."""
    scores = score_under_every_protocol(texts.hypotheses, texts.references, texts.language)
    low, high = (choose(scores, key=lambda score: score.value) for choose in (min, max))
    return Cause(
        "protocol",
        f"The protocols in use give the same translations {low.value:.2f} ({low.name}) to "
        f"{high.value:.2f} ({high.name}), and sacreBLEU's own is {texts.score:.2f}.",
        high.value - texts.score,
        "Compare only scores of the same signature; --every-protocol prints them all.",
    )


OF_TEXTS: dict[str, Callable[[Texts], Cause | None]] = {  # of equal gains the first comes first
    "shifted references": shifted_references,
    **{name: partial(others_alone, name, lines=lines) for name, lines in LINES.items()},
    "length": length,
    "protocol": protocol,
}
