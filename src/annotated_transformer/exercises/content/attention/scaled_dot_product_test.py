"""`attention.scaled_dot_product_test`: a test of equation (1), with a mask (section 3.2.1)."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.attention.scaled_dot_product import SCALED_DOT_PRODUCT
from annotated_transformer.exercises.content.turned import turned

Attention = Callable[..., tuple[Tensor, Tensor]]


def test_scaled_dot_product_attention(scaled_dot_product_attention: Attention) -> None:
    theirs = torch.nn.functional.scaled_dot_product_attention
    torch.manual_seed(0)
    q, k, v = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)
    mask = torch.rand(2, 3, 5) < 0.6
    mask[1, 2] = False  # a query that may attend to nothing
    for given in ((), (mask,)):
        output, weights = scaled_dot_product_attention(q, k, v, *given)
        expected = theirs(q, k, v, *given).nan_to_num(0.0)
        torch.testing.assert_close(output, expected)
        torch.testing.assert_close(weights @ v, expected)
    assert (weights[~mask] == 0).all()
    assert torch.allclose(weights.sum(-1), mask.any(-1).float())
    far, _ = scaled_dot_product_attention(10 * q, 90 * k, v)  # scores in the thousands
    torch.testing.assert_close(far, theirs(10 * q, 90 * k, v))


def _by_hand(scaled_dot_product_attention: Attention) -> None:
    q = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    k = torch.tensor([[math.log(3), 0.0, 0.0, 0.0], [0.0, 1.0, 5.0, 2.0], [0.0, 7.0, 0.0, 1.0]])
    v = torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    output, weights = scaled_dot_product_attention(q, k, v)  # scores: log 3, 0, 0
    assert torch.allclose(weights, torch.tensor([[0.6, 0.2, 0.2], [1 / 3, 1 / 3, 1 / 3]]))
    assert torch.allclose(output, torch.tensor([[1.6, 1.2], [2.0, 2.0]]))
    mask = torch.tensor([[True, True, False], [False, False, False]])
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    assert torch.allclose(weights, torch.tensor([[0.75, 0.25, 0.0], [0.0, 0.0, 0.0]]))
    assert torch.allclose(output, torch.tensor([[0.75, 0.25], [0.0, 0.0]]))
    assert weights[0, 2] == 0
    _, weights = scaled_dot_product_attention(9000 * q, k, v)
    assert torch.allclose(weights[0], torch.tensor([1.0, 0.0, 0.0]))
    mask = torch.tensor([[False, True, True], [True, False, True]])  # queries see other keys
    output, weights = scaled_dot_product_attention(q, k, v, mask)
    assert torch.allclose(weights, torch.tensor([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]))
    assert torch.allclose(output, torch.tensor([[2.5, 3.0], [3.0, 2.5]]))
    both = q.expand(2, 2, 4), k.expand(2, 3, 4), v.expand(2, 3, 2)
    masks = torch.stack([mask, ~mask])
    _, weights = scaled_dot_product_attention(*both, masks)
    second = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert torch.allclose(weights[1], second)
    assert torch.allclose(weights[0], torch.tensor([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5]]))


def _by_loops(scaled_dot_product_attention: Attention) -> None:
    torch.manual_seed(1)
    q, k, v = (torch.randn(2, n, d, dtype=torch.float64) for n, d in ((4, 3), (6, 3), (6, 2)))
    k[0] *= 2000  # exponentials of such scores are no numbers
    mask = torch.rand(2, 4, 6) < 0.5
    mask[0, 1] = False
    for given in (torch.ones_like(mask), mask):
        output, weights = scaled_dot_product_attention(q, k, v, given)
        for b in range(2):
            for i in range(4):
                keys = [j for j in range(6) if given[b, i, j]]
                scores = [float(q[b, i] @ k[b, j]) / math.sqrt(3) for j in keys]
                share = [math.exp(score - max(scores)) for score in scores]
                expected = torch.zeros(6, dtype=torch.float64)
                for j, one in zip(keys, share, strict=True):
                    expected[j] = one / sum(share)
                assert torch.allclose(weights[b, i], expected)
                assert (weights[b, i][~given[b, i]] == 0).all()
                assert torch.allclose(output[b, i], expected @ v[b])
    whole = scaled_dot_product_attention(q, k, v, torch.ones_like(mask))
    assert torch.allclose(whole[0], scaled_dot_product_attention(q, k, v)[0])


SCALED_DOT_PRODUCT_TEST = turned(
    SCALED_DOT_PRODUCT,
    __file__,
    test_scaled_dot_product_attention,
    wrong=(
        *("no-scale", "scale-by-d_k", "scale-by-sqrt-d_v", "scale-by-sqrt-n_k", "scaled-twice"),
        *("scale-by-8", "softmax-over-queries", "softmax-overflow", "mask-ignored"),
        *("mask-inverted", "mask-after-softmax", "mask-fills-zero", "mask-added"),
        *("mask-fills-minus-20", "mask-first-row", "mask-first-sentence", "causal-always"),
        *("empty-row-nan", "empty-row-uniform", "keys-as-queries", "returns-masked-scores"),
        *("returns-unmasked-weights", "returns-swapped"),
    ),
    alternatives=(_by_hand, _by_loops),
    title="A test of scaled dot-product attention",
    ask=(
        "Write a test of `scaled_dot_product_attention(q, k, v, mask=None)`, which gives output "
        "and weights. A mask is True where a query may attend; a query that may attend to nothing "
        "gets zeros in both."
    ),
    objective="Test attention against PyTorch's, on inputs on which wrong forms differ.",
    hints=(
        "`torch.nn.functional.scaled_dot_product_attention` takes the same arguments and gives "
        "the output. What about the weights, which it keeps to itself? What do they have to do "
        "with the output?",
        "Lengths that coincide hide mistakes: let n_q, n_k, d_k and d_v all differ, and the batch "
        "hold two sentences with masks of their own. One row of a mask is empty, once there is no "
        "mask, and once the scores are in the thousands.",
        "`weights @ v` has to be PyTorch's output too; a forbidden weight is exactly 0, "
        "`(weights[~mask] == 0).all()`; a row that may attend to something adds up to 1.",
    ),
    explanation=(
        "Most wrong attention is right somewhere: without a mask, with n_q = n_k, with d_k = d_v, "
        "at scores near 0, for one sentence. So sizes are chosen unequal, and the mask so that no "
        "row and no sentence is like another. The weights are returned too, and only what is "
        "looked at is tested: their product with v, the exact zeros, and the sums."
    ),
    difficulty=3,
    minutes=15,
)
