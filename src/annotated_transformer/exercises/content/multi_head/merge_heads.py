"""`multihead.merge_heads` (section 3.2.2): the heads of a token side by side again."""

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.multi_head.heads_cases import not_contiguous, numbered
from annotated_transformer.exercises.exercise import Exercise


def merge_heads(x: Tensor) -> Tensor:
    batch, n_heads, n, d_k = x.shape
    side_by_side = x.transpose(1, 2)  # (batch, n, n_heads, d_k): a token's heads next to each other
    return side_by_side.reshape(batch, n, n_heads * d_k)


def _merge_by_concatenation(x: Tensor) -> Tensor:
    return torch.cat(list(x.unbind(dim=1)), dim=-1)


def _merge_by_flatten(x: Tensor) -> Tensor:
    return x.permute(0, 2, 1, 3).flatten(start_dim=2)


def _merge_by_view(x: Tensor) -> Tensor:
    batch, n_heads, n, d_k = x.shape
    return x.transpose(1, 2).contiguous().view(batch, n, n_heads * d_k)


def _merge_by_einsum(x: Tensor) -> Tensor:
    return torch.einsum("bhnd->bnhd", x).flatten(-2)


def _merge_by_filling(x: Tensor) -> Tensor:
    batch, n_heads, n, d_k = x.shape
    out = x.new_zeros(batch, n, n_heads * d_k)
    for head in range(n_heads):
        out[:, :, head * d_k : (head + 1) * d_k] = x[:, head]
    return out


MERGE_HEADS = Exercise(
    id="multihead.merge_heads",
    title="Merge the heads",
    kind="code",
    difficulty=2,
    minutes=5,
    signature="merge_heads(x: (B, h, n, d_k)) -> (B, n, h*d_k)",
    statement=(
        "Undo the splitting: for every token put its heads side by side, head 0 first, so that "
        "column i*d_k + j of the result is column j of head i. The dtype is kept. Gradients have "
        "to flow back to its inputs: it is trained through."
    ),
    objective="Concatenate the heads of every token, the last step before W^O.",
    prerequisite="multihead.split_heads",
    hints=(
        "Which two axes have to be neighbours, in which order, before you may join them?",
        "Splitting was a reshape, then a transpose. Undo the two in reverse order.",
        "`x.transpose(1, 2)` gives (B, n, h, d_k); `.reshape(B, n, h * d_k)` joins the last two.",
    ),
    reference=merge_heads,
    explanation=(
        "Only neighbouring axes can be joined by a reshape. So heads and positions are exchanged "
        "first: (B, n, h, d_k); then heads and width become one axis. `view` would refuse here, "
        "because a transpose moves no number in memory; `reshape` copies when it has to."
    ),
    cases=(
        numbered(
            "x of shape (1, 2, 2, 2) holding 0 to 7",
            (1, 2, 2, 2),
            isolates="the order of the heads' columns, for two tokens and two heads",
        ),
        numbered(
            "x of shape (1, 3, 1, 2)",
            (1, 3, 1, 2),
            isolates="the joining of heads: there is one token",
        ),
        numbered("x of shape (2, 2, 3, 4)", (2, 2, 3, 4), gradient="required"),
        numbered("x of shape (2, 4, 5, 3)", (2, 4, 5, 3)),
        numbered("x of shape (3, 3, 3, 3)", (3, 3, 3, 3)),
        numbered("x of shape (2, 1, 3, 4)", (2, 1, 3, 4)),
        numbered("x of shape (2, 4, 3, 1)", (2, 4, 3, 1)),
        numbered(
            "float32, x of shape (2, 2, 3, 2)", (2, 2, 3, 2), stage="other", dtype=torch.float32
        ),
        not_contiguous(),
    ),
    mistakes=page(__file__, merge_heads),
    alternatives=(
        _merge_by_concatenation,
        _merge_by_flatten,
        _merge_by_view,
        _merge_by_einsum,
        _merge_by_filling,
    ),
    starter=(
        "def merge_heads(x):\n"
        '    """(B, h, n, d_k) -> (B, n, h * d_k), the heads of a token side by side."""\n'
        "    ...  # your code"
    ),
)
