"""`beyond.tiled_attention`: the online softmax on which FlashAttention stands."""

import math
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.beyond.drawn import drawn
from annotated_transformer.exercises.exercise import Case, Exercise, Gradient, Stage
from annotated_transformer.exercises.grader.watching import result_and, shape_of

# The case that watches. No axis but those of queries and keys is so long, and with so narrow keys
# and values nothing else that a step needs holds as many numbers as all scores.
_BATCH, _QUERIES, _ALL_KEYS, _BLOCK, _WIDTH = 2, 7, 23, 6, 2
_ALL_SCORES = _BATCH * _QUERIES * _ALL_KEYS
_OF_A_BLOCK = _BATCH * _QUERIES * (_BLOCK + 1)  # and one more, such as m beside the scores
_EXPONENTIALS = (
    *("exp", "exp2", "expm1", "rpow"),
    *("softmax", "softmin", "log_softmax", "logsumexp", "logcumsumexp"),
)


def tiled_attention(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    largest = torch.full_like(q[..., :1], float("-inf"))  # m (..., n_q, 1), so far
    total = torch.zeros_like(q[..., :1])  # l (..., n_q, 1): sum of exp(score - m)
    output = q.new_zeros(*q.shape[:-1], v.size(-1))  # (..., n_q, d_v): the values, so weighted
    for start in range(0, k.size(-2), block_size):
        keys = k[..., start : start + block_size, :]
        values = v[..., start : start + block_size, :]
        scores = q @ keys.transpose(-2, -1) / math.sqrt(q.size(-1))  # (..., n_q, block)
        new_largest = torch.maximum(largest, scores.amax(dim=-1, keepdim=True))
        rescale = torch.exp(largest - new_largest)  # what was summed so far used the old m
        shares = torch.exp(scores - new_largest)
        total = total * rescale + shares.sum(dim=-1, keepdim=True)
        output = output * rescale + shares @ values
        largest = new_largest
    return output / total


def _by_merging_blocks(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    outputs, sizes = [], []
    for keys, values in zip(
        torch.split(k, block_size, -2), torch.split(v, block_size, -2), strict=True
    ):
        scores = torch.einsum("...qd,...kd->...qk", q, keys) * q.size(-1) ** -0.5
        outputs.append(scores.softmax(-1) @ values)
        sizes.append(scores.logsumexp(-1, keepdim=True))
    shares = torch.stack(sizes).softmax(0)
    return (torch.stack(outputs) * shares).sum(0)


def _by_running_average(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """Divided at every step, so that the output is right for the keys seen so far."""
    output, lse = None, None
    for start in range(0, k.shape[-2], block_size):
        keys, values = k[..., start : start + block_size, :], v[..., start : start + block_size, :]
        scores = q @ keys.mT / q.shape[-1] ** 0.5
        own_lse = torch.logsumexp(scores, dim=-1, keepdim=True)
        own = torch.softmax(scores, dim=-1) @ values
        if output is None or lse is None:
            output, lse = own, own_lse
        else:
            share = torch.sigmoid(own_lse - lse)
            output, lse = output + share * (own - output), torch.logaddexp(lse, own_lse)
    assert output is not None
    return output


def _by_two_passes(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    blocks = [slice(at, at + block_size) for at in range(0, k.size(-2), block_size)]
    scores = [q @ k[..., block, :].mT / math.sqrt(q.size(-1)) for block in blocks]
    largest = torch.stack([part.amax(-1) for part in scores]).amax(0)[..., None]
    shares = [torch.exp(part - largest) for part in scores]
    parts = [part @ v[..., block, :] for part, block in zip(shares, blocks, strict=True)]
    total = torch.stack([part.sum(-1, keepdim=True) for part in shares]).sum(0)
    return torch.stack(parts).sum(0) / total


def _by_tiles_of_queries_too(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    tiles = [tiled_attention(part, k, v, block_size) for part in torch.split(q, block_size, -2)]
    return torch.cat(tiles, dim=-2)


def _by_keys_alone(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    return tiled_attention(q, k, v, 1)


def _too_many_keys(name: str, args: tuple[Any, ...], result: Any) -> int:
    """3 for all keys of a query in one row, 2 for all in several, 1 for more than one block.

    Rows are told by their length: of scores in a matrix with all queries, or of what goes into an
    exponential or a softmax. All others are told by how many numbers there are.
    """
    made = [shape_of(one) for one in (result if isinstance(result, (tuple, list)) else (result,))]
    plain_name = name.strip("_").removeprefix("special_")  # of exp_, __rpow__, torch.special.exp2
    exponents = [shape_of(one) for one in args] if plain_name in _EXPONENTIALS else []
    if (
        any({_ALL_KEYS, _QUERIES} <= set(shape) for shape in made)
        or any(_ALL_KEYS in shape for shape in exponents)
        or (name == "scaled_dot_product_attention" and _ALL_KEYS in shape_of(args[1]))
    ):
        return 3
    if any(math.prod(shape) >= _ALL_SCORES for shape in made):
        return 2
    return int(any(math.prod(shape) > _OF_A_BLOCK for shape in exponents))


def _case(
    name: str,
    leading: tuple[int, ...],
    sizes: tuple[int, int, int, int],
    block_size: int,
    *,
    near: float = 0.0,
    apart: float = 1.0,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
    rtol: float | None = None,
) -> Case:
    """sizes: n_q, n_k, d, d_v. near: shifts all scores of a query by one number, times `apart`
    for every other query."""
    n_q, n_k, d, d_v = sizes

    def change(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        if near:
            root = math.sqrt(abs(near) * math.sqrt(d))
            q[..., 0], k[..., 0] = root, math.copysign(root, near)
            q[..., 1::2, 0] *= apart
        return q, k, v

    return drawn(
        name,
        ((*leading, n_q, d), (*leading, n_k, d), (*leading, n_k, d_v)),
        block_size,
        change=change,
        isolates=isolates,
        stage=stage,
        dtype=dtype,
        gradient=gradient,
        rtol=rtol,
    )


def _rising(q: Tensor, k: Tensor, v: Tensor, steep: float = 1.0) -> tuple[Tensor, Tensor, Tensor]:
    """The scores rise from key to key for one query and fall for the next."""
    k = k * 0.1
    k[..., 0] = torch.linspace(-3, 3, k.size(-2), dtype=k.dtype)
    q[..., 0] = 4.0 * steep
    q[..., 1::2, 0] = -4.0 * steep
    return q, k, v


TILED_ATTENTION = Exercise(
    id="beyond.tiled_attention",
    title="Attention block by block",
    kind="code",
    difficulty=4,
    minutes=30,
    signature=(
        "tiled_attention(q: (..., n_q, d), k: (..., n_k, d), v: (..., n_k, d_v), "
        "block_size: int) -> (..., n_q, d_v)"
    ),
    statement=(
        "Return softmax(q k^T / sqrt(d)) v computed block by block over keys with a running "
        "maximum and sum; the last block may be short. No tensor may hold the scores "
        "or the exponentials of all n_k keys: a step sees the block_size keys of its block. "
        "There is no mask. The dtype of q is kept and "
        "inputs are left untouched. Gradients have to flow back to its inputs: it is trained "
        "through. A tensor from NumPy is accepted with a remark."
    ),
    objective="Compute an exact softmax without ever holding the whole row.",
    prerequisite="attention.scaled_dot_product",
    hints=(
        "After the first block you have a maximum m, a sum l of exp(score - m) and the values "
        "weighted by exp(score - m). The second block has a larger maximum. What has to be done "
        "to l and to the weighted values?",
        "Everything summed so far contains the factor exp(-m_old). Multiply it by "
        "exp(m_old - m_new), add the new block with m_new, and divide by the sum once, at the "
        "end. Start with m = -inf.",
        "In the loop: `m_new = torch.maximum(m, s.amax(-1, keepdim=True))`; "
        "`c = torch.exp(m - m_new)`; `p = torch.exp(s - m_new)`; `l = l * c + p.sum(-1, "
        "keepdim=True)`; `o = o * c + p @ v_block`; `m = m_new`. After it: `o / l`.",
    ),
    reference=tiled_attention,
    explanation=(
        "A softmax seems to need the whole row, for its maximum and its sum. But both can be "
        "corrected afterwards: when a larger maximum turns up, everything so far is multiplied "
        "by exp(m_old - m_new), which is at most 1. So one pass over the keys is enough, with a "
        "maximum, a sum and an output row for each query, and the n_q × n_k matrix never exists. "
        "The result is exact, not an approximation. FlashAttention does this in the GPU's fast "
        "memory. A maximum that starts from 0 fails when all scores lie far below 0: every "
        "exponential is then 0, and so is the sum."
    ),
    cases=(
        _case(
            "1 query, 2 keys, d = 2, blocks of 2",
            (),
            (1, 2, 2, 1),
            2,
            isolates="the formula itself: there is one block",
        ),
        drawn(
            "2 queries, 2 keys, d = 2, blocks of 1; the maximum grows for the first query alone",
            ((2, 2), (2, 2), (2, 1)),
            1,
            change=lambda q, k, v: _rising(q, k, v, steep=0.1),
            isolates="the joining of two blocks of one key",
        ),
        _case(
            "2 queries, 6 keys, d = 4, d_v = 3, blocks of 2",
            (1,),
            (2, 6, 4, 3),
            2,
            isolates="the joining of blocks: all of them are full",
        ),
        _case(
            "2 queries, 5 keys, d = 4, d_v = 3, blocks of 2",
            (1,),
            (2, 5, 4, 3),
            2,
            isolates="the short last block: one key is left over",
        ),
        _case(
            "2 sentences, 3 heads, 4 queries, 7 keys, d = 5, d_v = 2, blocks of 3",
            (2, 3),
            (4, 7, 5, 2),
            3,
            gradient="in torch",
            isolates="the axes: all sizes differ",
        ),
        _case(
            "all axes of length 4, blocks of 4",
            (4,),
            (4, 4, 4, 4),
            4,
            isolates="the transposes: all axes have the same length",
        ),
        _case("all axes of length 6, blocks of 2", (6,), (6, 6, 6, 6), 2),
        _case(
            "3 queries, 4 keys, blocks of 9",
            (2,),
            (3, 4, 2, 5),
            9,
            isolates="a block larger than the number of keys",
        ),
        drawn(
            "scores that rise for one query and fall for the next, blocks of 2",
            ((2, 4, 3), (2, 7, 3), (2, 7, 2)),
            2,
            change=_rising,
            isolates="the rescaling: the maximum changes in every block, or only in the first",
        ),
        drawn(
            "scores from -1000 to 1000 that rise for one query and fall for the next, blocks of 2",
            ((2, 4, 3), (2, 7, 3), (2, 7, 2)),
            2,
            change=lambda q, k, v: _rising(q, k, v, steep=150.0),
            isolates="the running maximum: no other number keeps exponentials in bounds",
        ),
        _case(
            "all scores near -30000, blocks of 3",
            (2,),
            (3, 8, 4, 3),
            3,
            near=-30000.0,
            rtol=2e-2,
            isolates="the first maximum: it must lie below every possible score",
        ),
        _case(
            "all scores near 1000, blocks of 3",
            (2,),
            (3, 8, 4, 3),
            3,
            near=1000.0,
            rtol=1e-3,
            isolates="the running maximum: without it the exponentials overflow",
        ),
        _case(
            "scores near 1000 for one query and -1000 for the next, blocks of 2",
            (2,),
            (4, 5, 4, 3),
            2,
            near=1000.0,
            apart=-1.0,
            rtol=1e-3,
            isolates="the maximum of each query: one for all makes exponentials vanish",
        ),
        _case(
            "1 query, 1 key, blocks of 1",
            (3,),
            (1, 1, 2, 2),
            1,
            isolates="the value path: with one key its weight must be 1",
        ),
        _case(
            "float32, 2 sentences, blocks of 3",
            (2,),
            (3, 7, 4, 2),
            3,
            stage="other",
            dtype=torch.float32,
        ),
        drawn(
            "views that are not contiguous",
            ((3, 2, 8), (3, 5, 8), (3, 5, 12)),
            2,
            change=lambda q, k, v: (q[..., :4], k[..., 4:], v[..., :6]),
            stage="other",
        ),
        drawn(
            f"{_QUERIES} queries, {_ALL_KEYS} keys in blocks of {_BLOCK}, with a look at every "
            "tensor made",
            tuple((_BATCH, length, _WIDTH) for length in (_QUERIES, _ALL_KEYS, _ALL_KEYS)),
            _BLOCK,
            stage="other",
            observe=result_and(
                "too many keys at once",
                _too_many_keys,
                "The values are right, but one tensor held the scores or the exponentials of more "
                "keys than a block has. Go through the keys in blocks of block_size.",
            ),
        ),
    ),
    mistakes=page(__file__, tiled_attention),
    alternatives=(
        _by_merging_blocks,
        _by_running_average,
        _by_two_passes,
        _by_tiles_of_queries_too,
        _by_keys_alone,
    ),
    starter=(
        "def tiled_attention(q, k, v, block_size):\n"
        '    """softmax(q k^T / sqrt(d)) v over blocks of keys: (..., n_q, d_v).\n'
        "\n"
        "    Keep a running maximum, a running sum and a running output for each query.\n"
        '    """\n'
        "    ...  # your code"
    ),
)
