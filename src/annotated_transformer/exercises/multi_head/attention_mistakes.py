"""The named mistakes of `multihead.attention`.

The layer has five steps. `_layer` puts an implementation together from steps that can be replaced
one at a time, so that each mistake states only what it does differently.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.exercise import Candidate, Mistake

Mask = Tensor | None
Triple = tuple[Tensor, Tensor, Tensor]
Projections = tuple[Tensor, Tensor, Tensor, Tensor]  # w_q, w_k, w_v, w_o


def _project(query: Tensor, key: Tensor, value: Tensor, w: Projections) -> Triple:
    return query @ w[0], key @ w[1], value @ w[2]


def _split(x: Tensor, n_heads: int) -> Tensor:
    return x.reshape(*x.shape[:2], n_heads, -1).transpose(1, 2)


def _scores(q: Tensor, k: Tensor, n_heads: int) -> Tensor:
    return q @ k.mT / math.sqrt(q.size(-1))


def _weights(scores: Tensor, mask: Mask) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
    return weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def _mix(weights: Tensor, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return weights @ v


def _merge(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(2)


def _finish(merged: Tensor, w_o: Tensor) -> Tensor:
    return merged @ w_o


def _layer(
    project: Callable[[Tensor, Tensor, Tensor, Projections], Triple] = _project,
    split: Callable[[Tensor, int], Tensor] = _split,
    scores: Callable[[Tensor, Tensor, int], Tensor] = _scores,
    weights: Callable[[Tensor, Mask], Tensor] = _weights,
    mix: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor] = _mix,
    merge: Callable[[Tensor], Tensor] = _merge,
    finish: Callable[[Tensor, Tensor], Any] = _finish,
) -> Candidate:
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
    ) -> Any:
        projected = project(query, key, value, (w_q, w_k, w_v, w_o))
        q, k, v = (split(x, n_heads) for x in projected)
        shares = weights(scores(q, k, n_heads), mask)
        return finish(merge(mix(shares, q, k, v)), w_o)

    return implementation


def _divided_by(divisor: Callable[[Tensor, Tensor, int], float]) -> Candidate:
    return _layer(scores=lambda q, k, h: q @ k.mT / divisor(q, k, h))


def _masked(scores: Tensor, mask: Mask, fill: float) -> Tensor:
    return scores if mask is None else scores.masked_fill(~mask, fill)


def _filled(fill: float) -> Candidate:
    return _layer(weights=lambda scores, mask: _masked(scores, mask, fill).softmax(-1))


SCALE_MISTAKES = (
    Mistake(
        "scale-by-sqrt-d_model",
        _divided_by(lambda q, k, h: math.sqrt(q.size(-1) * h)),
        "The scores are divided by sqrt(d_model), the width of all heads together. A head's dot "
        "product has only d_k = d_model / n_heads terms: the scale is sqrt(d_k), the width after "
        "the split.",
    ),
    Mistake(
        "no-scale",
        _divided_by(lambda q, k, h: 1.0),
        "The scores are not divided by sqrt(d_k): the scale is missing, and the softmax "
        "saturates. d_k is the width of one head.",
    ),
    Mistake(
        "scale-by-d_k",
        _divided_by(lambda q, k, h: q.size(-1)),
        "The scores are divided by d_k, not by its square root. The deviation of a dot product "
        "grows with sqrt(d_k).",
    ),
    Mistake(
        "scale-by-d_model",
        _divided_by(lambda q, k, h: q.size(-1) * h),
        "The scores are divided by d_model. It is the width of one head that counts, and its "
        "square root: sqrt(d_k).",
    ),
    Mistake(
        "scale-multiplied",
        _divided_by(lambda q, k, h: q.size(-1) ** -0.5),
        "The scores are multiplied by sqrt(d_k) instead of divided by it.",
    ),
    Mistake(
        "scale-by-sqrt-n_heads",
        _divided_by(lambda q, k, h: math.sqrt(h)),
        "The scale is sqrt(n_heads), the number of heads. It is their width that counts: "
        "sqrt(d_k), d_k = d_model / n_heads.",
    ),
    Mistake(
        "scale-by-sqrt-n_k",
        _divided_by(lambda q, k, h: math.sqrt(k.size(-2))),
        "The scale is the root of the number of keys. A dot product sums over the d_k columns of "
        "a head, not over positions.",
    ),
    Mistake(
        "scale-by-sqrt-n_q",
        _divided_by(lambda q, k, h: math.sqrt(q.size(-2))),
        "The scale is the root of the number of queries. A dot product sums over the d_k columns "
        "of a head, not over positions.",
    ),
    Mistake(
        "scale-by-8",
        _divided_by(lambda q, k, h: 8.0),
        "The scale is written as a fixed number, 8 = sqrt(64): right for the paper's heads and no "
        "others. Compute it from the width of a head.",
    ),
    Mistake(
        "scale-rounded-down",
        _divided_by(lambda q, k, h: int(math.sqrt(q.size(-1)))),
        "The scale is a whole number, sqrt(d_k) rounded down (`int` or `//`).",
    ),
)

PROJECTION_MISTAKES = (
    Mistake(
        "no-output-projection",
        _layer(finish=lambda merged, w_o: merged),
        "The last projection W^O is missing: the merged heads are returned as they are, and "
        "nothing ever combines what different heads found. Return `merged @ w_o`.",
    ),
    Mistake(
        "values-from-key",
        _layer(project=lambda q, k, v, w: (q @ w[0], k @ w[1], k @ w[2])),
        "The values are made from `key`, not from `value` (`key @ w_v`). In self-attention the two "
        "are the same tensor, which hides it; project `value`.",
    ),
    Mistake(
        "keys-from-value",
        _layer(project=lambda q, k, v, w: (q @ w[0], v @ w[1], v @ w[2])),
        "The keys are made from `value`, not from `key`. In the paper's uses the two are the same "
        "tensor, which hides it; project `key` with w_k.",
    ),
    Mistake(
        "key-and-value-exchanged",
        _layer(project=lambda q, k, v, w: (q @ w[0], v @ w[1], k @ w[2])),
        "Key and value are exchanged: keys are made from `value` and values from `key`. The "
        "arguments come in the order query, key, value.",
    ),
    Mistake(
        "values-from-query",
        _layer(project=lambda q, k, v, w: (q @ w[0], k @ w[1], q @ w[2])),
        "The values are made from `query`, not from `value`. In self-attention the two are the "
        "same tensor, which hides it; in cross-attention the decoder would read itself.",
    ),
    Mistake(
        "keys-from-query",
        _layer(project=lambda q, k, v, w: (q @ w[0], q @ w[1], v @ w[2])),
        "The keys are made from `query`, not from `key`. In self-attention the two are the same "
        "tensor, which hides it; in cross-attention lengths would not fit.",
    ),
    Mistake(
        "all-from-query",
        _layer(project=lambda q, k, v, w: (q @ w[0], q @ w[1], q @ w[2])),
        "Keys and values are both made from `query`: that is self-attention only. Project `key` "
        "and `value`, which in cross-attention come from the encoder.",
    ),
    Mistake(
        "queries-from-key",
        _layer(project=lambda q, k, v, w: (k @ w[0], k @ w[1], v @ w[2])),
        "The queries are made from `key`. There is one result for each row of `query`: project "
        "`query` with w_q.",
    ),
    Mistake(
        "w_q-for-all",
        _layer(project=lambda q, k, v, w: (q @ w[0], k @ w[0], v @ w[0])),
        "All three inputs are projected with w_q. Each has its own: w_q, w_k, w_v.",
    ),
    Mistake(
        "w_k-and-w_v-exchanged",
        _layer(project=lambda q, k, v, w: (q @ w[0], k @ w[2], v @ w[1])),
        "w_k and w_v are exchanged: keys are projected with w_v and values with w_k.",
    ),
    Mistake(
        "w_q-and-w_k-exchanged",
        _layer(project=lambda q, k, v, w: (q @ w[1], k @ w[0], v @ w[2])),
        "w_q and w_k are exchanged: queries are projected with w_k and keys with w_q.",
    ),
    Mistake(
        "w_k-for-values",
        _layer(project=lambda q, k, v, w: (q @ w[0], k @ w[1], v @ w[1])),
        "The values are projected with w_k. They have their own projection, w_v.",
    ),
    Mistake(
        "w_q-for-keys",
        _layer(project=lambda q, k, v, w: (q @ w[0], k @ w[0], v @ w[2])),
        "The keys are projected with w_q. They have their own projection, w_k.",
    ),
    Mistake(
        "transposed-weights",
        _layer(
            project=lambda q, k, v, w: (q @ w[0].T, k @ w[1].T, v @ w[2].T),
            finish=lambda merged, w_o: merged @ w_o.T,
        ),
        "All weights are used transposed, `x @ w.T`, as `torch.nn.Linear` stores them. Here they "
        "are used as they come: `x @ w`.",
    ),
    Mistake(
        "transposed-input-weights",
        _layer(project=lambda q, k, v, w: (q @ w[0].T, k @ w[1].T, v @ w[2].T)),
        "w_q, w_k and w_v are used transposed (`x @ w.T`, or `F.linear`, which transposes). Here "
        "they are used as they come: `x @ w`.",
    ),
    Mistake(
        "transposed-output-weights",
        _layer(finish=lambda merged, w_o: merged @ w_o.T),
        "w_o is used transposed (`x @ w.T`, or `F.linear`, which transposes). Here it is used as "
        "it comes: `x @ w_o`.",
    ),
    Mistake(
        "transposed-query-weights",
        _layer(project=lambda q, k, v, w: (q @ w[0].T, k @ w[1], v @ w[2])),
        "w_q is used transposed. All weights are used as they come: `x @ w`.",
    ),
    Mistake(
        "transposed-key-weights",
        _layer(project=lambda q, k, v, w: (q @ w[0], k @ w[1].T, v @ w[2])),
        "w_k is used transposed. All weights are used as they come: `x @ w`.",
    ),
    Mistake(
        "transposed-value-weights",
        _layer(project=lambda q, k, v, w: (q @ w[0], k @ w[1], v @ w[2].T)),
        "w_v is used transposed. All weights are used as they come: `x @ w`.",
    ),
    Mistake(
        "no-projections",
        _layer(project=lambda q, k, v, w: (q, k, v)),
        "Query, key and value are not projected: heads then only slice the inputs. Each head has "
        "its own view of *all* d_model columns, through w_q, w_k and w_v.",
    ),
    Mistake(
        "no-query-projection",
        _layer(project=lambda q, k, v, w: (q, k @ w[1], v @ w[2])),
        "The queries are not projected: `query @ w_q` is missing.",
    ),
    Mistake(
        "no-key-projection",
        _layer(project=lambda q, k, v, w: (q @ w[0], k, v @ w[2])),
        "The keys are not projected: `key @ w_k` is missing.",
    ),
    Mistake(
        "no-value-projection",
        _layer(project=lambda q, k, v, w: (q @ w[0], k @ w[1], v)),
        "The values are not projected: `value @ w_v` is missing.",
    ),
    Mistake(
        "no-projections-at-all",
        _layer(project=lambda q, k, v, w: (q, k, v), finish=lambda merged, w_o: merged),
        "None of the four weights is used: heads only slice the inputs. Project with w_q, w_k and "
        "w_v before the split and with w_o after the merge.",
    ),
    Mistake(
        "output-projection-twice",
        _layer(finish=lambda merged, w_o: merged @ w_o @ w_o),
        "W^O is applied twice. Once, after the merge, is right.",
    ),
    Mistake(
        "w_v-for-output",
        lambda query, key, value, w_q, w_k, w_v, w_o, n_heads, mask=None: _layer()(
            query, key, value, w_q, w_k, w_v, w_v, n_heads, mask
        ),
        "The last projection uses w_v instead of w_o.",
    ),
)


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
        return _weights(q @ k.mT / math.sqrt(width), own) @ v @ w_o

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
    return _merge(_weights(_scores(q, k, n_heads), mask) @ v) @ w_o


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
    layer: Tensor = _layer()(query, key, value, w_q * own, w_k * own, w_v * own, w_o, n_heads, mask)
    return layer


def _last_head_only(heads: Tensor) -> Tensor:
    return heads[:, -1].repeat(1, 1, heads.size(1))


def _weights_shared(scores: Tensor, mask: Mask) -> Tensor:
    weights = _weights(scores, mask)
    return weights.mean(1, keepdim=True).expand_as(weights)


def _scores_shared(scores: Tensor, mask: Mask) -> Tensor:
    return _weights(scores.mean(1, keepdim=True).expand_as(scores), mask)


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
        _layer(split=_view_split),
        "The split is a reshape to (B, h, n, d_k) without a transpose: heads get whole tokens "
        "instead of their columns of each token. Reshape to (B, n, h, d_k), then "
        "`transpose(1, 2)`.",
    ),
    Mistake(
        "split-and-merge-by-view",
        _layer(split=_view_split, merge=_view_merge),
        "Split and merge are reshapes without a transpose: heads get whole tokens instead of "
        "their columns of each token. Reshape to (B, n, h, d_k), then `transpose(1, 2)`, and back "
        "the same way.",
    ),
    Mistake(
        "split-interleaved",
        _layer(split=_interleaved_split),
        "The columns are dealt out to the heads in turn (interleaved). Head i owns a run of "
        "neighbours, columns i*d_k to (i+1)*d_k: reshape to (B, n, h, d_k).",
    ),
    Mistake(
        "split-and-merge-interleaved",
        _layer(
            split=_interleaved_split,
            merge=lambda heads: heads.permute(0, 2, 3, 1).flatten(2),
        ),
        "The columns are dealt out to the heads in turn (interleaved), and merged the same way. "
        "Head i owns a run of neighbours, columns i*d_k to (i+1)*d_k: reshape to (B, n, h, d_k).",
    ),
    Mistake(
        "heads-attend-to-heads",
        _layer(split=_not_transposed, merge=lambda heads: heads.flatten(2)),
        "The transpose after the split is missing, so attention runs over the heads of one "
        "position instead of over positions. Move the heads before the positions: "
        "`transpose(1, 2)`.",
    ),
    Mistake(
        "merge-by-view",
        _layer(merge=_view_merge),
        "The merge is a reshape of (B, h, n, d_k) to (B, n, d) without transposing back: a row "
        "then holds several positions of one head. First `transpose(1, 2)`, then reshape.",
    ),
    Mistake(
        "merge-interleaved",
        _layer(merge=lambda heads: heads.permute(0, 2, 3, 1).flatten(2)),
        "The heads are merged interleaved, column by column. They lie side by side, whole: "
        "`transpose(1, 2)`, then join the last two axes.",
    ),
    Mistake(
        "merge-reversed",
        _layer(merge=lambda heads: heads.flip(1).transpose(1, 2).flatten(2)),
        "The heads are concatenated in reverse order; w_o expects head 0 first.",
    ),
    Mistake(
        "heads-averaged",
        _layer(merge=lambda heads: heads, finish=_averaged_and_projected),
        "The heads are averaged instead of concatenated, so what they found separately is lost. "
        "Put them side by side, (B, n_q, d), and let w_o weigh them.",
    ),
    Mistake(
        "heads-averaged-and-repeated",
        _layer(merge=_heads_averaged),
        "The heads are averaged instead of concatenated, so what they found separately is lost. "
        "Put them side by side, (B, n_q, d), and let w_o weigh them.",
    ),
    Mistake(
        "heads-summed",
        _layer(merge=_heads_summed),
        "The heads are summed instead of concatenated, so what they found separately is lost. "
        "Put them side by side, (B, n_q, d), and let w_o weigh them.",
    ),
    Mistake(
        "output-weights-shared",
        _layer(merge=lambda heads: heads, finish=_first_rows_of_output),
        "W^O is applied to each head with the same rows, and the results are summed. Each head "
        "has its own d_k rows of w_o: concatenate first, then multiply once.",
    ),
    Mistake(
        "first-head-only",
        _layer(merge=lambda heads: heads, finish=_first_head_only),
        "Only the first head reaches the output. All are concatenated before w_o.",
    ),
    Mistake(
        "last-head-only",
        _layer(merge=_last_head_only),
        "Only one head reaches the output, repeated: each pass of the loop overwrites what the "
        "one before found. Collect the heads and concatenate them.",
    ),
    Mistake(
        "view-after-transpose",
        _layer(merge=lambda heads: heads.transpose(1, 2).view(len(heads), heads.size(2), -1)),
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
        _layer(split=lambda x, h: _split(x, h)[:, :1].expand(-1, h, -1, -1)),
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
        _layer(merge=lambda heads: heads, finish=lambda heads, w_o: heads),
        "The heads are returned unmerged, (B, h, n_q, d_k). Put them side by side, (B, n_q, d), "
        "and multiply with w_o.",
    ),
    Mistake(
        "weights-averaged-over-heads",
        _layer(weights=_weights_shared),
        "All heads use the same weights, their average. The point of several heads is that each "
        "looks elsewhere: keep one matrix of weights for each head.",
    ),
    Mistake(
        "scores-averaged-over-heads",
        _layer(weights=_scores_shared),
        "The scores are averaged over the heads, so all heads look at the same places. Keep one "
        "matrix of scores for each head.",
    ),
)


def _softmax_over(axis: int) -> Callable[[Tensor, Mask], Tensor]:
    def weights(scores: Tensor, mask: Mask) -> Tensor:
        shares = _masked(scores, mask, -1e30).softmax(axis)
        return shares if mask is None else shares * mask

    return weights


def _softmax_over_everything(scores: Tensor, mask: Mask) -> Tensor:
    shares = _masked(scores, mask, -1e30).flatten(1).softmax(-1).reshape(scores.shape)
    return shares if mask is None else shares * mask


def _mask_on_first_head(scores: Tensor, mask: Mask) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    return torch.cat([_weights(scores, mask)[:, :1], scores[:, 1:].softmax(-1)], dim=1)


def _first_heads_mask(scores: Tensor, mask: Mask) -> Tensor:
    own = mask[:, :1] if mask is not None and mask.dim() == 4 else mask
    return _weights(scores, own)


def _first_sentences_mask(scores: Tensor, mask: Mask) -> Tensor:
    return _weights(scores, mask[:1] if mask is not None and mask.dim() == 4 else mask)


def _mask_after(scores: Tensor, mask: Mask) -> Tensor:
    weights = scores.softmax(-1)
    return weights if mask is None else weights * mask


def _additive(scores: Tensor, mask: Mask) -> Tensor:
    if mask is not None:
        scores = scores + (~mask).to(scores.dtype) * -1e9
    return scores.softmax(-1)


MASK_MISTAKES = (
    Mistake(
        "mask-ignored",
        _layer(weights=lambda scores, mask: scores.softmax(-1)),
        "The mask is ignored: forbidden keys keep their weight. Hand it on to the attention of "
        "the heads.",
    ),
    Mistake(
        "mask-inverted",
        _layer(weights=lambda scores, mask: _weights(scores, None if mask is None else ~mask)),
        "The mask is inverted: allowed keys are forbidden and forbidden ones allowed. True means "
        "may attend: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "mask-inverted-large",
        _layer(
            weights=lambda scores, mask: (
                scores if mask is None else scores.masked_fill(mask, -1e9)
            ).softmax(-1)
        ),
        "The mask is inverted: `masked_fill(mask, ...)` forbids where it is True. True means may "
        "attend: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "mask-on-first-head",
        _layer(weights=_mask_on_first_head),
        "The mask is applied to the first head only; the others see everything. It broadcasts "
        "over (B, n_heads, n_q, n_k): use it on all heads at once.",
    ),
    Mistake(
        "first-heads-mask",
        _layer(weights=_first_heads_mask),
        "The first head's mask is used for all heads. A mask may differ from head to head: let it "
        "broadcast as it is.",
    ),
    Mistake(
        "first-sentences-mask",
        _layer(weights=_first_sentences_mask),
        "The first sentence's mask is used for the whole batch. Each sentence has its own "
        "padding: let the mask broadcast as it is.",
    ),
    Mistake(
        "mask-after-softmax",
        _layer(weights=_mask_after),
        "The mask is applied after the softmax: forbidden weights become 0, but the rest no "
        "longer sums to 1. Mask the scores before the softmax.",
    ),
    Mistake(
        "mask-fills-zero",
        _filled(0.0),
        "Forbidden scores are set to 0 (or multiplied by the mask). exp(0) is 1, so a forbidden "
        "key keeps a share. Use -inf.",
    ),
    Mistake(
        "mask-added",
        _layer(
            weights=lambda scores, mask: (scores if mask is None else scores + mask).softmax(-1)
        ),
        "The boolean mask is added to the scores as 0 and 1, which forbids nothing. Replace "
        "forbidden scores by -inf: `masked_fill(~mask, ...)`.",
    ),
    Mistake(
        "empty-row-nan",
        _filled(float("-inf")),
        "A fully masked row comes out as NaN: where everything is forbidden the softmax of -inf "
        "alone is 0 / 0. Such a query gets zeros: set its weights to 0 where "
        "`mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "empty-row-uniform",
        _filled(-1e9),
        "Where everything is forbidden the weights come out uniform: with -1e9 in the whole row "
        "all scores are equal, and the query attends to all the forbidden keys. Such a query gets "
        "zeros: set its weights to 0 where `mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "empty-row-unmasked",
        _layer(weights=_additive),
        "Where everything is forbidden the weights come out as if nothing were: -1e9 added to the "
        "whole row cancels in the softmax. Such a query gets zeros: set its weights to 0 where "
        "`mask.any(-1, keepdim=True)` is False.",
    ),
    Mistake(
        "softmax-over-queries",
        _layer(weights=_softmax_over(-2)),
        "The softmax runs over the queries (dim=-2). Each query shares 1 among the keys, the last "
        "axis: dim=-1.",
    ),
    Mistake(
        "softmax-over-heads",
        _layer(weights=_softmax_over(1)),
        "The softmax runs over the heads (dim=1), so heads compete for each key. Each query of "
        "each head shares 1 among the keys: dim=-1.",
    ),
    Mistake(
        "softmax-over-batch",
        _layer(weights=_softmax_over(0)),
        "The softmax runs over the batch (dim=0). Each query shares 1 among the keys: dim=-1.",
    ),
    Mistake(
        "softmax-over-everything",
        _layer(weights=_softmax_over_everything),
        "The softmax runs over heads, queries and keys together. Each query's row has to sum to 1 "
        "by itself: dim=-1.",
    ),
    Mistake(
        "no-softmax",
        _layer(weights=lambda scores, mask: _masked(scores, mask, 0.0)),
        "The softmax is missing: raw scores are used as weights.",
    ),
    Mistake(
        "scores-transposed",
        _layer(scores=lambda q, k, n_heads: k @ q.mT / math.sqrt(q.size(-1))),
        "The scores are transposed, k q^T: keys stand in the rows. Rows are queries: "
        "`q @ k.transpose(-2, -1)`.",
    ),
    Mistake(
        "keys-as-values",
        _layer(mix=lambda weights, q, k, v: weights @ k),
        "The weights mix the projected keys instead of the values: `weights @ v`.",
    ),
    Mistake(
        "queries-as-values",
        _layer(mix=lambda weights, q, k, v: weights @ q),
        "The weights mix the projected queries instead of the values: `weights @ v`.",
    ),
    Mistake(
        "attention-weights-transposed",
        _layer(mix=lambda weights, q, k, v: weights.mT @ v),
        "The attention weights are transposed before they meet the values. Row i mixes the values "
        "for query i: `weights @ v`.",
    ),
)


def _with_residual(
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
    attended: Tensor = _layer()(query, key, value, w_q, w_k, w_v, w_o, n_heads, mask)
    return query + attended


def _returning_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Mask = None,
) -> tuple[Tensor, Tensor]:
    q, k = _split(query @ w_q, n_heads), _split(key @ w_k, n_heads)
    weights = _weights(_scores(q, k, n_heads), mask)
    return _merge(weights @ _split(value @ w_v, n_heads)) @ w_o, weights


OTHER_MISTAKES = (
    Mistake(
        "returns-weights-too",
        _returning_weights,
        "Two things are returned, output and weights. Asked for is the output alone, (B, n_q, d).",
    ),
    Mistake(
        "residual-added",
        _with_residual,
        "The query is added to the result (a residual connection). That belongs to the sub-layer "
        "around it; here the result is `merged @ w_o`.",
    ),
    Mistake(
        "dropout",
        _layer(weights=lambda scores, mask: F.dropout(_weights(scores, mask), 0.1)),
        "Dropout is applied to the weights, so the result is random. None is asked for, and the "
        "paper's has none at this place.",
    ),
    Mistake(
        "detached",
        lambda query, key, value, w_q, w_k, w_v, w_o, n_heads, mask=None: _layer()(
            query, key, value, w_q, w_k, w_v, w_o, n_heads, mask
        ).detach(),
        "The values are right, but `detach` (or `no_grad`, `.data`, NumPy) cuts the graph: no "
        "gradient reaches the weights, and the layer never learns. Leave it out.",
    ),
)

MISTAKES = (
    *SCALE_MISTAKES,
    *PROJECTION_MISTAKES,
    *HEAD_MISTAKES,
    *MASK_MISTAKES,
    *OTHER_MISTAKES,
)
