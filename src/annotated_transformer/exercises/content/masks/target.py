"""`masks.target`: what a decoder's query may attend to (section 3.2.3): causal and not padding."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.masks.tokens import tokens_case
from annotated_transformer.exercises.exercise import Exercise


def target_mask(tokens: Tensor, pad_id: int = 0) -> Tensor:
    n = tokens.size(1)
    is_token = (tokens != pad_id)[:, None, None, :]  # (batch, 1, 1, n): which keys exist
    causal = torch.ones(n, n, dtype=torch.bool, device=tokens.device).tril()  # (n, n)
    return is_token & causal  # (batch, 1, n, n)


def _by_positions(tokens: Tensor, pad_id: int = 0) -> Tensor:
    position = torch.arange(tokens.size(1))
    not_later = position <= position[:, None]
    return torch.logical_and(not_later[None, None], tokens.ne(pad_id)[:, None, None, :])


def _by_loops(tokens: Tensor, pad_id: int = 0) -> Tensor:
    batch, n = tokens.shape
    mask = torch.zeros(batch, 1, n, n, dtype=torch.bool)
    for sentence in range(batch):
        for query in range(n):
            for key in range(query + 1):
                mask[sentence, 0, query, key] = bool(tokens[sentence, key] != pad_id)
    return mask


def _by_triangle_of_rows(tokens: Tensor, pad_id: int = 0) -> Tensor:
    n = tokens.size(1)
    return (tokens != pad_id)[:, None, None].expand(-1, 1, n, n).tril()


def _by_forbidding(tokens: Tensor, pad_id: int = 0) -> Tensor:
    n = tokens.size(1)
    future = torch.triu(torch.ones(n, n, dtype=torch.bool), diagonal=1)
    return ~(future | (tokens == pad_id)[:, None, None])


def _by_multiplying(tokens: Tensor, pad_id: int = 0) -> Tensor:
    n = tokens.size(1)
    return (tokens != pad_id).float()[:, None, None] * torch.ones(n, n).tril() > 0


TARGET = Exercise(
    id="masks.target",
    title="The decoder's mask",
    kind="code",
    difficulty=2,
    minutes=8,
    signature="target_mask(tokens: LongTensor (B, n), pad_id: int = 0) -> BoolTensor (B, 1, n, n)",
    statement=(
        "Return the mask of the decoder's self-attention for a padded batch: a query may attend "
        "to a key when the key is not later than the query (causal) AND the key is not padding. "
        "True = may attend; shape (B, 1, n, n), one axis of length 1 for the heads."
    ),
    objective="Combine the two masks so that a decoder sees neither the future nor the padding.",
    prerequisite="masks.causal and masks.padding",
    hints=(
        "Two conditions, and attention is allowed only when both hold. Which operator joins two "
        "boolean tensors that way?",
        "The padding half is (B, 1, 1, n) and the causal half (n, n). Which shape does "
        "broadcasting make of the two?",
        "`(tokens != pad_id)[:, None, None, :] & causal`, with causal the lower triangle of a "
        "boolean (n, n) of ones.",
    ),
    reference=target_mask,
    explanation=(
        "The padding half speaks of keys alone, so it is (B, 1, 1, n); the causal half is the "
        "same for every sentence, so it is (n, n). `&` broadcasts them to (B, 1, n, n). With "
        "padding on the left a row can be empty: that is right, and attention answers such a "
        "query with zeros."
    ),
    cases=(
        tokens_case("three tokens and a pad", [[1, 5, 6, 0]]),
        tokens_case("two sentences, one padded on the left", [[1, 4, 7, 2, 0], [0, 0, 1, 9, 2]]),
        tokens_case("padding in the middle", [[1, 7, 0, 5, 2, 6], [1, 0, 0, 8, 2, 0]]),
        tokens_case(
            "pad_id = 3, and 0 a real token",
            [[1, 0, 4, 3, 2], [3, 5, 0, 2, 3], [0, 3, 6, 2, 3]],
            3,
        ),
        tokens_case("as many sentences as tokens", [[1, 0, 2], [0, 1, 5], [1, 2, 0]]),
        tokens_case("a sentence of padding alone", [[0, 0, 0], [1, 7, 2]]),
        tokens_case("one sentence of one token", [[1]]),
    ),
    mistakes=page(__file__, target_mask),
    alternatives=(
        _by_positions,
        _by_loops,
        _by_triangle_of_rows,
        _by_forbidding,
        _by_multiplying,
    ),
    starter=(
        "def target_mask(tokens, pad_id=0):\n"
        '    """(B, n) -> boolean (B, 1, n, n): causal and key-is-not-padding."""\n'
        "    ...  # your code"
    ),
)
