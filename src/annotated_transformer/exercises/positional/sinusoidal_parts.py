"""The rarer faults in `positional.sinusoidal`, as options of the computation with the mistakes."""

import math

import torch
from torch import Tensor

from annotated_transformer.exercises.faults import Fault


def interleaved(sines: Tensor, cosines: Tensor) -> Tensor:
    """As in the paper: column 2i a sine, column 2i + 1 its cosine."""
    return torch.stack([sines, cosines], dim=-1).flatten(1)


def halves(sines: Tensor, cosines: Tensor) -> Tensor:
    """All sines, then all cosines."""
    return torch.cat([sines, cosines], dim=-1)


def _by_position(sines: Tensor, cosines: Tensor) -> Tensor:
    """Sines in even rows, cosines in odd rows, each angle in two columns."""
    even = torch.arange(sines.size(0))[:, None] % 2 == 0
    return torch.where(even, sines, cosines).repeat_interleave(2, dim=1)


def _zeros(angle: Tensor) -> Tensor:
    return torch.zeros_like(angle)


def _minus_cosine(angle: Tensor) -> Tensor:
    return -angle.cos()


def _minus_sine(angle: Tensor) -> Tensor:
    return -angle.sin()


def _root_of_the_rest(angle: Tensor) -> Tensor:
    return (1 - angle.sin() ** 2).clamp(min=0).sqrt()


def _sine_over(pos: Tensor, i: Tensor, d: int) -> Tensor:
    return pos.expand(-1, i.numel())


_ONE_FREQUENCY = (
    "Every pair of columns has the same angle, the position itself: the exponent is 0 throughout. "
    "An integer division (`2 * i // d_model`) does that, or a forgotten power. Divide with `/`."
)
_COLUMNS = (
    "Only half of the columns are there, d_model / 2. Sine and cosine both have d_model / 2 "
    "columns; together they fill d_model."
)

SHAPES = (
    Fault(
        "batch-axis",
        {"result": lambda e: e[None]},
        "There is an axis for the batch in front, (1, n_positions, d_model). Asked for is the "
        "matrix alone, (n_positions, d_model); it broadcasts over a batch by itself.",
    ),
    Fault(
        "axis-in-the-middle",
        {"result": lambda e: e[:, None]},
        "There is an axis in the middle, (n_positions, 1, d_model), made for batches that have "
        "positions first. Asked for is (n_positions, d_model).",
    ),
    Fault(
        "transposed",
        {"result": lambda e: e.T},
        "The matrix is transposed, (d_model, n_positions). Rows are positions: "
        "(n_positions, d_model).",
    ),
    Fault(
        "float64",
        {"dtype": torch.float64},
        "The numbers are right but they are float64. Compute in float64 if you like, and return "
        "float32, the dtype of the embeddings they are added to: `.float()`.",
    ),
)

