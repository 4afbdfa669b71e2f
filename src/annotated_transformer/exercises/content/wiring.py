"""The ways in which learners put a sub-layer, its residual and its norm together."""

from collections.abc import Callable

from torch import Tensor

Function = Callable[[Tensor], Tensor]
Wiring = Callable[[Tensor, Function, Function], Tensor]  # of x, the sub-layer, its norm


def post_norm(x: Tensor, sublayer: Function, norm: Function) -> Tensor:
    """The paper's."""
    return norm(x + sublayer(x))


def pre_norm(x: Tensor, sublayer: Function, norm: Function) -> Tensor:
    """What most later models do."""
    return x + sublayer(norm(x))


# What to say, continuing "In the feed-forward sub-layer ", and the wiring.
WRONG_WIRINGS: dict[str, tuple[str, Wiring]] = {
    "pre-norm": (
        "the norm is taken first, x + Sublayer(LayerNorm(x)): that is pre-norm, the order of most "
        "later models. The paper's is post-norm, LayerNorm(x + Sublayer(x)).",
        pre_norm,
    ),
    "no-residual": (
        "the residual is missing: only what the sub-layer returns is normalised. Add its input: "
        "LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: norm(f(x)),
    ),
    "no-norm": (
        "the normalisation is missing: x + Sublayer(x) has to be passed through the norm.",
        lambda x, f, norm: x + f(x),
    ),
    "norm-on-the-branch": (
        "only what the sub-layer returns is normalised, x + LayerNorm(Sublayer(x)). The norm comes "
        "last, round the sum: LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: x + norm(f(x)),
    ),
    "norm-on-the-residual": (
        "the input is normalised and the sub-layer's result added afterwards, LayerNorm(x) + "
        "Sublayer(x). Add first, normalise last: LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: norm(x) + f(x),
    ),
    "residual-from-the-norm": (
        "the input is normalised first, and the normalised input is the residual too. The "
        "paper adds first and normalises last: LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: norm(x) + f(norm(x)),
    ),
    "norm-before-and-after": (
        "the norm is applied twice, to what the sub-layer sees and to the sum. Only the sum is "
        "normalised: LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: norm(x + f(norm(x))),
    ),
    "norm-twice": (
        "the sum is normalised twice. Once is right: LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: norm(norm(x + f(x))),
    ),
    "sublayer-only": (
        "residual and norm are both missing. The paper has LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: f(x),
    ),
    "no-residual-norm-first": (
        "the residual is missing, and the norm comes first, Sublayer(LayerNorm(x)). The paper has "
        "LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: f(norm(x)),
    ),
    "left-out": (
        "nothing happens: it is left out altogether, with its norm, or its result is lost.",
        lambda x, f, norm: x,
    ),
    "norm-only": (
        "the sub-layer itself is not called; its input is normalised alone. The paper has "
        "LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: norm(x),
    ),
    "residual-after-the-norm": (
        "the residual is added after the norm as well. It is added before it, and only there: "
        "LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: x + norm(x + f(x)),
    ),
    "residual-twice": (
        "the residual is added twice. Once is right: LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: norm(2 * x + f(x)),
    ),
    "sublayer-twice": (
        "the sub-layer's result is added twice. Once is right: LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: norm(x + 2 * f(x)),
    ),
    "subtracted": (
        "the sub-layer's result is subtracted. It is added: LayerNorm(x + Sublayer(x)).",
        lambda x, f, norm: norm(x - f(x)),
    ),
}
