"""From pairs of sentences to a score, every step a function: a bug of the museum replaces one.

The loop is that of chapter 8 without anything that makes it fast, so that each place where people
go wrong is a line of its own. The corpus is the grammar's, where a translation is right or wrong.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache

import torch
from torch import Tensor

from annotated_transformer.config import ALPHA, TransformerConfig
from annotated_transformer.data import EncodedSplit, ParallelCorpus, Vocabulary, encode_split
from annotated_transformer.data.batching import collate, token_batches
from annotated_transformer.data.grammar.corpus import generate_corpus
from annotated_transformer.decoding.beam import IncrementalDecoder, search
from annotated_transformer.decoding.decode import length_limits
from annotated_transformer.decoding.incremental import PrefixDecoder
from annotated_transformer.evaluation.scoring import Score, cased_bleu
from annotated_transformer.training.label_smoothing import label_smoothing_loss
from annotated_transformer.training.schedule import LearningRateSchedule
from annotated_transformer.transformer import Transformer, evaluation_mode

CONFIG = TransformerConfig(2000, d_model=64, d_ff=256, num_heads=4, num_layers=2, dropout=0.05)
STEPS, MAX_TOKENS, WARMUP = 1200, 2048, 300
PEAK = 5e-3  # of the rate; equation 3's would be 7.2e-3
EXTRA = 20  # a translation ends so many tokens after its source at the latest

Weights = dict[str, Tensor]


def shifted(tgt: Tensor) -> tuple[Tensor, Tensor]:
    """What the decoder reads and what it has to say: all but the last token, all but the first.

    Args:
        tgt: (batch, n + 1), bos first, eos last, padded.

    Returns:
        (batch, n) twice.
    """
    return tgt[:, :-1], tgt[:, 1:]


def rate(step: int) -> float:
    """Equation 3 at a lower peak, falling to zero over the last half of the run."""
    return LearningRateSchedule(CONFIG.d_model, WARMUP, PEAK, decay=0.5).rate(
        step, progress=(step - 1) / STEPS
    )


def gradient(recipe: "Recipe", model: Transformer, parts: Sequence[tuple[Tensor, Tensor]]) -> float:
    """Add up the gradients of a step's parts, each weighed by its tokens; the loss, in nats.

    Args:
        parts: source and target of each, (batch, n_src) and (batch, n_tgt + 1).
    """
    tokens = [int((tgt[:, 1:] != CONFIG.pad_id).sum()) for _, tgt in parts]
    total = 0.0
    for (src, tgt), n in zip(parts, tokens, strict=True):
        loss = recipe.loss_of(model, src, tgt) * n / sum(tokens)
        loss.backward()  # type: ignore[no-untyped-call]
        total += loss.item()
    return total


def clear(optimizer: torch.optim.Optimizer) -> None:
    """Forget the gradient of the step that was taken."""
    optimizer.zero_grad()


def learning(model: Transformer) -> None:
    """With dropout."""
    model.train()


def write(recipe: "Recipe", model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:  # noqa: ARG001
    """Translate a batch by the recipe's search: (batch, length), bos first.

    Args:
        tgt: the references, which nobody reads who translates.
    """
    config = model.config
    with evaluation_mode(model), torch.inference_mode():
        found = search(
            recipe.decoder(model, src, recipe.beam),
            length_limits(src, config.pad_id, EXTRA),
            beam_size=recipe.beam,
            alpha=ALPHA,
            nbest=1,
            bos_id=config.bos_id,
            eos_id=config.eos_id,
            never=(config.pad_id, config.bos_id),
            device=src.device,
        )
    return collate([best[0].tokens if best else [] for best in found], config.pad_id)


def last(weights: Weights, others: Callable[[], Weights]) -> Weights:  # noqa: ARG001
    """The weights that are kept: those of the last step. `others` trains another run."""
    return weights


@dataclass(frozen=True)
class Recipe:
    """Every step of the way, as it should be.

    Attributes:
        build: the model of a configuration.
        ids: sentences as token numbers, between bos and eos on the target's side.
        read_and_labels: what the decoder reads and what it has to say.
        loss: of logits (batch, n, vocab) against labels (batch, n), in nats per token.
        learning: puts the model into the mode in which it learns.
        rate: of each step, counted from 1.
        parts: how many batches make a step.
        gradient: adds up a step's.
        clear: forgets it.
        keep: the weights that are kept at the end, of the last step's and what trains others.
        known: the vocabulary with which the trained model is asked.
        decoder: gives the search the next token's logits; without a cache, as one begins.
        beam: of the search; 1 is greedy.
        write: translations of a batch.
        score: of translations against references.
    """

    build: Callable[[TransformerConfig], Transformer] = Transformer
    ids: Callable[..., EncodedSplit] = encode_split
    read_and_labels: Callable[[Tensor], tuple[Tensor, Tensor]] = shifted
    loss: Callable[[Tensor, Tensor], Tensor] = label_smoothing_loss
    learning: Callable[[Transformer], None] = learning
    rate: Callable[[int], float] = rate
    parts: int = 1
    gradient: Callable[..., float] = gradient
    clear: Callable[[torch.optim.Optimizer], None] = clear
    keep: Callable[[Weights, Callable[[], Weights]], Weights] = last
    known: Callable[[Vocabulary], Vocabulary] = field(default=lambda vocabulary: vocabulary)
    decoder: Callable[[Transformer, Tensor, int], IncrementalDecoder] = PrefixDecoder
    beam: int = 1
    write: Callable[..., Tensor] = write
    score: Callable[[Sequence[str], Sequence[str]], Score] = cased_bleu

    def loss_of(self, model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
        """The loss of a batch, in nats per token."""
        read, labels = self.read_and_labels(tgt)
        return self.loss(model(src, read), labels)


@cache
def corpus() -> ParallelCorpus:
    """The grammar's sentences, the same everywhere."""
    return generate_corpus()