OTHER_FAULTS = (
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
        "pairs-counted-from-one",
        {"exponent": lambda i, d: 2 * (i + 1) / d},
        "The pairs are counted from 1, so the first angle is already slowed down. i starts at 0: "
        "10000^0 = 1, the first angle is the position itself.",
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
    Fault("base-100", {"base": 100.0}, "The base of the power is 100. The paper's is 10000."),
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
        "positions-reversed",
        {"positions": lambda pos: pos.flip(0)},
        "The rows run backwards. Row 0 is position 0.",
    ),
    Fault(
        "positions-negative",
        {"positions": lambda pos: -pos},
        "The angles are negative: every sine has the wrong sign.",
    ),
    Fault(
        "sines-only",
        {"pair": (torch.sin, torch.sin)},
        "Odd columns hold the sine too. Column 2i + 1 is the cosine of the angle of column 2i.",
    ),
    Fault(
        "cosines-only",
        {"pair": (torch.cos, torch.cos)},
        "Even columns hold the cosine too. Column 2i is the sine of the angle.",
    ),
    Fault(
        "odd-columns-empty",
        {"pair": (torch.sin, _zeros)},
        "The odd columns are still 0. Fill them with the cosines: `[:, 1::2]`.",
    ),
    Fault(
        "even-columns-empty",
        {"pair": (_zeros, torch.cos)},
        "The even columns are still 0. Fill them with the sines: `[:, 0::2]`.",
    ),
    Fault(
        "tangents",
        {"pair": (torch.sin, torch.tan)},
        "The odd columns hold tangents. They hold the cosine of the angle.",
    ),
    Fault(
        "minus-cosine",
        {"pair": (torch.sin, _minus_cosine)},
        "The cosines have the wrong sign: position 0 is 0, 1, 0, 1, ...",
    ),
    Fault(
        "minus-sine",
        {"pair": (_minus_sine, torch.cos)},
        "The sines have the wrong sign: a positive angle has a positive sine at first.",
    ),
    Fault(
        "cosine-from-the-sine",
        {"pair": (torch.sin, _root_of_the_rest)},
        "The cosine is computed as sqrt(1 - sin²), which is never negative. A cosine is: take it "
        "of the angle.",
    ),
    Fault(
        "angles-alone",
        {"pair": (lambda a: a, lambda a: a)},
        "These are the angles. Take their sines in even columns, their cosines in odd ones.",
    ),
    Fault(
        "sine-or-cosine-by-position",
        {"layout": _by_position},
        "Sine and cosine alternate with the position, down the rows. They alternate with the "
        "column: every row has d_model / 2 of each.",
    ),
    Fault(
        "stacked-first-then-reshaped",
        {"layout": lambda s, c: torch.stack([s, c]).reshape(s.size(0), -1)},
        "Sines and cosines are stacked as the first axis and then reshaped, which mixes the rows. "
        "Stack them last, `dim=-1`, before `flatten(1)`.",
    ),
    Fault(
        "pairs-not-joined",
        {"layout": lambda s, c: torch.stack([s, c], dim=-1)},
        "The pairs have an axis of their own, (n_positions, d_model / 2, 2). Join it with the "
        "columns: `.flatten(1)`.",
    ),
    Fault(
        "joined-below",
        {"layout": lambda s, c: torch.cat([s, c], dim=0)},
        "The cosines stand below the sines (`cat` along dim 0). They are columns of the same row.",
    ),
    Fault("sine-half-alone", {"layout": lambda s, c: s}, _COLUMNS),
    Fault("cosine-half-alone", {"layout": lambda s, c: c}, _COLUMNS),
    Fault(
        "added",
        {"layout": lambda s, c: (s + c).repeat_interleave(2, dim=1)},
        "Sine and cosine are added up. They stand side by side, in columns of their own.",
    ),
    Fault(
        "times-root",
        {"result": lambda e: e * math.sqrt(e.size(-1))},
        "The encoding is multiplied by sqrt(d_model). That factor belongs to the embedding of the "
        "words.",
    ),
    Fault(
        "divided-by-root",
        {"result": lambda e: e / math.sqrt(e.size(-1))},
        "The encoding is divided by sqrt(d_model). Sine and cosine stay as they are.",
    ),
    Fault(
        "rows-of-length-one",
        {"result": lambda e: e / e.norm(dim=-1, keepdim=True)},
        "Each row is divided by its length. Sine and cosine stay as they are.",
    ),
    Fault(
        "first-row-zero",
        {"result": lambda e: torch.cat([torch.zeros_like(e[:1]), e[1:]])},
        "Row 0 is set to zeros, as if it were padding. Position 0 is a position: 0, 1, 0, 1, ...",
    ),
    Fault(
        "last-row-missing",
        {"result": lambda e: e[:-1]},
        "The last row is missing: there are n_positions rows, 0 to n_positions - 1.",
    ),
    Fault(
        "one-row-too-many",
        {"result": lambda e: torch.cat([e, e[-1:]])},
        "There is one row too many: n_positions rows, 0 to n_positions - 1.",
    ),
    Fault(
        "last-row-alone",
        {"result": lambda e: e[-1]},
        "One row is returned. Asked for is a row for every position.",
    ),
    Fault(
        "float16",
        {"dtype": torch.float16},
        "The numbers are float16, which has three digits. Return float32.",
    ),
    Fault(
        "integers",
        {"result": lambda e: e.long()},
        "The result is made of integers, so nearly everything is cut off to 0. Make the tensor "
        "that you fill with `dtype=torch.float32`.",
    ),
    Fault(
        "numpy-array",
        {"result": lambda e: e.numpy()},
        "This is a NumPy array. Turn it into a tensor: `torch.from_numpy(...).float()`.",
    ),
    Fault(
        "lists",
        {"result": lambda e: e.tolist()},
        "These are nested lists. Turn them into a tensor: `torch.tensor(...)`.",
    ),
)
