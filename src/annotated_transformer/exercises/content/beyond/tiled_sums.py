"""Wrong forms of `beyond.tiled_attention`: the running maximum, the sum and the output."""

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.beyond.tiled_steps import (
    no_factor,
    right_factor,
    right_scores,
    tiled_of,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _inverse(old: Tensor, new: Tensor) -> Tensor:
    return torch.exp(new - old).nan_to_num(posinf=0.0)


def _inverse_plain(old: Tensor, new: Tensor) -> Tensor:
    return torch.exp(new - old)


def _from_above(old: Tensor, new: Tensor) -> Tensor:
    return torch.where(old.isinf(), 0.0, torch.exp(old - new))


def _but_at_first(old: Tensor, new: Tensor) -> Tensor:
    """The right factor; 1 in the first step, where there is nothing old."""
    return torch.where(old.isinf(), 1.0, torch.exp(old - new))


def _difference(old: Tensor, new: Tensor) -> Tensor:
    return (old - new).nan_to_num(neginf=0.0)


def _merged(share: str) -> Candidate:
    """The softmax of each block by itself, joined with shares of one kind or another."""

    def implementation(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
        outputs, weights = [], []
        for start in range(0, k.size(-2), block_size):
            keys, values = (x[..., start : start + block_size, :] for x in (k, v))
            scores = right_scores(q, keys, block_size)
            outputs.append(scores.softmax(-1) @ values)
            sizes = {
                "sum": torch.zeros_like(scores[..., :1]),
                "keys": torch.full_like(scores[..., :1], keys.size(-2)).log(),
                "maximum": scores.amax(-1, keepdim=True),
            }
            weights.append(sizes["sum" if share == "mean" else share])
        if share == "sum":
            return torch.stack(outputs).sum(0)
        return (torch.stack(outputs) * torch.stack(weights).softmax(0)).sum(0)

    return implementation


def _divided_each_time(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    return _divided_in_each_step(q, k, v, block_size)[0]


def _divided_each_time_and_again(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    output, total = _divided_in_each_step(q, k, v, block_size)
    return output / total


def _divided_in_each_step(
    q: Tensor, k: Tensor, v: Tensor, block_size: int
) -> tuple[Tensor, Tensor]:
    """The sum is kept rightly, but the output is divided by it in every step."""
    largest = torch.full_like(q[..., :1], float("-inf"))
    total = torch.zeros_like(q[..., :1])
    output = q.new_zeros(*q.shape[:-1], v.size(-1))
    for start in range(0, k.size(-2), block_size):
        keys, values = (x[..., start : start + block_size, :] for x in (k, v))
        scores = right_scores(q, keys, block_size)
        new = torch.maximum(largest, scores.amax(-1, keepdim=True))
        rescale, shares = torch.exp(largest - new), torch.exp(scores - new)
        total = total * rescale + shares.sum(-1, keepdim=True)
        output = (output * rescale + shares @ values) / total
        largest = new
    return output, total


def _whole(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    return right_scores(q, k, block_size).softmax(-1) @ v


def _all_blocks_at_once(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """The keys in blocks, the last one filled up and hidden, but no walk over them."""
    missing = -k.size(-2) % block_size
    keys, values = (
        F.pad(x, (0, 0, 0, missing)).reshape(*x.shape[:-2], -1, block_size, x.size(-1))
        for x in (k, v)
    )
    scores = right_scores(q.unsqueeze(-3), keys, block_size)  # (..., blocks, n_q, block_size)
    scores[..., -1, :, block_size - missing :] = -math.inf
    shares = torch.exp(scores - scores.amax((-3, -1), keepdim=True))
    return (shares @ values).sum(-3) / shares.sum((-3, -1)).unsqueeze(-1)


def _all_keys_but_one(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """Blocks of a size of their own, in which nearly all keys come first."""
    return tiled_of()(q, k, v, max(k.size(-2) - 1, 1))


_SUM_NOT_RESCALED = (
    "The running sum is not rescaled when the maximum grows: its older part still belongs to the "
    "old maximum. Multiply it by exp(m_old - m_new) before the new block is added, as you do "
    "with the output."
)
_OUTPUT_NOT_RESCALED = (
    "The running output is not rescaled when the maximum grows: the older values still have "
    "weights relative to the old maximum. Multiply it by exp(m_old - m_new), as you do with the "
    "sum."
)
_NOT_RESCALED = (
    "Nothing is rescaled when the maximum grows: sum and output of the earlier blocks still "
    "belong to the old maximum. Multiply both by exp(m_old - m_new) before the new block is "
    "added. (A factor computed after m was overwritten is always 1.)"
)
_INVERSE = (
    "The factor is upside down: exp(m_new - m_old) is at least 1 and grows without bound. What "
    "was summed contains exp(-m_old) and has to contain exp(-m_new): multiply by "
    "exp(m_old - m_new)."
)
_FROM_ZERO = (
    "The running maximum starts from 0 (or another ordinary number). When all scores lie far below "
    "it every exponential underflows, and the result is 0 / 0. Start from -inf."
)
_NO_MAXIMUM = (
    "No maximum is subtracted: the exponentials of large scores overflow to infinity (and "
    "those of very negative ones to 0 / 0). Keep a running maximum and subtract it."
)
_BLOCKWISE = (
    "Each block has a softmax of its own and the results are put together as if all blocks "
    "weighed the same. A block counts by its part of the whole sum: keep the sums, and divide "
    "once at the end."
)
_BLOCK_MAXIMUM = (
    "The maximum of the present block replaces the running one, also when it is smaller. It is "
    "the largest score of all blocks so far: `torch.maximum(m, block_max)`."
)
_OWN_SHIFT = (
    "The scores of a block are shifted by the block's own maximum, while the sums belong to the "
    "running one. Subtract the new running maximum: exp(s - m_new)."
)
_ONE_MAXIMUM = (
    "One maximum is taken for all queries of a block. That is right on paper, but a query whose "
    "scores lie far below it has exponentials of 0 and ends in 0 / 0. Take the maximum of each "
    "row: `amax(-1, keepdim=True)`."
)

_OWN_RESCALED = (
    "The factor exp(m_old - m_new) multiplies {} of the new block as well. Its terms are made with "
    "m_new already: only what was summed before is multiplied, `l = l * c + p.sum(...)` and "
    "`o = o * c + p @ v_block`, not `(l + p.sum(...)) * c`."
)
_NOTHING_LEFT = " In the first step m_old is -inf and the factor 0: nothing is left of that block."


def _own_rescaled() -> list[Mistake]:
    """The factor on the new terms too; `c` from -inf, which is 0, or left out in the first step."""
    parts: dict[str, tuple[str, tuple[str, ...]]] = {
        "sum-and-output": ("both sum and output", ("of_own_total", "of_own_output")),
        "sum": ("the sum", ("of_own_total",)),
        "output": ("the output", ("of_own_output",)),
    }
    mistakes = []
    for name, (what, options) in parts.items():
        for suffix, factor in (("", right_factor), ("-but-the-first", _but_at_first)):
            sentence = _OWN_RESCALED.format(what) + ("" if suffix else _NOTHING_LEFT)
            replaced: dict[str, Any] = dict.fromkeys(options, factor)
            candidate = tiled_of(**replaced)
            mistakes.append(Mistake(f"own-{name}-rescaled{suffix}", candidate, sentence))
    new_alone = tiled_of(
        of_total=no_factor,
        of_output=no_factor,
        of_own_total=_but_at_first,
        of_own_output=_but_at_first,
    )
    return [
        *mistakes,
        Mistake(
            "own-rescaled-alone",
            new_alone,
            "The factor exp(m_old - m_new) multiplies the new block's terms instead of what was "
            "summed before. The new ones are made with m_new already; the old ones belong to "
            "m_old: `l = l * c + p.sum(...)`, `o = o * c + p @ v_block`.",
        ),
    ]


SUM_MISTAKES = (
    *_own_rescaled(),
    Mistake("sum-not-rescaled", tiled_of(of_total=no_factor), _SUM_NOT_RESCALED),
    Mistake("output-not-rescaled", tiled_of(of_output=no_factor), _OUTPUT_NOT_RESCALED),
    Mistake("not-rescaled", tiled_of(of_total=no_factor, of_output=no_factor), _NOT_RESCALED),
    Mistake("rescaled-inversely", tiled_of(of_total=_inverse, of_output=_inverse), _INVERSE),
    Mistake(
        "rescaled-inversely-from-the-start",
        tiled_of(of_total=_inverse_plain, of_output=_inverse_plain),
        _INVERSE + " With m = -inf in the first step it is infinite.",
    ),
    Mistake("sum-rescaled-inversely", tiled_of(of_total=_inverse), _INVERSE),
    Mistake("output-rescaled-inversely", tiled_of(of_output=_inverse), _INVERSE),
    Mistake(
        "rescaled-by-the-difference",
        tiled_of(of_total=_difference, of_output=_difference),
        "Sum and output are multiplied by m_old - m_new itself. The factor is its exponential.",
    ),
    Mistake(
        "rescaled-by-exp-of-the-old-maximum",
        tiled_of(
            of_total=lambda old, new: torch.exp(old), of_output=lambda old, new: torch.exp(old)
        ),
        "Sum and output are multiplied by exp(m_old). The factor is exp(m_old - m_new).",
    ),
    Mistake(
        "rescaled-twice",
        tiled_of(
            of_total=lambda old, new: torch.exp(2 * (old - new)),
            of_output=lambda old, new: torch.exp(2 * (old - new)),
        ),
        "Sum and output are rescaled twice in each step. Once is enough: exp(m_old - m_new).",
    ),
    Mistake(
        "sum-forgotten-between-blocks",
        tiled_of(of_total=lambda old, new: torch.zeros_like(new)),
        "The sum holds the last block only. It runs on: total * exp(m_old - m_new) + the "
        "block's sum.",
    ),
    Mistake(
        "output-forgotten-between-blocks",
        tiled_of(of_output=lambda old, new: torch.zeros_like(new)),
        "The output holds the last block only, over the sum of all. It runs on: "
        "output * exp(m_old - m_new) + the block's weighted values.",
    ),
    Mistake(
        "maximum-from-0",
        tiled_of(first_maximum=0.0),
        _FROM_ZERO,
    ),
    Mistake(
        "maximum-from-0-not-rescaled",
        tiled_of(first_maximum=0.0, of_total=no_factor, of_output=no_factor),
        _NOT_RESCALED + " The maximum starts from 0 besides; start from -inf.",
    ),
    Mistake(
        "maximum-from-0-sum-not-rescaled",
        tiled_of(first_maximum=0.0, of_total=no_factor),
        _SUM_NOT_RESCALED + " The maximum starts from 0 besides; start from -inf.",
    ),
    Mistake(
        "maximum-from-0-output-not-rescaled",
        tiled_of(first_maximum=0.0, of_output=no_factor),
        _OUTPUT_NOT_RESCALED + " The maximum starts from 0 besides; start from -inf.",
    ),
    Mistake(
        "smallest-for-the-largest",
        tiled_of(
            first_maximum=float("inf"),
            maximum=lambda scores: scores.amin(-1, keepdim=True),
            next_maximum=torch.minimum,
            of_total=_from_above,
            of_output=_from_above,
        ),
        "The smallest score is subtracted. It keeps nothing from overflowing: subtract the "
        "largest.",
    ),
    Mistake(
        "no-maximum",
        tiled_of(
            first_maximum=0.0,
            next_maximum=lambda old, own: torch.zeros_like(old),
        ),
        _NO_MAXIMUM,
    ),
    Mistake(
        "maximum-of-the-block",
        tiled_of(next_maximum=lambda old, own: own),
        _BLOCK_MAXIMUM,
    ),
    Mistake(
        "maximum-of-the-block-not-rescaled",
        tiled_of(next_maximum=lambda old, own: own, of_total=no_factor, of_output=no_factor),
        "Each block is shifted by its own maximum, and sums and outputs are added as they are. "
        "They belong to different maxima: keep one running maximum, and multiply what was summed "
        "by exp(m_old - m_new).",
    ),
    Mistake("shifted-by-the-block", tiled_of(shift=lambda old, new, own: own), _OWN_SHIFT),
    Mistake(
        "shifted-by-the-block-not-rescaled",
        tiled_of(
            shift=lambda old, new, own: own,
            of_output=no_factor,
        ),
        _OWN_SHIFT + " And the output is not rescaled.",
    ),
    Mistake(
        "shifted-by-the-old-maximum",
        tiled_of(shift=lambda old, new, own: torch.where(old.isinf(), new, old)),
        "The scores of a block are shifted by the old maximum, while the sums are rescaled to the "
        "new one. Update the maximum first, then subtract it: exp(s - m_new).",
    ),
    Mistake(
        "first-maximum-kept",
        tiled_of(next_maximum=lambda old, own: torch.where(old.isinf(), own, old)),
        "The maximum of the first block is kept for all. That is right on paper; but a "
        "later score far above it overflows. Take the larger one in every step and rescale.",
    ),
    Mistake(
        "one-maximum-for-all-queries",
        tiled_of(maximum=lambda scores: scores.amax()),
        _ONE_MAXIMUM,
    ),
    Mistake(
        "maximum-over-the-queries",
        tiled_of(maximum=lambda scores: scores.amax(-2, keepdim=True)),
        "The maximum is taken over the queries (axis -2). Each query needs the largest of its "
        "own scores: `amax(-1, keepdim=True)`.",
    ),
    Mistake(
        "sum-over-the-queries",
        tiled_of(summed=lambda shares: shares.sum(-2, keepdim=True)),
        "The exponentials are summed over the queries (axis -2). Each query needs the sum over "
        "its keys: `sum(-1, keepdim=True)`.",
    ),
    Mistake(
        "maximum-without-keepdim",
        tiled_of(maximum=lambda scores: scores.amax(-1)),
        "The maximum has lost its last axis, so it does not line up with the queries: what is "
        "subtracted spreads the scores out. Keep it: `amax(-1, keepdim=True)`.",
    ),
    Mistake(
        "sum-without-keepdim",
        tiled_of(summed=lambda shares: shares.sum(-1)),
        "The sum has lost its last axis, so it does not line up with the queries. Keep it: "
        "`sum(-1, keepdim=True)`.",
    ),
    Mistake(
        "mean-for-sum",
        tiled_of(summed=lambda shares: shares.mean(-1, keepdim=True)),
        "The exponentials of a block are averaged. The denominator is their sum.",
    ),
    Mistake(
        "maximum-for-sum",
        tiled_of(summed=lambda shares: shares.amax(-1, keepdim=True)),
        "The largest exponential of a block is added to the denominator. It is the sum of all.",
    ),
    Mistake(
        "not-divided",
        tiled_of(finish=lambda output, total: output),
        "The division by the running sum is missing: the weights do not sum to 1. Return "
        "output / total.",
    ),
    Mistake(
        "multiplied-by-the-sum",
        tiled_of(finish=lambda output, total: output * total),
        "The output is multiplied by the running sum. Divide by it.",
    ),
    Mistake(
        "divided-each-time",
        _divided_each_time,
        "The output is divided by the sum in every step, and what was divided before is divided "
        "again. Divide once, after the last block (or undo the old division with the old sum).",
    ),
    Mistake(
        "divided-each-time-and-at-the-end",
        _divided_each_time_and_again,
        "The output is divided by the sum in every step and once more at the end, and what was "
        "divided before is divided again. Divide once, after the last block.",
    ),
    Mistake("blocks-averaged", _merged("mean"), _BLOCKWISE),
    Mistake("blocks-averaged-by-length", _merged("keys"), _BLOCKWISE),
    Mistake("blocks-added", _merged("sum"), _BLOCKWISE + " Here they are even added up."),
    Mistake(
        "blocks-weighed-by-maximum",
        _merged("maximum"),
        "Each block has a softmax of its own and is weighed by its largest score alone. A block "
        "counts by the sum of its exponentials, exp(m) times its sum of exp(s - m).",
    ),
    Mistake(
        "sum-returned-too",
        tiled_of(finish=lambda output, total: (output / total, total)),
        "Output and sum are returned. Only the output is asked for.",
    ),
    Mistake(
        "whole-rows",
        _whole,
        "The values are right, but the scores or exponentials of all keys are in one tensor, so a "
        "whole row of the n_q × n_k matrix is held, and that is what tiling avoids. Go through the "
        "*keys* in blocks of block_size, with a running maximum and sum. (Blocks of queries do "
        "not help: each still has a full row.)",
    ),
    Mistake(
        "all-blocks-at-once",
        _all_blocks_at_once,
        "The values are right, but all blocks are computed at once: an axis of blocks beside one "
        "of block_size keys holds as many scores as a whole row, and tiling has saved nothing. "
        "Take one block after the other, with a running maximum and sum.",
    ),
    Mistake(
        "blocks-of-another-size",
        _all_keys_but_one,
        "The values are right, but a step sees more keys than block_size: the blocks have a size "
        "of their own. A step takes `k[..., start : start + block_size, :]`.",
    ),
    Mistake(
        "divided-by-the-logarithm",
        tiled_of(finish=lambda output, total: output / total.log()),
        "The output is divided by the logarithm of the sum. The logarithm is what a log-sum-exp "
        "needs; divide by the sum itself.",
    ),
    Mistake(
        "sum-from-1",
        tiled_of(finish=lambda output, total: output / (total + 1)),
        "1 is added to the sum, or the sum starts from 1. It starts from 0, and all weights "
        "together are 1.",
    ),
)
