"""Averages of a recorded run's last checkpoints, scored (section 6.1): what chapter 9 shows.

The checkpoints are larger than this repository, so `record.json` keeps the scores. It is made anew,
from the folder of a run trained as `results/multi30k_tiny_prenorm_106` says, by
`python -m annotated_transformer.experiments.averaging_measured --run-dir RUN_DIR`.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.data import Split, encode_split, load_corpus
from annotated_transformer.evaluation.likelihood import split_likelihood
from annotated_transformer.evaluation.scoring import BLEU_PROTOCOLS, count_sentences, score_corpus
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.experiments.forensics_measured import compare
from annotated_transformer.experiments.records import write_so_far
from annotated_transformer.training.checkpoints import average_weights, list_checkpoints
from annotated_transformer.training.run_directory import RunDirectory, set_model_weights
from annotated_transformer.transformer import Transformer

RECORD = Path(__file__).resolve().parent / "record.json"
RUN = "multi30k_tiny_prenorm_106"  # the recorded run whose checkpoints they are
AVERAGED = (2, 5, 10)  # how many of the last checkpoints a mean is taken over
COMMAND = f"python -m annotated_transformer.experiments.averaging_measured --run-dir runs/{RUN}"


def measure(ours: Sequence[str], split: Split) -> dict[str, Any]:
    """BLEU of translations by each protocol, with its signature."""
    scores = score_corpus(ours, split.target, BLEU_PROTOCOLS)
    return {
        "bleu": {score.name: round(score.value, 2) for score in scores},
        "signatures": {score.name: score.signature for score in scores},
    }


def measure_run(run_dir: Path, split: Split, averaged: Sequence[int] = AVERAGED) -> dict[str, Any]:
    """Every checkpoint of a run by itself, and the means of the last ones.

    Returns:
        "single": of each checkpoint, oldest first, its step, the plain loss of the references and
        BLEU of its greedy translations; "means": the same of the mean of the last so many;
        "largest_mean_against_last": that mean against the last checkpoint, resampled.
    """
    directory = RunDirectory(run_dir)
    config = directory.read_config()
    vocabulary = directory.read_vocabulary(config)
    model = Transformer(config.model).eval()
    pairs = encode_split(split, vocabulary)
    found = list_checkpoints(directory.checkpoints)

    def of(chosen: list[tuple[int, Path]]) -> tuple[dict[str, Any], list[str]]:
        set_model_weights(model, average_weights([path for _, path in chosen]), run_dir)
        ours = translate_sentences(model, vocabulary, split.source, beam_size=1)
        loss = split_likelihood(model, pairs, 2048).loss
        steps = [step for step, _ in chosen]
        return {"steps": steps, "loss": round(loss, 4), **measure(ours, split)}, ours

    single = [of([checkpoint]) for checkpoint in found]
    means = [of(found[-count:]) for count in averaged]
    return {
        "single": [scores for scores, _ in single],
        "means": [scores for scores, _ in means],
        "largest_mean_against_last": compare(
            count_sentences(means[-1][1], split.target, "cased"),
            count_sentences(single[-1][1], split.target, "cased"),
        ),
    }


def load_record() -> dict[str, Any]:
    """The record: which run, on which split, by which search, and what `measure_run` found."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def make_record(run_dir: Path, data_dir: Path | None = None, path: Path = RECORD) -> None:
    """Measure a run on the validation split and write the record."""
    torch.set_num_threads(1)
    corpus = load_corpus("multi30k", data_dir=data_dir)
    record = {
        "command": COMMAND,
        "run": RUN,
        "split": "valid",
        "sentences": len(corpus["valid"]),
        "search": "greedy",
        **measure_run(run_dir, corpus["valid"]),
    }
    write_so_far(path, record)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Score the averages of a run's checkpoints.")
    parser.add_argument("--run-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, help="folder with the texts of Multi30k")
    given = parser.parse_args(arguments)
    make_record(given.run_dir, given.data_dir)
