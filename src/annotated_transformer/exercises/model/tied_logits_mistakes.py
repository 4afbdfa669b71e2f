"""The wrong output layers for `model.tied_logits`."""

import math
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.exercise import Mistake
from annotated_transformer.exercises.faults import Fault, single, together


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
_OTHER_FAULTS = (
    Fault(
        "times-d",
        {"scale": lambda d, v: d},
        "The logits are multiplied by d_model. The output layer has no factor.",
    ),
    Fault(
        "divided-by-d",
        {"scale": lambda d, v: 1 / d},
        "The products are averaged over d_model instead of added up. A logit is the whole dot "
        "product of x with a row of the table.",
    ),
    Fault(
        "divided-by-vocabulary",
        {"scale": lambda d, v: 1 / v},
        "The logits are divided by the size of the vocabulary. The output layer has no factor.",
    ),
    Fault(
        "divided-by-root-of-vocabulary",
        {"scale": lambda d, v: 1 / math.sqrt(v)},
        "The logits are divided by the root of the size of the vocabulary. The output layer has "
        "no factor.",
    ),
    Fault(
        "doubled",
        {"scale": lambda d, v: 2.0},
        "The logits are twice too large (a temperature of 0.5). The output layer has no factor.",
    ),
    Fault(
        "first-word-missing",
        {"after": lambda z: z[..., 1:]},
        "The logit of word 0 is missing. Every row of the table has one, padding too: (B, n, V).",
    ),
    Fault(
        "negative",
        {"scale": lambda d, v: -1.0},
        "The sign is wrong: the word most like x would be the least likely.",
    ),
    Fault(
        "softmax-over-positions",
        {"after": lambda z: z.softmax(1)},
        "A softmax over the positions is applied. Return the logits; the softmax over the words "
        "is left to the loss.",
    ),
    Fault(
        "softmax-over-batch",
        {"after": lambda z: z.softmax(0)},
        "A softmax over the batch is applied (`dim=0`). Return the logits; the softmax over the "
        "words is left to the loss.",
    ),
    Fault(
        "sigmoid",
        {"after": torch.sigmoid},
        "A sigmoid is applied. Return the logits, the products alone.",
    ),
    Fault("relu", {"after": torch.relu}, "A ReLU is applied, and negative logits are lost."),
    Fault("tanh", {"after": torch.tanh}, "A tanh is applied. Return the products alone."),
    Fault("exp", {"after": torch.exp}, "exp is applied: half a softmax. Return the products."),
    Fault(
        "argmax",
        {"after": lambda z: z.argmax(-1)},
        "The best word of each position is returned. Asked for are the logits of all words, "
        "(B, n, V): training and beam search need every one.",
    ),
    Fault(
        "largest",
        {"after": lambda z: z.max(-1).values},
        "Only the largest logit of each position is returned. Asked for are all of them, "
        "(B, n, V).",
    ),
    Fault(
        "last-position",
        {"after": lambda z: z[:, -1]},
        "Only the last position is returned. That is enough for greedy decoding, but training "
        "needs the logits of every position: (B, n, V).",
    ),
    Fault(
        "last-position-kept",
        {"after": lambda z: z[:, -1:]},
        "Only the last position is returned. That is enough for greedy decoding, but training "
        "needs the logits of every position: (B, n, V).",
    ),
    Fault(
        "summed-over-positions",
        {"after": lambda z: z.sum(1)},
        "The positions are added up. Each position has its own logits: (B, n, V).",
    ),
    Fault(
        "averaged-over-positions",
        {"after": lambda z: z.mean(1)},
        "The positions are averaged. Each position has its own logits: (B, n, V).",
    ),
    Fault(
        "first-position",
        {"after": lambda z: z[:, 0]},
        "Only the first position is returned. Each position has its own logits: (B, n, V).",
    ),
    Fault(
        "summed-over-batch",
        {"after": lambda z: z.sum(0)},
        "The sentences of the batch are added up. Each has its own logits: (B, n, V).",
    ),
    Fault(
        "numpy-array",
        {"after": lambda z: z.detach().numpy()},
        "This is a NumPy array. Return a tensor, through which gradients can flow.",
    ),
    Fault(
        "in-a-tuple",
        {"after": lambda z: (z,)},
        "The logits come in a tuple. Return the tensor itself: a comma at the end makes a tuple.",
    ),
    Fault(
        "words-before-positions",
        {"after": lambda z: z.transpose(1, 2)},
        "Words stand before positions: (B, V, n), the layout that `cross_entropy` takes. Asked "
        "for is (B, n, V).",
    ),
    Fault(
        "flattened",
        {"after": lambda z: z.flatten(0, 1)},
        "Batch and positions are joined into one axis, as before `cross_entropy`. Asked for are "
        "three axes, (B, n, V).",
    ),
    Fault(
        "pad-hidden",
        {"after": lambda z: torch.cat([torch.full_like(z[..., :1], -math.inf), z[..., 1:]], -1)},
        "The logit of token 0 (padding) is set to -inf. The output layer gives a logit to every "
        "row of the table; padding is the loss's business.",
    ),
    Fault(
        "pad-row-zero",
        {"of_table": lambda t: torch.cat([torch.zeros_like(t[:1]), t[1:]])},
        "Row 0 of the table is taken as zeros (`padding_idx`). The output layer takes every row "
        "as it is.",
    ),
    Fault(
        "layer-norm-first",
        {"of_x": lambda x: F.layer_norm(x, x.shape[-1:])},
        "A LayerNorm is applied to x first. In the paper the last decoder layer ends with its own; "
        "the output layer takes x as it is.",
    ),
    Fault(
        "centred",
        {"after": lambda z: z - z.mean(-1, keepdim=True)},
        "The mean logit is subtracted. The softmax would not notice, but these are no longer the "
        "products of x with the table.",
    ),
    Fault(
        "largest-subtracted",
        {"after": lambda z: z - z.amax(-1, keepdim=True)},
        "The largest logit is subtracted, the first step of a softmax. Return the products alone.",
    ),
    Fault(
        "logsumexp-only",
        {"after": lambda z: z.logsumexp(-1)},
        "Only the softmax's denominator is returned, one number a position. Asked for are the "
        "logits, (B, n, V).",
    ),
)


def _squared_distances(x: Tensor, table: Tensor) -> Tensor:
    return -((x.unsqueeze(-2) - table) ** 2).sum(-1)


def _in_place(x: Tensor, table: Tensor) -> Tensor:
    x *= math.sqrt(x.size(-1))
    return x @ table.T


def _with_bias(x: Tensor, table: Tensor) -> Tensor:
    return x @ table.T + torch.ones(table.size(0), dtype=x.dtype)


MISTAKES = (
    *single(_logits, (*_FAULTS, *_OTHER_FAULTS)),
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
