"""The wrong operators of `masks.find_bug` that a listing may show."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

MaskRule = Callable[[Tensor, Tensor, int, int], Tensor]


@dataclass(frozen=True)
class Fault:
    """One wrong operator: the line as the learner finds it, what it computes, what to say."""

    mask: str
    name: str
    line: str
    rule: MaskRule
    sentence: str


def keys(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, None, :]


def pads(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens == pad_id)[:, None, None, :]


def queries(tokens: Tensor, pad_id: int) -> Tensor:
    return (tokens != pad_id)[:, None, :, None]


def not_later(tokens: Tensor) -> Tensor:
    position = torch.arange(tokens.size(1))
    return position <= position[:, None]


def earlier(tokens: Tensor) -> Tensor:
    position = torch.arange(tokens.size(1))
    return position < position[:, None]


def prefix(tokens: Tensor, length: int) -> Tensor:
    return torch.arange(tokens.size(1)) < length


MASK_NAMES = ("encoder_only", "decoder_only", "prefix_model", "cross_attention")
RIGHT_RULES: dict[str, MaskRule] = {
    "encoder_only": lambda s, t, p, pad: keys(s, pad),
    "decoder_only": lambda s, t, p, pad: keys(t, pad) & not_later(t),
    "prefix_model": lambda s, t, p, pad: keys(t, pad) & (not_later(t) | prefix(t, p)),
    "cross_attention": lambda s, t, p, pad: keys(s, pad),
}

_CAUSAL = "(position <= position[:, None])"
_EARLIER = "(position < position[:, None])"

# The first fault of each mask is the one printed in the book.
FAULTS: dict[str, tuple[Fault, ...]] = {
    "encoder_only": (
        Fault(
            "encoder_only",
            "equal",
            "(source == pad_id)[:, None, None, :]",
            lambda s, t, p, pad: pads(s, pad),
            "In `encoder_only` the comparison is still `==`: True stands at the padding, and the "
            "mask is inverted. True means may attend, so compare with `!=`.",
        ),
        Fault(
            "encoder_only",
            "query-axis",
            "(source != pad_id)[:, None, :, None]",
            lambda s, t, p, pad: queries(s, pad),
            "In `encoder_only` the tokens lie along the query axis: padded queries are silenced "
            "and padded keys stay visible. Keys are the last axis: `[:, None, None, :]`.",
        ),
    ),
    "decoder_only": (
        Fault(
            "decoder_only",
            "strict-diagonal",
            f"(target != pad_id)[:, None, None, :] & {_EARLIER}",
            lambda s, t, p, pad: keys(t, pad) & earlier(t),
            "In `decoder_only` the diagonal is False: with `<` a position may not attend to "
            "itself, and the first query sees nothing. Use `<=`.",
        ),
        Fault(
            "decoder_only",
            "or-for-and",
            f"(target != pad_id)[:, None, None, :] | {_CAUSAL}",
            lambda s, t, p, pad: keys(t, pad) | not_later(t),
            "In `decoder_only` the two conditions are joined with `|`, so a real token of the "
            "future is visible. Both must hold: `&`.",
        ),
        Fault(
            "decoder_only",
            "future",
            "(target != pad_id)[:, None, None, :] & (position >= position[:, None])",
            lambda s, t, p, pad: keys(t, pad) & not_later(t).T,
            "In `decoder_only` the comparison looks the wrong way: `>=` opens the upper triangle, "
            "the future. A key may not be later than its query: `<=`.",
        ),
        Fault(
            "decoder_only",
            "equal",
            f"(target == pad_id)[:, None, None, :] & {_CAUSAL}",
            lambda s, t, p, pad: pads(t, pad) & not_later(t),
            "In `decoder_only` the padding half is inverted: `==` opens the pads and closes the "
            "tokens. Use `!=`.",
        ),
    ),
    "prefix_model": (
        Fault(
            "prefix_model",
            "and-for-or",
            f"(target != pad_id)[:, None, None, :] & ({_CAUSAL} & (position < prefix_length))",
            lambda s, t, p, pad: keys(t, pad) & (not_later(t) & prefix(t, p)),
            "In `prefix_model` causal and prefix are joined with `&`: keys after the prefix are "
            "hidden from everybody and the prefix does not see itself whole. A key is visible "
            "when it is not later *or* lies in the prefix: `|`.",
        ),
        Fault(
            "prefix_model",
            "after-prefix",
            f"(target != pad_id)[:, None, None, :] & ({_CAUSAL} | (position >= prefix_length))",
            lambda s, t, p, pad: keys(t, pad) & (not_later(t) | ~prefix(t, p)),
            "In `prefix_model` the comparison with the prefix looks the wrong way: `>=` opens the "
            "words after the prefix, which are to be predicted. The prefix is "
            "`position < prefix_length`.",
        ),
        Fault(
            "prefix_model",
            "or-padding",
            f"(target != pad_id)[:, None, None, :] | ({_CAUSAL} | (position < prefix_length))",
            lambda s, t, p, pad: keys(t, pad) | (not_later(t) | prefix(t, p)),
            "In `prefix_model` the padding half is joined with `|`, so every real token is "
            "visible to everybody. A pad is never visible: the padding half needs `&`.",
        ),
        Fault(
            "prefix_model",
            "strict-diagonal",
            f"(target != pad_id)[:, None, None, :] & ({_EARLIER} | (position < prefix_length))",
            lambda s, t, p, pad: keys(t, pad) & (earlier(t) | prefix(t, p)),
            "In `prefix_model` the diagonal is missing after the prefix: with `<` a position may "
            "not attend to itself. Use `<=`.",
        ),
        Fault(
            "prefix_model",
            "prefix-too-long",
            f"(target != pad_id)[:, None, None, :] & ({_CAUSAL} | (position <= prefix_length))",
            lambda s, t, p, pad: keys(t, pad) & (not_later(t) | prefix(t, p + 1)),
            "In `prefix_model` the prefix is one too long: `<=` opens position prefix_length, the "
            "first word to be predicted. Positions count from 0: `<`.",
        ),
    ),
    "cross_attention": (
        Fault(
            "cross_attention",
            "query-axis",
            "(source != pad_id)[:, None, :, None]",
            lambda s, t, p, pad: queries(s, pad),
            "In `cross_attention` the source lies along the query axis, but in cross-attention "
            "the source gives the keys: `[:, None, None, :]`. The shape would not even fit when "
            "source and target differ in length.",
        ),
        Fault(
            "cross_attention",
            "equal",
            "(source == pad_id)[:, None, None, :]",
            lambda s, t, p, pad: pads(s, pad),
            "In `cross_attention` the comparison is still `==`: the decoder attends to the "
            "source's padding and to nothing else. Use `!=`.",
        ),
    ),
}
