"""The named mistakes of `decoder.layer`: wrong wirings, attentions, norms and orders."""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.decoder.layer_attention import (
    WRONG_ATTENTION,
    Attend,
    Given,
    attend,
    cross_attend,
)
from annotated_transformer.exercises.content.wiring import (
    WRONG_WIRINGS,
    Function,
    Wiring,
    post_norm,
    pre_norm,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

Order = Callable[[Given, Function, Function, Function], Any]  # self-, cross-attention, network


def _ordered(order: Order, own: Attend = attend, cross: Attend = cross_attend) -> Candidate:
    """The layer with its steps in another order."""

    def implementation(*given: Any) -> Any:
        g = Given(*given)
        return order(g, lambda x: own(g, x), lambda x: cross(g, x), g.ffn)

    return implementation


def _layer(
    first: Wiring = post_norm,
    second: Wiring = post_norm,
    third: Wiring = post_norm,
    *,
    own: Attend = attend,
    cross: Attend = cross_attend,
    norms_used: tuple[int, int, int] = (0, 1, 2),
) -> Candidate:
    """The layer with other wirings, or another use of attention and norms."""

    def order(
        g: Given, first_attention: Function, second_attention: Function, network: Function
    ) -> Tensor:
        one, two, three = (g.norms[i] for i in norms_used)
        return third(
            second(first(g.x, first_attention, one), second_attention, two), network, three
        )

    return _ordered(order, own, cross)


def _changed(g: Given, own: Function, other: Function, network: Function) -> Tensor:
    x = g.x
    x += own(x)
    x = g.norms[0](x)
    x = g.norms[1](x + other(x))
    return g.norms[2](x + network(x))


def _in_order(g: Given, *steps: tuple[Function, int]) -> Tensor:
    """Post-norm sub-layers one after the other, each with the norm of this number."""
    x = g.x
    for sublayer, norm in steps:
        x = g.norms[norm](x + sublayer(x))
    return x


def _with_dropout(g: Given, *sublayers: Function) -> Tensor:
    x = g.x
    for sublayer, norm in zip(sublayers, g.norms, strict=True):
        x = norm(x + F.dropout(sublayer(x), 0.1))
    return x


def _from_the_input(g: Given, own: Function, other: Function, network: Function) -> Tensor:
    x = g.norms[0](g.x + own(g.x))
    x = g.norms[1](g.x + other(x))
    return g.norms[2](g.x + network(x))


def _own_norms(g: Given, *sublayers: Function) -> Tensor:
    x = g.x
    for sublayer in sublayers:
        x = F.layer_norm(x + sublayer(x), (x.size(-1),))
    return x


def _parallel(g: Given, own: Function, other: Function, network: Function) -> Tensor:
    x = g.norms[0](g.x + own(g.x) + other(g.x))
    return g.norms[2](x + network(x))


_REUSED = (
    "One norm serves several sub-layers. Each has its own, with a gain and a shift of its own: "
    "norms[0], norms[1], norms[2] in the order of the sub-layers. "
)
_EXCHANGED = "The norms are not in the order of the sub-layers: norms[0], norms[1], norms[2]. "
_REUSES = ((0, 0, 0), (1, 1, 1), (2, 2, 2), (0, 0, 1), (0, 1, 1), (0, 0, 2), (0, 1, 0))


def _reused(used: tuple[int, int, int]) -> str:
    """What to say, and which norms are left over."""
    unused = " and ".join(f"norms[{i}]" for i in range(3) if i not in used)
    return f"{_REUSED}Never called: {unused}. "


_NORMS: dict[tuple[int, int, int], str] = {
    **{used: _reused(used) for used in _REUSES},
    **dict.fromkeys(((1, 0, 2), (0, 2, 1), (2, 1, 0), (1, 2, 0), (2, 0, 1)), _EXCHANGED),
}
_ORDERS: dict[str, tuple[str, Order]] = {
    "cross-attention-first": (
        "Cross-attention comes before self-attention. In figure 1 masked self-attention is the "
        "first sub-layer, from below.",
        lambda g, s, c, f: _in_order(g, (c, 0), (s, 1), (f, 2)),
    ),
    "cross-attention-first-with-its-norm": (
        "Cross-attention comes before self-attention. In figure 1 masked self-attention is the "
        "first sub-layer, from below.",
        lambda g, s, c, f: _in_order(g, (c, 1), (s, 0), (f, 2)),
    ),
    "network-in-the-middle": (
        "The network comes before cross-attention. In figure 1 it is the last sub-layer.",
        lambda g, s, c, f: _in_order(g, (s, 0), (f, 1), (c, 2)),
    ),
    "network-in-the-middle-with-its-norm": (
        "The network comes before cross-attention. In figure 1 it is the last sub-layer.",
        lambda g, s, c, f: _in_order(g, (s, 0), (f, 2), (c, 1)),
    ),
    "network-first": (
        "The network comes first. In figure 1 it is the last sub-layer.",
        lambda g, s, c, f: _in_order(g, (f, 0), (s, 1), (c, 2)),
    ),
    "network-twice": (
        "The network is applied after each attention. A decoder layer has one, at its end.",
        lambda g, s, c, f: _in_order(g, (s, 0), (f, 2), (c, 1), (f, 2)),
    ),
    "no-cross-attention": (
        "Cross-attention is missing: the source is not looked at. That is a decoder-only model, "
        "or the encoder's layer.",
        lambda g, s, c, f: _in_order(g, (s, 0), (f, 1)),
    ),
    "two-layers": (
        "The whole layer is applied twice. Once is asked for: the stack of N layers is built "
        "outside.",
        lambda g, s, c, f: _in_order(g, (s, 0), (c, 1), (f, 2), (s, 0), (c, 1), (f, 2)),
    ),
    "residuals-from-the-input": (
        "Every residual starts at the layer's input: the old x is added in all three sub-layers. "
        "Each adds what came out of the sub-layer before.",
        _from_the_input,
    ),
    "cross-residual-from-the-input": (
        "The residual of cross-attention starts at the layer's input. It is what came out of the "
        "first sub-layer.",
        lambda g, s, c, f: (lambda y: (lambda z: g.norms[2](z + f(z)))(g.norms[1](g.x + c(y))))(
            g.norms[0](g.x + s(g.x))
        ),
    ),
    "network-residual-from-the-input": (
        "The network's residual starts at the layer's input. It is what came out of "
        "cross-attention's norm.",
        lambda g, s, c, f: (lambda y: g.norms[2](g.x + f(g.norms[1](y + c(y)))))(
            g.norms[0](g.x + s(g.x))
        ),
    ),
    "network-on-the-input": (
        "The network sees the layer's input. It works on what came out of cross-attention.",
        lambda g, s, c, f: (lambda y: g.norms[2](g.norms[1](y + c(y)) + f(g.x)))(
            g.norms[0](g.x + s(g.x))
        ),
    ),
    "network-of-the-network": (
        "The network is applied to its own result. A decoder layer applies it once, at its end.",
        lambda g, s, c, f: _in_order(g, (s, 0), (c, 1), (lambda x: f(f(x)), 2)),
    ),
    "network-residual-from-the-first": (
        "The network's residual starts at the output of the first sub-layer. It is what came out "
        "of cross-attention's norm.",
        lambda g, s, c, f: (lambda y: g.norms[2](y + f(g.norms[1](y + c(y)))))(
            g.norms[0](g.x + s(g.x))
        ),
    ),
    "network-on-the-first": (
        "The network sees what came out of the first sub-layer. It works on what came out of "
        "cross-attention.",
        lambda g, s, c, f: (lambda y: g.norms[2](g.norms[1](y + c(y)) + f(y)))(
            g.norms[0](g.x + s(g.x))
        ),
    ),
    "residual-from-the-memory": (
        "The memory is added in cross-attention's residual. The residual is the decoder's x; the "
        "memory comes in through keys and values alone.",
        lambda g, s, c, f: (
            lambda y: (lambda z: g.norms[2](z + f(z)))(g.norms[1](g.memory + c(y)))
        )(g.norms[0](g.x + s(g.x))),
    ),
    "parallel": (
        "The two attentions work side by side on x. Cross-attention's queries are what came out "
        "of self-attention: one after the other, each with its norm.",
        _parallel,
    ),
    "all-parallel": (
        "All three sub-layers work side by side on x and their results are added. They stand one "
        "after the other, each with its residual and its norm.",
        lambda g, s, c, f: g.norms[2](g.x + s(g.x) + c(g.x) + f(g.x)),
    ),
    "residual-round-the-layer": (
        "The layer's input is added once more at the end. The residuals go round each sub-layer, "
        "not round the whole layer.",
        lambda g, s, c, f: g.x + _in_order(g, (s, 0), (c, 1), (f, 2)),
    ),
    "dropout": (
        "Dropout is applied. The paper has it here; this exercise leaves it out.",
        _with_dropout,
    ),
    "own-norms": (
        "A layer normalisation of your own is used, without gain and shift, and `norms` is not. "
        "Call the three that were given.",
        _own_norms,
    ),
    "x-changed": (
        "`x += ...` changes the caller's x. Write `x = x + ...`, which makes a new tensor.",
        _changed,
    ),
    "memory-too": (
        "The memory is returned as well. Return the layer's result alone.",
        lambda g, s, c, f: (_in_order(g, (s, 0), (c, 1), (f, 2)), g.memory),
    ),
    "memory-returned": (
        "The memory is returned. It is only read here: return the decoder's x.",
        lambda g, s, c, f: g.memory,
    ),
}

_WHERE = (
    "In the self-attention sub-layer ",
    "In the cross-attention sub-layer ",
    "In the feed-forward sub-layer ",
)
_PLACES = ("self-attention", "cross-attention", "network")


def _wired(name: str) -> list[Mistake]:
    """One wrong wiring in each sub-layer alone, and in all three."""
    text, wiring = WRONG_WIRINGS[name]
    alone = [[wiring if i == place else post_norm for i in range(3)] for place in range(3)]
    return [
        Mistake(f"{name}-in-all", _layer(*[wiring] * 3), "In all sub-layers " + text),
        *(
            Mistake(f"{name}-in-{place}", _layer(*wirings), where + text)
            for place, wirings, where in zip(_PLACES, alone, _WHERE, strict=True)
        ),
    ]


# Mistakes with the attentions that are often made together with one of the wiring or the norms.
_WITH_OTHERS = (
    "keys-and-values-from-the-decoder",
    "second-self-attention",
    "source-mask-dropped",
    "target-mask-dropped",
    "masks-dropped",
    "masks-exchanged",
)


def _somewhere(wiring: str) -> tuple[tuple[str, str, list[Wiring]], ...]:
    """A wrong wiring in all sub-layers, and in one of the last two alone."""
    wrong = WRONG_WIRINGS[wiring][1]
    return (
        ("in-all", "In all sub-layers ", [wrong] * 3),
        ("in-cross-attention", _WHERE[1], [post_norm, wrong, post_norm]),
        ("in-network", _WHERE[2], [post_norm, post_norm, wrong]),
    )


_NO_NORM = WRONG_WIRINGS["no-norm"][1]
_PRE = "In all sub-layers " + WRONG_WIRINGS["pre-norm"][0] + " "


def _pre_norm_final(g: Given, own: Function, other: Function, network: Function) -> Tensor:
    x = pre_norm(g.x, own, g.norms[0])
    x = pre_norm(x, other, g.norms[1])
    return g.norms[2](pre_norm(x, network, g.norms[2]))


DECODER_LAYER_MISTAKES = (
    *(mistake for name in WRONG_WIRINGS for mistake in _wired(name)),
    *(
        Mistake(name, _layer(own=s, cross=c), t.strip())
        for name, (t, s, c) in WRONG_ATTENTION.items()
    ),
    *(
        Mistake("norms-" + "-".join(map(str, used)), _layer(norms_used=used), text.strip())
        for used, text in _NORMS.items()
    ),
    *(Mistake(name, _ordered(order), text) for name, (text, order) in _ORDERS.items()),
    *(
        Mistake(
            f"pre-norm+{name}",
            _layer(
                pre_norm,
                pre_norm,
                pre_norm,
                own=WRONG_ATTENTION[name][1],
                cross=WRONG_ATTENTION[name][2],
            ),
            (_PRE + WRONG_ATTENTION[name][0]).strip(),
        )
        for name in WRONG_ATTENTION
    ),
    *(
        Mistake(
            f"one-norm+{name}",
            _layer(own=WRONG_ATTENTION[name][1], cross=WRONG_ATTENTION[name][2], norms_used=used),
            (_REUSED + WRONG_ATTENTION[name][0]).strip(),
        )
        for name in _WITH_OTHERS
        for used in ((0, 0, 0),)
    ),
    *(
        Mistake(
            "norms-" + "-".join(map(str, used)) + f"+{name}",
            _layer(own=WRONG_ATTENTION[name][1], cross=WRONG_ATTENTION[name][2], norms_used=used),
            (_EXCHANGED + WRONG_ATTENTION[name][0]).strip(),
        )
        for used in ((1, 0, 2), (0, 2, 1))
        for name in ("source-mask-dropped", "target-mask-dropped")
    ),
    *(
        Mistake(
            f"{name}-in-both-attentions",
            _layer(wiring, wiring, post_norm),
            "In both attention sub-layers " + text,
        )
        for name, (text, wiring) in WRONG_WIRINGS.items()
    ),
    *(
        Mistake(
            f"{wiring}-{where}+{name}",
            _layer(*wirings, own=WRONG_ATTENTION[name][1], cross=WRONG_ATTENTION[name][2]),
            f"{place}{WRONG_WIRINGS[wiring][0]} {WRONG_ATTENTION[name][0]}".strip(),
        )
        for wiring in ("no-norm", "no-residual")
        for where, place, wirings in _somewhere(wiring)
        for name in _WITH_OTHERS
    ),
    *(
        Mistake(
            f"no-residual-{where}+one-norm",
            _layer(*wirings, norms_used=(0, 0, 0)),
            f"{place}{WRONG_WIRINGS['no-residual'][0]} {_REUSED}".strip(),
        )
        for where, place, wirings in _somewhere("no-residual")
    ),
    *(
        Mistake(
            f"no-norm-in-{_PLACES[place]}+norms-in-a-row",
            _layer(*wirings, norms_used=(0, 0, 1)),
            f"{_WHERE[place]}{WRONG_WIRINGS['no-norm'][0]} The other two take norms[0] and "
            "norms[1], and norms[2] is never called: there is one for each sub-layer.",
        )
        for place, wirings in enumerate(
            ((_NO_NORM, post_norm, post_norm), (post_norm, _NO_NORM, post_norm))
        )
    ),
    Mistake(
        "pre-norm+one-norm",
        _layer(pre_norm, pre_norm, pre_norm, norms_used=(0, 0, 0)),
        (_PRE + _REUSED).strip(),
    ),
    Mistake(
        "pre-norm-with-final-norm",
        _ordered(_pre_norm_final),
        _PRE + "A norm at the end does not make it post-norm.",
    ),
)
