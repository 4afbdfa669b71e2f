"""The named mistakes of `masks.target`."""

import torch
from torch import Tensor

from annotated_transformer.exercises.exercise import Mistake


def _causal(tokens: Tensor) -> Tensor:
    n = tokens.size(1)
    return torch.ones(n, n, dtype=torch.bool).tril()


def _strict(tokens: Tensor) -> Tensor:
    return _causal(tokens) & ~_diagonal(tokens)


def _diagonal(tokens: Tensor) -> Tensor:
    return torch.eye(tokens.size(1), dtype=torch.bool)


def _keys(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, None, :]


def _queries(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, :, None]


def _up_to_the_first_pad(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id).long().cumprod(dim=1).bool()[:, None, None]


def _counted(tokens: Tensor, pad_id: int) -> Tensor:
    lengths = (tokens != pad_id).sum(dim=1)
    return (torch.arange(tokens.size(1)) < lengths[:, None])[:, None, None]


def _additive(allowed: Tensor, penalty: float) -> Tensor:
    return torch.zeros(allowed.shape).masked_fill(~allowed, penalty)


_OR = (
    "Causal *or* not padding: the two conditions are joined with `|`, so a key is allowed as "
    "soon as one holds. Every query then sees all real tokens, the future included, and early "
    "pads too. Both must hold: `&`."
)
_FLOATS = (
    "The right entries are marked, but with {kind} instead of booleans. Torch would add such a "
    "mask to the scores, which hides nothing. Keep both parts bool and join them with `&`."
)
_ADDITIVE = (
    "This is an additive mask, zeros and huge negative numbers. Asked for is the boolean mask, "
    "True = may attend."
)
_STRICT = (
    "The diagonal is False: a position may not attend to itself, and the first query has no key "
    "at all. The decoder's input is already shifted right, so keep the diagonal (`tril()`, "
    "key <= query)."
)
_NO_HEADS = (
    "The head axis is missing: the shape is (batch, n, n). Against scores of (batch, heads, n_q, "
    "n_k) its batch would line up with the heads. Asked for is (batch, 1, n, n): index the "
    "padding row with `[:, None, None, :]`."
)
_RIGHT_ONLY = (
    "Pads are found by {how}, which is right only where all padding stands at the end (right "
    "padding). Decide token by token: `tokens != pad_id`."
)
_KEY_INVERTED = (
    "The padding half is inverted: `tokens == pad_id` is True at the pads, so queries attend to "
    "padding and to no real token. True means may attend: `!=`."
)

