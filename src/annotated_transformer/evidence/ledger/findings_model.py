"""The rest of section 3 and the dropout of 5.4 against our code: stacks, embeddings, positions."""

import math
from typing import Any

import torch
from torch import nn

from annotated_transformer.embeddings import Embedding
from annotated_transformer.evidence.ledger.facts import load_facts
from annotated_transformer.evidence.ledger.measuring import (
    SMALL,
    build_without_weights,
    equality,
    normal,
)
from annotated_transformer.evidence.ledger.rows import Finding
from annotated_transformer.feed_forward import FeedForward
from annotated_transformer.positional import SinusoidalPositions, sinusoidal_encoding
from annotated_transformer.residual import LayerNorm, ResidualConnection, layer_norm
from annotated_transformer.transformer import Transformer


def d_model_of_base() -> float:
    """The width that every part of the base model shares.

    Raises:
        ValueError: if two parts differ in width.
    """
    model = build_without_weights()
    widths = {norm.gamma.numel() for norm in model.modules() if isinstance(norm, LayerNorm)}
    widths |= {model.source_embedding.table.embedding_dim, model.projection.in_features}
    if len(widths) > 1:
        raise ValueError(f"The base model has several widths: {sorted(widths)}.")
    return widths.pop()


def d_ff_of_base() -> float:
    """Inner width of the base model's feed-forward networks."""
    layer: Any = build_without_weights().encoder.layers[0]
    return int(layer.feed_forward.inner.out_features)


def modules_of_figure_1() -> Finding:
    """The top level of our module, in the order of the drawing."""
    names = [name for name, _ in build_without_weights().named_children()]
    text = ", ".join(f"`{name}`" for name in names)
    expected = ["source_embedding", "target_embedding", "encoder", "decoder", "projection"]
    return Finding(f"{text}; the softmax is left to the loss and the search", names == expected)


def encoder_sublayers() -> Finding:
    """The sub-layers of an encoder layer, by the names of its modules."""
    return _sublayers(build_without_weights().encoder.layers[0], 2)


def decoder_sublayers() -> Finding:
    """The sub-layers of a decoder layer, by the names of its modules."""
    return _sublayers(build_without_weights().decoder.layers[0], 3)


def _sublayers(layer: nn.Module, expected: int) -> Finding:
    names = [name for name, _ in layer.named_children() if name != "residuals"]
    return Finding(", then ".join(f"`{name}`" for name in names), len(names) == expected)


def post_norm() -> Finding:
    """A residual connection against LayerNorm(x + Sublayer(x)) written out."""
    connection = ResidualConnection(16, dropout=0.0).double()
    x = normal(2, 5, 16)
    ones, zeros = torch.ones(16).double(), torch.zeros(16).double()
    formula = layer_norm(x + x.sin(), ones, zeros)
    return equality(
        "`ResidualConnection` against the formula", connection(x, torch.sin), formula, 1e-12
    )


