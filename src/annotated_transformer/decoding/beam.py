"""Beam search (section 6.1) over anything that gives logits of the next token.

Nothing here knows of a model: `decoding.beam_search` gives it one, tests give it tables.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Protocol

import torch
from torch import Tensor

from annotated_transformer.config import HIGHEST_ALPHA
from annotated_transformer.decoding.beam_steps import Watch, steps_of
from annotated_transformer.fast.top_k import top_k

# Rows of log-probabilities at a time: so few stay in the processor's cache until they are read.
ROWS = 64
FREE = -1  # stands for "any token" where a translation need not begin with a certain one


class IncrementalDecoder(Protocol):
    """What a search needs: logits of the next token, and to follow it as it re-ranks."""

    def next_logits(self, prefixes: Tensor) -> Tensor:
        """prefixes: (live, beam, length) tokens, bos first. Returns (live, beam, vocab)."""
        ...

    def select(self, sentences: Tensor, parents: Tensor) -> None:
        """Keep these sentences (kept,), in their order; places follow their parents (kept, beam).

        The numbers of the sentences rise, so that as many as there are means all of them.
        """
        ...


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
    forced: Tensor | None = None,
    watch: Watch | None = None,
    device: torch.device | str = "cpu",
) -> list[list[Hypothesis]]:
    """Beam search over anything that gives next-token logits, a batch of sentences at a time.

    Each step keeps the beam_size best one-token extensions of the live hypotheses by their total
    log-probability. Those that end in eos leave the beam for the sentence's pool, as do all at
    the length limit. A sentence is done when none of its live hypotheses can still reach the
    pool's nbest; the result is the same as if they had been followed to the limit. One whose logits
    are no numbers at some step has no hypothesis at all.

    In shapes, live is how many sentences are still being searched.

    Args:
        decoder: gives the logits, and follows the search as it re-ranks.
        limits: how many tokens each sentence may get.
        beam_size: how many beginnings of each sentence are kept.
        alpha: of the length penalty.
        nbest: how many hypotheses of each sentence are wanted.
        bos_id: with which every hypothesis begins.
        eos_id: with which it ends.
        never: tokens that are not generated.
        forced: (batch, n_prefix), what each sentence must begin with; FREE where it need not.
        watch: is told each step of the search of each sentence (`beam_steps.SearchStep`).
        device: where the decoder's logits are.

    Returns:
        For each sentence its nbest hypotheses, best first; fewer if the search met fewer.

    Raises:
        ValueError: if beam_size or nbest is below 1, or alpha not from 0 to 100.
    """
    if len(limits) == 0:
        return []
    if beam_size < 1 or nbest < 1 or not 0 <= alpha <= HIGHEST_ALPHA:  # nor nan
        raise ValueError(
            f"beam_size {beam_size}, nbest {nbest} and alpha {alpha} were given; the first two "
            f"must be at least 1 and alpha from 0 to {HIGHEST_ALPHA}."
        )
    pools = [Pool(limit, alpha, nbest) for limit in limits]
    searching = list(range(len(limits)))  # the sentences that are still being searched
    # A beam begins with one hypothesis, bos, and is full as soon as there are enough extensions.
    prefixes = torch.full((len(limits), 1, 1), bos_id, device=device)  # (live, beam, length)
    totals = torch.zeros(len(limits), 1, device=device)  # (live, beam); an empty place has -inf
    for length in count(1):
        logits = decoder.next_logits(prefixes)  # (live, beam, vocab)
        must_be = (
            None if forced is None or length > forced.shape[1] else forced[searching, length - 1]
        )
        candidates, extended = extensions(logits, totals, beam_size, never, must_be)
        of_sentence = extended.flatten(1)  # (live, beam * k)
        totals, best = of_sentence.topk(min(beam_size, of_sentence.shape[1]))  # (live, beam)
        parents = best // candidates.shape[-1]  # (live, beam)
        tokens = candidates.flatten(1).gather(1, best)  # (live, beam)
        past = prefixes.gather(1, parents[..., None].expand(-1, -1, length))
        lengthened = torch.cat([past, tokens[..., None]], dim=-1)  # (live, beam, 1 + length)

        at_limit = torch.tensor(
            [length >= limits[sentence] for sentence in searching], device=device
        )
        ended = (tokens == eos_id) | at_limit[:, None]  # (live, beam)
        ended &= totals > -math.inf
        for row, place in ended.nonzero().tolist():
            pools[searching[row]].add(lengthened[row, place].tolist(), float(totals[row, place]))
        totals = totals.masked_fill(ended, -math.inf)

        best_live = totals.amax(dim=-1).tolist()  # (live,)
        for row, total in enumerate(best_live):
            if math.isnan(total):  # the model has stopped giving numbers: what it gave is no result
                pools[searching[row]].best.clear()
        goes_on = [
            row for row in range(len(searching)) if pools[searching[row]].can_change(best_live[row])
        ]
        if watch is not None:
            steps = steps_of(
                searching,
                prefixes=prefixes,
                candidates=candidates,
                extended=extended,
                best=best,
                ended=ended,
                goes_on=goes_on,
                penalty=length_penalty(length, alpha),
            )
            for step in steps:
                watch(step)
        if not goes_on:
            break
        searching = [searching[row] for row in goes_on]
        rows = torch.tensor(goes_on, device=device)
        prefixes, totals = lengthened[rows], totals[rows]
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


def extensions(
    logits: Tensor,
    totals: Tensor,
    beam_size: int,
    never: Sequence[int],
    must_be: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The best one-token extensions of each hypothesis: as many as a full beam holds, k.

    The best extensions of a sentence are among them.

    Args:
        logits: of the next token, (live, beam, vocab).
        totals: log-probabilities of the hypotheses so far, (live, beam).
        beam_size: of a full beam; k is smaller only where the vocabulary is.
        never: tokens that are not generated.
        must_be: (live,), the token that a sentence must go on with, or FREE.

    Returns:
        The tokens, best first, and the log-probabilities with them, each (live, beam, k).
    """
    live, beam, vocab_size = logits.shape
    k = min(beam_size, vocab_size)
    logits = logits.flatten(0, 1)  # (live * beam, vocab)
    precision = torch.promote_types(logits.dtype, torch.float32)  # bfloat16 cannot add up totals
    forced = None if must_be is None else must_be.repeat_interleave(beam)[:, None]
    at_once = ROWS if logits.device.type == "cpu" else len(logits)
    values, tokens = [], []
    for start in range(0, len(logits), at_once):
        log_probabilities = logits[start : start + at_once].log_softmax(dim=-1, dtype=precision)
        log_probabilities[:, list(never)] = -torch.inf  # (rows, vocab)
        if forced is not None:
            wanted = forced[start : start + at_once]  # (rows, 1)
            another = torch.arange(vocab_size, device=logits.device) != wanted  # (rows, vocab)
            log_probabilities.masked_fill_(another & (wanted != FREE), -torch.inf)
        best = top_k(log_probabilities, k)
        values.append(best[0])  # (rows, k)
        tokens.append(best[1])  # (rows, k)
    reached = totals[..., None] + torch.cat(values).view(live, beam, k)
    return torch.cat(tokens).view_as(reached), reached
