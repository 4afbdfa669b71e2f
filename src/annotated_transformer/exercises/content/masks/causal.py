"""`masks.causal`: the mask of decoder self-attention (section 3.2.3, third bullet)."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def causal_mask(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()  # (n, n); the diagonal is kept


def _by_positions(n: int) -> Tensor:
    positions = torch.arange(n)
    return positions[None, :] <= positions[:, None]


def _by_loops(n: int) -> Tensor:
    return torch.tensor([[j <= i for j in range(n)] for i in range(n)], dtype=torch.bool)


def _by_hiding_the_future(n: int) -> Tensor:
    return torch.triu(torch.ones(n, n), diagonal=1) == 0


def _by_filling_rows(n: int) -> Tensor:
    mask = torch.zeros(n, n, dtype=torch.bool)
    for i in range(n):
        mask[i, : i + 1] = True
    return mask


def _by_running_sums(n: int) -> Tensor:
    return torch.eye(n).cumsum(dim=0).bool()


def _length(n: int) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(n)

    return Case(f"n = {n}", make)


CAUSAL = Exercise(
    id="masks.causal",
    title="The causal mask",
    kind="code",
    difficulty=1,
    minutes=5,
    signature="causal_mask(n: int) -> BoolTensor (n, n)",
    statement=(
        "Return the boolean mask of decoder self-attention for n positions: entry [i, j] is True "
        "when query i may attend to key j, that is when j <= i."
    ),
    objective="Write the mask that keeps a decoder from seeing the words it has to predict.",
    prerequisite="Section 3.2.3 of the paper, third bullet",
    hints=(
        "Row i belongs to query i. Which keys may rows 0, 1 and 2 see when n = 3? Write the nine "
        "entries down by hand.",
        "A position may attend to itself: the diagonal is True, all that lies right of it False.",
        "Start from a boolean matrix of ones, `torch.ones(n, n, dtype=torch.bool)`, and keep its "
        "lower triangle with `tril()`.",
    ),
    reference=causal_mask,
    explanation=(
        "Query i stands for the decoder's position i, which has seen the tokens 0 to i as input "
        "and predicts token i + 1. It may therefore look at itself and to the left. The diagonal "
        "must stay: without it the first query could attend to nothing at all."
    ),
    cases=(_length(3), _length(1), _length(2), _length(6)),
    mistakes=page(__file__, causal_mask),
    alternatives=(
        _by_positions,
        _by_loops,
        _by_hiding_the_future,
        _by_filling_rows,
        _by_running_sums,
    ),
    starter=(
        "def causal_mask(n):\n"
        '    """n positions -> boolean (n, n), True where query i may attend to key j."""\n'
        "    ...  # your code"
    ),
)
