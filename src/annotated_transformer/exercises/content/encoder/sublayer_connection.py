"""`encoder.sublayer_connection`: LayerNorm(x + Sublayer(x)), the paper's post-norm."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.content.drawn import drawn, gain_and_shift
from annotated_transformer.exercises.exercise import (
    Call,
    Candidate,
    Case,
    Exercise,
    Gradient,
    Stage,
    call,
)

Sublayer = Callable[[Tensor], Tensor]


def sublayer_connection(
    x: Tensor, sublayer: Sublayer, gamma: Tensor, beta: Tensor, eps: float = 1e-6
) -> Tensor:
    def norm(x: Tensor) -> Tensor:
        mean = x.mean(dim=-1, keepdim=True)  # (B, n, 1): one number for each word
        variance = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        root = torch.sqrt(variance + eps)
        normalised = (x - mean) / root
        return gamma * normalised + beta

    change = sublayer(x)  # (B, n, d): the sub-layer sees x as it is
    return norm(x + change)  # the residual goes round the sub-layer, the norm comes last


def _by_torch(
    x: Tensor, sublayer: Sublayer, gamma: Tensor, beta: Tensor, eps: float = 1e-6
) -> Tensor:
    return F.layer_norm(x + sublayer(x), (x.size(-1),), gamma, beta, eps)


def _by_moments(
    x: Tensor, sublayer: Sublayer, gamma: Tensor, beta: Tensor, eps: float = 1e-6
) -> Tensor:
    total = torch.add(sublayer(x), x)
    variance, mean = torch.var_mean(total, dim=2, unbiased=False, keepdim=True)
    return (total - mean) * (variance + eps).rsqrt() * gamma + beta


def _by_words(
    x: Tensor, sublayer: Sublayer, gamma: Tensor, beta: Tensor, eps: float = 1e-6
) -> Tensor:
    out = torch.empty_like(x)
    change = sublayer(x)
    for sentence in range(x.size(0)):
        for word in range(x.size(1)):
            total = x[sentence, word] + change[sentence, word]
            centred = total - total.mean()
            root = (centred.dot(centred) / len(centred) + eps) ** 0.5
            out[sentence, word] = centred / root * gamma + beta
    return out


def _by_module(
    x: Tensor, sublayer: Sublayer, gamma: Tensor, beta: Tensor, eps: float = 1e-6
) -> Tensor:
    norm = torch.nn.LayerNorm(x.shape[-1], eps=eps, elementwise_affine=False)
    return norm(torch.stack([x, sublayer(x)]).sum(0)) * gamma + beta


Inputs = Callable[[torch.Generator, torch.dtype, int], Sublayer]


def _mixing(generator: torch.Generator, dtype: torch.dtype, d: int) -> Sublayer:
    weight = drawn(generator, dtype, d, d)

    def mixing_words_and_features(x: Tensor) -> Tensor:
        return torch.tanh(x @ weight) + 0.5 * x.mean(dim=1, keepdim=True)

    return mixing_words_and_features


def _each_word(generator: torch.Generator, dtype: torch.dtype, d: int) -> Sublayer:
    weight, bias = drawn(generator, dtype, d, d), drawn(generator, dtype, d)

    def working_on_each_word(x: Tensor) -> Tensor:
        return torch.relu(x @ weight + bias)

    return working_on_each_word


def _opposite(generator: torch.Generator, dtype: torch.dtype, d: int) -> Sublayer:
    def returning_minus_x(x: Tensor) -> Tensor:
        return -x

    return returning_minus_x


def _zero(generator: torch.Generator, dtype: torch.dtype, d: int) -> Sublayer:
    def returning_zeros(x: Tensor) -> Tensor:
        return torch.zeros_like(x)

    return returning_zeros


def _case(
    name: str,
    shape: tuple[int, int, int],
    sublayer: Inputs = _mixing,
    *,
    eps: float | None = None,
    spread: float = 1.0,
    plain: bool = False,
    isolates: str | None = None,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    observe: Callable[..., Any] | None = None,
    gradient: Gradient = "ignored",
    transposed: bool = False,
) -> Case:
    """Drawn numbers; `plain` sets the gain to 1 and the shift to 0."""

    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        d = shape[-1]
        x = spread * (drawn(generator, dtype, *shape) + 0.5)
        if transposed:
            x = x.transpose(0, 1).contiguous().transpose(0, 1)
        gamma, beta = gain_and_shift(generator, dtype, d)
        if plain:
            gamma, beta = torch.ones_like(gamma), torch.zeros_like(beta)
        given = (x, sublayer(generator, dtype, d), gamma, beta)
        return call(*given) if eps is None else call(*given, eps)

    return Case(
        name,
        make,
        isolates=isolates,
        stage=stage,
        dtype=dtype,
        observe=observe,
        gradient=gradient,
    )


def _calls(candidate: Candidate, x: Tensor, sublayer: Sublayer, *rest: Any) -> int:
    """How often the sub-layer is called."""
    calls = 0

    def counting(inputs: Tensor) -> Tensor:
        nonlocal calls
        calls += 1
        return sublayer(inputs)

    candidate(x, counting, *rest)
    return calls


SUBLAYER_CONNECTION = Exercise(
    id="encoder.sublayer_connection",
    title="Residual and norm",
    kind="code",
    difficulty=2,
    minutes=8,
    signature=(
        "sublayer_connection(x: (B, n, d), sublayer: callable (B, n, d) -> (B, n, d), "
        "gamma: (d,), beta: (d,), eps: float = 1e-6) -> (B, n, d)"
    ),
    statement=(
        "The paper's post-norm: LayerNorm(x + Sublayer(x)), without dropout. sublayer is any "
        "function of one tensor, attention or feed-forward, and is called once. The layer "
        "normalisation is that of encoder.layer_norm: over the d features of each word, "
        "population variance, eps inside the root, gain gamma and shift beta. The "
        "dtype is kept, x is left untouched. Gradients have to flow back to its inputs: it is "
        "trained through."
    ),
    objective=(
        "Wrap a sub-layer as the paper does, and say what pre-norm, drawn in most later "
        "diagrams, does instead."
    ),
    prerequisite="encoder.layer_norm",
    hints=(
        "Suppose that the sub-layer returns zeros for everything. What comes out of "
        "LayerNorm(x + Sublayer(x)), and what out of x + Sublayer(LayerNorm(x))?",
        "Three steps in this order: the sub-layer sees x as it is, its result is added to x, and "
        "the sum is normalised.",
        "`total = x + sublayer(x)`, then your layer normalisation of `total` over the last axis, "
        "with gamma, beta and eps.",
    ),
    reference=sublayer_connection,
    explanation=(
        "Post-norm normalises the sum, so every sub-layer starts from numbers of one size, and "
        "nothing passes a layer without being normalised, the residual included. Pre-norm, "
        "x + Sublayer(LayerNorm(x)), normalises only what the sub-layer sees: the residual runs "
        "through all layers untouched, which makes deep models easier to train and needs one more "
        "normalisation at the very end. Most models since GPT-2 are pre-norm; the paper's text and "
        "figure 1 are post-norm. With a sub-layer that returns zeros the difference is plain: "
        "post-norm still normalises x, pre-norm returns x as it was."
    ),
    cases=(
        _case(
            "a sub-layer that returns zeros, x of shape (2, 2, 3)",
            (2, 2, 3),
            _zero,
            eps=1e-6,
            plain=True,
            isolates="the normalisation: the sub-layer adds nothing, gain 1, shift 0",
        ),
        _case(
            "a sub-layer that returns -x",
            (2, 2, 4),
            _opposite,
            eps=0.25,
            isolates="the residual: x + (-x) is 0, and beta is left",
        ),
        _case(
            "x of shape (2, 3, 4), gain 1, shift 0",
            (2, 3, 4),
            eps=1e-6,
            plain=True,
        ),
        _case("x of shape (2, 3, 5)", (2, 3, 5), _each_word, eps=1e-6, gradient="required"),
        _case(
            "eps = 0.5, x of shape (3, 2, 4)",
            (3, 2, 4),
            eps=0.5,
        ),
        _case(
            "eps left out, numbers of about 0.001",
            (2, 4, 3),
            spread=1e-3,
            isolates="the default of eps: the variance is about as large as it",
        ),
        _case("two sentences of one word", (2, 1, 5), eps=0.01),
        _case(
            "the number of calls of the sub-layer",
            (5, 4, 3),
            eps=1e-6,
            observe=_calls,
            isolates="how often the sub-layer is called: once",
        ),
        _case("float32", (2, 3, 6), stage="other", dtype=torch.float32),
        _case("x that is not contiguous", (2, 3, 4), eps=0.1, stage="other", transposed=True),
    ),
    mistakes=page(__file__, sublayer_connection),
    alternatives=(_by_torch, _by_moments, _by_words, _by_module),
    starter=(
        "def sublayer_connection(x, sublayer, gamma, beta, eps=1e-6):\n"
        '    """x (B, n, d), sublayer: (B, n, d) -> (B, n, d), gamma and beta (d,) '
        '-> (B, n, d)."""\n'
        "    ...  # your code"
    ),
)
