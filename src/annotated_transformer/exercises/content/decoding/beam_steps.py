"""Beam search in steps that can be replaced one at a time.

A named mistake of `decoding.beam_search` sits in one of them, so it states only what it does
differently and leaves the rest right. Plain Python throughout: a mistake is run many times.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from annotated_transformer.exercises.exercise import Candidate


@dataclass(frozen=True)
class Setting:
    """The arguments of one search."""

    beam_size: int
    max_len: int
    alpha: float
    bos: int
    eos: int


@dataclass(frozen=True)
class Found:
    """A hypothesis: its tokens, bos first; their total log-probability, and the last one's."""

    tokens: tuple[int, ...]
    total: float
    last: float = 0.0
    parent: int = 0  # which of the live hypotheses it extends
    vocab_size: int = 0
    ended: bool = False  # a finished one that a mistake leaves in the beam

    @property
    def generated(self) -> int:
        return len(self.tokens) - 1


Beam = list[Found]
Kept = tuple[Beam, Beam]  # live, pool


def one_beginning(s: Setting) -> Beam:
    return [Found((s.bos,), 0.0)]


def whole_prefix(tokens: tuple[int, ...]) -> tuple[int, ...]:
    return tokens


def added(total: float, log_prob: float) -> float:
    return total + log_prob


def by_total(found: Found) -> float:
    return found.total


def best_of_all(extensions: Beam, pool: Beam, s: Setting) -> Beam:
    return sorted(extensions, key=by_total, reverse=True)[: s.beam_size]


def as_extended(kept: Beam, live: Beam) -> Beam:
    return kept


def eos_leaves(kept: Beam, pool: Beam, s: Setting) -> Kept:
    live = [found for found in kept if found.tokens[-1] != s.eos]
    return live, pool + [found for found in kept if found.tokens[-1] == s.eos]


def goes_on(kept: Beam, live: Beam, pool: Beam, s: Setting) -> bool:
    return False


def all_join(live: Beam, pool: Beam, s: Setting) -> Beam:
    return pool + live


def penalised(found: Found, s: Setting) -> float:
    return found.total / ((5 + found.generated) / 6) ** s.alpha


def best_of_pool(pool: Beam, s: Setting, score: Callable[[Found, Setting], float]) -> Found:
    return max(pool, key=lambda found: score(found, s))


def as_list(found: Found, s: Setting) -> Any:
    return list(found.tokens)


@dataclass(frozen=True)
class Steps:
    """A beam search; the defaults are the right one.

    start: the first beam. see: what of a prefix the model is shown. total: of the parent's total
    and the token's log-probability. keep: which extensions. link: their prefixes, given the old
    beam. retire: who is live, who is in the pool. stop: whether to end early. join: the pool at the
    end. score: of a hypothesis in the pool. choose: one of the pool. present: what is returned.
    """

    start: Callable[[Setting], Beam] = one_beginning
    see: Callable[[tuple[int, ...]], Sequence[int]] = whole_prefix
    total: Callable[[float, float], float] = added
    keep: Callable[[Beam, Beam, Setting], Beam] = best_of_all
    link: Callable[[Beam, Beam], Beam] = as_extended
    retire: Callable[[Beam, Beam, Setting], Kept] = eos_leaves
    stop: Callable[[Beam, Beam, Beam, Setting], bool] = goes_on
    join: Callable[[Beam, Beam, Setting], Beam] = all_join
    score: Callable[[Found, Setting], float] = penalised
    choose: Callable[[Beam, Setting, Callable[[Found, Setting], float]], Found] = best_of_pool
    present: Callable[[Found, Setting], Any] = as_list
    given: Callable[[Setting], Setting] = lambda s: s
    empty_beam_goes_on: bool = False


def search_of(**steps: Any) -> Candidate:
    """The search with some steps replaced, with the signature of the exercise."""
    return _search(Steps(**steps))


def _search(steps: Steps) -> Candidate:
    def implementation(
        next_log_probs: Candidate,
        beam_size: int,
        max_len: int,
        alpha: float = 0.6,
        bos: int = 1,
        eos: int = 2,
    ) -> Any:
        s = steps.given(Setting(beam_size, max_len, alpha, bos, eos))
        live = steps.start(s)
        pool: Beam = []
        for _ in range(s.max_len):
            extensions = _extensions(steps, next_log_probs, live)
            kept = steps.link(steps.keep(extensions, pool, s), live)
            live, pool = steps.retire(kept, pool, s)
            nobody = all(found.ended for found in live) and not steps.empty_beam_goes_on
            if nobody or steps.stop(kept, live, pool, s):
                break
        pool = steps.join(live, pool, s)
        return steps.present(steps.choose(pool, s, steps.score), s)

    return implementation


def _extensions(steps: Steps, next_log_probs: Candidate, live: Beam) -> Beam:
    growing = [list(steps.see(found.tokens)) for found in live if not found.ended]
    rows = iter(next_log_probs(torch.tensor(growing)).tolist())
    extensions = []
    for parent, found in enumerate(live):
        if found.ended:
            extensions.append(found)
            continue
        row = next(rows)
        for token, log_prob in enumerate(row):
            tokens, total = (*found.tokens, token), steps.total(found.total, log_prob)
            extensions.append(Found(tokens, total, log_prob, parent, len(row)))
    return extensions
