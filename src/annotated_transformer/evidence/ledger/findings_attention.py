"""Sections 3.2 and 4 against our code: attention, its heads, its cost."""

import math
from functools import cache

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.attention import MultiHeadAttention, scaled_dot_product_attention
from annotated_transformer.benchmark.dispatch import TorchDispatchMode
from annotated_transformer.encoder import EncoderLayer
from annotated_transformer.evidence.ledger.facts import load_facts
from annotated_transformer.evidence.ledger.measuring import (
    SMALL,
    build_without_weights,
    equality,
    normal,
)
from annotated_transformer.evidence.ledger.rows import Finding
from annotated_transformer.masks import causal_mask

SEEDS = range(5)


def attention_formula() -> Finding:
    """Equation 1 with loops, one query and one key at a time."""
    query, key, value = normal(5, 8, seed=1), normal(7, 8, seed=2), normal(7, 3, seed=3)
    rows = []
    for q in query:
        scores = [float(q @ k) / math.sqrt(8) for k in key]
        exponentials = [math.exp(score) for score in scores]
        weights = [e / sum(exponentials) for e in exponentials]
        rows.append(torch.stack([w * v for w, v in zip(weights, value, strict=True)]).sum(0))
    ours, _ = scaled_dot_product_attention(query, key, value)
    return equality("`scaled_dot_product_attention` against loops", ours, torch.stack(rows), 1e-12)


@cache
def product_variance() -> Finding:
    """The mean and variance of q·k over 20,000 pairs, for five seeds."""
    parts, agrees = [], True
    for d_k in (16, 64):
        products = [
            normal(2, 20_000, d_k, seed=seed).prod(0).sum(-1)  # q and k from one stream of draws
            for seed in SEEDS
        ]
        variances = [product.var().item() for product in products]
        mean = sum(product.mean().item() for product in products) / len(products)
        average = sum(variances) / len(variances)
        agrees &= abs(average / d_k - 1) < 0.02 and abs(mean) < 0.05 * math.sqrt(d_k)
        parts.append(
            f"d_k = {d_k}: variance {average:.1f} "
            f"({min(variances):.1f} to {max(variances):.1f} over {len(variances)} seeds)"
        )
    return Finding("; ".join(parts), agrees)


@cache
def scaled_deviation() -> Finding:
    """The standard deviation of q·k / sqrt(d_k) at d_k = 64."""
    products = normal(2, 20_000, 64).prod(0).sum(-1)
    scaled = (products / math.sqrt(64)).std().item()
    return Finding(
        f"standard deviation of the scores at d_k = 64: {products.std().item():.1f} before, "
        f"{scaled:.2f} after",
        abs(scaled - 1) < 0.02,
    )


