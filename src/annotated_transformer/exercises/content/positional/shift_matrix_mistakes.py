"""The wrong matrices for `positional.shift_matrix`: other blocks, other angles, other places."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.faults import Fault, single, together, told_apart
from annotated_transformer.exercises.content.positional.shift_matrix_others import OTHERS
from annotated_transformer.exercises.exercise import Candidate, Mistake

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


def _each_its_own(k: int, d_model: int) -> Tensor:
    """The number of the row in the exponent: the two rows of a pair turn by different angles."""
    matrix = _shift(k, d_model)
    angle = k / 10000 ** ((torch.arange(0, d_model, 2, dtype=torch.float64) + 1) / d_model)
    odd = torch.arange(1, d_model, 2)
    matrix[odd, odd - 1], matrix[odd, odd] = -angle.sin().float(), angle.cos().float()
    return matrix


def _small_angles(k: int, d_model: int) -> Tensor:
    matrix = torch.eye(d_model)
    even = torch.arange(0, d_model, 2)
    matrix[even, even + 1] = k / 10000 ** (even / d_model)
    matrix[even + 1, even] = -k / 10000 ** (even / d_model)
    return matrix


def _first_pair_alone(k: int, d_model: int) -> Tensor:
    matrix = torch.eye(d_model)
    matrix[:2, :2] = _shift(k, d_model)[:2, :2]
    return matrix


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

_NOT_A_MATRIX = (
    "This is the encoding itself, a vector. Asked for is a matrix (d_model, d_model) that turns "
    "PE[p] into PE[p + k], for every p."
)
_COMPLEX = (
    "These are complex numbers, one for each pair. PE[p] holds real numbers: write each as a block "
    "of two rows, [[cos, sin], [-sin, cos]]."
)
_QUOTIENTS = (
    "Each component is multiplied by a quotient, PE[p + k] over PE[p], which depends on p. A "
    "diagonal cannot shift: the sine of p + k needs the cosine of p as well (addition theorems)."
)
_OF_AN_ENCODING = (
    "This is built from the encoding of position k, PE[k]. Multiplying with it does not shift: "
    "each pair has to be turned by its own angle, a block of four numbers (addition theorems)."
)
_ODD = (
    *(
        Mistake(
            f"quotients-at-{p}",
            lambda k, d, p=p: torch.diag(_encoded(p + k, d) / _encoded(p, d)),
            _QUOTIENTS,
        )
        for p in (1, 2, 3)
    ),
    Mistake(
        "power-of-each-entry",
        lambda k, d: _shift(1, d) ** k,
        "`M ** k` raises every *entry* to the power k. k steps are k matrix products, "
        "`torch.linalg.matrix_power`, or each angle times k.",
    ),
    Mistake(
        "identity-times-k",
        lambda k, d: k * torch.eye(d),
        "This is k times the identity: it makes an encoding k times as long and turns nothing. A "
        "shift turns each pair and keeps its length: a block [[cos, sin], [-sin, cos]].",
    ),
    Mistake("encoding-of-k", _encoded, _NOT_A_MATRIX),
    Mistake("encoding-of-k-in-a-row", lambda k, d: _encoded(k, d)[None], _NOT_A_MATRIX),
    Mistake("encoding-of-k-in-a-column", lambda k, d: _encoded(k, d)[:, None], _NOT_A_MATRIX),
    Mistake(
        "complex-diagonal",
        lambda k, d: torch.diag(
            torch.view_as_complex(_encoded(k, d).view(-1, 2).flip(1).contiguous())
        ),
        _COMPLEX,
    ),
    Mistake(
        "complex-numbers",
        lambda k, d: torch.view_as_complex(_encoded(k, d).view(-1, 2).flip(1).contiguous()),
        _COMPLEX,
    ),
    Mistake(
        "component-as-exponent",
        _each_its_own,
        "The number of the row is used in the exponent, so the two rows of a pair turn by "
        "different angles. Both share 2i / d_model.",
    ),
    Mistake(
        "first-pair-alone",
        _first_pair_alone,
        "Only the first block is filled; the other pairs stay where they are. Each pair turns, by "
        "k / 10000^(2i / d_model).",
    ),
    Mistake(
        "first-pair-alone-and-zeros",
        lambda k, d: _first_pair_alone(k, d) * (torch.arange(d) < 2),
        "Only the first block is filled; all else is 0. Each pair has a block, with the angle "
        "k / 10000^(2i / d_model).",
    ),
    Mistake(
        "one-step-times-k",
        lambda k, d: k * _shift(1, d),
        "The matrix of one step is multiplied by k, which makes the encodings longer. k steps are "
        "k products, the k-th *power*, or each angle times k.",
    ),
    Mistake(
        "small-angles",
        _small_angles,
        "The angle stands in place of its sine and 1 in place of its cosine. That holds for small "
        "angles only, and the first pair turns by k radians: use `sin` and `cos`.",
    ),
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
    mistakes = [*single(_shift, (*_COMMON, *OTHERS)), *_ODD, *together(_shift, _COMMON, 2)]
    return told_apart(mistakes, reference, _PROBES)
