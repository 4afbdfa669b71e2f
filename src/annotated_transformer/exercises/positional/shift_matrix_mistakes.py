"""The wrong matrices for `positional.shift_matrix`: other blocks, other angles, other places."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake
from annotated_transformer.exercises.faults import Fault, single, together, told_apart

Block = Callable[[Tensor, Tensor], tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]]


def _side_by_side(i: int, d: int) -> tuple[int, int]:
    return 2 * i, 2 * i + 1


def _in_halves(i: int, d: int) -> tuple[int, int]:
    return i, d // 2 + i


def _shift(
    k: int,
    d_model: int,
    *,
    block: Block = lambda s, c: ((c, s), (-s, c)),
    base: float = 10000.0,
    exponent: Callable[[Tensor, int], Tensor] = lambda i, d: 2 * i / d,
    angle: Callable[[int, Tensor], Tensor] = lambda k, w: k / w,
    shift: Callable[[int], int] = lambda k: k,
    places: Callable[[int, int], tuple[int, int]] = _side_by_side,
    start: Callable[[int], Tensor] = lambda d: torch.zeros(d, d, dtype=torch.float64),
    result: Callable[[Tensor], Any] = lambda matrix: matrix,
) -> Any:
    i = torch.arange(d_model // 2, dtype=torch.float64)
    turned = angle(shift(k), base ** exponent(i, d_model))
    matrix = start(d_model)
    for pair in range(d_model // 2):
        first, second = places(pair, d_model)
        (a, b), (c, d) = block(turned[pair].sin(), turned[pair].cos())
        matrix[first, first], matrix[first, second] = a, b
        matrix[second, first], matrix[second, second] = c, d
    return result(matrix.float())


def _positions_shifted(k: int, d_model: int) -> Tensor:
    return torch.eye(d_model).roll(k, 0)


def _encoded(p: int, d_model: int) -> Tensor:
    angle = p / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten().float()


def _encodings_multiplied(k: int, d_model: int, p: int = 0) -> Tensor:
    now, later = _encoded(p, d_model), _encoded(p + k, d_model)
    return torch.outer(later, now) / now.dot(now)


_COMMON = (
    Fault(
        "turned-back",
        {"block": lambda s, c: ((c, -s), (s, c))},
        "The rotation goes the wrong way: M takes PE[p] to PE[p - k]. [[cos, -sin], [sin, cos]] "
        "turns points (cos, sin); here the sine comes first, so the signs are exchanged: "
        "sin(a + b) = cos b sin a + sin b cos a. The transpose does the same, for rows: "
        "PE[p] @ M.",
    ),
    Fault(
        "cosine-first",
        {"block": lambda s, c: ((s, c), (c, -s))},
        "Sine and cosine are exchanged within the blocks. For k = 0 the matrix must be the "
        "identity: cos(0) = 1 belongs on the diagonal.",
    ),
    Fault(
        "reflection",
        {"block": lambda s, c: ((c, s), (s, -c))},
        "The blocks are reflections, [[cos, sin], [sin, -cos]]: for k = 0 the cosines would "
        "change sign. cos(a + b) = cos a cos b - sin a sin b: the minus sign belongs to the sine "
        "at the lower left.",
    ),
    Fault(
        "no-minus",
        {"block": lambda s, c: ((c, s), (s, c))},
        "The minus sign is missing: cos(a + b) = cos a cos b *minus* sin a sin b, so the lower "
        "left entry of a block is -sin.",
    ),
    Fault(
        "half-exponent",
        {"exponent": lambda i, d: i / d},
        "The exponent is i / d_model, half as large as it should be (a base of 100 does the same). "
        "The pair i turns by k / 10000^(2i / d_model).",
    ),
    Fault(
        "double-exponent",
        {"exponent": lambda i, d: 4 * i / d},
        "The exponent is 4i / d_model, doubled once too often: `range(0, d_model, 2)` already "
        "holds 2i. The pair i turns by k / 10000^(2i / d_model).",
    ),
    Fault(
        "halves",
        {"places": _in_halves},
        "The blocks connect column i with column i + d_model / 2, as if all sines stood in the "
        "first half. The paper interleaves: a pair is columns 2i and 2i + 1.",
    ),
    Fault(
        "one-frequency",
        {"exponent": lambda i, d: 0 * i},
        "Every pair turns by k radians. Each pair has its own speed: k / 10000^(2i / d_model).",
    ),
    Fault(
        "multiplied",
        {"angle": lambda k, w: k * w},
        "k is multiplied by 10000^(2i / d_model). It is divided by it: later pairs turn more "
        "slowly.",
    ),
    Fault(
        "no-logarithm",
        {"base": math.e},
        "The base is e instead of 10000: the logarithm is missing, "
        "exp(-2i / d_model · log(10000)).",
    ),
    Fault(
        "batch-axis",
        {"result": lambda m: m[None]},
        "There is an axis too many, (1, d_model, d_model). Asked for is one matrix.",
    ),
)

_OTHERS = (
    Fault(
        "shift-sign-ignored",
        {"shift": abs},
        "The sign of k is lost: a negative k goes back, so it turns the other way.",
    ),
    Fault(
        "shift-ignored",
        {"shift": lambda k: 1},
        "k is not used: this is the matrix of one step. k positions turn each pair k times as far.",
    ),
    Fault(
        "identity",
        {"shift": lambda k: 0},
        "This is the identity, which leaves every encoding where it is.",
    ),
    Fault(
        "one-too-far",
        {"shift": lambda k: k + 1},
        "The shift is one too large: M takes PE[p] to PE[p + k + 1].",
    ),
    Fault(
        "one-too-short",
        {"shift": lambda k: k - 1},
        "The shift is one too small: M takes PE[p] to PE[p + k - 1].",
    ),
    Fault(
        "pairs-from-one",
        {"exponent": lambda i, d: 2 * (i + 1) / d},
        "The pairs are counted from 1. The first pair has exponent 0 and turns by k radians.",
    ),
    Fault(
        "last-pair-reaches-10000",
        {"exponent": lambda i, d: 2 * i / max(d - 2, 1)},
        "The exponents run to 1 inclusive, 2i / (d_model - 2). The paper divides by d_model.",
    ),
    Fault(
        "slowest-first",
        {"exponent": lambda i, d: 2 * (d // 2 - 1 - i) / d},
        "The blocks come in reverse order. The first pair turns fastest, by k radians.",
    ),
    Fault("base-1000", {"base": 1000.0}, "The base of the power is 1000. The paper's is 10000."),
    Fault(
        "two-pi",
        {"angle": lambda k, w: 2 * math.pi * k / w},
        "The angles are multiplied by 2π. The pair i turns by k / 10000^(2i / d_model) radians.",
    ),
    Fault(
        "degrees",
        {"angle": lambda k, w: k / w * math.pi / 180},
        "The angles are converted from degrees. They are in radians already.",
    ),
    Fault(
        "diagonal-only",
        {"block": lambda s, c: ((c, 0 * s), (0 * s, c))},
        "Only the cosines on the diagonal are there. Each component also needs its partner: "
        "sin((p + k)w) = cos(kw) sin(pw) + sin(kw) cos(pw).",
    ),
    Fault(
        "off-diagonal-only",
        {"block": lambda s, c: ((0 * c, s), (-s, 0 * c))},
        "The cosines on the diagonal are missing: for k = 0 the matrix must be the identity.",
    ),
    Fault(
        "both-minus",
        {"block": lambda s, c: ((c, -s), (-s, c))},
        "Both sines are negative. In sin(a + b) = cos b sin a + sin b cos a the sign is plus; only "
        "the cosine's row has a minus.",
    ),
    Fault(
        "rows-exchanged",
        {"block": lambda s, c: ((-s, c), (c, s))},
        "The two rows of each block are exchanged: the sine of p + k comes first, then the cosine.",
    ),
    Fault(
        "columns-exchanged-back",
        {"block": lambda s, c: ((-s, c), (c, -s))},
        "Sine and cosine are exchanged within the blocks: cos(kw) belongs on the diagonal.",
    ),
    Fault(
        "cosine-first-with-sign",
        {"block": lambda s, c: ((s, c), (-c, s))},
        "Sine and cosine are exchanged within the blocks. For k = 0 the matrix must be the "
        "identity: cos(0) = 1 belongs on the diagonal.",
    ),
    Fault(
        "no-way-back",
        {"shift": lambda k: max(k, 0)},
        "A negative k is taken as 0. It goes back: the angles are negative, and nothing else "
        "changes.",
    ),
    Fault(
        "list-of-blocks",
        {"result": lambda m: [m[j : j + 2, j : j + 2] for j in range(0, len(m), 2)]},
        "A list of blocks is returned. Put them on the diagonal of one matrix: "
        "`torch.block_diag(*blocks)`.",
    ),
    Fault(
        "zeros",
        {"result": torch.zeros_like},
        "Every entry is 0: the matrix is made and never filled.",
    ),
    Fault(
        "rounded",
        {"result": lambda m: m.round().long()},
        "The matrix is made of integers, so sines and cosines are rounded. Make it of floats.",
    ),
    Fault(
        "negative",
        {"block": lambda s, c: ((-c, -s), (s, -c))},
        "Every sign is reversed: for k = 0 the matrix must be the identity.",
    ),
    Fault(
        "ones-besides",
        {"start": lambda d: torch.ones(d, d, dtype=torch.float64)},
        "The entries outside of the blocks are 1. A pair depends on itself alone: they are 0.",
    ),
    Fault(
        "angle-in-blocks",
        {"angle": lambda k, w: k - w},
        "The power is subtracted from k. The pair i turns by k / 10000^(2i / d_model).",
    ),
    Fault(
        "first-block-alone",
        {"result": lambda m: m[:2, :2]},
        "One block of two rows is returned. Each of the d_model / 2 pairs has its own.",
    ),
    Fault(
        "blocks-not-joined",
        {"result": lambda m: torch.stack([m[j : j + 2, j : j + 2] for j in range(0, len(m), 2)])},
        "The blocks are stacked, (d_model / 2, 2, 2). Put them on the diagonal of one matrix: "
        "`torch.block_diag(*blocks)`.",
    ),
    Fault(
        "lists",
        {"result": lambda m: m.tolist()},
        "These are nested lists. Turn them into a tensor: `torch.tensor(...)`.",
    ),
    Fault(
        "numpy-array",
        {"result": lambda m: m.numpy()},
        "This is a NumPy array. Turn it into a tensor: `torch.from_numpy(...)`.",
    ),
    Fault(
        "integers",
        {"result": lambda m: m.long()},
        "The matrix is made of integers, so sines and cosines are cut off. Make it of floats.",
    ),
)

_OF_AN_ENCODING = (
    "This is built from the encoding of position k, PE[k]. Multiplying with it does not shift: "
    "each pair has to be turned by its own angle, a block of four numbers (addition theorems)."
)
_ODD = (
    Mistake("encoding-on-the-diagonal", lambda k, d: torch.diag(_encoded(k, d)), _OF_AN_ENCODING),
    Mistake(
        "encoding-times-itself",
        lambda k, d: torch.outer(_encoded(k, d), _encoded(k, d)),
        _OF_AN_ENCODING,
    ),
    Mistake(
        "positions-moved",
        _positions_shifted,
        "This moves components, as a shift of positions would. M works within one encoding: it "
        "mixes the components of a pair and never moves a pair.",
    ),
    Mistake(
        "made-for-position-0",
        _encodings_multiplied,
        "This matrix is built from the encodings of one position and takes that one to PE[p + k], "
        "but no other. M must not depend on p: use the addition theorems.",
    ),
    Mistake(
        "made-for-position-1",
        lambda k, d: _encodings_multiplied(k, d, 1),
        "This matrix is built from the encodings of one position and takes that one to PE[p + k], "
        "but no other. M must not depend on p: use the addition theorems.",
    ),
)

_PROBES = ((1, 2), (2, 4), (0, 4), (-3, 4), (1, 6), (5, 8), (17, 6))


def mistakes_against(reference: Candidate) -> tuple[Mistake, ...]:
    """Each fault alone and the common ones in twos."""
    mistakes = [*single(_shift, (*_COMMON, *_OTHERS)), *_ODD, *together(_shift, _COMMON, 2)]
    return told_apart(mistakes, reference, _PROBES)
