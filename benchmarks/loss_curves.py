"""The loss of the fast path beside that of the plain one, step by step on the same pairs.

    python benchmarks/loss_curves.py --device cuda --data multi30k --out curves.jsonl

Three curves from the same starting weights: the plain path (float32, Equation 1 in separate
operations, all logits, padded), the plain path once more with other dropout, and the fast path (the
rung "graph" of `benchmark ladder`, where `train --share-rows --compile` stands, here without
cuDNN's attention, for rows are 64 wide; on a CPU "compile"). Dropout is drawn anew in each, so two
curves of one path differ too: that difference is the noise that the fast path is held against. Each
step is a line of JSON in --out as soon as it is taken.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import torch

from annotated_transformer.benchmark.rungs import Rung, RungSteps, Workload, rungs_on
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import Vocabulary, encode_split, load_corpus
from annotated_transformer.training.devices import choose_device
from annotated_transformer.training.schedule import LearningRateSchedule

VOCABULARY = 10_000
LONGEST = 60  # longer pairs are left out, so that rows are 64 wide
DIFFERENT = 200  # batches, taken over and over
CURVES = {"plain": ("plain", 1), "plain, other dropout": ("plain", 2), "fast": ("graph", 3)}


def curve(
    rung: Rung, workload: Workload, device: torch.device, count: int, warmup: int, seed: int
) -> Iterator[float]:
    """The loss of each step, in nats per token; the pairs are those of shared rows for all."""
    steps = RungSteps(rung, workload, device)
    shared = next(each for each in rungs_on(device) if each.name == "shared")
    steps.steps = RungSteps(shared, workload, device).steps
    schedule = LearningRateSchedule(workload.config.d_model, warmup, None, 0.0)
    torch.manual_seed(seed)
    with closing(steps.gradients):
        for number in range(count):
            for group in steps.optimizer.param_groups:
                group["lr"] = schedule.rate(number + 1, 0.0)
            yield steps.take(number)
            if number % 100 == 99:
                print(f"{rung.name}: step {number + 1} of {count}", file=sys.stderr)


def main() -> None:
    """Make the curves that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="auto")
    parser.add_argument("--data", default="grammar")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--preset", default="base")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--max-tokens", type=int, default=2048)
    parser.add_argument("--warmup", type=int, default=4000)
    parser.add_argument("--curves", nargs="+", choices=tuple(CURVES), default=tuple(CURVES))
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    device = choose_device(asked.device)
    train = load_corpus(asked.data, data_dir=asked.data_dir)["train"]
    vocabulary = Vocabulary.train([*train.source, *train.target], VOCABULARY)
    split = encode_split(train, vocabulary, max_length=LONGEST)
    config = TransformerConfig.preset(asked.preset, len(vocabulary))
    workload = Workload(config, split, asked.max_tokens, min(DIFFERENT, asked.steps))
    for name in asked.curves:
        path, seed = CURVES[name]
        rungs = {rung.name: rung for rung in rungs_on(device)}
        rung = rungs["compile" if path == "graph" and device.type != "cuda" else path]
        with asked.out.open("a") as file:
            losses = curve(rung, workload, device, asked.steps, asked.warmup, seed)
            for step, loss in enumerate(losses, 1):
                row = {"curve": name, "rung": rung.name, "step": step, "loss": round(loss, 6)}
                file.write(json.dumps(row) + "\n")
                file.flush()


if __name__ == "__main__":
    main()
