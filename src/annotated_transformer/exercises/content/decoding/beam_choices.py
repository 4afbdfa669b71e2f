"""Mistakes of beam search in the choice at its end: penalty, length, pool, and what is returned."""

from collections.abc import Callable
from typing import Any

import torch

from annotated_transformer.exercises.content.decoding.beam_steps import (
    Beam,
    Found,
    Setting,
    by_total,
    penalised,
    search_of,
)
from annotated_transformer.exercises.exercise import Mistake

_NO_PENALTY = (
    "The winner is the hypothesis with the highest plain log-probability; no length penalty has "
    "an effect. Every token lowers a total, so the shortest sentence nearly always wins. Divide "
    "the total by ((5 + L) / 6)**alpha before comparing, L the hypothesis's own length."
)
_SIGN = (
    "The length penalty works the wrong way round: the log-probability is multiplied by "
    "((5 + L) / 6)**alpha. Log-probabilities are negative, so long sentences come out worse still "
    "instead of making up for their length. Divide."
)
_MEAN = (
    "The log-probability is divided by L (or a power of L), as many libraries do. The paper takes "
    "the penalty of Wu et al. (2016), ((5 + L) / 6)**alpha, which is gentler with short "
    "sentences: divide by that."
)
_EXPONENT_ONE = (
    "The exponent does not reach 5 + L: `alpha` is left out, or brackets are missing, as in "
    "total / (5 + L) / 6**alpha. The sum is divided by 6 first, and the whole is raised to alpha: "
    "total / ((5 + L) / 6)**alpha."
)
_ALPHA = (
    "`alpha` is not used: the exponent is a number written into the code. The penalty is "
    "((5 + L) / 6)**alpha with the alpha that was given; 0.6 is only its default."
)
_BOS_COUNTED = (
    "bos is counted in L, so every length is one too large. L is the number of *generated* tokens: "
    "eos counts, bos does not, so L = len(tokens) - 1 while bos is in the list."
)
_EOS_UNCOUNTED = (
    "eos is not counted in L, so finished hypotheses are taken for one token shorter than they "
    "are. L is the number of generated tokens: eos was generated and counts, bos was not."
)
_DEFAULTS = (
    "The defaults are not those of the statement: alpha=0.6, bos=1, eos=2. A call that leaves them "
    "out means these."
)
_TWICE = (
    "The length penalty is applied twice, perhaps once when a hypothesis enters the pool and again "
    "at the end. Divide every total once, by ((5 + L) / 6)**alpha."
)
_FORMULA = (
    "The formula of the length penalty is not ((5 + L) / 6)**alpha: look at its brackets and its "
    "numbers. 5 is added to L first, the sum is divided by 6, and the whole is raised to alpha."
)
_FIRST = (
    "The hypothesis that finished first is returned, whatever its score. A short sentence "
    "finishes early and is often not the best: collect all that finish in a pool and compare "
    "their penalised scores at the end."
)
_NOT_JOINED = (
    "After max_len new tokens the hypotheses that are still live are dropped: only finished ones "
    "are compared. The live ones join the pool then, with their own L, and may well win; when "
    "nothing has finished they are all there is."
)
_NO_BOS = (
    "The search is right, but bos is missing at the start of what is returned. The result "
    "includes bos, and eos where the hypothesis finished."
)
_NO_EOS = (
    "The search is right, but the final eos is taken off. The result includes it: [bos, ..., eos] "
    "for a finished hypothesis."
)
_RETURNED = (
    "The tokens are right, but they are not returned as asked: one plain list of ints, such as "
    "[1, 5, 7, 2], without the score, not nested and not as a tensor (`.tolist()`)."
)


def _score(divisor: Callable[[int, Setting], float]) -> Any:
    """The search whose scores are total / divisor(L, setting)."""
    return search_of(score=lambda found, s: found.total / divisor(found.generated, s))


def _length_as(length: Callable[[Found, Setting], int]) -> Any:
    """The search that takes another number for L."""
    return search_of(score=lambda found, s: found.total / ((5 + length(found, s)) / 6) ** s.alpha)


def _has_ended(found: Found, s: Setting) -> bool:
    return found.tokens[-1] == s.eos


def _unjoined(live: Beam, pool: Beam, s: Setting) -> Beam:
    if not pool:
        raise ValueError("max() iterable argument is empty")
    return pool


def _best_by_total(live: Beam, pool: Beam, s: Setting) -> Beam:
    return sorted(pool + live, key=by_total, reverse=True)[: s.beam_size]


