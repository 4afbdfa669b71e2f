"""The named mistakes of `masks.padding`."""

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.exercise import Mistake


def _by_count(tokens: Tensor, pad_id: int) -> Tensor:
    lengths = (tokens != pad_id).sum(dim=1)
    return torch.arange(tokens.size(1))[None] < lengths[:, None]


def _length_by_argmax(tokens: Tensor, pad_id: int) -> Tensor:
    lengths = (tokens == pad_id).long().argmax(dim=1)  # 0 where there is no pad at all
    return torch.arange(tokens.size(1)) < lengths[:, None]


def _up_to_the_first_pad(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id).long().cumprod(dim=1).bool()


def _up_to_the_last_token(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id).flip(1).long().cumsum(dim=1).flip(1) > 0


def _from_the_first_token(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id).long().cumsum(dim=1) > 0


def _only_the_first_sentence(tokens: Tensor, pad_id: int) -> Tensor:
    mask = tokens != pad_id
    mask[1:] = True
    return mask


def _all_but_the_first_position(tokens: Tensor, pad_id: int) -> Tensor:
    mask = tokens != pad_id
    mask[:, 1:] = True
    return mask


def _pairs(tokens: Tensor, pad_id: int) -> Tensor:
    is_token = tokens != pad_id
    return is_token[:, :, None] & is_token[:, None, :]


_INVERTED = (
    "The mask is inverted: it is True at the padding (`==`), where attention is forbidden. "
    "Here True means may attend, so real tokens are True: `tokens != pad_id`."
)
_IGNORES_PAD_ID = (
    "The argument `pad_id` is ignored: the code takes 0 for padding (`!= 0` or `> 0`). A "
    "vocabulary whose padding is another number gets its pads attended to and its token 0 "
    "hidden. Compare with `pad_id`."
)
_RIGHT_ONLY = (
    "This is right only where all padding stands at the end (right padding): {how}. Batches are "
    "also padded on the left, and prompts and continuations leave pads in the middle. Decide "
    "token by token: `tokens != pad_id`."
)
_SHAPE = (
    "The shape is {given}; asked for is (batch, 1, 1, n). Against scores of (batch, heads, n_q, "
    "n_k) {what} Put the two axes of length 1 in with `[:, None, None, :]`."
)
_QUERY_AXIS = (
    "The tokens lie along the query axis: shape (batch, 1, n, 1) forbids whole rows, so padded "
    "positions may not ask, and every real token still attends to the pads. It is keys that "
    "have to be hidden: put the tokens on the last axis, `[:, None, None, :]`."
)
_FLOATS = (
    "The right entries are marked, but with {kind} instead of booleans. Torch would add such a "
    "mask to the scores, which hides nothing. Keep the comparison's own dtype, bool."
)
_ADDITIVE = (
    "This is an additive mask: 0 at the tokens and a huge negative number at the padding, to be "
    "added to the scores. Asked for is the boolean mask, True = may attend."
)
_LINED_UP = "a mask of two axes lines up with (n_q, n_k): the batch is taken for the queries."
_THREE = "a mask of three axes lines its batch up with the heads."

