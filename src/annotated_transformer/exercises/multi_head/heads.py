"""`multihead.split_heads`, `multihead.merge_heads` (section 3.2.2): a reshape, a transpose."""

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import (
    Call,
    Case,
    Exercise,
    Gradient,
    Mistake,
    Stage,
    call,
)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    batch, n, d_model = x.shape
    heads = x.reshape(batch, n, n_heads, d_model // n_heads)  # columns cut into n_heads runs
    return heads.transpose(1, 2)  # (batch, n_heads, n, d_k)


def merge_heads(x: Tensor) -> Tensor:
    batch, n_heads, n, d_k = x.shape
    side_by_side = x.transpose(1, 2)  # (batch, n, n_heads, d_k): a token's heads next to each other
    return side_by_side.reshape(batch, n, n_heads * d_k)


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


SPLIT_MISTAKES = (
    Mistake(
        "view-only",
        lambda x, h: x.reshape(x.size(0), h, x.size(1), x.size(2) // h),
        "The tensor is reshaped to (B, h, n, d_k) directly, without a transpose: the shape is "
        "right, but a head gets whole tokens one after the other instead of its columns of every "
        "token, so positions are mixed. First `reshape(B, n, h, d_k)`, then `transpose(1, 2)`.",
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
        "The values are right, but `detach` (or `no_grad`, `.data`, NumPy) cuts the graph: no "
        "gradient reaches x. Leave it out.",
    ),
    Mistake(
        "unchanged",
        lambda x, h: x,
        "x comes back as it was. Cut its last axis into n_heads runs of d_k columns and move the "
        "heads before the positions: (B, h, n, d_k).",
    ),
)

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
        "The values are right, but `detach` (or `no_grad`, `.data`, NumPy) cuts the graph: no "
        "gradient reaches x. Leave it out.",
    ),
    Mistake(
        "unchanged",
        lambda x: x,
        "x comes back as it was. Exchange heads and positions, then join heads and width: "
        "(B, n, h·d_k).",
    ),
)


def _numbered(
    name: str,
    shape: tuple[int, ...],
    *n_heads: int,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    """Entries 0, 1, 2, ...: a reader sees at once where each went."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        numbers = torch.arange(torch.Size(shape).numel(), dtype=torch.float64)
        return call(numbers.reshape(shape).to(dtype), *n_heads)

    return Case(name, make, isolates=isolates, stage=stage, dtype=dtype, gradient=gradient)


def _not_contiguous(*n_heads: int) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        shape = (4, 3, 2) if n_heads else (2, 4, 3, 5)
        x = torch.randn(shape, generator=generator, dtype=dtype)
        return call(x.transpose(0, 2) if n_heads else x.transpose(1, 2), *n_heads)

    return Case("views that are not contiguous", make, stage="other")


SPLIT_HEADS = Exercise(
    id="multihead.split_heads",
    title="Split into heads",
    kind="code",
    difficulty=2,
    minutes=8,
    signature="split_heads(x: (B, n, d_model), n_heads: int) -> (B, n_heads, n, d_k)",
    statement=(
        "Cut the last axis of x into n_heads runs of d_k = d_model / n_heads columns and move the "
        "heads before the positions: head i holds columns i*d_k to (i+1)*d_k of every token."
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
        _numbered(
            "x of shape (1, 2, 4) holding 0 to 7, 2 heads",
            (1, 2, 4),
            2,
            isolates="which columns go to which head, for two tokens",
        ),
        _numbered(
            "x of shape (1, 1, 6), 3 heads",
            (1, 1, 6),
            3,
            isolates="the cutting of the columns: there is one token",
        ),
        _numbered("x of shape (2, 3, 8), 2 heads", (2, 3, 8), 2, gradient="required"),
        _numbered("x of shape (2, 5, 12), 4 heads", (2, 5, 12), 4),
        _numbered("x of shape (3, 4, 16), 4 heads", (3, 4, 16), 4),
        _numbered("x of shape (2, 3, 4), 1 head", (2, 3, 4), 1),
        _numbered("x of shape (2, 3, 4), 4 heads of width 1", (2, 3, 4), 4),
        _numbered(
            "float32, x of shape (2, 3, 6)", (2, 3, 6), 3, stage="other", dtype=torch.float32
        ),
        _not_contiguous(2),
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

MERGE_HEADS = Exercise(
    id="multihead.merge_heads",
    title="Merge the heads",
    kind="code",
    difficulty=2,
    minutes=5,
    signature="merge_heads(x: (B, h, n, d_k)) -> (B, n, h*d_k)",
    statement=(
        "Undo the splitting: for every token put its heads side by side, head 0 first, so that "
        "column i*d_k + j of the result is column j of head i."
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
        _numbered(
            "x of shape (1, 2, 2, 2) holding 0 to 7",
            (1, 2, 2, 2),
            isolates="the order of the heads' columns, for two tokens and two heads",
        ),
        _numbered(
            "x of shape (1, 3, 1, 2)",
            (1, 3, 1, 2),
            isolates="the joining of heads: there is one token",
        ),
        _numbered("x of shape (2, 2, 3, 4)", (2, 2, 3, 4), gradient="required"),
        _numbered("x of shape (2, 4, 5, 3)", (2, 4, 5, 3)),
        _numbered("x of shape (3, 3, 3, 3)", (3, 3, 3, 3)),
        _numbered("x of shape (2, 1, 3, 4)", (2, 1, 3, 4)),
        _numbered("x of shape (2, 4, 3, 1)", (2, 4, 3, 1)),
        _numbered(
            "float32, x of shape (2, 2, 3, 2)", (2, 2, 3, 2), stage="other", dtype=torch.float32
        ),
        _not_contiguous(),
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
