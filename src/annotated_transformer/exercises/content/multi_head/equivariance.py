"""`multihead.equivariance`: what becomes of the output when the words change places."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call

Attend = Callable[[Tensor], Tensor]


def order_gap(attend: Attend, x: Tensor, perm: Tensor) -> float:
    permuted_first = attend(x[perm])  # (n, d): the words in another order
    permuted_after = attend(x)[perm]  # (n, d): the results in that order
    difference = permuted_first - permuted_after
    return difference.abs().max().item()


def _by_undoing(attend: Attend, x: Tensor, perm: Tensor) -> float:
    undone = attend(x[perm])[torch.argsort(perm)]
    return float(torch.max(torch.abs(undone - attend(x))))


def _by_matrix(attend: Attend, x: Tensor, perm: Tensor) -> float:
    matrix = torch.eye(len(perm), dtype=x.dtype)[perm]
    difference = attend(matrix @ x) - matrix @ attend(x)
    return float(torch.linalg.vector_norm(difference, ord=torch.inf))


def _by_rows(attend: Attend, x: Tensor, perm: Tensor) -> float:
    before, after = attend(x), attend(torch.stack([x[i] for i in perm.tolist()]))
    largest = 0.0
    for row, i in enumerate(perm.tolist()):
        largest = max(largest, float((after[row] - before[i]).abs().max()))
    return largest


def _by_index_select(attend: Attend, x: Tensor, perm: Tensor) -> float:
    one = attend(x.index_select(0, perm))
    other = attend(x).index_select(0, perm)
    return max((one - other).max().item(), (other - one).max().item())


def _self_attention(x: Tensor) -> Tensor:
    return (x @ x.T / x.size(1) ** 0.5).softmax(-1) @ x


def _with_positions(x: Tensor) -> Tensor:
    positions = torch.arange(x.numel(), dtype=x.dtype).reshape(x.shape).sin()
    return -_self_attention(x + positions)


def _causal(x: Tensor) -> Tensor:
    future = torch.ones(x.size(0), x.size(0), dtype=torch.bool).triu(1)
    return (x @ x.T).masked_fill(future, float("-inf")).softmax(-1) @ x


def _pooled_to_every_row(x: Tensor) -> Tensor:
    return x.mean(0, keepdim=True).expand_as(x) * 2


def _running_sum(x: Tensor) -> Tensor:
    return -x.cumsum(0)


def _first_word_added(x: Tensor) -> Tensor:
    return x + x[0].sum()


def _all_differences_negative(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x = torch.tensor([[3.0, 2.0], [1.0, 0.5], [-1.0, -2.0]], dtype=dtype)
    return call(_first_word_added, x, torch.tensor([2, 0, 1]))


def _case(
    name: str, attend: Attend, n: int, d: int, perm: list[int], isolates: str | None = None
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        x = torch.randn(n, d, generator=generator, dtype=torch.float64).to(dtype)
        return call(attend, x, torch.tensor(perm))

    return Case(name, make, isolates=isolates, atol=1e-6)


EQUIVARIANCE = Exercise(
    id="multihead.equivariance",
    title="Words that change places",
    kind="code",
    difficulty=3,
    minutes=10,
    signature="order_gap(attend, x (n, d), perm (n,)) -> float",
    statement=(
        "attend is any function from (n, d) to (n, d). perm lists the n positions in a new order: "
        "row i of the reordered words is row perm[i] of x. Do it in two ways: first reorder the "
        "words and then attend, or first attend and then reorder the results. Return how far the "
        "two outcomes lie apart: the largest absolute difference of any of their numbers. Leave x "
        "untouched."
    ),
    objective=(
        "Measure what attention does when the words change places, with positions and without, "
        "and give the finding its right name."
    ),
    prerequisite="attention.scaled_dot_product",
    hints=(
        "You need two tensors of shape (n, d), one for each way. In which of the two does attend "
        "see the words in their new order?",
        "`x[perm]` puts the rows of x in the new order. The same index works on the result of "
        "attend. Subtract, and mind that a difference can be negative.",
        "`(attend(x[perm]) - attend(x)[perm]).abs().max().item()`",
    ),
    reference=order_gap,
    explanation=(
        "For attention without positions the number is 0. A query's result depends on the set of "
        "keys and values, not on their order, so each result stays with its word and moves when "
        "the word moves: f(Px) = P f(x). That is equivariance. Popular summaries say invariance, "
        "f(Px) = f(x), which would mean that row 0 gives the same result whichever word stands "
        "there. Only a pooled output, such as the mean over positions, is invariant. Positions or "
        "a causal mask break the symmetry, and then the difference is far from 0."
    ),
    cases=(
        _case(
            "attention without positions, 3 words of width 2",
            _self_attention,
            3,
            2,
            [1, 2, 0],
            isolates="an equivariant function, for which the difference is 0",
        ),
        _case(
            "attention with positions, 3 words of width 4",
            _with_positions,
            3,
            4,
            [1, 2, 0],
            isolates="a function that is not equivariant, for which the difference is not 0",
        ),
        Case(
            "a function that adds the first word to all, 3 words",
            _all_differences_negative,
            isolates="the absolute value: all differences are negative",
        ),
        _case("causal attention, 4 words of width 3", _causal, 4, 3, [2, 0, 3, 1]),
        _case("a running sum, 5 words of width 2", _running_sum, 5, 2, [3, 0, 1, 4, 2]),
        _case("a mean in every row, 3 words", _pooled_to_every_row, 3, 2, [2, 0, 1]),
        _case("attention without positions, 5 words", _self_attention, 5, 5, [4, 2, 0, 1, 3]),
        _case("attention with positions, 6 words", _with_positions, 6, 6, [1, 2, 3, 5, 0, 4]),
    ),
    mistakes=page(__file__, order_gap),
    alternatives=(_by_undoing, _by_matrix, _by_rows, _by_index_select),
    starter=(
        "def order_gap(attend, x, perm):\n"
        '    """How far reorder-then-attend and attend-then-reorder lie apart, a float."""\n'
        "    ...  # your code"
    ),
)
