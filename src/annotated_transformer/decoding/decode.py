"""Section 6.1: from a trained model to a sentence, by greedy choice or by beam search.

A model gives the probability of the next token; a search looks for a probable whole sentence.
Both searches here work on a batch of sentences, let a sentence leave the batch when it is done,
and ask an incremental decoder for the next token's logits, so that no position is computed twice.
"""

import math
from collections.abc import Callable, Sequence
from itertools import count

import torch
from torch import Tensor

from annotated_transformer.after.families import OneStack
from annotated_transformer.config import ALPHA, BEAM_SIZE, MAX_EXTRA, TransformerConfig
from annotated_transformer.decoding.beam import (
    FREE,
    Hypothesis,
    IncrementalDecoder,
    search,
)
from annotated_transformer.decoding.beam_steps import Watch
from annotated_transformer.decoding.incremental import CachedDecoder, PrefixDecoder
from annotated_transformer.decoding.one_row import RowDecoder
from annotated_transformer.transformer import Transformer, evaluation_mode

NO_NUMBER = (
    "the model's output is not a number: its weights are damaged, or the run diverged; use an "
    "earlier checkpoint or train anew."
)


@torch.inference_mode()
def greedy_decode(
    model: Transformer,
    src: Tensor,
    max_extra: int = MAX_EXTRA,
    use_cache: bool = True,
    prefix: Tensor | None = None,
) -> Tensor:
    """Always take the most probable next token.

    Args:
        src: source tokens (batch, n_src), padded.
        max_extra: a sentence gets at most source length + max_extra tokens; padding is no length.
        use_cache: False decodes every prefix anew, which is slow and gives the same.
        prefix: what each translation must begin with, (batch, n_prefix), padded.

    Returns:
        Integers (batch, length): bos, the tokens, eos, then padding.

    Raises:
        ValueError: if prefix is refused (`forced_tokens`), or max_extra leaves a sentence no token.
        FloatingPointError: if the model's output is not a number.
    """
    return one_by_one(model, src, most_probable, max_extra, use_cache, prefix)


def most_probable(logits: Tensor) -> Tensor:
    """The token of the highest logit: (live, vocab) -> (live,)."""
    return logits.argmax(dim=-1)


def one_by_one(
    model: Transformer,
    src: Tensor,
    choose: Callable[[Tensor], Tensor],
    max_extra: int = MAX_EXTRA,
    use_cache: bool = True,
    prefix: Tensor | None = None,
) -> Tensor:
    """One hypothesis a sentence, lengthened by whatever is chosen until eos or the limit.

    Args:
        choose: from the logits (live, vocab) of the sentences not yet ended to a token each,
            (live,). Padding and bos stand at minus infinity: they are not to be chosen.

    Other arguments, output and errors as in `greedy_decode`; no sentence gives (0, 1).
    """
    config = model.config
    if len(src) == 0:
        return torch.full((0, 1), config.bos_id, device=src.device)
    with evaluation_mode(model):
        limits = length_limits(src, config.pad_id, max_extra)
        forced = forced_tokens(prefix, limits, config)
        decoder = incremental_decoder(model, src, 1, use_cache)
        live = torch.arange(len(src), device=src.device)  # (live,), the sentences not yet ended
        longest = torch.tensor(limits, device=src.device)  # (batch,)
        output = torch.full((len(src), 1), config.bos_id, device=src.device)  # (batch, length)
        for length in count(1):
            logits = decoder.next_logits(output[live, None])[:, 0]  # (live, vocab)
            logits[:, [config.pad_id, config.bos_id]] = -math.inf
            if logits.isnan().any():
                raise FloatingPointError(NO_NUMBER)
            token = choose(logits)  # (live,)
            if forced is not None and length <= forced.shape[1]:
                must_be = forced[live, length - 1]  # (live,)
                token = torch.where(must_be == FREE, token, must_be)
            column = torch.full((len(src), 1), config.pad_id, device=src.device)
            column[live, 0] = token
            output = torch.cat([output, column], dim=1)
            goes_on = ((token != config.eos_id) & (length < longest[live])).nonzero()[:, 0]
            if len(goes_on) == 0:
                break
            live = live[goes_on]
            decoder.select(goes_on, torch.zeros_like(goes_on)[:, None])
    return output


