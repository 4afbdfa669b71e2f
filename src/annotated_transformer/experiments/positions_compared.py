"""Small models that differ in their positions alone (section 3.5): what chapter 4 measures.

Two tasks. *Who bites whom*: three words, "a bites b", and the model names the biter. *The word
before*: a row of random words, and at each place the model names the word one place back; trained
on rows up to a length, it can be asked about longer ones.
"""

from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from annotated_transformer.config import Positions, TransformerConfig
from annotated_transformer.embeddings import Embedding, build_positions
from annotated_transformer.encoder import Encoder
from annotated_transformer.experiments.small_training import train_briefly
from annotated_transformer.masks import causal_mask
from annotated_transformer.transformer import initialise

ANIMALS = 12  # words 0 ... 11; the verb is word 12
WORDS = 16  # the vocabulary of "the word before"
ReaderPositions = Literal["sinusoidal", "learned", "none", "none, causal"]


class Reader(nn.Module):
    """The package's embedding and encoder, and a linear read-out.

    Args:
        positions: as in the configuration; "none, causal" has none, and a causal mask.
        vocab_size: how many words it knows, and how many answers it can give.
        pooled: one answer from the mean over the places, or one answer at each place.
        num_layers: encoder layers.
        max_positions: length of a learned table.
    """

    def __init__(
        self,
        positions: ReaderPositions,
        vocab_size: int,
        pooled: bool = False,
        num_layers: int = 1,
        max_positions: int = 64,
    ) -> None:
        super().__init__()
        added: Positions = "none" if positions == "none, causal" else positions
        config = TransformerConfig(
            vocab_size,
            d_model=32,
            d_ff=64,
            num_heads=2,
            num_layers=num_layers,
            dropout=0.0,
            positions=added,
            max_positions=max_positions,
        )
        table = nn.Embedding(vocab_size, config.d_model)
        self.embedding = Embedding(table, build_positions(config), config.dropout)
        self.encoder = Encoder(config)
        self.read_out = nn.Linear(config.d_model, vocab_size)
        self.causal, self.pooled = positions == "none, causal", pooled
        self.apply(initialise)

    def forward(self, words: Tensor, start: int = 0) -> Tensor:
        """(batch, n) -> logits (batch, n, vocab_size), or (batch, vocab_size) if pooled.

        `start` is the position of the first word.
        """
        mask = causal_mask(words.size(1)) if self.causal else None
        x = self.encoder(self.embedding(words, start), mask)  # (batch, n, d_model)
        logits: Tensor = self.read_out(x.mean(dim=1) if self.pooled else x)
        return logits


def biter_accuracy(positions: ReaderPositions, seed: int, steps: int = 100) -> float:
    """Train a two-layer reader to name the biter; how often it is right about new pairs.

    A quarter of the pairs of animals is kept for the test, in both orders.
    """
    torch.manual_seed(seed)
    seen, new = sentences_to_learn_and_to_test()
    model = Reader(positions, ANIMALS + 1, pooled=True, num_layers=2)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        loss = cross_entropy(model(seen), seen[:, 0])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    with torch.no_grad():
        right = model(new).argmax(-1) == new[:, 0]
    return right.double().mean().item()


def sentences_to_learn_and_to_test() -> tuple[Tensor, Tensor]:
    """Each (2 * pairs, 3): animal, verb, animal, every pair in both orders; no pair is in both.

    The pairs of the test, a quarter, are drawn from the global random state.
    """
    first, second = torch.triu_indices(ANIMALS, ANIMALS, offset=1)  # each pair once
    order = torch.randperm(len(first))
    kept = len(order) // 4

    def sentences(pairs: Tensor) -> Tensor:
        a, b, verb = first[pairs], second[pairs], torch.full_like(pairs, ANIMALS)
        return torch.cat([torch.stack([a, verb, b], 1), torch.stack([b, verb, a], 1)])

    return sentences(order[kept:]), sentences(order[:kept])


def word_before(words: Tensor) -> Tensor:
    """(batch, n) -> (batch, n): at each place the word one place back, at the first itself."""
    return torch.cat([words[:, :1], words[:, :-1]], dim=1)


def train_word_before(
    positions: ReaderPositions, seed: int, longest: int = 16, last_start: int = 0, steps: int = 600
) -> Reader:
    """Train a one-layer reader to name the word before, on rows of at most `longest` words.

    Args:
        positions: which it has.
        seed: of its starting values and of its rows.
        longest: rows have between three quarters of this and this many words.
        last_start: the position of the first word is drawn from 0 ... last_start, for each batch.
        steps: batches of 32 rows.
    """
    torch.manual_seed(seed)
    model, draw = Reader(positions, WORDS), torch.Generator().manual_seed(seed)

    def draw_loss() -> Tensor:
        n = int(torch.randint(3 * longest // 4, longest + 1, (), generator=draw))
        start = int(torch.randint(last_start + 1, (), generator=draw))
        words = torch.randint(WORDS, (32, n), generator=draw)
        return cross_entropy(model(words, start).flatten(0, 1), word_before(words).flatten())

    train_briefly(model, draw_loss, steps, peak=5e-3, warmup=50)
    return model


def right_by_place(
    model: Reader, n: int, rows: int = 400, seed: int = 1000, start: int = 0
) -> Tensor:
    """The share of right answers at each place of new rows of n words; float64 (n,).

    The rows are drawn from a seed of their own, seed + n; the first word is at position `start`.
    """
    words = torch.randint(WORDS, (rows, n), generator=torch.Generator().manual_seed(seed + n))
    with torch.no_grad():
        right = model(words, start).argmax(-1) == word_before(words)  # (rows, n)
    return right.double().mean(dim=0)
