"""Wrong forms of `beyond.linear_attention`: the sums over the keys and the normaliser."""

import torch
from torch import Tensor

from annotated_transformer.exercises.content.beyond.linear_steps import (
    averaged,
    before,
    from_here_on,
    here_only,
    linear_of,
    no_normaliser,
    normaliser,
    over_all,
)
from annotated_transformer.exercises.exercise import Mistake


def _normalised_before(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    """Each key's contribution is divided when it is added, by the normaliser of that position."""
    total = normaliser(phi_q, phi_k.cumsum(1))
    state = (phi_k[..., :, None] * (v / total)[..., None, :]).cumsum(1)
    return (phi_q[..., None] * state).sum(2)


_NOT_CAUSAL = (
    "The sums run over all keys, so every query sees the future. Query i may use the keys 0 to i "
    "only: take running sums (`cumsum` over the positions), not `sum`."
)
_NO_NORMALISER = (
    "The normaliser is missing: the weights of a query do not sum to 1, and the output grows with "
    "the position. Divide by phi_q[i]·(phi_k[0] + ... + phi_k[i])."
)
_STRICT = (
    "A query does not see its own key: it reads the state before key i is added, and the first "
    "query has nothing at all. Keys 0 to i count, i included: add first, then read."
)
_GLOBAL_NORMALISER = (
    "The normaliser sums over all keys, the future included, while the values are summed up to "
    "i. The weights of the early queries then sum to less than 1. Take the running sum in both."
)
_GLOBAL_VALUES = (
    "The values are summed over all keys, the future included; only the normaliser is a running "
    "sum. Take running sums in both."
)
_COUNT = (
    "The sum is divided by the number of keys. The weights are phi_q[i]·phi_k[j], so their sum "
    "is the divisor: phi_q[i]·(phi_k[0] + ... + phi_k[i])."
)

SUM_MISTAKES = (
    Mistake("not-causal", linear_of(over_all, over_all), _NOT_CAUSAL),
    Mistake("no-normaliser", linear_of(divisor=no_normaliser), _NO_NORMALISER),
    Mistake(
        "not-causal-no-normaliser",
        linear_of(over_all, divisor=no_normaliser),
        _NOT_CAUSAL + " And the normaliser is missing: divide by the sum of the weights.",
    ),
    Mistake("strictly-before", linear_of(before, before), _STRICT),
    Mistake(
        "strictly-before-zero-first",
        linear_of(before, before, divisor=lambda q, z: normaliser(q, z).clamp(min=1e-9)),
        _STRICT,
    ),
    Mistake(
        "strictly-before-no-normaliser",
        linear_of(before, divisor=no_normaliser),
        _STRICT + " And the normaliser is missing: divide by the sum of the weights.",
    ),
    Mistake(
        "values-strictly-before",
        linear_of(states=before),
        "The values are summed up to i - 1 and the normaliser up to i. Both hold the query's own "
        "key: add key i to the state before query i reads.",
    ),
    Mistake(
        "normaliser-strictly-before",
        linear_of(totals=before),
        "The normaliser is summed up to i - 1 and the values up to i, so the first query is "
        "divided by 0. Both hold the query's own key.",
    ),
    Mistake("normaliser-of-all-keys", linear_of(totals=over_all), _GLOBAL_NORMALISER),
    Mistake("values-of-all-keys", linear_of(states=over_all), _GLOBAL_VALUES),
    Mistake(
        "future-only",
        linear_of(from_here_on, from_here_on),
        "The sums run from the end: query i sees itself and the future. They run from key 0 to "
        "key i.",
    ),
    Mistake(
        "own-key-only",
        linear_of(here_only, here_only),
        "Each query sees its own key alone, so v comes back. The state is kept from position to "
        "position: S = S + phi_k[i] v[i]^T.",
    ),
    Mistake(
        "own-value-over-all",
        linear_of(states=here_only),
        "The state is overwritten at each position instead of added to; only the normaliser runs "
        "on. S = S + phi_k[i] v[i]^T.",
    ),
    Mistake(
        "normaliser-of-the-own-key",
        linear_of(totals=here_only),
        "The normaliser holds the query's own key alone. It is a running sum, as the state is: "
        "z = z + phi_k[i].",
    ),
    Mistake(
        "divided-by-number-of-keys",
        linear_of(averaged, divisor=no_normaliser),
        _COUNT,
    ),
    Mistake(
        "divided-by-length",
        linear_of(finish=lambda w, z: w / w.size(1), divisor=no_normaliser),
        _COUNT + " And query i has i + 1 keys, not n.",
    ),
    Mistake(
        "divided-by-number-of-keys-too",
        linear_of(averaged),
        "The state is averaged over the keys and then divided by the normaliser. One of them is "
        "enough: take the running *sum* of the outer products.",
    ),
    Mistake(
        "normaliser-without-query",
        linear_of(divisor=lambda q, z: z.sum(-1, keepdim=True)),
        "The normaliser sums the keys' features without the query. It is the sum of the weights, "
        "phi_q[i]·z[i]: multiply by phi_q before summing over the features.",
    ),
    Mistake(
        "normaliser-of-the-queries",
        linear_of(divisor=lambda q, z: q.sum(-1, keepdim=True)),
        "The sum of the query's features is the divisor. It is phi_q[i]·z[i], with z the running "
        "sum of the keys' features.",
    ),
    Mistake(
        "normaliser-averages-the-features",
        linear_of(divisor=lambda q, z: (q * z).mean(-1, keepdim=True)),
        "The normaliser averages over the r features. It is a dot product: the sum over them.",
    ),
    Mistake(
        "normaliser-is-a-length",
        linear_of(divisor=lambda q, z: (q * z).norm(dim=-1, keepdim=True)),
        "The output is divided by a Euclidean length. The divisor is the sum of the weights, "
        "phi_q[i]·z[i].",
    ),
    Mistake(
        "normaliser-adds-1",
        linear_of(divisor=lambda q, z: normaliser(q, z) + 1),
        "1 is added to the normaliser, so the weights sum to less than 1. All features are "
        "positive; nothing has to be added.",
    ),
    Mistake(
        "normaliser-at-least-1",
        linear_of(divisor=lambda q, z: normaliser(q, z).clamp(min=1)),
        "The normaliser is held at 1 or more. All features are positive; divide by it as it is.",
    ),
    Mistake(
        "multiplied-by-the-normaliser",
        linear_of(finish=torch.mul),
        "The output is multiplied by the normaliser. Divide by it.",
    ),
    Mistake(
        "divided-twice",
        linear_of(finish=lambda w, z: w / z**2),
        "The output is divided by the normaliser twice. Once makes the weights sum to 1.",
    ),
    Mistake(
        "divided-by-the-root",
        linear_of(finish=lambda w, z: w / z.sqrt()),
        "The output is divided by the root of the normaliser. Divide by the normaliser itself.",
    ),
    Mistake(
        "normalised-when-added",
        _normalised_before,
        "Each value is divided by the normaliser of its own position when it is added. The "
        "divisor belongs to the query that reads: divide the whole sum, at the end.",
    ),
)
