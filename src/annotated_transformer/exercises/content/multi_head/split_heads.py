"""`multihead.split_heads` (section 3.2.2): a reshape cuts the columns, a transpose moves heads."""

import torch
from torch import Tensor

from annotated_transformer.exercises.content.multi_head.heads_cases import not_contiguous, numbered
from annotated_transformer.exercises.exercise import (
    Exercise,
    Mistake,
)


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


def _viewed_flat_heads(x: Tensor, h: int) -> Tensor:
    batch, n, d = x.shape
    return x.transpose(1, 2).reshape(batch, h, n, d // h)


def _widths_counted_as_heads(x: Tensor, h: int) -> Tensor:
    batch, n, d = x.shape
    return x.reshape(batch, n, d // h, h).transpose(1, 2)


def _batch_folded(x: Tensor, h: int) -> Tensor:
    return split_heads(x, h).flatten(0, 1)


def _heads_first(x: Tensor, h: int) -> Tensor:
    return split_heads(x, h).transpose(0, 1)


def _reversed_heads(x: Tensor, h: int) -> Tensor:
    batch, n, d = x.shape
    return x.reshape(batch, n, h, d // h).flip(2).transpose(1, 2)


_VIEW_ONLY = (
    "The tensor is reshaped to (B, h, n, d_k) directly, without a transpose: the shape is right, "
    "but a head gets whole tokens one after the other instead of its columns of every token, so "
    "positions are mixed. First `reshape(B, n, h, d_k)`, then `transpose(1, 2)`."
)

SPLIT_MISTAKES = (
    Mistake(
        "view-only", lambda x, h: x.reshape(x.size(0), h, x.size(1), x.size(2) // h), _VIEW_ONLY
    ),
    Mistake(
        "view-only-of-what-is-contiguous",
        lambda x, h: x.view(x.size(0), h, x.size(1), x.size(2) // h),
        _VIEW_ONLY,
    ),
    Mistake(
        "interleaved-columns",
        lambda x, h: x.reshape(x.size(0), x.size(1), x.size(2) // h, h).permute(0, 3, 1, 2),
        "The columns are dealt out in turn: head i gets columns i, i + h, i + 2h, ... "
        "(interleaved, reshaped to (..., d_k, h)). Head i owns a run of neighbours, columns "
        "i*d_k to (i+1)*d_k: reshape to (B, n, h, d_k), heads before width.",
    ),
    Mistake(
        "not-transposed",
        lambda x, h: x.reshape(x.size(0), x.size(1), h, x.size(2) // h),
        "The columns are cut rightly, but the transpose is missing: the shape is (B, n, h, d_k). "
        "Heads have to stand before positions, like a second batch axis: `transpose(1, 2)`.",
    ),
    Mistake(
        "positions-and-width-exchanged",
        lambda x, h: split_heads(x, h).mT,
        "Positions and width are exchanged: the shape is (B, h, d_k, n), the way keys look after "
        "their transpose in q k^T. Split alone gives (B, h, n, d_k).",
    ),
    Mistake(
        "widths-counted-as-heads",
        _widths_counted_as_heads,
        "Number and width of the heads are exchanged: the result is (B, d_k, n, h). `n_heads` "
        "says how many heads there are; each is d_model // n_heads wide.",
    ),
    Mistake(
        "columns-then-view",
        _viewed_flat_heads,
        "The tensor is transposed to (B, d_model, n) and then reshaped to (B, h, n, d_k): a "
        "reshape does not move axes, it cuts the numbers in their order, so positions and columns "
        "are mixed. Reshape to (B, n, h, d_k) first, transpose afterwards.",
    ),
    Mistake(
        "view-then-transpose-widths",
        lambda x, h: x.reshape(x.size(0), h, x.size(2) // h, x.size(1)).mT,
        "The tensor is reshaped to (B, h, d_k, n) directly, then positions and width are "
        "exchanged: the shape is right, but the reshape has already mixed positions and columns. "
        "Reshape to (B, n, h, d_k) first, then `transpose(1, 2)`.",
    ),
    Mistake(
        "view-heads-before-batch",
        lambda x, h: x.reshape(h, x.size(0), x.size(1), x.size(2) // h).transpose(0, 1),
        "The tensor is reshaped to (h, B, n, d_k) directly: a reshape only cuts the numbers in "
        "their order, so sentences and positions are mixed. Reshape to (B, n, h, d_k), then "
        "`transpose(1, 2)`.",
    ),
    Mistake(
        "heads-reversed",
        _reversed_heads,
        "The heads come in reverse order: head 0 has the last columns. Head i has columns i*d_k "
        "to (i+1)*d_k.",
    ),
    Mistake(
        "heads-first",
        _heads_first,
        "Heads stand before the batch: (h, B, n, d_k), as `stack(..., dim=0)` gives. The batch "
        "stays the first axis: stack along dim=1.",
    ),
    Mistake(
        "stacked-last",
        lambda x, h: split_heads(x, h).permute(0, 2, 3, 1),
        "The heads stand last, (B, n, d_k, h), as `stack(..., dim=-1)` gives. They belong on axis "
        "1: (B, h, n, d_k).",
    ),
    Mistake(
        "width-before-positions",
        lambda x, h: split_heads(x, h).permute(0, 3, 2, 1),
        "The columns are cut rightly, but the axes come out as (B, d_k, n, h). Asked for is "
        "(B, h, n, d_k): after the reshape exchange positions and heads alone, "
        "`transpose(1, 2)`.",
    ),
    Mistake(
        "width-before-heads",
        lambda x, h: split_heads(x, h).permute(0, 3, 1, 2),
        "The columns are cut rightly, but the axes come out as (B, d_k, h, n). Asked for is "
        "(B, h, n, d_k): after the reshape exchange positions and heads alone, "
        "`transpose(1, 2)`.",
    ),
    Mistake(
        "folded-into-batch",
        _batch_folded,
        "Heads and batch are folded into one axis, (B·h, n, d_k). Asked for are four axes, "
        "(B, h, n, d_k).",
    ),
    Mistake(
        "list-of-heads",
        lambda x, h: list(x.chunk(h, dim=-1)),
        "A list (or tuple) of heads is returned, as `chunk` and `split` give. Put them into one "
        "tensor: `torch.stack(heads, dim=1)`, (B, h, n, d_k).",
    ),
    Mistake(
        "concatenated-on-positions",
        lambda x, h: torch.cat(x.chunk(h, dim=-1), dim=1),
        "The heads are joined along the positions, (B, h·n, d_k): `cat` lengthens an axis. They "
        "need an axis of their own: `torch.stack(heads, dim=1)`.",
    ),
    Mistake(
        "concatenated-on-batch",
        lambda x, h: torch.cat(x.chunk(h, dim=-1)),
        "The heads are joined along the batch, (h·B, n, d_k): `cat` lengthens an axis, without "
        "`dim` the first one. They need an axis of their own: `torch.stack(heads, dim=1)`.",
    ),
    Mistake(
        "view-positions-before-batch",
        lambda x, h: x.reshape(x.size(1), x.size(0), h, x.size(2) // h).permute(1, 2, 0, 3),
        "The tensor is reshaped to (n, B, h, d_k): a reshape does not exchange axes, it only cuts "
        "the numbers in their order, so sentences and positions are mixed. The batch stays first: "
        "reshape to (B, n, h, d_k), then `transpose(1, 2)`.",
    ),
    Mistake(
        "positions-cut",
        lambda x, h: torch.stack(x.chunk(h, dim=1), dim=1),
        "The positions are cut into n_heads pieces, not the columns (`chunk(..., dim=1)`): each "
        "head would see a part of the sentence. Every head sees every token, and d_k of its "
        "columns: cut the last axis.",
    ),
    Mistake(
        "same-columns",
        lambda x, h: x[:, None, :, : x.size(2) // h].expand(-1, h, -1, -1),
        "Every head gets the same first d_k columns. Head i has columns i*d_k to (i+1)*d_k: let "
        "the slice move with i.",
    ),
    Mistake(
        "whole-width",
        lambda x, h: x[:, None].expand(-1, h, -1, -1),
        "Every head gets all d_model columns, (B, h, n, d_model): copied, not split. The width is "
        "shared out: each head is d_model // n_heads wide.",
    ),
    Mistake(
        "off-by-one",
        lambda x, h: split_heads(x.roll(-1, dims=-1), h),
        "The columns are shifted by one: head i starts at i*d_k + 1. Columns are counted from 0.",
    ),
    Mistake(
        "last-column-left-out",
        lambda x, h: split_heads(x, h)[..., :-1],
        "The last column of every head is left out. The end of a slice is not part of it, so "
        "nothing is subtracted: `i * d_k : (i + 1) * d_k`.",
    ),
    Mistake(
        "stride-of-one",
        lambda x, h: x.unfold(-1, x.size(2) // h, 1)[:, :, :h].transpose(1, 2),
        "The heads overlap: head i starts at column i instead of i*d_k. Each column belongs to "
        "exactly one head: slice `i * d_k : (i + 1) * d_k`.",
    ),
    Mistake(
        "fixed-number-of-heads",
        lambda x, h: split_heads(x, 2),
        "The number of heads is fixed in the code instead of taken from `n_heads`.",
    ),
    Mistake(
        "detached",
        lambda x, h: split_heads(x.detach(), h),
        "The values are right, but `detach` (or `no_grad`, `.data`) cuts the graph: no "
        "gradient reaches x. Leave it out.",
    ),
    Mistake(
        "unchanged",
        lambda x, h: x,
        "x comes back as it was. Cut its last axis into n_heads runs of d_k columns and move the "
        "heads before the positions: (B, h, n, d_k).",
    ),
)

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
        "dtype is kept."
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
    mistakes=SPLIT_MISTAKES,
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
