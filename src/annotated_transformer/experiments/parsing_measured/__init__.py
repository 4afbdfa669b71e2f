"""Parsers of GUM trained and scored, recorded for chapter 14.

    python -m annotated_transformer.experiments.parsing_measured rivals            without a network
    python -m annotated_transformer.experiments.parsing_measured curve             from fewer trees
    python -m annotated_transformer.experiments.parsing_measured run NAME RUN_DIR...  each training
    python -m annotated_transformer.experiments.parsing_measured widths RUN_DIR    on dev alone
    python -m annotated_transformer.experiments.parsing_measured silver OUT TEXT...

All take `--data-dir`, the folder of GUM (`data get gum`). `run` puts its trainings into
`record.json` under NAME. `silver` parses the sentences of text files with the grammar, and writes
the folder OUT: train.ptb with the new trees once and GUM's own four times, twice alone and twice
with a neighbour under one root, so that long rows and high numbers of words are seen too; dev.ptb
and test.ptb as they are. Started again it goes on.

The trainings are

    annotated-transformer train --data gum --target tree --data-dir FOLDER
        --preset tiny/N=3,d_model=128,h=4,d_ff=512 --norm pre --dropout 0.2 --learning-rate 0.003
        --warmup 600 --decay 0.6 --max-tokens 2048 --max-length 400 --precision bf16
        --byte-dropout --threads 1 --device cpu --seed 0, 1 and 2

with `--epochs 30 --checkpoint-every 100` on GUM ("gum"), 45 and 60 epochs on one tree in two and
in four ("half", "quarter", seed 0), and `--epochs 8 --checkpoint-every 150` with silver of
newstest2012, newstest2014 and 10,000 training lines of WMT, of the captions of Multi30k and of
Tatoeba ("silver"; the first is the parser that the package ships). Without `--max-length` the
joined rows would be left out. What was chosen, was chosen on dev.
"""

import argparse
import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import torch

from annotated_transformer.data.gum import gum, read_splits
from annotated_transformer.data.published import get
from annotated_transformer.data.signs import words_of_text
from annotated_transformer.data.trees import Tree, in_brackets, leaves_of
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.brackets import BracketCounts, brackets, count_brackets
from annotated_transformer.experiments.parsing.parser import Parser
from annotated_transformer.experiments.parsing.rivals import (
    GrammarParser,
    most_frequent_label,
    right_branching,
)
from annotated_transformer.experiments.records import read_record, write_record
from annotated_transformer.training.run_directory import RunDirectory

BEAM = 4
WIDTHS = ((1, 0.0), (2, 0.0), (4, 0.0), (8, 0.0), (21, 0.3))  # beam, alpha; the last the paper's
EVERY = (2, 4)  # of the trees one in so many, for the curve
SHORT = 40  # words of the sentences that older papers score
SHOWN = 12  # sentences whose trees are kept, to be shown
OF_WORDS = range(8, 17)  # that they have
LABELS = ("NP", "VP", "PP", "S", "SBAR", "ADVP", "ADJP", "PRN")
SILVER_WORDS = range(4, 36)  # of a sentence that becomes silver
SILVER_LINES = 8000  # of each text at most, drawn
SEED = 0


def in_figures(pairs: Iterable[tuple[Tree, Tree | None]]) -> dict[str, Any]:
    """Trees against the right ones.

    Returns:
        "f1", "recall", "precision": of all, in percent; "f1_short": of sentences of up to 40 words;
        "complete": percentage of trees that are right as a whole; "labels": label -> brackets
        matched, right and found.
    """
    pairs = list(pairs)
    counted = [count_brackets(gold, found) for gold, found in pairs]
    total = sum(counted, BracketCounts())
    short = [
        counts
        for counts, (gold, _) in zip(counted, pairs, strict=True)
        if len(list(gold.words())) <= SHORT
    ]
    return {
        "f1": round(total.f1, 2),
        "recall": round(total.recall, 2),
        "precision": round(total.precision, 2),
        "f1_short": round(sum(short, BracketCounts()).f1, 2),
        "complete": round(100 * total.complete / total.sentences, 1),
        "labels": by_label(pairs),
    }


def by_sentence(pairs: Iterable[tuple[Tree, Tree | None]]) -> dict[str, list[int]]:
    """Of each sentence how many brackets are matched and how many were found."""
    counted = [count_brackets(gold, found) for gold, found in pairs]
    return {
        "matched": [counts.matched for counts in counted],
        "found": [counts.found for counts in counted],
    }


def by_label(pairs: Sequence[tuple[Tree, Tree | None]]) -> dict[str, list[int]]:
    """Label -> brackets matched, right and found."""
    sums = {label: [0, 0, 0] for label in LABELS}
    for gold, found in pairs:
        right = Counter(brackets(gold)[0])
        guessed = Counter(brackets(found)[0] if found is not None else [])
        for place, counter in enumerate((right & guessed, right, guessed)):
            for (label, _, _), count in counter.items():
                if label in sums:
                    sums[label][place] += count
    return sums


