"""`masks.padding_test`: a test of the padding mask (what batching adds to section 3.2)."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.masks.padding import PADDING
from annotated_transformer.exercises.content.turned import turned

Mask = Callable[..., Tensor]


def test_padding_mask(padding_mask: Mask) -> None:
    tokens = torch.tensor([[1, 7, 2, 0], [0, 3, 0, 5], [4, 1, 9, 2]])
    for pad_id in (0, 2):
        mask = padding_mask(tokens, pad_id)
        assert mask.dtype == torch.bool
        assert mask.shape == (3, 1, 1, 4)
        for b in range(3):
            for j in range(4):
                assert mask[b, 0, 0, j] == (tokens[b, j] != pad_id)
    assert torch.equal(padding_mask(tokens), padding_mask(tokens, 0))


def _by_a_table(padding_mask: Mask) -> None:
    T, F = True, False  # noqa: N806
    tokens = torch.tensor([[0, 5, 1, 2, 0], [3, 0, 1, 0, 0]])
    assert padding_mask(tokens).dtype == torch.bool
    assert padding_mask(tokens).tolist() == [[[[F, T, T, T, F]]], [[[T, F, T, F, F]]]]
    assert padding_mask(tokens, pad_id=1).tolist() == [[[[T, T, F, T, T]]], [[[T, T, F, T, T]]]]


def _by_torch(padding_mask: Mask) -> None:
    torch.manual_seed(0)
    for batch, n in ((1, 1), (2, 5), (4, 3)):
        tokens = torch.randint(0, 4, (batch, n))
        expected = tokens.ne(0)[:, None, None, :]
        torch.testing.assert_close(padding_mask(tokens), expected)
        expected = tokens.ne(2)[:, None, None, :]
        torch.testing.assert_close(padding_mask(tokens, pad_id=2), expected)


def _by_counting_places(padding_mask: Mask) -> None:
    tokens = torch.tensor([[6, 0, 1, 2], [0, 0, 8, 9], [7, 6, 5, 4]])
    for pad_id in (0, 6):
        mask = padding_mask(tokens, pad_id)
        assert mask.shape == (3, 1, 1, 4)
        assert mask.dtype == torch.bool
        hidden = [tuple(place) for place in (~mask).nonzero().tolist()]
        padding = (tokens == pad_id).nonzero().tolist()
        assert hidden == [(b, 0, 0, j) for b, j in padding]
    assert padding_mask(tokens).sum() == 9


PADDING_TEST = turned(
    PADDING,
    __file__,
    test_padding_mask,
    wrong=(
        *("inverted", "ignores-pad-id", "greater-than-pad-id", "hides-special-tokens"),
        *("hides-end-token", "query-axis", "query-and-key", "stops-at-first-pad"),
        *("up-to-last-token", "from-first-token", "two-axes", "three-axes", "default-pad-id"),
        *("counts-tokens", "first-sentence-for-all", "no-mask", "causal-too", "float-ones"),
    ),
    alternatives=(_by_a_table, _by_torch, _by_counting_places),
    title="A test of the padding mask",
    ask=(
        "Write a test of `padding_mask(tokens, pad_id=0)`, which gives for tokens (B, n) a boolean "
        "mask (B, 1, 1, n), True at real tokens, wherever the padding is."
    ),
    objective="Choose inputs on which wrong masks differ from the right one.",
    hints=(
        "A batch as one sees it every day, padded with 0 on the right, does not tell a mask that "
        "counts tokens from one that looks at each. What batch does?",
        "Padding on the left and in between; a sentence without any; tokens 1 and 2, which are no "
        "padding; another `pad_id`, larger than some tokens.",
        "Take `tokens = torch.tensor([[1, 7, 2, 0], [0, 3, 0, 5]])`, and for `pad_id` 0 and 2 say "
        "of every token what the mask has to be; besides dtype and shape.",
    ),
    explanation=(
        "The usual batch lets many wrong masks through: with padding 0 on the right, counting, "
        "looking for the first 0 and comparing with `>` all do the same. A test is as good as its "
        "inputs, so they are chosen by asking which mistake would look right on them."
    ),
    difficulty=2,
    minutes=8,
)
