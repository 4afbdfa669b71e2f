"""Section 6.1: from a trained model to a sentence, by greedy choice or by beam search.

A model gives the probability of the next token; a search looks for a probable whole sentence.
Both searches here work on a batch of sentences, let a sentence leave the batch when it is done,
and ask an incremental decoder for the next token's logits, so that no position is computed twice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import torch
from torch import Tensor

from annotated_transformer.incremental import CachedDecoder, IncrementalDecoder, PrefixDecoder
from annotated_transformer.transformer import Transformer, evaluation_mode

BLOCK = 64  # columns whose maximum stands for them when the best of a vocabulary are looked for


@dataclass(frozen=True)
class Hypothesis:
    """One translation found by a search."""

    tokens: tuple[int, ...]  # bos first; eos last, unless the length limit ended it
    score: float  # log_probability / length_penalty: what the search ranks by, higher is better
    log_probability: float  # in nats, of all tokens after bos


def length_penalty(length: int, alpha: float) -> float:
    """((5 + length) / 6) ** alpha: what a log-probability is divided by (section 6.1).

    Every token makes a sentence less probable, so without it the shortest would win. The formula
    is that of Wu et al. (2016), to whom the paper refers.

    Args:
        length: how many tokens were generated; eos counts, bos does not.
        alpha: 0 leaves log-probabilities as they are; the higher, the longer the winner.
    """
    return float(((5 + length) / 6) ** alpha)


@torch.inference_mode()
def greedy_decode(
    model: Transformer, src: Tensor, max_extra: int = 50, use_cache: bool = True
) -> Tensor:
    """Always take the most probable next token.

    Args:
        src: source tokens (batch, n_src), padded.
        max_extra: a sentence gets at most source length + max_extra tokens; padding is no length.
        use_cache: False decodes every prefix anew, which is slow and gives the same.

    Returns:
        Integers (batch, length): bos, the tokens, eos, then padding.
    """
    config = model.config
    with evaluation_mode(model):
        decoder = incremental_decoder(model, src, 1, use_cache)
        limits = torch.tensor(length_limits(src, config.pad_id, max_extra), device=src.device)
        live = torch.arange(len(src), device=src.device)  # (live,) the sentences not yet ended
        output = torch.full((len(src), 1), config.bos_id, device=src.device)  # (batch, length)
        for length in count(1):
            logits = decoder.next_logits(output[live, None])[:, 0]  # (live, vocab)
            logits[:, [config.pad_id, config.bos_id]] = -math.inf
            token = logits.argmax(dim=-1)  # (live,)
            column = torch.full((len(src), 1), config.pad_id, device=src.device)
            column[live, 0] = token
            output = torch.cat([output, column], dim=1)
            goes_on = ((token != config.eos_id) & (length < limits[live])).nonzero()[:, 0]
            if len(goes_on) == 0:
                break
            live = live[goes_on]
            decoder.select(goes_on, torch.zeros_like(goes_on)[:, None])
    return output


@torch.inference_mode()
def beam_search(
    model: Transformer,
    src: Tensor,
    beam_size: int = 4,
    alpha: float = 0.6,
    max_extra: int = 50,
    nbest: int = 1,
    use_cache: bool = True,
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

    Returns:
        For each source its nbest hypotheses, best first; fewer if the search met fewer.

    Raises:
        ValueError: if beam_size or nbest is below 1 or alpha below 0.
    """
    config = model.config
    with evaluation_mode(model):
        return search(
            incremental_decoder(model, src, beam_size, use_cache),
            length_limits(src, config.pad_id, max_extra),
            beam_size=beam_size,
            alpha=alpha,
            nbest=nbest,
            bos_id=config.bos_id,
            eos_id=config.eos_id,
            never=(config.pad_id, config.bos_id),
            device=src.device,
        )


def search(
    decoder: IncrementalDecoder,
    limits: Sequence[int],
    *,
    beam_size: int,
    alpha: float,
    nbest: int,
    bos_id: int,
    eos_id: int,
    never: Sequence[int] = (),
    device: torch.device | str = "cpu",
) -> list[list[Hypothesis]]:
    """Beam search over anything that gives next-token logits, a batch of sentences at a time.

    Each step keeps the beam_size best one-token extensions of the live hypotheses by their total
    log-probability. Those that end in eos leave the beam for the sentence's pool, as do all at
    the length limit. A sentence is done when none of its live hypotheses can still reach the
    pool's nbest; the result is the same as if they had been followed to the limit.

    Args:
        decoder: gives the logits, and follows the search as it re-ranks.
        limits: how many tokens each sentence may get.
        never: tokens that are not generated.

    Other arguments, output and errors as in `beam_search`.
    """
    if len(limits) == 0:
        return []
    if beam_size < 1 or nbest < 1 or alpha < 0:
        raise ValueError(
            f"beam_size {beam_size}, nbest {nbest} and alpha {alpha} were given; the first two "
            "must be at least 1 and alpha at least 0."
        )
    pools = [Pool(limit, alpha, nbest) for limit in limits]
    live_pools = list(pools)  # (live,) the pool of each sentence that is still being searched
    prefixes = torch.full((len(limits), beam_size, 1), bos_id, device=device)
    totals = torch.full((len(limits), beam_size), -math.inf, device=device)
    totals[:, 0] = 0.0  # one live hypothesis, bos; the empty places of a beam are at minus infinity
    for length in count(1):
        logits = decoder.next_logits(prefixes)  # (live, beam, vocab)
        parents, tokens, totals = best_extensions(logits, totals, never)  # each (live, beam)
        past = prefixes.gather(1, parents[..., None].expand_as(prefixes))
        prefixes = torch.cat([past, tokens[..., None]], dim=-1)  # (live, beam, 1 + length)

        at_limit = torch.tensor([length >= pool.limit for pool in live_pools], device=device)
        ended = (tokens == eos_id) | at_limit[:, None]  # (live, beam)
        ended &= totals > -math.inf
        for row, place in ended.nonzero().tolist():
            live_pools[row].add(prefixes[row, place].tolist(), float(totals[row, place]))
        totals = totals.masked_fill(ended, -math.inf)

        best = totals.amax(dim=-1).tolist()  # (live,)
        goes_on = [row for row, pool in enumerate(live_pools) if pool.can_change(best[row])]
        if not goes_on:
            break
        live_pools = [live_pools[row] for row in goes_on]
        rows = torch.tensor(goes_on, device=device)
        prefixes, totals = prefixes[rows], totals[rows]
        decoder.select(rows, parents[rows])
    return [pool.best for pool in pools]


