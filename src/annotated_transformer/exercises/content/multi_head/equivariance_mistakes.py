"""The named mistakes of `multihead.equivariance`."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Mistake

Attend = Callable[[Tensor], Tensor]


def _difference(attend: Attend, x: Tensor, perm: Tensor) -> Tensor:
    return attend(x[perm]) - attend(x)[perm]


def _gap(attend: Attend, x: Tensor, perm: Tensor) -> float:
    """What is asked for."""
    return _difference(attend, x, perm).abs().max().item()


def _scattered(values: Tensor, perm: Tensor) -> Tensor:
    """values with row i moved to perm[i], the inverse of values[perm]."""
    return values[torch.argsort(perm)]


def _in_place(attend: Attend, x: Tensor, perm: Tensor) -> float:
    expected = attend(x)[perm]
    x[:] = x[perm]
    return (attend(x) - expected).abs().max().item()


def _own_permutation(attend: Attend, x: Tensor, perm: Tensor) -> float:
    return _gap(attend, x, torch.randperm(x.size(0)))


def _relative(attend: Attend, x: Tensor, perm: Tensor) -> float:
    return _gap(attend, x, perm) / float(attend(x).abs().max())


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
        lambda attend, x, perm: _gap(attend, x, torch.argsort(perm)),
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
        lambda attend, x, perm: round(_gap(attend, x, perm), 2),
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
