"""Wrong forms of `beyond.grouped_query_attention`: which heads share which keys and values."""

from torch import Tensor

from annotated_transformer.exercises.content.beyond.grouped_query_steps import (
    Mask,
    Sharing,
    attention_of,
    in_runs,
    masked,
)
from annotated_transformer.exercises.exercise import Mistake


def _in_turn(heads: Tensor, h: int) -> Tensor:
    return heads.repeat(1, h // heads.size(1), 1, 1)


def _reversed(heads: Tensor, h: int) -> Tensor:
    return in_runs(heads.flip(1), h)


def _by_group_number(heads: Tensor, h: int) -> Tensor:
    g = heads.size(1)
    return heads[:, [min(i // g, g - 1) for i in range(h)]]


def _by_remainder_of_group_size(heads: Tensor, h: int) -> Tensor:
    g = heads.size(1)
    return heads[:, [i % (h // g) % g for i in range(h)]]


def _averaged(heads: Tensor, h: int) -> Tensor:
    return heads.mean(1, keepdim=True).expand(-1, h, -1, -1)


def _first(heads: Tensor, h: int) -> Tensor:
    return heads[:, :1].expand(-1, h, -1, -1)


def _last(heads: Tensor, h: int) -> Tensor:
    return heads[:, -1:].expand(-1, h, -1, -1)


def _cut_short(heads: Tensor, h: int) -> Tensor:
    g = heads.size(1)
    return heads[:, [min(i, g - 1) for i in range(h)]]


def _interleaved_positions(heads: Tensor, h: int) -> Tensor:
    batch, g, n, d = heads.shape
    return heads.repeat_interleave(h // g, dim=2).reshape(batch, h, n, d)


def _plain_heads(heads: Tensor, h: int) -> Tensor:
    return heads


def _queries_dealt_out(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    batch, h, n_q, d = q.shape
    g = k.size(1)
    dealt = q.reshape(batch, h // g, g, n_q, d).transpose(1, 2).reshape(batch, h, n_q, d)
    return attention_of()(dealt, k, v, mask)


def _summed_queries(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    batch, _, n_q, d = q.shape
    grouped = q.reshape(batch, k.size(1), -1, n_q, d).mean(2)
    return attention_of()(grouped, k, v, mask)


def _keys_as_values(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    return attention_of()(q, k, k, mask)


def _values_as_keys(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    return attention_of()(q, v, v, mask)


def _exchanged(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    return attention_of()(q, v, k, mask)


def _in_place(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    q /= q.size(-1) ** 0.5
    return attention_of(scores=lambda q, k, g: q @ k.mT)(q, k, v, mask)


def _grouped(output: Tensor, g: int) -> Tensor:
    batch, h, n_q, d = output.shape
    return output.reshape(batch, g, h // g, n_q, d)


def _group_axis_left(output: Tensor, weights: Tensor, g: int) -> Tensor:
    return _grouped(output, g)


def _groups_summed(output: Tensor, weights: Tensor, g: int) -> Tensor:
    return _grouped(output, g).sum(2)


def _groups_averaged(output: Tensor, weights: Tensor, g: int) -> Tensor:
    return _grouped(output, g).mean(2)


def _dealt_back(output: Tensor, weights: Tensor, g: int) -> Tensor:
    return _grouped(output, g).transpose(1, 2).flatten(1, 2)


_IN_TURN = (
    "The key/value heads are dealt out in turn, 0, 1, 0, 1, ...: `repeat` repeats the whole row "
    "of heads (and so does i % g). Query head i uses head i // (h // g): neighbours share, "
    "0, 0, 1, 1. Use `repeat_interleave(h // g, dim=1)`."
)
_ONE_FOR_ALL = (
    "All query heads use one and the same key/value head: that is multi-query attention. Here "
    "there are g of them, and query head i uses head i // (h // g)."
)
_PARTLY = (
    "Keys and values are shared differently: one of them in runs (0, 0, 1, 1), the other "
    "in turn (0, 1, 0, 1). A query then weighs with one head's keys and reads another head's "
    "values. Use `repeat_interleave(h // g, dim=1)` for both."
)
_POSITIONS = (
    "The keys and values are repeated along the positions and then reshaped into heads, which "
    "mixes positions and heads. Repeat along axis 1, the heads: "
    "`repeat_interleave(h // g, dim=1)`."
)
_TOO_FEW = (
    "The query heads of a group are merged into one, so only g heads come out. All h query heads "
    "keep their own weights and outputs; only keys and values are shared."
)

_SHARINGS: tuple[tuple[str, Sharing, Sharing | None, str], ...] = (
    ("dealt-out-in-turn", _in_turn, None, _IN_TURN),
    ("values-dealt-out-in-turn", in_runs, _in_turn, _PARTLY),
    ("keys-dealt-out-in-turn", _in_turn, in_runs, _PARTLY),
    (
        "divided-by-g",
        _by_group_number,
        None,
        "Query head i uses head i // g. Each key/value head serves h // g query heads, so the "
        "number is i // (h // g); the two agree only for h = g².",
    ),
    (
        "remainder-of-h-over-g",
        _by_remainder_of_group_size,
        None,
        "Query head i uses head i % (h // g), the place within the group. The number of the "
        "group is meant: i // (h // g).",
    ),
    (
        "reversed",
        _reversed,
        None,
        "The key/value heads are in reverse order. Query head 0 uses head 0: i // (h // g).",
    ),
    ("first-head-for-all", _first, None, _ONE_FOR_ALL),
    ("last-head-for-all", _last, None, _ONE_FOR_ALL + " It is the last of them."),
    (
        "values-of-the-first-head",
        in_runs,
        _first,
        "The values are those of the first head for all queries. Values are shared as keys are: "
        "query head i uses head i // (h // g).",
    ),
    (
        "keys-of-the-first-head",
        _first,
        in_runs,
        "The keys are those of the first head for all queries. Keys are shared as values are: "
        "query head i uses head i // (h // g).",
    ),
    (
        "averaged-heads",
        _averaged,
        None,
        "The key/value heads are averaged into one. (That is a way to make a grouped model of an "
        "old one, not how it computes.) Query head i uses head i // (h // g).",
    ),
    (
        "last-head-repeated",
        _cut_short,
        None,
        "The first g query heads take one key/value head each, the others all the last one. "
        "Neighbours share: query head i uses head i // (h // g).",
    ),
    ("interleaved-along-positions", _interleaved_positions, None, _POSITIONS),
    (
        "not-repeated",
        _plain_heads,
        None,
        "Keys and values are used as they are. That works for g = h and, by broadcasting, for "
        "g = 1; otherwise the heads do not fit. Repeat each one h // g times: "
        "`repeat_interleave(h // g, dim=1)`.",
    ),
    (
        "repeated-g-times",
        lambda heads, h: heads.repeat_interleave(heads.size(1), dim=1),
        None,
        "Each key/value head is repeated g times. It has to serve h // g query heads: repeat it "
        "h // g times.",
    ),
    (
        "repeated-h-times",
        lambda heads, h: heads.repeat_interleave(h, dim=1),
        None,
        "Each key/value head is repeated h times. It has to serve h // g query heads: repeat it "
        "h // g times.",
    ),
    (
        "more-positions",
        lambda heads, h: heads.repeat_interleave(h // heads.size(1), dim=2),
        None,
        "Keys and values are repeated along axis 2, the positions. The heads are axis 1: "
        "`repeat_interleave(h // g, dim=1)`.",
    ),
    (
        "repeated-on-the-batch",
        lambda heads, h: heads.repeat_interleave(h // heads.size(1), dim=0),
        None,
        "Keys and values are repeated along axis 0, the batch. The heads are axis 1: "
        "`repeat_interleave(h // g, dim=1)`.",
    ),
)


def _all_heads_joined(q: Tensor, k: Tensor, v: Tensor, mask: Mask = None) -> Tensor:
    """The keys of all key/value heads in one row, for every query head."""
    g = k.size(1)
    if mask is not None:
        mask = mask.expand(*q.shape[:3], k.size(2)).repeat(1, 1, 1, g)
    return attention_of()(q, k.flatten(1, 2)[:, None], v.flatten(1, 2)[:, None], mask)


def _averaged_in_groups(output: Tensor, weights: Tensor, g: int) -> Tensor:
    groups = output.reshape(output.size(0), g, -1, *output.shape[2:])
    return groups.mean(2, keepdim=True).expand_as(groups).flatten(1, 2)


HEAD_MISTAKES = (
    *(
        Mistake(name, attention_of(keys, values), sentence)
        for name, keys, values, sentence in _SHARINGS
    ),
    Mistake(
        "dealt-out-in-turn-unscaled",
        attention_of(_in_turn, scores=lambda q, k, g: q @ k.mT),
        _IN_TURN + " The division by sqrt(d) is missing, too.",
    ),
    Mistake(
        "dealt-out-in-turn-scaled-by-d",
        attention_of(_in_turn, scores=lambda q, k, g: q @ k.mT / q.size(-1)),
        _IN_TURN + " And the scores are divided by d, not by its root.",
    ),
    Mistake(
        "dealt-out-in-turn-empty-rows",
        attention_of(
            _in_turn,
            weights=lambda scores, mask: masked(scores, mask, float("-inf")).softmax(-1),
        ),
        _IN_TURN + " And a query without any key gives NaN.",
    ),
    Mistake(
        "outputs-dealt-back",
        attention_of(finish=_dealt_back),
        "Each query head is computed with the right keys, but the heads come out in another "
        "order: groups and the heads within a group are exchanged. Head i of the output belongs "
        "to query head i: reshape from (B, g, h // g, ...), the group first.",
    ),
    Mistake(
        "queries-dealt-out",
        _queries_dealt_out,
        "The query heads are put into groups in the wrong order: reshaped to (B, h // g, g, ...) "
        "and transposed, so that every g-th head is a neighbour. Query head i belongs to group "
        "i // (h // g): reshape to (B, g, h // g, n_q, d), the group first.",
    ),
    Mistake("queries-averaged", _summed_queries, _TOO_FEW),
    Mistake("outputs-averaged", attention_of(finish=_groups_averaged), _TOO_FEW),
    Mistake("outputs-summed", attention_of(finish=_groups_summed), _TOO_FEW),
    Mistake(
        "group-axis-left",
        attention_of(finish=_group_axis_left),
        "The result has the shape (B, g, h // g, n_q, d). Join the two axes of heads: "
        "`.flatten(1, 2)`.",
    ),
    Mistake(
        "keys-as-values",
        _keys_as_values,
        "The weights average the keys. They are for the values: `weights @ v`.",
    ),
    Mistake(
        "values-as-keys",
        _values_as_keys,
        "The queries are compared with the values. Scores come from the keys: q k^T.",
    ),
    Mistake(
        "keys-and-values-exchanged",
        _exchanged,
        "Keys and values are exchanged: scores come from k, and the weights average v.",
    ),
    Mistake(
        "in-place",
        _in_place,
        "q itself is changed (`/=`, `*=`). The caller still needs it: make a new tensor.",
    ),
    Mistake(
        "all-heads-joined",
        _all_heads_joined,
        "Every query head attends to the keys of all key/value heads at once. Each uses one head "
        "alone: query head i uses head i // (h // g).",
    ),
    Mistake(
        "outputs-averaged-in-place",
        attention_of(finish=_averaged_in_groups),
        "The outputs of the query heads of a group are averaged. They share keys and values, but "
        "each query head has weights and an output of its own.",
    ),
)
