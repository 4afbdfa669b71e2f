"""`beyond.alibi_bias`: a penalty on distance in place of positional encodings."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def alibi_bias(n_heads: int, n_q: int, n_k: int) -> Tensor:
    i = torch.arange(1, n_heads + 1)  # the heads are counted from 1
    slopes = 2.0 ** (-8 * i / n_heads)  # (n_heads,): the last is 2^-8
    query, key = torch.arange(n_q)[:, None], torch.arange(n_k)  # (n_q, 1), (n_k,)
    back = (query - key).clamp(min=0)  # (n_q, n_k): how far back the key lies
    return -slopes[:, None, None] * back  # (n_heads, n_q, n_k): 0 or negative


def _by_signed_distance(n_heads: int, n_q: int, n_k: int) -> Tensor:
    ratio = 2 ** (-8 / n_heads)
    slopes = torch.tensor([ratio ** (head + 1) for head in range(n_heads)])
    back = torch.arange(n_q)[:, None] - torch.arange(n_k)[None, :]
    return -slopes[:, None, None] * back


def _by_absolute_distance(n_heads: int, n_q: int, n_k: int) -> Tensor:
    slopes = torch.pow(2, torch.linspace(-8 / n_heads, -8, n_heads))
    distance = (torch.arange(n_q).view(-1, 1) - torch.arange(n_k).view(1, -1)).abs()
    return torch.einsum("h,qk->hqk", slopes, -distance.float())


def _by_loops(n_heads: int, n_q: int, n_k: int) -> Tensor:
    bias = torch.zeros(n_heads, n_q, n_k)
    for head in range(n_heads):
        for i in range(n_q):
            for j in range(min(i + 1, n_k)):
                bias[head, i, j] = -(i - j) / 2 ** (8 * (head + 1) / n_heads)
    return bias


def _with_the_causal_mask(n_heads: int, n_q: int, n_k: int) -> Tensor:
    past = torch.ones(n_q, n_k, dtype=torch.bool).tril()
    return alibi_bias(n_heads, n_q, n_k).masked_fill(~past, float("-inf"))


def without_the_future(function: Callable[..., Any], n_heads: int, n_q: int, n_k: int) -> Any:
    """The bias with zeros at j > i, which the causal mask hides whatever stands there."""
    bias = function(n_heads, n_q, n_k)
    if isinstance(bias, Tensor) and bias.shape == (n_heads, n_q, n_k):
        future = torch.arange(n_k)[None, :] > torch.arange(n_q)[:, None]
        return bias.masked_fill(future, 0)
    return bias


def _case(n_heads: int, n_q: int, n_k: int, isolates: str | None = None) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(n_heads, n_q, n_k)

    heads = f"{n_heads} head{'s' if n_heads > 1 else ''}"
    name = f"{heads}, n_q = {n_q}, n_k = {n_k}"
    return Case(name, make, isolates=isolates, observe=without_the_future)


ALIBI_BIAS = Exercise(
    id="beyond.alibi_bias",
    title="ALiBi: a penalty on distance",
    kind="code",
    difficulty=2,
    minutes=10,
    signature="alibi_bias(n_heads: int, n_q: int, n_k: int) -> float32 (n_heads, n_q, n_k)",
    statement=(
        "Return what ALiBi adds to the scores of a decoder: -slope · (i - j) for query i and key "
        "j <= i, both counted from position 0. Head number i = 1, 2, ..., h has the slope "
        "2^(-8i/h), whatever the number of heads. Keys with j > i are hidden by the causal mask; "
        "what the bias holds there is not looked at."
    ),
    objective="Give attention a sense of distance without any positional encoding.",
    prerequisite="positional.sinusoidal",
    hints=(
        "With one head the slope is 2^-8. With two heads, which two slopes are there?",
        "The bias is an outer product: one number for each head, times a matrix of distances. "
        "Near keys lose little, far keys much, so every entry is 0 or negative.",
        "`slopes = 2.0 ** (-8 * torch.arange(1, h + 1) / h)`; distances "
        "`torch.arange(n_q)[:, None] - torch.arange(n_k)`; "
        "`-slopes[:, None, None] * distances`.",
    ),
    reference=alibi_bias,
    explanation=(
        "Each key loses score in proportion to how far back it lies, so after the softmax its "
        "weight falls off exponentially with distance. Steep heads look near, flat heads far: "
        "with 8 heads the slopes are 1/2, 1/4, ..., 1/256. Counting from i = 0 would give the "
        "first head the slope 1 and nobody the slope 1/256. With the sign reversed far keys "
        "would win. Nothing here depends on a longest sentence, and that was the aim: train on "
        "short texts, use long ones. (The authors' code takes other slopes where the number of "
        "heads is not a power of two; here the formula holds for all.)"
    ),
    cases=(
        _case(1, 2, 2, "the slope of a single head: 2^-8"),
        _case(2, 3, 3, "the two slopes and the sign"),
        _case(8, 2, 2, "the slopes of 8 heads: 1/2, 1/4, ..., 1/256"),
        _case(4, 5, 3, "the axes: all sizes differ"),
        _case(3, 4, 6, "a number of heads that is not a power of two"),
        _case(6, 5, 5),
        _case(12, 3, 2),
        _case(2, 1, 1, "the diagonal: a query's own key loses nothing"),
        _case(2, 9, 9),
    ),
    mistakes=page(__file__, alibi_bias),
    alternatives=(
        _by_signed_distance,
        _by_absolute_distance,
        _by_loops,
        _with_the_causal_mask,
    ),
    starter=(
        "def alibi_bias(n_heads, n_q, n_k):\n"
        '    """float32 (n_heads, n_q, n_k): -2^(-8i/h) * (query - key), heads from i = 1."""\n'
        "    ...  # your code"
    ),
)
