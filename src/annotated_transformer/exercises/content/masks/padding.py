"""`masks.padding`: hiding the padding of a batch (what batching adds to section 3.2)."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.masks.tokens import tokens_case
from annotated_transformer.exercises.exercise import Exercise


def padding_mask(tokens: Tensor, pad_id: int = 0) -> Tensor:
    is_token = tokens != pad_id  # (batch, n_k)
    return is_token[:, None, None, :]  # (batch, 1, 1, n_k): the same for every head and query


def _by_unsqueezing(tokens: Tensor, pad_id: int = 0) -> Tensor:
    return tokens.ne(pad_id).unsqueeze(1).unsqueeze(2)


def _by_viewing(tokens: Tensor, pad_id: int = 0) -> Tensor:
    batch, length = tokens.shape
    return (~(tokens == pad_id)).view(batch, 1, 1, length)


def _by_loops(tokens: Tensor, pad_id: int = 0) -> Tensor:
    rows = [[[[token != pad_id for token in row]]] for row in tokens.tolist()]
    return torch.tensor(rows, dtype=torch.bool)


def _by_filling(tokens: Tensor, pad_id: int = 0) -> Tensor:
    mask = torch.ones(tokens.size(0), 1, 1, tokens.size(1), dtype=torch.bool)
    mask[:, 0, 0][tokens == pad_id] = False
    return mask


def _by_arithmetic(tokens: Tensor, pad_id: int = 0) -> Tensor:
    return (tokens - pad_id).bool()[:, None, None]


PADDING = Exercise(
    id="masks.padding",
    title="The padding mask",
    kind="code",
    difficulty=2,
    minutes=8,
    signature="padding_mask(tokens: LongTensor (B, n), pad_id: int = 0) -> BoolTensor (B, 1, 1, n)",
    statement=(
        "Sentences of a batch are padded with `pad_id` to one length. Return the boolean mask of "
        "shape (B, 1, 1, n) that is True at real tokens and False at padding, wherever the "
        "padding is: on the right, on the left, or in between."
    ),
    objective="Hide the padding as a key, in a shape that broadcasts over heads and queries.",
    prerequisite="masks.causal",
    hints=(
        "Scores have the shape (batch, heads, n_q, n_k). Which of these axes does a padded token "
        "that must not be attended to belong to: the queries or the keys?",
        "One comparison says for every token whether it is real; `None` in an index adds an axis "
        "of length 1, which broadcasting repeats over heads and queries.",
        "`is_token = tokens != pad_id` is (B, n). Index it so that B stays first and n stays "
        "last, with two axes of length 1 between them.",
    ),
    reference=padding_mask,
    explanation=(
        "Padding has to be hidden as a key: the softmax of every query runs over the keys, and a "
        "pad would take its share. As a query it may do what it likes, since nobody attends to it "
        "and the loss skips it. So the row of (B, n) booleans goes on the key axis, the last one, "
        "and the axes of heads and queries stay 1: the same mask then serves self-attention and "
        "cross-attention, whatever the number of queries."
    ),
    cases=(
        tokens_case("two sentences, the second padded", [[5, 6, 7, 2], [8, 2, 0, 0]]),
        tokens_case("padding on the left", [[0, 0, 9, 5, 2], [1, 4, 6, 7, 2], [0, 3, 4, 4, 2]]),
        tokens_case("padding in the middle", [[1, 7, 0, 0, 5, 2], [1, 0, 5, 0, 6, 2]]),
        tokens_case(
            "pad_id = 3, and 0 a real token",
            [[1, 0, 5, 2, 3, 3], [4, 0, 0, 9, 2, 3], [1, 3, 5, 0, 3, 2]],
            3,
        ),
        tokens_case("as many sentences as tokens", [[4, 2, 0], [1, 5, 2], [2, 0, 0]]),
        tokens_case("a sentence of padding alone", [[0, 0, 0], [7, 2, 0]]),
        tokens_case("one sentence of one token", [[5]]),
        tokens_case("one sentence, pad_id = 1", [[6, 1, 5, 8]], 1),
    ),
    mistakes=page(__file__, padding_mask),
    alternatives=(_by_unsqueezing, _by_viewing, _by_loops, _by_filling, _by_arithmetic),
    starter=(
        "def padding_mask(tokens, pad_id=0):\n"
        '    """(B, n) -> boolean (B, 1, 1, n), True at real tokens, wherever the padding is."""\n'
        "    ...  # your code"
    ),
)
