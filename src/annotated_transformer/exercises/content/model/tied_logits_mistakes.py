"""The wrong output layers for `model.tied_logits`."""

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.faults import Fault, single, together
from annotated_transformer.exercises.content.model.tied_logits_others import OTHER_FAULTS
from annotated_transformer.exercises.exercise import Mistake


def _same(value: Tensor) -> Tensor:
    return value


def _logits(
    x: Tensor,
    table: Tensor,
    *,
    of_x: Any = _same,
    of_table: Any = _same,
    scale: Any = lambda d, n_rows: 1.0,
    after: Any = _same,
) -> Tensor:
    d = x.size(-1)
    result: Tensor = after((of_x(x) @ of_table(table).T) * scale(d, table.size(0)))
    return result


_SOFTMAX = (
    "A softmax is applied: these are probabilities, not logits. Loss and search apply it "
    "themselves; twice applied it flattens everything. Return the products alone."
)
_ROOT = (
    "The logits are multiplied by sqrt(d_model). That factor belongs to the embedding on the way "
    "in, where it makes the words as large as the positions; section 3.4 does not apply it to the "
    "output layer."
)
_OWN = (
    "A new linear layer with weights of its own is used. Tied means that the given table is the "
    "weight: `x @ table.T`."
)
_FAULTS = (
    Fault("times-root", {"scale": lambda d, v: math.sqrt(d)}, _ROOT),
    Fault(
        "divided-by-root",
        {"scale": lambda d, v: 1 / math.sqrt(d)},
        "The logits are divided by sqrt(d_model). That is the scale of attention scores (and some "
        "later models undo the embedding's factor so); the paper's output layer is x times the "
        "table and nothing else.",
    ),
    Fault("softmax", {"after": lambda z: z.softmax(-1)}, _SOFTMAX),
    Fault(
        "log-softmax",
        {"after": lambda z: z.log_softmax(-1)},
        "A log-softmax is applied: these are log-probabilities, not logits. The loss and the "
        "search apply it themselves. Return the products alone.",
    ),
    Fault(
        "table-normalised",
        {"of_table": lambda t: F.normalize(t, dim=-1)},
        "The rows of the table are normalised to length 1. The table is used as it is: a longer "
        "row means a likelier word.",
    ),
    Fault(
        "x-normalised",
        {"of_x": lambda x: F.normalize(x, dim=-1)},
        "x is normalised to length 1 first. The output layer takes x as it is.",
    ),
)


def _squared_distances(x: Tensor, table: Tensor) -> Tensor:
    return -((x.unsqueeze(-2) - table) ** 2).sum(-1)


def _in_place(x: Tensor, table: Tensor) -> Tensor:
    x *= math.sqrt(x.size(-1))
    return x @ table.T


_FRESH_BIAS = (
    "A bias is added, such as a new `nn.Linear` brings along unless it is made with `bias=False`. "
    "The output layer is the table alone: `x @ table.T`."
)
_OTHER_WORD = (
    "Every logit stands one word off: number v is that of a neighbour of word v. Row v of the "
    "table belongs to entry v; nothing is shifted here."
)


def _layer_of(x: Tensor, table: Tensor, dtype: torch.dtype) -> torch.nn.Linear:
    return torch.nn.Linear(x.size(-1), table.size(0), dtype=dtype)


def _with_bias(x: Tensor, table: Tensor) -> Tensor:
    return x @ table.T + torch.ones(table.size(0), dtype=x.dtype)


