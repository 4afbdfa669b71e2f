"""`positional.shift_matrix`: going k positions further is a rotation (section 3.5)."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, Invariant, call


def shift_matrix(k: int, d_model: int) -> Tensor:
    matrix = torch.zeros(d_model, d_model)
    for two_i in range(0, d_model, 2):
        exponent = two_i / d_model
        stretch = 10000**exponent
        angle = k / stretch  # how far k positions turn this pair
        s, c = math.sin(angle), math.cos(angle)
        # sin(a + angle) = c sin a + s cos a and cos(a + angle) = -s sin a + c cos a
        block = torch.tensor([[c, s], [-s, c]])
        pair = slice(two_i, two_i + 2)
        matrix[pair, pair] = block
    return matrix


def _by_block_diag(k: int, d_model: int) -> Tensor:
    angle = k * 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    blocks = torch.stack([angle.cos(), angle.sin(), -angle.sin(), angle.cos()], dim=-1)
    return torch.block_diag(*blocks.reshape(-1, 2, 2))  # type: ignore[no-untyped-call]


def _by_columns(k: int, d_model: int) -> Tensor:
    column = torch.arange(d_model)
    angle = k * torch.exp(-math.log(10000.0) * (column // 2 * 2) / d_model)
    matrix = torch.diag(torch.cos(angle))
    even = column[::2]
    matrix[even, even + 1] = torch.sin(angle)[::2]
    matrix[even + 1, even] = -torch.sin(angle)[::2]
    return matrix


def _by_solving(k: int, d_model: int) -> Tensor:
    """From the encodings alone: the matrix that takes many rows to those k further."""

    def encoding(pos: Tensor) -> Tensor:
        two_i = torch.arange(0, d_model, 2, dtype=torch.float64)
        angle = pos[:, None] / 10000 ** (two_i / d_model)
        return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1)

    pos = torch.arange(0, 20000, 10 * d_model + 3, dtype=torch.float64)
    return torch.linalg.lstsq(encoding(pos), encoding(pos + k)).solution.T


def _by_matrix_exponential(k: int, d_model: int) -> Tensor:
    generator = torch.zeros(d_model, d_model, dtype=torch.float64)
    for two_i in range(0, d_model, 2):
        rate = 10000.0 ** (-two_i / d_model)
        generator[two_i, two_i + 1], generator[two_i + 1, two_i] = rate, -rate
    return torch.matrix_exp(k * generator)


def _in_one_precision(candidate: Callable[..., Any], k: int, d_model: int) -> Any:
    """The result in float64: the statement leaves its precision open."""
    result = candidate(k, d_model)
    return result.double() if isinstance(result, Tensor) and result.is_floating_point() else result


def _pairs_apart(one: Call, matrix: Tensor) -> bool:
    pair = torch.arange(len(matrix)) // 2
    return bool((matrix[pair[:, None] != pair].abs() < 1e-3).all())


def _lengths_kept(one: Call, matrix: Tensor) -> bool:
    return torch.allclose(matrix @ matrix.T, torch.eye(len(matrix)).to(matrix), atol=1e-2)


def _sizes(k: int, d_model: int, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(k, d_model)

    name = f"k = {k}, d_model = {d_model}"
    return Case(name, make, isolates=isolates, observe=_in_one_precision, rtol=1e-4, atol=5e-4)


SHIFT_MATRIX = Exercise(
    id="positional.shift_matrix",
    title="A shift is a rotation",
    kind="derivation",
    difficulty=3,
    minutes=15,
    signature="shift_matrix(k: int, d_model: int) -> (d_model, d_model), float32 or float64",
    statement=(
        "Return the matrix M with M @ PE[p] = PE[p + k] for every position p, where PE[p] is the "
        "paper's encoding of position p as a column vector: component 2i is "
        "sin(p / 10000^(2i / d_model)), component 2i + 1 the cosine of the same angle. M depends "
        "on k and d_model alone; k may be negative or 0, d_model is even."
    ),
    objective="Prove by construction the paper's claim that PE[p + k] is linear in PE[p].",
    prerequisite="positional.sinusoidal",
    hints=(
        "Take d_model = 2. Write sin(p + k) and cos(p + k) with the addition theorems: which four "
        "numbers stand before sin p and cos p?",
        "With w = 1 / 10000^(2i / d_model): sin((p + k)w) = cos(kw) sin(pw) + sin(kw) cos(pw). "
        "Do the same for the cosine; p must not be left over.",
        "Each pair of components has its block of two rows, [[cos(kw), sin(kw)], "
        "[-sin(kw), cos(kw)]], on the diagonal at rows and columns 2i and 2i + 1. All else is 0.",
    ),
    reference=shift_matrix,
    explanation=(
        "Each pair (sin, cos) is a point on a circle, and k positions further is k·w radians "
        "further on it, from wherever one starts: a rotation by an angle that does not depend on "
        "p. The sign of the sines follows from the order (sin, cos): the familiar "
        "[[c, -s], [s, c]] is for points (cos, sin) and would go k positions back. The paper "
        "gives this as its reason for sinusoids: relative positions are a linear map away. "
        "Rotary positions later turned queries and keys by the same angles."
    ),
    cases=(
        _sizes(1, 2, "the first pair, which turns by k radians"),
        _sizes(2, 4),
        _sizes(0, 4, "a shift by nothing, which is the identity"),
        _sizes(-3, 4),
        _sizes(1, 6),
        _sizes(5, 8),
        _sizes(17, 6),
    ),
    invariants=(
        Invariant(
            "pairs-apart",
            _pairs_apart,
            "Components of different pairs are mixed: outside of the blocks of two rows and two "
            "columns every entry must be 0, since each pair has an angle of its own.",
        ),
        Invariant(
            "lengths-kept",
            _lengths_kept,
            "The matrix is no rotation: it changes lengths. Every pair (sin, cos) is a point on a "
            "circle and stays on it, so each block is [[cos, sin], [-sin, cos]] of one angle.",
        ),
    ),
    mistakes=page(__file__, shift_matrix),
    alternatives=(_by_block_diag, _by_columns, _by_solving, _by_matrix_exponential),
    starter=(
        "def shift_matrix(k, d_model):\n"
        '    """Two whole numbers -> M (d_model, d_model) with M @ PE[p] = PE[p + k]."""\n'
        "    ...  # your code"
    ),
)
