"""What it takes to answer: latency and throughput of our decoder, which chapter 16 shows.

The translator that comes with the book translates sentences of the grammar, in batches of one size
after the other, with a cache and without, all in turn, round after round, on one core. Latency is
how long a sentence waits for its batch; throughput is how many are done in a second.

`record.json` is made anew by `python -m annotated_transformer.experiments.serving_measured`.
"""

import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.data.batching import collate
from annotated_transformer.data.grammar.corpus import generate_corpus
from annotated_transformer.decoding import greedy_decode
from annotated_transformer.experiments.records import read_record, write_record
from annotated_transformer.experiments.seeding import seeded
from annotated_transformer.shipped import load_shipped
from annotated_transformer.transformer import Transformer

BATCHES = (1, 2, 4, 8, 16, 32, 64)
SENTENCES, ROUNDS = 64, 7
LENGTHS = (16, 32, 64, 128)  # tokens written, of a model of the same size that never ends


def batches_of(rows: Sequence[Sequence[int]], size: int) -> list[Tensor]:
    """Rows of tokens in batches, in their order, padded: (size, n) each."""
    return [collate([list(r) for r in rows[at : at + size]]) for at in range(0, len(rows), size)]


def seconds_of(model: Transformer, batches: Sequence[Tensor], use_cache: bool) -> list[float]:
    """How long the translation of each batch takes."""
    taken = []
    for src in batches:
        began = time.perf_counter()
        greedy_decode(model, src, use_cache=use_cache)
        taken.append(time.perf_counter() - began)
    return taken


def measure_batches(
    sentences: int = SENTENCES, rounds: int = ROUNDS, sizes: Sequence[int] = BATCHES
) -> dict[str, dict[str, float]]:
    """Latency and throughput of each batch size, the median of the rounds.

    Returns:
        by "cache 8" and "no cache 8": milliseconds a batch takes, and sentences a second.
    """
    model, vocabulary = load_shipped()
    rows = vocabulary.encode_batch(list(generate_corpus(train=1)["valid"].source[:sentences]))
    ways = [(cache, size) for cache in (True, False) for size in sizes]
    found: dict[str, list[list[float]]] = {}
    for turn in range(rounds + 1):
        for cache, size in ways:
            taken = seconds_of(model, batches_of(rows, size), cache)
            if turn:  # the first one only warms up
                name = f"{'cache' if cache else 'no cache'} {size}"
                found.setdefault(name, []).append(taken)
    return {
        name: {
            "milliseconds": round(1000 * median(median(taken) for taken in turns), 2),
            "sentences_per_second": round(sentences / median(sum(taken) for taken in turns), 1),
        }
        for name, turns in found.items()
    }


def measure_lengths(
    lengths: Sequence[int] = LENGTHS, rounds: int = ROUNDS
) -> dict[str, list[float]]:
    """Milliseconds a written token takes, by how many are written, with a cache and without.

    The model is of the translator's size and untrained, so that it writes as long as it may.
    """
    with seeded(0):
        model = Transformer(load_shipped()[0].config).eval()
    model.projection.weight.data[model.config.eos_id] = 0  # hardly ever the best
    src = torch.randint(3, 2000, (1, 16), generator=torch.Generator().manual_seed(0))
    found: dict[str, list[list[float]]] = {"cache": [], "no cache": []}
    for _ in range(rounds):
        for name, of_rounds in found.items():
            taken = []
            for length in lengths:
                began = time.perf_counter()
                written = greedy_decode(
                    model, src, max_extra=length - src.size(1), use_cache=name == "cache"
                )
                taken.append(1000 * (time.perf_counter() - began) / length)
                assert written.size(1) - 1 == length
            of_rounds.append(taken)
    return {
        name: [round(median(turn), 3) for turn in zip(*of_rounds, strict=True)]
        for name, of_rounds in found.items()
    }


def load_record() -> dict[str, Any]:
    """What was measured, and on which machine."""
    return read_record(__file__)


def main() -> None:
    """Measure and record."""
    torch.set_num_threads(1)
    print("batches ...", file=sys.stderr)
    batches = measure_batches()
    print("lengths ...", file=sys.stderr)
    of_lengths = measure_lengths()
    write_record(
        __file__,
        {
            "sentences": SENTENCES,
            "batches": batches,
            "lengths": list(LENGTHS),
            "milliseconds_a_token": of_lengths,
        },
    )
