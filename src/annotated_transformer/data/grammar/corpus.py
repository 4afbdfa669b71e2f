"""The corpus `grammar`: distinct pairs, splits that share no sentence, alignments, phenomena."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from annotated_transformer.data.corpus import Alignment, ParallelCorpus, Split
from annotated_transformer.data.grammar import english, german
from annotated_transformer.data.grammar.choose import Chooser
from annotated_transformer.data.grammar.compose import compose
from annotated_transformer.data.grammar.phenomena import phenomena
from annotated_transformer.data.grammar.structure import Mark, Sentence, Word
from annotated_transformer.errors import CallError

# Of generate_corpus() with no arguments; `data verify grammar` and a test compare.
DEFAULT_SHA256 = "900fc1b340f4ead957f2fe41a06e0b190cf9d02516f1c0908cef7970cf68b11f"
MIN_WORDS, MAX_WORDS = 3, 18  # of a sentence, punctuation not counted


@dataclass(frozen=True, slots=True)
class GrammarPair:
    """A sentence and its translation.

    Attributes:
        source, target: English and German text.
        alignment: links (i, j): token i of the source is said by token j of the target. Tokens are
            words and punctuation signs (see `tokens`).
        tags: the phenomena it shows, by the names in PHENOMENA.
    """

    source: str
    target: str
    alignment: Alignment
    tags: tuple[str, ...]


def tokens(text: str) -> list[str]:
    """The words and signs that alignments count: "The cat sleeps." has four."""
    return text.replace(",", " ,").replace(".", " .").split()


def join(words: list[Word]) -> str:
    """Words as text: signs stand against the word before them, the first letter is a capital."""
    text = " ".join([word for word, _ in words]).replace(" ,", ",").replace(" .", ".")
    return text[0].upper() + text[1:]


def align(source: list[Word], target: list[Word]) -> Alignment:
    """The links between words that share a mark, in order."""
    places: dict[Mark, list[int]] = {}
    for place, (_, marks) in enumerate(source):
        for mark in marks:
            places.setdefault(mark, []).append(place)
    links = {
        (i, j)
        for j, (_, marks) in enumerate(target)
        for mark in marks
        for i in places.get(mark, ())
    }
    return sorted(links)


def length(words: list[Word]) -> int:
    """Number of words without the signs."""
    return sum(word not in (",", ".") for word, _ in words)


def say(said: Sentence) -> GrammarPair | None:
    """A sentence in both languages; None where it is too short or too long."""
    source, target = english.sentence(said), german.sentence(said)
    if not MIN_WORDS <= length(source) <= MAX_WORDS or length(target) > MAX_WORDS:
        return None
    return GrammarPair(join(source), join(target), align(source, target), phenomena(said))


# The one pair that goes through the whole book, as the grammar says it (a test has it do so). "ruft
# ... an" encloses its object; "der" has the gender of "den Lehrer" and the case of its own role;
# "liest" closes the relative clause; "alte" agrees with "das" and "Buch".
TRAVELLING_SENTENCE = GrammarPair(
    "The woman calls the teacher who reads the old book.",
    "Die Frau ruft den Lehrer an, der das alte Buch liest.",
    [
        *((0, 0), (1, 1), (2, 2), (2, 5), (3, 3), (4, 4)),
        *((5, 7), (6, 11), (7, 8), (8, 9), (9, 10), (10, 12)),
    ],
    (
        *("subject_first", "verb_final", "relative_clause", "relative_subject"),
        *("extraposed_relative", "separable_split", "adjective"),
    ),
)


def pairs(seed: int) -> Iterator[GrammarPair]:
    """Distinct pairs without end: no source and no target occurs twice.

    The travelling sentence is not among them.
    """
    return (pair for _, pair in sayings(seed))


def sayings(seed: int) -> Iterator[tuple[Sentence, GrammarPair]]:
    """What each of `pairs` says, and the pair."""
    chooser = Chooser(seed)
    sources = {TRAVELLING_SENTENCE.source}
    targets = {TRAVELLING_SENTENCE.target}
    while True:
        said = compose(chooser)
        pair = say(said)
        if pair and pair.source not in sources and pair.target not in targets:
            sources.add(pair.source)
            targets.add(pair.target)
            yield said, pair


def said_in(split: Literal["valid", "test"]) -> list[tuple[Sentence, GrammarPair]]:
    """What each sentence of a split of `generate_corpus()` says, and the pair, in their order.

    Without the travelling sentence, with which the test split begins: nobody has composed it.
    """
    first, last = {"valid": (0, 1000), "test": (1000, 1999)}[split]
    return list(islice(sayings(0), first, last))


def generate_corpus(
    seed: int = 0, train: int = 60000, valid: int = 1000, test: int = 1000
) -> ParallelCorpus:
    """The corpus `grammar`. The same arguments give the same corpus on every machine.

    Validation and test pairs are drawn before the training pairs: they stay the same, whatever the
    size of the training split. No sentence, English or German, occurs twice anywhere. The first
    test pair is TRAVELLING_SENTENCE.

    Args:
        seed: of the choices.
        train, valid, test: number of pairs of each split, at least one.

    Raises:
        CallError: a split of no pairs was asked for.
    """
    if min(train, valid, test) < 1:
        raise CallError(
            f"each split of the grammar corpus needs at least one pair; train={train}, "
            f"valid={valid} and test={test} were asked for"
        )
    drawn = pairs(seed)
    splits = {
        "valid": [next(drawn) for _ in range(valid)],
        "test": [TRAVELLING_SENTENCE, *(next(drawn) for _ in range(test - 1))],
        "train": [next(drawn) for _ in range(train)],
    }
    return ParallelCorpus(
        "grammar",
        "en",
        "de",
        {name: as_split(splits[name]) for name in ("train", "valid", "test")},
        {"seed": seed, "train": train, "valid": valid, "test": test},
    )


def corpus_sha256(corpus: ParallelCorpus) -> str:
    """SHA-256 of all sentences: the same everywhere for the same arguments."""
    digest = hashlib.sha256()
    for name, split in corpus.splits.items():
        digest.update(f"{name}\n".encode())
        for source, target in zip(split.source, split.target, strict=True):
            digest.update(f"{source}\t{target}\n".encode())
    return digest.hexdigest()


def as_split(said: list[GrammarPair]) -> Split:
    """Pairs as a split, with their alignments and tags."""
    return Split(
        source=[pair.source for pair in said],
        target=[pair.target for pair in said],
        alignments=[pair.alignment for pair in said],
        tags=[pair.tags for pair in said],
    )
