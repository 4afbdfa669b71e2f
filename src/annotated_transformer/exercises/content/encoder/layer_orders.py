"""The steps of an encoder layer in another order, left out, doubled, or with something more."""

from collections.abc import Callable, Sequence
from typing import Any

import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.layer_parts import Norm
from annotated_transformer.exercises.content.wiring import Function

Order = Callable[[Tensor, Function, Function, Sequence[Norm]], Any]  # x, attention, network


def _changed(x: Tensor, attention: Function, network: Function, norms: Sequence[Norm]) -> Tensor:
    x += attention(x)
    x = norms[0](x)
    return norms[1](x + network(x))


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
_CHANGED = "`x += ...` changes the caller's x. Write `x = x + ...`, which makes a new tensor."
_DROPOUT = "Dropout is applied. The paper has it here; this exercise leaves it out."


ORDERS: dict[str, tuple[str, Order]] = {
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
    "attention-sub-layer-twice": (
        "The self-attention sub-layer is gone through twice. One encoder layer has one "
        "self-attention and one network.",
        lambda x, a, f, n: (lambda z: (lambda y: n[1](y + f(y)))(n[0](z + a(z))))(n[0](x + a(x))),
    ),
    "network-sub-layer-twice": (
        "The feed-forward sub-layer is gone through twice. One encoder layer has one "
        "self-attention and one network.",
        lambda x, a, f, n: (lambda z: (lambda y: n[1](y + f(y)))(n[1](z + f(z))))(n[0](x + a(x))),
    ),
    "relu-in-between": (
        "A ReLU is taken between the sub-layers. The network has its own inside; the layer adds "
        "none.",
        lambda x, a, f, n: (lambda y: n[1](y + f(y)))(n[0](x + a(x)).relu()),
    ),
    "network-of-the-network": (
        "The network is applied to its own result. One encoder layer has one self-attention and "
        "one network, each applied once.",
        lambda x, a, f, n: (lambda y: n[1](y + f(f(y))))(n[0](x + a(x))),
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