class Pool:
    """The hypotheses of one sentence that have ended, the nbest of them, best first."""

    def __init__(self, limit: int, alpha: float, nbest: int) -> None:
        self.limit, self.alpha, self.nbest = limit, alpha, nbest
        self.best: list[Hypothesis] = []

    def add(self, tokens: list[int], log_probability: float) -> None:
        """Rank one more hypothesis; of equal scores the earlier comes first."""
        score = log_probability / length_penalty(len(tokens) - 1, self.alpha)
        self.best.append(Hypothesis(tuple(tokens), score, log_probability))
        self.best = sorted(self.best, key=lambda found: -found.score)[: self.nbest]

    def can_change(self, log_probability: float) -> bool:
        """Whether a live hypothesis of this log-probability might still end among the best.

        Its log-probability can only fall, and the penalty it will be divided by is at most the
        length limit's: their quotient is the best score it could ever reach.
        """
        if len(self.best) < self.nbest:
            return log_probability > -math.inf
        return log_probability / length_penalty(self.limit, self.alpha) > self.best[-1].score


def best_extensions(
    logits: Tensor, totals: Tensor, never: Sequence[int]
) -> tuple[Tensor, Tensor, Tensor]:
    """The best one-token extensions of each sentence's hypotheses, as many as the beam holds.

    They are among the best extensions of each single hypothesis, which are found first.

    Args:
        logits: of the next token, (live, beam, vocab).
        totals: log-probabilities of the hypotheses so far, (live, beam).
        never: tokens that are not generated.

    Returns:
        Parents (which hypothesis is extended), tokens (by what) and the new totals, each
        (live, beam), best first.
    """
    live, beam_size, vocab_size = logits.shape
    precision = torch.promote_types(logits.dtype, torch.float32)  # bfloat16 cannot add up totals
    log_probabilities = logits.log_softmax(dim=-1, dtype=precision)  # (live, beam, vocab)
    log_probabilities[..., list(never)] = -torch.inf
    values, tokens = top_k(log_probabilities.flatten(0, 1), min(beam_size, vocab_size))
    values = values.view(live, beam_size, -1)  # (live, beam, k), each hypothesis's best
    extended = totals[..., None] + values  # (live, beam, k)
    best_totals, best = extended.flatten(1).topk(beam_size)  # (live, beam)
    return best // values.shape[-1], tokens.view(live, -1).gather(1, best), best_totals


def top_k(x: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of each row of x (rows, n) and their columns, each (rows, k), largest first.

    Equal to x.topk(k) and faster on long rows, on a CPU about twice for a vocabulary of 10,000 and
    a beam of 4 (benchmarks/README.md): the k largest lie in the k blocks of columns with the
    largest maxima (or in the few columns left over), and maxima are cheap.
    """
    n = x.shape[1]
    whole = n - n % BLOCK
    if whole <= 4 * k * BLOCK:
        values, columns = x.topk(k)
        return values, columns
    maxima = x[:, :whole].view(len(x), -1, BLOCK).amax(dim=-1)  # (rows, whole / BLOCK)
    blocks = maxima.topk(k).indices  # (rows, k)
    inside = blocks[..., None] * BLOCK + torch.arange(BLOCK, device=x.device)
    left_over = torch.arange(whole, n, device=x.device).expand(len(x), -1)
    columns = torch.cat([inside.flatten(1), left_over], dim=1)  # (rows, k * BLOCK + n % BLOCK)
    values, best = x.gather(1, columns).topk(k)
    return values, columns.gather(1, best)


def length_limits(src: Tensor, pad_id: int, max_extra: int) -> list[int]:
    """How many tokens each sentence may get: source length + max_extra (section 6.1)."""
    limits: list[int] = ((src != pad_id).sum(dim=1) + max_extra).tolist()
    return limits


def incremental_decoder(
    model: Transformer, src: Tensor, beam_size: int, use_cache: bool
) -> IncrementalDecoder:
    """A decoder for these sources: with a key-value cache, or recomputing every prefix."""
    return (CachedDecoder if use_cache else PrefixDecoder)(model, src, beam_size)
