"""`training.shift_targets_test`: a test of what the decoder reads and says (section 3.1)."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.exercises.content.training.shift_targets import SHIFT_TARGETS
from annotated_transformer.exercises.content.turned import turned

Shift = Callable[[Tensor], tuple[Tensor, Tensor]]


def test_shift_targets(shift_targets: Shift) -> None:
    tgt = torch.tensor([[1, 8, 9, 4, 2], [1, 7, 2, 0, 0], [1, 5, 6, 2, 0]])
    decoder_input, labels = shift_targets(tgt)
    assert decoder_input.tolist() == [[1, 8, 9, 4], [1, 7, 2, 0], [1, 5, 6, 2]]
    assert labels.tolist() == [[8, 9, 4, 2], [7, 2, 0, 0], [5, 6, 2, 0]]
    assert decoder_input.dtype == labels.dtype == torch.long


def _by_slices(shift_targets: Shift) -> None:
    torch.manual_seed(0)
    for batch, n in ((1, 2), (3, 6), (5, 4)):
        tgt = torch.randint(1, 50, (batch, n))
        read, said = shift_targets(tgt)
        torch.testing.assert_close(read, tgt[:, :-1])
        torch.testing.assert_close(said, tgt[:, 1:])
    shortened = torch.tensor([[1, 4, 2, 0, 0]])
    torch.testing.assert_close(shift_targets(shortened)[0], torch.tensor([[1, 4, 2, 0]]))
    torch.testing.assert_close(shift_targets(shortened)[1], torch.tensor([[4, 2, 0, 0]]))


def _by_what_each_token_is_followed_by(shift_targets: Shift) -> None:
    rows = [[1, 11, 12, 13, 2, 0], [1, 21, 22, 2, 0, 0]]
    read, said = shift_targets(torch.tensor(rows))
    assert read.shape == said.shape == (2, 5)
    assert not read.is_floating_point()
    assert read.dtype == said.dtype == torch.int64
    for b, row in enumerate(rows):
        for t in range(5):
            assert read[b, t] == row[t]
            assert said[b, t] == row[t + 1]


SHIFT_TARGETS_TEST = turned(
    SHIFT_TARGETS,
    __file__,
    test_shift_targets,
    wrong=(
        *("same-tokens", "same-tokens-uncut", "exchanged", "rolled", "rolled-back"),
        *("input-uncut", "labels-uncut", "batch-axis", "shifted-by-two", "cut-on-both-sides"),
        *("labels-filled", "labels-of-the-first-sentence", "labels-next-number"),
        *("labels-padding-minus-hundred", "eos-removed-from-input", "float", "int32"),
        *("reversed", "first-sentence-only"),
    ),
    alternatives=(_by_slices, _by_what_each_token_is_followed_by),
    title="A test of the shift",
    ask=(
        "Write a test of `shift_targets(tgt)`, which gives for tgt (B, n), bos first, what the "
        "decoder reads and what it has to say, LongTensors (B, n - 1). Padding stays 0 in both."
    ),
    objective="Test by an example that is worked out by hand.",
    hints=(
        "Write two short sentences down, one of them padded, and below each what is read and what "
        "is to be said. That is the test.",
        "Tokens that count upwards (5, 6, 7) make a form look right that adds 1. Sentences of one "
        "length hide what happens to padding.",
        "`tgt = torch.tensor([[1, 8, 9, 4, 2], [1, 7, 2, 0, 0]])`: both results as lists, with "
        "`tolist()`, and their dtype.",
    ),
    explanation=(
        "A decoder that reads what it has to say learns to copy, in minutes, down to the least "
        "loss that there is. "
        "An example by hand finds that and all the others, if it is no special case: tokens in no "
        "order, sentences of two lengths, more than one of them. `tolist()` compares values "
        "whatever the dtype, so the dtype is asked for by itself."
    ),
    difficulty=1,
    minutes=6,
)
