"""`beyond.grouped_query_attention`: many query heads, few heads of keys and values."""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.beyond.drawn import drawn
from annotated_transformer.exercises.exercise import Case, Exercise, Gradient, Stage


def grouped_query_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    h, g, d = q.size(1), k.size(1), q.size(-1)
    keys = k.repeat_interleave(h // g, dim=1)  # (B, h, n_k, d): 0, 0, ..., 1, 1, ...
    values = v.repeat_interleave(h // g, dim=1)
    scores = q @ keys.mT / math.sqrt(d)  # (B, h, n_q, n_k)
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    visible = scores.masked_fill(~mask, float("-inf"))
    shares = torch.softmax(visible, dim=-1)
    weights = shares.masked_fill(~mask.any(dim=-1, keepdim=True), 0.0)  # no key: zeros
    output = weights @ values  # (B, h, n_q, d)
    return output


def _by_fused_kernel(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)


def _by_groups(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    batch, h, n_q, d = q.shape
    g, n_k = k.size(1), k.size(2)
    grouped = q.reshape(batch, g, h // g, n_q, d)
    scores = torch.einsum("bgrqd,bgkd->bgrqk", grouped, k) * d**-0.5
    if mask is None:
        weights = scores.softmax(-1)
    else:
        allowed = mask.expand(batch, h, n_q, n_k).reshape(batch, g, h // g, n_q, n_k)
        weights = scores.masked_fill(~allowed, -1e30).softmax(-1) * allowed
    return torch.einsum("bgrqk,bgkd->bgrqd", weights, v).reshape(q.shape)


def _by_heads(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    h, g = q.size(1), k.size(1)
    allowed = None if mask is None else mask.expand(q.size(0), h, q.size(2), k.size(2))
    heads = []
    for i in range(h):
        own = i // (h // g)
        part = None if allowed is None else allowed[:, i]
        heads.append(F.scaled_dot_product_attention(q[:, i], k[:, own], v[:, own], part))
    return torch.stack(heads, dim=1)


def _by_indexing(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    own = torch.arange(q.size(1)) * k.size(1) // q.size(1)
    scores = torch.matmul(q / q.size(-1) ** 0.5, k[:, own].mT)
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    shares = torch.exp(scores - scores.amax(-1, keepdim=True))
    if mask is not None:
        shares = shares * mask
    total = shares.sum(-1, keepdim=True)
    return torch.matmul(shares / torch.where(total == 0, 1, total), v[:, own])


def _by_expanding(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    batch, h, _, d = q.shape
    copies = (batch, k.size(1), h // k.size(1), k.size(2), d)
    wide_k, wide_v = (x[:, :, None].expand(copies).reshape(batch, h, -1, d) for x in (k, v))
    weights = torch.softmax((q @ wide_k.mT) * d**-0.5 + _additive(mask, q.dtype), dim=-1)
    return torch.nan_to_num(weights) @ wide_v


def _by_copies_of_the_positions(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> Tensor:
    batch, h, _, d = q.shape
    copies = h // k.size(1)
    k = k.repeat(1, 1, copies, 1).reshape(batch, h, -1, d)
    v = v.repeat(1, 1, copies, 1).reshape(batch, h, -1, d)
    return F.scaled_dot_product_attention(q, k, v, mask)


def _additive(mask: Tensor | None, dtype: torch.dtype) -> Tensor:
    if mask is None:
        return torch.zeros((), dtype=dtype)
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(~mask, float("-inf"))


def _case(
    name: str,
    heads: tuple[int, int, int],
    sizes: tuple[int, int, int],
    *mask: Tensor,
    factor: float = 1.0,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    """heads: batch, h and g; sizes: n_q, n_k and d. factor: makes the queries larger."""
    (batch, h, g), (n_q, n_k, d) = heads, sizes
    return drawn(
        name,
        ((batch, h, n_q, d), (batch, g, n_k, d), (batch, g, n_k, d)),
        *mask,
        change=lambda q, k, v: (q * factor, k, v),
        isolates=isolates,
        stage=stage,
        dtype=dtype,
        gradient=gradient,
    )


def _mask(rows: list[list[int]]) -> Tensor:
    return torch.tensor(rows, dtype=torch.bool)


_TWO_D = _mask([[1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [1, 1, 1, 1, 1]])
_PADDING = _mask([[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]])[:, None, None, :]
_CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()
_LEFT_PADDED = _mask([[0, 0, 1, 1], [1, 1, 1, 0]])[:, None, None, :] & _CAUSAL
_BY_HEAD = _mask([[1, 1, 0], [1, 0, 1], [0, 1, 1], [1, 0, 0]])[None, :, None, :]
_EMPTY_ROW = _mask([[1, 0, 1], [0, 0, 0]])

GROUPED_QUERY_ATTENTION = Exercise(
    id="beyond.grouped_query_attention",
    title="Grouped-query attention",
    kind="code",
    difficulty=3,
    minutes=15,
    signature=(
        "grouped_query_attention(q: (B, h, n_q, d), k: (B, g, n_k, d), v: (B, g, n_k, d), "
        "mask: BoolTensor|None = None broadcastable to (B, h, n_q, n_k)) -> (B, h, n_q, d)"
    ),
    statement=(
        "Return scaled dot-product attention in which query head i uses key/value head "
        "i // (h // g); h is a multiple of g. Scores are divided by sqrt(d). mask True = may "
        "attend; a query that may attend to nothing gets zeros. The dtype of q is kept and "
        "inputs are left untouched. Gradients have to flow back to its inputs: it is trained "
        "through."
    ),
    objective="Share keys and values among query heads, and know which head belongs to which.",
    prerequisite="multihead.attention",
    hints=(
        "With h = 6 and g = 2, which key/value head does each of the query heads 0 to 5 use? "
        "Write the six numbers down.",
        "They are 0, 0, 0, 1, 1, 1: neighbours share. One torch function repeats each head in "
        "place; another repeats the whole row of heads, 0, 1, 0, 1, 0, 1.",
        "`k.repeat_interleave(h // g, dim=1)`, the same for v, and then attention as always.",
    ),
    reference=grouped_query_attention,
    explanation=(
        "At each step of decoding the keys and values of all earlier tokens have to be read from "
        "memory. With g heads of them instead of h the cache is h/g times smaller; g = 1 is "
        "multi-query attention and g = h the paper's. Each key/value head serves a run of "
        "h // g neighbouring query heads. `repeat` would deal the heads out in turn: the shape is "
        "the same, training from scratch works, and a model trained elsewhere gives nonsense. "
        "Real programs do not copy but let the axis broadcast: (B, g, h // g, n_q, d) against "
        "(B, g, 1, n_k, d)."
    ),
    cases=(
        _case(
            "1 query, 1 key, h = 4, g = 2, d = 2",
            (1, 4, 2),
            (1, 1, 2),
            isolates="the sharing of the values: with one key its weight must be 1",
        ),
        _case(
            "1 query, 3 keys, h = 6, g = 2, d = 2",
            (1, 6, 2),
            (1, 3, 2),
            isolates="the sharing of keys and values: there is no mask and one sentence",
        ),
        _case(
            "2 sentences, 3 queries, 5 keys, h = 6, g = 3, d = 4",
            (2, 6, 3),
            (3, 5, 4),
            isolates="the axes: all sizes differ and there is no mask",
            gradient="required",
        ),
        _case(
            "multi-query attention: h = 3, g = 1",
            (2, 3, 1),
            (2, 4, 5),
            isolates="a single head of keys and values",
        ),
        _case(
            "ordinary multi-head attention: h = g = 3",
            (2, 3, 3),
            (2, 4, 5),
            isolates="the attention itself: each query head has its own keys and values",
        ),
        _case(
            "all axes of length 4, h = 4, g = 2",
            (4, 4, 2),
            (4, 4, 4),
            isolates="the axes: they are equally long, so that none raises an error",
        ),
        _case(
            "a mask of (3, 5), 2 sentences, h = 4, g = 2",
            (2, 4, 2),
            (3, 5, 3),
            _TWO_D,
            isolates="the mask: every query may attend to something",
        ),
        _case(
            "padded keys: a mask of (2, 1, 1, 5), h = 4, g = 2",
            (2, 4, 2),
            (3, 5, 6),
            _PADDING,
            isolates="the mask's broadcasting: one row for each sentence",
        ),
        _case(
            "a mask of (1, 4, 1, 3) for each head, h = 4, g = 2",
            (2, 4, 2),
            (2, 3, 2),
            _BY_HEAD,
            isolates="the mask's heads: query heads that share keys have masks of their own",
        ),
        _case(
            "2 queries and 3 keys, the second query may attend to nothing",
            (1, 2, 1),
            (2, 3, 4),
            _EMPTY_ROW,
            isolates="the empty row: a query that may attend to nothing gets zeros",
        ),
        _case(
            "padding on the left under a causal mask, (2, 1, 4, 4)",
            (2, 6, 2),
            (4, 4, 3),
            _LEFT_PADDED,
            isolates="empty rows beside ordinary ones",
        ),
        _case(
            "large scores, h = 4, g = 2",
            (2, 4, 2),
            (3, 5, 4),
            factor=1e3,
            isolates="a stable softmax: scores of about 1000",
        ),
        _case(
            "float32, h = 4, g = 2, with padding",
            (2, 4, 2),
            (3, 5, 6),
            _PADDING,
            stage="other",
            dtype=torch.float32,
        ),
        _case("h = 8, g = 4, 2 queries, 7 keys, d = 1", (3, 8, 4), (2, 7, 1), stage="other"),
        drawn(
            "views that are not contiguous",
            ((2, 3, 6, 4), (2, 5, 2, 4), (2, 5, 2, 4)),
            change=lambda *given: tuple(x.transpose(1, 2) for x in given),
            stage="other",
        ),
    ),
    mistakes=page(__file__, grouped_query_attention),
    alternatives=(
        _by_fused_kernel,
        _by_groups,
        _by_heads,
        _by_indexing,
        _by_expanding,
        _by_copies_of_the_positions,
    ),
    starter=(
        "def grouped_query_attention(q, k, v, mask=None):\n"
        '    """q (B, h, n_q, d), k and v (B, g, n_k, d) -> (B, h, n_q, d).\n'
        "\n"
        "    Query head i uses key/value head i // (h // g); mask True = may attend.\n"
        '    """\n'
        "    ...  # your code"
    ),
)
