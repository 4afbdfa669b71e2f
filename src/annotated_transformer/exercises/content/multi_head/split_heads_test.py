"""`multihead.split_heads_test`: a test of how columns become heads (section 3.2.2)."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.multi_head.split_heads import SPLIT_HEADS
from annotated_transformer.exercises.content.turned import turned

Split = Callable[[Tensor, int], Tensor]


def test_split_heads(split_heads: Split) -> None:
    x = torch.arange(2 * 3 * 8).reshape(2, 3, 8)  # every number once
    for n_heads in (1, 2, 4):
        heads = split_heads(x, n_heads)
        d_k = 8 // n_heads
        assert heads.shape == (2, n_heads, 3, d_k)
        for i in range(n_heads):
            assert torch.equal(heads[:, i], x[:, :, i * d_k : (i + 1) * d_k])


def _by_hand(split_heads: Split) -> None:
    x = torch.tensor([[[1, 2, 3, 4, 5, 6], [11, 12, 13, 14, 15, 16]]])
    assert split_heads(x, 3).tolist() == [
        [[[1, 2], [11, 12]], [[3, 4], [13, 14]], [[5, 6], [15, 16]]]
    ]
    assert split_heads(x, 2).tolist() == [[[[1, 2, 3], [11, 12, 13]], [[4, 5, 6], [14, 15, 16]]]]
    both = torch.cat([x, x + 100])
    assert torch.equal(split_heads(both, 2)[1], split_heads(x, 2)[0] + 100)


def _by_putting_together_again(split_heads: Split) -> None:
    torch.manual_seed(0)
    for batch, n, d_model, n_heads in ((2, 5, 12, 3), (1, 2, 4, 4), (3, 4, 6, 2)):
        x = torch.randn(batch, n, d_model)
        heads = split_heads(x, n_heads)
        assert heads.shape == (batch, n_heads, n, d_model // n_heads)
        assert torch.equal(torch.cat(list(heads.unbind(1)), dim=-1), x)


def _by_marked_columns(split_heads: Split) -> None:
    for column in range(8):
        for position in range(3):
            x = torch.zeros(2, 3, 8)
            x[1, position, column] = 1
            heads = split_heads(x, 4)
            assert heads.shape == (2, 4, 3, 2)
            assert heads.nonzero().tolist() == [[1, column // 2, position, column % 2]]


SPLIT_HEADS_TEST = turned(
    SPLIT_HEADS,
    __file__,
    test_split_heads,
    wrong=(
        *("view-only", "interleaved-columns", "not-transposed", "positions-and-width-exchanged"),
        *("widths-counted-as-heads", "columns-then-view", "heads-reversed", "heads-first"),
        *("width-before-positions", "folded-into-batch", "concatenated-on-positions"),
        *("same-columns", "off-by-one", "stride-of-one", "fixed-number-of-heads", "unchanged"),
    ),
    alternatives=(_by_hand, _by_putting_together_again, _by_marked_columns),
    title="A test of splitting heads",
    ask=(
        "Write a test of `split_heads(x, n_heads)`, which gives for x (B, n, d_model) the heads "
        "(B, n_heads, n, d_k): head i holds the columns i * d_k to (i + 1) * d_k - 1."
    ),
    objective="Test a rearrangement by numbers that can be told apart.",
    hints=(
        "A right shape says little: a view gives it too. What do you have to put in, so that you "
        "see where each number went?",
        "Every number once: `torch.arange(48).reshape(2, 3, 8)`. More positions than heads, or "
        "fewer; not as many.",
        "For each head i: `heads[:, i]` has to be `x[:, :, i * d_k : (i + 1) * d_k]`; and that "
        "for two numbers of heads.",
    ),
    explanation=(
        "A view without the transposition has the right shape and mixes positions: each head then "
        "gets a stretch of the text. The model trains, and two tokens of three come out right. "
        "Numbers of which none occurs twice show where each went, and unequal sizes tell axes "
        "apart by shape."
    ),
    difficulty=2,
    minutes=8,
)