def shown(trees: Sequence[Tree]) -> list[int]:
    """Which trees are kept to be shown: some of suitable length from all over the split."""
    fit = [place for place, tree in enumerate(trees) if len(list(tree.words())) in OF_WORDS]
    return fit[:: max(1, len(fit) // SHOWN)][:SHOWN]


def measure_rivals(data_dir: Path | None) -> dict[str, Any]:
    """What needs no network, and how large the treebank is."""
    train, dev, test = trees_of(data_dir)
    label, parser = most_frequent_label(train), GrammarParser(train)
    found: dict[str, Any] = {
        "sizes": {
            name: [len(trees), sum(1 for tree in trees for _ in tree.words())]
            for name, trees in (("train", train), ("dev", dev), ("test", test))
        },
        "known_words": len(parser.known),
        "rules": [len(grammar.parent) for grammar in parser.grammars],
        "right_branching_label": label,
    }
    for name, trees in (("dev", dev), ("test", test)):
        branching = [right_branching(list(leaves_of(tree)), label) for tree in trees]
        by_grammar = parsed(parser, trees, name)
        found[name] = {
            "right_branching": in_figures(zip(trees, branching, strict=True)),
            "pcfg": in_figures(zip(trees, by_grammar, strict=True))
            | {"without_tree": by_grammar.count(None)},
        }
    # What is left is of test.
    found["test"]["pcfg"] |= by_sentence(zip(test, by_grammar, strict=True))
    found["test"]["right_branching"] |= by_sentence(zip(test, branching, strict=True))
    found["test"]["gold"] = [len(brackets(tree)[0]) for tree in test]
    found["test"]["words"] = [len(list(tree.words())) for tree in test]
    found["shown"] = [
        {
            "gold": in_brackets(test[place]),
            "pcfg": in_brackets(of) if (of := by_grammar[place]) else "",
        }
        for place in shown(test)
    ]
    return found


def parsed(parser: GrammarParser, trees: Sequence[Tree], what: str) -> list[Tree | None]:
    """What a grammar makes of the sentences of these trees."""
    return [
        parser.parse(list(tree.words()), list(leaves_of(tree)))
        for tree in with_progress(trees, what)
    ]


def measure_curve(data_dir: Path | None) -> dict[str, float]:
    """How many trees -> F1 on dev of the grammar read off them, one in `EVERY` of the treebank."""
    train, dev, _ = trees_of(data_dir)
    found = {}
    for every in EVERY:
        some = train[::every]
        guessed = parsed(GrammarParser(some), dev, f"from {len(some)} trees")
        found[str(len(some))] = in_figures(zip(dev, guessed, strict=True))["f1"]
    return found


def with_progress(trees: Sequence[Tree], what: str) -> Iterator[Tree]:
    """The trees one after the other; how far it is goes to standard error."""
    for place, tree in enumerate(trees):
        yield tree
        print(f"  {what}: {place + 1} of {len(trees)}", end="\r", file=sys.stderr, flush=True)


def measure_run(run_dir: Path, data_dir: Path | None) -> dict[str, Any]:
    """A trained parser: how it was trained; dev by rows that are trees, test also by free ones."""
    parser = Parser.load(run_dir)
    lines = list(RunDirectory(run_dir).read_metrics())
    trained = [line for line in lines if line["event"] == "train"]
    _, dev, test = trees_of(data_dir)
    sentences = [list(tree.words()) for tree in test]
    written = {
        "trees_only": parser.rows(sentences, beam_size=BEAM),
        "free": parser.free_rows(sentences, beam_size=BEAM),  # whatever the model writes
    }
    on_test = {way: scored(parser, rows, test) for way, rows in written.items()}
    read, _ = read_rows(parser, written["trees_only"], test)
    on_test["trees_only"] |= by_sentence(zip(test, read, strict=True))
    without_penalty = parser.free_rows(sentences, beam_size=BEAM, alpha=0.0)
    on_test["free"]["empty_without_penalty"] = without_penalty.count("")
    on_dev = parser.rows([list(tree.words()) for tree in dev], beam_size=BEAM)
    return {
        "parameters": sum(parameter.numel() for parameter in parser.model.parameters()),
        "vocabulary": len(parser.vocabulary),
        "steps": trained[-1]["step"],
        "validation_loss": [line for line in lines if line["event"] == "valid"][-1]["loss"],
        "processor_minutes": round(trained[-1]["cpu_seconds"] / 60, 1),
        "dev": {"trees_only": scored(parser, on_dev, dev)},
        "test": on_test,
        "shown": [{way: rows[place] for way, rows in written.items()} for place in shown(test)],
    }


def read_rows(
    parser: Parser, rows: Sequence[str], trees: Sequence[Tree]
) -> tuple[list[Tree], list[bool]]:
    """The trees of rows above the words of these trees, and whether each was one."""
    both = [parser.read(row, list(leaves_of(tree))) for row, tree in zip(rows, trees, strict=True)]
    return [tree for tree, _ in both], [well for _, well in both]


def scored(parser: Parser, rows: Sequence[str], trees: Sequence[Tree]) -> dict[str, Any]:
    """As `in_figures`, and "well_formed": how many rows were trees of their sentence."""
    read, well = read_rows(parser, rows, trees)
    return in_figures(zip(trees, read, strict=True)) | {"well_formed": sum(well)}


def measure_widths(run_dir: Path, data_dir: Path | None) -> list[dict[str, float]]:
    """F1 on dev at several beams, and with the paper's penalty of length."""
    parser = Parser.load(run_dir)
    _, dev, _ = trees_of(data_dir)
    sentences, found = [list(tree.words()) for tree in dev], []
    for beam_size, alpha in WIDTHS:
        rows = parser.rows(sentences, beam_size=beam_size, alpha=alpha)
        f1 = scored(parser, rows, dev)["f1"]
        found.append({"beam": beam_size, "alpha": alpha, "f1": f1})
        print(f"beam {beam_size}, alpha {alpha}: {f1}", file=sys.stderr)
    return found


def trees_of(data_dir: Path | None) -> tuple[list[Tree], list[Tree], list[Tree]]:
    """GUM's trees: train, dev, test."""
    splits = read_splits(data_dir or get(gum()))
    return splits["train"][0], splits["valid"][0], splits["test"][0]


def sentences_of(texts: Sequence[Path]) -> Iterator[list[str]]:
    """The words of the sentences, one a line, that become silver."""
    for text in texts:
        lines = text.read_text("utf-8").split("\n")
        if len(lines) > SILVER_LINES:
            lines = Random(SEED).sample(lines, SILVER_LINES)
        for line in lines:
            words = words_of_text(line)
            if len(words) in SILVER_WORDS:
                yield words


_parser: GrammarParser | None = None  # of this process


def _begin(train: Sequence[Tree]) -> None:
    global _parser
    _parser = GrammarParser(train)


def _silver(words: Sequence[str]) -> str:
    assert _parser is not None
    tree = _parser.parse(words)
    return "" if tree is None else in_brackets(tree)


def make_silver(
    out: Path, texts: Sequence[Path], data_dir: Path | None, jobs: int
) -> dict[str, int]:
    """Parse the sentences of these texts, and write the folder to train on (head of this module).

    Returns:
        How many sentences there were, and how many have a tree.

    Raises:
        CallError: a text is not there, or `out` holds silver of other texts.
    """
    for text in texts:
        if not text.is_file():
            raise CallError(f"{text} is not there; expected a text file, one sentence a line")
    out.mkdir(parents=True, exist_ok=True)
    begun, stamp = out / "silver.txt", json.dumps([str(text.resolve()) for text in texts])
    if (out / "texts.json").is_file() and (out / "texts.json").read_text() != stamp:
        raise CallError(f"{out} holds trees of other texts; give another folder")
    (out / "texts.json").write_text(stamp)
    written = begun.read_bytes() if begun.is_file() else b""
    begun.write_bytes(written[: written.rfind(b"\n") + 1])  # a line that was cut off is made anew
    done = written.count(b"\n")
    sentences, (train, _, _) = list(sentences_of(texts)), trees_of(data_dir)
    with begun.open("a", encoding="utf-8") as file:
        pool = ProcessPoolExecutor(jobs, initializer=_begin, initargs=(train,))
        with pool:
            for tree in pool.map(_silver, sentences[done:], chunksize=16):
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
        shutil.copyfile((data_dir or get(gum())) / name, out / name)
    return {"sentences": len(sentences), "trees": len(silver)}


def joined(trees: Sequence[Tree]) -> list[Tree]:
    """Each two neighbours under one root; the last alone if it has none."""
    pairs = (trees[first : first + 2] for first in range(0, len(trees), 2))
    return [Tree("ROOT", tuple(part for tree in two for part in tree.children)) for two in pairs]


def load_record() -> dict[str, Any]:
    """What was measured: "rivals"; "curve"; "silver"; "runs": name -> one a seed; "widths"."""
    return read_record(__file__)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Score parsers of GUM, or make silver trees.")
    parser.add_argument("what", choices=("rivals", "curve", "run", "widths", "silver"))
    parser.add_argument("rest", nargs="*", help="NAME RUN_DIR..., RUN_DIR, or OUT TEXT...")
    parser.add_argument("--data-dir", type=Path, help="folder with the trees of GUM")
    parser.add_argument("--jobs", type=int, default=1, help="processes that make silver trees")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    record = load_record() if Path(__file__).with_name("record.json").is_file() else {}
    for name in ("command", "processor", "torch"):  # of this time, which `write_record` says
        record.pop(name, None)
    if given.what == "silver":
        out, *texts = map(Path, given.rest)
        record["silver"] = make_silver(out, texts, given.data_dir, given.jobs)
    elif given.what == "rivals":
        record["rivals"] = measure_rivals(given.data_dir)
    elif given.what == "curve":
        record["curve"] = measure_curve(given.data_dir)
    elif given.what == "widths":
        record["widths"] = measure_widths(Path(given.rest[0]), given.data_dir)
    else:
        name, *runs = given.rest
        found = record.setdefault("runs", {})[name] = []
        for run in runs:
            found.append(measure_run(Path(run), given.data_dir))
            write_record(__file__, record)  # a next one may be cut off
    write_record(__file__, record)
