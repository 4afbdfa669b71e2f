"""The faults of `positional.sinusoidal` in the angles: exponent, base, brackets, positions."""

import math

import torch
from torch import Tensor

from annotated_transformer.exercises.content.faults import Fault
from annotated_transformer.exercises.content.positional.sinusoidal_columns import interleaved


def _sine_over(pos: Tensor, i: Tensor, d: int) -> Tensor:
    return pos.expand(-1, i.numel())


_ONE_FREQUENCY = (
    "Every pair of columns has the same angle, the position itself: the exponent is 0 throughout. "
    "An integer division (`2 * i // d_model`) does that, or a forgotten power. Divide with `/`."
)
ANGLE_FAULTS = (
    Fault(
        "column-as-exponent",
        {
            "exponent": lambda i, d: 4 * i / d,
            "cosine_exponent": lambda i, d: (4 * i + 2) / d,
        },
        "The number of the column is used as i, with exponent 2 · column / d_model. i counts "
        "pairs: both columns of a pair share the exponent 2i / d_model, i = column // 2.",
    ),
    Fault(
        "cosine-one-pair-further",
        {"cosine_exponent": lambda i, d: 2 * (i + 1) / d},
        "The cosine columns take the angle of the next pair (`arange(1, ...)` or column + 1). Sine "
        "and cosine of a pair share the exponent 2i / d_model.",
    ),
    Fault(
        "cosine-half-a-pair-further-of-half",
        {"exponent": lambda i, d: i / d, "cosine_exponent": lambda i, d: (i + 1) / d},
        "The exponents of the sines are i / d_model and those of the cosines (i + 1) / d_model. "
        "Both columns of a pair share the exponent 2i / d_model.",
    ),
    Fault(
        "odd-exponent",
        {"exponent": lambda i, d: (2 * i + 1) / d},
        "The exponent is (2i + 1) / d_model in both columns. 2i + 1 is the number of the odd "
        "column; the exponent is 2i / d_model for the two of them.",
    ),
    Fault(
        "divided-by-d-minus-one",
        {"exponent": lambda i, d: 2 * i / (d - 1)},
        "The exponent is divided by d_model - 1. The paper divides by d_model.",
    ),
    Fault(
        "half-exponent-to-the-end",
        {"exponent": lambda i, d: i / max(d - 1, 1)},
        "The exponent is i / (d_model - 1). It is 2i / d_model, with i counting pairs.",
    ),
    Fault(
        "divided-by-512",
        {"exponent": lambda i, d: 2 * i / 512},
        "The exponent is divided by 512, the base model's width. Divide by the argument d_model.",
    ),
    Fault(
        "exponent-not-divided",
        {"exponent": lambda i, d: 2 * i},
        "The exponent is not divided by d_model: 10000^(2i) grows beyond all bounds. The exponent "
        "is 2i / d_model, below 1.",
    ),
    Fault("one-frequency", {"exponent": lambda i, d: 0 * i}, _ONE_FREQUENCY),
    Fault(
        "slowest-first",
        {"exponent": lambda i, d: 2 * (d // 2 - 1 - i) / d},
        "The pairs come in reverse order, the slowest first. The first pair is the fastest: its "
        "exponent is 0.",
    ),
    Fault("base-10", {"base": 10.0}, "The base of the power is 10. The paper's is 10000."),
    Fault("base-100000", {"base": 1e5}, "The base of the power is 100000. The paper's is 10000."),
    Fault(
        "base-1000000", {"base": 1e6}, "The base of the power is a million. The paper's is 10000."
    ),
    Fault(
        "logarithm-to-ten",
        {"base": math.exp(math.log10(10000))},
        "The logarithm to base 10 is put into exp, so the base is e^4. "
        "exp needs the natural logarithm, `math.log(10000)`.",
    ),
    Fault(
        "logarithm-to-two",
        {"base": math.exp(math.log2(10000))},
        "The logarithm to base 2 is put into exp. It needs the natural one, `math.log(10000)`.",
    ),
    Fault(
        "no-exp",
        {"angles": lambda pos, i, d: pos * (-math.log(10000) * 2 * i / d)},
        "The position is multiplied by the logarithm itself: exp is missing around "
        "-2i / d_model · log(10000).",
    ),
    Fault(
        "power-missing",
        {"angles": lambda pos, i, d: pos / (10000 * 2 * i / d)},
        "10000 is multiplied by 2i / d_model instead of raised to it: write `10000 ** (...)`.",
    ),
    Fault(
        "power-missing-at-least-one",
        {"angles": lambda pos, i, d: pos / (10000 * 2 * i / d).clamp(min=1)},
        "10000 is multiplied by 2i / d_model instead of raised to it (with a 1 for the first "
        "pair): write `10000 ** (...)`.",
    ),
    Fault(
        "angles-next-to-zero",
        {"angles": lambda pos, i, d: pos / 10000**2 * i / d},
        "Every row is that of position 0: the angles are 0 or next to it. Either the position is "
        "not used, or brackets are missing: `pos / 10000 ** 2 * i / d_model` squares 10000. Write "
        "`pos / 10000 ** (2 * i / d_model)`.",
    ),
    Fault(
        "brackets-missing-below",
        {"angles": lambda pos, i, d: pos / (10000**2 * i / d)},
        "Brackets are missing: `10000 ** 2 * i / d_model` squares 10000 and then multiplies. "
        "Write `10000 ** (2 * i / d_model)`.",
    ),
    Fault(
        "brackets-around-the-product",
        {"angles": lambda pos, i, d: pos / 10000 ** (2 * i) / d},
        "Brackets are missing: `10000 ** (2 * i) / d_model` divides the power, not the exponent. "
        "Write `10000 ** (2 * i / d_model)`.",
    ),
    Fault(
        "power-of-the-quotient",
        {"angles": lambda pos, i, d: (pos / 10000) ** (2 * i / d)},
        "The quotient pos / 10000 is raised to 2i / d_model. Only 10000 is: "
        "pos / 10000^(2i / d_model).",
    ),
    Fault(
        "position-and-pair-exchanged",
        {"angles": lambda pos, i, d: i / 10000 ** (2 * pos / d)},
        "Position and pair are exchanged: the position stands in the exponent. It is divided by "
        "10000^(2i / d_model), where i counts pairs of columns.",
    ),
    Fault(
        "divided-after-the-sine",
        {
            "angles": _sine_over,
            "layout": lambda s, c: interleaved(
                *(f / 10000 ** (torch.arange(f.size(1)) / f.size(1)) for f in (s, c))
            ),
        },
        "Sine and cosine of the position are divided by 10000^(2i / d_model). The division "
        "belongs inside: it is the angle that is divided.",
    ),
    Fault(
        "position-alone-times-pair",
        {"angles": lambda pos, i, d: pos * 2 * i / d},
        "The angle is pos · 2i / d_model: the power of 10000 is missing.",
    ),
    Fault(
        "pi-times",
        {"angle": lambda pos, w: math.pi * pos / w},
        "The angle is multiplied by π. It is the position divided by the power, in radians.",
    ),
    Fault(
        "degrees",
        {"angle": lambda pos, w: pos / w * math.pi / 180},
        "The angle is converted from degrees. It is in radians already: the position "
        "divided by the power, as it is.",
    ),
    Fault(
        "position-scaled-to-one",
        {"positions": lambda pos: pos / max(len(pos), 1)},
        "The positions are divided by their number. A row must not depend on how many rows there "
        "are: use pos itself.",
    ),
    Fault(
        "position-scaled-to-one-inclusive",
        {"positions": lambda pos: pos / max(len(pos) - 1, 1)},
        "The positions are scaled to run from 0 to 1. A row must not depend on how many rows "
        "there are: use pos itself.",
    ),
    Fault(
        "positions-doubled",
        {"positions": lambda pos: 2 * pos},
        "The angles are twice too large: the first pair turns by one radian a position.",
    ),
    Fault(
        "positions-halved",
        {"positions": lambda pos: pos / 2},
        "The angles are half as large as they should be: the first pair turns by one radian a "
        "position.",
    ),
    Fault(
        "one-position-more",
        {"positions": lambda pos: torch.arange(len(pos) + 1, dtype=pos.dtype)},
        "There is one row too many: positions run from 0 to n_positions - 1.",
    ),
    Fault(
        "positions-reversed",
        {"positions": lambda pos: pos.flip(0)},
        "The rows run backwards. Row 0 is position 0.",
    ),
    Fault(
        "positions-negative",
        {"positions": lambda pos: -pos},
        "The angles are negative: every sine has the wrong sign.",
    ),
)
