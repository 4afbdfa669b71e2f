"""Wrong forms of `beyond.tiled_attention`: scores, blocks, values, and the shape of the result."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.beyond.drawn import then
from annotated_transformer.exercises.content.beyond.tiled_steps import no_factor, tiled_of
from annotated_transformer.exercises.exercise import Mistake


def _only_full(n_k: int, block_size: int) -> list[slice]:
    return [slice(b * block_size, (b + 1) * block_size) for b in range(n_k // block_size)]


def _only_full_but_one(n_k: int, block_size: int) -> list[slice]:
    return _only_full(n_k, block_size) or [slice(0, n_k)]


def _one_block_more(n_k: int, block_size: int) -> list[slice]:
    return [slice(b * block_size, (b + 1) * block_size) for b in range(n_k // block_size + 1)]


def _last_full_one_lost(n_k: int, block_size: int) -> list[slice]:
    blocks = [slice(at, at + block_size) for at in range(0, n_k - block_size, block_size)]
    return blocks or [slice(0, block_size)]


def _overlapping(n_k: int, block_size: int) -> list[slice]:
    return [slice(at, at + block_size + 1) for at in range(0, n_k, block_size)]


def _one_key_skipped(n_k: int, block_size: int) -> list[slice]:
    width = max(block_size - 1, 1)
    return [slice(at, at + width) for at in range(0, n_k, block_size)]


def _step_of_one(n_k: int, block_size: int) -> list[slice]:
    return [slice(at, at + block_size) for at in range(n_k)]


def _numbers_of_blocks(n_k: int, block_size: int) -> list[slice]:
    width = -(-n_k // block_size)
    return [slice(at, at + width) for at in range(0, n_k, block_size)]


def _last_moved_back(n_k: int, block_size: int) -> list[slice]:
    """The last block is filled up with keys that were seen before."""
    return [
        slice(max(0, min(at, n_k - block_size)), at + block_size)
        for at in range(0, n_k, block_size)
    ]


def _padded_with_zeros(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    missing = -k.size(-2) % block_size
    k, v = (F.pad(x, (0, 0, 0, missing)) for x in (k, v))
    return tiled_of()(q, k, v, block_size)


def _from_the_queries(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """As many steps as the queries need, not the keys."""
    n_q = q.size(-2)
    return tiled_of(blocks=lambda n_k, size: [slice(at, at + size) for at in range(0, n_q, size)])(
        q, k, v, block_size
    )


def _own_block_only(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """Block number b of the queries sees block number b of the keys."""
    rows = torch.arange(q.size(-2))[:, None] // block_size
    columns = torch.arange(k.size(-2))[None, :] // block_size
    return F.scaled_dot_product_attention(q, k, v, attn_mask=rows == columns)


def _first_values(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    repeats = -(-k.size(-2) // block_size)
    first = v[..., :block_size, :]
    return tiled_of()(q, k, torch.cat([first] * repeats, -2)[..., : k.size(-2), :], block_size)


def _bare_scores(q: Tensor, k: Tensor, block_size: int) -> Tensor:
    return q @ k.mT


def _in_place(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    q /= math.sqrt(q.size(-1))
    return tiled_of(scores=_bare_scores)(q, k, v, block_size)


_SHORT_BLOCK = (
    "The short last block is dropped: n_k // block_size counts the full blocks only. Go on until "
    "all keys are used: `range(0, n_k, block_size)`; a slice that runs over the end is cut."
)
_UNSCALED = (
    "The scores are not divided by sqrt(d). Divide them (or q) by `math.sqrt(q.size(-1))` before "
    "the exponential."
)
_PADDED = (
    "The last block is filled up with zeros, and the keys of zeros get weight: their score is 0, "
    "not -inf. Let the last block be short."
)
_TOO_FEW_STEPS = (
    "Not all keys are visited: the loop ends before the last block. It runs over the keys: "
    "`range(0, n_k, block_size)`."
)

_AND_THE_SCALE = (
    (
        "not-rescaled",
        tiled_of(scores=_bare_scores, of_total=no_factor, of_output=no_factor),
        " And sum and output are not rescaled when the maximum grows.",
    ),
    (
        "sum-not-rescaled",
        tiled_of(scores=_bare_scores, of_total=no_factor),
        " And the sum is not rescaled when the maximum grows.",
    ),
    (
        "output-not-rescaled",
        tiled_of(scores=_bare_scores, of_output=no_factor),
        " And the output is not rescaled when the maximum grows.",
    ),
    (
        "maximum-from-0",
        tiled_of(scores=_bare_scores, first_maximum=0.0),
        " And the running maximum starts from 0; start from -inf.",
    ),
)
_AND_THE_SHORT_BLOCK = (
    (
        "not-rescaled",
        tiled_of(blocks=_only_full, of_total=no_factor, of_output=no_factor),
        " And sum and output are not rescaled when the maximum grows.",
    ),
    (
        "sum-not-rescaled",
        tiled_of(blocks=_only_full, of_total=no_factor),
        " And the sum is not rescaled when the maximum grows.",
    ),
    (
        "output-not-rescaled",
        tiled_of(blocks=_only_full, of_output=no_factor),
        " And the output is not rescaled when the maximum grows.",
    ),
    (
        "unscaled",
        tiled_of(blocks=_only_full, scores=_bare_scores),
        " And the scores are not divided by sqrt(d).",
    ),
    (
        "maximum-from-0",
        tiled_of(blocks=_only_full, first_maximum=0.0),
        " And the running maximum starts from 0; start from -inf.",
    ),
)

BLOCK_MISTAKES = (
    Mistake("unscaled", tiled_of(scores=_bare_scores), _UNSCALED),
    Mistake(
        "scaled-by-d",
        tiled_of(scores=lambda q, k, size: q @ k.mT / q.size(-1)),
        "The scores are divided by d. Their standard deviation is its root: divide by sqrt(d).",
    ),
    Mistake(
        "multiplied-by-root-d",
        tiled_of(scores=lambda q, k, size: q @ k.mT * math.sqrt(q.size(-1))),
        "The scores are multiplied by sqrt(d). Divide by it.",
    ),
    Mistake(
        "scaled-by-block-size",
        tiled_of(scores=lambda q, k, size: q @ k.mT / math.sqrt(size)),
        "The scores are divided by sqrt(block_size). Each is a dot product of d terms: sqrt(d).",
    ),
    Mistake(
        "scaled-by-length-of-block",
        tiled_of(scores=lambda q, k, size: q @ k.mT / math.sqrt(k.size(-2))),
        "The scores are divided by the root of the number of keys in the block. Each is a dot "
        "product of d terms: divide by sqrt(d).",
    ),
    Mistake(
        "scaled-by-number-of-queries",
        tiled_of(scores=lambda q, k, size: q @ k.mT / math.sqrt(q.size(-2))),
        "The scores are divided by the root of the number of queries. Each is a dot product of "
        "d terms: divide by sqrt(d).",
    ),
    Mistake(
        "negated",
        tiled_of(scores=lambda q, k, size: -q @ k.mT / math.sqrt(q.size(-1))),
        "The scores have the wrong sign: the least similar key gets most of the weight.",
    ),
    Mistake(
        "not-transposed",
        tiled_of(scores=lambda q, k, size: q @ k / math.sqrt(q.size(-1))),
        "The keys are not transposed. Scores are q k^T: `q @ k_block.transpose(-2, -1)`.",
    ),
    Mistake(
        "scaled-by-d_v",
        lambda q, k, v, size: tiled_of(scores=lambda q, k, size: q @ k.mT / math.sqrt(v.size(-1)))(
            q, k, v, size
        ),
        "The scores are divided by the root of the values' width. Each is a dot product of a "
        "query and a key, d terms: divide by sqrt(d).",
    ),
    Mistake(
        "scaled-by-number-of-keys",
        lambda q, k, v, size: tiled_of(
            scores=lambda q, part, size: q @ part.mT / math.sqrt(k.size(-2))
        )(q, k, v, size),
        "The scores are divided by the root of the number of keys. Each is a dot product of d "
        "terms: divide by sqrt(d).",
    ),
    *(
        Mistake(f"unscaled-{name}", candidate, _UNSCALED + sentence)
        for name, candidate, sentence in _AND_THE_SCALE
    ),
    *(
        Mistake(f"short-block-dropped-{name}", candidate, _SHORT_BLOCK + sentence)
        for name, candidate, sentence in _AND_THE_SHORT_BLOCK
    ),
    Mistake("short-block-dropped", tiled_of(blocks=_only_full), _SHORT_BLOCK),
    Mistake("short-block-dropped-unless-alone", tiled_of(blocks=_only_full_but_one), _SHORT_BLOCK),
    Mistake(
        "one-block-too-many",
        tiled_of(blocks=_one_block_more),
        "There is one block more than needed where block_size divides n_k: it is empty, and has "
        "no maximum. The number of blocks is n_k / block_size rounded up.",
    ),
    Mistake(
        "last-block-dropped",
        tiled_of(blocks=_last_full_one_lost),
        "The last block is never reached, full or short: the loop ends at n_k - block_size. "
        "It runs to n_k: `range(0, n_k, block_size)`.",
    ),
    Mistake(
        "first-block-only",
        tiled_of(blocks=lambda n_k, size: [slice(0, size)]),
        "Only the first block of keys is used (a `return` inside the loop does this). All of them "
        "count.",
    ),
    Mistake(
        "last-block-only",
        tiled_of(blocks=lambda n_k, size: [slice((n_k - 1) // size * size, n_k)]),
        "Only the last block of keys counts: nothing is kept from the earlier ones (perhaps "
        "because the running maximum is never updated). Maximum, sum and output run on from block "
        "to block.",
    ),
    Mistake(
        "first-block-skipped",
        tiled_of(
            blocks=lambda n_k, size: (
                [slice(at, at + size) for at in range(size, n_k, size)] or [slice(0, n_k)]
            )
        ),
        "The first block is skipped. Start from key 0: `range(0, n_k, block_size)`.",
    ),
    Mistake(
        "overlapping",
        tiled_of(blocks=_overlapping),
        "Neighbouring blocks share a key, which is counted twice. A slice ends before its end: "
        "`[start : start + block_size]`.",
    ),
    Mistake(
        "one-key-skipped",
        tiled_of(blocks=_one_key_skipped),
        "The last key of each block is left out. A slice ends before its end: "
        "`[start : start + block_size]`, not `start + block_size - 1`.",
    ),
    Mistake(
        "step-of-1",
        tiled_of(blocks=_step_of_one),
        "The blocks start at every key and overlap, so most keys count several times. Step by "
        "block_size: `range(0, n_k, block_size)`.",
    ),
    Mistake(
        "number-of-blocks-as-width",
        tiled_of(blocks=_numbers_of_blocks),
        "The number of blocks is used as their width. A block holds block_size keys.",
    ),
    Mistake(
        "last-block-moved-back",
        tiled_of(blocks=_last_moved_back),
        "The last block is moved back to be full, so some keys count twice. Let it be short.",
    ),
    Mistake("padded-with-zeros", _padded_with_zeros, _PADDED),
    Mistake("as-many-steps-as-queries", _from_the_queries, _TOO_FEW_STEPS),
    Mistake(
        "own-block-only",
        _own_block_only,
        "Each block of queries sees one block of keys, the one of the same number. Every query "
        "attends to all keys; the blocks are only the order in which they come.",
    ),
    Mistake(
        "values-of-the-first-block",
        _first_values,
        "All blocks take the values of the first. Slice v as k is sliced.",
    ),
    Mistake(
        "keys-as-values",
        lambda q, k, v, size: tiled_of()(q, k, k, size),
        "The weights average the keys. They are for the values: `p @ v_block`.",
    ),
    Mistake(
        "keys-as-values-in-the-sum",
        tiled_of(values=lambda keys, values: keys),
        "The weights average the keys. They are for the values: `p @ v_block`.",
    ),
    Mistake(
        "values-as-keys",
        lambda q, k, v, size: tiled_of()(q, v, v, size),
        "The queries are compared with the values. Scores come from the keys: q k^T.",
    ),
    Mistake(
        "keys-and-values-exchanged",
        lambda q, k, v, size: tiled_of()(q, v, k, size),
        "Keys and values are exchanged: scores come from k, and the weights average v.",
    ),
    Mistake(
        "causal",
        lambda q, k, v, size: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        "Keys after the query's own position are hidden. There is no mask here: every query "
        "attends to all keys.",
    ),
    Mistake(
        "plain-mean",
        lambda q, k, v, size: tiled_of(scores=lambda q, k, size: 0 * q @ k.mT)(q, k, v, size),
        "Every key has the same weight. The weights come from the scores: exp(s - m).",
    ),
    Mistake(
        "transposed",
        then(tiled_of(), lambda output: output.mT),
        "The last two axes of the result are exchanged: it is (..., n_q, d_v).",
    ),
    Mistake(
        "in-place",
        _in_place,
        "q itself is changed (`/=`, `*=`). The caller still needs it: make a new tensor.",
    ),
)
