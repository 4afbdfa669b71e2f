"""Wrong answers of outsiders about what came after the paper, each with two mistakes."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor


def turned_back_in_halves(x: Tensor, positions: Tensor, base: float = 10000.0) -> Tensor:
    """Pairs column i with column i + d/2, as Llama does.
    Rotates by the angle with a minus."""
    half = x.shape[-1] // 2
    inv_freq = base ** (-torch.arange(half, dtype=torch.float64) / half)
    theta = torch.outer(positions.double(), inv_freq)
    c, s = torch.cos(theta).to(x.dtype), torch.sin(theta).to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat((first * c + second * s, second * c - first * s), dim=-1)


def rows_counted_and_half_the_exponent(
    x: Tensor, positions: Tensor, base: float = 10000.0
) -> Tensor:
    """Counts the rows from 0 instead of looking at positions.
    The exponent is -i/d instead of -2i/d."""
    n, d = x.shape[-2:]
    y = torch.empty_like(x)
    for i in range(d // 2):
        a = torch.arange(n).double() * base ** (-i / d)
        cos, sin = a.cos().to(x.dtype), a.sin().to(x.dtype)
        u, v = x[..., 2 * i], x[..., 2 * i + 1]
        y[..., 2 * i] = u * cos - v * sin
        y[..., 2 * i + 1] = u * sin + v * cos
    return y


def heads_from_zero_and_positive(n_heads: int, n_q: int, n_k: int) -> Tensor:
    """The first head is number 0, with slope 1.
    The minus is forgotten: far keys gain."""
    bias = torch.zeros(n_heads, n_q, n_k)
    for h in range(n_heads):
        m = 2 ** (-8 * h / n_heads)
        for i in range(n_q):
            for j in range(min(i + 1, n_k)):
                bias[h, i, j] = m * (i - j)
    return bias


def slopes_of_eight_heads_own_key_at_one(n_heads: int, n_q: int, n_k: int) -> Tensor:
    """The slopes are 1/2, 1/4, 1/8, ... for any number of heads.
    The own key lies at distance 1, not 0."""
    slopes = torch.tensor([0.5**h for h in range(1, n_heads + 1)])
    distance = torch.arange(1, n_q + 1).unsqueeze(1) - torch.arange(n_k).unsqueeze(0)
    return -torch.einsum("h,qk->hqk", slopes, distance.float())


def groups_in_turn_unscaled(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Deals the key heads out in turn: query head i uses i % g.
    The scores are not divided by sqrt(d)."""
    times = q.shape[1] // k.shape[1]
    k = k.repeat(1, times, 1, 1)
    v = v.repeat(1, times, 1, 1)
    s = torch.einsum("bhqd,bhkd->bhqk", q, k)
    if mask is not None:
        s = s.masked_fill(mask == 0, -torch.inf)
    a = s.softmax(-1)
    if mask is not None:
        a = a.masked_fill(~mask.any(-1, keepdim=True), 0)
    return torch.einsum("bhqk,bhkd->bhqd", a, v)