def _plain_for_the_unfinished(found: Found, s: Setting) -> float:
    return penalised(found, s) if _has_ended(found, s) else found.total


def _without_eos(found: Found, s: Setting) -> list[int]:
    return [token for token in found.tokens if token != s.eos]


def _with_eos_added(found: Found, s: Setting) -> list[int]:
    return [*found.tokens, *([] if _has_ended(found, s) else [s.eos])]


def _multiplied(found: Found, s: Setting) -> float:
    return found.total * ((5 + found.generated) / 6) ** s.alpha


def _twice_for_the_finished(found: Found, s: Setting) -> float:
    score = penalised(found, s)
    return score / ((5 + found.generated) / 6) ** s.alpha if _has_ended(found, s) else score


def _with_defaults(alpha: float = 0.6, bos: int = 1, eos: int = 2) -> Any:
    """The right search with other defaults."""
    right, usual = search_of(), (alpha, bos, eos)

    def implementation(next_log_probs: Any, beam_size: int, max_len: int, *given: Any) -> Any:
        return right(next_log_probs, beam_size, max_len, *(*given, *usual[len(given) :]))

    return implementation


CHOICE_MISTAKES = (
    Mistake("no-length-penalty", _score(lambda n, s: 1.0), _NO_PENALTY),
    Mistake("penalty-multiplied", search_of(score=_multiplied), _SIGN),
    Mistake("divided-by-length", _score(lambda n, s: n), _MEAN),
    Mistake("divided-by-length-to-alpha", _score(lambda n, s: n**s.alpha), _MEAN),
    Mistake("divided-by-length-with-bos", _score(lambda n, s: n + 1), _MEAN),
    Mistake("divided-by-length-with-bos-to-alpha", _score(lambda n, s: (n + 1) ** s.alpha), _MEAN),
    Mistake("alpha-fixed", _score(lambda n, s: ((5 + n) / 6) ** 0.6), _ALPHA),
    Mistake("alpha-left-out", _score(lambda n, s: (5 + n) / 6), _EXPONENT_ONE),
    Mistake("bos-counted", _length_as(lambda found, s: found.generated + 1), _BOS_COUNTED),
    Mistake(
        "eos-not-counted",
        _length_as(lambda found, s: found.generated - _has_ended(found, s)),
        _EOS_UNCOUNTED,
    ),
    Mistake(
        "eos-neither-counted-nor-returned",
        search_of(
            score=lambda f, s: f.total / ((5 + f.generated - _has_ended(f, s)) / 6) ** s.alpha,
            present=_without_eos,
        ),
        "eos is taken off before the hypotheses are compared: it counts neither in L nor in the "
        "result. It was generated, so L counts it and the result includes it.",
    ),
    Mistake(
        "last-token-not-counted",
        _length_as(lambda found, s: found.generated - 1),
        "L is one too small for every hypothesis. It is the number of generated tokens, eos "
        "included: for tokens that still have bos in front it is len(tokens) - 1.",
    ),
    Mistake(
        "bos-counted-for-eos",
        _length_as(lambda found, s: found.generated + 1 - _has_ended(found, s)),
        "L counts bos and leaves eos out. For finished hypotheses the two mistakes cancel, but "
        "for those cut off at max_len L is one too large. Count the generated tokens: eos yes, "
        "bos no.",
    ),
    Mistake("brackets-missing", _score(lambda n, s: (5 + n / 6) ** s.alpha), _FORMULA),
    Mistake("default-alpha-1", _with_defaults(alpha=1.0), _DEFAULTS),
    Mistake("default-alpha-0", _with_defaults(alpha=0.0), _DEFAULTS),
    Mistake("default-bos-0", _with_defaults(bos=0), _DEFAULTS),
    Mistake("default-eos-3", _with_defaults(eos=3), _DEFAULTS),
    Mistake("default-bos-2-eos-1", _with_defaults(bos=2, eos=1), _DEFAULTS),
    Mistake("default-bos-0-eos-1", _with_defaults(bos=0, eos=1), _DEFAULTS),
    Mistake("penalty-twice", _score(lambda n, s: ((5 + n) / 6) ** (2 * s.alpha)), _TWICE),
    Mistake("penalty-twice-for-the-finished", search_of(score=_twice_for_the_finished), _TWICE),
    Mistake(
        "subtracted",
        search_of(score=lambda f, s: f.total - ((5 + f.generated) / 6) ** s.alpha),
        "The length penalty is subtracted from the log-probability, or the *probability* was "
        "divided by it, which subtracts its logarithm. Either way long sentences lose still more. "
        "The log-probability is what is divided: log-probability / ((5 + L) / 6)**alpha.",
    ),
    Mistake(
        "length-rewarded",
        search_of(score=lambda found, s: found.total + s.alpha * found.generated),
        "alpha is added for every token, a word reward. Asked for is the length penalty: "
        "log-probability / ((5 + L) / 6)**alpha.",
    ),
    Mistake(
        "worst-score",
        search_of(choose=lambda pool, s, score: min(pool, key=lambda found: score(found, s))),
        "The lowest score of the pool wins. Scores are negative log-probabilities divided by a "
        "positive number: the best is the *highest*, the one nearest to 0.",
    ),
    Mistake(
        "longest",
        search_of(choose=lambda pool, s, score: max(pool, key=lambda f: (len(f.tokens), f.total))),
        "The longest hypothesis is returned. The pool is ranked by penalised log-probability; "
        "length alone decides nothing.",
    ),
    Mistake(
        "shortest",
        search_of(choose=lambda pool, s, score: max(pool, key=lambda f: (-len(f.tokens), f.total))),
        _FIRST,
    ),
    Mistake(
        "last-finished",
        search_of(choose=lambda pool, s, score: pool[-1]),
        "The hypothesis that joined the pool last is returned. Compare all of the pool by "
        "log-probability / ((5 + L) / 6)**alpha and return the best.",
    ),
    Mistake(
        "pool-cut-by-totals",
        search_of(join=_best_by_total),
        "Only the beam_size finished hypotheses with the highest plain totals are compared. The "
        "whole pool is, by penalised score: a long one with a low total may be its best.",
    ),
    Mistake("live-ones-dropped", search_of(join=_unjoined), _NOT_JOINED),
    Mistake(
        "live-ones-only-without-finished",
        search_of(join=lambda live, pool, s: pool or live),
        "The live hypotheses join the pool only when nothing has finished. At max_len they "
        "always join: one that was cut off can have a better score than all that ended in eos.",
    ),
    Mistake(
        "live-ones-alone",
        search_of(join=lambda live, pool, s: live or pool),
        "When hypotheses are still live at the end, only they are compared: what had finished "
        "before is forgotten. The live ones *join* the pool; all of it is ranked.",
    ),
    Mistake(
        "live-ones-not-penalised",
        search_of(score=_plain_for_the_unfinished),
        "The length penalty is applied to hypotheses that ended in eos, but not to those cut off "
        "at max_len. Both kinds are compared with each other, so both need it.",
    ),
    Mistake("bos-dropped", search_of(present=lambda found, s: list(found.tokens[1:])), _NO_BOS),
    Mistake("eos-dropped", search_of(present=_without_eos), _NO_EOS),
    Mistake(
        "bos-and-eos-dropped",
        search_of(present=lambda found, s: _without_eos(found, s)[1:]),
        "The search is right, but bos and eos are taken off what is returned. The result includes "
        "both (eos where the hypothesis finished).",
    ),
    Mistake(
        "last-token-dropped",
        search_of(present=lambda found, s: list(found.tokens[:-1])),
        "The last token is always taken off. It belongs to the result: eos where the hypothesis "
        "finished, an ordinary token where it was cut off at max_len.",
    ),
    Mistake(
        "eos-added",
        search_of(present=_with_eos_added),
        "eos is appended to a hypothesis that was cut off at max_len. It never generated eos: the "
        "result has the tokens that were generated, no more.",
    ),
    Mistake(
        "tensor-returned",
        search_of(present=lambda found, s: torch.tensor(found.tokens)),
        _RETURNED,
    ),
    Mistake(
        "batch-of-one-returned",
        search_of(present=lambda found, s: torch.tensor([found.tokens])),
        _RETURNED,
    ),
    Mistake("nested-list", search_of(present=lambda found, s: [list(found.tokens)]), _RETURNED),
    Mistake(
        "score-returned-too",
        search_of(present=lambda found, s: (list(found.tokens), penalised(found, s))),
        _RETURNED,
    ),
    Mistake(
        "total-returned-too",
        search_of(present=lambda found, s: (list(found.tokens), found.total)),
        _RETURNED,
    ),
    Mistake(
        "score-first",
        search_of(present=lambda found, s: (penalised(found, s), list(found.tokens))),
        _RETURNED,
    ),
)
