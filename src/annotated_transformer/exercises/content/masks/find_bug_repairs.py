"""Wrong repairs of `masks.find_bug` that no listing shows."""

import torch

from annotated_transformer.exercises.content.masks.find_bug_faults import (
    MASK_NAMES,
    RIGHT_RULES,
    Fault,
    MaskRule,
    earlier,
    keys,
    not_later,
    prefix,
    queries,
)


def _with_zero(rule: MaskRule) -> MaskRule:
    return lambda s, t, p, pad: rule(s, t, p, 0)


def _with_greater(rule: MaskRule) -> MaskRule:
    """The rule with `tokens > pad_id`: ids below pad_id are taken for padding too."""
    return lambda s, t, p, pad: rule(s.clamp(min=pad), t.clamp(min=pad), p, pad)


_ZERO = (
    "the padding is compared with 0 instead of `pad_id`. A vocabulary whose padding is another "
    "number gets its pads attended to and its token 0 hidden."
)
_GREATER = (
    "the comparison is `> pad_id`, which also hides real tokens whose id is smaller. Ids have no "
    "order that means anything: `!=`."
)

_AND = "are joined with `&`: a key is visible when it is not later *or* lies in the prefix, `|`."

OTHER_FAULTS = (
    Fault(
        "decoder_only",
        "strictly-later",
        "",
        lambda s, t, p, pad: keys(t, pad) & earlier(t).T,
        "In `decoder_only` the comparison is turned to `>`: every query sees only what comes after "
        "it. A key may not be later than its query: `<=`.",
    ),
    Fault(
        "decoder_only",
        "itself-only",
        "",
        lambda s, t, p, pad: keys(t, pad) & torch.eye(t.size(1), dtype=torch.bool),
        "In `decoder_only` the comparison is `==`: every query sees itself alone, and nothing "
        "before it. A key may not be later than its query: `<=`.",
    ),
    Fault(
        "decoder_only",
        "all-but-itself",
        "",
        lambda s, t, p, pad: keys(t, pad) & ~torch.eye(t.size(1), dtype=torch.bool),
        "In `decoder_only` the comparison is `!=`: every query sees the future, and not itself. "
        "A key may not be later than its query: `<=`.",
    ),
    Fault(
        "prefix_model",
        "and-to-the-end",
        "",
        lambda s, t, p, pad: keys(t, pad) & not_later(t) & prefix(t, p + 1),
        "In `prefix_model` causal and prefix still " + _AND + " Its `<` was right.",
    ),
    Fault(
        "prefix_model",
        "and-after-prefix",
        "",
        lambda s, t, p, pad: keys(t, pad) & not_later(t) & ~prefix(t, p),
        "In `prefix_model` causal and prefix still " + _AND + " Its `<` was right.",
    ),
    Fault(
        "prefix_model",
        "one-or-the-other",
        "",
        lambda s, t, p, pad: keys(t, pad) & (not_later(t) ^ prefix(t, p)),
        "In `prefix_model` causal and prefix are joined with `^`, one or the other and not both: "
        "a prefix word that is not later is hidden. Both may hold: `|`.",
    ),
    Fault(
        "prefix_model",
        "and-future",
        "",
        lambda s, t, p, pad: keys(t, pad) & not_later(t).T & prefix(t, p),
        "In `prefix_model` the causal comparison was right: with `>=` only the future is left. "
        "What is wrong is `&` between causal and prefix: use `|`.",
    ),
    Fault(
        "prefix_model",
        "or-future",
        "",
        lambda s, t, p, pad: keys(t, pad) & (not_later(t).T | prefix(t, p)),
        "In `prefix_model` the causal comparison looks the wrong way: `>=` opens the future. A key "
        "is visible when it is not later (`<=`) *or* lies in the prefix.",
    ),
    Fault(
        "prefix_model",
        "padding-or-both",
        "",
        lambda s, t, p, pad: keys(t, pad) | (not_later(t) & prefix(t, p)),
        "In `prefix_model` the two operators are exchanged: padding is joined with `|` and the "
        "prefix with `&`. A pad is never visible (`&`); the prefix widens what is (`|`).",
    ),
    Fault(
        "decoder_only",
        "no-padding",
        "",
        lambda s, t, p, pad: not_later(t).expand(t.size(0), 1, -1, -1),
        "In `decoder_only` the padding half has gone: pads among the keys are visible. Keep "
        "both conditions, joined with `&`.",
    ),
    Fault(
        "decoder_only",
        "no-causal",
        "",
        lambda s, t, p, pad: keys(t, pad).expand(-1, -1, t.size(1), -1),
        "In `decoder_only` the causal half has gone: every query sees the future. Keep both "
        "conditions, joined with `&`.",
    ),
    Fault(
        "prefix_model",
        "causal-only",
        "",
        lambda s, t, p, pad: keys(t, pad) & not_later(t),
        "In `prefix_model` the prefix has gone: inside the prefix every position sees the whole "
        "prefix, later positions included. Open `position < prefix_length` with `|`.",
    ),
    Fault(
        "prefix_model",
        "prefix-only",
        "",
        lambda s, t, p, pad: (keys(t, pad) & prefix(t, p)).expand(-1, -1, t.size(1), -1),
        "In `prefix_model` the causal half has gone: words after the prefix do not see each "
        "other. A key is visible when it is not later *or* lies in the prefix.",
    ),
    Fault(
        "prefix_model",
        "no-brackets",
        "",
        lambda s, t, p, pad: keys(t, pad) & not_later(t) | prefix(t, p),
        "In `prefix_model` the brackets are missing: `&` binds before `|`, so the prefix escapes "
        "the padding condition and a pad inside the prefix is visible. Put brackets around the "
        "two conditions joined with `|`.",
    ),
    Fault(
        "prefix_model",
        "prefix-of-queries",
        "",
        lambda s, t, p, pad: keys(t, pad) & (not_later(t) | prefix(t, p)[:, None]),
        "In `prefix_model` the prefix speaks of queries, `position[:, None] < prefix_length`: a "
        "prefix word sees the words to be predicted. What everybody may see are the prefix's keys, "
        "the last axis: `position < prefix_length`.",
    ),
    Fault(
        "prefix_model",
        "strictly-after-prefix",
        "",
        lambda s, t, p, pad: keys(t, pad) & (not_later(t) | ~prefix(t, p + 1)),
        "In `prefix_model` the comparison with the prefix looks the wrong way: `>` opens the words "
        "after the prefix, which are to be predicted. The prefix is `position < prefix_length`.",
    ),
    Fault(
        "cross_attention",
        "target-queries-too",
        "",
        lambda s, t, p, pad: keys(s, pad) & queries(t, pad),
        "In `cross_attention` the padded queries of `target` are closed as well. Their rows are "
        "empty then, which is what makes NaN; the loss skips them anyhow. Only the source's "
        "padding is hidden: (B, 1, 1, n_s).",
    ),
    Fault(
        "encoder_only",
        "target-padding",
        "",
        lambda s, t, p, pad: keys(t, pad),
        "In `encoder_only` the target's padding is used. An encoder reads the source: its mask is "
        "made from `source`.",
    ),
    Fault(
        "cross_attention",
        "target-padding",
        "",
        lambda s, t, p, pad: keys(t, pad),
        "In `cross_attention` the target's padding is used. The keys of cross-attention are the "
        "encoder's outputs, so the mask is made from `source`.",
    ),
    Fault(
        "cross_attention",
        "causal",
        "",
        lambda s, t, p, pad: keys(s, pad) & torch.ones(t.size(1), s.size(1)).tril().bool(),
        "In `cross_attention` a causal mask is mixed in. The whole source is known before the "
        "first word is written: only its padding is hidden.",
    ),
    *(
        Fault(name, kind, "", change(RIGHT_RULES[name]), f"In `{name}` {said}")
        for name in MASK_NAMES
        for kind, change, said in (
            ("pad-id-ignored", _with_zero, _ZERO),
            ("greater-than-pad-id", _with_greater, _GREATER),
        )
    ),
)

