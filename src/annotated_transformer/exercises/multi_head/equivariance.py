"""`multihead.equivariance`: what becomes of the output when the words change places."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Call, Case, Exercise, Mistake, call

Attend = Callable[[Tensor], Tensor]


def order_gap(attend: Attend, x: Tensor, perm: Tensor) -> float:
    permuted_first = attend(x[perm])  # (n, d): the words in another order
    permuted_after = attend(x)[perm]  # (n, d): the results in that order
    return (permuted_first - permuted_after).abs().max().item()


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


def _difference(attend: Attend, x: Tensor, perm: Tensor) -> Tensor:
    return attend(x[perm]) - attend(x)[perm]


def _scattered(values: Tensor, perm: Tensor) -> Tensor:
    """values with row i moved to perm[i], the inverse of values[perm]."""
    return values[torch.argsort(perm)]


def _in_place(attend: Attend, x: Tensor, perm: Tensor) -> float:
    expected = attend(x)[perm]
    x[:] = x[perm]
    return (attend(x) - expected).abs().max().item()


def _own_permutation(attend: Attend, x: Tensor, perm: Tensor) -> float:
    return order_gap(attend, x, torch.randperm(x.size(0)))


def _relative(attend: Attend, x: Tensor, perm: Tensor) -> float:
    return order_gap(attend, x, perm) / float(attend(x).abs().max())


MISTAKES = (
    Mistake(
        "invariance",
        lambda attend, x, perm: (attend(x[perm]) - attend(x)).abs().max().item(),
        "This measures invariance, attend(x[perm]) against attend(x): whether the output does not "
        "change at all. Attention is equivariant, not invariant: its output rows are permuted "
        "along with the input. Compare with `attend(x)[perm]`.",
    ),
    Mistake(
        "inverse-on-the-output",
        lambda attend, x, perm: (attend(x[perm]) - _scattered(attend(x), perm)).abs().max().item(),
        "The output is permuted with the inverse permutation (`argsort(perm)`, or perm once more "
        "on a side that already has it), the input with perm itself. Both sides take the same "
        "one: `x[perm]` and `attend(x)[perm]`.",
    ),
    Mistake(
        "inverse-on-the-input",
        lambda attend, x, perm: (attend(_scattered(x, perm)) - attend(x)[perm]).abs().max().item(),
        "The input is permuted with the inverse permutation (`argsort(perm)`), the output with "
        "perm itself. Both sides take the same one: `x[perm]` and `attend(x)[perm]`.",
    ),
    Mistake(
        "inverse-permutation",
        lambda attend, x, perm: order_gap(attend, x, torch.argsort(perm)),
        "The inverse of perm is used on both sides. That tests equivariance too, but for another "
        "permutation than the one given.",
    ),
    Mistake(
        "output-only",
        lambda attend, x, perm: (attend(x) - attend(x)[perm]).abs().max().item(),
        "Only the output is permuted; the input never is (`attend(x)` on both sides). One side "
        "has to see the words in the new order: `attend(x[perm])`.",
    ),
    Mistake(
        "always-zero",
        lambda attend, x, perm: (attend(x[perm]) - attend(x[perm])).abs().max().item(),
        "The result is always 0, whatever `attend` does: both sides are the same expression, or "
        "nothing is compared. For attention with positions or a causal mask it is not 0. One side "
        "permutes before attending, the other after.",
    ),
    Mistake(
        "mean",
        lambda attend, x, perm: _difference(attend, x, perm).abs().mean().item(),
        "The mean of the differences is taken, not the largest: a few wrong rows among many right "
        "ones would nearly vanish. Use `.abs().max()`.",
    ),
    Mistake(
        "no-absolute-value",
        lambda attend, x, perm: _difference(attend, x, perm).max().item(),
        "The absolute value is missing: `max` of the signed difference overlooks every negative "
        "one. Use `.abs().max()`.",
    ),
    Mistake(
        "absolute-value-last",
        lambda attend, x, perm: _difference(attend, x, perm).max().abs().item(),
        "The absolute value is taken after the maximum, too late: negative differences have been "
        "overlooked by then. First `.abs()`, then `.max()`.",
    ),
    Mistake(
        "signed-mean",
        lambda attend, x, perm: _difference(attend, x, perm).mean().item(),
        "The mean of the signed differences is taken: they cancel. Use `.abs().max()`.",
    ),
    Mistake(
        "sum",
        lambda attend, x, perm: _difference(attend, x, perm).abs().sum().item(),
        "The differences are added up. Asked for is the largest: `.abs().max()`.",
    ),
    Mistake(
        "signed-sum",
        lambda attend, x, perm: _difference(attend, x, perm).sum().abs().item(),
        "The signed differences are added up, so they cancel. Asked for is the largest absolute "
        "one: `.abs().max()`.",
    ),
    Mistake(
        "minimum",
        lambda attend, x, perm: _difference(attend, x, perm).abs().min().item(),
        "The smallest difference is taken. One equal entry would hide everything: `.abs().max()`.",
    ),
    Mistake(
        "median",
        lambda attend, x, perm: _difference(attend, x, perm).abs().median().item(),
        "The median of the differences is taken: half of them may be as large as they like. Asked "
        "for is the largest: `.abs().max()`.",
    ),
    Mistake(
        "largest-row-sum",
        lambda attend, x, perm: _difference(attend, x, perm).abs().sum(-1).max().item(),
        "The differences of a row are added up and the largest sum is taken. Asked for is the "
        "largest single number: `.abs().max()`.",
    ),
    Mistake(
        "rounded",
        lambda attend, x, perm: round(order_gap(attend, x, perm), 2),
        "The number is rounded, so a small difference becomes 0. Return it as it is: whether it is "
        "small enough is for the reader to judge.",
    ),
    Mistake(
        "norm",
        lambda attend, x, perm: _difference(attend, x, perm).norm().item(),
        "The length (2-norm) of the difference is taken. Asked for is the largest absolute "
        "entry: `.abs().max()`.",
    ),
    Mistake(
        "mean-square",
        lambda attend, x, perm: _difference(attend, x, perm).square().mean().item(),
        "The mean of the squares is taken. Asked for is the largest absolute entry: "
        "`.abs().max()`.",
    ),
    Mistake(
        "largest-square",
        lambda attend, x, perm: _difference(attend, x, perm).square().max().item(),
        "The largest square is taken. Asked for is the largest absolute difference itself.",
    ),
    Mistake(
        "largest-row-norm",
        lambda attend, x, perm: _difference(attend, x, perm).norm(dim=-1).max().item(),
        "The largest length of a row is taken. Asked for is the largest absolute entry.",
    ),
    Mistake(
        "difference-of-maxima",
        lambda attend, x, perm: abs((attend(x[perm]).max() - attend(x)[perm].max()).item()),
        "The maximum of each side is taken first and then compared: two quite different outputs "
        "can have the same maximum. Subtract first, then `.abs().max()`.",
    ),
    Mistake(
        "pooled",
        lambda attend, x, perm: (
            (attend(x[perm]).mean(0) - attend(x)[perm].mean(0)).abs().max().item()
        ),
        "The positions are averaged before comparing, and an average does not see the order: that "
        "tests the invariance of a pooled output. Compare row by row.",
    ),
    Mistake(
        "sorted",
        lambda attend, x, perm: (
            (attend(x[perm]).sort(0).values - attend(x).sort(0).values).abs().max().item()
        ),
        "Both outputs are sorted before comparing, which throws away in which row a result "
        "stands. Compare row by row, with `attend(x)[perm]`.",
    ),
    Mistake(
        "input-for-output",
        lambda attend, x, perm: (attend(x[perm]) - x[perm]).abs().max().item(),
        "The output is compared with the permuted input. Compare two outputs: `attend(x[perm])` "
        "and `attend(x)[perm]`.",
    ),
    Mistake(
        "relative",
        _relative,
        "The difference is divided by the size of the output. Asked for is the absolute one.",
    ),
    Mistake(
        "relative-entry-by-entry",
        lambda attend, x, perm: (_difference(attend, x, perm) / attend(x)[perm]).abs().max().item(),
        "Every difference is divided by the number it belongs to (a relative difference). Asked "
        "for is the absolute one: a small number may lie far off relatively and matter little.",
    ),
    Mistake(
        "first-row-only",
        lambda attend, x, perm: _difference(attend, x, perm)[0].abs().max().item(),
        "Only the first row is compared. A difference may stand in any row: take the largest of "
        "all, `.abs().max()`.",
    ),
    Mistake(
        "last-row-only",
        lambda attend, x, perm: _difference(attend, x, perm)[-1].abs().max().item(),
        "Only the last row is compared. A difference may stand in any row: take the largest of "
        "all, `.abs().max()`.",
    ),
    Mistake(
        "zero-or-one",
        lambda attend, x, perm: (
            1.0 - float(torch.allclose(attend(x[perm]), attend(x)[perm], atol=1e-5))
        ),
        "The result is 0 or 1, whether the two are equal. Asked for is how far they lie apart: the "
        "largest absolute difference.",
    ),
    Mistake(
        "own-permutation",
        _own_permutation,
        "A permutation of your own (`randperm`) is used, not the one given. Use `perm`.",
    ),
    Mistake(
        "columns",
        lambda attend, x, perm: (
            (attend(x[:, perm % x.size(1)]) - attend(x)[:, perm % x.size(1)]).abs().max().item()
        ),
        "The columns are permuted, `x[:, perm]`. Words are rows: `x[perm]`.",
    ),
    Mistake(
        "reversed-order",
        lambda attend, x, perm: (attend(x.flip(0)) - attend(x).flip(0)).abs().max().item(),
        "The order is reversed (`flip`) instead of permuted with `perm`.",
    ),
    Mistake(
        "in-place",
        _in_place,
        "`x[:] = ...` permutes the caller's x in place: it is changed after the call. Use "
        "`x[perm]`, which makes a new tensor.",
    ),
    Mistake(
        "answer-true-or-false",
        lambda attend, x, perm: bool(torch.allclose(attend(x[perm]), attend(x)[perm])),
        "True or False is returned. Asked for is a number, the largest absolute difference.",
    ),
    Mistake(
        "whole-difference",
        lambda attend, x, perm: _difference(attend, x, perm).abs(),
        "All differences are returned, (n, d). Asked for is one number, the largest: "
        "`.max().item()`.",
    ),
    Mistake(
        "a-number-a-row",
        lambda attend, x, perm: _difference(attend, x, perm).abs().amax(-1),
        "One number for each row is returned. Asked for is a single one, the largest of all.",
    ),
)


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
    mistakes=MISTAKES,
    alternatives=(_by_undoing, _by_matrix, _by_rows, _by_index_select),
    starter=(
        "def order_gap(attend, x, perm):\n"
        '    """How far reorder-then-attend and attend-then-reorder lie apart, a float."""\n'
        "    ...  # your code"
    ),
)
