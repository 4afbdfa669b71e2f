"""Mistakes of beam search on its way: what is kept, who leaves the beam, when it stops."""

import math
from collections.abc import Callable
from dataclasses import replace

from annotated_transformer.exercises.content.decoding.beam_steps import (
    Beam,
    Found,
    Kept,
    Setting,
    best_of_all,
    by_total,
    eos_leaves,
    penalised,
    search_of,
)
from annotated_transformer.exercises.exercise import Mistake

_PER_PARENT = (
    "The best extensions are chosen for each hypothesis by itself. The beam_size places are given "
    "out over *all* extensions together: two of them may come from one parent and none from "
    "another. Flatten the (k, V) totals before `topk`."
)
_GREEDY = (
    "Only one hypothesis is really followed, so this is greedy search and nothing that starts less "
    "probable can win. Either one extension is kept instead of beam_size, or the beam starts as "
    "beam_size copies of [bos], which stay copies of each other: start with one hypothesis, or "
    "with -inf as the total of the other places."
)
_SIZE = (
    "The number of hypotheses that are kept is not `beam_size`. Every step keeps exactly the "
    "beam_size best extensions, eos or not, whatever happened before."
)
_SHRINKS = (
    "The beam gets narrower by one place with every hypothesis that finishes. Finished ones go to "
    "the pool and give their place up: the next step again keeps beam_size extensions."
)
_OCCUPY = (
    "Finished hypotheses stay in the beam and take places that live ones should have. Those "
    "ending in eos leave the beam for a pool of their own, and the next step keeps the beam_size "
    "best extensions of the live ones alone."
)
_FREE = (
    "An extension that ends in eos does not use up one of the beam_size places here, so more "
    "live hypotheses go on than should, as some libraries do by looking at the best 2 · beam_size. "
    "Here the beam_size best extensions are kept, eos or not; those with eos then leave."
)
_GROWS_ON = (
    "A hypothesis that has ended in eos is put into the pool but is extended as well, with tokens "
    "after its eos. It leaves the beam: what follows eos is no sentence."
)
_EARLY = (
    "The search stops too early, while hypotheses are still live. A longer one can overtake: stop "
    "only when none is live, or after max_len new tokens."
)
_FIRST = (
    "The search ends with the first hypothesis that finishes. It is often a short and poor one; "
    "those still live could end with a better score. Go on until none is live or max_len tokens "
    "are generated, and compare the whole pool then."
)
_PARENT = (
    "The new tokens are put behind the wrong prefixes: which hypothesis an extension comes from "
    "is lost. After `topk` over the flattened (k, V), the parent is index // V and the token "
    "index % V; take the prefixes in the parents' order, then append the tokens."
)
_NOT_ADDED = (
    "Log-probabilities are not added up along a hypothesis: extensions are ranked by their last "
    "token alone. The total of an extension is its parent's total plus the new log-probability."
)
_PROBABILITIES = (
    "The totals are made from probabilities instead of log-probabilities. The callable already "
    "returns logarithms: add them, without `exp`, `softmax` or another `log`."
)
_MAX_LEN = (
    "The limit on the length is off: max_len counts the generated tokens, so the longest result "
    "has bos and max_len tokens behind it, eos among them."
)
_COMPOUNDED = (
    "The penalised score is carried on as the total of the next step, so the penalty is applied "
    "again and again. Totals are plain sums of log-probabilities; the penalty comes in once, when "
    "the pool is ranked."
)
_IDS = (
    "A token id is fixed in the code. `bos` and `eos` are arguments; 1 and 2 are only their "
    "defaults."
)


def _best_of_each(extensions: Beam, pool: Beam, s: Setting) -> Beam:
    """One child a parent; the first step fills the beam."""
    if extensions[-1].parent == 0:
        return best_of_all(extensions, pool, s)
    parents = sorted({found.parent for found in extensions})
    return [max((f for f in extensions if f.parent == p), key=by_total) for p in parents]


def _all_of_each(extensions: Beam, pool: Beam, s: Setting) -> Beam:
    parents = sorted({found.parent for found in extensions})
    families = [[f for f in extensions if f.parent == parent] for parent in parents]
    kept = [found for family in families for found in best_of_all(family, pool, s)]
    return sorted(kept, key=by_total, reverse=True)[:300]


