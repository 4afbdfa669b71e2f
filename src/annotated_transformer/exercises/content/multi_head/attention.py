"""`multihead.attention`: project, split, attend, merge, project (section 3.2.2)."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import (
    Call,
    Case,
    Exercise,
    Gradient,
    Stage,
    call,
)


def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Tensor | None = None,
) -> Tensor:
    projected = query @ w_q, key @ w_k, value @ w_v
    q, k, v = (x.reshape(*x.shape[:2], n_heads, -1).transpose(1, 2) for x in projected)
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))  # (batch, heads, n_q, n_k)
    if mask is None:
        mask = torch.ones(1, dtype=torch.bool)  # everything may be seen
    masked = scores.masked_fill(~mask, float("-inf"))
    shares = torch.softmax(masked, dim=-1)
    weights = shares.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)  # not NaN: zeros
    heads = weights @ v  # (batch, heads, n_q, d_k)
    merged = heads.transpose(1, 2).flatten(2)  # (batch, n_q, d_model)
    return merged @ w_o


def _by_fused_kernel(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Tensor | None = None,
) -> Tensor:
    q, k, v = (
        (x @ w).unflatten(-1, (n_heads, w.size(1) // n_heads)).transpose(1, 2)  # type: ignore[no-untyped-call]
        for x, w in ((query, w_q), (key, w_k), (value, w_v))
    )
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return heads.transpose(1, 2).reshape(query.shape) @ w_o


def _by_loop_over_heads(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Tensor | None = None,
) -> Tensor:
    d_k = w_q.size(1) // n_heads
    shape = (query.size(0), n_heads, query.size(1), key.size(1))
    allowed = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    output = torch.zeros_like(query)
    for head in range(n_heads):
        columns = slice(head * d_k, (head + 1) * d_k)
        q, k, v = query @ w_q[:, columns], key @ w_k[:, columns], value @ w_v[:, columns]
        scores = (q @ k.mT).div(d_k**0.5).masked_fill(~allowed[:, head], -1e30)
        weights = scores.softmax(-1) * allowed[:, head]
        output = output + weights @ v @ w_o[columns]  # concatenation and W^O in one
    return output


def _by_einsum(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Tensor | None = None,
) -> Tensor:
    d = w_q.size(0)
    q = torch.einsum("bnd,dhk->bhnk", query, w_q.reshape(d, n_heads, -1))
    k = torch.einsum("bnd,dhk->bhnk", key, w_k.reshape(d, n_heads, -1))
    v = torch.einsum("bnd,dhk->bhnk", value, w_v.reshape(d, n_heads, -1))
    scores = torch.einsum("bhik,bhjk->bhij", q * (d // n_heads) ** -0.5, k)
    if mask is not None:
        scores = scores + torch.where(mask, 0.0, float("-inf")).to(scores.dtype)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return torch.einsum("bhij,bhjk,hkd->bid", weights, v, w_o.reshape(n_heads, -1, d))


def _by_concatenating(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    w_q: Tensor,
    w_k: Tensor,
    w_v: Tensor,
    w_o: Tensor,
    n_heads: int,
    mask: Tensor | None = None,
) -> Tensor:
    queries = torch.matmul(query, w_q).chunk(n_heads, dim=-1)
    keys = torch.matmul(key, w_k).chunk(n_heads, dim=-1)
    values = torch.matmul(value, w_v).chunk(n_heads, dim=-1)
    heads = []
    for i, (q, k, v) in enumerate(zip(queries, keys, values, strict=True)):
        own = mask
        if mask is not None and mask.dim() == 4:
            own = mask[:, min(i, mask.size(1) - 1)]
        heads.append(F.scaled_dot_product_attention(q, k, v, attn_mask=own))
    return torch.cat(heads, dim=-1) @ w_o


def _only_the_mask(generator: torch.Generator, dtype: torch.dtype) -> Call:
    """Nothing else can be wrong: one tensor, d_k = 1, symmetric weights, the identity for w_o."""
    x = torch.randn(2, 4, 4, generator=generator, dtype=torch.float64).to(dtype)
    drawn = torch.randn(3, 4, 4, generator=generator, dtype=torch.float64).to(dtype)
    weights = ((drawn + drawn.mT) / 2).unbind(0)
    identity = torch.eye(4, dtype=dtype)
    return call(
        x, x.clone(), x.clone(), *(w.clone() for w in weights), identity, 4, _UNEVEN.clone()
    )


def _case(
    name: str,
    batch: int,
    n_q: int,
    n_k: int,
    d_model: int,
    n_heads: int,
    mask: Tensor | None = None,
    *,
    scores_near: float = 0.0,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
    rtol: float | None = None,
) -> Case:
    """A case with drawn numbers.

    scores_near: shifts the scaled scores of every head by one number, which a softmax must not see:
    the first column of query and key is that number's root and meets only itself.
    """
    d_k = d_model // n_heads

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        def draw(*shape: int) -> Tensor:
            numbers = torch.randn(shape, generator=generator, dtype=torch.float64)
            return numbers.to(dtype)

        inputs = draw(batch, n_q, d_model), draw(batch, n_k, d_model), draw(batch, n_k, d_model)
        weights = [draw(d_model, d_model) * 1.6 / math.sqrt(d_model) for _ in range(4)]
        if scores_near:
            root = math.sqrt(abs(scores_near) * math.sqrt(d_k))
            inputs[0][..., 0], inputs[1][..., 0] = root, math.copysign(root, scores_near)
            for w in weights[:2]:
                w[0], w[:, ::d_k] = 0.0, 0.0
                w[0, ::d_k] = 1.0
        if mask is None:
            return call(*inputs, *weights, n_heads)
        return call(*inputs, *weights, n_heads, mask.clone())

    return Case(
        name, make, isolates=isolates, stage=stage, dtype=dtype, gradient=gradient, rtol=rtol
    )


def _mask(rows: list[list[int]]) -> Tensor:
    return torch.tensor(rows, dtype=torch.bool)


_PADDING = _mask([[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]])[:, None, None, :]
_UNEVEN = _mask([[1, 0, 1, 1], [0, 1, 0, 1], [1, 1, 1, 0], [0, 0, 1, 0]])
_CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()
_LEFT_PADDED = _mask([[0, 0, 1, 1], [1, 1, 0, 1]])[:, None, None, :] & _CAUSAL
_BY_HEAD = torch.stack(
    [
        _mask([[1, 0, 1, 0], [0, 1, 1, 0], [1, 1, 0, 1]]),
        _mask([[0, 1, 1, 1], [1, 0, 0, 0], [0, 0, 1, 1]]),
    ]
)

MULTI_HEAD_ATTENTION = Exercise(
    id="multihead.attention",
    title="Multi-head attention",
    kind="code",
    difficulty=3,
    minutes=20,
    signature=(
        "multi_head_attention(query (B, n_q, d), key (B, n_k, d), value (B, n_k, d), w_q, w_k, "
        "w_v, w_o (each (d, d), used as x @ w), n_heads: int, mask: BoolTensor|None = None "
        "broadcastable to (B, n_heads, n_q, n_k)) -> (B, n_q, d)"
    ),
    statement=(
        "Project query, key and value (`x @ w`), split each into n_heads heads of d_k = d / "
        "n_heads columns, let every head attend for itself (scaled by sqrt(d_k)), put the heads "
        "side by side again and project with w_o. mask True = may attend; a query that may attend "
        "to nothing gets zeros. No biases, no dropout. The dtype is kept, inputs untouched. "
        "Gradients have to flow back to its inputs: it is trained through. A tensor from NumPy is "
        "accepted with a remark."
    ),
    objective="Put the pieces together into the layer that every Transformer block uses.",
    prerequisite="attention.scaled_dot_product, multihead.split_heads, multihead.merge_heads",
    hints=(
        "Five steps: project, split, attend, merge, project. Which of them know of heads, and "
        "what is the width of a query inside a head?",
        "Every input has its own projection: query with w_q, key with w_k, value with w_v. After "
        "splitting, heads are like a second batch axis, so your attention works as it is.",
        "`q, k, v = split(query @ w_q), split(key @ w_k), split(value @ w_v)`; attention with "
        "sqrt(q.size(-1)); `heads.transpose(1, 2).reshape(B, n_q, d) @ w_o`.",
    ),
    reference=multi_head_attention,
    explanation=(
        "The columns of w_q belong to heads in runs of d_k, so one product projects for all heads "
        "at once and the split hands them out. Inside a head vectors are d_k wide, so the scale "
        "is sqrt(d_k), not sqrt(d_model). Heads never mix until w_o, whose rows belong to the "
        "heads in the same runs: it is where a token's heads are weighed against each other. The "
        "cost is that of one wide head, but there are n_heads different weightings."
    ),
    cases=(
        _case(
            "1 query and 1 key, d = 4, 2 heads",
            1,
            1,
            1,
            4,
            2,
            isolates="the value path: with one key the result is value @ w_v @ w_o",
        ),
        _case(
            "2 queries and 3 keys, d = 4, 1 head",
            1,
            2,
            3,
            4,
            1,
            isolates="the projections and the scale: with 1 head nothing is split",
        ),
        _case(
            "2 queries and 3 keys, d = 6, 2 heads",
            1,
            2,
            3,
            6,
            2,
            isolates="the heads: one sentence, no mask",
        ),
        _case(
            "a batch of 2, 4 queries, 5 keys, d = 12, 3 heads",
            2,
            4,
            5,
            12,
            3,
            isolates="the axes: all sizes differ and there is no mask",
            gradient="in torch",
        ),
        _case(
            "a batch of 4, 4 queries, 4 keys, d = 16, 4 heads",
            4,
            4,
            4,
            16,
            4,
            isolates="the transposes: all axes have the same length, so none raises an error",
        ),
        _case(
            "one sentence of 3 queries and 4 keys, d = 4, 4 heads of width 1",
            1,
            3,
            4,
            4,
            4,
            isolates="splitting and merging: with d_k = 1 the scale is 1",
        ),
        Case(
            "self-attention with a mask of (4, 4), 4 heads of width 1, symmetric weights, w_o = 1",
            _only_the_mask,
            isolates="the mask alone: query, key and value are one tensor, and the scale is 1",
        ),
        _case(
            "padded keys: 2 sentences, 3 queries, 5 keys, d = 8, 2 heads, a mask of (2, 1, 1, 5)",
            2,
            3,
            5,
            8,
            2,
            _PADDING,
            isolates="the mask: one row for each sentence",
            gradient="in torch",
        ),
        _case(
            "a causal mask of (4, 4), 2 sentences, d = 8, 4 heads",
            2,
            4,
            4,
            8,
            4,
            _CAUSAL,
            isolates="the mask: the first query may attend to the first key alone",
        ),
        _case(
            "a mask of (2, 3, 4) for each head, 2 sentences, 3 queries, 4 keys, d = 6, 2 heads",
            2,
            3,
            4,
            6,
            2,
            _BY_HEAD[None],
            isolates="the mask on the heads: each head has its own",
        ),
        _case(
            "padding on the left under a causal mask, (2, 1, 4, 4): some queries see nothing",
            2,
            4,
            4,
            8,
            2,
            _LEFT_PADDED,
            isolates="empty rows: a query that may attend to nothing gets zeros",
        ),
        _case(
            "very negative scores: all near -30000, 2 heads of width 4, a mask of (2, 1, 1, 5)",
            2,
            3,
            5,
            8,
            2,
            _PADDING,
            scores_near=-30000.0,
            isolates="the number that forbids: it must lie below every possible score",
            rtol=2e-2,
        ),
        _case("float32, a batch of 2", 2, 3, 5, 8, 2, _PADDING, stage="other", dtype=torch.float32),
        _case("5 heads, 2 queries, 7 keys, d = 10", 3, 2, 7, 10, 5, stage="other"),
    ),
    mistakes=page(__file__, multi_head_attention),
    alternatives=(_by_fused_kernel, _by_loop_over_heads, _by_einsum, _by_concatenating),
    starter=(
        "def multi_head_attention(query, key, value, w_q, w_k, w_v, w_o, n_heads, mask=None):\n"
        '    """Project, split, attend, merge, project: (B, n_q, d)."""\n'
        "    ...  # your code"
    ),
)
