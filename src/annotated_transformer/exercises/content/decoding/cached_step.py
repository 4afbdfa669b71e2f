"""`decoding.cached_step`: one new token, with the keys and values of all earlier ones at hand."""

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor

from annotated_transformer.exercises.bank import page
from annotated_transformer.exercises.exercise import (
    Call,
    Candidate,
    Case,
    Exercise,
    Gradient,
    Stage,
    call,
)

Cache = tuple[Tensor, Tensor] | None


def cached_attention_step(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    t = 0 if cache is None else cache[0].size(1)  # tokens before this one
    token = x + pe[t]  # (B, 1, d), the new token at its position
    q = token @ w_q  # (B, 1, d), as are k and v
    k = token @ w_k
    v = token @ w_v
    if cache is None:
        keys, values = k, v
    else:
        keys = torch.cat([cache[0], k], dim=1)  # (B, t + 1, d), its own key last
        values = torch.cat([cache[1], v], dim=1)
    scores = q @ keys.mT  # (B, 1, t + 1)
    scaled = scores / math.sqrt(q.size(-1))
    weights = scaled.softmax(dim=-1)
    output = weights @ values  # (B, 1, d)
    return output, (keys, values)


def _by_torch(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    if cache is None:
        cache = (x[:, :0], x[:, :0])
    t = cache[0].shape[1]
    placed = x + pe[t : t + 1].unsqueeze(0)
    keys = torch.cat((cache[0], torch.matmul(placed, w_k)), 1)
    values = torch.cat((cache[1], torch.matmul(placed, w_v)), 1)
    return F.scaled_dot_product_attention(placed @ w_q, keys, values), (keys, values)


def _by_sums(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    t = 0 if cache is None else len(cache[0][0])
    token = x[:, 0] + pe[t]  # (B, d)
    q, k, v = (torch.einsum("bd,de->be", token, w) for w in (w_q, w_k, w_v))
    keys, values = k.unsqueeze(1), v.unsqueeze(1)
    if cache:
        keys, values = torch.hstack([cache[0], keys]), torch.hstack([cache[1], values])
    scores = torch.einsum("bd,btd->bt", q * q.shape[-1] ** -0.5, keys)
    e = torch.exp(scores - scores.max(dim=1, keepdim=True).values)
    output = torch.einsum("bt,btd->bd", e / e.sum(dim=1, keepdim=True), values)
    return output[:, None, :], (keys, values)


def _into_new_buffers(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> Any:
    t = cache[0].size(1) if cache is not None else 0
    placed = x + pe[t].expand_as(x)
    full = [x.new_zeros(x.size(0), t + 1, x.size(2)) for _ in range(2)]
    for buffer, old, w in zip(full, cache or (None, None), (w_k, w_v), strict=True):
        if old is not None:
            buffer[:, :t] = old
        buffer[:, t:] = placed @ w
    outputs = []
    for b in range(x.size(0)):
        scores = full[0][b] @ (placed @ w_q)[b, 0] / x.size(2) ** 0.5
        outputs.append((scores.softmax(0)[:, None] * full[1][b]).sum(0))
    return torch.stack(outputs)[:, None], full


def _by_numpy(
    x: Tensor, pe: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, cache: Cache
) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    with torch.no_grad():
        old_k, old_v = (c.numpy() for c in cache or (x[:, :0], x[:, :0]))
        placed = x.numpy() + pe.numpy()[old_k.shape[1]]
        keys = np.concatenate([old_k, placed @ w_k.numpy()], axis=1)
        values = np.concatenate([old_v, placed @ w_v.numpy()], axis=1)
        scores = placed @ w_q.numpy() @ keys.transpose(0, 2, 1) / x.shape[-1] ** 0.5
        e = np.exp(scores - scores.max(-1, keepdims=True))
        output = e / e.sum(-1, keepdims=True) @ values
    return torch.tensor(output), (torch.tensor(keys), torch.tensor(values))


def _inputs(
    batch: int,
    d: int,
    t: int | None,
    n_max: int,
    generator: torch.Generator,
    dtype: torch.dtype,
    size: float = 1.0,
) -> list[Any]:
    """x, pe, w_q, w_k, w_v, cache; t None: no cache. size: of x, in standard deviations."""

    def drawn(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64).to(dtype)

    x, pe, weights = drawn(batch, 1, d) * size, drawn(n_max, d), [drawn(d, d) for _ in range(3)]
    cache = None if t is None else (drawn(batch, t, d), drawn(batch, t, d))
    return [x, pe, *weights, cache]


def _step(
    name: str,
    batch: int,
    d: int,
    t: int | None,
    n_max: int,
    isolates: str | None = None,
    size: float = 1.0,
    stage: Stage = "main",
    dtype: torch.dtype | None = None,
    gradient: Gradient = "ignored",
) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(*_inputs(batch, d, t, n_max, generator, dtype, size))

    return Case(name, make, isolates, stage, dtype, gradient=gradient)


def _without_positions(generator: torch.Generator, dtype: torch.dtype) -> Call:
    x, pe, *rest = _inputs(2, 3, 4, 7, generator, dtype)
    return call(x, torch.zeros_like(pe), *rest)


def _not_contiguous(generator: torch.Generator, dtype: torch.dtype) -> Call:
    *rest, cache = _inputs(2, 4, 3, 6, generator, dtype)
    keys, values = (part.transpose(1, 2).contiguous().transpose(1, 2) for part in cache)
    return call(*rest, (keys, values))


def _sentence(generator: torch.Generator, dtype: torch.dtype) -> Call:
    _, pe, *weights, _ = _inputs(2, 4, None, 7, generator, dtype)
    words = torch.randn(2, 5, 4, generator=generator, dtype=torch.float64).to(dtype)
    return call(words, pe, *weights, None)


def _word_by_word(candidate: Candidate, words: Tensor, *rest: Any) -> list[Tensor]:
    """All words of a sentence, each step with the cache that the step before returned."""
    *weights, cache = rest
    outputs = []
    for t in range(words.size(1)):
        output, cache = candidate(words[:, t : t + 1], *weights, cache)
        outputs.append(output)
    return outputs


CACHED_STEP = Exercise(
    id="decoding.cached_step",
    title="One step with a cache",
    kind="code",
    difficulty=4,
    minutes=18,
    signature=(
        "cached_attention_step(x: (B, 1, d), pe: (n_max, d), w_q, w_k, w_v (d, d) used as x @ w, "
        "cache: None | (keys (B, t, d), values (B, t, d))) -> (output (B, 1, d), "
        "(keys (B, t+1, d), values (B, t+1, d)))"
    ),
    statement=(
        "Causal self-attention with a single head, one token at a time. x is the embedding of the "
        "new token. It sits at position t, where t is the number of tokens in the cache (0 when "
        "the cache is None), so x + pe[t] is what is projected to query, key and value. It "
        "attends to itself and all cached tokens, with the usual scale. Return the output and the "
        "cache with the new key and value appended; the dtype is kept, the given cache is not "
        "modified."
    ),
    objective="Generate without recomputing the past, and put the new token in its right place.",
    prerequisite="attention.scaled_dot_product",
    hints=(
        "x holds a single token. How does the function know that it is, say, the fourth of its "
        "sentence? And how many keys does the fourth token attend to?",
        "t is `cache[0].size(1)`, counted before anything is appended. Which of query, key and "
        "value of the new token will later steps need?",
        "Add pe[t]; project; `torch.cat([cached, new], dim=1)` for keys and values; scores "
        "q @ keys.mT / sqrt(d), (B, 1, t + 1); softmax over the last axis; weights @ values. No "
        "mask is needed.",
    ),
    reference=cached_attention_step,
    explanation=(
        "In causal attention a token's key and value depend on nothing that comes later, so they "
        "can be kept. A step then costs one row of scores instead of a whole triangle. Two things "
        "go wrong in practice. The step sees one token, and code that adds pe[:n] with n = 1 puts "
        "every token at position 0: nothing raises, the text is merely worse. And a causal mask of "
        "shape (1, t + 1) counted from the top left lets the new token see the first key alone; "
        "the newest token may see everything, so no mask is needed."
    ),
    cases=(
        _step(
            "the first token of one sentence, d = 2, no cache",
            *(1, 2, None, 4),
            isolates="the first token, which attends to itself alone: the output is its value, the "
            "cache its key and value",
        ),
        _step(
            "the second token of one sentence, d = 2",
            *(1, 2, 1, 4),
            isolates="two keys: the cached one and the token's own",
        ),
        Case(
            "positions that are all zero, 2 sentences, 4 cached tokens, d = 3",
            _without_positions,
            isolates="the attention and the cache: all positions are zero",
        ),
        _step(
            "2 sentences, 2 cached tokens, d = 1",
            *(2, 1, 2, 5),
            isolates="everything but the scale: with d = 1 it is 1",
        ),
        _step("2 sentences, 3 cached tokens, d = 4", 2, 4, 3, 9, gradient="noted"),
        _step("3 sentences, 5 cached tokens, d = 2", 3, 2, 5, 9),
        _step("3 sentences, no cache, d = 5", 3, 5, None, 8),
        _step("the last position of pe, 2 sentences, 6 cached tokens, d = 3", 2, 3, 6, 7),
        _step("large numbers, 2 sentences, 3 cached tokens, d = 4", 2, 4, 3, 9, size=400.0),
        _step(
            "float32, 2 sentences, 4 cached tokens, d = 6",
            *(2, 6, 4, 10),
            stage="other",
            dtype=torch.float32,
        ),
        Case("a cache that is not contiguous", _not_contiguous, stage="other"),
        Case("five words one after the other", _sentence, stage="other", observe=_word_by_word),
    ),
    mistakes=page(__file__, cached_attention_step),
    alternatives=(_by_torch, _by_sums, _into_new_buffers, _by_numpy),
    starter=(
        "def cached_attention_step(x, pe, w_q, w_k, w_v, cache):\n"
        '    """x (B, 1, d), the cache None or (keys, values), each (B, t, d).\n'
        '    Returns the output (B, 1, d) and the cache with one token more."""\n'
        "    ...  # your code"
    ),
    returns=("output", "cache"),
)
