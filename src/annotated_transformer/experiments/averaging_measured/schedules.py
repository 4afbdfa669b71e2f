"""Averages of small translators whose rate falls to zero at the end, and of such where it does not.

They are chapter 8's, 1,200 steps of the grammar corpus, several seeds each.
`python -m annotated_transformer.experiments.averaging_measured.schedules` makes `schedules.json`
beside this module anew.
"""

import json
from pathlib import Path
from typing import Any

import torch

from annotated_transformer.data import EncodedSplit, Vocabulary, encode_split
from annotated_transformer.evaluation.likelihood import split_likelihood
from annotated_transformer.experiments.records import write_so_far
from annotated_transformer.experiments.training_measured import Recipe, load_data, training
from annotated_transformer.training.checkpoints import average_states

RECORD = Path(__file__).resolve().parent / "schedules.json"
COMMAND = "python -m annotated_transformer.experiments.averaging_measured.schedules"
DECAYS = (0.0, 0.6)  # the paper's schedule, and chapter 8's, whose rate falls to zero
SEEDS = (0, 1, 2)
EVERY, CHECKPOINTS = 20, 10  # steps between checkpoints, and how many of the last are kept
AVERAGED = (2, 5, 10)


def measure(
    recipe: Recipe, pairs: EncodedSplit, held_out: EncodedSplit, vocabulary: Vocabulary
) -> dict[str, Any]:
    """The plain loss of each of the last checkpoints, oldest first, and of the means of the last.

    Returns:
        "alone": a list; "means": how many were averaged -> loss.
    """
    first = recipe.steps - EVERY * (CHECKPOINTS - 1)
    states, alone = [], []
    for _, model in training(pairs, vocabulary, recipe, tuple(range(first, recipe.steps, EVERY))):
        states.append({name: value.clone() for name, value in model.state_dict().items()})
        alone.append(round(split_likelihood(model, held_out, 2048).loss, 4))
    means = {}
    for count in AVERAGED:
        model.load_state_dict(average_states(states[-count:]))
        means[str(count)] = round(split_likelihood(model, held_out, 2048).loss, 4)
    return {"alone": alone, "means": means}


def load_record() -> dict[str, Any]:
    """The record: its command, the steps, and under "runs" decay -> seed -> `measure`."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def make_record(steps: int = Recipe.steps, path: Path = RECORD) -> None:
    """Train with both schedules and every seed, and write the record after each run."""
    torch.set_num_threads(1)
    corpus, vocabulary = load_data()
    pairs, held_out = (encode_split(corpus[name], vocabulary) for name in ("train", "test"))
    runs: dict[str, dict[str, Any]] = {str(decay): {} for decay in DECAYS}
    for seed in SEEDS:
        for decay in DECAYS:
            recipe = Recipe(steps=steps, decay=decay, seed=seed)
            runs[str(decay)][str(seed)] = measure(recipe, pairs, held_out, vocabulary)
            record = {"command": COMMAND, "steps": steps, "every": EVERY, "runs": runs}
            write_so_far(path, record, seed == SEEDS[-1] and decay == DECAYS[-1])


if __name__ == "__main__":
    make_record()
