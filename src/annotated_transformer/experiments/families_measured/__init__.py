"""One stack, three ways to train it on text alone: what chapter 15 shows of BERT, GPT and between.

The text is the German side of the grammar corpus, word by word. *Masked*: some words are hidden and
guessed from both sides. *Causal*: each word is guessed from those before it. *Prefix*: the first
words of a sentence see each other, the others are guessed one by one. The stack, its size and the
number of steps are the same. Then each is asked for a hidden word, for what a sentence is like, and
for sentences.

`record.json` is made anew by `python -m annotated_transformer.experiments.families_measured`.
"""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import LaterConfig
from annotated_transformer.after.families import OneStack
from annotated_transformer.data.grammar.corpus import GrammarPair, pairs, tokens
from annotated_transformer.experiments.probing import ridge_probe
from annotated_transformer.experiments.records import read_record, write_record
from annotated_transformer.experiments.seeding import seeded
from annotated_transformer.experiments.small_training import train_briefly
from annotated_transformer.masks import causal_mask, padding_mask

Objective = Literal["masked", "causal", "prefix"]
FAMILY = {"masked": "encoder-only", "causal": "decoder-only", "prefix": "prefix"}
PAD, BOS, EOS, HIDDEN = range(4)
HIDES = 0.15  # share of the words that the masked objective asks for, as in BERT
TRAINED, ASKED, LABELLED = 20_000, 500, 200  # sentences
STEPS, BATCH, SEEDS = 4000, 64, (0, 1, 2)
WRITTEN, LONGEST = 300, 24  # sentences, and words of one
ARTICLES = ("der", "die", "das", "den", "dem")
TAG = "inversion"  # what a sentence is asked about: it is a matter of order


