"""`attention.scaled_dot_product`: equation (1) of the paper, with a mask (section 3.2.1)."""

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
    Invariant,
    Stage,
    call,
)

Shape = tuple[int, ...]


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))  # (..., n_q, n_k)
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))  # weight exactly 0 after the softmax
    weights = torch.softmax(scores, dim=-1)  # every query shares 1 among the keys
    if mask is not None:
        nothing_allowed = ~mask.any(dim=-1, keepdim=True)  # its row is all NaN
        weights = weights.masked_fill(nothing_allowed, 0.0)
    output = weights @ v  # (..., n_q, d_v)
    return output, weights


def _by_einsum(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = torch.einsum("...qd,...kd->...qk", q * q.shape[-1] ** -0.5, k)
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = F.softmax(scores, -1)
    if mask is not None:
        weights = weights * mask
    return torch.einsum("...qk,...kv->...qv", weights, v), weights


def _by_fused_kernel(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    keys = torch.eye(k.size(-2), dtype=v.dtype).expand(*v.shape[:-2], -1, -1)
    output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    weights = F.scaled_dot_product_attention(q, k, keys, attn_mask=mask)  # values = identity
    return output, weights


def _by_exponentials(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = (q / math.sqrt(k.size(-1))) @ k.mT
    exponentials = torch.exp(scores - scores.amax(-1, keepdim=True))
    if mask is not None:
        exponentials = exponentials * mask
    total = exponentials.sum(-1, keepdim=True)
    weights = exponentials / torch.where(total == 0, torch.ones_like(total), total)
    return torch.matmul(weights, v), weights


def _by_additive_mask(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = torch.matmul(q, k.transpose(-1, -2)).div(q.size(-1) ** 0.5)
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(mask.logical_not(), -torch.inf)
        scores = scores + bias
    weights = torch.nan_to_num(scores.softmax(dim=-1), nan=0.0)
    return weights @ v, weights


def _by_queries(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    shape = (*q.shape[:-1], k.size(-2))
    allowed = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    rows = []
    for i in range(q.size(-2)):
        scores = (q[..., i : i + 1, :] * k).sum(-1) / q.size(-1) ** 0.5  # (..., n_k)
        row = scores.masked_fill(~allowed[..., i, :], torch.finfo(q.dtype).min).softmax(-1)
        rows.append(torch.where(allowed[..., i, :], row, torch.zeros_like(row)))
    weights = torch.stack(rows, dim=-2)
    output = (weights[..., None] * v[..., None, :, :]).sum(-2)
    return output, weights


def _random(generator: torch.Generator, dtype: torch.dtype, *shape: int) -> Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype) * 1.5


def _case(
    name: str,
    q: Shape,
    k: Shape,
    d_v: int,
    mask: Tensor | None = None,
    *,
    scores_near: float = 0.0,
    far_apart: float = 1.0,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
    rtol: float | None = None,
) -> Case:
    """A case with drawn numbers.

    scores_near: shifts the scaled scores of every query by one number, which a softmax must not
    see; far_apart: times this number for every other query.
    """

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        query, key = _random(generator, dtype, *q), _random(generator, dtype, *k)
        value = _random(generator, dtype, *k[:-1], d_v)
        if scores_near:
            root = math.sqrt(abs(scores_near) * math.sqrt(q[-1]))
            query[..., 0], key[..., 0] = root, math.copysign(root, scores_near)
            query[..., 1::2, 0] *= far_apart
        if mask is None:
            return call(query, key, value)
        return call(query, key, value, mask.clone())

    return Case(
        name,
        make,
        isolates=isolates,
        stage=stage,
        dtype=dtype,
        gradient=gradient,
        rtol=rtol,
    )


def _not_contiguous(generator: torch.Generator, dtype: torch.dtype) -> Call:
    query = _random(generator, dtype, 2, 3, 2, 4).transpose(1, 2)  # (batch, heads, n_q, d_k)
    key = _random(generator, dtype, 2, 5, 2, 4).transpose(1, 2)
    value = _random(generator, dtype, 2, 5, 2, 3).transpose(1, 2)
    return call(query, key, value)


def _only_the_mask(generator: torch.Generator, dtype: torch.dtype) -> Call:
    """d_k = 1, so that no scale can be wrong, and the keys are the values."""
    query, key = _random(generator, dtype, 2, 3, 1), _random(generator, dtype, 2, 5, 1)
    return call(query, key, key.clone(), _TWO_D_MASK.clone())


def _mask(rows: list[list[int]]) -> Tensor:
    return torch.tensor(rows, dtype=torch.bool)


_TWO_D_MASK = _mask([[1, 0, 1, 1, 0], [0, 1, 0, 0, 1], [1, 1, 1, 0, 0]])
_PADDING = _mask([[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]])[:, None, None, :]
_CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()
_EMPTY_ROW = _mask([[1, 0, 1], [0, 0, 0]])
_LEFT_PADDED = _mask([[0, 0, 1, 1], [1, 1, 1, 0]])[:, None, None, :] & _CAUSAL
_PADDING_ONLY = _mask([[1, 1, 0], [0, 0, 0]])[:, None, None, :]


def _rows_sum_to_one(given: Call, output: tuple[Tensor, Tensor]) -> bool:
    weights = output[1].double()
    sums = weights.sum(-1)
    allowed = torch.ones_like(weights, dtype=torch.bool)
    if len(given.args) > 3:
        allowed = allowed & given.args[3]
    expected = allowed.any(-1).double()
    return bool(((sums - expected).abs() < 1e-2).all())


def _forbidden_weight_is_zero(given: Call, output: tuple[Tensor, Tensor]) -> bool:
    if len(given.args) < 4:
        return True
    forbidden = ~given.args[3].expand(output[1].shape)
    return bool((output[1].masked_select(forbidden) == 0).all())


def _weights_explain_the_output(given: Call, output: tuple[Tensor, Tensor]) -> bool:
    mixed = output[1].double() @ given.args[2].double()
    size = 1.0 + float(given.args[2].double().abs().max())
    return bool(((mixed - output[0].double()).abs() < 1e-2 * size).all())


SCALED_DOT_PRODUCT = Exercise(
    id="attention.scaled_dot_product",
    title="Scaled dot-product attention",
    kind="code",
    difficulty=3,
    minutes=20,
    signature=(
        "scaled_dot_product_attention(q: (..., n_q, d_k), k: (..., n_k, d_k), v: (..., n_k, d_v), "
        "mask: BoolTensor|None = None) -> (output (..., n_q, d_v), weights (..., n_q, n_k))"
    ),
    statement=(
        "Return softmax(q k^T / sqrt(d_k)) v and the attention weights, in this order. mask True "
        "= may attend, broadcastable to (..., n_q, n_k). A query that may attend to nothing gets "
        "all-zero weights and output. The dtype of q is kept, inputs are left untouched. "
        "Gradients have to flow back to its inputs: it is trained through. A tensor from NumPy is "
        "accepted with a remark."
    ),
    objective="Write the one formula on which the paper stands so that it is right in a batch.",
    prerequisite="attention.softmax",
    hints=(
        "For one query, how many weights are there, and over what do they sum to 1? So which axis "
        "does the softmax run over?",
        "In this order: dot products of every query with every key, divide by sqrt(d_k), forbid "
        "(before the softmax, with something whose exponential is exactly 0), softmax over the "
        "keys, average the values. Then think of a row in which everything is forbidden.",
        "`scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))`; "
        '`scores.masked_fill(~mask, float("-inf"))`; softmax over dim=-1; then '
        "`weights.masked_fill(~mask.any(-1, keepdim=True), 0.0)`; return `weights @ v, weights`.",
    ),
    reference=scaled_dot_product_attention,
    explanation=(
        "A dot product of d_k terms of variance 1 has variance d_k, so it is divided by its "
        "standard deviation sqrt(d_k) to keep the softmax out of its flat ends. The softmax runs "
        "over the keys, the last axis, because each query shares 1 among the keys. Forbidden "
        "scores become -inf before the softmax: their weight is exactly 0 and the others still "
        "sum to 1. A query with no key left would be 0 / 0; it is given zeros, as torch's own "
        "kernel does. Only the last two axes are transposed, so any leading axes (batch, heads) "
        "go along."
    ),
    cases=(
        _case(
            "1 query and 1 key, d_k = 3, d_v = 2",
            (1, 1, 3),
            (1, 1, 3),
            2,
            isolates="the value path: with one key its weight must be 1",
        ),
        _case(
            "2 queries and 3 keys, d_k = 4, d_v = 2",
            (1, 2, 4),
            (1, 3, 4),
            2,
            isolates="scores, scale and softmax axis: there is no mask and a single sentence",
        ),
        _case(
            "a batch of 2 with 3 heads, 4 queries, 5 keys, d_k = 6, d_v = 7",
            (2, 3, 4, 6),
            (2, 3, 5, 6),
            7,
            isolates="the axes: all sizes differ and there is no mask",
            gradient="in torch",
        ),
        _case(
            "a batch of 4, n_q = n_k = d_k = d_v = 4",
            (4, 4, 4),
            (4, 4, 4),
            4,
            isolates="the transposes: all axes have the same length, so none raises an error",
        ),
        _case(
            "no batch: 3 queries, 5 keys, d_k = 2, d_v = 4",
            (3, 2),
            (5, 2),
            4,
            isolates="the bare formula on matrices",
        ),
        _case(
            "a batch of 2, 3 queries and 5 keys, a mask of (3, 5)",
            (2, 3, 4),
            (2, 5, 4),
            3,
            _TWO_D_MASK,
            isolates="the mask: every query may attend to something",
            gradient="in torch",
        ),
        Case(
            "a mask of (3, 5), d_k = d_v = 1, the values equal the keys",
            _only_the_mask,
            isolates="the mask alone: with d_k = 1 the scale is 1",
        ),
        _case(
            "padded keys: 2 sentences, 3 heads, 4 queries, 5 keys, a mask of (2, 1, 1, 5)",
            (2, 3, 4, 6),
            (2, 3, 5, 6),
            2,
            _PADDING,
            isolates="the mask's broadcasting: one row for each sentence",
        ),
        _case(
            "a causal mask of (4, 4), 2 sentences, 2 heads, d_k = 3",
            (2, 2, 4, 3),
            (2, 2, 4, 3),
            5,
            _CAUSAL,
            isolates="the mask: the first query may attend to the first key alone",
        ),
        _case(
            "2 queries and 3 keys, the second query may attend to nothing",
            (1, 2, 4),
            (1, 3, 4),
            2,
            _EMPTY_ROW,
            isolates="the empty row: a query that may attend to nothing gets zeros",
        ),
        _case(
            "a causal mask and padding on the left, (2, 1, 4, 4): some queries see nothing",
            (2, 3, 4, 5),
            (2, 3, 4, 5),
            2,
            _LEFT_PADDED,
            isolates="empty rows beside ordinary ones",
        ),
        _case(
            "a sentence of padding alone beside an ordinary one, a mask of (2, 1, 1, 3)",
            (2, 2, 2, 4),
            (2, 2, 3, 4),
            3,
            _PADDING_ONLY,
            isolates="a whole sentence with nothing to attend to",
        ),
        _case(
            "large scores: near 1000 for one query, near -1000 for the next",
            (2, 3, 4),
            (2, 5, 4),
            3,
            scores_near=1000.0,
            far_apart=-1.0,
            isolates="a stable softmax: what all scores of a query have in common cancels",
            rtol=1e-3,
        ),
        _case(
            "very negative scores: all near -30000, with a mask",
            (2, 3, 4),
            (2, 5, 4),
            3,
            _TWO_D_MASK,
            scores_near=-30000.0,
            isolates="the number that forbids: it must lie below every possible score",
            rtol=2e-2,
        ),
        _case(
            "float32, a batch of 2",
            (2, 3, 4),
            (2, 5, 4),
            3,
            _TWO_D_MASK,
            stage="other",
            dtype=torch.float32,
        ),
        _case("five axes", (2, 1, 2, 3, 4), (2, 1, 2, 5, 4), 3, _TWO_D_MASK, stage="other"),
        Case("views that are not contiguous", _not_contiguous, stage="other"),
    ),
    invariants=(
        Invariant(
            "rows-sum-to-one",
            _rows_sum_to_one,
            "The weights of a query do not sum to 1 over the keys (or to 0 where it may attend to "
            "nothing).",
            part=1,
        ),
        Invariant(
            "forbidden-is-zero",
            _forbidden_weight_is_zero,
            "A forbidden key has a weight that is not 0. Where the mask is False the score has to "
            "be -inf before the softmax, so that the weight is exactly 0; any ordinary number "
            "leaves it a share.",
            part=1,
        ),
        Invariant(
            "weights-explain-output",
            _weights_explain_the_output,
            "The weights returned are not those that made the output: `weights @ v` is something "
            "else.",
        ),
    ),
    mistakes=page(__file__, scaled_dot_product_attention),
    alternatives=(
        _by_einsum,
        _by_fused_kernel,
        _by_exponentials,
        _by_additive_mask,
        _by_queries,
    ),
    starter=(
        "def scaled_dot_product_attention(q, k, v, mask=None):\n"
        '    """softmax(q k^T / sqrt(d_k)) v -> output (..., n_q, d_v), weights (..., n_q, n_k).\n'
        "\n"
        "    mask: boolean, True = may attend; a query that may attend to nothing gets zeros.\n"
        '    """\n'
        "    ...  # your code"
    ),
    returns=("output", "weights"),
)
