"""The faults of `warmup.pairwise_dot` in the numbers: another measure of two rows."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.faults import Fault


def product(a: Tensor, b: Tensor) -> Tensor:
    """Every row with every row."""
    return a @ b.transpose(-2, -1)


def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """From every row to every row."""
    return ((a.unsqueeze(-2) - b.unsqueeze(-3)) ** 2).sum(-1)


OTHER_NUMBERS = (
    Fault(
        "averaged",
        {"combine": lambda a, b: product(a, b) / a.size(-1)},
        "The products are averaged (`mean`) or divided by d. A dot product is their sum.",
    ),
    Fault(
        "scaled",
        {"combine": lambda a, b: product(a, b) / math.sqrt(a.size(-1))},
        "The products are divided by sqrt(d), as in attention. Here plain dot products are "
        "asked for.",
    ),
    Fault(
        "largest-product",
        {"combine": lambda a, b: (a.unsqueeze(-2) * b.unsqueeze(-3)).amax(-1)},
        "The largest of the d products is taken. A dot product is their sum.",
    ),
    *(
        Fault(
            f"in-{str(dtype).removeprefix('torch.')}",
            {"combine": lambda a, b, t=dtype: product(a.to(t), b.to(t)).to(a.dtype)},
            f"The product is computed in {str(dtype).removeprefix('torch.')}, which has two or "
            "three digits. Compute in the dtype of the inputs.",
        )
        for dtype in (torch.float16, torch.bfloat16)
    ),
    Fault(
        "lower-triangle",
        {"after": torch.tril},
        "The upper triangle is set to 0, as if later rows were hidden. There is no mask here: "
        "every row meets every row.",
    ),
    Fault(
        "upper-triangle",
        {"after": torch.triu},
        "The lower triangle is set to 0, as if each pair were needed once. a and b are two "
        "different sets of rows: every row meets every row.",
    ),
    Fault(
        "softmax",
        {"after": lambda z: z.softmax(-1)},
        "A softmax is applied. Plain dot products are asked for.",
    ),
    Fault(
        "cosines",
        {"combine": lambda a, b: product(F.normalize(a, dim=-1), F.normalize(b, dim=-1))},
        "These are cosines: the rows are divided by their lengths. A dot product keeps them.",
    ),
    Fault(
        "a-normalised",
        {"of_a": lambda a: F.normalize(a, dim=-1)},
        "The rows of a are divided by their lengths. A dot product keeps them.",
    ),
    Fault(
        "b-normalised",
        {"of_b": lambda b: F.normalize(b, dim=-1)},
        "The rows of b are divided by their lengths. A dot product keeps them.",
    ),
    Fault(
        "absolute",
        {"after": torch.abs},
        "The signs are lost. A dot product may be negative.",
    ),
    Fault("negative", {"after": torch.neg}, "Every sign is wrong: the products are negated."),
    Fault(
        "relu",
        {"after": torch.relu},
        "Negative products are cut off to 0. They stay as they are.",
    ),
    Fault(
        "differences",
        {"combine": lambda a, b: (a.unsqueeze(-2) - b.unsqueeze(-3)).sum(-1)},
        "Rows are subtracted from each other instead of multiplied.",
    ),
    Fault(
        "sums",
        {"combine": lambda a, b: (a.unsqueeze(-2) + b.unsqueeze(-3)).sum(-1)},
        "Rows are added to each other instead of multiplied.",
    ),
    Fault(
        "squared-distances",
        {"combine": squared_distances},
        "These are squared distances. They grow where a dot product shrinks: "
        "|a - b|² = |a|² + |b|² - 2 a·b.",
    ),
    Fault(
        "distances",
        {"combine": lambda a, b: squared_distances(a, b).sqrt()},
        "These are distances between the rows. A dot product is the sum of products.",
    ),
)
