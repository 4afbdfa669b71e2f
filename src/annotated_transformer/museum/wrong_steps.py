"""The wrong steps: each stands in the place of one of the right recipe's.

Section 3's modules know nothing of them; where a bug sits inside one, a class beside it says what
is different.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import torch
from torch import Tensor, nn

from annotated_transformer.attention import MultiHeadAttention, softmax
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit, Split, Vocabulary, encode_split
from annotated_transformer.decoding.incremental import CachedDecoder
from annotated_transformer.masks import padding_mask
from annotated_transformer.museum import recipe as right
from annotated_transformer.museum.recipe import CONFIG, Recipe, Weights
from annotated_transformer.residual import LayerNorm
from annotated_transformer.training.label_smoothing import label_smoothing_loss
from annotated_transformer.transformer import Transformer, evaluation_mode

# --- the future -----------------------------------------------------------------------------------


class SeesTheFuture(Transformer):
    """The decoder's mask hides the padding and nothing else."""

    ahead: int | None = None  # how many tokens ahead may be seen; None: all

    def decode(
        self,
        memory: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        if tgt_mask is None:
            tgt_mask = padding_mask(tgt, self.config.pad_id)  # (batch, 1, 1, n_tgt)
            if self.ahead is not None:
                n = tgt.size(1)
                tgt_mask = tgt_mask & torch.ones(n, n, dtype=torch.bool).tril(self.ahead)
        return super().decode(memory, tgt, src_mask, tgt_mask)


class SeesTheNextToken(SeesTheFuture):
    """tril(1) in place of tril(0): each position sees the token that it has to say."""

    ahead = 1


def not_shifted(tgt: Tensor) -> tuple[Tensor, Tensor]:
    """The decoder reads what it has to say."""
    return tgt[:, 1:], tgt[:, 1:]


# --- padding --------------------------------------------------------------------------------------


class AttendsToPadding(Transformer):
    """The source's padding is attended like its words."""

    def encode(self, src: Tensor, src_mask: Tensor | None = None) -> Tensor:  # noqa: ARG002
        return super().encode(src, torch.ones_like(padding_mask(src)))

    def decode(
        self,
        memory: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,  # noqa: ARG002
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        return super().decode(memory, tgt, None, tgt_mask)


def loss_with_padding(logits: Tensor, labels: Tensor) -> Tensor:
    """Padding is a token to be said like any other."""
    return label_smoothing_loss(logits, labels, pad_id=-1)


def smoothing_over_padding(logits: Tensor, labels: Tensor, eps: float = 0.1) -> Tensor:
    """The one-hot part leaves padding out, the uniform part does not."""
    log_probabilities = logits.log_softmax(-1)  # (batch, n, vocab)
    real = labels != CONFIG.pad_id
    of_label = -log_probabilities.gather(-1, labels[..., None]).squeeze(-1) * real  # (batch, n)
    of_uniform = -log_probabilities.mean(-1)
    return ((1 - eps) * of_label + eps * of_uniform).sum() / real.sum()


# --- attention ------------------------------------------------------------------------------------


class WrongAttention(MultiHeadAttention):
    """Attention that is written out, so that one thing in it can be wrong."""

    power = 0.5  # of d_k, by which the scores are divided
    over = -1  # the axis of the softmax

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        scores = queries @ keys.transpose(-2, -1) / queries.size(-1) ** self.power
        if mask is not None:
            scores = scores.masked_fill(~mask, -math.inf)
        weights = softmax(scores, self.over).nan_to_num(0.0)  # nothing to attend to: zeros
        if self.keep_weights:
            self.weights = weights.detach()
        return weights @ values


class Unscaled(WrongAttention):
    """Scores are not divided by sqrt(d_k)."""

    power = 0.0


class ScaledTwice(WrongAttention):
    """Scores are divided by sqrt(d_k) twice, which is d_k."""

    power = 1.0


class OverQueries(WrongAttention):
    """The softmax is taken over the queries: what a key gives adds up to 1."""

    over = -2


class ViewedHeads(MultiHeadAttention):
    """(batch, n, h d_k) viewed as (batch, h, n, d_k): a head is a stretch of the text."""

    def project_query(self, query: Tensor) -> Tensor:
        return self.viewed(self.query_projection(query))

    def project_key_value(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return self.viewed(self.key_projection(key)), self.viewed(self.value_projection(value))

    def viewed(self, x: Tensor) -> Tensor:
        batch, n, width = x.shape
        return x.reshape(batch, self.num_heads, n, width // self.num_heads)

    def combine(self, heads: Tensor) -> Tensor:
        batch, h, n, d_v = heads.shape
        output: Tensor = self.output_projection(heads.reshape(batch, n, h * d_v))
        return output


@dataclass(frozen=True)
class Swapped:
    """Builds the model of a configuration with other modules in the place of some.

    Attributes:
        old: the class of those that go; a class derived from it stays.
        new: what comes in their place, with the same weights.
    """

    old: type[nn.Module]
    new: type[nn.Module]

    def __call__(self, config: TransformerConfig) -> Transformer:
        model = Transformer(config)
        found = [module for module in model.modules() if type(module) is self.old]
        assert found, f"the model has no {self.old.__name__}"
        for module in found:
            module.__class__ = self.new
        return model


# --- positions and embeddings ---------------------------------------------------------------------


def without_positions(config: TransformerConfig) -> Transformer:
    """The positions were never added."""
    return Transformer(config.with_changes(positions="none"))


class PositionsTooLate(Transformer):
    """Positions are added to what the encoder gives, not to what it reads."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.late, self.source_embedding.positions = self.source_embedding.positions, None

    def encode(self, src: Tensor, src_mask: Tensor | None = None) -> Tensor:
        assert self.late is not None
        return super().encode(src, src_mask) + self.late(src.size(1))


class ForgetsWhereItIs(CachedDecoder):
    """Each new token is embedded as the first of its sentence."""

    def next_logits(self, prefixes: Tensor) -> Tensor:
        return super().next_logits(prefixes[:, :, -1:])


def scaled_on_one_side(config: TransformerConfig) -> Transformer:
    """The target's embeddings are not multiplied by sqrt(d_model)."""
    model = Transformer(config)
    model.target_embedding.scale = 1.0
    return model


def tied_by_value(config: TransformerConfig) -> Transformer:
    """The projection begins as a copy of the embedding, and then goes its own way."""
    model = Transformer(config)
    model.projection.weight = nn.Parameter(model.projection.weight.detach().clone())
    return model


# --- layers ---------------------------------------------------------------------------------------


class OverPositions(LayerNorm):
    """Mean and variance are those of a feature over the positions of the sentence."""

    def forward(self, x: Tensor) -> Tensor:
        mean, variance = x.mean(1, keepdim=True), x.var(1, keepdim=True, correction=0)
        return self.gamma * (x - mean) / (variance + self.eps).sqrt() + self.beta


class AlwaysDrops(Transformer):
    """`eval()` is never called, or does nothing: dropout stays on."""

    def train(self, mode: bool = True) -> Self:  # noqa: ARG002
        return super().train(True)


# --- the step -------------------------------------------------------------------------------------


def never_back_to_training(model: Transformer) -> None:
    """The first validation called `eval()`, and nobody called `train()`."""
    model.eval()


def rate_stepped_twice(step: int) -> float:
    """The schedule is stepped in the loop and once more in the optimizer."""
    return right.rate(min(2 * step, right.STEPS))


def rate_never_stepped(step: int) -> float:  # noqa: ARG001
    """The schedule is built, and nobody steps it."""
    return right.rate(1)


def keep_gradient(optimizer: torch.optim.Optimizer) -> None:
    """`zero_grad` is missing."""


def mean_of_means(
    recipe: Recipe, model: Transformer, parts: Sequence[tuple[Tensor, Tensor]]
) -> float:
    """Each part's mean weighs the same, however many tokens it has."""
    total = 0.0
    for src, tgt in parts:
        loss = recipe.loss_of(model, src, tgt) / len(parts)
        loss.backward()  # type: ignore[no-untyped-call]
        total += loss.item()
    return total


def average_of_strangers(weights: Weights, others: Callable[[], Weights]) -> Weights:
    """The last checkpoints of two runs are averaged as if they were of one."""
    stranger = others()
    return {name: (weight + stranger[name]) / 2 for name, weight in weights.items()}


# --- text -----------------------------------------------------------------------------------------


def cut(which: slice, split: Split, vocabulary: Vocabulary) -> EncodedSplit:
    """Only a part of each target's ids."""
    encoded = encode_split(split, vocabulary)
    return replace(encoded, target=[list(ids)[which] for ids in encoded.target])


def truncated(split: Split, vocabulary: Vocabulary, longest: int = 10) -> EncodedSplit:
    """Targets end after ten tokens, and eos is put behind them."""
    encoded = encode_split(split, vocabulary)
    target = [
        ids if len(ids) <= longest else [*ids[: longest - 1], ids[-1]]
        for ids in map(list, encoded.target)
    ]
    return replace(encoded, target=target)


def vocabulary_of_another_run(vocabulary: Vocabulary) -> Vocabulary:  # noqa: ARG001
    """Learned in the same way, from half of the training sentences."""
    train = right.corpus()["train"]
    first = len(train) // 2
    return Vocabulary.train([*train.source[:first], *train.target[:first]], CONFIG.vocab_size)


# --- writing and scoring --------------------------------------------------------------------------


class NotReordered(CachedDecoder):
    """After a step of the search the beam is re-ranked, and the cache is not."""

    def select(self, sentences: Tensor, parents: Tensor) -> None:
        stays = torch.arange(parents.size(1)).clamp(max=self.own_past.size(2) - 1)
        super().select(sentences, stays.to(parents.device).expand_as(parents))


@torch.inference_mode()
def given_the_references(recipe: Recipe, model: Transformer, src: Tensor, tgt: Tensor) -> Tensor:
    """Each token is the best one after the true beginning, which nobody has who translates."""
    with evaluation_mode(model):
        read, _ = recipe.read_and_labels(tgt)
        said = model(src, read).argmax(-1)  # (batch, n)
    return torch.cat([tgt[:, :1], said], dim=1).masked_fill(tgt == CONFIG.pad_id, CONFIG.pad_id)
