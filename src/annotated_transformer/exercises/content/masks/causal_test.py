"""`masks.causal_test`: a test of the causal mask (section 3.2.3)."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.masks.causal import CAUSAL
from annotated_transformer.exercises.content.turned import turned

Mask = Callable[[int], Tensor]


def test_causal_mask(causal_mask: Mask) -> None:
    for n in (1, 2, 5):
        mask = causal_mask(n)
        assert mask.dtype == torch.bool
        assert mask.shape == (n, n)
        for i in range(n):
            for j in range(n):
                assert mask[i, j] == (j <= i)


def _by_a_table(causal_mask: Mask) -> None:
    mask = causal_mask(4)
    assert mask.dtype is torch.bool
    assert mask.tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [True, True, True, False],
        [True, True, True, True],
    ]


def _by_torch(causal_mask: Mask) -> None:
    for n in range(1, 7):
        torch.testing.assert_close(causal_mask(n), torch.ones(n, n).tril().bool())


def _by_what_a_query_sees(causal_mask: Mask) -> None:
    mask = causal_mask(6)
    assert mask.dtype == torch.bool
    assert mask.shape == (6, 6)
    for query, row in enumerate(mask):
        assert row.nonzero().flatten().tolist() == list(range(query + 1))


CAUSAL_TEST = turned(
    CAUSAL,
    __file__,
    test_causal_mask,
    wrong=(
        *("strict-diagonal", "inverted", "transposed", "one-ahead", "float-ones", "integer-ones"),
        *("additive", "batch-axis", "no-mask", "self-only", "previous-only", "window-of-two"),
        *("flipped-columns", "flipped-rows", "one-too-large"),
    ),
    alternatives=(_by_a_table, _by_torch, _by_what_a_query_sees),
    title="A test of the causal mask",
    ask="Write a test of `causal_mask(n)`, which gives a boolean matrix (n, n), True where j <= i.",
    objective="Test a mask so that nothing but the right one gets through.",
    hints=(
        "What can differ from the right mask and still look like it? Its dtype, its shape, a "
        "diagonal, the far past.",
        "One size is not enough if it is 1 or 2: a window of two positions is the whole mask then.",
        "For n = 5, say of every pair (i, j) what `mask[i, j]` has to be; before that, that the "
        "dtype is `torch.bool` and the shape (n, n).",
    ),
    explanation=(
        "A mask that lets too much be seen raises no error and lowers the loss, so only a test "
        "finds it. It has to look at every entry: that the future is hidden says nothing about "
        "the past, and a sum does not know where its ones stand. The dtype is part of it, since "
        "ones and zeros of another dtype are added to scores and hide nothing."
    ),
    difficulty=1,
    minutes=6,
)
