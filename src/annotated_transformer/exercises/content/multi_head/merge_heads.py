"""`multihead.merge_heads` (section 3.2.2): the heads of a token side by side again."""

import torch
from torch import Tensor

from annotated_transformer.exercises.content.multi_head.heads_cases import not_contiguous, numbered
from annotated_transformer.exercises.exercise import (
    Exercise,
    Mistake,
)


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


MERGE_MISTAKES = (
    Mistake(
        "reshape-only",
        lambda x: x.reshape(x.size(0), x.size(2), x.size(1) * x.size(3)),
        "The tensor is reshaped to (B, n, h·d_k) without transposing back: the shape is right, "
        "but a row now holds several positions of one head instead of all heads of one position. "
        "First `transpose(1, 2)`, then reshape.",
    ),
    Mistake(
        "interleaved-columns",
        lambda x: x.permute(0, 2, 3, 1).reshape(x.size(0), x.size(2), -1),
        "The heads' columns are interleaved: first column 0 of every head, then column 1, ... "
        "Heads have to lie side by side, whole: (B, n, h, d_k) before the reshape, that is "
        "`transpose(1, 2)`.",
    ),
    Mistake(
        "not-flattened",
        lambda x: x.transpose(1, 2),
        "The transpose is right, but the last two axes are not joined: the shape is (B, n, h, "
        "d_k). Reshape to (B, n, h·d_k).",
    ),
    Mistake(
        "view-after-transpose",
        lambda x: x.transpose(1, 2).view(x.size(0), x.size(2), -1),
        "`view` after `transpose` fails: the numbers are no longer in the order that the view "
        "needs. Use `reshape`, or `contiguous()` before `view`.",
    ),
    Mistake(
        "heads-averaged",
        lambda x: x.mean(1),
        "The heads are averaged, (B, n, d_k): what they found separately is lost. The paper "
        "concatenates them, (B, n, h·d_k).",
    ),
    Mistake(
        "heads-summed",
        lambda x: x.sum(1),
        "The heads are added up, (B, n, d_k): what they found separately is lost. The paper "
        "concatenates them, (B, n, h·d_k).",
    ),
    Mistake(
        "first-head-only",
        lambda x: x[:, 0],
        "Only the first head is kept. All heads are concatenated, (B, n, h·d_k).",
    ),
    Mistake(
        "heads-reversed",
        lambda x: x.flip(1).transpose(1, 2).flatten(2),
        "The heads are concatenated in reverse order. Head 0 comes first, so that merging undoes "
        "splitting.",
    ),
    Mistake(
        "joined-along-positions",
        lambda x: x.reshape(x.size(0), -1, x.size(3)),
        "The heads are joined along the positions, (B, h·n, d_k). They are joined along the "
        "width: transpose first, then flatten the last two axes.",
    ),
    Mistake(
        "joined-along-batch",
        lambda x: torch.cat(x.unbind(1)),
        "The heads are joined along the batch, (h·B, n, d_k): `cat` joins along the first axis "
        "where no `dim` is given. They lie side by side in the width: `dim=-1`.",
    ),
    Mistake(
        "batch-and-positions-joined",
        lambda x: x.transpose(1, 2).flatten(0, 1),
        "Batch and positions are joined, (B·n, h, d_k). After the transpose the last two axes, "
        "heads and width, are the ones to join: `flatten(2)`.",
    ),
    Mistake(
        "batch-joined-too",
        lambda x: x.transpose(1, 2).flatten(2).flatten(0, 1),
        "The heads are side by side, but batch and positions are joined as well, (B·n, h·d_k). "
        "Only heads and width become one axis: (B, n, h·d_k).",
    ),
    Mistake(
        "positions-before-batch",
        lambda x: x.permute(2, 0, 1, 3).reshape(x.size(0), x.size(2), -1),
        "Positions are moved before the batch, (n, B, h, d_k), and the reshape to (B, n, h·d_k) "
        "then mixes the sentences. The batch stays first: `transpose(1, 2)`.",
    ),
    Mistake(
        "joined-along-positions-transposed",
        lambda x: x.transpose(1, 2).reshape(x.size(0), -1, x.size(3)),
        "Positions and heads are joined, (B, n·h, d_k). After the transpose the last two axes, "
        "heads and width, are the ones to join: `flatten(2)`.",
    ),
    Mistake(
        "wrong-axes-transposed",
        lambda x: x.transpose(-2, -1).reshape(x.size(0), x.size(2), -1),
        "Positions and width are exchanged instead of heads and positions (`transpose(-2, -1)`), "
        "and the reshape then mixes them. It is `transpose(1, 2)`.",
    ),
    Mistake(
        "columns-as-rows",
        lambda x: x.transpose(-2, -1).flatten(1, 2),
        "The result is transposed, (B, h·d_k, n). Positions stay axis 1: `transpose(1, 2)`, then "
        "flatten the last two axes.",
    ),
    Mistake(
        "batch-and-heads-mixed",
        lambda x: x.transpose(0, 1).flatten(2),
        "Batch and heads are exchanged, and positions flattened. The batch stays first: "
        "`transpose(1, 2)` exchanges heads and positions.",
    ),
    Mistake(
        "width-by-width",
        lambda x: x.permute(0, 2, 3, 1),
        "The axes are (B, n, d_k, h) and nothing is joined. Heads before width, (B, n, h, d_k), "
        "then flatten these two.",
    ),
    Mistake(
        "positions-flattened",
        lambda x: x.flatten(2),
        "Positions and width of each head are joined, (B, h, n·d_k). Heads and width are joined "
        "for each position: `transpose(1, 2)` first.",
    ),
    Mistake(
        "everything-flattened",
        lambda x: x.transpose(1, 2).flatten(1),
        "Positions are joined too, (B, n·h·d_k): `flatten(1)` joins every axis from 1 on. "
        "Positions stay an axis of their own: `flatten(2)`.",
    ),
    Mistake(
        "permuted-wrongly",
        lambda x: x.permute(0, 3, 1, 2).reshape(x.size(0), x.size(2), -1),
        "The axes are permuted to (B, d_k, h, n) before the reshape, so a row holds several "
        "positions. Positions have to stay second: `permute(0, 2, 1, 3)`.",
    ),
    Mistake(
        "positions-mixed-by-permutation",
        lambda x: x.permute(0, 3, 2, 1).reshape(x.size(0), x.size(2), -1),
        "The axes are permuted to (B, d_k, n, h) before the reshape, so a row holds several "
        "positions. Positions have to stay second: `permute(0, 2, 1, 3)`.",
    ),
    Mistake(
        "heads-maximum",
        lambda x: x.amax(1),
        "The largest of the heads is taken, (B, n, d_k): the others are lost. The paper "
        "concatenates them, (B, n, h·d_k).",
    ),
    Mistake(
        "detached",
        lambda x: merge_heads(x.detach()),
        "The values are right, but `detach` (or `no_grad`, `.data`) cuts the graph: no "
        "gradient reaches x. Leave it out.",
    ),
    Mistake(
        "unchanged",
        lambda x: x,
        "x comes back as it was. Exchange heads and positions, then join heads and width: "
        "(B, n, h·d_k).",
    ),
)


MERGE_HEADS = Exercise(
    id="multihead.merge_heads",
    title="Merge the heads",
    kind="code",
    difficulty=2,
    minutes=5,
    signature="merge_heads(x: (B, h, n, d_k)) -> (B, n, h*d_k)",
    statement=(
        "Undo the splitting: for every token put its heads side by side, head 0 first, so that "
        "column i*d_k + j of the result is column j of head i. The dtype is kept."
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
    mistakes=MERGE_MISTAKES,
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