@cache
def vocabulary() -> Vocabulary:
    """Learned from the training pairs, both sides."""
    train = corpus()["train"]
    return Vocabulary.train([*train.source, *train.target], CONFIG.vocab_size)


def steps_of(encoded: EncodedSplit, recipe: Recipe, seed: int) -> Iterator[list[list[int]]]:
    """The pairs of each step, part by part, for `STEPS` steps and more."""
    budget = MAX_TOKENS // recipe.parts
    for epoch in range(STEPS * recipe.parts):
        batches = token_batches(encoded.lengths, budget, seed=seed, epoch=epoch)
        whole = len(batches) // recipe.parts * recipe.parts
        for first in range(0, whole, recipe.parts):
            yield batches[first : first + recipe.parts]


def tensors(encoded: EncodedSplit, indices: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Source and target of some pairs, padded."""
    src = collate([encoded.source[i] for i in indices], CONFIG.pad_id)
    return src, collate([encoded.target[i] for i in indices], CONFIG.pad_id)


@dataclass
class Trained:
    """What a training leaves.

    Attributes:
        model: at the end.
        losses: of every step, in nats per token.
        rates: of every step.
    """

    model: Transformer
    losses: list[float]
    rates: list[float]


def train(
    recipe: Recipe,
    seed: int,
    steps: int = STEPS,
    progress: Callable[[int], None] = lambda step: None,
) -> Trained:
    """Train a model by a recipe, to the weights of the last step.

    Args:
        seed: of the starting values, the order and dropout.
        steps: how many, `STEPS` at most: there the rate has fallen to zero.
        progress: is told each step.
    """
    torch.manual_seed(seed)
    model = recipe.build(CONFIG)
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9, fused=True)
    encoded = recipe.ids(corpus()["train"], vocabulary())
    trained = Trained(model, [], [])
    recipe.learning(model)
    for step, parts in zip(range(1, steps + 1), steps_of(encoded, recipe, seed), strict=False):
        optimizer.param_groups[0]["lr"] = recipe.rate(step)
        loss = recipe.gradient(recipe, model, [tensors(encoded, part) for part in parts])
        trained.losses.append(loss)
        trained.rates.append(recipe.rate(step))
        optimizer.step()
        recipe.clear(optimizer)
        progress(step)
    return trained