MISTAKES = (
    Mistake("inverted", lambda t, pad=0: (t == pad)[:, None, None], _INVERTED),
    Mistake("ignores-pad-id", lambda t, pad=0: (t != 0)[:, None, None], _IGNORES_PAD_ID),
    Mistake(
        "greater-than-pad-id",
        lambda t, pad=0: (t > pad)[:, None, None],
        "`tokens > pad_id` also hides every real token whose id is smaller than pad_id. Ids have "
        "no order that means anything: compare for difference, `!=`.",
    ),
    Mistake(
        "greater-or-equal",
        lambda t, pad=0: (t >= pad)[:, None, None],
        "`tokens >= pad_id` is True at the padding itself, and hides real tokens whose id is "
        "smaller. Ids have no order that means anything: compare for difference, `!=`.",
    ),
    Mistake(
        "one-answer-a-sentence",
        lambda t, pad=0: (t != pad).any(1)[:, None, None, None],
        "There is one entry for each sentence, (batch, 1, 1, 1): `any` along the tokens asks "
        "whether the sentence has one at all. Every token has its own entry: (batch, 1, 1, n).",
    ),
    Mistake(
        "one-answer-a-sentence-all",
        lambda t, pad=0: (t != pad).all(1)[:, None, None, None],
        "There is one entry for each sentence, (batch, 1, 1, 1): `all` along the tokens asks "
        "whether it has no padding. Every token has its own entry: (batch, 1, 1, n).",
    ),
    Mistake(
        "lists",
        lambda t, pad=0: [[[[token != pad for token in row]]] for row in t.tolist()],
        "These are nested Python lists. The pattern is right; attention needs a tensor: compare "
        "the tensor itself, `tokens != pad_id`, or wrap the lists in `torch.tensor`.",
    ),
    Mistake(
        "hides-special-tokens",
        lambda t, pad=0: ((t != pad) & (t != 1) & (t != 2))[:, None, None],
        "The marks of beginning and end (1 and 2) are hidden together with the padding. They are "
        "real tokens that other positions attend to: only `pad_id` is hidden.",
    ),
    Mistake(
        "hides-end-token",
        lambda t, pad=0: ((t != pad) & (t != 2))[:, None, None],
        "The end mark (2) is hidden together with the padding. It is a real token that other "
        "positions attend to: only `pad_id` is hidden.",
    ),
    Mistake("query-axis", lambda t, pad=0: (t != pad)[:, None, :, None], _QUERY_AXIS),
    Mistake(
        "query-axis-inverted",
        lambda t, pad=0: (t == pad)[:, None, :, None],
        _QUERY_AXIS + " And it is inverted: True has to stand at real tokens (`!=`).",
    ),
    Mistake(
        "query-and-key",
        lambda t, pad=0: _pairs(t, pad)[:, None],
        "Keys and queries are both masked: shape (batch, 1, n, n), with the rows of padded "
        "queries all False. Padded queries need no mask: nobody attends to them and the loss "
        "skips them, and a row with nothing allowed is what makes NaN. Only keys are hidden: "
        "(batch, 1, 1, n).",
    ),
    Mistake(
        "query-and-key-without-head-axis",
        lambda t, pad=0: _pairs(t, pad),
        "Keys and queries are both masked, with shape (batch, n, n). Only keys have to be hidden, "
        "one row for each sentence and an axis for the heads: (batch, 1, 1, n).",
    ),
    Mistake(
        "expanded-over-queries",
        lambda t, pad=0: (t != pad)[:, None, None].expand(-1, -1, t.size(1), -1),
        "The row is repeated for every query, shape (batch, 1, n, n). That says nothing new, and "
        "in cross-attention the queries have another length, so it does not fit. Leave the query "
        "axis at 1 and let broadcasting repeat it: (batch, 1, 1, n).",
    ),
    Mistake(
        "stops-at-first-pad",
        lambda t, pad=0: _up_to_the_first_pad(t, pad)[:, None, None],
        _RIGHT_ONLY.format(how="everything from the first pad on is hidden"),
    ),
    Mistake(
        "length-by-argmax",
        lambda t, pad=0: _length_by_argmax(t, pad)[:, None, None],
        "The length is taken from the place of the first pad (`argmax`), which is 0 for a "
        "sentence without padding: all of it is hidden. And it is right only for padding at the "
        "end. Decide token by token: `tokens != pad_id`.",
    ),
    Mistake(
        "counts-tokens",
        lambda t, pad=0: _by_count(t, pad)[:, None, None],
        _RIGHT_ONLY.format(how="the tokens are counted and that many first places opened"),
    ),
    Mistake(
        "up-to-last-token",
        lambda t, pad=0: _up_to_the_last_token(t, pad)[:, None, None],
        _RIGHT_ONLY.format(how="everything up to the last token is opened, pads included"),
    ),
    Mistake(
        "from-first-token",
        lambda t, pad=0: _from_the_first_token(t, pad)[:, None, None],
        "Everything from the first token on is opened, pads included: right only for padding on "
        "the left. Decide token by token, wherever the padding is: `tokens != pad_id`.",
    ),
    Mistake(
        "two-axes",
        lambda t, pad=0: t != pad,
        _SHAPE.format(given="(batch, n)", what=_LINED_UP),
    ),
    Mistake(
        "two-axes-inverted",
        lambda t, pad=0: t == pad,
        _INVERTED + " The shape lacks two axes too: (batch, 1, 1, n), `[:, None, None, :]`.",
    ),
    Mistake(
        "three-axes",
        lambda t, pad=0: (t != pad)[:, None],
        _SHAPE.format(given="(batch, 1, n)", what=_THREE),
    ),
    Mistake(
        "three-axes-inverted",
        lambda t, pad=0: (t == pad)[:, None],
        _INVERTED + " The shape lacks an axis too: (batch, 1, 1, n), `[:, None, None, :]`.",
    ),
    Mistake(
        "query-axis-three-axes",
        lambda t, pad=0: (t != pad)[:, :, None],
        "The tokens lie along the query axis, shape (batch, n, 1), and the head axis is missing. "
        "Keys are hidden, and keys are the last axis: `[:, None, None, :]`, (batch, 1, 1, n).",
    ),
    Mistake(
        "tokens-first",
        lambda t, pad=0: (t != pad)[:, :, None, None],
        "The tokens lie along the head axis, shape (batch, n, 1, 1). Scores are (batch, heads, "
        "n_q, n_k) and keys are the last axis: `[:, None, None, :]`.",
    ),
    Mistake(
        "batch-misplaced",
        lambda t, pad=0: (t != pad)[None, None],
        "The new axes stand in front: shape (1, 1, batch, n), so that the sentences of the batch "
        "are taken for queries. The batch has to stay the first axis: `[:, None, None, :]`.",
    ),
    Mistake(
        "batch-joined",
        lambda t, pad=0: (t != pad).reshape(1, 1, 1, -1),
        "All sentences are joined into one row: shape (1, 1, 1, batch·n). Each sentence has its "
        "own keys and so its own row: keep the batch as the first axis, `[:, None, None, :]`.",
    ),
    Mistake(
        "default-pad-id",
        lambda t, pad=1: (t != pad)[:, None, None],
        "Where `pad_id` is left out, padding is taken to be 1 here. The default asked for is "
        "`pad_id=0` in the first line of the function.",
    ),
    Mistake(
        "batch-second",
        lambda t, pad=0: (t != pad)[None, :, None],
        "The batch stands on the axis of the heads: shape (1, batch, 1, n). It has to be the "
        "first axis: `[:, None, None, :]`, (batch, 1, 1, n).",
    ),
    Mistake(
        "transposed",
        lambda t, pad=0: (t != pad).T[:, None, None],
        "Batch and length are exchanged: shape (n, 1, 1, batch). Rows of `tokens` are sentences "
        "and stay the first axis; only new axes are needed, no transpose.",
    ),
    Mistake(
        "first-sentence-for-all",
        lambda t, pad=0: (t[:1] != pad)[:, None, None].expand(t.size(0), -1, -1, -1),
        "Every sentence gets the mask of the first one. Sentences have different lengths, so each "
        "needs its own row: compare the whole batch, `tokens != pad_id`.",
    ),
    Mistake(
        "only-first-sentence-masked",
        lambda t, pad=0: _only_the_first_sentence(t, pad)[:, None, None],
        "Only the first sentence of the batch is masked (`m[1:] = True` opens all the others, "
        "pads included). The first axis counts sentences, and each needs its own row: "
        "`tokens != pad_id`.",
    ),
    Mistake(
        "all-but-first-position",
        lambda t, pad=0: _all_but_the_first_position(t, pad)[:, None, None],
        "Every position but the first is opened (`m[..., 1:] = True`), whatever stands there. "
        "Padding may stand at any position: decide token by token, `tokens != pad_id`.",
    ),
    Mistake(
        "any-over-batch",
        lambda t, pad=0: (t != pad).any(0).expand(t.size(0), 1, 1, -1),
        "A position is opened for all sentences as soon as one of them has a token there. Each "
        "sentence needs its own row: no reduction over the batch.",
    ),
    Mistake(
        "all-over-batch",
        lambda t, pad=0: (t != pad).all(0).expand(t.size(0), 1, 1, -1),
        "A position is hidden in all sentences as soon as one of them is padded there. Each "
        "sentence needs its own row: no reduction over the batch.",
    ),
    Mistake(
        "no-mask",
        lambda t, pad=0: torch.ones(t.size(0), 1, 1, t.size(1), dtype=torch.bool),
        "Every entry is True, so the padding is attended to. Pads have embeddings like any other "
        "token and take their share of the softmax. Compare: `tokens != pad_id`.",
    ),
    Mistake(
        "causal-too",
        lambda t, pad=0: (
            (t != pad)[:, None, None] & torch.ones(t.size(1), t.size(1), dtype=torch.bool).tril()
        ),
        "A causal mask is mixed in. The padding mask serves the encoder and cross-attention, "
        "where every query sees all real tokens; the combination is `masks.target`. Only hide "
        "the pads: (batch, 1, 1, n).",
    ),
    Mistake(
        "numpy",
        lambda t, pad=0: (t.numpy() != pad)[:, None, None],
        "This is a NumPy array. The pattern is right, but attention computes with tensors: compare "
        "the tensor itself, `tokens != pad_id`, or wrap the result in `torch.from_numpy`.",
    ),
    Mistake(
        "float-ones",
        lambda t, pad=0: (t != pad)[:, None, None].float(),
        _FLOATS.format(kind="floats"),
    ),
    Mistake(
        "float-inverted",
        lambda t, pad=0: (t == pad)[:, None, None].float(),
        _INVERTED + " It is made of floats besides, where booleans are asked for.",
    ),
    Mistake(
        "integer-ones",
        lambda t, pad=0: (t != pad)[:, None, None].long(),
        _FLOATS.format(kind="integers"),
    ),
    Mistake(
        "integer32-ones",
        lambda t, pad=0: (t != pad)[:, None, None].int(),
        _FLOATS.format(kind="integers"),
    ),
    Mistake(
        "additive",
        lambda t, pad=0: torch.zeros(t.shape).masked_fill(t == pad, float("-inf"))[:, None, None],
        _ADDITIVE,
    ),
    Mistake(
        "additive-large",
        lambda t, pad=0: (t == pad)[:, None, None].float() * -1e9,
        _ADDITIVE,
    ),
    Mistake(
        "tokens-kept",
        lambda t, pad=0: t.masked_fill(t == pad, 0)[:, None, None],
        "The token ids themselves come back. A mask holds only True and False: return the "
        "comparison `tokens != pad_id`, not the tokens it selects.",
    ),
    Mistake(
        "padded-to-longest",
        lambda t, pad=0: F.pad(t, (0, 1), value=pad).ne(pad)[:, None, None],
        "The mask has one column too many. It must have one entry for each column of `tokens`: "
        "(batch, 1, 1, n).",
    ),
)
