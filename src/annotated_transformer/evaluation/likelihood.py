"""How probable a model finds the references: loss, perplexity and accuracy, each past given.

Validation during training and `annotated-transformer evaluate` both measure here.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from annotated_transformer.data import EncodedSplit, batches_of
from annotated_transformer.errors import CallError
from annotated_transformer.masks import padding_mask
from annotated_transformer.transformer import Transformer, evaluation_mode

ROWS_PER_PROJECTION = 1024  # the logits of a whole batch would be hundreds of megabytes


@dataclass(frozen=True)
class Likelihood:
    """How probable a model finds the references, counted per token and without label smoothing."""

    loss: float  # mean negative log-likelihood in nats per token
    perplexity: float  # exp(loss), per token of the model's own vocabulary
    accuracy: (
        float  # share of tokens, from 0 to 1, that the model ranks first given the ones before
    )
    tokens: int  # how many: every token of every reference and its eos, no padding


class SentenceBatch(Protocol):
    """What is read of a batch of sentence pairs."""

    @property
    def src(self) -> Tensor: ...  # (batch, n_src), eos last, padded

    @property
    def tgt(self) -> Tensor: ...  # (batch, n_tgt + 1), bos first, eos last, padded


def teacher_forced(model: Transformer, batch: SentenceBatch) -> tuple[Tensor, Tensor]:
    """The decoder's output at every real position, and the token that each is to predict.

    The decoder reads all but the last token and predicts all but the first. Padding is left out
    before anything is projected to the vocabulary. Where it stands is read from the batch before
    the batch is moved: to ask a GPU would be to wait for all that it has been given to do.

    Returns:
        (tokens, d_model), not yet projected, and (tokens,).
    """
    pad_id = model.config.pad_id
    labels = batch.tgt[:, 1:].flatten()  # position t of the input predicts token t + 1
    real = (labels != pad_id).nonzero().squeeze(1)  # (tokens,) places in the flattened batch
    src = batch.src.to(model.device, non_blocking=True)  # (batch, n_src)
    tgt = batch.tgt.to(model.device, non_blocking=True)  # (batch, n_tgt + 1)
    src_mask = padding_mask(src, pad_id)  # (batch, 1, 1, n_src)
    memory = model.encode(src, src_mask)  # (batch, n_src, d_model)
    hidden = model.decode(memory, tgt[:, :-1], src_mask)  # (batch, n_tgt, d_model)
    answers = labels[real].to(model.device, non_blocking=True)
    real = real.to(model.device, non_blocking=True)
    return hidden.flatten(0, 1).index_select(0, real), answers


@torch.inference_mode()
def log_probability(
    model: Transformer, source: Sequence[int], tokens: Sequence[int], banned: Sequence[int] = ()
) -> float:
    """The log-probability that a model gives a whole translation, in nats.

    With it a wrong translation is blamed: where the reference has the better score (this over the
    length penalty of the search), the search has erred; otherwise the model.

    Args:
        source: its tokens, eos last.
        tokens: the translation's, bos first; all after bos count, eos too.
        banned: tokens that have no probability, the others sharing theirs.
    """
    given = torch.tensor([list(source)], device=model.device)  # (1, n_src)
    written = torch.tensor([list(tokens)], device=model.device)  # (1, n_tgt + 1)
    with evaluation_mode(model):
        logits = model(given, written[:, :-1])  # (1, n_tgt, vocab)
    logits[..., list(banned)] = -math.inf
    precision = torch.promote_types(logits.dtype, torch.float32)  # as in a search
    log_probabilities = logits.log_softmax(-1, dtype=precision)
    return float(log_probabilities.gather(2, written[:, 1:, None]).sum())


@torch.no_grad()  # not inference_mode: training goes on afterwards with what is cached here
def corpus_likelihood(model: Transformer, batches: Iterable[SentenceBatch]) -> Likelihood:
    """The loss, perplexity and accuracy of a model on references, each token given the true past.

    The loss is the plain negative log-likelihood: label smoothing, if training used it, is left
    out, since the smoothed loss cannot fall to zero and its exponential is no perplexity
    (section 5.4). Padding counts nowhere. The products run in the precision of the `autocast`
    that the caller has set, if any; the softmax in float32.

    Raises:
        CallError: if no batch holds a token.
    """
    loss, correct, tokens = 0.0, 0, 0
    with evaluation_mode(model):
        for batch in batches:
            hidden, labels = teacher_forced(model, batch)
            for rows, row_labels in zip(
                torch.split(hidden, ROWS_PER_PROJECTION),  # (rows, d_model)
                torch.split(labels, ROWS_PER_PROJECTION),  # (rows,)
                strict=True,
            ):
                logits = model.project(rows).float()  # (rows, vocab)
                losses = torch.nn.functional.cross_entropy(logits, row_labels, reduction="none")
                loss += losses.cpu().double().sum().item()
                correct += int((logits.argmax(dim=-1) == row_labels).sum())
                tokens += row_labels.numel()
    if tokens == 0:
        raise CallError("there is no token to score; give at least one non-empty batch.")
    mean = loss / tokens
    return Likelihood(mean, math.exp(min(mean, 700.0)), correct / tokens, tokens)


def split_likelihood(model: Transformer, encoded: EncodedSplit, max_tokens: int) -> Likelihood:
    """`corpus_likelihood` of a split, in batches of `max_tokens` or of its longest sentence.

    Raises:
        CallError: if the split holds no pair.
    """
    longest = max(map(max, encoded.lengths), default=0)
    budget = max(max_tokens, longest)
    pad_id = model.config.pad_id
    batches = batches_of(encoded, budget, seed=0, epoch=0, pad_id=pad_id)
    return corpus_likelihood(model, batches)