@cache
def saturation() -> Finding:
    """How much gradient the softmax passes on to q·k, with and without the scale.

    The measure is chapter 2's: the norm of the Jacobian with respect to q·k itself, which for
    scaled scores is the one with respect to the scores times 1 / sqrt(d_k).
    """

    def norms(d_k: int, scale: float) -> tuple[Tensor, float]:
        scores = (normal(2_000, 1, d_k, seed=4) * normal(2_000, 10, d_k, seed=5)).sum(-1) * scale
        p = scores.softmax(-1)  # (queries, 10 keys)
        jacobian = torch.diag_embed(p) - p[:, :, None] * p[:, None, :]
        saturated = (p.amax(-1) > 0.99).double().mean().item()
        return jacobian.flatten(1).norm(dim=-1) * scale, saturated  # (queries,)

    parts, medians = [], {}
    for d_k in (16, 512):
        without, saturated = norms(d_k, 1.0)
        with_scale, _ = norms(d_k, d_k**-0.5)
        medians[d_k] = (without.median().item(), with_scale.median().item())
        parts.append(
            f"d_k = {d_k}: median {medians[d_k][0]:.2g} without the scale, {medians[d_k][1]:.2g} "
            f"with it; mean {without.mean().item():.2g} without, {with_scale.mean().item():.2g} "
            f"with; {saturated:.0%} of the queries without it give one key more than 99 %"
        )
    largest = without.sort(descending=True).values
    share = (largest[: len(largest) // 10].sum() / largest.sum()).item()
    return Finding(
        "norm of the softmax's Jacobian with respect to q·k, 2,000 queries with 10 keys, normal "
        f"vectors. {'. '.join(parts)}. So at d_k = 512 the typical query has lost its gradient, as "
        "the paper suspects, and the mean has not: the tenth of the queries with the largest "
        f"norms, none of them saturated, carries {share:.0%} of it. At d_k = 16 the scale makes "
        "both smaller",
        medians[512][0] < medians[512][1] / 10 and medians[16][0] > medians[16][1],
    )


def projection_shapes() -> Finding:
    """The shapes of the base model's four projections, a head at a time."""
    attention = _base_attention()
    h = attention.num_heads
    d_model = attention.query_projection.in_features
    widths = [
        layer.out_features // h
        for layer in (
            attention.query_projection,
            attention.key_projection,
            attention.value_projection,
        )
    ]
    output = attention.output_projection
    return Finding(
        f"{h} × ({d_model} × {widths[0]}, {d_model} × {widths[1]}, {d_model} × {widths[2]}) and "
        f"{output.in_features} × {output.out_features}",
        output.in_features == h * widths[2] and output.out_features == d_model,
    )


def count_multiply_adds(num_heads: int, n: int, d_model: int, whole_layer: bool = True) -> int:
    """Multiply-adds of one self-attention over n positions, projections included or not."""
    layer = MultiHeadAttention(d_model, num_heads)
    layer.keep_weights = True  # the teaching path: plain matrix products, which can be counted
    x = torch.zeros(1, n, d_model)
    queries = layer.project_query(x)
    keys, values = layer.project_key_value(x, x)
    with FlopCounterMode(display=False) as counter:
        if whole_layer:
            layer(x, x, x)
        else:
            layer.attend(queries, keys, values)
    return counter.get_total_flops() // 2


def cost_of_heads() -> Finding:
    """Matrix products of eight narrow heads against one wide head."""
    many, one = count_multiply_adds(8, 50, 512), count_multiply_adds(1, 50, 512)
    return Finding(
        f"n = 50, d_model = 512: {many:,} multiply-adds with 8 heads, {one:,} with 1", many == one
    )


def masked_weights() -> Finding:
    """Forbidden weights are exactly zero, and what stands there cannot reach the output."""
    query, key, value = normal(6, 8, seed=1), normal(6, 8, seed=2), normal(6, 8, seed=3)
    mask = causal_mask(6)
    _, weights = scaled_dot_product_attention(query, key, value, mask)
    return Finding("forbidden weights are exactly 0", bool((weights[~mask] == 0).all()))


def _base_attention() -> MultiHeadAttention:
    attention = build_without_weights().get_submodule("encoder.layers.0.self_attention")
    assert isinstance(attention, MultiHeadAttention)
    return attention


def heads_of_base() -> float:
    """h of the base model."""
    return _base_attention().num_heads


def d_k_of_base() -> float:
    """Columns of one head in the base model's query projection."""
    attention = _base_attention()
    return attention.query_projection.out_features / attention.num_heads


def d_v_of_base() -> float:
    """Columns of one head in the base model's value projection."""
    attention = _base_attention()
    return attention.value_projection.out_features / attention.num_heads


def uses_of_attention() -> Finding:
    """The kinds of attention module in the model."""
    model = build_without_weights()
    kinds = sorted(
        {
            f"{name.split('.')[0]} {name.split('.')[-1].replace('_', '-')}"
            for name, module in model.named_modules()
            if isinstance(module, MultiHeadAttention)
        }
    )
    return Finding(", ".join(kinds), len(kinds) == load_facts()["s3_2_3.uses"].value)


def cost_exponents() -> Finding:
    """How the counted cost of attending grows when n or d doubles."""
    start = count_multiply_adds(1, 64, 64, whole_layer=False)
    in_n = math.log2(count_multiply_adds(1, 128, 64, whole_layer=False) / start)
    in_d = math.log2(count_multiply_adds(1, 64, 128, whole_layer=False) / start)
    return Finding(
        f"counted multiply-adds grow as n^{in_n:.2f} · d^{in_d:.2f} (projections not counted)",
        in_n == 2 and in_d == 1,
    )


class _OperationCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the tensor operations that run while it is active."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        self.operations += 1
        return func(*args, **(kwargs or {}))


@torch.no_grad()
def sequential_operations() -> Finding:
    """How many tensor operations follow each other, at three lengths."""
    layer = MultiHeadAttention(64, 4)
    layer.keep_weights = True
    counts = []
    for n in (8, 64, 512):
        with _OperationCounter() as counter:
            x = torch.zeros(1, n, 64)
            layer(x, x, x)
        counts.append(counter.operations)
    return Finding(
        "the same number of tensor operations at n = 8, 64 and 512", len(set(counts)) == 1
    )


def path_length() -> Finding:
    """How many inputs one output depends on after a single layer, by gradients."""
    layer = EncoderLayer(SMALL).double().eval()
    x = normal(1, 64, 16).requires_grad_()
    (gradient,) = torch.autograd.grad(layer(x)[0, 0].sin().sum(), x)
    reached = int((gradient.abs().sum(-1) > 0).sum())
    return Finding(
        f"after one layer the first output depends on {reached} of 64 inputs", reached == 64
    )
