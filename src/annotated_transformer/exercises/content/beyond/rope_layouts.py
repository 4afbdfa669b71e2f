"""Wrong forms of `beyond.rope`: which numbers make a pair, how it is turned, where it is put."""

import torch
from torch import Tensor

from annotated_transformer.exercises.content.beyond.drawn import then
from annotated_transformer.exercises.content.beyond.rope_steps import (
    Pair,
    halves,
    interleaved,
    one_after_the_other,
    rope_of,
    side_by_side,
    turned,
    turned_back,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _with_sum(turn: str, angles: str, sign: float = 1.0) -> Candidate:
    """x * cos + turn(x) * sin, where the turned copy and the angles may follow other layouts."""

    def implementation(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
        d = x.size(-1)
        rates = base ** (-2 * torch.arange(d // 2, dtype=x.dtype) / d)
        half = positions.to(x.dtype)[:, None] * rates
        angle = side_by_side(half, half) if angles == "pairs" else torch.cat((half, half), -1)
        if turn == "pairs":
            u, v = interleaved(x)
            copy = side_by_side(-v, u)
        elif turn == "halves":
            u, v = halves(x)
            copy = one_after_the_other(-v, u)
        else:
            u, v = halves(x)
            copy = one_after_the_other(u, -v) if turn == "unswapped" else x.flip(-1)
        return x * angle.cos() + sign * copy * angle.sin()

    return implementation


def _both_plus(u: Tensor, v: Tensor, angle: Tensor) -> Pair:
    return u * angle.cos() + v * angle.sin(), u * angle.sin() + v * angle.cos()


def _both_minus(u: Tensor, v: Tensor, angle: Tensor) -> Pair:
    return u * angle.cos() - v * angle.sin(), v * angle.cos() - u * angle.sin()


def _overwritten(u: Tensor, v: Tensor, angle: Tensor) -> Pair:
    u = u * angle.cos() - v * angle.sin()
    return u, u * angle.sin() + v * angle.cos()


def _overwritten_second(u: Tensor, v: Tensor, angle: Tensor) -> Pair:
    v = u * angle.sin() + v * angle.cos()
    return u * angle.cos() - v * angle.sin(), v


def _in_place(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    x.copy_(rope_of()(x, positions, base))
    return x


def _overwritten_in_place(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    x.copy_(rope_of(rotation=_overwritten)(x, positions, base))
    return x


_HALF_SPLIT = (
    "The pairs are (x[i], x[i + d/2]): the half-split layout (`rotate_half`) of GPT-NeoX and "
    "LLaMA's Hugging Face code. Asked for is RoFormer's interleaved layout, neighbours "
    "(x[2i], x[2i+1]): `x[..., 0::2]` and `x[..., 1::2]`."
)
_BACKWARDS = (
    "The rotation runs backwards, by -angle. Turned by +a, (u, v) becomes "
    "(u cos a - v sin a, u sin a + v cos a): the minus stands in the first component."
)
_MIXED = (
    "Two layouts are mixed: the numbers are paired in one way and the angles laid out in the "
    "other, so the two numbers of a pair get different angles and nothing is a rotation any "
    "more. For neighbours each angle is repeated twice in a row (`repeat_interleave(2)`)."
)
_APART = (
    "The pairs are turned rightly, but the result holds all first components and then all second "
    "ones. Put them back side by side, as they came: `torch.stack((a, b), dim=-1).flatten(-2)`."
)
_OVERWRITTEN = (
    "The first component is overwritten before the second one is computed from it. Both need the "
    "old values: keep them in new tensors first."
)
_BOTH_PLUS = (
    "The first component has a plus: u cos a + v sin a beside u sin a + v cos a is no rotation, "
    "lengths are not kept. It is u cos a - v sin a."
)
_EXCHANGED = (
    "Sine and cosine are exchanged: at position 0 the pair must stay as it is, which cos 0 = 1 "
    "does. Turned by a, (u, v) becomes (u cos a - v sin a, u sin a + v cos a)."
)

_MIRRORED = (
    "The signs make a mirror image, not a turn: at angle 0 one of the two numbers of a pair has "
    "changed its sign. There is a single minus: (u cos a - v sin a, u sin a + v cos a)."
)

LAYOUT_MISTAKES = (
    Mistake("half-split", rope_of(pairs=halves, join=one_after_the_other), _HALF_SPLIT),
    Mistake(
        "half-split-backwards",
        rope_of(pairs=halves, join=one_after_the_other, rotation=turned_back),
        _HALF_SPLIT + " And the rotation runs backwards: the minus stands in the first component.",
    ),
    Mistake(
        "half-split-put-side-by-side",
        rope_of(pairs=halves),
        _HALF_SPLIT + " The results are then laid side by side, which is neither layout.",
    ),
    Mistake("concatenated", rope_of(join=one_after_the_other), _APART),
    Mistake(
        "concatenated-backwards",
        rope_of(join=one_after_the_other, rotation=turned_back),
        _APART + " And the rotation runs backwards: the minus stands in the first component.",
    ),
    Mistake("half-split-angles", _with_sum("pairs", "halves"), _MIXED),
    Mistake("half-split-angles-backwards", _with_sum("pairs", "halves", -1.0), _MIXED),
    Mistake(
        "half-split-pairs",
        _with_sum("halves", "pairs"),
        _MIXED + " The pairs here are (x[i], x[i + d/2]), which is the half-split layout.",
    ),
    Mistake("half-split-pairs-backwards", _with_sum("halves", "pairs", -1.0), _MIXED),
    Mistake(
        "halves-not-exchanged",
        _with_sum("unswapped", "halves"),
        "The turned copy of x has its signs, but its two parts stand where they were. A turn by "
        "a right angle takes (u, v) to (-v, u): exchange the two, and negate one.",
    ),
    Mistake(
        "reversed-copy",
        _with_sum("flip", "pairs"),
        "x is added to a reversed copy of itself. A pair (u, v) turned by a right angle is "
        "(-v, u): only neighbours are exchanged, and one of them changes its sign.",
    ),
    Mistake("backwards", rope_of(rotation=turned_back), _BACKWARDS),
    Mistake("both-plus", rope_of(rotation=_both_plus), _BOTH_PLUS),
    Mistake(
        "both-plus-halves",
        rope_of(rotation=_both_plus, pairs=halves, join=one_after_the_other),
        _HALF_SPLIT + " And the first component has a plus where u cos a - v sin a is right.",
    ),
    Mistake(
        "mirrored",
        rope_of(rotation=lambda u, v, a: (turned_back(u, v, a)[0], -turned_back(u, v, a)[1])),
        _MIRRORED,
    ),
    Mistake(
        "mirrored-downwards",
        rope_of(rotation=lambda u, v, a: (turned(u, v, a)[0], -turned(u, v, a)[1])),
        _MIRRORED,
    ),
    Mistake(
        "mirrored-leftwards",
        rope_of(rotation=lambda u, v, a: (-turned(u, v, a)[0], turned(u, v, a)[1])),
        _MIRRORED,
    ),
    Mistake(
        "both-minus",
        rope_of(rotation=_both_minus),
        "Both components have a minus, which is no rotation. The second one is u sin a + v cos a.",
    ),
    Mistake("overwritten", rope_of(rotation=_overwritten), _OVERWRITTEN),
    Mistake(
        "overwritten-second-first",
        rope_of(rotation=_overwritten_second),
        "The second component is overwritten before the first one is computed from it. Both need "
        "the old values: keep them in new tensors first.",
    ),
    Mistake(
        "second-without-sine",
        rope_of(rotation=lambda u, v, a: (turned(u, v, a)[0], v * a.cos())),
        "The second component lacks its sine: it becomes u sin a + v cos a.",
    ),
    Mistake(
        "first-without-sine",
        rope_of(rotation=lambda u, v, a: (u * a.cos(), turned(u, v, a)[1])),
        "The first component lacks its sine: it becomes u cos a - v sin a.",
    ),
    Mistake("overwritten-in-place", _overwritten_in_place, _OVERWRITTEN + " x is changed, too."),
    Mistake(
        "sine-and-cosine-exchanged",
        rope_of(rotation=lambda u, v, a: (u * a.sin() - v * a.cos(), u * a.cos() + v * a.sin())),
        _EXCHANGED,
    ),
    Mistake(
        "components-exchanged",
        rope_of(join=lambda u, v: side_by_side(v, u)),
        "The two components of each pair have changed places. First comes u cos a - v sin a, "
        "then u sin a + v cos a.",
    ),
    Mistake(
        "pairs-read-crosswise",
        rope_of(pairs=lambda x: (x[..., 1::2], x[..., 0::2])),
        "The odd columns are taken as the first components. The pair is (x[2i], x[2i+1]): "
        "`x[..., 0::2]` first.",
    ),
    Mistake(
        "cosine-only",
        rope_of(rotation=lambda u, v, a: (u * a.cos(), v * a.cos())),
        "Only the cosines are used: x shrinks but is not turned. Add the sine part, -v sin a and "
        "+u sin a.",
    ),
    Mistake(
        "each-by-its-own",
        rope_of(rotation=lambda u, v, a: (u * a.cos(), v * a.sin())),
        "The first component is multiplied by the cosine and the second by the sine, each for "
        "itself. A rotation mixes the two: (u cos a - v sin a, u sin a + v cos a).",
    ),
    Mistake(
        "first-component-only",
        rope_of(rotation=lambda u, v, a: (turned(u, v, a)[0], v)),
        "Only the first component of each pair is turned. The second becomes u sin a + v cos a.",
    ),
    Mistake(
        "second-component-only",
        rope_of(rotation=lambda u, v, a: (u, turned(u, v, a)[1])),
        "Only the second component of each pair is turned. The first becomes u cos a - v sin a.",
    ),
    Mistake(
        "second-component-missing",
        rope_of(rotation=lambda u, v, a: (turned(u, v, a)[0], torch.zeros_like(v))),
        "The second component of each pair is missing: it is 0. It becomes u sin a + v cos a.",
    ),
    Mistake(
        "without-the-cosine-part",
        rope_of(rotation=lambda u, v, a: (-v * a.sin(), u * a.sin())),
        "The part with the cosine is missing: x * cos has to be added to the turned copy.",
    ),
    Mistake(
        "added-encoding",
        rope_of(rotation=lambda u, v, a: (u + a.sin(), v + a.cos())),
        "Sines and cosines are added to x: that is the sinusoidal encoding. RoPE multiplies: each "
        "pair is turned, its length stays.",
    ),
    Mistake(
        "multiplied-encoding",
        rope_of(rotation=lambda u, v, a: (u * a.sin(), v * a.cos())),
        "x is multiplied by the sinusoidal encoding entry by entry. A rotation mixes the two "
        "numbers of a pair: (u cos a - v sin a, u sin a + v cos a).",
    ),
    Mistake(
        "pairs-in-a-last-axis",
        then(rope_of(), lambda x: x.unflatten(-1, (-1, 2))),
        "The pairs are left as a last axis of 2. Lay them side by side again: `.flatten(-2)`.",
    ),
    Mistake(
        "in-place",
        _in_place,
        "x itself is overwritten. Queries and keys are still needed elsewhere: return a new "
        "tensor.",
    ),
    Mistake(
        "not-turned",
        lambda x, positions, base=10000.0: x,
        "x comes back as it is. Each pair has to be turned by position * base^(-2i/d).",
    ),
    Mistake(
        "half-of-the-pairs",
        rope_of(
            spread=lambda angles: angles * (torch.arange(angles.size(-1)) * 2 < angles.size(-1))
        ),
        "Only the first half of the columns is turned (a partial rotation, as in GPT-J and "
        "GPT-NeoX). Here all pairs are.",
    ),
)
