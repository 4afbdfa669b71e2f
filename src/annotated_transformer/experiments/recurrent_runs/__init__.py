"""Training the recurrent translators of `recurrent.py`, and what they reached.

Chapter 1 trains three of them on the grammar corpus for a moment with these functions.
`record.json` holds longer runs, three seeds each, which do not fit into a chapter;
`python -m annotated_transformer.experiments.recurrent_runs` makes it anew.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from annotated_transformer.data import (
    ParallelCorpus,
    Split,
    Vocabulary,
    encode_split,
    generate_corpus,
    make_batch,
)
from annotated_transformer.experiments.records import write_so_far
from annotated_transformer.experiments.recurrent import Asks, Kind, RecurrentTranslator
from annotated_transformer.experiments.training_measured import endless_batches
from annotated_transformer.shipped import load_vocabulary

RECORD = Path(__file__).resolve().parent / "record.json"
# Words of the source, the full stop not counted: the classes in which quality is given.
LENGTHS = ((3, 6), (7, 10), (11, 14), (15, 18))
LEARNING_RATE, WARM_UP, MAX_TOKENS, MAX_NORM = 1e-2, 50, 400, 1.0
CHECKPOINTS = (400, 1500, 3000)  # steps at which the recorded runs are scored
SEEDS = (0, 1, 2)
# The score, and whether the state before or after the step asks.
VARIANTS: dict[str, tuple[Kind, Asks | None]] = {
    "one vector": ("none", None),
    "additive (Bahdanau)": ("additive", "before"),
    "multiplicative (Luong)": ("multiplicative", "after"),
    "additive, asked after the step": ("additive", "after"),
    "multiplicative, asked before the step": ("multiplicative", "before"),
}


@dataclass(frozen=True)
class Score:
    """How good a translator is on one split.

    Attributes:
        tokens: share of next tokens that are right when the true beginning is given, by length of
            the source as in LENGTHS.
        exact: share of sentences whose greedy translation is right as a whole, by length.
        sentences: number of sentences by length.
        all_tokens, all_exact: the same shares over all lengths.
        aligned: share of target words at which the largest attention weight, where the word is
            about to be written, lies on a word that it translates; None without attention.
        chance: the same share for a weight that lies anywhere.
    """

    tokens: tuple[float, ...]
    exact: tuple[float, ...]
    sentences: tuple[int, ...]
    all_tokens: float
    all_exact: float
    aligned: float | None
    chance: float


def load_data(train: int = 16_000, test: int = 600) -> tuple[ParallelCorpus, Vocabulary]:
    """A part of the grammar corpus, and the vocabulary of the shipped translator."""
    corpus = generate_corpus(seed=0, train=train, valid=300, test=test)
    return corpus, load_vocabulary()


def train(
    split: Split,
    vocabulary: Vocabulary,
    steps: int,
    attention: Kind,
    asks: Asks | None = None,
    seed: int = 0,
    width: int = 64,
) -> RecurrentTranslator:
    """A translator after `steps` steps of teacher forcing."""
    *_, (_, model) = training(split, vocabulary, (steps,), attention, asks, seed, width)
    return model


def training(
    split: Split,
    vocabulary: Vocabulary,
    checkpoints: tuple[int, ...],
    attention: Kind,
    asks: Asks | None = None,
    seed: int = 0,
    width: int = 64,
) -> Iterator[tuple[int, RecurrentTranslator]]:
    """The step and the model at each checkpoint.

    The learning rate rises to LEARNING_RATE in WARM_UP steps and falls as step^-0.5 after that.
    """
    torch.manual_seed(seed)
    model = RecurrentTranslator(len(vocabulary), width, attention, asks)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    batches = endless_batches(encode_split(split, vocabulary), MAX_TOKENS, seed)
    for step in range(1, checkpoints[-1] + 1):
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * min(step / WARM_UP, (WARM_UP / step) ** 0.5)
        batch = next(batches)
        logits = model(batch.src, batch.tgt[:, :-1])  # (batch, n_tgt, vocab_size)
        loss = cross_entropy(
            logits.flatten(0, 1), batch.tgt[:, 1:].flatten(), ignore_index=vocabulary.pad_id
        )
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        if step in checkpoints:
            yield step, model


def length_class(sentence: str) -> int:
    """The place in LENGTHS of an English sentence."""
    words = len(sentence.split())
    return next(i for i, (low, high) in enumerate(LENGTHS) if low <= words <= high)


@torch.no_grad()
def evaluate(model: RecurrentTranslator, split: Split, vocabulary: Vocabulary) -> Score:
    """Score a translator on a split with alignments."""
    assert split.alignments is not None
    encoded = encode_split(split, vocabulary)
    by_length = sorted(range(len(encoded)), key=lambda i: encoded.lengths[i])
    counts = torch.zeros(len(LENGTHS), 4)  # right tokens, tokens, right sentences, sentences
    hits, chance, links = 0, 0.0, 0
    for start in range(0, len(encoded), 100):
        batch = make_batch(encoded, by_length[start : start + 100])
        logits, weights = model.run(batch.src, batch.tgt[:, :-1])
        wanted = batch.tgt[:, 1:]
        real = wanted != vocabulary.pad_id
        right = (logits.argmax(-1) == wanted) & real
        output = model.translate(batch.src)
        for row, sentence in enumerate(batch.indices):
            exact = vocabulary.decode(output[row].tolist()) == split.target[sentence]
            counts[length_class(split.source[sentence])] += torch.tensor(
                [float(right[row].sum()), float(real[row].sum()), float(exact), 1.0]
            )
            aligned = aligned_pieces(split, vocabulary, sentence)
            links += len(aligned)
            for piece, sources in aligned.items():
                chance += sum(sources) / len(sources)
                if weights is not None:
                    hits += sources[int(weights[row, piece, : len(sources)].argmax())]
    tokens, exact_shares = counts[:, 0] / counts[:, 1], counts[:, 2] / counts[:, 3]
    total = counts.sum(0)
    has_attention = model.score is not None
    return Score(
        tokens=tuple(round(share, 4) for share in tokens.tolist()),
        exact=tuple(round(share, 4) for share in exact_shares.tolist()),
        sentences=tuple(int(n) for n in counts[:, 3].tolist()),
        all_tokens=round(float(total[0] / total[1]), 4),
        all_exact=round(float(total[2] / total[3]), 4),
        aligned=round(hits / links, 4) if has_attention else None,
        chance=round(chance / links, 4),
    )


def aligned_pieces(split: Split, vocabulary: Vocabulary, sentence: int) -> dict[int, list[bool]]:
    """For the first piece of each aligned target word: which source pieces it translates.

    Keys are places in the target without its start sign, so the row of the attention weights at
    which that piece is about to be written. The end sign of the source translates nothing.
    """
    assert split.alignments is not None
    links = set(split.alignments[sentence])
    source_words = vocabulary.word_indices(split.source[sentence])
    target_words = vocabulary.word_indices(split.target[sentence])
    return {
        target_words.index(word): [(i, word) in links for i in source_words] + [False]
        for word in sorted({j for _, j in links})
    }


def load_record() -> dict[str, Any]:
    """The recorded runs: "settings", and under "runs" variant -> seed -> step -> scores."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def settings() -> dict[str, Any]:
    """What the recorded runs were made with."""
    return {
        "corpus": "grammar, seed 0, 16,000 training and 600 test pairs",
        "width": 64,
        "learning_rate": LEARNING_RATE,
        "warm_up": WARM_UP,
        "max_tokens": MAX_TOKENS,
        "max_norm": MAX_NORM,
        "checkpoints": list(CHECKPOINTS),
        "lengths": [list(pair) for pair in LENGTHS],
    }


def make_record(path: Path = RECORD) -> None:
    """Train every variant with every seed, and write the record after each run."""
    torch.set_num_threads(1)
    corpus, vocabulary = load_data()
    runs: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in VARIANTS}
    for seed in SEEDS:
        for name, (attention, asks) in VARIANTS.items():
            scores = {
                str(step): asdict(evaluate(model, corpus["test"], vocabulary))
                for step, model in training(
                    corpus["train"], vocabulary, CHECKPOINTS, attention, asks, seed
                )
            }
            runs[name][str(seed)] = scores
            last = scores[str(CHECKPOINTS[-1])]
            print(name, seed, last["tokens"], last["exact"], last["aligned"], flush=True)
            record = {"settings": settings(), "runs": runs}
            write_so_far(path, record, (seed, name) == (SEEDS[-1], [*VARIANTS][-1]))


def recorded(variant: str, measure: str, step: int = CHECKPOINTS[-1]) -> NDArray[np.float64]:
    """One measure of `Score` in the recorded runs, (seeds,) or (seeds, lengths)."""
    runs = load_record()["runs"][variant]
    return np.array([runs[str(seed)][str(step)][measure] for seed in SEEDS if str(seed) in runs])