def mask_turned_and_divided_by_d(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None
) -> Tensor:
    """Reads True in the mask as hidden.
    Divides by d instead of its root."""
    b, h, n_q, d = q.shape
    g, n_k = k.shape[1], k.shape[2]
    grouped = q.reshape(b, g, h // g, n_q, d)
    scores = (grouped @ k.unsqueeze(2).mT) / d
    scores = scores.reshape(b, h, n_q, n_k)
    if mask is not None:
        scores = scores.masked_fill(mask, float("-inf"))
        empty = mask.expand(b, h, n_q, n_k).all(dim=-1, keepdim=True)
        w = scores.softmax(dim=-1).masked_fill(empty, 0.0)
    else:
        w = scores.softmax(dim=-1)
    out = w.reshape(b, g, h // g, n_q, n_k) @ v.unsqueeze(2)
    return out.reshape(b, h, n_q, v.shape[-1])


def centred_and_eps_outside(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """Subtracts the mean, as layer normalisation does.
    eps is added to the root, not under it."""
    y = x - x.mean(-1, keepdim=True)
    rms = (y * y).mean(-1, keepdim=True).sqrt()
    return y / (rms + eps) * gain


def length_one_and_gain_around_one(x: Tensor, gain: Tensor, eps: float) -> Tensor:
    """Divides by the length of the vector: a sum of squares, not their mean.
    Multiplies by 1 + gain, as Gemma does."""
    scale = torch.rsqrt(torch.einsum("...d,...d->...", x, x) + eps)
    return (1 + gain) * x * scale.unsqueeze(-1)


def relu_on_the_wrong_branch(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    """Activates the up branch instead of the gate.
    ReLU instead of SiLU."""
    up = F.relu(x @ w_up)
    gate = x @ w_gate
    return (up * gate) @ w_down


def plain_glu_with_residual(x: Tensor, w_gate: Tensor, w_up: Tensor, w_down: Tensor) -> Tensor:
    """The gate is a sigmoid alone, not z times its sigmoid.
    x is added to the result."""
    g = 1 / (1 + torch.exp(-torch.matmul(x, w_gate)))
    h = g * torch.matmul(x, w_up)
    return x + torch.matmul(h, w_down)


def one_key_more_on_both_sides(n: int, window: int) -> Tensor:
    """The window keys before it and itself: one key too many.
    The window reaches into the future as well."""
    pos = torch.arange(n)
    return (pos.view(-1, 1) - pos.view(1, -1)).abs() <= window


def floats_with_keys_as_rows(n: int, window: int) -> Tensor:
    """Rows belong to keys and columns to queries.
    The mask is made of floats instead of booleans."""
    band = torch.zeros(n, n)
    for i in range(n):
        start = max(0, i - window + 1)
        band[start : i + 1, i] = 1.0
    return band


def output_not_rescaled_unscaled_scores(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """When the maximum grows the sum is rescaled, the output is not.
    The scores are not divided by sqrt(d)."""
    shape = q.shape[:-1]
    m = q.new_full((*shape, 1), -torch.inf)
    z = q.new_zeros((*shape, 1))
    acc = q.new_zeros((*shape, v.shape[-1]))
    blocks = zip(torch.split(k, block_size, -2), torch.split(v, block_size, -2), strict=True)
    for kb, vb in blocks:
        s = torch.einsum("...qd,...kd->...qk", q, kb)
        m_new = torch.maximum(m, s.max(dim=-1, keepdim=True).values)
        p = (s - m_new).exp()
        z = z * (m - m_new).exp() + p.sum(-1, keepdim=True)
        acc = acc + torch.einsum("...qk,...kd->...qd", p, vb)
        m = m_new
    return acc / z


def short_block_lost_divided_each_time(q: Tensor, k: Tensor, v: Tensor, block_size: int) -> Tensor:
    """The last block is left out when it is short.
    Divides by the sum after every block instead of once at the end."""
    n_k, d = k.shape[-2:]
    running_max = torch.full_like(q[..., 0], -float("inf"))
    running_sum = torch.zeros_like(running_max)
    out = q.new_zeros(*q.shape[:-1], v.shape[-1])
    for b in range(n_k // block_size):
        window = slice(b * block_size, (b + 1) * block_size)
        logits = q @ k[..., window, :].mT / d**0.5
        top = torch.maximum(running_max, logits.amax(-1))
        correction = torch.exp(running_max - top)
        e = torch.exp(logits - top[..., None])
        running_sum = running_sum * correction + e.sum(-1)
        out = out * correction[..., None] + e @ v[..., window, :]
        out = out / running_sum[..., None]
        running_max = top
    return out


def all_keys_and_not_normalised(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    """Every query sees all keys, later ones too.
    The weights are not divided by their sum."""
    summary = torch.einsum("bnr,bnd->brd", phi_k, v)
    return torch.einsum("bnr,brd->bnd", phi_q, summary)


def feature_map_again_divided_by_all(phi_q: Tensor, phi_k: Tensor, v: Tensor) -> Tensor:
    """Applies the feature map elu + 1 although it was applied already.
    The divisor sums over all keys, later ones too."""
    fq, fk = F.elu(phi_q) + 1, F.elu(phi_k) + 1
    everything = fk.sum(dim=1)
    state = torch.zeros_like(fk[:, 0, :, None] * v[:, 0, None, :])
    outs = []
    for t in range(v.shape[1]):
        state = state + fk[:, t, :, None] * v[:, t, None, :]
        top = (fq[:, t, None, :] @ state).squeeze(1)
        bottom = (fq[:, t] * everything).sum(-1, keepdim=True)
        outs.append(top / bottom)
    return torch.stack(outs, dim=1)


def bare_brackets_and_tags(tree: Any, words: list[str] | None = None) -> Any:
    """A closing bracket goes without its label.
    A word becomes its tag instead of XX."""
    if words is not None:
        stack: list[list[Any]] = []
        position = 0
        for token in tree:
            if token[0] == "(":
                stack.append([token[1:]])
            elif token[0] == ")":
                node = tuple(stack.pop())
                if not stack:
                    return node
                stack[-1].append(node)
            else:
                stack[-1].append(("XX", words[position]))
                position += 1
        return None

    out: list[str] = []
    if isinstance(tree[1], str):
        return [tree[0]]
    out.append("(" + tree[0])
    for child in tree[1:]:
        out.extend(bare_brackets_and_tags(child))
    out.append(")")
    return out


def no_punctuation_and_short_labels(tree: Any, words: list[str] | None = None) -> Any:
    """Punctuation is left out of the tokens.
    Labels are cut at the hyphen: NP-SBJ becomes NP."""

    def walk(node: Any) -> list[str]:
        if len(node) == 2 and isinstance(node[1], str):
            return ["XX"] if any(ch.isalnum() for ch in node[1]) else []
        name = node[0].split("-")[0]
        middle = []
        for child in node[1:]:
            middle += walk(child)
        return ["(" + name, *middle, ")" + name]

    if words is None:
        return walk(tree)

    tokens, left = list(tree), list(words)

    def parse() -> Any:
        token = tokens.pop(0)
        if token == "XX":
            return ("XX", left.pop(0))
        children = []
        while not tokens[0].startswith(")"):
            children.append(parse())
        tokens.pop(0)
        return (token[1:], *children)

    return parse()


ANSWERS: dict[str, list[Callable[..., object]]] = {
    "beyond.rope": [turned_back_in_halves, rows_counted_and_half_the_exponent],
    "beyond.alibi_bias": [heads_from_zero_and_positive, slopes_of_eight_heads_own_key_at_one],
    "beyond.grouped_query_attention": [groups_in_turn_unscaled, mask_turned_and_divided_by_d],
    "beyond.rms_norm": [centred_and_eps_outside, length_one_and_gain_around_one],
    "beyond.swiglu": [relu_on_the_wrong_branch, plain_glu_with_residual],
    "beyond.sliding_window_mask": [one_key_more_on_both_sides, floats_with_keys_as_rows],
    "beyond.tiled_attention": [
        output_not_rescaled_unscaled_scores,
        short_block_lost_divided_each_time,
    ],
    "beyond.linear_attention": [all_keys_and_not_normalised, feature_map_again_divided_by_all],
    "beyond.linearise_tree": [bare_brackets_and_tags, no_punctuation_and_short_labels],
}
