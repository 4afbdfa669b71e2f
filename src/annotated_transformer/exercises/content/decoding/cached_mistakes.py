"""Mistakes of `decoding.cached_step` in attention itself: what is seen, scored and projected."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.decoding.cached_steps import (
    Cache,
    Projections,
    Seen,
    position,
    projected,
    scaled,
    step_of,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

Matrices = Callable[[Tensor, Tensor, Tensor], Projections]  # from w_q, w_k, w_v to those used

OWN_KEY = (
    "The new token does not attend to itself: the scores are taken over the cached keys alone. "
    "Append its key and value first, and attend to all t + 1."
)

OWN_ONLY = (
    "The new token attends to itself alone, the cache is not used. Put the cached keys and values "
    "in front of the new ones, `torch.cat([cached, new], dim=1)`, and attend to all of them."
)

CAUSAL = (
    "A causal mask of shape (1, t + 1) is applied, which leaves the new token only the first key. "
    "It is the last token and may attend to all that are cached and to itself: no mask is needed. "
    "(torch's `is_causal=True` counts from the top left corner, too.)"
)

NOT_RETURNED = (
    "The cache that is returned lacks the new token. The next step needs its key and value as "
    "well: return the appended tensors, (B, t + 1, d)."
)

NEW_ONLY = (
    "The cache that is returned holds the new token alone; all earlier ones are lost. Return the "
    "appended tensors, (B, t + 1, d)."
)

EXCHANGED = (
    "Keys and values are exchanged in the cache, on the way in or out. The cache is the pair "
    "(keys, values)."
)

VALUES = (
    "The output is not mixed from the values: the weights belong to them, and the keys only make "
    "the scores."
)

SCALE = (
    "The scores are not divided by sqrt(d). There is a single head, so d_k = d; without the "
    "scale the weights are too sharp."
)

_WRONG_SCALE = (
    "The scores are {}. They are divided by sqrt(d), the root of the width (there is a single "
    "head, so d_k = d): `/ math.sqrt(q.size(-1))`."
)

BY_D = _WRONG_SCALE.format("divided by d itself, which makes the weights too even")

AXIS_OF_SOFTMAX = (
    "The softmax runs over the wrong axis. The scores are (B, 1, t + 1), one row for the new "
    "token: its weights sum to 1 over the last axis, the keys."
)

_NO_SOFTMAX = (
    "The softmax is missing: scores are used as weights. The weights of the t + 1 keys are "
    "positive and sum to 1."
)

_OVERFLOW = (
    "The exponentials overflow for large scores. Use `torch.softmax`, or subtract the largest "
    "score before `exp`."
)

TRANSPOSED = (
    "A weight matrix is used transposed, as `torch.nn.Linear` stores it. Here weights are used "
    "as `x @ w`."
)

_PROJECTION = (
    "The projections are mixed up: {}. The query comes from w_q, the key from w_k and the value "
    "from w_v, all of `x + pe[t]`."
)

_RESIDUAL = (
    "Something is added to the output, or it is processed further. Asked for is plain attention: "
    "the weighted mean of the values."
)

_WEIGHTS = (
    "The attention weights are returned in place of the output. The output mixes the values by "
    "them: `weights @ values`, (B, 1, d)."
)


def _with_matrices(choose: Matrices) -> Candidate:
    return step_of(project=lambda x, at, w: projected(x, at, choose(*w)))


_TURNED: tuple[tuple[str, Matrices], ...] = (
    ("transposed-weights", lambda q, k, v: (q.T, k.T, v.T)),
    ("transposed-query-weights", lambda q, k, v: (q.T, k, v)),
    ("transposed-key-weights", lambda q, k, v: (q, k.T, v)),
    ("transposed-value-weights", lambda q, k, v: (q, k, v.T)),
)
_MIXED_UP: tuple[tuple[str, Matrices, str], ...] = (
    ("keys-for-values", lambda q, k, v: (q, k, k), "the value is made with w_k"),
    ("queries-for-keys", lambda q, k, v: (q, q, v), "the key is made with w_q"),
    ("keys-for-queries", lambda q, k, v: (k, k, v), "the query is made with w_k"),
    ("keys-and-values-exchanged", lambda q, k, v: (q, v, k), "w_k and w_v are exchanged"),
    ("queries-and-keys-exchanged", lambda q, k, v: (k, q, v), "w_q and w_k are exchanged"),
)


def own_key_missing(every: Seen, new: Seen, cache: Cache) -> Seen:
    return every if cache is None else cache


def _own_key_always_missing(every: Seen, new: Seen, cache: Cache) -> Seen:
    return every[0][:, :-1], every[1][:, :-1]


def first_key_only(every: Seen, new: Seen, cache: Cache) -> Seen:
    return every[0][:, :1], every[1][:, :1]


_INPUTS = (
    "The cache that is returned holds the inputs, not what was made of them. Keep the projected "
    "key and value, (x + position) @ w_k and @ w_v, or every step has to project all of them again."
)


def _inputs_cached(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> Any:
    """The inputs are kept, position and all, and projected anew at each step."""
    placed = x + position(x, pe, cache)
    inputs = placed if cache is None else torch.cat([cache[0], placed], dim=1)  # (B, t + 1, d)
    weights = scaled(placed @ w_q, inputs @ w_k).softmax(-1)
    return weights @ (inputs @ w_v), (inputs, inputs)


def _without_the_first(every: Seen, new: Seen, cache: Cache) -> Seen:
    return every if cache is None else (every[0][:, 1:], every[1][:, 1:])


def _unstable(scores: Tensor) -> Tensor:
    e = scores.exp()
    return e / e.sum(-1, keepdim=True)


def _last_entry_overwritten(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> Any:
    """The new key and value are written over the last cached ones."""
    if cache is None:
        return step_of()(x, pe, w_q, w_k, w_v, cache)
    q, k, v = projected(x, position(x, pe, cache), (w_q, w_k, w_v))
    with torch.no_grad():
        cache[0][:, -1:], cache[1][:, -1:] = k, v
    return scaled(q, cache[0]).softmax(-1) @ cache[1], cache


def _token_added(x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache) -> Any:
    output, filled = step_of()(x, pe, w_q, w_k, w_v, cache)
    return output + x + position(x, pe, cache), filled


def unscaled(q: Tensor, keys: Tensor) -> Tensor:
    return q @ keys.mT


STEP_MISTAKES = (
    Mistake("own-key-missing", step_of(see=own_key_missing), OWN_KEY),
    Mistake("own-key-always-missing", step_of(see=_own_key_always_missing), OWN_KEY),
    Mistake("own-key-only", step_of(see=lambda every, new, cache: new), OWN_ONLY),
    Mistake(
        "cache-ignored",
        step_of(append=lambda cached, new: new),
        OWN_ONLY + " And return them, so that the next step finds them.",
    ),
    Mistake("cache-forgotten", step_of(unpack=lambda cache: None), OWN_ONLY),
    Mistake("first-key-only", step_of(see=first_key_only), CAUSAL),
    Mistake(
        "newest-two-only",
        step_of(see=lambda every, new, cache: (every[0][:, -2:], every[1][:, -2:])),
        "Only the newest tokens are attended to. The new token attends to itself and to *all* "
        "cached ones.",
    ),
    Mistake(
        "first-token-missing",
        step_of(see=_without_the_first),
        "The first cached token is left out. The new token attends to itself and to *all* cached "
        "ones.",
    ),
    Mistake(
        "old-cache-returned",
        step_of(present=lambda out, every, new, cache: (out, every if cache is None else cache)),
        NOT_RETURNED,
    ),
    Mistake(
        "given-cache-returned",
        step_of(present=lambda out, every, new, cache: (out, cache)),
        NOT_RETURNED,
    ),
    Mistake(
        "new-ones-returned",
        step_of(present=lambda out, every, new, cache: (out, new)),
        NEW_ONLY,
    ),
    Mistake(
        "exchanged-on-return",
        step_of(present=lambda out, every, new, cache: (out, every[::-1])),
        EXCHANGED,
    ),
    Mistake(
        "exchanged-on-arrival",
        step_of(unpack=lambda cache: None if cache is None else cache[::-1]),
        EXCHANGED,
    ),
    Mistake("inputs-cached", _inputs_cached, _INPUTS),
    Mistake("keys-mixed", step_of(mix=lambda weights, keys, values, x: weights @ keys), VALUES),
    Mistake(
        "keys-cached-twice",
        step_of(present=lambda out, every, new, cache: (out, (every[0], every[0]))),
        EXCHANGED,
    ),
    Mistake("unscaled", step_of(score=unscaled), SCALE),
    Mistake("scaled-by-d", step_of(score=lambda q, keys: q @ keys.mT / q.size(-1)), BY_D),
    Mistake(
        "scaled-by-length",
        step_of(score=lambda q, keys: q @ keys.mT / keys.size(1) ** 0.5),
        _WRONG_SCALE.format("divided by the root of the number of keys"),
    ),
    Mistake(
        "scale-multiplied",
        step_of(score=lambda q, keys: q @ keys.mT * keys.size(-1) ** 0.5),
        _WRONG_SCALE.format("multiplied by sqrt(d)"),
    ),
    Mistake("softmax-over-queries", step_of(weigh=lambda s: s.softmax(1)), AXIS_OF_SOFTMAX),
    Mistake("softmax-over-batch", step_of(weigh=lambda s: s.softmax(0)), AXIS_OF_SOFTMAX),
    Mistake("no-softmax", step_of(weigh=lambda scores: scores), _NO_SOFTMAX),
    Mistake(
        "weights-equal",
        step_of(weigh=lambda scores: torch.zeros_like(scores).softmax(-1)),
        _NO_SOFTMAX,
    ),
    Mistake("softmax-overflows", step_of(weigh=_unstable), _OVERFLOW),
    *(Mistake(name, _with_matrices(choose), TRANSPOSED) for name, choose in _TURNED),
    *(
        Mistake(name, _with_matrices(choose), _PROJECTION.format(words))
        for name, choose, words in _MIXED_UP
    ),
    Mistake(
        "query-not-projected",
        step_of(project=lambda x, at, w: (x + at, (x + at) @ w[1], (x + at) @ w[2])),
        _PROJECTION.format("the query is x + pe[t] itself, without w_q"),
    ),
    Mistake("residual", step_of(mix=lambda weights, k, values, x: x + weights @ values), _RESIDUAL),
    Mistake("token-added", _token_added, _RESIDUAL),
    Mistake("weights-returned", step_of(mix=lambda weights, k, values, x: weights), _WEIGHTS),
    Mistake(
        "last-entry-overwritten",
        _last_entry_overwritten,
        "The new key and value are written over the last cached ones, in the caller's tensors. The "
        "given cache is not modified: append to it, `torch.cat([cached, new], dim=1)`.",
    ),
)
