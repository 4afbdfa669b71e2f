"""The rarer faults of `positional.shift_matrix`, as options of the matrix with the mistakes."""

import math

import torch

from annotated_transformer.exercises.content.faults import Fault

OTHERS = (
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
        "half-angle",
        {"angle": lambda k, w: k / w / 2},
        "The angles are half as large as they should be: the first pair turns by k radians.",
    ),
    Fault(
        "double-angle",
        {"angle": lambda k, w: 2 * k / w},
        "The angles are twice too large: the first pair turns by k radians.",
    ),
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
        "one-entry-a-pair",
        {"result": lambda m: torch.diag(m.diagonal()[::2])},
        "The matrix has one row for each pair, d_model / 2 of them. A pair has two components, "
        "sine and cosine, so it has two rows and two columns.",
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
