"""Named mistakes of `multihead.attention` in the scale and in the four projections."""

import math
from collections.abc import Callable

from torch import Tensor

from annotated_transformer.exercises.content.multi_head.attention_steps import (
    layer_of,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake


def _divided_by(divisor: Callable[[Tensor, Tensor, int], float]) -> Candidate:
    return layer_of(scores=lambda q, k, h: q @ k.mT / divisor(q, k, h))


SCALE_MISTAKES = (
    Mistake(
        "scale-by-sqrt-d_model",
        _divided_by(lambda q, k, h: math.sqrt(q.size(-1) * h)),
        "The scores are divided by sqrt(d_model), the width of all heads together. A head's dot "
        "product has only d_k = d_model / n_heads terms: the scale is sqrt(d_k), the width after "
        "the split.",
    ),
    Mistake(
        "no-scale",
        _divided_by(lambda q, k, h: 1.0),
        "The scores are not divided by sqrt(d_k): the scale is missing, and the softmax "
        "saturates. d_k is the width of one head.",
    ),
    Mistake(
        "scale-by-d_k",
        _divided_by(lambda q, k, h: q.size(-1)),
        "The scores are divided by d_k, not by its square root. The deviation of a dot product "
        "grows with sqrt(d_k).",
    ),
    Mistake(
        "scale-by-d_model",
        _divided_by(lambda q, k, h: q.size(-1) * h),
        "The scores are divided by d_model. It is the width of one head that counts, and its "
        "square root: sqrt(d_k).",
    ),
    Mistake(
        "scale-multiplied",
        _divided_by(lambda q, k, h: q.size(-1) ** -0.5),
        "The scores are multiplied by sqrt(d_k) instead of divided by it.",
    ),
    Mistake(
        "scale-by-sqrt-n_heads",
        _divided_by(lambda q, k, h: math.sqrt(h)),
        "The scale is sqrt(n_heads), the number of heads. It is their width that counts: "
        "sqrt(d_k), d_k = d_model / n_heads.",
    ),
    Mistake(
        "scale-by-sqrt-n_k",
        _divided_by(lambda q, k, h: math.sqrt(k.size(-2))),
        "The scale is the root of the number of keys. A dot product sums over the d_k columns of "
        "a head, not over positions.",
    ),
    Mistake(
        "scale-by-sqrt-n_q",
        _divided_by(lambda q, k, h: math.sqrt(q.size(-2))),
        "The scale is the root of the number of queries. A dot product sums over the d_k columns "
        "of a head, not over positions.",
    ),
    Mistake(
        "scale-by-8",
        _divided_by(lambda q, k, h: 8.0),
        "The scale is written as a fixed number, 8 = sqrt(64): right for the paper's heads and no "
        "others. Compute it from the width of a head.",
    ),
    Mistake(
        "scale-rounded-down",
        _divided_by(lambda q, k, h: int(math.sqrt(q.size(-1)))),
        "The scale is a whole number, sqrt(d_k) rounded down (`int` or `//`).",
    ),
)

PROJECTION_MISTAKES = (
    Mistake(
        "no-output-projection",
        layer_of(finish=lambda merged, w_o: merged),
        "The last projection W^O is missing: the merged heads are returned as they are, and "
        "nothing ever combines what different heads found. Return `merged @ w_o`.",
    ),
    Mistake(
        "no-output-projection-scaled-by-sqrt-d_model",
        layer_of(
            scores=lambda q, k, h: q @ k.mT / math.sqrt(q.size(-1) * h),
            finish=lambda merged, w_o: merged,
        ),
        "Two things at once: the last projection, `merged @ w_o`, is missing, and the scores are "
        "divided by sqrt(d_model). A head's dot product has d_k = d_model / n_heads terms, so the "
        "scale is sqrt(d_k).",
    ),
    Mistake(
        "no-output-projection-no-scale",
        layer_of(scores=lambda q, k, h: q @ k.mT, finish=lambda merged, w_o: merged),
        "Two things at once: the last projection, `merged @ w_o`, is missing, and the scores are "
        "not divided by sqrt(d_k), d_k the width of one head.",
    ),
    Mistake(
        "values-from-key",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[1], k @ w[2])),
        "The values are made from `key`, not from `value` (`key @ w_v`). In self-attention the two "
        "are the same tensor, which hides it; project `value`.",
    ),
    Mistake(
        "keys-from-value",
        layer_of(project=lambda q, k, v, w: (q @ w[0], v @ w[1], v @ w[2])),
        "The keys are made from `value`, not from `key`. In the paper's uses the two are the same "
        "tensor, which hides it; project `key` with w_k.",
    ),
    Mistake(
        "key-and-value-exchanged",
        layer_of(project=lambda q, k, v, w: (q @ w[0], v @ w[1], k @ w[2])),
        "Key and value are exchanged: keys are made from `value` and values from `key`. The "
        "arguments come in the order query, key, value.",
    ),
    Mistake(
        "values-from-projected-keys",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[1], k @ w[1] @ w[2])),
        "The values are made from the projected keys (`k @ w_v` after `k = key @ w_k`). They have "
        "their own input and one projection: `value @ w_v`.",
    ),
    Mistake(
        "values-projected-twice",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[1], v @ w[2] @ w[2])),
        "The values are multiplied with w_v twice. Once, before the split, is right.",
    ),
    Mistake(
        "values-from-query",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[1], q @ w[2])),
        "The values are made from `query`, not from `value`. In self-attention the two are the "
        "same tensor, which hides it; in cross-attention the decoder would read itself.",
    ),
    Mistake(
        "keys-from-query",
        layer_of(project=lambda q, k, v, w: (q @ w[0], q @ w[1], v @ w[2])),
        "The keys are made from `query`, not from `key`. In self-attention the two are the same "
        "tensor, which hides it; in cross-attention lengths would not fit.",
    ),
    Mistake(
        "all-from-query",
        layer_of(project=lambda q, k, v, w: (q @ w[0], q @ w[1], q @ w[2])),
        "Keys and values are both made from `query`: that is self-attention only. Project `key` "
        "and `value`, which in cross-attention come from the encoder.",
    ),
    Mistake(
        "queries-from-key",
        layer_of(project=lambda q, k, v, w: (k @ w[0], k @ w[1], v @ w[2])),
        "The queries are made from `key`. There is one result for each row of `query`: project "
        "`query` with w_q.",
    ),
    Mistake(
        "w_q-for-all",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[0], v @ w[0])),
        "All three inputs are projected with w_q. Each has its own: w_q, w_k, w_v.",
    ),
    Mistake(
        "w_k-and-w_v-exchanged",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[2], v @ w[1])),
        "w_k and w_v are exchanged: keys are projected with w_v and values with w_k.",
    ),
    Mistake(
        "w_q-and-w_k-exchanged",
        layer_of(project=lambda q, k, v, w: (q @ w[1], k @ w[0], v @ w[2])),
        "w_q and w_k are exchanged: queries are projected with w_k and keys with w_q.",
    ),
    Mistake(
        "w_k-for-values",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[1], v @ w[1])),
        "The values are projected with w_k. They have their own projection, w_v.",
    ),
    Mistake(
        "w_q-for-keys",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[0], v @ w[2])),
        "The keys are projected with w_q. They have their own projection, w_k.",
    ),
    Mistake(
        "transposed-weights",
        layer_of(
            project=lambda q, k, v, w: (q @ w[0].T, k @ w[1].T, v @ w[2].T),
            finish=lambda merged, w_o: merged @ w_o.T,
        ),
        "All weights are used transposed, `x @ w.T`, as `torch.nn.Linear` stores them. Here they "
        "are used as they come: `x @ w`.",
    ),
    Mistake(
        "transposed-input-weights",
        layer_of(project=lambda q, k, v, w: (q @ w[0].T, k @ w[1].T, v @ w[2].T)),
        "w_q, w_k and w_v are used transposed (`x @ w.T`, or `F.linear`, which transposes). Here "
        "they are used as they come: `x @ w`.",
    ),
    Mistake(
        "transposed-output-weights",
        layer_of(finish=lambda merged, w_o: merged @ w_o.T),
        "w_o is used transposed (`x @ w.T`, or `F.linear`, which transposes). Here it is used as "
        "it comes: `x @ w_o`.",
    ),
    Mistake(
        "transposed-query-weights",
        layer_of(project=lambda q, k, v, w: (q @ w[0].T, k @ w[1], v @ w[2])),
        "w_q is used transposed. All weights are used as they come: `x @ w`.",
    ),
    Mistake(
        "transposed-key-weights",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[1].T, v @ w[2])),
        "w_k is used transposed. All weights are used as they come: `x @ w`.",
    ),
    Mistake(
        "transposed-value-weights",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[1], v @ w[2].T)),
        "w_v is used transposed. All weights are used as they come: `x @ w`.",
    ),
    Mistake(
        "no-projections",
        layer_of(project=lambda q, k, v, w: (q, k, v)),
        "Query, key and value are not projected: heads then only slice the inputs. Each head has "
        "its own view of *all* d_model columns, through w_q, w_k and w_v.",
    ),
    Mistake(
        "no-query-projection",
        layer_of(project=lambda q, k, v, w: (q, k @ w[1], v @ w[2])),
        "The queries are not projected: `query @ w_q` is missing.",
    ),
    Mistake(
        "no-key-projection",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k, v @ w[2])),
        "The keys are not projected: `key @ w_k` is missing.",
    ),
    Mistake(
        "no-value-projection",
        layer_of(project=lambda q, k, v, w: (q @ w[0], k @ w[1], v)),
        "The values are not projected: `value @ w_v` is missing.",
    ),
    Mistake(
        "no-projections-at-all",
        layer_of(project=lambda q, k, v, w: (q, k, v), finish=lambda merged, w_o: merged),
        "None of the four weights is used: heads only slice the inputs. Project with w_q, w_k and "
        "w_v before the split and with w_o after the merge.",
    ),
    Mistake(
        "output-projection-twice",
        layer_of(finish=lambda merged, w_o: merged @ w_o @ w_o),
        "W^O is applied twice. Once, after the merge, is right.",
    ),
    Mistake(
        "w_v-for-output",
        lambda query, key, value, w_q, w_k, w_v, w_o, n_heads, mask=None: layer_of()(
            query, key, value, w_q, w_k, w_v, w_v, n_heads, mask
        ),
        "The last projection uses w_v instead of w_o.",
    ),
)