@dataclass(frozen=True)
class Texts:
    """German sentences of the grammar, and their words by number."""

    trained: list[GrammarPair]
    asked: list[GrammarPair]

    @cached_property
    def words(self) -> list[str]:
        """All of them, the four signs of this module first."""
        known = {word for pair in self.trained + self.asked for word in tokens(pair.target)}
        return ["<pad>", "<bos>", "<eos>", "<hidden>", *sorted(known)]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Word -> number."""
        return {word: number for number, word in enumerate(self.words)}

    def encode(self, some: Sequence[GrammarPair]) -> Tensor:
        """(sentences, longest), each between bos and eos, padded."""
        rows = [[BOS, *(self.numbers[w] for w in tokens(p.target)), EOS] for p in some]
        longest = max(map(len, rows))
        return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def load_texts(trained: int = TRAINED, asked: int = ASKED + LABELLED) -> Texts:
    """The first sentences of the grammar for the questions, those behind them for the training."""
    drawn = pairs(0)
    questions = list(islice(drawn, asked))
    return Texts(list(islice(drawn, trained)), questions)


def build(objective: Objective, vocab_size: int) -> OneStack:
    """The stack that all share: three layers, pre-norm; its family says what it is trained for."""
    parts: dict[str, Any] = {"dropout": 0.0, "norm": "pre", "family": FAMILY[objective]}
    model = build_transformer(LaterConfig(vocab_size, 64, 128, 4, 3, **parts))
    assert isinstance(model, OneStack)
    return model


def mask_of(objective: Objective, rows: Tensor, prefix: int = 0) -> Tensor:
    """Who sees whom, (rows, 1, n, n) or broadcastable to it."""
    real = padding_mask(rows, PAD)
    if objective == "masked":
        return real
    seen = causal_mask(rows.size(1))
    seen[:, :prefix] = True  # all see the prefix; causal has none
    return real & seen


def loss_of(model: OneStack, objective: Objective, rows: Tensor, draw: torch.Generator) -> Tensor:
    """Of one batch (rows, n), in nats a word that is asked for."""
    if objective == "masked":
        words = rows > HIDDEN
        chance = torch.rand(rows.shape, generator=draw)
        asked = words & (chance < HIDES)
        # Of those asked for, eight in ten are hidden, one stays, one is another word: as in BERT.
        shown = rows.masked_fill(asked & (chance < 0.8 * HIDES), HIDDEN)
        others = torch.randint(HIDDEN + 1, model.config.vocab_size, rows.shape, generator=draw)
        shown = torch.where(asked & (chance >= 0.9 * HIDES), others, shown)
        return cross_entropy(model.read(shown, mask_of(objective, rows))[asked], rows[asked])
    prefix = int(torch.randint(1, 8, (), generator=draw)) if objective == "prefix" else 0
    logits = model.read(rows[:, :-1], mask_of(objective, rows[:, :-1], prefix))
    labels = rows[:, 1:].clone()
    labels[:, : max(prefix - 1, 0)] = PAD  # what is seen anyway is not asked for
    return cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=PAD)


def train(objective: Objective, texts: Texts, seed: int, steps: int = STEPS) -> OneStack:
    """The stack after so many batches of sentences drawn at random."""
    rows = texts.encode(texts.trained)
    with seeded(seed):
        model = build(objective, len(texts.words))
    draw = torch.Generator().manual_seed(seed)

    def draw_loss() -> Tensor:
        batch = rows[torch.randint(len(rows), (BATCH,), generator=draw)]
        batch = batch[:, : int((batch != PAD).sum(1).max())]
        return loss_of(model, objective, batch, draw)

    train_briefly(model, draw_loss, steps, peak=2e-3, warmup=100)
    return model.eval()


@torch.no_grad()
def guesses(model: OneStack, objective: Objective, rows: Tensor) -> Tensor:
    """Which word the model puts at each place, the true one hidden, (rows, n).

    A causal or prefix model guesses it from what stands before; the masked one also from what
    follows, one place at a time.
    """
    if objective != "masked":
        logits = model.read(rows[:, :-1], mask_of("causal", rows[:, :-1]))
        return torch.cat([rows[:, :1], logits.argmax(-1)], dim=1)
    guessed = rows.clone()
    for place in range(1, rows.size(1)):
        hidden = rows.clone()
        hidden[:, place] = HIDDEN
        here = rows[:, place] != PAD
        logits = model.read(hidden[here], mask_of(objective, rows[here]))
        guessed[here, place] = logits[:, place].argmax(-1)
    return guessed


def articles(some: Sequence[GrammarPair], texts: Texts) -> Tensor:
    """Where a definite article stands; bool (sentences, n) as `Texts.encode` has them.

    The gender of what follows decides which it is. The same words as relative pronouns, whose noun
    stands before them, are told from it by the English word that they translate.
    """
    found = torch.zeros_like(texts.encode(some), dtype=torch.bool)
    for row, pair in enumerate(some):
        english, german = tokens(pair.source), tokens(pair.target)
        for i, j in pair.alignment:
            if german[j] in ARTICLES and english[i].lower() == "the":
                found[row, 1 + j] = True  # behind bos
    return found


@torch.no_grad()
def features(model: OneStack, objective: Objective, rows: Tensor, last: bool = False) -> Tensor:
    """What the stack makes of a sentence: the mean over its words, or what stands at the full stop.

    That is the last place at which each of the three was trained to say something.
    """
    mask = mask_of(objective, rows)
    hidden = model.encoder(model.source_embedding(rows), mask)  # (rows, n, d_model)
    words = (rows > HIDDEN)[..., None]
    if last:
        return hidden[torch.arange(len(rows)), words[..., 0].sum(1)]  # bos stands before them
    return (hidden * words).sum(1) / words.sum(1)


def probe(x: Tensor, y: Tensor, trained: int = LABELLED) -> float:
    """A ridge regression on the first sentences' labels; the share of the others that is right."""
    return ridge_probe(x, y.long(), torch.arange(len(x)) < trained)


