"""Silver for chapter 14: trees that the counted grammar draws, and the folder to train on."""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random

from annotated_transformer.data.gum import read_splits
from annotated_transformer.data.trees import Tree, in_brackets
from annotated_transformer.data.word_classes import words_of_text
from annotated_transformer.errors import CallError
from annotated_transformer.experiments.parsing.rivals import GrammarParser

WORDS = range(4, 36)  # of a sentence that becomes silver
LINES = 8000  # of each text at most, drawn
SEED = 0


def make_silver(out: Path, texts: Sequence[Path], gum: Path, jobs: int = 1) -> dict[str, int]:
    """Parse the sentences of texts with the grammar, and write the folder to train on.

    train.ptb holds the new trees once and GUM's own four times, twice alone and twice with a
    neighbour under one root, so that long rows and high numbers of words are seen too; dev.ptb and
    test.ptb are GUM's. Started again it goes on.

    Args:
        out: the folder.
        texts: one sentence a line.
        gum: the folder of GUM.
        jobs: processes that parse.

    Returns:
        "sentences": how many there were; "trees": how many of them have one.

    Raises:
        CallError: there is no text, one is not there, or `out` holds something else, or silver that
            was made of other texts or trees.
    """
    if not texts:
        raise CallError("no text was given; give text files, one sentence a line")
    for text in texts:
        if not text.is_file():
            raise CallError(f"{text} is not there; expected a text file, one sentence a line")
    train = read_splits(gum)["train"][0]
    out.mkdir(parents=True, exist_ok=True)
    stamp, made_of = out / "made_of.json", _made_of(texts, gum)
    if not stamp.is_file() and any(out.iterdir()):
        raise CallError(f"{out} is not empty and nothing is overwritten; give another folder")
    if stamp.is_file() and stamp.read_text("utf-8") != made_of:
        raise CallError(f"{out} holds trees of other texts; give another folder")
    stamp.write_text(made_of, "utf-8")
    begun = out / "silver.txt"
    written = begun.read_bytes() if begun.is_file() else b""
    begun.write_bytes(written[: written.rfind(b"\n") + 1])  # a line that was cut off is made anew
    done = written.count(b"\n")
    sentences = list(sentences_of(texts))
    with (
        begun.open("a", encoding="utf-8") as file,
        ProcessPoolExecutor(jobs, initializer=_begin, initargs=(train,)) as pool,
    ):
        for tree in pool.map(_draw, sentences[done:], chunksize=16):
            file.write(tree + "\n")
            done += 1
            if done % 100 == 0:
                file.flush()
                print(f"  {done} of {len(sentences)}", end="\r", file=sys.stderr, flush=True)
    silver = [line for line in begun.read_text("utf-8").split("\n") if line]
    own = [*train, *train, *joined(train), *joined(train[1:])]
    rows = [*map(in_brackets, own), *silver]
    (out / "train.ptb").write_text("".join(f"{row}\n" for row in rows), "utf-8")
    for name in ("dev.ptb", "test.ptb"):
        shutil.copyfile(gum / name, out / name)
    return {"sentences": len(sentences), "trees": len(silver)}


def sentences_of(texts: Sequence[Path]) -> Iterator[list[str]]:
    """The words of the sentences, one a line, that become silver."""
    for text in texts:
        lines = text.read_text("utf-8").removesuffix("\n").split("\n")
        if len(lines) > LINES:
            lines = Random(SEED).sample(lines, LINES)
        for line in lines:
            words = words_of_text(line)
            if len(words) in WORDS:
                yield words


def joined(trees: Sequence[Tree]) -> list[Tree]:
    """Each two neighbours under one root; the last alone if it has none."""
    pairs = (trees[first : first + 2] for first in range(0, len(trees), 2))
    return [Tree("ROOT", tuple(part for tree in two for part in tree.children)) for two in pairs]


def _made_of(texts: Sequence[Path], gum: Path) -> str:
    """All that decides what silver becomes, as JSON."""
    files = [*texts, gum / "train.ptb"]
    sums = [hashlib.sha256(file.read_bytes()).hexdigest() for file in files]
    return json.dumps({"sha256": sums, "words": list(WORDS), "lines": LINES, "seed": SEED})


_parser: GrammarParser | None = None  # of a process of the pool, which is made once


def _begin(train: Sequence[Tree]) -> None:
    """Read the grammar off the treebank, at the beginning of a process."""
    global _parser
    _parser = GrammarParser(train)


def _draw(words: Sequence[str]) -> str:
    """The tree of a sentence in brackets; "" if the grammar has none."""
    assert _parser is not None
    tree = _parser.parse(words)
    return "" if tree is None else in_brackets(tree)