@torch.no_grad()
def mask_and_shift() -> Finding:
    """Change one output token at a time, and see which predictions move."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = Transformer(SMALL).double().eval()
    src = torch.tensor([[3, 4, 5, 2]])
    tgt = torch.tensor([[1, 3, 4, 5, 6, 7]])  # row i of the logits predicts output token i + 1
    before = model(src, tgt)
    strictly_before = True
    for position in range(1, tgt.size(1)):
        changed = tgt.clone()
        changed[0, position] = 9
        moved = (model(src, changed) - before).abs().sum(-1)[0] > 0  # (n,)
        strictly_before &= moved.tolist() == [i >= position for i in range(tgt.size(1))]
    return Finding(
        "changing output token i moves the predictions of the tokens after i and no others "
        f"(every i of {tgt.size(1) - 1})",
        strictly_before,
    )


def feed_forward_formula() -> Finding:
    """Equation 2 at every position by itself."""
    network = FeedForward(8, 32).double()
    x = normal(2, 5, 8)
    inner, outer = network.inner, network.outer
    formula = torch.stack(
        [
            torch.stack(
                [
                    outer.weight @ (inner.weight @ row + inner.bias).clamp(min=0) + outer.bias
                    for row in sentence
                ]
            )
            for sentence in x
        ]
    )
    return equality("`FeedForward` against the formula, row by row", network(x), formula, 1e-12)


def tied_embeddings() -> Finding:
    """One parameter in three places."""
    model = build_without_weights()
    table = model.projection.weight
    tied = (
        model.source_embedding.table.weight is table
        and model.target_embedding.table.weight is table
    )
    return Finding(f"one matrix of {table.size(0):,} × {table.size(1)} in three places", tied)


def embedding_scale() -> Finding:
    """What an embedding without positions returns, divided by its row of the table."""
    table = nn.Embedding(11, 16, dtype=torch.float64)
    tokens = torch.arange(11)[None]
    embedded = Embedding(table, None, dropout=0.0)(tokens)
    return equality(
        "`Embedding` against √d_model · table", embedded, math.sqrt(16) * table(tokens), 1e-12
    )


def sinusoid_formula() -> Finding:
    """The printed formula, one entry at a time."""
    d_model, n = 32, 50
    formula = torch.tensor(
        [
            [
                (math.sin if column % 2 == 0 else math.cos)(
                    pos / 10000 ** (2 * (column // 2) / d_model)
                )
                for column in range(d_model)
            ]
            for pos in range(n)
        ]
    )
    ours = sinusoidal_encoding(n, d_model)
    return equality("`sinusoidal_encoding` against the formula (float32)", ours, formula, 1e-6)


def wavelengths() -> Finding:
    """First and last wavelength at d_model = 512, from the angle of position 1."""
    at_one = sinusoidal_encoding(2, 512)[1].double()
    sines, cosines = at_one[0::2], at_one[1::2]
    lengths = 2 * math.pi / torch.atan2(sines, cosines)
    claimed = 2 * math.pi * 10000
    return Finding(
        f"{lengths[0].item():.2f} to {lengths[-1].item():,.0f} positions at d_model = 512; "
        f"10000·2π would be {claimed:,.0f}",
        abs(lengths[-1].item() / claimed - 1) < 0.01,
    )


def linear_shift() -> Finding:
    """One matrix, a rotation of every pair, that moves any position by k = 7."""
    d_model, k = 64, 7
    encoding = sinusoidal_encoding(500, d_model).double()
    shift = torch.zeros(d_model, d_model, dtype=torch.float64)
    for even in range(0, d_model, 2):
        angle = k / 10000 ** (even / d_model)
        shift[even, even] = shift[even + 1, even + 1] = math.cos(angle)
        shift[even, even + 1], shift[even + 1, even] = math.sin(angle), -math.sin(angle)
    moved = encoding[:-k] @ shift.T
    return equality(f"one matrix for k = {k} maps all of 493 positions", moved, encoding[k:], 1e-6)


def no_longest_sentence() -> Finding:
    """Sinusoids are made for any length; chapter 4 measures what quality is left there."""
    positions = SinusoidalPositions(16, n_positions=8)
    grown = positions(5_000)
    return Finding(f"made for {grown.size(0):,} positions without retraining")


def residual_dropout() -> Finding:
    """A residual connection in training against LayerNorm(x + Dropout(Sublayer(x)))."""
    connection = ResidualConnection(16, dropout=0.5).double()
    x = normal(2, 5, 16)
    ones, zeros = torch.ones(16).double(), torch.zeros(16).double()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        ours = connection(x, torch.sin)
        torch.manual_seed(0)
        dropped = nn.functional.dropout(x.sin(), 0.5)
    formula = layer_norm(x + dropped, ones, zeros)
    return equality("`ResidualConnection` in training against the formula", ours, formula, 1e-12)


def embedding_dropout() -> Finding:
    """Both embeddings of the base model drop out their sum with the positions."""
    model = build_without_weights()
    rates = {model.source_embedding.dropout.p, model.target_embedding.dropout.p}
    return Finding(
        f"dropout {', '.join(map(str, sorted(rates)))} on the sum in the encoder and the decoder",
        rates == {load_facts()["s5_4.p_drop_base"].value},
    )