def _keeping(size: Callable[[Beam, Setting], int]) -> Callable[[Beam, Beam, Setting], Beam]:
    def keep(extensions: Beam, pool: Beam, s: Setting) -> Beam:
        return sorted(extensions, key=by_total, reverse=True)[: size(pool, s)]

    return keep


def _ranked_by(
    key: Callable[[Found, Setting], float],
) -> Callable[[Beam, Beam, Setting], Beam]:
    def keep(extensions: Beam, pool: Beam, s: Setting) -> Beam:
        return sorted(extensions, key=lambda found: key(found, s), reverse=True)[: s.beam_size]

    return keep


def _of_twice_as_many(extensions: Beam, pool: Beam, s: Setting) -> Beam:
    ranked = sorted(extensions, key=by_total, reverse=True)[: 2 * s.beam_size]
    live = [found for found in ranked if found.tokens[-1] != s.eos][: s.beam_size]
    return live + [found for found in ranked if found.tokens[-1] == s.eos]


def _ended_only_among_the_best(extensions: Beam, pool: Beam, s: Setting) -> Beam:
    ranked = sorted(extensions, key=by_total, reverse=True)
    live = [found for found in ranked if found.tokens[-1] != s.eos][: s.beam_size]
    return live + [found for found in ranked[: s.beam_size] if found.tokens[-1] == s.eos]


def _only_the_best_parent(extensions: Beam, pool: Beam, s: Setting) -> Beam:
    return best_of_all([found for found in extensions if found.parent == 0], pool, s)


def _eos_unpaid(kept: Beam, pool: Beam, s: Setting) -> Kept:
    """The pool gets the totals from before eos."""
    live, pool = eos_leaves(kept, pool, s)
    return live, [
        replace(found, total=found.total - found.last, last=0.0)
        if found.tokens[-1] == s.eos
        else found
        for found in pool
    ]