@torch.no_grad()
def write(model: OneStack, objective: Objective, texts: Texts, seed: int) -> list[list[int]]:
    """Sentences drawn word by word from the model's probabilities.

    The masked model is given rows of hidden words, as long as sentences of the text, and fills them
    from left to right.
    """
    draw = torch.Generator().manual_seed(seed)

    def drawn(logits: Tensor) -> Tensor:
        logits[:, [PAD, BOS, HIDDEN]] = -torch.inf
        return torch.multinomial(logits.softmax(-1), 1, generator=draw)[:, 0]

    if objective == "masked":
        rows = texts.encode(texts.trained[:WRITTEN])
        rows[rows > HIDDEN] = HIDDEN
        real = rows != PAD
        for place in range(1, rows.size(1)):
            asked = rows[:, place] == HIDDEN
            if asked.any():
                logits = model.read(rows[asked], mask_of(objective, rows[asked]))[:, place]
                logits[:, EOS] = -torch.inf
                rows[asked, place] = drawn(logits)
        return [row[here].tolist()[1:-1] for row, here in zip(rows, real, strict=True)]
    rows = torch.full((WRITTEN, 1), BOS)
    for _ in range(LONGEST):
        logits = model.read(rows, mask_of("causal", rows))[:, -1]
        rows = torch.cat([rows, drawn(logits)[:, None]], dim=1)
    sentences = [row[1:] for row in rows.tolist()]
    return [row[: row.index(EOS)] if EOS in row else row for row in sentences]


def known_pairs(written: Sequence[Sequence[int]], texts: Texts) -> float:
    """The share of sentences of which every two neighbours stand somewhere in the text."""
    seen = {two for row in texts.encode(texts.trained).tolist() for two in pairwise(row)}
    told = [[BOS, *row, EOS] for row in written]
    return sum(all(two in seen for two in pairwise(row)) for row in told) / len(told)


def ask(model: OneStack, objective: Objective, texts: Texts, seed: int) -> dict[str, float]:
    """Everything that is asked of a trained stack, as shares from 0 to 1."""
    asked = texts.asked[LABELLED:]
    rows = texts.encode(asked)
    right = guesses(model, objective, rows) == rows
    of_nouns = articles(asked, texts)
    labels = torch.tensor([TAG in pair.tags for pair in texts.asked])
    every = texts.encode(texts.asked)
    found = {
        "any word": right[rows > HIDDEN].double().mean().item(),
        "an article": right[of_nouns].double().mean().item(),
        "probe of the mean": probe(features(model, objective, every), labels),
        "probe of the full stop": probe(features(model, objective, every, last=True), labels),
        "written": known_pairs(write(model, objective, texts, seed), texts),
    }
    return {name: round(share, 4) for name, share in found.items()}


def measure(seeds: Sequence[int] = SEEDS, steps: int = STEPS) -> dict[str, Any]:
    """Every objective and seed, and what an untrained stack and the words alone give a probe."""
    torch.set_num_threads(1)
    texts = load_texts()
    found: dict[str, Any] = {}
    for objective in get_args(Objective):
        for seed in seeds:
            model = train(objective, texts, seed, steps)
            found.setdefault(objective, []).append(ask(model, objective, texts, seed))
            print(f"{objective}, seed {seed}: {found[objective][-1]}", file=sys.stderr, flush=True)
    every = texts.encode(texts.asked)
    labels = torch.tensor([TAG in pair.tags for pair in texts.asked])
    with seeded(0):
        untrained = build("masked", len(texts.words)).eval()
    bag = torch.zeros(len(every), len(texts.words)).scatter_(1, every, 1.0)
    inverted = labels[LABELLED:].double().mean().item()
    true = [[word for word in row if word > HIDDEN] for row in every[LABELLED:].tolist()]
    besides = {
        "always the more frequent label": max(inverted, 1 - inverted),
        "probe of the words alone": probe(bag, labels),
        "probe of an untrained stack": probe(features(untrained, "masked", every), labels),
        "written, if it were true text": known_pairs(true, texts),
    }
    return {**found, "besides": {name: round(share, 4) for name, share in besides.items()}}


def load_record() -> dict[str, Any]:
    """The record: how it was made, and what `measure` found."""
    return read_record(__file__)


def main() -> None:
    """The command."""
    begun = time.process_time()
    found = measure()
    values = {
        "steps": STEPS,
        "sentences": TRAINED,
        "cpu_minutes": round((time.process_time() - begun) / 60, 1),
        "found": found,
    }
    write_record(__file__, values)