@torch.inference_mode()
def beam_search(
    model: Transformer,
    src: Tensor,
    beam_size: int = BEAM_SIZE,
    alpha: float = ALPHA,
    max_extra: int = MAX_EXTRA,
    nbest: int = 1,
    use_cache: bool = True,
    prefix: Tensor | None = None,
    watch: Watch | None = None,
) -> list[list[Hypothesis]]:
    """Keep the beam_size most probable beginnings; return the best sentences they grow into.

    The defaults are the paper's (section 6.1).

    Args:
        src: source tokens (batch, n_src), padded.
        beam_size: how many beginnings of each sentence are kept.
        alpha: of the length penalty.
        max_extra: a sentence gets at most source length + max_extra tokens; padding is no length.
        nbest: how many hypotheses of each sentence are wanted.
        use_cache: False decodes every prefix anew, which is slow and gives the same.
        prefix: what each translation must begin with, (batch, n_prefix), padded. Its tokens count
            in lengths and probabilities like all others.
        watch: is told each step of the search of each sentence (`beam_steps.SearchStep`).

    Returns:
        For each source its nbest hypotheses, best first; fewer if the search met fewer.

    Raises:
        ValueError: if beam_size or nbest is below 1, alpha not from 0 to 100, max_extra leaves a
            sentence no token, or prefix is refused (`forced_tokens`).
    """
    config = model.config
    limits = length_limits(src, config.pad_id, max_extra)
    forced = forced_tokens(prefix, limits, config)
    with evaluation_mode(model):
        return search(
            incremental_decoder(model, src, beam_size, use_cache),
            limits,
            beam_size=beam_size,
            alpha=alpha,
            nbest=nbest,
            bos_id=config.bos_id,
            eos_id=config.eos_id,
            never=(config.pad_id, config.bos_id),
            forced=forced,
            watch=watch,
            device=src.device,
        )


def forced_tokens(
    prefix: Tensor | None, limits: Sequence[int], config: TransformerConfig
) -> Tensor | None:
    """The prefix as searches use it: FREE in place of padding. None where nothing is forced.

    Args:
        prefix: (batch, n_prefix), what each translation must begin with after bos, padded at the
            end.
        limits: how many tokens each sentence may get.

    Raises:
        ValueError: if it has not one row a sentence, holds bos or eos, has padding before a token,
            or is longer than a sentence may get.
    """
    if prefix is None or prefix.numel() == 0:
        return None
    real = prefix != config.pad_id  # (batch, n_prefix)
    if len(prefix) != len(limits):
        raise ValueError(f"{len(prefix)} prefixes were given for {len(limits)} sentences.")
    if ((prefix == config.bos_id) | (prefix == config.eos_id)).any():
        raise ValueError("A prefix holds bos or eos: give the tokens between them alone.")
    if (real[:, 1:] & ~real[:, :-1]).any():
        raise ValueError("A prefix has padding before a token: pad prefixes at the end.")
    for row, length in enumerate(real.sum(dim=1).tolist()):
        if length > limits[row]:
            raise ValueError(
                f"The prefix of sentence {row} has {length} tokens and its translation may have "
                f"{limits[row]}: shorten it, or raise max_extra."
            )
    return prefix.masked_fill(~real, FREE)


def length_limits(src: Tensor, pad_id: int, max_extra: int) -> list[int]:
    """How many tokens each sentence may get: source length + max_extra (section 6.1).

    Raises:
        ValueError: if that is none for a sentence.
    """
    limits: list[int] = ((src != pad_id).sum(dim=1) + max_extra).tolist()
    if min(limits, default=1) < 1:
        raise ValueError(
            f"max_extra {max_extra} leaves a sentence no token: its source has "
            f"{min(limits) - max_extra}."
        )
    return limits


def incremental_decoder(
    model: Transformer, src: Tensor, beam_size: int, use_cache: bool
) -> IncrementalDecoder:
    """A decoder for these sources: with a key-value cache, or recomputing every prefix."""
    if not use_cache:
        return PrefixDecoder(model, src, beam_size)
    if isinstance(model, OneStack):
        return RowDecoder(model, src, beam_size)
    return CachedDecoder(model, src, beam_size)
