"""`beyond.rope`: positions as rotations of queries and keys."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.beyond.drawn import drawn
from annotated_transformer.exercises.exercise import Case, Exercise, Gradient, Stage


def apply_rope(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    d = x.size(-1)
    i = torch.arange(d // 2, dtype=torch.float64)  # (d / 2,): the pairs 0, 1, 2, ...
    rates = base ** (-2 * i / d)  # radians a position
    angles = positions[:, None] * rates  # (n, d / 2)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    u, v = x[..., 0::2], x[..., 1::2]  # (..., n, d / 2) each
    turned_u = u * cos - v * sin
    turned_v = u * sin + v * cos
    return torch.stack((turned_u, turned_v), dim=-1).flatten(-2)  # the pairs side by side again


def _by_complex_numbers(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    d = x.shape[-1]
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], d // 2, 2).contiguous())
    rates = base ** (-torch.arange(0, d, 2, dtype=x.dtype) / d)
    angles = torch.outer(positions.to(x.dtype), rates)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(turned).reshape(x.shape)


def _by_turned_copy(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    rates = 1.0 / base ** (torch.arange(0, x.size(-1), 2).float() / x.size(-1))
    angles = (positions.float()[:, None] * rates).repeat_interleave(2, dim=-1)
    turned = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).reshape(x.shape)
    return x * angles.cos().to(x) + turned * angles.sin().to(x)


def _by_matrices(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    d = x.size(-1)
    rotation = torch.zeros(len(positions), d, d, dtype=x.dtype)
    for row, position in enumerate(positions.tolist()):
        for i in range(d // 2):
            angle = torch.tensor(position * base ** (-2 * i / d))
            rotation[row, 2 * i, 2 * i] = rotation[row, 2 * i + 1, 2 * i + 1] = angle.cos()
            rotation[row, 2 * i, 2 * i + 1] = -angle.sin()
            rotation[row, 2 * i + 1, 2 * i] = angle.sin()
    return torch.einsum("nij,...nj->...ni", rotation, x)


def _by_filling(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    out = torch.empty_like(x)
    for i in range(x.size(-1) // 2):
        angle = positions.to(x.dtype) / base ** (2 * i / x.size(-1))
        a, b = x[..., 2 * i], x[..., 2 * i + 1]
        out[..., 2 * i] = a * angle.cos() - b * angle.sin()
        out[..., 2 * i + 1] = b * angle.cos() + a * angle.sin()
    return out


def _case(
    name: str,
    shape: tuple[int, ...],
    positions: list[int],
    *base: float,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    """Angles computed in float32 are right too: the tolerance leaves room for them."""
    return drawn(
        name,
        (shape,),
        torch.tensor(positions),
        *base,
        isolates=isolates,
        stage=stage,
        dtype=dtype,
        gradient=gradient,
        rtol=1e-4,
        atol=2e-5,
    )


ROPE = Exercise(
    id="beyond.rope",
    title="Rotary positions",
    kind="code",
    difficulty=3,
    minutes=15,
    signature=(
        "apply_rope(x: (..., n, d), positions: LongTensor (n,), base: float = 10000.0) "
        "-> (..., n, d)"
    ),
    statement=(
        "Rotate each adjacent pair (x[2i], x[2i+1]) of the last axis by the angle "
        "+position * base**(-2i/d), where position is the entry of `positions` for that row "
        "(RoFormer's interleaved layout); d is even. A rotation by +a takes (u, v) to "
        "(u cos a - v sin a, u sin a + v cos a). Shape and dtype are those of x, which is left "
        "untouched. Gradients have to flow back to its inputs: it is trained through."
    ),
    objective="Put positions into queries and keys so that their dot product sees distances only.",
    prerequisite="positional.shift_matrix",
    hints=(
        "How many angles does one position have, and which two numbers of x does each of them "
        "turn?",
        "Angles: the outer product of `positions` (n,) and base^(-2i/d) for i = 0, ..., d/2 - 1. "
        "The first numbers of the pairs are `x[..., 0::2]`, the second `x[..., 1::2]`.",
        "`angles = positions[:, None] * base ** (-torch.arange(0, d, 2) / d)`; with u and v the "
        "even and odd columns, `torch.stack((u * cos - v * sin, u * sin + v * cos), dim=-1)"
        ".flatten(-2)`.",
    ),
    reference=apply_rope,
    explanation=(
        "Each pair is a point in a plane, and a position turns it: by one radian a step for the "
        "first pair, ever more slowly for the others, with the very wavelengths of the sinusoidal "
        "encoding. A dot product of two vectors does not change when both are turned by the same "
        "angle, so q at position m and k at position n meet in a score that depends on m - n "
        "alone. The length of a vector stays what it was. Many programs pair x[i] with x[i + d/2] "
        "instead (half-split). Either layout works from scratch; weights trained with the one are "
        "useless with the other unless their columns are reordered, and no error is raised."
    ),
    cases=(
        _case(
            "one pair at position 1",
            (1, 2),
            [1],
            isolates="the rotation itself: one pair, turned by 1 radian",
        ),
        _case(
            "two pairs at position 1, base 100",
            (1, 4),
            [1],
            100.0,
            isolates="the pairs and their angles: 1 and 1/10",
        ),
        _case(
            "x of shape (3, 4), positions 0, 1, 2",
            (3, 4),
            [0, 1, 2],
            isolates="the positions: one row each",
        ),
        _case(
            "x of shape (2, 3, 6), positions 5, 2, 9",
            (2, 3, 6),
            [5, 2, 9],
            isolates="positions that are not 0, 1, 2",
            gradient="required",
        ),
        _case(
            "x of shape (4, 8), base 50, positions 7, 7, 0, 3",
            (4, 8),
            [7, 7, 0, 3],
            50.0,
            isolates="the base, and positions that repeat",
        ),
        _case(
            "x of shape (2, 5, 5, 6), positions 3 to 7",
            (2, 5, 5, 6),
            [3, 4, 5, 6, 7],
            isolates="the axis of the positions: heads and positions are equally many",
        ),
        _case(
            "x of shape (6, 6, 6), positions 4, 1, 0, 6, 2, 8",
            (6, 6, 6),
            [4, 1, 0, 6, 2, 8],
            isolates="the axes: all have the same length",
        ),
        _case(
            "x of shape (1, 2, 3, 10), base 1000, positions 11, 4, 6",
            (1, 2, 3, 10),
            [11, 4, 6],
            1000.0,
        ),
        _case("x of shape (2, 1, 12) at position 13", (2, 1, 12), [13]),
        _case(
            "float32, x of shape (2, 3, 8)",
            (2, 3, 8),
            [1, 6, 2],
            stage="other",
            dtype=torch.float32,
        ),
        drawn(
            "views that are not contiguous",
            ((2, 4, 3, 6),),
            torch.tensor([3, 1, 4, 1]),
            change=lambda x: (x.transpose(1, 2),),
            stage="other",
            rtol=1e-4,
            atol=2e-5,
        ),
    ),
    mistakes=page(__file__, apply_rope),
    alternatives=(_by_complex_numbers, _by_turned_copy, _by_matrices, _by_filling),
    starter=(
        "def apply_rope(x, positions, base=10000.0):\n"
        '    """Turn the pairs (x[2i], x[2i+1]) by position * base**(-2i/d): (..., n, d)."""\n'
        "    ...  # your code"
    ),
)
