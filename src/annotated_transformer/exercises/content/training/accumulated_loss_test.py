"""`training.accumulated_loss_test`: a test of gradient accumulation (section 5.3's big batches)."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from annotated_transformer.exercises.content.training.accumulated_loss import ACCUMULATED_LOSS
from annotated_transformer.exercises.content.turned import turned

Loss = Callable[..., Tensor]


def test_accumulated_loss(accumulated_loss: Loss) -> None:
    torch.manual_seed(0)
    logits = [torch.randn(2, 5, 7), torch.randn(3, 2, 7), torch.randn(1, 4, 7)]
    targets = [
        torch.tensor([[3, 5, 1, 6, 2], [4, 2, 0, 0, 0]]),  # 7 tokens
        torch.tensor([[6, 2], [5, 2], [2, 0]]),  # 5
        torch.tensor([[5, 0, 0, 0]]),  # 1
    ]
    in_one = torch.cat([part.flatten(0, 1) for part in logits])  # as one big batch
    labels = torch.cat([target.flatten() for target in targets])
    for pad_id in (0, 5):
        expected = torch.nn.functional.cross_entropy(in_one, labels, ignore_index=pad_id)
        torch.testing.assert_close(accumulated_loss(logits, targets, pad_id), expected)
    expected = torch.nn.functional.cross_entropy(in_one, labels, ignore_index=0)
    torch.testing.assert_close(accumulated_loss(logits, targets), expected)


def _by_hand(accumulated_loss: Loss) -> None:
    sure, unsure = [[4.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]  # of the first token, and of none
    logits = [torch.tensor([sure * 3]), torch.tensor([unsure * 1]), torch.tensor([unsure * 2] * 2)]
    at_first = torch.tensor([4.0, 0, 0]).log_softmax(0)
    third = torch.tensor(3.0).log()
    targets = [torch.tensor([[1, 2, 2]]), torch.tensor([[1]]), torch.tensor([[1, 0], [2, 2]])]
    loss = accumulated_loss(logits, targets)
    assert torch.allclose(loss, (-at_first[1:].sum() - at_first[2] + 4 * third) / 7)
    loss = accumulated_loss(logits, targets, pad_id=2)  # token 0 is one to be said, then
    assert torch.allclose(loss, (-at_first[1] + 3 * third) / 4)
    loss = accumulated_loss(logits[:1], [torch.tensor([[0, 1, 0]])], pad_id=9)
    assert torch.allclose(loss, -(2 * at_first[0] + at_first[1]) / 3)


def _by_cutting_otherwise(accumulated_loss: Loss) -> None:
    torch.manual_seed(1)
    logits = torch.randn(6, 4, 5, dtype=torch.float64)
    targets = torch.randint(1, 5, (6, 4))
    targets[:3, 1:] = 0
    targets[4, 2:] = 0
    for pad_id in (0, 3):
        flat = logits.flatten(0, 1), targets.flatten()
        whole = functional.cross_entropy(*flat, ignore_index=pad_id)
        for sizes in ((6,), (1, 5), (3, 3), (2, 1, 3), (1,) * 6):
            parts = list(torch.split(logits, list(sizes))), list(torch.split(targets, list(sizes)))
            assert torch.allclose(accumulated_loss(*parts, pad_id), whole)
    assert torch.allclose(
        accumulated_loss([logits], [targets]), accumulated_loss([logits], [targets], 0)
    )


ACCUMULATED_LOSS_TEST = turned(
    ACCUMULATED_LOSS,
    __file__,
    test_accumulated_loss,
    wrong=(
        *("mean-of-means", "sum-of-means", "weighted-by-sentences", "weighted-by-positions"),
        *("pads-count", "pads-in-the-sum", "divided-by-positions", "divided-by-micro-batches"),
        *("divided-by-sentences", "sum", "first-only", "last-only", "divided-by-most-tokens"),
        *("divided-by-mean-tokens", "pad-0-in-the-sum", "pad-0-in-the-count", "pad-always-0"),
        *("smoothed", "shifted", "perplexity", "softmax-over-positions"),
    ),
    alternatives=(_by_hand, _by_cutting_otherwise),
    title="A test of accumulated gradients",
    ask=(
        "Write a test of `accumulated_loss(logits, targets, pad_id=0)`, which gives for lists of "
        "micro-batches, (b_i, n_i, V) and (b_i, n_i), the loss of one big batch: the mean over all "
        "tokens that are no padding."
    ),
    objective="Test that parts add up to the whole.",
    hints=(
        "What is the same for all right forms, however a batch is cut? `cross_entropy` of the "
        "whole, with `ignore_index`, is that number.",
        "If all micro-batches have as many tokens, the mean of their means is right. Let them "
        "have different numbers of sentences, lengths and tokens. And padding may be another id.",
        "Concatenate `part.flatten(0, 1)` of the logits and `target.flatten()` of the targets; "
        "`torch.nn.functional.cross_entropy(..., ignore_index=pad_id)`; for pad_id 0 and another.",
    ),
    explanation=(
        "The mean of means is right wherever micro-batches have as many tokens, so a test with "
        "equal ones lets through what large libraries had wrong for years (transformers, issue "
        "34191). That the cut does not matter is the property: one batch, cut in several ways, "
        "gives one number."
    ),
    difficulty=3,
    minutes=12,
)
