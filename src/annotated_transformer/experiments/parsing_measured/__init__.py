"""Parsers of GUM trained and scored, recorded for chapter 14.

    python -m annotated_transformer.experiments.parsing_measured rivals            without a network
    python -m annotated_transformer.experiments.parsing_measured curve             from fewer trees
    python -m annotated_transformer.experiments.parsing_measured own_silver OUT     the grammar too
    python -m annotated_transformer.experiments.parsing_measured run NAME RUN_DIR...  each training
    python -m annotated_transformer.experiments.parsing_measured widths RUN_DIR    on dev alone
    python -m annotated_transformer.experiments.parsing_measured silver OUT TEXT...
    python -m annotated_transformer.experiments.parsing_measured ship RUN_DIR      into the package

All but `ship` take `--data-dir`, the folder of GUM (`data get gum`). `run` puts trainings into
`record.json` under NAME, all at once, in the order of their seeds, in which alone they differ;
`silver` makes the folder OUT (`parsing.silver`) and says how many trees it has.

The trainings are

    annotated-transformer train --data gum --target tree --data-dir FOLDER
        --preset tiny/N=3,d_model=128,h=4,d_ff=512 --norm pre --dropout 0.2 --learning-rate 0.003
        --warmup 600 --decay 0.6 --max-tokens 2048 --max-length 400 --precision bf16
        --byte-dropout --threads 1 --device cpu --seed 0, 1 and 2

with `--epochs 30 --checkpoint-every 100` on GUM ("gum"), 45 and 60 epochs on one tree in two and in
four ("half", "quarter", seed 0), and `--epochs 8 --checkpoint-every 150` with silver of
newstest2012, newstest2014 and 10,000 training lines of WMT, of the captions of Multi30k and of
Tatoeba, 27,439 sentences, 27,117 of them with a tree ("silver"; seed 0 is the parser that the
package ships). Before `known_words` counted each sentence once, three such trainings had 72.64,
72.10 and 72.31 on test. `--steps 8000 --checkpoint-every 150` is "four": GUM four times, as it
stands beside silver, from an empty text, seed 0. Without `--max-length` the joined rows would be
left out. What was chosen, was chosen on dev.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.data.gum import gum, read_splits
from annotated_transformer.data.published import get
from annotated_transformer.data.trees import Tree, in_brackets, leaves_of, read_trees
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.brackets import (
    ROOTS,
    BracketCounts,
    brackets,
    count_brackets,
    score_brackets,
)
from annotated_transformer.experiments.parsing.parser import Parser
from annotated_transformer.experiments.parsing.rivals import (
    GrammarParser,
    most_frequent_label,
    right_branching,
)
from annotated_transformer.experiments.parsing.silver import make_silver
from annotated_transformer.experiments.records import read_record, write_record
from annotated_transformer.shipped import PARSER
from annotated_transformer.training.run_directory import RunDirectory

BEAM = 4
WIDTHS = ((1, 0.0), (2, 0.0), (4, 0.0), (8, 0.0), (21, 0.3))  # beam, alpha; the last the paper's
EVERY = (2, 4)  # of the trees one in so many, for the curve
SHOWN = 12  # sentences whose trees are kept, to be shown
SHOWN_LENGTHS = range(8, 17)
RUNS = ("gum", "half", "quarter", "silver", "four")
LABELS = ("NP", "VP", "PP", "S", "SBAR", "ADVP", "ADJP", "PRN")


def in_figures(
    pairs: Iterable[tuple[Tree, Tree | None]], *, sentences: bool = False
) -> dict[str, Any]:
    """Trees against the right ones.

    Args:
        pairs: a right tree and the one that is judged.
        sentences: whether the counts of each sentence are kept too.

    Returns:
        "f1", "recall", "precision": of all, in percent; "complete": percentage of trees that are
        right as a whole; "labels": label -> brackets matched, right and found; if asked for,
        "matched" and "found": of each sentence how many brackets are.
    """
    pairs = list(pairs)
    counted = [count_brackets(gold, found) for gold, found in pairs]
    total = sum(counted, BracketCounts())
    return {
        "f1": round(total.f1, 2),
        "recall": round(total.recall, 2),
        "precision": round(total.precision, 2),
        "complete": round(100 * total.complete / total.sentences, 1),
        "labels": {
            label: [
                total.matched_by_label[label],
                total.gold_by_label[label],
                total.found_by_label[label],
            ]
            for label in LABELS
        },
    } | (
        {
            "matched": [counts.matched for counts in counted],
            "found": [counts.found for counts in counted],
        }
        if sentences
        else {}
    )


def shown(trees: Sequence[Tree]) -> list[int]:
    """Which trees are kept to be shown: some of suitable length from all over the split."""
    fit = [place for place, tree in enumerate(trees) if len(list(tree.words())) in SHOWN_LENGTHS]
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
    splits = {"dev": dev, "test": test}
    by_grammar = {name: parsed(parser, trees, name) for name, trees in splits.items()}
    for name, trees in splits.items():
        branching = [right_branching(list(leaves_of(tree)), label) for tree in trees]
        grammars, kept = by_grammar[name], name == "test"
        found[name] = {
            "right_branching": in_figures(zip(trees, branching, strict=True), sentences=kept)
            | {"f1_unlabelled": f1_unlabelled(trees, branching)},
            "pcfg": in_figures(zip(trees, grammars, strict=True), sentences=kept)
            | {
                "without_tree": grammars.count(None),
                "f1_unlabelled": f1_unlabelled(trees, grammars),
            },
        }
    found["test"]["gold"] = [len(brackets(tree)[0]) for tree in test]
    found["test"]["words"] = [len(list(tree.words())) for tree in test]
    found["shown"] = [
        {
            "gold": in_brackets(test[place]),
            "pcfg": in_brackets(of) if (of := by_grammar["test"][place]) else "",
        }
        for place in shown(test)
    ]
    return found


def f1_unlabelled(gold: Sequence[Tree], found: Sequence[Tree | None]) -> float:
    """F1 where only the words that a phrase spans have to be right."""
    spans = [None if tree is None else without_labels(tree) for tree in found]
    return round(score_brackets(map(without_labels, gold), spans).f1, 2)


def without_labels(tree: Tree) -> Tree:
    """The same phrases, all of one label; tags and the root keep theirs."""
    if tree.is_tag:
        return tree
    parts = tuple(without_labels(part) for part in tree.children if isinstance(part, Tree))
    return Tree(tree.label if tree.category in ROOTS else "X", parts)


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


def measure_own_silver(silver: Path, data_dir: Path | None) -> dict[str, Any]:
    """The grammar read off GUM and off the trees that it has drawn itself: how many, F1 on test."""
    train, _, test = trees_of(data_dir)
    with (silver / "silver.txt").open(encoding="utf-8") as file:
        drawn = read_trees((line for line in file if line.strip()), "silver.txt")
    found = parsed(GrammarParser([*train, *drawn]), test, "with its own silver")
    return {"trees": len(drawn), "f1": in_figures(zip(test, found, strict=True))["f1"]}


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
    if not trained:
        raise CallError(f"{run_dir} does not say how it was trained; give the folder that trained")
    _, dev, test = trees_of(data_dir)
    sentences = [list(tree.words()) for tree in test]
    written = {
        "trees_only": parser.rows(sentences, beam_size=BEAM),
        "free": parser.free_rows(sentences, beam_size=BEAM),  # whatever the model writes
    }
    on_test = {
        way: scored(parser, rows, test, sentences=way == "trees_only")
        for way, rows in written.items()
    }
    without_penalty = parser.free_rows(sentences, beam_size=BEAM, alpha=0.0)
    on_test["free"]["empty_without_penalty"] = without_penalty.count("")
    on_dev = parser.rows([list(tree.words()) for tree in dev], beam_size=BEAM)
    return {
        "parameters": sum(parameter.numel() for parameter in parser.model.parameters()),
        "vocabulary": len(parser.vocabulary),
        "seed": RunDirectory(run_dir).read_config().training.seed,
        "steps": trained[-1]["step"],
        "validation_loss": [line for line in lines if line["event"] == "valid"][-1]["loss"],
        "dev": {"trees_only": scored(parser, on_dev, dev)},
        "test": on_test,
        "shown": [written["trees_only"][place] for place in shown(test)],
    }


def scored(
    parser: Parser, rows: Sequence[str], trees: Sequence[Tree], *, sentences: bool = False
) -> dict[str, Any]:
    """As `in_figures`, and "well_formed": how many rows were trees of their sentence."""
    both = [parser.read(row, list(leaves_of(tree))) for row, tree in zip(rows, trees, strict=True)]
    figures = in_figures(zip(trees, (tree for tree, _ in both), strict=True), sentences=sentences)
    return figures | {"well_formed": sum(well for _, well in both)}


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


def load_record() -> dict[str, Any]:
    """What was measured: "rivals"; "curve"; "own_silver"; "runs": name -> one a seed; "widths"."""
    return read_record(__file__)


def measure_runs(run_dirs: Sequence[Path], data_dir: Path | None) -> list[dict[str, Any]]:
    """Each training as `measure_run`, in the order of their seeds.

    Raises:
        CallError: two have one seed, or they differ in more than that.
    """
    runs = sorted(
        ((RunDirectory(run_dir).read_config(), run_dir) for run_dir in run_dirs),
        key=lambda run: run[0].training.seed,
    )
    if len({config.training.seed for config, _ in runs}) < len(runs):
        raise CallError("two of these trainings have one seed; give trainings that differ in it")
    recipes = [replace(config, recipe=replace(config.training, seed=0)) for config, _ in runs]
    for recipe, (_, run_dir) in zip(recipes, runs, strict=True):
        if recipe != recipes[0]:
            raise CallError(
                f"{run_dir} differs from {runs[0][1]} in more than its seed; give trainings of one "
                "recipe and one folder of trees"
            )
    return [measure_run(run_dir, data_dir) for _, run_dir in runs]


def ship(run_dir: Path, to: Path = PARSER) -> None:
    """Put a trained parser into the package, its weights in 16 bits; all is read before.

    Raises:
        CallError: the run has not ended, or writes no trees.
    """
    Parser.load(run_dir)
    trained = RunDirectory(run_dir)
    config = json.loads(trained.config_file.read_text("utf-8"))
    config["data"]["data_dir"] = None  # a folder of this machine
    halves = {name: tensor.half() for name, tensor in trained.load_model().items()}
    made_from, tokenizer = trained.made_from(), trained.tokenizer_file.read_bytes()
    to.mkdir(exist_ok=True)
    shipped = RunDirectory(to)
    shipped.config_file.write_text(json.dumps(config, indent=2) + "\n", "utf-8")
    shipped.tokenizer_file.write_bytes(tokenizer)
    shipped.save_model(halves, made_from)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Score parsers of GUM, or make silver trees.")
    actions = parser.add_subparsers(dest="what", required=True, metavar="ACTION")
    given_data = argparse.ArgumentParser(add_help=False)
    given_data.add_argument("--data-dir", type=Path, help="folder with the trees of GUM")
    for name in ("rivals", "curve"):
        actions.add_parser(name, parents=[given_data])
    run = actions.add_parser("run", parents=[given_data])
    run.add_argument("name", choices=RUNS, help="of these trainings")
    run.add_argument("run_dirs", type=Path, nargs="+")
    for name, parents in (("widths", [given_data]), ("ship", [])):
        actions.add_parser(name, parents=parents).add_argument("run_dir", type=Path)
    own = actions.add_parser("own_silver", parents=[given_data])
    own.add_argument("folder", type=Path, help="that `silver` has written")
    silver = actions.add_parser("silver", parents=[given_data])
    silver.add_argument("out", type=Path, help="folder to be written")
    silver.add_argument("texts", type=Path, nargs="+", help="text files, one sentence a line")
    silver.add_argument("--jobs", type=int, default=1, help="processes that parse")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    if given.what == "silver":
        print(make_silver(given.out, given.texts, given.data_dir or get(gum()), given.jobs))
        return
    if given.what == "ship":
        ship(given.run_dir)
        return
    measures: dict[str, Callable[[], Any]] = {
        "rivals": lambda: measure_rivals(given.data_dir),
        "curve": lambda: measure_curve(given.data_dir),
        "own_silver": lambda: measure_own_silver(given.folder, given.data_dir),
        "widths": lambda: measure_widths(given.run_dir, given.data_dir),
        "run": lambda: measure_runs(given.run_dirs, given.data_dir),
    }
    measured = measures[given.what]()
    # Read only now: what another command has written in the meantime stays.
    record = load_record() if Path(__file__).with_name("record.json").is_file() else {}
    for name in ("command", "processor", "torch"):  # of this time, which `write_record` says
        record.pop(name, None)
    if given.what == "run":
        record.setdefault("runs", {})[given.name] = measured
    else:
        record[given.what] = measured
    write_record(__file__, record)
