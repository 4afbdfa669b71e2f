"""`multihead.split_heads` (section 3.2.2): a reshape cuts the columns, a transpose moves heads."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.multi_head.heads_cases import not_contiguous, numbered
from annotated_transformer.exercises.exercise import Exercise


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    batch, n, d_model = x.shape
    heads = x.reshape(batch, n, n_heads, d_model // n_heads)  # columns cut into n_heads runs
    return heads.transpose(1, 2)  # (batch, n_heads, n, d_k)


def _split_by_chunks(x: Tensor, n_heads: int) -> Tensor:
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def _split_by_slices(x: Tensor, n_heads: int) -> Tensor:
    d_k = x.size(-1) // n_heads
    heads = [x[:, :, i * d_k : (i + 1) * d_k] for i in range(n_heads)]
    return torch.cat([head.unsqueeze(1) for head in heads], dim=1)


def _split_by_permuting(x: Tensor, n_heads: int) -> Tensor:
    return x.view(x.size(0), x.size(1), n_heads, -1).permute(0, 2, 1, 3).contiguous()


def _split_through_columns(x: Tensor, n_heads: int) -> Tensor:
    batch, n, d_model = x.shape
    columns = x.mT.reshape(batch, n_heads, d_model // n_heads, n)
    return columns.mT


def _split_by_filling(x: Tensor, n_heads: int) -> Tensor:
    batch, n, d_model = x.shape
    d_k = d_model // n_heads
    out = x.new_zeros(batch, n_heads, n, d_k)
    for head in range(n_heads):
        for column in range(d_k):
            out[:, head, :, column] = x[:, :, head * d_k + column]
    return out


SPLIT_HEADS = Exercise(
    id="multihead.split_heads",
    title="Split into heads",
    kind="code",
    difficulty=2,
    minutes=8,
    signature="split_heads(x: (B, n, d_model), n_heads: int) -> (B, n_heads, n, d_k)",
    statement=(
        "Cut the last axis of x into n_heads runs of d_k = d_model / n_heads columns and move the "
        "heads before the positions: head i holds columns i*d_k to (i+1)*d_k of every token. The "
        "dtype is kept. Gradients have to flow back to its inputs: it is trained through."
    ),
    objective="Give every head its columns of every token, and know why a view alone does not.",
    prerequisite="attention.scaled_dot_product",
    hints=(
        "Take x of shape (1, 2, 4) with the entries 0 to 7 and two heads. Which four numbers "
        "belong to head 0?",
        "A reshape never moves a number past another, it only cuts the row of all numbers "
        "differently. Which shape cuts each token's columns into heads and nothing else?",
        "`x.reshape(B, n, n_heads, d_k)` cuts the columns; `.transpose(1, 2)` then moves the "
        "heads before the positions.",
    ),
    reference=split_heads,
    explanation=(
        "A reshape keeps the order of the numbers, so it may only cut the last axis: (B, n, h, "
        "d_k). Moving heads before positions changes the order and needs a transpose. A reshape "
        "straight to (B, h, n, d_k) has the right shape and the wrong contents: head 0 would get "
        "the first tokens whole. Nothing raises; the model merely learns badly."
    ),
    cases=(
        numbered(
            "x of shape (1, 2, 4) holding 0 to 7, 2 heads",
            (1, 2, 4),
            2,
            isolates="which columns go to which head, for two tokens",
        ),
        numbered(
            "x of shape (1, 1, 6), 3 heads",
            (1, 1, 6),
            3,
            isolates="the cutting of the columns: there is one token",
        ),
        numbered("x of shape (2, 3, 8), 2 heads", (2, 3, 8), 2, gradient="required"),
        numbered("x of shape (2, 5, 12), 4 heads", (2, 5, 12), 4),
        numbered("x of shape (3, 4, 16), 4 heads", (3, 4, 16), 4),
        numbered("x of shape (2, 3, 4), 1 head", (2, 3, 4), 1),
        numbered("x of shape (2, 3, 4), 4 heads of width 1", (2, 3, 4), 4),
        numbered("float32, x of shape (2, 3, 6)", (2, 3, 6), 3, stage="other", dtype=torch.float32),
        not_contiguous(2),
    ),
    mistakes=page(__file__, split_heads),
    alternatives=(
        _split_by_chunks,
        _split_by_slices,
        _split_by_permuting,
        _split_through_columns,
        _split_by_filling,
    ),
    starter=(
        "def split_heads(x, n_heads):\n"
        '    """(B, n, d_model) -> (B, n_heads, n, d_k); head i = columns i*d_k to (i+1)*d_k."""\n'
        "    ...  # your code"
    ),
)
