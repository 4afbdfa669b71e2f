"""Wrong forms of `beyond.linear_attention`: features, matrices, axes, roles, results."""

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.beyond.drawn import then
from annotated_transformer.exercises.content.beyond.linear_steps import (
    decayed,
    linear_of,
    normaliser,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _matrix(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    scores = (phi_q @ phi_k.mT).tril()
    return scores / scores.sum(-1, keepdim=True) @ v


def _softmax(divisor: Callable[[Tensor], float], causal: bool) -> Candidate:
    def implementation(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
        scores = phi_q @ phi_k.mT / divisor(phi_q)
        if causal:
            future = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
            scores = scores.masked_fill(future, float("-inf"))
        return scores.softmax(-1) @ v

    return implementation


def _sums_multiplied(averaged: bool) -> Candidate:
    """cumsum(k) v for cumsum(k v): each factor is summed by itself."""

    def implementation(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
        keys, values = phi_k.cumsum(1), v.cumsum(1)
        weight = (phi_q * keys).sum(-1, keepdim=True)
        if averaged:
            values = values / torch.arange(1, v.size(1) + 1)[:, None]
        return weight * values / weight

    return implementation


_LAST = "Only the last position is returned. Every position has its output: (B, n, d)."
_FACTORS = (
    "Keys and values are summed apart, and the sums are multiplied, so every earlier value gets "
    "the same weight. A key and its value belong together: sum the products phi_k[j] v[j]^T."
)


def _not_reset(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    """One state for all sentences, which runs on from one to the next."""
    flat = [x.reshape(1, -1, x.size(-1)) for x in (phi_q, phi_k, v)]
    return linear_of()(*flat).reshape(v.shape)


def _shared_by_the_batch(x: Tensor) -> Tensor:
    return x.sum(0, keepdim=True).cumsum(1).expand_as(x)


def _in_place(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    result: Tensor = linear_of()(phi_q, phi_k, v)
    for i in range(1, phi_k.size(1)):
        phi_k[:, i] += phi_k[:, i - 1]
    return result


_NOT_CAUSAL = (
    "The sums run over all keys, so every query sees the future. Query i may use the keys 0 to i "
    "only: take running sums (`cumsum` over the positions), not `sum`."
)
_NO_NORMALISER = (
    "The normaliser is missing: the weights of a query do not sum to 1, and the output grows with "
    "the position. Divide by phi_q[i]·(phi_k[0] + ... + phi_k[i])."
)
_FEATURES = (
    "A feature map is applied to the arguments. phi_q and phi_k are features already: use them as "
    "they are."
)
_SOFTMAX = (
    "A softmax is taken of the products. Linear attention does without it: the weight is "
    "phi_q[i]·phi_k[j] itself, divided by the sum of these products. With the exponential the "
    "query could not be taken out of the sum."
)
_SCALED = (
    "The weights are not normalised by their sum but scaled by a constant. Divide by the sum of "
    "the products phi_q[i]·phi_k[j] over the keys 0 to i."
)

OTHER_MISTAKES = (
    Mistake(
        "features-softmax",
        linear_of(features=lambda phi: phi.softmax(-1)),
        _FEATURES + " (A softmax over the features is such a map.)",
    ),
    Mistake("features-elu", linear_of(features=lambda phi: F.elu(phi) + 1), _FEATURES),
    Mistake("features-exp", linear_of(features=torch.exp), _FEATURES),
    Mistake("features-square", linear_of(features=torch.square), _FEATURES),
    Mistake(
        "keys-elu", linear_of(of_keys=lambda phi: F.elu(phi) + 1), _FEATURES + " Only the keys are."
    ),
    Mistake(
        "softmax-over-the-sentence",
        linear_of(of_keys=lambda phi: phi.softmax(1)),
        "A softmax of the keys is taken over the positions, which lets the future in. The keys' "
        "features are used as they are.",
    ),
    Mistake("softmax", _softmax(lambda q: 1.0, causal=True), _SOFTMAX),
    Mistake("scaled-softmax", _softmax(lambda q: math.sqrt(q.size(-1)), causal=True), _SOFTMAX),
    Mistake(
        "softmax-not-causal",
        _softmax(lambda q: math.sqrt(q.size(-1)), causal=False),
        _SOFTMAX + " It also runs over the future.",
    ),
    Mistake(
        "scaled-in-place-of-normalised",
        linear_of(
            finish=lambda w, z: w * z,
            divisor=lambda q, z: torch.full_like(z[..., :1], q.size(-1) ** -0.5),
        ),
        _SCALED,
    ),
    Mistake(
        "scaled-too",
        linear_of(
            finish=lambda w, z: w / z,
            divisor=lambda q, z: normaliser(q, z) * math.sqrt(q.size(-1)),
        ),
        "The result is divided by sqrt(r) as well. The normaliser takes every common factor out; "
        "no scale is needed.",
    ),
    Mistake(
        "matrix",
        _matrix,
        "The values are right, but an n × n matrix is made on the way, so time and memory grow "
        "with n². Take phi_q[i] out of the sum over j and keep the running sum of "
        "phi_k[j] v[j]^T.",
    ),
    Mistake(
        "matrix-not-causal",
        lambda q, k, v: (q @ k.mT) / (q @ k.mT).sum(-1, keepdim=True) @ v + 0 * _matrix(q, k, v),
        _NOT_CAUSAL + " It makes an n × n matrix besides.",
    ),
    Mistake(
        "matrix-no-normaliser",
        lambda q, k, v: (q @ k.mT).tril() @ v,
        _NO_NORMALISER + " An n × n matrix is made besides.",
    ),
    Mistake(
        "sums-over-the-batch",
        linear_of(lambda x: x.cumsum(0), lambda x: x.cumsum(0)),
        "The running sums go over the batch (axis 0), from sentence to sentence. They go over "
        "the positions: `cumsum(dim=1)`.",
    ),
    Mistake(
        "sums-over-the-features",
        linear_of(lambda x: x.cumsum(2), lambda x: x.cumsum(2)),
        "The running sums go over the features. They go over the positions: `cumsum(dim=1)`.",
    ),
    Mistake(
        "not-reset",
        _not_reset,
        "The state is not reset between sentences: the second one sees the first. Each sentence "
        "has a state of its own, (B, r, d).",
    ),
    Mistake(
        "shared-by-the-batch",
        linear_of(_shared_by_the_batch, _shared_by_the_batch),
        "All sentences share one state. Each has its own, (B, r, d): do not sum over the batch.",
    ),
    *(
        Mistake(
            f"decayed-by-{factor:g}",
            linear_of(decayed(factor), decayed(factor)),
            "The state fades by a factor from position to position. Nothing is forgotten here: "
            "S = S + phi_k[i] v[i]^T.",
        )
        for factor in (0.5, 0.9, 0.95, 0.99)
    ),
    Mistake(
        "queries-and-keys-exchanged",
        lambda q, k, v: linear_of()(k, q, v),
        "Queries and keys are exchanged: the state is made of the keys, and the queries read it.",
    ),
    Mistake(
        "queries-ignored",
        lambda q, k, v: linear_of()(torch.ones_like(q), k, v),
        "The queries are not used: the state is summed over its features. Read it by phi_q[i].",
    ),
    Mistake(
        "keys-ignored",
        lambda q, k, v: linear_of()(q, torch.ones_like(k), v),
        "The keys are not used: all earlier values weigh the same. The weight is "
        "phi_q[i]·phi_k[j].",
    ),
    Mistake(
        "keys-read-themselves",
        lambda q, k, v: linear_of()(k, k, v),
        "The keys read the state in place of the queries. Use phi_q for reading.",
    ),
    Mistake(
        "queries-written",
        lambda q, k, v: linear_of()(q, q, v),
        "The queries make the state in place of the keys. Use phi_k for writing.",
    ),
    Mistake(
        "normaliser-returned-too",
        linear_of(finish=lambda w, z: (w / z, z)),
        "Output and normaliser are returned. Only the output is asked for.",
    ),
    Mistake("last-row", then(linear_of(), lambda output: output[:, -1]), _LAST),
    Mistake("last-row-kept", then(linear_of(), lambda output: output[:, -1:]), _LAST),
    Mistake("sums-of-keys-and-values", _sums_multiplied(False), _FACTORS),
    Mistake("sums-of-keys-and-values-averaged", _sums_multiplied(True), _FACTORS),
    Mistake(
        "length-1",
        linear_of(finish=lambda w, z: F.normalize(w, dim=-1)),
        "The output is scaled to length 1. What has to be 1 is the sum of a query's weights: "
        "divide by phi_q[i]·(phi_k[0] + ... + phi_k[i]).",
    ),
    Mistake(
        "positions-first",
        then(linear_of(), lambda output: output.transpose(0, 1)),
        "The shape is (n, B, d): a list of rows was stacked along axis 0. Use "
        "`torch.stack(rows, dim=1)`.",
    ),
    Mistake(
        "in-place",
        _in_place,
        "phi_k is changed: the running sum is written into the argument. Keep it in a tensor of "
        "its own.",
    ),
    Mistake(
        "residual",
        lambda q, k, v: linear_of()(q, k, v) + v,
        "v is added to the result. The residual connection belongs to the block around attention.",
    ),
    Mistake(
        "positions-reversed",
        then(linear_of(), lambda output: output.flip(1)),
        "The rows of the result are in reverse order. Row i is the output of query i.",
    ),
    Mistake(
        "keys-sum-to-1",
        linear_of(of_keys=lambda phi_k: phi_k / phi_k.sum(-1, keepdim=True)),
        "The features of each key are divided by their sum, which changes the weights. Use phi_k "
        "as it is; only the weights of a query are made to sum to 1.",
    ),
)
