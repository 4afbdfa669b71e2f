"""The named mistakes of `encoder.layer`: wrong wirings, norms, masks and orders."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.content.encoder.layer_orders import ORDERS, Order
from annotated_transformer.exercises.content.layer_parts import Attention, Network, Norm
from annotated_transformer.exercises.content.wiring import (
    WRONG_WIRINGS,
    Function,
    Wiring,
    post_norm,
    pre_norm,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

Attend = Callable[[Attention, Tensor, Tensor], Tensor]  # of the attention, x and the mask


def _attend(self_attn: Attention, x: Tensor, mask: Tensor) -> Tensor:
    return self_attn(x, x, x, mask)


def _layer(
    first: Wiring = post_norm,
    second: Wiring = post_norm,
    *,
    attend: Attend = _attend,
    norms_used: tuple[int, int] = (0, 1),
    after: Callable[[Tensor, Sequence[Norm]], Tensor] = lambda x, norms: x,
) -> Candidate:
    """The layer with other wirings, another use of attention or norms, or something at its end."""

    def order(x: Tensor, attention: Function, network: Function, norms: Sequence[Norm]) -> Tensor:
        x = first(x, attention, norms[norms_used[0]])
        x = second(x, network, norms[norms_used[1]])
        return after(x, norms)

    return _ordered(order, attend)


def _ordered(order: Order, attend: Attend = _attend) -> Candidate:
    """The layer with its steps in another order."""

    def implementation(
        x: Tensor, mask: Tensor, self_attn: Attention, ffn: Network, norms: Sequence[Norm]
    ) -> Any:
        return order(x, lambda y: attend(self_attn, y, mask), ffn, norms)

    return implementation


def _causal(self_attn: Attention, x: Tensor, mask: Tensor) -> Tensor:
    past = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
    return self_attn(x, x, x, mask & past)


_INVERTED = (
    "The mask is inverted before attention: `~mask` is True at the padding, so every word attends "
    "to the padding alone. Here True means may attend: pass the mask as it is. "
)
_DROPPED = (
    "The mask does not reach the attention: `self_attn(x, x, x)` lets every word attend to the "
    "padding, which changes its result. Pass it on: `self_attn(x, x, x, mask)`. "
)
_REUSED = (
    "One norm serves both sub-layers. Each has its own, with a gain and a shift of its own: "
    "norms[0] after self-attention, norms[1] after the network. "
)
_NORMS: dict[str, tuple[str, tuple[int, int]]] = {
    "first-norm-twice": (_REUSED, (0, 0)),
    "second-norm-twice": (_REUSED, (1, 1)),
    "norms-exchanged": (
        "The norms are exchanged: norms[0] belongs to self-attention, norms[1] to the network. ",
        (1, 0),
    ),
}
_MASKS: dict[str, tuple[str, Attend]] = {
    "mask-dropped": (_DROPPED, lambda attn, x, mask: attn(x, x, x)),
    "mask-inverted": (_INVERTED, lambda attn, x, mask: attn(x, x, x, ~mask)),
    "causal": (
        "A causal mask is mixed in, so a word sees only what stands before it. In the encoder "
        "every word may see the whole sentence: only the padding is hidden. ",
        _causal,
    ),
    "causal-only": (
        "A causal mask stands in place of the one given. In the encoder every word may see the "
        "whole sentence, and the padding is hidden: pass the mask on. ",
        lambda attn, x, mask: _causal(attn, x, torch.ones_like(mask)),
    ),
    "queries-masked": (
        "The mask is applied to the queries, as (B, 1, n, 1) or as a factor of attention's result: "
        "padded words are silenced and real words still attend to padding. Pass it on as it came: "
        "its last axis is the keys. ",
        lambda attn, x, mask: attn(x, x, x, mask.mT),
    ),
    "queries-and-keys-masked": (
        "The mask is also applied to the queries (`mask & mask.mT`, or as a factor of attention's "
        "result), so padded words attend to nothing. Only keys are hidden: pass the mask as it "
        "came. ",
        lambda attn, x, mask: attn(x, x, x, mask & mask.mT),
    ),
    "first-mask-for-all": (
        "The first sentence's mask is used for all sentences, `mask[:1]` or `mask[0]`. Each has "
        "padding of its own: pass the whole mask on. ",
        lambda attn, x, mask: attn(x, x, x, mask[:1]),
    ),
    "mask-given-first": (
        "The arguments of self_attn are in the wrong order. It is self_attn(query, key, value, "
        "mask): the mask comes last. ",
        lambda attn, x, mask: attn(mask, x, x, x),
    ),
    "padding-zeroed-too": (
        "The padded words are set to zero before attention, besides the mask. They are left as "
        "they are: the mask hides them. ",
        lambda attn, x, mask: (lambda y: attn(y, y, y, mask))(x * mask[:, 0, 0, :, None]),
    ),
    "queries-and-keys-only-first": (
        "Only the first sentence reaches the attention. Pass the whole batch on: `self_attn(x, x, "
        "x, mask)`. ",
        lambda attn, x, mask: attn(x[:1], x[:1], x[:1], mask[:1]),
    ),
    "mask-as-numbers": (
        "The mask is turned into numbers before attention sees it (`.float()`, `1 - mask`, an "
        "additive mask). It is boolean, True = may attend: pass it on as it came. ",
        lambda attn, x, mask: attn(x, x, x, mask.float()),
    ),
    "mask-squeezed": (
        "Axes of the mask are taken away before attention sees it, so that it meets the wrong "
        "axes of the scores. Pass it on as it came, (B, 1, 1, n). ",
        lambda attn, x, mask: attn(x, x, x, mask[:, 0, 0]),
    ),
    "mask-of-three-axes": (
        "Axes of the mask are taken away before attention sees it, so that it meets the wrong "
        "axes of the scores. Pass it on as it came, (B, 1, 1, n). ",
        lambda attn, x, mask: attn(x, x, x, mask[:, 0]),
    ),
    "padding-zeroed-before": (
        "The padded words are set to zero before attention, and the mask is not passed on. Zeros "
        "still take a share of the softmax: only the mask hides them. ",
        lambda attn, x, mask: (lambda y: attn(y, y, y))(x * mask[:, 0, 0, :, None]),
    ),
    "values-zeroed": (
        "The values of padded words are set to zero, and the mask is not passed on. Their keys "
        "still take a share of the softmax: only the mask hides them. ",
        lambda attn, x, mask: attn(x, x, x * mask[:, 0, 0, :, None]),
    ),
}
_WHERE = {"first": "In the self-attention sub-layer ", "second": "In the feed-forward sub-layer "}


def _wired(name: str) -> list[Mistake]:
    """One wrong wiring in either sub-layer, and in both."""
    text, wiring = WRONG_WIRINGS[name]
    return [
        Mistake(f"{name}-in-both", _layer(wiring, wiring), "In both sub-layers " + text),
        Mistake(f"{name}-in-attention", _layer(wiring, post_norm), _WHERE["first"] + text),
        Mistake(f"{name}-in-network", _layer(post_norm, wiring), _WHERE["second"] + text),
    ]


_PLACES = ("attention", "network")
_BOTH_PRE = "In both sub-layers " + WRONG_WIRINGS["pre-norm"][0] + " "

ENCODER_LAYER_MISTAKES = (
    *(mistake for name in WRONG_WIRINGS for mistake in _wired(name)),
    *(Mistake(name, _layer(norms_used=used), t.strip()) for name, (t, used) in _NORMS.items()),
    *(Mistake(name, _layer(attend=attend), t.strip()) for name, (t, attend) in _MASKS.items()),
    *(Mistake(name, _ordered(order), text) for name, (text, order) in ORDERS.items()),
    *(
        Mistake(
            f"{wiring}+{name}",
            _layer(WRONG_WIRINGS[wiring][1], WRONG_WIRINGS[wiring][1], attend=_MASKS[name][1]),
            f"In both sub-layers {WRONG_WIRINGS[wiring][0]} {_MASKS[name][0]}".strip(),
        )
        for wiring, names in (
            ("pre-norm", tuple(name for name in _MASKS if name != "mask-given-first")),
            ("no-residual", ("mask-dropped", "mask-inverted", "causal")),
            ("no-norm", ("mask-dropped", "mask-inverted", "causal")),
        )
        for name in names
    ),
    *(
        Mistake(
            f"{wiring}+{name}",
            _layer(WRONG_WIRINGS[wiring][1], WRONG_WIRINGS[wiring][1], norms_used=_NORMS[name][1]),
            f"In both sub-layers {WRONG_WIRINGS[wiring][0]} {_NORMS[name][0]}".strip(),
        )
        for wiring in ("pre-norm", "no-residual")
        for name in _NORMS
    ),
    *(
        Mistake(
            f"{norm}+{mask}",
            _layer(norms_used=_NORMS[norm][1], attend=_MASKS[mask][1]),
            (_NORMS[norm][0] + _MASKS[mask][0]).strip(),
        )
        for norm in ("first-norm-twice", "norms-exchanged")
        for mask in ("mask-dropped", "mask-inverted")
    ),
    *(
        Mistake(
            f"{wiring}-in-{where}+{mask}",
            _layer(
                *(WRONG_WIRINGS[wiring][1] if where == place else post_norm for place in _PLACES),
                attend=_MASKS[mask][1],
            ),
            f"{text}{WRONG_WIRINGS[wiring][0]} {_MASKS[mask][0]}".strip(),
        )
        for wiring in ("no-residual", "no-norm", "pre-norm")
        for where, text in zip(_PLACES, _WHERE.values(), strict=True)
        for mask in ("mask-dropped", "mask-inverted")
    ),
    Mistake(
        "pre-norm-with-final-norm",
        _layer(pre_norm, pre_norm, after=lambda x, norms: norms[1](x)),
        _BOTH_PRE + "A norm at the end does not make it post-norm.",
    ),
    Mistake(
        "residual-round-the-layer",
        _ordered(lambda x, a, f, n: x + (lambda y: n[1](y + f(y)))(n[0](x + a(x)))),
        "The layer's input is added once more at the end. The residuals go round each sub-layer, "
        "not round the whole layer.",
    ),
    Mistake(
        "input-zeroed-at-padding",
        lambda x, mask, self_attn, ffn, norms: _layer()(
            x * mask[:, 0, 0, :, None], mask, self_attn, ffn, norms
        ),
        "x is set to zero at the padded words before the layer begins. Asked for is the layer as "
        "it is: the mask hides padding among the keys of attention, and nothing else.",
    ),
    Mistake(
        "mask-too",
        lambda x, mask, self_attn, ffn, norms: (_layer()(x, mask, self_attn, ffn, norms), mask),
        "The mask is returned as well. Return the layer's result alone.",
    ),
    Mistake(
        "result-zeroed-at-padding",
        lambda x, mask, self_attn, ffn, norms: (
            _layer()(x, mask, self_attn, ffn, norms) * mask[:, 0, 0, :, None]
        ),
        "The layer's result is set to zero at the padded words. Asked for is the layer as it is: "
        "the mask hides padding among the keys of attention, and nothing else.",
    ),
    Mistake(
        "raw-keys",
        lambda x, mask, self_attn, ffn, norms: _layer(
            pre_norm,
            pre_norm,
            attend=lambda attn, y, given: attn(y, x, x, given),
        )(x, mask, self_attn, ffn, norms),
        _BOTH_PRE + "Besides, only the queries are normalised: keys and values are still the raw "
        "x.",
    ),
)
