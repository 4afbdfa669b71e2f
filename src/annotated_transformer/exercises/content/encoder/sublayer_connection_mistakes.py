"""The named mistakes of `encoder.sublayer_connection`: wrong orders, and wrong norms of the sum."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.content.encoder.layer_norm_mistakes import AFFINES, DEFAULT
from annotated_transformer.exercises.content.encoder.layer_norm_spreads import SPREADS, norm_of
from annotated_transformer.exercises.exercise import Candidate, Mistake

Sublayer = Callable[[Tensor], Tensor]
Order = Callable[[Tensor, Sublayer, Sublayer], Any]  # of x, the sub-layer, the norm


def _post_norm(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    return norm(x + sublayer(x))


def _connection(order: Order = _post_norm, norm: Candidate | None = None) -> Candidate:
    """Residual and norm in another order, or with another norm, which has its own default eps."""
    used = norm or norm_of()

    def implementation(
        x: Tensor, sublayer: Sublayer, gamma: Tensor, beta: Tensor, *eps: float
    ) -> Any:
        def normalise(values: Tensor) -> Tensor:
            result: Tensor = used(values, gamma, beta, *eps)
            return result

        return order(x, sublayer, normalise)

    return implementation


def _called_twice(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    sublayer(x)
    return norm(x + sublayer(x))


def _called_three_times(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    sublayer(x)
    return _called_twice(x, sublayer, norm)


def _each_sentence(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    return norm(x + torch.cat([sublayer(sentence[None]) for sentence in x]))


def _each_word(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    return norm(x + torch.cat([sublayer(x[:, i : i + 1]) for i in range(x.size(1))], dim=1))


def _x_changed(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    x += sublayer(x)
    return norm(x)


def _x_changed_unnormalised(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    x += sublayer(x)
    return x


def _concatenated(x: Tensor, sublayer: Sublayer, norm: Sublayer) -> Tensor:
    return norm(torch.cat([x, sublayer(x)], dim=-1))


_PRE_NORM = (
    "This is pre-norm, x + Sublayer(LayerNorm(x)): the sub-layer sees normalised numbers, and the "
    "sum is not normalised. Most later models do so; the paper's order is post-norm, "
    "LayerNorm(x + Sublayer(x)). "
)
_NO_RESIDUAL = (
    "The residual is missing: x itself is not added to what the sub-layer returns. Without it "
    "the sub-layer would have to pass on everything it does not want to change: "
    "LayerNorm(x + Sublayer(x)). "
)
_NO_NORM = (
    "The sum is not normalised, and gamma and beta are not used: x + Sublayer(x) is only the "
    "residual connection. Normalise it. "
)
_BRANCH_ONLY = (
    "Only the sub-layer's result is normalised, before it is added: x + LayerNorm(Sublayer(x)). "
    "In the paper the norm comes last, round the sum: LayerNorm(x + Sublayer(x)). "
)
_CHANGED = (
    "`x += ...` changes the caller's x. Write `x = x + sublayer(x)`, or give the sum a name of "
    "its own. "
)
_CALLS = (
    "The sub-layer is called more than once. One call is asked for: it costs the most time, and "
    "with dropout inside two calls would not even agree. Keep its result in a variable. "
)
_DROPOUT = "Dropout is applied. The paper has it here; this exercise leaves it out. "

_ORDERS: dict[str, tuple[str, Order]] = {
    "pre-norm": (_PRE_NORM, lambda x, f, norm: x + f(norm(x))),
    "residual-from-the-norm": (
        "x is normalised first, and the normalised x serves as the residual too: LayerNorm(x) + "
        "Sublayer(LayerNorm(x)). The paper's order is LayerNorm(x + Sublayer(x)): add first, "
        "normalise last. ",
        lambda x, f, norm: norm(x) + f(norm(x)),
    ),
    "no-residual": (_NO_RESIDUAL, lambda x, f, norm: norm(f(x))),
    "no-norm": (_NO_NORM, lambda x, f, norm: x + f(x)),
    "norm-on-the-branch": (_BRANCH_ONLY, lambda x, f, norm: x + norm(f(x))),
    "norm-on-the-residual": (
        "x is normalised and the sub-layer's result added afterwards: LayerNorm(x) + "
        "Sublayer(x). Add first, normalise last: LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: norm(x) + f(x),
    ),
    "norms-added": (
        "x and the sub-layer's result are normalised separately and then added. The sum is "
        "normalised, once: LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: norm(x) + norm(f(x)),
    ),
    "norm-before-and-after": (
        "There are two normalisations, of what the sub-layer sees and of the sum: "
        "LayerNorm(x + Sublayer(LayerNorm(x))). The paper has the last only; the sub-layer sees "
        "x as it is. ",
        lambda x, f, norm: norm(x + f(norm(x))),
    ),
    "norm-first-and-last": (
        "x is normalised at the start, and the sum at the end. The paper has the last only: "
        "LayerNorm(x + Sublayer(x)), with x as it came. ",
        lambda x, f, norm: norm(norm(x) + f(norm(x))),
    ),
    "norm-round-the-branch": (
        "The norm stands on both sides of the sub-layer, x + LayerNorm(Sublayer(LayerNorm(x))), "
        "and the sum is not normalised. The paper has one norm, of the sum. ",
        lambda x, f, norm: x + norm(f(norm(x))),
    ),
    "normalised-residual": (
        "The sum is made with the normalised x, LayerNorm(LayerNorm(x) + Sublayer(x)). x is "
        "added as it came. ",
        lambda x, f, norm: norm(norm(x) + f(x)),
    ),
    "normalised-twice": (
        "The sum is normalised twice. Once is right: LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: norm(norm(x + f(x))),
    ),
    "branch-normalised-too": (
        "The sub-layer's result is normalised before it is added, and the sum again. Only the sum "
        "is: LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: norm(x + norm(f(x))),
    ),
    "norm-then-sublayer": (
        "The sub-layer works on the normalised x, and the residual is missing: "
        "Sublayer(LayerNorm(x)). The paper has LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: f(norm(x)),
    ),
    "no-residual-norm-on-both-sides": (
        "The residual is missing, and x is normalised before the sub-layer as well as after it. "
        "The paper has LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: norm(f(norm(x))),
    ),
    "sublayer-only": (
        "Only the sub-layer is left: the residual and the normalisation are missing. Return "
        "LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: f(x),
    ),
    "norm-only": (
        "The sub-layer is not called: x alone is normalised. Return LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: norm(x),
    ),
    "residual-after-the-norm": (
        "x is added once more after the normalisation. It is added before it, and only there: "
        "LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: x + norm(x + f(x)),
    ),
    "sublayer-after-the-norm": (
        "The sub-layer's result is added once more after the normalisation. It is added before "
        "it, and only there. ",
        lambda x, f, norm: (lambda y: y + norm(x + y))(f(x)),
    ),
    "residual-twice": (
        "x is added twice: 2x + Sublayer(x) is normalised. Perhaps the sub-layer's result already "
        "had x added to it? Once is right. ",
        lambda x, f, norm: norm(2 * x + f(x)),
    ),
    "sublayer-twice": (
        "The sub-layer's result is added twice. Once is right: x + Sublayer(x). ",
        lambda x, f, norm: norm(x + 2 * f(x)),
    ),
    "sublayer-for-x": (
        "The sub-layer's result is added to itself instead of to x: the residual is missing. ",
        lambda x, f, norm: norm(2 * f(x)),
    ),
    "sublayer-of-the-sublayer": (
        "The sub-layer is applied to its own result. It is called once, on x. ",
        lambda x, f, norm: norm(x + f(f(x))),
    ),
    "sublayer-of-the-sum": (
        "The sub-layer is applied once more to the sum. It is called once, on x: "
        "LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: norm(f(x + f(x))),
    ),
    "residual-of-the-sublayer": (
        "The residual is taken after a first call: Sublayer(x) + Sublayer(Sublayer(x)), as when "
        "x has been overwritten. Keep x for the sum. ",
        lambda x, f, norm: (lambda y: norm(y + f(y)))(f(x)),
    ),
    "subtracted": (
        "The sub-layer's result is subtracted from x. It is added: x + Sublayer(x). ",
        lambda x, f, norm: norm(x - f(x)),
    ),
    "x-subtracted": (
        "x is subtracted from the sub-layer's result. It is added: x + Sublayer(x). ",
        lambda x, f, norm: norm(f(x) - x),
    ),
    "multiplied": (
        "x is multiplied with the sub-layer's result, as a gate is. A residual is added. ",
        lambda x, f, norm: norm(x * f(x)),
    ),
    "averaged": (
        "The mean of x and the sub-layer's result is normalised. Their sum is asked for: the two "
        "differ through eps. ",
        lambda x, f, norm: norm((x + f(x)) / 2),
    ),
    "divided-by-root-two": (
        "The sum is divided by sqrt(2), as in some convolutional models. The paper normalises the "
        "sum as it is: the two differ through eps. ",
        lambda x, f, norm: norm((x + f(x)) / 2**0.5),
    ),
    "dropout": (_DROPOUT, lambda x, f, norm: norm(x + F.dropout(f(x), 0.1))),
    "dropout-one-half": (_DROPOUT, lambda x, f, norm: norm(x + F.dropout(f(x)))),
    "dropout-at-the-end": (_DROPOUT, lambda x, f, norm: F.dropout(norm(x + f(x)), 0.1)),
    "dropout-on-the-sum": (_DROPOUT, lambda x, f, norm: norm(F.dropout(x + f(x), 0.1))),
    "pre-norm+dropout": (
        _PRE_NORM + _DROPOUT,
        lambda x, f, norm: x + F.dropout(f(norm(x)), 0.1),
    ),
    "called-twice": (_CALLS, _called_twice),
    "called-three-times": (_CALLS, _called_three_times),
    "called-for-each-sentence": (
        "The sub-layer is called for each sentence separately. It takes the whole batch, "
        "(B, n, d), in one call. ",
        _each_sentence,
    ),
    "called-for-the-first-sentence": (
        "The sub-layer sees the first sentence alone, and its result is added to all. It takes "
        "the whole batch, (B, n, d), in one call. ",
        lambda x, f, norm: norm(x + f(x[:1])),
    ),
    "connection-returned": (
        "A function is returned and not its result. Call the sub-layer and return the tensor "
        "LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: lambda y: norm(y + f(y)),
    ),
    "x-twice": (
        "x is added to itself, LayerNorm(x + x), and the sub-layer is not called. Return "
        "LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: norm(x + x),
    ),
    "called-for-each-word": (
        "The sub-layer is called for each word separately, so attention in it could see no other "
        "word. It takes the whole batch, (B, n, d), in one call. ",
        _each_word,
    ),
    "x-changed": (_CHANGED, _x_changed),
    "x-changed-and-not-normalised": (_CHANGED + _NO_NORM, _x_changed_unnormalised),
    "sublayer-result-too": (
        "The sub-layer's result is returned as well. Return the normalised sum alone. ",
        lambda x, f, norm: (lambda y: (norm(x + y), y))(f(x)),
    ),
    "concatenated": (
        "x and the sub-layer's result are concatenated, (B, n, 2d), which no longer fits gamma "
        "and beta. Add them. ",
        _concatenated,
    ),
    "relu-on-the-sum": (
        "A ReLU is taken of the sum, as in older convolutional models. The sum is normalised as "
        "it is: the sub-layer has its own activation inside. ",
        lambda x, f, norm: norm((x + f(x)).relu()),
    ),
    "unchanged": (
        "x comes back as it was. Return LayerNorm(x + Sublayer(x)). ",
        lambda x, f, norm: x,
    ),
}


def _statistics_of_x(
    x: Tensor, sublayer: Sublayer, gamma: Tensor, beta: Tensor, eps: float = 1e-6
) -> Tensor:
    centred = x + sublayer(x) - x.mean(-1, keepdim=True)
    return gamma * centred / (x.var(-1, correction=0, keepdim=True) + eps).sqrt() + beta


def _affine_last(
    x: Tensor, sublayer: Sublayer, gamma: Tensor, beta: Tensor, eps: float = 1e-6
) -> Tensor:
    return gamma * (x + sublayer(F.layer_norm(x, (x.size(-1),), eps=eps))) + beta


# In (B, n, d) these spreads are the same as another one.
_SAME_HERE = {
    *("second-axis", "all-but-the-first-axis", "norm-plus-eps"),
    *("first-two-axes", "first-two-axes-unbiased"),
}
_NORMS: dict[str, tuple[str, Candidate]] = {
    **{
        name: (text, norm_of(**steps))
        for name, (text, steps) in SPREADS.items()
        if name not in _SAME_HERE
    },
    **{name: (text, norm_of(affine=step)) for name, (text, step) in AFFINES.items()},
    **{
        f"default-{value:g}": (DEFAULT.format(value=f"{value:g}"), norm_of(default=value))
        for value in (1e-5, 1e-8, 1e-12)
    },
    "unbiased+no-gain-no-shift": (
        SPREADS["unbiased"][0] + AFFINES["no-gain-no-shift"][0],
        norm_of(**SPREADS["unbiased"][1], affine=AFFINES["no-gain-no-shift"][1]),
    ),
    "unbiased-and-eps-outside+no-gain-no-shift": (
        SPREADS["unbiased-and-eps-outside"][0] + AFFINES["no-gain-no-shift"][0],
        norm_of(**SPREADS["unbiased-and-eps-outside"][1], affine=AFFINES["no-gain-no-shift"][1]),
    ),
    "eps-1e-5-fixed+no-gain-no-shift": (
        SPREADS["eps-1e-5-fixed"][0] + AFFINES["no-gain-no-shift"][0],
        norm_of(fixed=1e-5, affine=AFFINES["no-gain-no-shift"][1]),
    ),
}
_OF_THE_SUM = "The order is right, but not the normalisation of the sum. "
_NORM_TOO = "The normalisation is not right either. "
_PAIRED_NORMS = (
    "unbiased",
    "eps-outside",
    "unbiased-and-eps-outside",
    "no-eps",
    "eps-1e-5-fixed",
    "eps-1e-6-fixed",
    "no-gain-no-shift",
    "no-shift",
    "no-gain",
    "default-1e-05",
)
_PAIRED_ORDERS = (
    "pre-norm",
    "no-residual",
    "norm-on-the-branch",
    "norm-on-the-residual",
    "residual-from-the-norm",
)


def _pair(order: str, norm: str) -> Mistake:
    (one, how), (other, used) = _ORDERS[order], _NORMS[norm]
    return Mistake(f"{order}+{norm}", _connection(how, used), (one + _NORM_TOO + other).strip())


SUBLAYER_CONNECTION_MISTAKES = (
    *(Mistake(name, _connection(order), t.strip()) for name, (t, order) in _ORDERS.items()),
    *(
        Mistake(f"norm-{name}", _connection(norm=norm), (_OF_THE_SUM + text).strip())
        for name, (text, norm) in _NORMS.items()
    ),
    Mistake(
        "statistics-of-x",
        _statistics_of_x,
        "The sum is normalised with the mean and the variance of x alone. They have to be those "
        "of the sum x + Sublayer(x).",
    ),
    Mistake(
        "pre-norm-gain-and-shift-last",
        _affine_last,
        _PRE_NORM + "Besides, the gain and the shift are applied to the sum, apart from the "
        "normalisation they belong to.",
    ),
    *(_pair(order, norm) for order in _PAIRED_ORDERS for norm in _PAIRED_NORMS),
)
