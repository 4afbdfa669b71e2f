"""The named mistakes of `encoder.layer`: wrong wirings, norms, masks and orders."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.encoder.layer_parts import Attention, Network, Norm
from annotated_transformer.exercises.encoder.wiring import (
    WRONG_WIRINGS,
    Function,
    Wiring,
    post_norm,
    pre_norm,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

Attend = Callable[[Attention, Tensor, Tensor], Tensor]  # of the attention, x and the mask
Order = Callable[[Tensor, Function, Function, Sequence[Norm]], Any]  # x, attention, network


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


def _changed(x: Tensor, attention: Function, network: Function, norms: Sequence[Norm]) -> Tensor:
    x += attention(x)
    x = norms[0](x)
    return norms[1](x + network(x))


def _causal(self_attn: Attention, x: Tensor, mask: Tensor) -> Tensor:
    past = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
    return self_attn(x, x, x, mask & past)


def _other_queries(x: Tensor, a: Function, f: Function, norms: Sequence[Norm]) -> Tensor:
    middle = norms[0](x + a(x))
    return norms[1](x + f(middle))


def _with_own_norm(x: Tensor, a: Function, f: Function, eps: float) -> Tensor:
    def norm(values: Tensor) -> Tensor:
        return F.layer_norm(values, (values.size(-1),), eps=eps)

    x = norm(x + a(x))
    return norm(x + f(x))


_OWN_NORM = (
    "A layer normalisation of your own is used, without gain and shift, and `norms` is not. Call "
    "the two that were given: norms[0] and norms[1]."
)
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
_CHANGED = "`x += ...` changes the caller's x. Write `x = x + ...`, which makes a new tensor."
_DROPOUT = "Dropout is applied. The paper has it here; this exercise leaves it out."

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
_ORDERS: dict[str, tuple[str, Order]] = {
    "network-first": (
        "The network comes before self-attention. In figure 1 self-attention is the first "
        "sub-layer, from below.",
        lambda x, a, f, n: (lambda y: n[1](y + a(y)))(n[0](x + f(x))),
    ),
    "network-first-with-its-norm": (
        "The network comes before self-attention. In figure 1 self-attention is the first "
        "sub-layer, from below.",
        lambda x, a, f, n: (lambda y: n[0](y + a(y)))(n[1](x + f(x))),
    ),
    "residual-from-the-input": (
        "The second residual starts at the layer's input: the network's result is added to the "
        "old x. It is added to what came out of the first norm.",
        _other_queries,
    ),
    "network-on-the-input": (
        "The network sees the layer's input instead of what came out of the first sub-layer. "
        "Overwrite x, or give the middle a name and use it twice.",
        lambda x, a, f, n: n[1](n[0](x + a(x)) + f(x)),
    ),
    "parallel": (
        "Attention and network work side by side on x, and their results are added in one go. "
        "Some later models do so; the paper has two sub-layers one after the other, each with a "
        "norm.",
        lambda x, a, f, n: n[1](x + a(x) + f(x)),
    ),
    "parallel-first-norm": (
        "Attention and network work side by side on x, and their results are added in one go. "
        "The paper has two sub-layers one after the other, each with a norm.",
        lambda x, a, f, n: n[0](x + a(x) + f(x)),
    ),
    "parallel-both-norms": (
        "The two sub-layers work side by side on x and their results are added. They stand one "
        "after the other: the second works on what came out of the first.",
        lambda x, a, f, n: n[0](x + a(x)) + n[1](x + f(x)),
    ),
    "one-residual-round-both": (
        "One residual goes round both sub-layers. Each has its own: x is added to attention's "
        "result before the network sees it.",
        lambda x, a, f, n: n[1](x + f(n[0](a(x)))),
    ),
    "first-residual-again": (
        "x, the layer's input, is added a second time in the second sub-layer. Its residual is "
        "what came out of the first norm, alone.",
        lambda x, a, f, n: (lambda y: n[1](x + y + f(y)))(n[0](x + a(x))),
    ),
    "residual-before-the-norm": (
        "The second residual starts before the first norm. It starts behind it: what the network "
        "sees and what its result is added to are the same.",
        lambda x, a, f, n: (lambda y: n[1](y + f(n[0](y))))(x + a(x)),
    ),
    "network-before-the-norm": (
        "The network sees the sum before the first norm, and its result is added to the "
        "normalised one. Both are what came out of the norm.",
        lambda x, a, f, n: (lambda y: n[1](n[0](y) + f(y)))(x + a(x)),
    ),
    "both-norms-at-the-end": (
        "Both norms come at the end. The first belongs between the sub-layers, after "
        "self-attention's residual.",
        lambda x, a, f, n: (lambda y: n[1](n[0](y + f(y))))(x + a(x)),
    ),
    "dropout": (
        _DROPOUT,
        lambda x, a, f, n: (lambda y: n[1](y + F.dropout(f(y), 0.1)))(
            n[0](x + F.dropout(a(x), 0.1))
        ),
    ),
    "dropout-on-attention": (
        _DROPOUT,
        lambda x, a, f, n: (lambda y: n[1](y + f(y)))(n[0](x + F.dropout(a(x), 0.1))),
    ),
    "dropout-on-the-network": (
        _DROPOUT,
        lambda x, a, f, n: (lambda y: n[1](y + F.dropout(f(y), 0.1)))(n[0](x + a(x))),
    ),
    "dropout-at-the-end": (
        _DROPOUT,
        lambda x, a, f, n: (lambda y: F.dropout(n[1](y + f(y)), 0.1))(n[0](x + a(x))),
    ),
    "parallel-norms-at-the-end": (
        "Attention and network work side by side on x, and both norms come at the end. The paper "
        "has two sub-layers one after the other, each with a norm.",
        lambda x, a, f, n: n[1](n[0](x + a(x) + f(x))),
    ),
    "own-norm": (_OWN_NORM, lambda x, a, f, n: _with_own_norm(x, a, f, 1e-5)),
    "own-norm-small-eps": (_OWN_NORM, lambda x, a, f, n: _with_own_norm(x, a, f, 1e-6)),
    "x-changed": (_CHANGED, _changed),
    "attention-twice": (
        "Self-attention is applied twice. One encoder layer has one self-attention and one "
        "network.",
        lambda x, a, f, n: (lambda y: n[1](y + f(y)))(n[0](x + a(a(x)))),
    ),
    "two-layers": (
        "The whole layer is applied twice. Once is asked for: the stack of N layers is built "
        "outside.",
        lambda x, a, f, n: (lambda z: (lambda y: n[1](y + f(y)))(n[0](z + a(z))))(
            (lambda y: n[1](y + f(y)))(n[0](x + a(x)))
        ),
    ),
    "attention-too": (
        "The attention's result is returned as well. Return the layer's result alone.",
        lambda x, a, f, n: (lambda y: (n[1](y + f(y)), a(x)))(n[0](x + a(x))),
    ),
    "network-in-the-branch": (
        "The network is applied to attention's result directly, inside one branch: "
        "LayerNorm(x + FFN(Attention(x))). Each sub-layer has a residual and a norm of its own.",
        lambda x, a, f, n: n[0](x + f(a(x))),
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


_BOTH_PRE = "In both sub-layers " + WRONG_WIRINGS["pre-norm"][0] + " "

ENCODER_LAYER_MISTAKES = (
    *(mistake for name in WRONG_WIRINGS for mistake in _wired(name)),
    *(Mistake(name, _layer(norms_used=used), t.strip()) for name, (t, used) in _NORMS.items()),
    *(Mistake(name, _layer(attend=attend), t.strip()) for name, (t, attend) in _MASKS.items()),
    *(Mistake(name, _ordered(order), text) for name, (text, order) in _ORDERS.items()),
    *(
        Mistake(
            f"{wiring}+{name}",
            _layer(WRONG_WIRINGS[wiring][1], WRONG_WIRINGS[wiring][1], attend=_MASKS[name][1]),
            f"In both sub-layers {WRONG_WIRINGS[wiring][0]} {_MASKS[name][0]}".strip(),
        )
        for wiring, names in (
            ("pre-norm", tuple(_MASKS)),
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