MISTAKES = (
    *single(_logits, (*_FAULTS, *OTHER_FAULTS)),
    *together(_logits, _FAULTS, 2),
    Mistake(
        "root-on-x-in-place",
        _in_place,
        _ROOT + " And x itself is changed by `*=`: the caller's tensor.",
    ),
    Mistake(
        "cosine",
        lambda x, table: F.normalize(x, dim=-1) @ F.normalize(table, dim=-1).T / 0.1,
        "Cosines divided by a temperature are returned. The paper's logits are plain dot products.",
    ),
    Mistake(
        "own-weights",
        lambda x, table: torch.nn.Linear(x.size(-1), table.size(0)).to(x.dtype)(x),
        _OWN,
    ),
    Mistake(
        "own-weights-without-bias",
        lambda x, table: torch.nn.Linear(x.size(-1), table.size(0), bias=False).to(x.dtype)(x),
        _OWN,
    ),
    Mistake(
        "with-bias",
        _with_bias,
        "A bias is added to every logit. The output layer is the table alone.",
    ),
    Mistake(
        "bias-of-a-layer",
        lambda x, table: _layer_of(x, table, x.dtype).bias + x @ table.T,
        _FRESH_BIAS,
    ),
    Mistake(
        "bias-of-a-layer-in-float32",
        lambda x, table: _layer_of(x, table, torch.float32).bias.to(x.dtype) + x @ table.T,
        _FRESH_BIAS,
    ),
    Mistake(
        "random-bias",
        lambda x, table: x @ table.T + torch.randn(table.size(0), dtype=x.dtype),
        _FRESH_BIAS,
    ),
    Mistake(
        "next-word",
        lambda x, table: (x @ table.T).roll(1, -1),
        _OTHER_WORD,
    ),
    Mistake(
        "word-before",
        lambda x, table: (x @ table.T).roll(-1, -1),
        _OTHER_WORD,
    ),
    Mistake(
        "float64",
        lambda x, table: x.double() @ table.double().T,
        "The numbers are right but always float64 (`.double()`, or a way through NumPy). Keep the "
        "dtype of x.",
    ),
    Mistake(
        "not-transposed",
        lambda x, table: x @ table,
        "The table is not transposed: its rows are words, (V, d), and x is d wide, so the product "
        "is x times table^T, (d, V).",
    ),
    Mistake(
        "table-viewed",
        lambda x, table: x @ table.reshape(table.size(1), table.size(0)),
        "The table is reshaped to (d, V) instead of transposed: the shape is right, but numbers "
        "of different words are mixed. A reshape moves nothing: use `table.T`.",
    ),
    Mistake(
        "looked-up",
        lambda x, table: F.embedding(x.long(), table),
        "x is looked up in the table like token numbers. x holds vectors, not tokens: compare "
        "each of them with every row of the table, `x @ table.T`.",
    ),
    Mistake(
        "gathered",
        lambda x, table: table[x.argmax(-1)],
        "Rows of the table are returned, (B, n, d). Asked for is a number for each position and "
        "word, (B, n, V).",
    ),
    Mistake(
        "products-not-summed",
        lambda x, table: x.unsqueeze(-2) * table,
        "The products are not added up: the shape is (B, n, V, d). A logit is the sum over d.",
    ),
    Mistake(
        "distances",
        _squared_distances,
        "Negative squared distances to the rows of the table are returned. A logit is the dot "
        "product: `x @ table.T`.",
    ),
    Mistake(
        "plain-distances",
        lambda x, table: -_squared_distances(x, table).abs().sqrt(),
        "Negative distances to the rows of the table are returned. A logit is the dot product: "
        "`x @ table.T`.",
    ),
    Mistake(
        "batch-of-one",
        lambda x, table: torch.bmm(x, table.T.unsqueeze(0)),
        "`bmm` does not stretch an axis of length 1: it works for a batch of one only. Use "
        "`x @ table.T`, which does.",
    ),
    Mistake(
        "own-weights-in-its-dtype",
        lambda x, table: torch.nn.Linear(x.size(-1), table.size(0), dtype=x.dtype)(x),
        _OWN,
    ),
    Mistake(
        "own-weights-in-its-dtype-without-bias",
        lambda x, table: torch.nn.Linear(x.size(-1), table.size(0), False, dtype=x.dtype)(x),
        _OWN,
    ),
    Mistake(
        "float32",
        lambda x, table: (x @ table.T).float(),
        "The numbers are right but always float32 (`.float()`). Keep the dtype of x.",
    ),
    Mistake(
        "sums-multiplied",
        lambda x, table: x.sum(-1, keepdim=True) * table.sum(-1),
        "Both are summed over d first and then multiplied (two different letters in `einsum`). "
        "The products are formed first, entry by entry, and then summed: `bnd,vd->bnv`.",
    ),
    Mistake(
        "best-row",
        lambda x, table: table[(x @ table.T).argmax(-1)],
        "The row of the best word is returned. Asked for are the logits of all words, (B, n, V).",
    ),
    Mistake(
        "first-sentence",
        lambda x, table: (x[0] @ table.T).expand(x.size(0), -1, -1),
        "The first sentence's logits are returned for the whole batch.",
    ),
    Mistake(
        "first-sentence-alone",
        lambda x, table: x[0] @ table.T,
        "Only the first sentence is projected: the axis of the batch is lost.",
    ),
    Mistake(
        "wrong-number-of-axes",
        lambda x, table: torch.einsum("nd,vd->nv", x, table),
        "The product takes another number of axes: `mm` and `nd,vd->nv` want two matrices, `bmm` "
        "wants a batch in both. x is (B, n, d), the table (V, d): use `x @ table.T`, which takes "
        "leading axes along.",
    ),
    Mistake(
        "back-into-the-table",
        lambda x, table: (x @ table.T) @ table,
        "The logits are multiplied with the table once more, (B, n, d). Stop at the logits.",
    ),
    Mistake(
        "unchanged",
        lambda x, table: x,
        "x comes back as it was. Multiply it with every row of the table: `x @ table.T`.",
    ),
)