MISTAKES = (
    Mistake("or-for-and", lambda t, pad=0: _keys(t, pad) | _causal(t), _OR),
    Mistake(
        "or-of-future",
        lambda t, pad=0: _keys(t, pad) | ~_causal(t),
        "The future is allowed instead of the past, and joined with *or*: `|`. Take the lower "
        "triangle, `tril()`, and join with `&`.",
    ),
    Mistake(
        "or-of-padding",
        lambda t, pad=0: ~_keys(t, pad) | _causal(t),
        "Padding is allowed everywhere: `tokens == pad_id` is joined with *or*. Real tokens are "
        "`!=`, and both conditions must hold: `&`.",
    ),
    Mistake(
        "only-causal",
        lambda t, pad=0: _causal(t).expand(t.size(0), 1, -1, -1),
        "Only the causal half is there, the padding half is missing: pads among the keys stay "
        "visible. With padding on the right this shows only at padded queries; with padding on "
        "the left or in the middle real tokens attend to pads. Join it with `tokens != pad_id`.",
    ),
    Mistake(
        "only-causal-two-axes",
        lambda t, pad=0: _causal(t),
        "This is the causal mask alone, (n, n): the padding half is missing, and with it the "
        "batch axis. Join it with `(tokens != pad_id)[:, None, None, :]`: (batch, 1, n, n).",
    ),
    Mistake(
        "only-causal-one-sentence",
        lambda t, pad=0: _causal(t)[None, None],
        "This is the causal mask alone, (1, 1, n, n): the padding half is missing, and with it "
        "the batch. Join it with `(tokens != pad_id)[:, None, None, :]`: (batch, 1, n, n).",
    ),
    Mistake(
        "only-padding",
        lambda t, pad=0: _keys(t, pad),
        "This is the padding mask alone, (batch, 1, 1, n): the causal half is missing, so every "
        "query sees the future it has to predict. Join it with the lower triangle: `&`.",
    ),
    Mistake(
        "only-padding-expanded",
        lambda t, pad=0: _keys(t, pad).expand(-1, -1, t.size(1), -1),
        "Only the padding half is there, the causal half is missing: every query sees the future "
        "it has to predict. Join it with the lower triangle: `&`.",
    ),
    Mistake(
        "pads-on-queries",
        lambda t, pad=0: _queries(t, pad) & _causal(t),
        "The padding is put on the query axis, `[:, None, :, None]`: rows of padded queries are "
        "closed, and real tokens still attend to padded keys. Pads are hidden as keys, the last "
        "axis: `[:, None, None, :]`.",
    ),
    Mistake(
        "pads-on-queries-too",
        lambda t, pad=0: _queries(t, pad) & _keys(t, pad) & _causal(t),
        "Padded queries are masked as well as padded keys. The loss skips padded queries, so they "
        "need no mask, and their empty rows are what makes NaN in a softmax. The mask is causal "
        "and key-is-not-padding, nothing about the query.",
    ),
    Mistake(
        "pads-on-queries-or-keys",
        lambda t, pad=0: (_queries(t, pad) | _keys(t, pad)) & _causal(t),
        "A pad is visible here whenever the query is a real token, because query and key are "
        "joined with `|`. Only the key decides: causal `&` key-is-not-padding.",
    ),
    Mistake(
        "or-on-queries",
        lambda t, pad=0: _queries(t, pad) | _causal(t),
        "Two things at once: the padding is put on the query axis, and it is joined with `|`. "
        "Pads are hidden as keys (the last axis), and both conditions must hold: `&`.",
    ),
    Mistake(
        "inverted",
        lambda t, pad=0: ~(_keys(t, pad) & _causal(t)),
        "The whole mask is inverted: True stands where attention is forbidden (the future and "
        "the pads). Here True means may attend: drop the `~`.",
    ),
    Mistake(
        "inverted-key-and-future",
        lambda t, pad=0: ~_keys(t, pad) & ~_causal(t),
        "Both halves are inverted: True stands at pads in the future. Here True means may attend: "
        "real tokens (`!=`) and the past with the diagonal (`tril`). Note that `~(a & b)` is "
        "`~a | ~b`.",
    ),
    Mistake("padding-inverted", lambda t, pad=0: ~_keys(t, pad) & _causal(t), _KEY_INVERTED),
    Mistake(
        "causal-inverted",
        lambda t, pad=0: _keys(t, pad) & ~_causal(t),
        "The causal half is inverted: each query sees the future alone and nothing of the past. "
        "True means may attend: take the lower triangle with its diagonal, `tril()`.",
    ),
    Mistake(
        "upper-triangle",
        lambda t, pad=0: _keys(t, pad) & _causal(t).T,
        "The causal half is transposed: the upper triangle lets each query see itself and the "
        "future. Rows are queries, columns are keys, so the past is the lower triangle: `tril`, "
        "not `triu`.",
    ),
    Mistake("strict-diagonal", lambda t, pad=0: _keys(t, pad) & _strict(t), _STRICT),
    Mistake(
        "strict-only-causal",
        lambda t, pad=0: _strict(t).expand(t.size(0), 1, -1, -1),
        _STRICT + " And the padding half is missing: join with `tokens != pad_id`.",
    ),
    Mistake(
        "one-ahead",
        lambda t, pad=0: _keys(t, pad) & torch.ones_like(_causal(t)).tril(1),
        "Every query may attend to the key right after it: the diagonal is off by one, and that "
        "key is the word to be predicted. Use `tril()` without an offset, key <= query.",
    ),
    Mistake(
        "diagonal-always-open",
        lambda t, pad=0: (_keys(t, pad) & _causal(t)) | _diagonal(t),
        "The diagonal is always open, even where it is a pad, probably so that no row is empty. "
        "But then pads attend to pads; empty rows are the attention function's affair (it returns "
        "zeros). The mask is exactly causal `&` key-is-not-padding.",
    ),
    Mistake(
        "exclusive-or",
        lambda t, pad=0: _keys(t, pad) ^ _causal(t),
        "The two conditions are joined with `^`, exclusive or, which is True where exactly one of "
        "them holds. Both must hold: `&`.",
    ),
    Mistake(
        "ignores-pad-id",
        lambda t, pad=0: _keys(t, 0) & _causal(t),
        "The argument `pad_id` is ignored: the code takes 0 for padding (`!= 0` or `> 0`). A "
        "vocabulary whose padding is another number gets its pads attended to. Compare with "
        "`pad_id`.",
    ),
    Mistake(
        "greater-than-pad-id",
        lambda t, pad=0: (t > pad)[:, None, None] & _causal(t),
        "`tokens > pad_id` also hides real tokens whose id is smaller than pad_id. Ids have no "
        "order that means anything: compare for difference, `!=`.",
    ),
    Mistake(
        "lists",
        lambda t, pad=0: (_keys(t, pad) & _causal(t)).tolist(),
        "These are nested Python lists. The pattern is right; attention needs a tensor: wrap it in "
        "`torch.tensor`, or join two boolean tensors with `&`.",
    ),
    Mistake(
        "stops-at-first-pad",
        lambda t, pad=0: _up_to_the_first_pad(t, pad) & _causal(t),
        _RIGHT_ONLY.format(how="hiding everything from the first one on"),
    ),
    Mistake(
        "counts-tokens",
        lambda t, pad=0: _counted(t, pad) & _causal(t),
        _RIGHT_ONLY.format(how="counting the tokens of each sentence"),
    ),
    Mistake(
        "without-head-axis",
        lambda t, pad=0: (_keys(t, pad) & _causal(t))[:, 0],
        _NO_HEADS,
    ),
    Mistake(
        "or-without-head-axis",
        lambda t, pad=0: (_keys(t, pad) | _causal(t))[:, 0],
        _OR + " The head axis is missing too: (batch, 1, n, n).",
    ),
    Mistake(
        "queries-without-head-axis",
        lambda t, pad=0: (_queries(t, pad) & _causal(t))[:, 0],
        "The padding lies along the queries, and the head axis is missing: (batch, n, n). Pads "
        "are hidden as keys: index the padding row with `[:, None, None, :]`, (batch, 1, n, n).",
    ),
    Mistake(
        "batch-against-queries",
        lambda t, pad=0: (t != pad) & _causal(t),
        "`tokens != pad_id` is (batch, n) and is joined as it is with (n, n): the sentences line "
        "up with the queries, which either fails or mixes them silently. Add the axes of heads "
        "and queries first: `[:, None, None, :]`.",
    ),
    Mistake(
        "one-row-for-the-batch",
        lambda t, pad=0: (_keys(t, pad).all(0, keepdim=True) & _causal(t)).expand(
            t.size(0), -1, -1, -1
        ),
        "A key is hidden in all sentences as soon as one of them is padded there. Each sentence "
        "has its own padding: no reduction over the batch.",
    ),
    Mistake(
        "batch-on-head-axis",
        lambda t, pad=0: (_keys(t, pad) & _causal(t)).transpose(0, 1),
        "The batch stands on the axis of the heads: shape (1, batch, n, n), and each head would "
        "get the mask of another sentence. The batch is the first axis: index the padding row with "
        "`[:, None, None, :]`.",
    ),
    Mistake(
        "sentences-counted-for-tokens",
        lambda t, pad=0: _keys(t, pad) & torch.ones(len(t), len(t), dtype=torch.bool).tril(),
        "The triangle is as large as the batch: `tokens.size(0)` and `len(tokens)` count the "
        "sentences. Its sides are positions, n of them: `tokens.size(1)`.",
    ),
    Mistake(
        "default-pad-id",
        lambda t, pad=1: _keys(t, pad) & _causal(t),
        "Where `pad_id` is left out, padding is taken to be 1 here. The default asked for is "
        "`pad_id=0` in the first line of the function.",
    ),
    Mistake(
        "first-sentence-for-all",
        lambda t, pad=0: (_keys(t[:1], pad) & _causal(t)).expand(t.size(0), -1, -1, -1),
        "Every sentence gets the mask of the first one. Each has its own padding: compare the "
        "whole batch, `tokens != pad_id`.",
    ),
    Mistake(
        "numpy",
        lambda t, pad=0: (_keys(t, pad) & _causal(t)).numpy(),
        "This is a NumPy array. The pattern is right, but attention computes with tensors: compare "
        "the tensor itself, `tokens != pad_id`, or wrap the result in `torch.from_numpy`.",
    ),
    Mistake(
        "float-ones",
        lambda t, pad=0: (_keys(t, pad) & _causal(t)).float(),
        _FLOATS.format(kind="floats"),
    ),
    Mistake(
        "integer-ones",
        lambda t, pad=0: (_keys(t, pad) & _causal(t)).long(),
        _FLOATS.format(kind="integers"),
    ),
    Mistake(
        "integer32-ones",
        lambda t, pad=0: (_keys(t, pad) & _causal(t)).int(),
        _FLOATS.format(kind="integers"),
    ),
    Mistake(
        "sum-of-masks",
        lambda t, pad=0: _keys(t, pad).float() + _causal(t).float(),
        "The two masks are added: 2 where both conditions hold, 1 where one does. Adding is like "
        "*or*, and the entries are floats. Join booleans with `&`.",
    ),
    Mistake(
        "additive",
        lambda t, pad=0: _additive(_keys(t, pad) & _causal(t), float("-inf")),
        _ADDITIVE,
    ),
    Mistake(
        "additive-large",
        lambda t, pad=0: _additive(_keys(t, pad) & _causal(t), -1e9),
        _ADDITIVE,
    ),
)
