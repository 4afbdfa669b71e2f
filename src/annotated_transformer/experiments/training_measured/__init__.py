"""Small translators, trained in a moment on the grammar corpus: what chapter 8 measures.

One loop, `training`, trains them all. It is a short one of its own: batches, loss, schedule and
Adam's settings are the package's, and so are the gradients, those of `training/step.py` to the bit.
It leaves out what a long run needs: steps of several batches, bfloat16, checkpoints.

`record.json` holds runs with and without label smoothing, several seeds each, which do not fit into
a chapter; `python -m annotated_transformer.experiments.training_measured` makes it anew.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import (
    Batch,
    EncodedSplit,
    ParallelCorpus,
    Split,
    Vocabulary,
    batches_of,
    encode_split,
    generate_corpus,
)
from annotated_transformer.evaluation.likelihood import split_likelihood, teacher_forced
from annotated_transformer.evaluation.scoring import cased_bleu
from annotated_transformer.evaluation.translation import translate_sentences
from annotated_transformer.experiments.records import write_so_far
from annotated_transformer.experiments.seeding import seeded
from annotated_transformer.fast.projected_loss import projected_label_smoothing_loss
from annotated_transformer.masks import padding_mask
from annotated_transformer.shipped import load_vocabulary
from annotated_transformer.training import (
    LearningRateSchedule,
    label_smoothing_loss,
)
from annotated_transformer.transformer import Transformer

RECORD = Path(__file__).resolve().parent / "record.json"
SMOOTHINGS = (0.0, 0.1, 0.2)  # epsilon_ls of the recorded runs: those of Table 3, row (D)
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Recipe:
    """How a small translator is trained: the paper's recipe, sized for a moment on one core.

    Args:
        steps: optimizer steps.
        smoothing: epsilon_ls.
        peak: the learning rate at the end of the warm-up. A departure.
        warmup: steps until the peak.
        decay: the last share of the run over which the rate also falls linearly to zero. A
            departure.
        max_tokens: budget of a batch, source and target each, padding counted.
        d_model, d_ff, num_heads, num_layers: of the model.
        dropout: P_drop.
        seed: of the starting values, the dropout and the order of the batches.
        whole_logits: compute the loss as it is written, from the logits of the whole batch,
            instead of chunk by chunk.
    """

    steps: int = 1200
    smoothing: float = 0.1
    peak: float = 4e-3
    warmup: int = 150
    decay: float = 0.6
    max_tokens: int = 512
    d_model: int = 64
    d_ff: int = 256
    num_heads: int = 4
    num_layers: int = 2
    dropout: float = 0.0
    seed: int = 0
    whole_logits: bool = False

    def model(self, vocab_size: int) -> Transformer:
        """The model before its first step; the generator outside is left as it was."""
        config = TransformerConfig(
            vocab_size,
            d_model=self.d_model,
            d_ff=self.d_ff,
            num_heads=self.num_heads,
            num_layers=self.num_layers,
            dropout=self.dropout,
        )
        with seeded(self.seed):
            return Transformer(config)

    def schedule(self) -> LearningRateSchedule:
        """Equation 3, brought to `peak`."""
        return LearningRateSchedule(self.d_model, self.warmup, self.peak, self.decay)


@dataclass(frozen=True)
class Score:
    """How good a translator is on a split.

    Attributes:
        loss: mean negative log-likelihood in nats per token, not smoothed.
        perplexity: its exponential.
        accuracy: share of tokens that are ranked first, given the true ones before.
        exact: share of sentences whose greedy translation is the reference.
        bleu: of the greedy translations, 0 to 100.
        signature: sacreBLEU's, of `bleu`.
    """

    loss: float
    perplexity: float
    accuracy: float
    exact: float
    bleu: float
    signature: str


def load_data(train: int = 16_000, test: int = 400) -> tuple[ParallelCorpus, Vocabulary]:
    """A part of the grammar corpus, and the vocabulary of the shipped translator."""
    corpus = generate_corpus(seed=0, train=train, valid=200, test=test)
    return corpus, load_vocabulary()


def endless_batches(
    pairs: EncodedSplit, max_tokens: int, seed: int, pad_id: int = 0
) -> Iterator[Batch]:
    """Batch after batch, pass after pass, each pass in an order of its own."""
    for epoch in count():
        yield from batches_of(pairs, max_tokens, seed=seed, epoch=epoch, pad_id=pad_id)


def batch_loss(model: Transformer, batch: Batch, recipe: Recipe) -> Tensor:
    """The smoothed loss of a batch, in nats per real token, by the way that the recipe names."""
    if recipe.whole_logits:
        pad_id = model.config.pad_id
        logits = model(batch.src, batch.tgt[:, :-1], padding_mask(batch.src, pad_id))
        return label_smoothing_loss(logits, batch.tgt[:, 1:], recipe.smoothing, pad_id)
    hidden, labels = teacher_forced(model, batch)  # (tokens, d_model), (tokens,)
    total = projected_label_smoothing_loss(
        hidden, model.projection.weight, labels, recipe.smoothing
    )
    return total / len(labels)


def training(
    pairs: EncodedSplit, vocabulary: Vocabulary, recipe: Recipe, stops: tuple[int, ...] = ()
) -> Iterator[tuple[list[float], Transformer]]:
    """Train, and hand over at every stop and at the end.

    Yields:
        The losses of all steps so far, in nats per token, and the model, in evaluation mode.
    """
    model = recipe.model(len(vocabulary))
    schedule = recipe.schedule()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.0, betas=(0.9, 0.98), eps=1e-9)
    batches = endless_batches(pairs, recipe.max_tokens, recipe.seed, vocabulary.pad_id)
    losses: list[float] = []
    model.train()
    torch.manual_seed(recipe.seed)  # of the dropout
    for step in range(1, recipe.steps + 1):
        optimizer.param_groups[0]["lr"] = schedule.rate(step, (step - 1) / recipe.steps)
        loss = batch_loss(model, next(batches), recipe)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
        if step in {*stops, recipe.steps}:
            yield losses, model.eval()
            model.train()
    model.eval()


def train(
    pairs: EncodedSplit, vocabulary: Vocabulary, recipe: Recipe
) -> tuple[list[float], Transformer]:
    """The losses of all steps, and the trained model in evaluation mode."""
    *_, last = training(pairs, vocabulary, recipe)
    return last


def greedy(model: Transformer, vocabulary: Vocabulary, sentences: list[str]) -> list[str]:
    """The greedy translations."""
    return translate_sentences(model, vocabulary, sentences, beam_size=1)


def evaluate(model: Transformer, split: Split, vocabulary: Vocabulary) -> Score:
    """Score a translator on a split: what it finds probable, and what it writes."""
    measured = split_likelihood(model, encode_split(split, vocabulary), 2048)
    written = greedy(model, vocabulary, list(split.source))
    right = [ours == theirs for ours, theirs in zip(written, split.target, strict=True)]
    bleu = cased_bleu(written, list(split.target))
    return Score(
        loss=round(measured.loss, 4),
        perplexity=round(measured.perplexity, 4),
        accuracy=round(measured.accuracy, 4),
        exact=round(sum(right) / len(right), 4),
        bleu=round(bleu.value, 2),
        signature=bleu.signature,
    )


def settings() -> dict[str, Any]:
    """What the recorded runs were made with."""
    recipe = asdict(Recipe())
    return {
        "command": "python -m annotated_transformer.experiments.training_measured",
        "corpus": "grammar, seed 0, 16,000 training and 400 test pairs",
        "recipe": {name: recipe[name] for name in recipe if name not in ("smoothing", "seed")},
        "smoothings": list(SMOOTHINGS),
        "seeds": list(SEEDS),
    }


def load_record() -> dict[str, Any]:
    """The recorded runs: "settings", and under "runs" smoothing -> seed -> scores."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def make_record(path: Path = RECORD) -> None:
    """Train with every smoothing and every seed, and write the record after each run."""
    torch.set_num_threads(1)
    corpus, vocabulary = load_data()
    pairs = encode_split(corpus["train"], vocabulary)
    runs: dict[str, dict[str, Any]] = {str(smoothing): {} for smoothing in SMOOTHINGS}
    for seed in SEEDS:
        for smoothing in SMOOTHINGS:
            recipe = Recipe(smoothing=smoothing, seed=seed)
            _, model = train(pairs, vocabulary, recipe)
            score = evaluate(model, corpus["test"], vocabulary)
            runs[str(smoothing)][str(seed)] = asdict(score)
            print(smoothing, seed, score, flush=True)
            record = {"settings": settings(), "runs": runs}
            write_so_far(path, record, seed == SEEDS[-1] and smoothing == SMOOTHINGS[-1])


def recorded(smoothing: float, measure: str) -> NDArray[np.float64]:
    """One measure of `Score` in the recorded runs, (seeds,)."""
    runs = load_record()["runs"][str(smoothing)]
    return np.array([runs[str(seed)][measure] for seed in SEEDS if str(seed) in runs])
