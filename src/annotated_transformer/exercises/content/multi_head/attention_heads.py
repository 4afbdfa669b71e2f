"""Named mistakes of `multihead.attention` in splitting, sharing and merging the heads."""

import math

import torch
from torch import Tensor

from annotated_transformer.exercises.content.multi_head.attention_steps import (
    Mask,
    layer_of,
    right_merge,
    right_split,
    right_weights,
    scaled_scores,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _view_split(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(x.size(0), n_heads, x.size(1), -1)


def _interleaved_split(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(*x.shape[:2], -1, n_heads).permute(0, 3, 1, 2)


def _not_transposed(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(*x.shape[:2], n_heads, -1)


def _view_merge(heads: Tensor) -> Tensor:
    return heads.reshape(heads.size(0), heads.size(2), -1)


def _heads_averaged(heads: Tensor) -> Tensor:
    return heads.mean(1).repeat(1, 1, heads.size(1))


def _heads_summed(heads: Tensor) -> Tensor:
    return heads.sum(1).repeat(1, 1, heads.size(1))


def _first_rows_of_output(heads: Tensor, w_o: Tensor) -> Tensor:
    d_k = heads.size(-1)
    return heads.sum(1) @ w_o[:d_k]


def _own_block(heads: Tensor, w_o: Tensor) -> Tensor:
    d_k = heads.size(-1)
    blocks = [w_o[i * d_k : (i + 1) * d_k, i * d_k : (i + 1) * d_k] for i in range(heads.size(1))]
    return torch.cat([heads[:, i] @ block for i, block in enumerate(blocks)], dim=-1)


def _first_block(heads: Tensor, w_o: Tensor) -> Tensor:
    d_k = heads.size(-1)
    return right_merge(heads @ w_o[:d_k, :d_k])


def _averaged_and_projected(heads: Tensor, w_o: Tensor) -> Tensor:
    return heads.mean(1) @ w_o[: heads.size(-1)]


def _first_head_only(heads: Tensor, w_o: Tensor) -> Tensor:
    return heads[:, 0] @ w_o[: heads.size(-1)]


def _unsplit(scale_by_head: bool) -> Candidate:
    """Attention of the whole width at once, with the mask of the first head."""

    def implementation(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        w_q: Tensor,
        w_k: Tensor,
        w_v: Tensor,
        w_o: Tensor,
        n_heads: int,
        mask: Mask = None,
    ) -> Tensor:
        q, k, v = query @ w_q, key @ w_k, value @ w_v
        width = q.size(-1) // n_heads if scale_by_head else q.size(-1)
        own = mask[:, 0] if mask is not None and mask.dim() == 4 else mask
        return right_weights(q @ k.mT / math.sqrt(width), own) @ v @ w_o

    return implementation


def _one_length(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Mask = None,
) -> Tensor:
    """Keys and values are cut with the length of the queries: an error unless n_k equals n_q."""
    batch, n, width = query.shape
    q, k, v = (
        (x @ w).view(batch, n, n_heads, width // n_heads).transpose(1, 2)
        for x, w in ((query, w_q), (key, w_k), (value, w_v))
    )
    return right_merge(right_weights(scaled_scores(q, k, n_heads), mask) @ v) @ w_o


def _sliced_inputs(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Mask = None,
) -> Tensor:
    """Each head projects its own columns of the inputs only."""
    d_k = w_q.size(0) // n_heads
    own = torch.kron(torch.eye(n_heads), torch.ones(d_k, d_k)).to(w_q.dtype)
    layer: Tensor = layer_of()(
        query, key, value, w_q * own, w_k * own, w_v * own, w_o, n_heads, mask
    )
    return layer


def _last_head_only(heads: Tensor) -> Tensor:
    return heads[:, -1].repeat(1, 1, heads.size(1))


def _weights_shared(scores: Tensor, mask: Mask) -> Tensor:
    weights = right_weights(scores, mask)
    return weights.mean(1, keepdim=True).expand_as(weights)


def _scores_shared(scores: Tensor, mask: Mask) -> Tensor:
    return right_weights(scores.mean(1, keepdim=True).expand_as(scores), mask)


HEAD_MISTAKES = (
    Mistake(
        "heads-not-split",
        _unsplit(scale_by_head=False),
        "The heads are not split: one wide head attends with all d_model columns, so there is a "
        "single weighting instead of n_heads. Split queries, keys and values into "
        "(B, n_heads, n, d_k) before attending.",
    ),
    Mistake(
        "heads-not-split-but-scaled",
        _unsplit(scale_by_head=True),
        "The heads are not split: one wide head attends with all d_model columns (only the scale "
        "knows of heads). Split queries, keys and values into (B, n_heads, n, d_k) before "
        "attending.",
    ),
    Mistake(
        "split-by-view",
        layer_of(split=_view_split),
        "The split is a reshape to (B, h, n, d_k) without a transpose: heads get whole tokens "
        "instead of their columns of each token. Reshape to (B, n, h, d_k), then "
        "`transpose(1, 2)`.",
    ),
    Mistake(
        "split-and-merge-by-view",
        layer_of(split=_view_split, merge=_view_merge),
        "Split and merge are reshapes without a transpose: heads get whole tokens instead of "
        "their columns of each token. Reshape to (B, n, h, d_k), then `transpose(1, 2)`, and back "
        "the same way.",
    ),
    Mistake(
        "split-interleaved",
        layer_of(split=_interleaved_split),
        "The columns are dealt out to the heads in turn (interleaved). Head i owns a run of "
        "neighbours, columns i*d_k to (i+1)*d_k: reshape to (B, n, h, d_k).",
    ),
    Mistake(
        "split-and-merge-interleaved",
        layer_of(
            split=_interleaved_split,
            merge=lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
        ),
        "The columns are dealt out to the heads in turn (interleaved), and merged the same way. "
        "Head i owns a run of neighbours, columns i*d_k to (i+1)*d_k: reshape to (B, n, h, d_k).",
    ),
    Mistake(
        "heads-attend-to-heads",
        layer_of(split=_not_transposed, merge=lambda heads: heads.flatten(2)),
        "The transpose after the split is missing, so attention runs over the heads of one "
        "position instead of over positions. Move the heads before the positions: "
        "`transpose(1, 2)`.",
    ),
    Mistake(
        "merge-by-view",
        layer_of(merge=_view_merge),
        "The merge is a reshape of (B, h, n, d_k) to (B, n, d) without transposing back: a row "
        "then holds several positions of one head. First `transpose(1, 2)`, then reshape.",
    ),
    Mistake(
        "merge-interleaved",
        layer_of(merge=lambda heads: heads.permute(0, 2, 3, 1).flatten(2)),
        "The heads are merged interleaved, column by column. They lie side by side, whole: "
        "`transpose(1, 2)`, then join the last two axes.",
    ),
    Mistake(
        "merge-reversed",
        layer_of(merge=lambda heads: heads.flip(1).transpose(1, 2).flatten(2)),
        "The heads are concatenated in reverse order; w_o expects head 0 first.",
    ),
    Mistake(
        "heads-averaged",
        layer_of(merge=lambda heads: heads, finish=_averaged_and_projected),
        "The heads are averaged instead of concatenated, so what they found separately is lost. "
        "Put them side by side, (B, n_q, d), and let w_o weigh them.",
    ),
    Mistake(
        "heads-averaged-and-repeated",
        layer_of(merge=_heads_averaged),
        "The heads are averaged instead of concatenated, so what they found separately is lost. "
        "Put them side by side, (B, n_q, d), and let w_o weigh them.",
    ),
    Mistake(
        "heads-summed",
        layer_of(merge=_heads_summed),
        "The heads are summed instead of concatenated, so what they found separately is lost. "
        "Put them side by side, (B, n_q, d), and let w_o weigh them.",
    ),
    Mistake(
        "output-weights-shared",
        layer_of(merge=lambda heads: heads, finish=_first_rows_of_output),
        "W^O is applied to each head with the same rows, and the results are summed. Each head "
        "has its own d_k rows of w_o: concatenate first, then multiply once.",
    ),
    Mistake(
        "output-projection-by-blocks",
        layer_of(merge=lambda heads: heads, finish=_own_block),
        "W^O is applied to each head by itself, with the block of w_o on the diagonal, before the "
        "heads are put side by side: so heads never meet. Concatenate first, then multiply with "
        "all of w_o.",
    ),
    Mistake(
        "output-projection-first-block",
        layer_of(merge=lambda heads: heads, finish=_first_block),
        "W^O is applied to each head by itself, always with the first d_k rows and columns of "
        "w_o: so heads never meet. Concatenate first, then multiply with all of w_o.",
    ),
    Mistake(
        "first-head-only",
        layer_of(merge=lambda heads: heads, finish=_first_head_only),
        "Only the first head reaches the output. All are concatenated before w_o.",
    ),
    Mistake(
        "fixed-number-of-heads",
        layer_of(split=lambda x, n_heads: right_split(x, 2)),
        "The number of heads is fixed in the code instead of taken from `n_heads`.",
    ),
    Mistake(
        "number-and-width-exchanged",
        layer_of(split=lambda x, n_heads: right_split(x, x.size(-1) // n_heads)),
        "Number and width of the heads are exchanged: each head is n_heads columns wide, and there "
        "are d / n_heads of them. `n_heads` says how many there are; reshape to "
        "(B, n, n_heads, d / n_heads).",
    ),
    Mistake(
        "last-head-only",
        layer_of(merge=_last_head_only),
        "Only one head reaches the output, repeated: each pass of the loop overwrites what the "
        "one before found. Collect the heads and concatenate them.",
    ),
    Mistake(
        "view-after-transpose",
        layer_of(merge=lambda heads: heads.transpose(1, 2).view(len(heads), heads.size(2), -1)),
        "`view` after `transpose` fails when the heads are merged: the numbers are no longer in "
        "the order that the view needs. Use `reshape`, or `contiguous()` before `view`.",
    ),
    Mistake(
        "one-length-for-all",
        _one_length,
        "Keys and values are cut into heads with the length of the queries, which fails as soon "
        "as n_k differs from n_q, as in cross-attention. Take each tensor's own length.",
    ),
    Mistake(
        "first-columns-for-all-heads",
        layer_of(split=lambda x, h: right_split(x, h)[:, :1].expand(-1, h, -1, -1)),
        "Every head uses the same first d_k columns of the projections, so all heads are equal. "
        "Head i has columns i*d_k to (i+1)*d_k: let the slice move with i.",
    ),
    Mistake(
        "inputs-sliced",
        _sliced_inputs,
        "Each head gets only its own slice of the inputs' columns. In the paper every head "
        "projects the whole d_model: first `x @ w`, all columns, then split.",
    ),
    Mistake(
        "heads-not-merged",
        layer_of(merge=lambda heads: heads, finish=lambda heads, w_o: heads),
        "The heads are returned unmerged, (B, h, n_q, d_k). Put them side by side, (B, n_q, d), "
        "and multiply with w_o.",
    ),
    Mistake(
        "weights-averaged-over-heads",
        layer_of(weights=_weights_shared),
        "All heads use the same weights, their average. The point of several heads is that each "
        "looks elsewhere: keep one matrix of weights for each head.",
    ),
    Mistake(
        "scores-averaged-over-heads",
        layer_of(weights=_scores_shared),
        "The scores are averaged over the heads, so all heads look at the same places. Keep one "
        "matrix of scores for each head.",
    ),
)
