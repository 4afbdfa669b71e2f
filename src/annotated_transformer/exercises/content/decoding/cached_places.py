"""Mistakes of `decoding.cached_step` in positions, in the cache and in what is returned."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.decoding.cached_steps import (
    Cache,
    Projections,
    appended,
    position,
    projected,
    scaled,
    step_of,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

_POSITION = (
    "The new token is given the wrong position: {}. With t tokens in the cache (axis 1 of the "
    "keys, before the new one is appended) they sit at 0 ... t - 1, so it sits at t: add `pe[t]`, "
    "and `pe[0]` only when there is no cache."
)

FURTHER = _POSITION.format("`pe[t + 1]`, one too far (t counted after the new key was appended?)")

ONE_BACK = _POSITION.format("`pe[t - 1]`, that of the last cached token")

ZERO = (
    "The new token always gets `pe[0]`, as if it were the first. A step sees one token, but that "
    "token sits at position t, where t is the number of tokens in the cache: add `pe[t]`. This is "
    "the classic fault of cached decoding."
)

_AXIS_OF_T = (
    "The position is read from the wrong axis: the number of cached tokens is axis 1 of the keys, "
    "(B, t, d), not the batch and not the width."
)

NO_POSITION = "No position is added. The new token is projected as `x + pe[t]`."

_PART = (
    "The position is not added for all three projections. The paper adds it to the embedding, so "
    "query, key and value are all made from `x + pe[t]`."
)

_ORDER = (
    "The new key and value are put in front of the cached ones. Attention does not mind, but the "
    "cache is in the order of the sentence: append, `torch.cat([cached, new], dim=1)`."
)

_MISALIGNED = (
    "Of the new key and value one is put in front of the cached ones and the other behind them, so "
    "keys and values no longer belong together. Append both: `torch.cat([cached, new], dim=1)`."
)

_AXIS = (
    "The new key and value are joined to the cache along the wrong axis. Tokens are axis 1 of (B, "
    "t, d): `torch.cat([cached, new], dim=1)` gives (B, t + 1, d)."
)

_RAW = (
    "The cache is filled with tokens that are not projected. It holds keys, `(x + pe[t]) @ w_k`, "
    "and values, `(x + pe[t]) @ w_v`, ready for use: that is what saves the work."
)

_AGAIN = (
    "The cached keys or values are processed once more (projected, or given a position). They "
    "were finished when they were put into the cache: use them as they are."
)

_IN_PLACE = (
    "An argument is changed in place (`+=`, `add_`, an assignment into the cache). The given "
    "tensors stay as they are: make new ones, `x = x + pe[t]`, `torch.cat`."
)

_RETURNED = (
    "The results are right, but they are not packed as asked: `(output, (keys, values))`, two "
    "things of which the second is a pair."
)

_SHAPE = "The output has the wrong shape. It keeps the axis of the one new token: (B, 1, d)."

_SCALED_INPUT = (
    "x is multiplied by sqrt(d) before the position is added. That belongs to the embedding, which "
    "x has behind it: add `pe[t]` to x as it is."
)


def _at(choose: Callable[[int, Tensor, Tensor], int]) -> Candidate:
    """The step that takes another row of pe: of t, x and the cached keys."""

    def place(x: Tensor, pe: Tensor, cache: Cache) -> Tensor:
        keys = x[:, :0] if cache is None else cache[0]
        return pe[choose(keys.size(1), x, keys)]

    return step_of(place=place)


def _placed(q: bool, k: bool, v: bool) -> Candidate:
    """The position is added for some of the three projections only."""

    def project(x: Tensor, at: Tensor, w: Projections) -> Projections:
        q_, k_, v_ = (
            (x + at if with_it else x) @ matrix
            for with_it, matrix in zip((q, k, v), w, strict=True)
        )
        return q_, k_, v_

    return step_of(project=project)


def _joined(dim: int, new_first: bool = False) -> Callable[[Tensor | None, Tensor], Tensor]:
    def append(cached: Tensor | None, new: Tensor) -> Tensor:
        if cached is None:
            return new
        return torch.cat([new, cached] if new_first else [cached, new], dim=dim)

    return append


def _raw(k: bool, v: bool) -> Candidate:
    """The cache holds x + pe[t] in place of keys or values, and they are attended to raw."""

    def project(x: Tensor, at: Tensor, w: Projections) -> Projections:
        placed = x + at
        return placed @ w[0], placed if k else placed @ w[1], placed if v else placed @ w[2]

    return step_of(project=project)


def _whole_table(x: Tensor, pe: Tensor, cache: Cache) -> Tensor:
    t = 0 if cache is None else cache[0].size(1)
    return pe[: t + 1]


def _cached_projected_again(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> Any:
    if cache is not None:
        cache = cache[0] @ w_k, cache[1] @ w_v
    return step_of()(x, pe, w_q, w_k, w_v, cache)


def _cached_placed_again(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> Any:
    if cache is not None:
        t = cache[0].size(1)
        cache = cache[0] + pe[:t], cache[1] + pe[:t]
    return step_of()(x, pe, w_q, w_k, w_v, cache)


def _keys_placed_again(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> Any:
    if cache is not None:
        cache = cache[0] + pe[: cache[0].size(1)], cache[1]
    return step_of()(x, pe, w_q, w_k, w_v, cache)


def _raw_cache_projected_at_use(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> Any:
    """Raw tokens in the cache, all projected in every step."""
    placed = x + position(x, pe, cache)
    raw_k, raw_v = (placed, placed) if cache is None else (appended(c, placed) for c in cache)
    weights = scaled(placed @ w_q, raw_k @ w_k).softmax(-1)
    return weights @ (raw_v @ w_v), (raw_k, raw_v)


def _x_in_place(x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache) -> Any:
    result = step_of()(x, pe, w_q, w_k, w_v, cache)
    with torch.no_grad():
        x += position(x, pe, cache)
    return result


def _cache_of_words(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> Any:
    """Embeddings without positions in the cache; everything is made anew in every step."""
    words = x if cache is None else appended(cache[0], x)
    placed = words + pe[: words.size(1)]
    weights = scaled(placed[:, -1:] @ w_q, placed @ w_k).softmax(-1)
    return weights @ (placed @ w_v), (words, words)


def _last_overwritten_then_appended(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> Any:
    if cache is not None:
        with torch.no_grad():
            cache[0][:, -1:] = (x + position(x, pe, cache)) @ w_k
    return step_of()(x, pe, w_q, w_k, w_v, cache)


def _one_in_front(place: int) -> Candidate:
    """Of keys (0) and values (1) one is appended in front."""

    def implementation(
        x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
    ) -> Any:
        q, *new = projected(x, position(x, pe, cache), (w_q, w_k, w_v))
        both = []
        for which, (old, own) in enumerate(zip(cache or (None, None), new, strict=True)):
            both.append(_joined(1, new_first=which == place)(old, own))
        return scaled(q, both[0]).softmax(-1) @ both[1], (both[0], both[1])

    return implementation


PLACE_MISTAKES = (
    Mistake("position-zero", _at(lambda t, x, keys: 0), ZERO),
    Mistake(
        "position-subtracted",
        step_of(place=lambda x, pe, cache: -position(x, pe, cache)),
        "The position is subtracted. It is added: `x + pe[t]`.",
    ),
    Mistake("position-one-further", _at(lambda t, x, keys: t + 1), FURTHER),
    Mistake(
        "position-one-further-with-a-cache",
        _at(lambda t, x, keys: t + 1 if t else 0),
        FURTHER,
    ),
    Mistake("position-one-back", _at(lambda t, x, keys: max(t - 1, 0)), ONE_BACK),
    Mistake("position-minus-one-wrapped", _at(lambda t, x, keys: t - 1), ONE_BACK),
    Mistake("position-one", _at(lambda t, x, keys: 1), _POSITION.format("always `pe[1]`")),
    Mistake(
        "last-row-of-pe",
        _at(lambda t, x, keys: -1),
        _POSITION.format("the last row of pe, `pe[-1]`"),
    ),
    Mistake(
        "position-from-the-end",
        _at(lambda t, x, keys: -t - 1),
        _POSITION.format("counted from the end of pe"),
    ),
    Mistake("position-of-batch", _at(lambda t, x, keys: keys.size(0) if t else 0), _AXIS_OF_T),
    Mistake("position-of-width", _at(lambda t, x, keys: keys.size(2) if t else 0), _AXIS_OF_T),
    Mistake(
        "no-position", step_of(place=lambda x, pe, cache: torch.zeros_like(pe[0])), NO_POSITION
    ),
    Mistake("value-without-position", _placed(True, True, False), _PART),
    Mistake("query-alone-with-position", _placed(True, False, False), _PART),
    Mistake("key-alone-with-position", _placed(False, True, False), _PART),
    Mistake("query-without-position", _placed(False, True, True), _PART),
    Mistake("key-without-position", _placed(True, False, True), _PART),
    Mistake("value-alone-with-position", _placed(False, False, True), _PART),
    Mistake(
        "position-twice",
        step_of(place=lambda x, pe, cache: 2 * position(x, pe, cache)),
        "The position is added twice. Each token is `x + pe[t]` once.",
    ),
    Mistake(
        "position-multiplied",
        step_of(project=lambda x, at, w: projected(x * at, torch.zeros_like(at), w)),
        "x is multiplied by the position's vector. Positions are added: `x + pe[t]`.",
    ),
    Mistake(
        "position-after-projection",
        step_of(project=lambda x, at, w: tuple(x @ matrix + at for matrix in w)),
        "The position is added after the projections. It belongs to the token: `(x + pe[t]) @ w`.",
    ),
    Mistake(
        "position-added-to-query-and-key-after-projection",
        step_of(project=lambda x, at, w: (x @ w[0] + at, x @ w[1] + at, x @ w[2])),
        "The position is added to query and key after the projections. It belongs to the token: "
        "all three are made from `x + pe[t]`.",
    ),
    Mistake(
        "all-positions-added",
        step_of(place=_whole_table),
        "All rows of pe up to t are added, so the one new token becomes t + 1 tokens. A step sees "
        "one token, at position t: `pe[t]`, or `pe[t : t + 1]`.",
    ),
    Mistake(
        "embedding-scale-added",
        step_of(project=lambda x, at, w: projected(x * x.size(-1) ** 0.5, at, w)),
        _SCALED_INPUT,
    ),
    Mistake("new-in-front", step_of(append=_joined(1, new_first=True)), _ORDER),
    Mistake("new-key-in-front", _one_in_front(0), _MISALIGNED),
    Mistake("new-value-in-front", _one_in_front(1), _MISALIGNED),
    Mistake("joined-along-batch", step_of(append=_joined(0)), _AXIS),
    Mistake("joined-along-width", step_of(append=_joined(-1)), _AXIS),
    Mistake(
        "cached-and-new-added",
        step_of(append=lambda cached, new: new if cached is None else cached + new),
        "The new key and value are added to the cached ones. They are appended as one more token: "
        "`torch.cat([cached, new], dim=1)`.",
    ),
    Mistake("raw-keys-and-values", _raw(True, True), _RAW),
    Mistake("raw-keys", _raw(True, False), _RAW),
    Mistake("raw-values", _raw(False, True), _RAW),
    Mistake("raw-cache", _raw_cache_projected_at_use, _RAW),
    Mistake("cache-of-words", _cache_of_words, _RAW),
    Mistake("projected-again", _cached_projected_again, _AGAIN),
    Mistake("placed-again", _cached_placed_again, _AGAIN),
    Mistake("keys-placed-again", _keys_placed_again, _AGAIN),
    Mistake("x-in-place", _x_in_place, _IN_PLACE),
    Mistake("last-key-overwritten", _last_overwritten_then_appended, _IN_PLACE),
    Mistake(
        "three-results",
        step_of(present=lambda out, every, new, cache: (out, *every)),
        _RETURNED,
    ),
    Mistake(
        "cache-first",
        step_of(present=lambda out, every, new, cache: (every, out)),
        _RETURNED,
    ),
    Mistake("output-alone", step_of(present=lambda out, every, new, cache: out), _RETURNED),
    Mistake(
        "cache-stacked",
        step_of(present=lambda out, every, new, cache: (out, torch.stack(every))),
        _RETURNED,
    ),
    Mistake(
        "cache-as-a-dictionary",
        step_of(
            present=lambda out, every, new, cache: (out, {"keys": every[0], "values": every[1]})
        ),
        _RETURNED,
    ),
    Mistake(
        "output-squeezed",
        step_of(present=lambda out, every, new, cache: (out.squeeze(1), every)),
        _SHAPE,
    ),
    Mistake(
        "outputs-of-all",
        step_of(
            present=lambda out, every, new, cache: (
                scaled(every[0], every[0]).softmax(-1) @ every[1],
                every,
            )
        ),
        _SHAPE,
    ),
)
