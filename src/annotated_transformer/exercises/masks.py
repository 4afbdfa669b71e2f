"""Exercises on masks (sections 3.1 and 3.2.3): boolean, True = may attend."""

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Call, Case, Exercise, Mistake, call


def causal_mask(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril()  # (n, n); the diagonal is kept


def _causal_by_positions(n: int) -> Tensor:
    positions = torch.arange(n)
    return positions[None, :] <= positions[:, None]


def _causal_by_loops(n: int) -> Tensor:
    return torch.tensor([[j <= i for j in range(n)] for i in range(n)], dtype=torch.bool)


def _strict_diagonal(n: int) -> Tensor:
    return torch.ones(n, n, dtype=torch.bool).tril(-1)


def _inverted(n: int) -> Tensor:
    return ~causal_mask(n)


def _transposed(n: int) -> Tensor:
    return causal_mask(n).T


def _floating(n: int) -> Tensor:
    return torch.ones(n, n).tril()


def _additive(n: int) -> Tensor:
    return torch.zeros(n, n).masked_fill(~causal_mask(n), float("-inf"))


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
        "Row i belongs to query i. Write down by hand which keys rows 0, 1 and 2 may see for n=3.",
        "A position may attend to itself: the diagonal is True, all that lies right of it False.",
        "Start from a boolean matrix of ones and keep its lower triangle with `tril`.",
    ),
    reference=causal_mask,
    explanation=(
        "Query i stands for the decoder's position i, which has seen the tokens 0 to i as input "
        "and predicts token i + 1. It may therefore look at itself and to the left. The diagonal "
        "must stay: without it the first query could attend to nothing at all."
    ),
    cases=(_length(3), _length(1), _length(2), _length(6)),
    mistakes=(
        Mistake(
            "strict-diagonal",
            _strict_diagonal,
            "The diagonal is False, so a position may not attend to itself and the first query has "
            "no key at all. The decoder's input is already shifted right, so token i may be seen "
            "at position i: keep the diagonal (`j <= i`, not `j < i`).",
        ),
        Mistake(
            "inverted",
            _inverted,
            "The mask says True where attention is forbidden. Here True means may attend, as in "
            "torch's `scaled_dot_product_attention`; `torch.nn.MultiheadAttention` uses the "
            "opposite sense, which is where this often comes from. Negate it.",
        ),
        Mistake(
            "transposed",
            _transposed,
            "The upper triangle is True: every query sees itself and the future, and nothing of "
            "the past. Rows are queries and columns are keys, so row i is True at columns 0 to i: "
            "the lower triangle (`tril`, not `triu`).",
        ),
        Mistake(
            "float-ones",
            _floating,
            "The pattern is right but the numbers are floats. A mask of 1.0 and 0.0 would be added "
            "to the scores by torch instead of forbidding anything. Ask for `dtype=torch.bool`.",
        ),
        Mistake(
            "additive",
            _additive,
            "This is an additive mask, 0 and -inf, to be added to the scores. Asked for is the "
            "boolean mask, True = may attend; attention turns it into -inf itself.",
        ),
    ),
    alternatives=(_causal_by_positions, _causal_by_loops),
    starter="def causal_mask(n):\n    ...  # your code",
)

EXERCISES: tuple[Exercise, ...] = (CAUSAL,)