def _parents_and_tokens_exchanged(kept: Beam, live: Beam) -> Beam:
    """parent = index % k and token = index // k, where k is the number of live hypotheses."""
    exchanged = []
    for found in kept:
        index = found.parent * found.vocab_size + found.tokens[-1]
        prefix = live[index % len(live)].tokens
        exchanged.append(replace(found, tokens=(*prefix, index // len(live))))
    return exchanged


def _exchanged_in_a_full_beam(kept: Beam, live: Beam) -> Beam:
    """The same with k = beam_size: places of the beam that are empty repeat the others."""
    k, exchanged = len(kept), []
    for found in kept:
        index = found.parent * found.vocab_size + found.tokens[-1]
        prefix = live[index % k % len(live)].tokens
        exchanged.append(replace(found, tokens=(*prefix, index // k)))
    return exchanged


def _stay(kept: Beam, pool: Beam, s: Setting) -> Kept:
    return [replace(found, ended=found.tokens[-1] == s.eos) for found in kept], pool


def _stay_and_join(kept: Beam, pool: Beam, s: Setting) -> Kept:
    live, _ = _stay(kept, pool, s)
    return live, pool + [found for found in live if found.ended and found not in pool]


def _go_on_growing(kept: Beam, pool: Beam, s: Setting) -> Kept:
    return kept, pool + [found for found in kept if found.tokens[-1] == s.eos]


def _only_the_latest(kept: Beam, pool: Beam, s: Setting) -> Kept:
    ended = [found for found in kept if found.tokens[-1] == s.eos]
    return [found for found in kept if found.tokens[-1] != s.eos], ended or pool


def _rows_left_in_place(kept: Beam, live: Beam) -> Beam:
    """The i-th token is put behind the i-th prefix of the old beam."""
    return [
        replace(found, tokens=(*live[place % len(live)].tokens, found.tokens[-1]))
        for place, found in enumerate(kept)
    ]


def _first_prefix_for_all(kept: Beam, live: Beam) -> Beam:
    return [replace(found, tokens=(*live[0].tokens, found.tokens[-1])) for found in kept]


def _totals_left_in_place(kept: Beam, live: Beam) -> Beam:
    return [
        replace(found, total=live[place % len(live)].total + found.last)
        for place, found in enumerate(kept)
    ]


def _pool_beats_live(kept: Beam, live: Beam, pool: Beam, s: Setting) -> bool:
    best = max((penalised(found, s) for found in pool), default=-math.inf)
    return best >= max(penalised(found, s) for found in live)


def _pool_beats_totals(kept: Beam, live: Beam, pool: Beam, s: Setting) -> bool:
    best = max((found.total for found in pool), default=-math.inf)
    return best >= max(found.total for found in live)


def _score_beats_totals(kept: Beam, live: Beam, pool: Beam, s: Setting) -> bool:
    best = max((penalised(found, s) for found in pool), default=-math.inf)
    return best >= max(found.total for found in live)


def _first_of_pool(pool: Beam, s: Setting, score: object) -> Found:
    return pool[0]


def _compounded(extensions: Beam, pool: Beam, s: Setting) -> Beam:
    """The penalised score is carried on as the total."""
    kept = best_of_all(extensions, pool, s)
    return [replace(found, total=penalised(found, s)) for found in kept]


def _given(**changes: object) -> Callable[[Setting], Setting]:
    return lambda s: replace(s, **changes)  # type: ignore[arg-type]


GROWTH_MISTAKES = (
    Mistake("best-of-each-parent", search_of(keep=_best_of_each), _PER_PARENT),
    Mistake("all-families-kept", search_of(keep=_all_of_each), _PER_PARENT),
    Mistake("only-the-best-parent", search_of(keep=_only_the_best_parent), _PER_PARENT),
    Mistake("greedy", search_of(keep=_keeping(lambda pool, s: 1)), _GREEDY),
    Mistake("beam-of-four", search_of(keep=_keeping(lambda pool, s: 4)), _SIZE),
    Mistake("one-place-more", search_of(keep=_keeping(lambda pool, s: s.beam_size + 1)), _SIZE),
    Mistake("twice-the-places", search_of(keep=_keeping(lambda pool, s: 2 * s.beam_size)), _SIZE),
    Mistake(
        "beam-shrinks",
        search_of(
            keep=_keeping(lambda pool, s: s.beam_size - len(pool)),
            stop=lambda kept, live, pool, s: len(pool) >= s.beam_size,
        ),
        _SHRINKS,
    ),
    Mistake(
        "beam-shrinks-and-drops",
        search_of(
            keep=_keeping(lambda pool, s: s.beam_size - len(pool)),
            join=lambda live, pool, s: pool or live,
        ),
        _SHRINKS + " Besides, hypotheses that are live at max_len join the pool, always.",
    ),
    Mistake("finished-stay", search_of(retire=_stay), _OCCUPY),
    Mistake(
        "finished-stay-ranked-by-score",
        search_of(retire=_stay, keep=_ranked_by(penalised)),
        _OCCUPY,
    ),
    Mistake("finished-stay-and-join", search_of(retire=_stay_and_join), _OCCUPY),
    Mistake("of-twice-as-many", search_of(keep=_of_twice_as_many), _FREE),
    Mistake("live-filled-up", search_of(keep=_ended_only_among_the_best), _FREE),
    Mistake("grows-past-eos", search_of(retire=_go_on_growing), _GROWS_ON),
    Mistake(
        "eos-ignored",
        search_of(retire=lambda kept, pool, s: (kept, pool)),
        "eos does not end a hypothesis: the search goes on behind it until max_len. A hypothesis "
        "that ends in eos is finished, leaves the beam and joins the pool.",
    ),
    Mistake(
        "pool-overwritten",
        search_of(retire=_only_the_latest),
        "Hypotheses that finish replace those that finished before. The pool collects them over "
        "all steps; only at the end is the best of it chosen.",
    ),
    Mistake(
        "first-finished",
        search_of(stop=lambda kept, live, pool, s: bool(pool), choose=_first_of_pool),
        _FIRST,
    ),
    Mistake(
        "stops-with-the-first",
        search_of(stop=lambda kept, live, pool, s: bool(pool)),
        _FIRST,
    ),
    Mistake(
        "stops-when-the-best-ends",
        search_of(
            stop=lambda kept, live, pool, s: kept[0].tokens[-1] == s.eos,
            join=lambda live, pool, s: pool or live,
        ),
        _EARLY,
    ),
    Mistake(
        "returns-the-best-that-ends",
        search_of(
            stop=lambda kept, live, pool, s: kept[0].tokens[-1] == s.eos,
        ),
        _EARLY,
    ),
    Mistake(
        "stops-at-beam-size-finished",
        search_of(stop=lambda kept, live, pool, s: len(pool) >= s.beam_size),
        _EARLY,
    ),
    Mistake(
        "only-beam-size-finished-compared",
        search_of(
            stop=lambda kept, live, pool, s: len(pool) >= s.beam_size,
            join=lambda live, pool, s: pool if len(pool) >= s.beam_size else pool + live,
        ),
        _EARLY,
    ),
    Mistake("stops-when-pool-leads", search_of(stop=_pool_beats_live), _EARLY),
    Mistake("stops-when-total-leads", search_of(stop=_pool_beats_totals), _EARLY),
    Mistake("stops-when-score-beats-totals", search_of(stop=_score_beats_totals), _EARLY),
    Mistake("rows-left-in-place", search_of(link=_rows_left_in_place), _PARENT),
    Mistake("parents-and-tokens-exchanged", search_of(link=_parents_and_tokens_exchanged), _PARENT),
    Mistake(
        "parents-and-tokens-exchanged-in-a-full-beam",
        search_of(link=_exchanged_in_a_full_beam),
        _PARENT,
    ),
    Mistake("first-prefix-for-all", search_of(link=_first_prefix_for_all), _PARENT),
    Mistake(
        "totals-left-in-place",
        search_of(link=_totals_left_in_place),
        "The prefixes follow their parents, but the totals do not: the new log-probability is "
        "added to the total of whatever hypothesis stood at that place of the beam. Keep the "
        "totals that `topk` returns; they belong to the chosen extensions.",
    ),
    Mistake(
        "eos-unpaid",
        search_of(retire=_eos_unpaid),
        "The log-probability of eos is left out of the total of a finished hypothesis. Ending is "
        "a choice like any other token, and its log-probability counts.",
    ),
    Mistake("not-added-up", search_of(total=lambda total, log_prob: log_prob), _NOT_ADDED),
    Mistake("ranked-by-last-token", search_of(keep=_ranked_by(lambda f, s: f.last)), _NOT_ADDED),
    Mistake(
        "probabilities-added",
        search_of(total=lambda total, log_prob: total + math.exp(log_prob)),
        _PROBABILITIES,
    ),
    Mistake(
        "multiplied",
        search_of(
            start=lambda s: [Found((s.bos,), 1.0)], total=lambda total, log_prob: total * log_prob
        ),
        "Log-probabilities are multiplied. Probabilities multiply; their logarithms are *added*.",
    ),
    Mistake(
        "empty-beam-goes-on",
        search_of(empty_beam_goes_on=True),
        "When the last live hypothesis has finished, the loop goes on and asks for the next token "
        "of no prefix at all. Leave the loop when no hypothesis is live.",
    ),
    Mistake(
        "penalty-compounded",
        search_of(keep=_compounded, score=lambda found, s: found.total),
        _COMPOUNDED,
    ),
    Mistake("penalty-compounded-and-once-more", search_of(keep=_compounded), _COMPOUNDED),
    Mistake(
        "lowest-kept",
        search_of(keep=_ranked_by(lambda found, s: -found.total)),
        "The least probable extensions are kept. Log-probabilities are negative and the best is "
        "the highest: `topk` with its default, `largest=True`.",
    ),
    Mistake(
        "last-token-shown",
        search_of(see=lambda tokens: tokens[-1:]),
        "The callable is given the last token alone. It takes whole prefixes, (k, t): without a "
        "cache the model has to see all tokens so far, bos included.",
    ),
    Mistake(
        "bos-not-shown",
        search_of(see=lambda tokens: tokens[1:] or tokens),
        "The callable is given prefixes without bos. It takes whole prefixes, (k, t), the way the "
        "decoder was trained: bos first.",
    ),
    Mistake(
        "one-token-less", search_of(given=lambda s: replace(s, max_len=s.max_len - 1)), _MAX_LEN
    ),
    Mistake(
        "one-token-more", search_of(given=lambda s: replace(s, max_len=s.max_len + 1)), _MAX_LEN
    ),
    Mistake("bos-fixed", search_of(given=_given(bos=1)), _IDS),
    Mistake("eos-fixed", search_of(given=_given(eos=2)), _IDS),
    Mistake("bos-and-eos-fixed", search_of(given=_given(bos=1, eos=2)), _IDS),
)
