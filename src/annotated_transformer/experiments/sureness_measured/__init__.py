"""How sure a translator is and how often it is right, which chapter 16 shows.

Two kinds of runs on Multi30k that differ in label smoothing alone are asked for the best next token
after each true beginning of the validation sentences. Tokens are put into bins by how sure the
model is. Of each run's own greedy translations it is counted how often they repeat and copy.

`record.json` is made anew, from run folders, by
`python -m annotated_transformer.experiments.sureness_measured --run-dir RUN --run-dir RUN ...`.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.after.families import OneStack
from annotated_transformer.data import encode_split, load_corpus
from annotated_transformer.data.batching import collate
from annotated_transformer.errors import CallError
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.experiments.records import read_record, write_record
from annotated_transformer.museum.recipe import shifted
from annotated_transformer.museum.system import best_next
from annotated_transformer.training.run_directory import load_run
from annotated_transformer.transformer import Transformer

BINS = 10  # of a tenth each
AT_ONCE = 50


@torch.inference_mode()
def sureness(
    model: Transformer, source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor]:
    """How sure the model is of its best next token, and whether it is right: (tokens,) each.

    Args:
        source: token ids of each sentence.
        target: likewise, bos first and eos last.
    """
    sure, right = [], []
    for at in range(0, len(source), AT_ONCE):
        src, tgt = (collate([list(ids) for ids in s[at : at + AT_ONCE]]) for s in (source, target))
        of_these, told = best_next(model, src, *shifted(tgt))
        sure.append(of_these)
        right.append(told)
    return torch.cat(sure), torch.cat(right)


def by_bins(sure: Tensor, right: Tensor, bins: int = BINS) -> dict[str, Any]:
    """Tokens by how sure the model was of them.

    Returns:
        "tokens", "sure" and "right" of each bin, the latter two as means (0 where it is empty);
        "apart", the mean distance of the two, weighed by tokens (the expected calibration error).
    """
    place = (sure * bins).long().clamp(max=bins - 1)
    tokens = torch.bincount(place, minlength=bins)
    mean_of = [
        torch.bincount(place, weights=values.double(), minlength=bins) / tokens.clamp(min=1)
        for values in (sure, right)
    ]
    apart = float(((mean_of[0] - mean_of[1]).abs() * tokens).sum() / tokens.sum())
    return {
        "tokens": tokens.tolist(),
        "sure": [round(value, 4) for value in mean_of[0].tolist()],
        "right": [round(value, 4) for value in mean_of[1].tolist()],
        "apart": round(apart, 4),
    }


def repeats(sentence: str) -> bool:
    """Whether two words in a row stand there again at once, or one word three times."""
    words = sentence.split()
    three = any(words[i] == words[i + 1] == words[i + 2] for i in range(len(words) - 2))
    pairs = any(words[i : i + 2] == words[i + 2 : i + 4] for i in range(len(words) - 3))
    return three or pairs


def copies(source: str, sentence: str) -> bool:
    """Whether most of its words stand in the source."""
    words = [word.strip(".,").lower() for word in sentence.split()]
    of_source = {word.strip(".,").lower() for word in source.split()}
    return bool(words) and sum(word in of_source for word in words) > len(words) / 2


def measure_run(run_dir: Path, data_dir: Path | None = None) -> dict[str, Any]:
    """All of one run. Raises CallError if no finished run of two stacks lives there."""
    model, vocabulary, config = load_run(run_dir)
    if isinstance(model, OneStack):
        raise CallError(f"{run_dir} is of one stack; an encoder and a decoder are asked for.")
    split = load_corpus("multi30k", data_dir=data_dir)["valid"]
    encoded = encode_split(split, vocabulary)
    sure, right = sureness(model, encoded.source, encoded.target)
    said = translate_sentences(model, vocabulary, split.source, beam_size=1)
    return {
        "settings": {
            name: value
            for name, value in {**config.model.to_dict(), **config.training.to_dict()}.items()
            if name not in ("seed", "label_smoothing")
        },
        "seed": config.training.seed,
        "label_smoothing": config.training.label_smoothing,
        **by_bins(sure, right),
        "mean_sure": round(float(sure.mean()), 4),
        "mean_right": round(float(right.double().mean()), 4),
        "sure_and_wrong": round(float(((sure >= 0.9) & ~right).double().mean()), 4),
        "repeating": round(sum(map(repeats, said)) / len(said), 4),
        "copying": round(sum(map(copies, split.source, said)) / len(said), 4),
        "empty": round(sum(not one.strip() for one in said) / len(said), 4),
    }


def load_record() -> dict[str, Any]:
    """What was measured of each run."""
    return read_record(__file__)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Record how sure translators are, and how right.")
    parser.add_argument("--run-dir", type=Path, action="append", required=True)
    parser.add_argument("--data-dir", type=Path, help="folder with the texts of Multi30k")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    runs = []
    for run_dir in given.run_dir:
        print(run_dir, file=sys.stderr)
        runs.append(measure_run(run_dir, given.data_dir))
    settings = [run.pop("settings") for run in runs]
    if any(one != settings[0] for one in settings):
        raise CallError(
            "the runs differ in more than label smoothing and seed; give such as do not."
        )
    runs.sort(key=lambda run: (run["label_smoothing"], run["seed"]))
    write_record(__file__, {"split": "valid", "settings": settings[0], "runs": runs})