# Wrong in more than one mask at once, each by one and the same slip.
COMMON_FAULTS: dict[str, tuple[dict[str, MaskRule], str]] = {
    "pad-id-ignored": (
        {name: _with_zero(rule) for name, rule in RIGHT_RULES.items()},
        f"In all four masks {_ZERO}",
    ),
    "greater-than-pad-id": (
        {name: _with_greater(rule) for name, rule in RIGHT_RULES.items()},
        f"In all four masks {_GREATER}",
    ),
    "encoder-and-cross-greater-than-pad-id": (
        {name: _with_greater(RIGHT_RULES[name]) for name in ("encoder_only", "cross_attention")},
        f"In `encoder_only` and `cross_attention` {_GREATER}",
    ),
    "decoder-and-prefix-exchanged": (
        {
            "decoder_only": RIGHT_RULES["prefix_model"],
            "prefix_model": RIGHT_RULES["decoder_only"],
        },
        "`decoder_only` and `prefix_model` are exchanged in what is returned. The order is "
        "`encoder_only, decoder_only, prefix_model, cross_attention`.",
    ),
    "decoder-and-prefix-or-for-and": (
        {
            "decoder_only": lambda s, t, p, pad: keys(t, pad) | not_later(t),
            "prefix_model": lambda s, t, p, pad: keys(t, pad) | (not_later(t) | prefix(t, p)),
        },
        "In `decoder_only` and `prefix_model` the padding half is joined with `|`: every real "
        "token of the future is visible. A pad is never visible and the future is not: `&`.",
    ),
    "decoder-and-prefix-strict-diagonal": (
        {
            "decoder_only": lambda s, t, p, pad: keys(t, pad) & earlier(t),
            "prefix_model": lambda s, t, p, pad: keys(t, pad) & (earlier(t) | prefix(t, p)),
        },
        "In `decoder_only` and `prefix_model` the diagonal is False: with `<` a position may not "
        "attend to itself. Use `<=`.",
    ),
    "all-prefix": (
        {"decoder_only": RIGHT_RULES["prefix_model"]},
        "In `decoder_only` the prefix is open to everybody, as in `prefix_model`. A decoder has no "
        "prefix: padding and `position <= position[:, None]` are all of it.",
    ),
}
