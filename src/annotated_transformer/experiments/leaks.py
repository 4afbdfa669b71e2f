"""Four decoders, with and without shift and mask, trained where an honest loss has a floor.

Chapter 6 trains them on a language made for the purpose. Every source word has two translations,
and a coin chooses which of them stands in the target. Whoever predicts the target honestly cannot
know the coin: no honest loss is below FLOOR. A decoder whose prediction sees the answer can get
below it, and then cannot write. Sentences are drawn anew for every batch, so each loss is measured
on newly drawn sentences.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from annotated_transformer.config import TransformerConfig
from annotated_transformer.experiments.seeding import seeded
from annotated_transformer.masks import causal_mask
from annotated_transformer.transformer import Transformer

BOS, EOS, FIRST = 1, 2, 3  # 0 is padding, which does not occur: all sentences are of one length
WORDS, LENGTH = 10, 6  # words of the source language, and how many make a sentence
VOCAB_SIZE = FIRST + 3 * WORDS  # source words, then the two translations of each
FLOOR = LENGTH / (LENGTH + 1) * math.log(2)  # six coins, and an end that comes for sure
SIZES = {"d_model": 32, "d_ff": 64, "num_heads": 2, "num_layers": 1, "dropout": 0.0}
LEARNING_RATE, WARM_UP, BATCH = 3e-3, 30, 64


@dataclass(frozen=True)
class Outcome:
    """What became of one training.

    Attributes:
        losses: of every step, in nats per token.
        words: share of words of greedy translations that translate the source word at their place.
        sentences: share of greedy translations in which all words do, and the end is in its place.
    """

    losses: list[float]
    words: float
    sentences: float

    @property
    def loss(self) -> float:
        """The mean over the last 20 steps."""
        return sum(self.losses[-20:]) / len(self.losses[-20:])


def synonym_pairs(count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sources (count, LENGTH), and targets (count, LENGTH + 1), which end in EOS.

    Source word s is said by FIRST + WORDS + 2 s or by the number after it, as the coin falls.
    """
    words = torch.randint(WORDS, (count, LENGTH), generator=generator)
    coin = torch.randint(2, (count, LENGTH), generator=generator)
    end = torch.full((count, 1), EOS)
    return FIRST + words, torch.cat([FIRST + WORDS + 2 * words + coin, end], dim=1)


def translates(target: Tensor, src: Tensor) -> Tensor:
    """Whether each target word is one of the two translations of the source word at its place."""
    return (target >= FIRST + WORDS) & ((target - FIRST - WORDS) // 2 == src - FIRST)


def decoder_input(target: Tensor, shift: bool) -> Tensor:
    """What the decoder reads while it predicts `target`, (batch, n) both.

    With the shift, BOS and then every token but the last. Without it, the target itself.
    """
    if not shift:
        return target
    begin = torch.full_like(target[:, :1], BOS)
    return torch.cat([begin, target[:, :-1]], dim=1)


def allowed(n: int, mask: bool) -> Tensor:
    """Who may attend to whom in the decoder, bool (n, n): the causal mask, or everything."""
    return causal_mask(n) if mask else torch.ones(n, n, dtype=torch.bool)


def new_model(seed: int) -> Transformer:
    """The one-layer Transformer before its first step."""
    with seeded(seed):
        return Transformer(TransformerConfig.preset("tiny", VOCAB_SIZE, **SIZES))


def train(shift: bool, mask: bool, seed: int, steps: int = 300) -> Outcome:
    """Train a one-layer Transformer, then let it translate 200 new sentences by greedy choice."""
    model = new_model(seed)
    generator = torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    may_attend = allowed(LENGTH + 1, mask)
    losses = []
    for step in range(1, steps + 1):
        adam.param_groups[0]["lr"] = LEARNING_RATE * min(1.0, step / WARM_UP)
        src, target = synonym_pairs(BATCH, generator)
        logits = model(src, decoder_input(target, shift), tgt_mask=may_attend)
        loss = cross_entropy(logits.flatten(0, 1), target.flatten())
        adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        adam.step()
        losses.append(loss.item())
    src, _ = synonym_pairs(200, generator)
    written = write(model, src, mask)
    right = translates(written[:, :LENGTH], src)
    whole = right.all(dim=1) & (written[:, LENGTH] == EOS)
    return Outcome(losses, right.double().mean().item(), whole.double().mean().item())


@torch.no_grad()
def write(model: Transformer, src: Tensor, mask: bool) -> Tensor:
    """Greedy translations (batch, LENGTH + 1), token by token: each is fed back as the next input.

    There is no other way to use a decoder: what it will write is not there to be read.
    """
    written = torch.full((len(src), 1), BOS)
    for n in range(1, LENGTH + 2):
        logits = model(src, written, tgt_mask=allowed(n, mask))  # (batch, n, VOCAB_SIZE)
        written = torch.cat([written, logits[:, -1:].argmax(dim=-1)], dim=1)
    return written[:, 1:]
