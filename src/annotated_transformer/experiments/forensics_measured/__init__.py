"""One recorded output under every protocol, and recorded outputs against each other: chapter 9.

The references of Multi30k are not ours to hand on and `results/` is not part of the installed
package, so `record.json` keeps the figures. In the repository's root it is made anew by
`python -m annotated_transformer.experiments.forensics_measured`.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from annotated_transformer.data import load_corpus
from annotated_transformer.evaluation.forensics import (
    cutter,
    score_under_every_protocol,
    split_compounds,
)
from annotated_transformer.evaluation.scoring import count_sentences
from annotated_transformer.evaluation.significance import (
    Counted,
    bootstrap_interval,
    paired_bootstrap,
    paired_randomisation,
)
from annotated_transformer.experiments.records import write_so_far

RECORD = Path(__file__).resolve().parent / "record.json"
COMMAND = "python -m annotated_transformer.experiments.forensics_measured"
RESULTS = Path("results")
SPLIT = "test_2016_flickr"
RUN = "multi30k_tiny_prenorm_106"  # whose output is scored under every protocol
SEEDS = ("multi30k_tiny_prenorm_106_s1", "multi30k_tiny_prenorm_106_s2")  # the same, trained anew
OTHERS = ("multi30k_tiny_prenorm", "multi30k_tiny_postnorm", *SEEDS)  # what it is compared with


def compare(ours: Counted, theirs: Counted) -> dict[str, Any]:
    """The difference of two scores, between which values it lies, and both p-values of chance."""
    found, exchanged = paired_bootstrap(ours, theirs), paired_randomisation(ours, theirs)
    assert found.interval is not None
    return {
        "difference": round(found.difference, 2),
        "low": round(found.interval.low, 2),
        "high": round(found.interval.high, 2),
        "p_bootstrap": round(found.p_value, 4),
        "p_randomisation": round(exchanged.p_value, 4),
        "resamples": found.trials,
        "exchanges": exchanged.trials,
        "seed": found.seed,
    }


def measure(results: Path, references: Sequence[str]) -> dict[str, Any]:
    """The scores of `RUN` under every protocol, its interval, and its lead over `OTHERS`."""

    def output(run: str) -> list[str]:
        return (results / run / f"translations.{SPLIT}.txt").read_text("utf-8").splitlines()

    ours = output(RUN)
    mine = count_sentences(ours, references, "cased")
    interval = bootstrap_interval(mine)
    scores = score_under_every_protocol(ours, references)
    return {
        "sentences": len(references),
        "hyphens": sum("-" in line for line in references),
        "hyphen_signs": count_hyphens(ours, references),
        "scores": [{**asdict(score), "value": round(score.value, 2)} for score in scores],
        "interval": [round(interval.low, 2), round(interval.high, 2)],
        "searches": {run: search_of(results, run) for run in (RUN, *OTHERS)},
        "against": {
            run: compare(mine, count_sentences(output(run), references, "cased")) for run in OTHERS
        },
    }


def search_of(results: Path, run: str) -> dict[str, Any]:
    """Which search made a recorded output, and on which sentences its alpha was chosen."""
    scores = json.loads((results / run / "scores.json").read_text("utf-8"))
    [cased] = [s for s in scores if (s["split"], s["protocol"]) == (SPLIT, "cased")]
    return {name: cased[name] for name in ("beam", "alpha", "alpha_chosen_on")}


def count_hyphens(ours: Sequence[str], references: Sequence[str]) -> dict[str, int]:
    """Hyphens that are words once compounds are cut: written, in the references, and matched."""
    cut = cutter("moses-compounds", "de")
    sign = split_compounds("a-b").split()[1]
    pairs = [
        [cut(line).split().count(sign) for line in pair]
        for pair in zip(ours, references, strict=True)
    ]
    return {
        "ours": sum(ours for ours, _ in pairs),
        "references": sum(theirs for _, theirs in pairs),
        "matched": sum(min(pair) for pair in pairs),
    }


def load_record() -> dict[str, Any]:
    """The record: which run, on which split, and what `measure` found."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def make_record(results: Path, data_dir: Path | None = None, path: Path = RECORD) -> None:
    """Score the recorded outputs against the real references and write the record."""
    corpus = load_corpus("multi30k", data_dir=data_dir)
    found = measure(results, corpus[SPLIT].target)
    record = {"command": COMMAND, "run": RUN, "split": SPLIT, **found}
    write_so_far(path, record)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Score a recorded output under every protocol.")
    parser.add_argument("--data-dir", type=Path, help="folder with the texts of Multi30k")
    make_record(RESULTS, parser.parse_args(arguments).data_dir)
