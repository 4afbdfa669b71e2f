"""`model.parameter_count`: where the weights of the paper's model are (sections 3.1 to 3.5)."""

import torch
from torch import nn

from annotated_transformer.exercises.content.model.parameter_count_mistakes import mistakes_against
from annotated_transformer.exercises.exercise import Call, Case, Exercise, call


def transformer_parameter_count(
    vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_heads: int
) -> int:
    table = vocab_size * d_model  # shared by source, target and output
    attention = 4 * d_model * d_model  # W^Q, W^K, W^V and W^O; the heads share them out
    feed_forward = d_model * d_ff + d_ff + d_ff * d_model + d_model  # W_1, b_1, W_2, b_2
    norm = 2 * d_model  # gain and bias
    encoder_layer = attention + feed_forward + 2 * norm
    decoder_layer = 2 * attention + feed_forward + 3 * norm  # one more: cross-attention
    return table + n_layers * (encoder_layer + decoder_layer)


def _head_by_head(vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_heads: int) -> int:
    d_k = d_model // n_heads
    total = vocab_size * d_model
    for n_attentions in (1, 2):  # in a layer of the encoder, of the decoder
        for _ in range(n_layers):
            for _ in range(n_attentions):
                total += sum(3 * d_model * d_k for _ in range(n_heads))
                total += n_heads * d_k * d_model
            total += d_model * d_ff + d_ff
            total += d_ff * d_model + d_model
            total += (n_attentions + 1) * 2 * d_model
    return total


def _by_one_formula(v: int, d: int, d_ff: int, n: int, h: int) -> int:
    return v * d + n * (12 * d**2 + 4 * d * d_ff + 2 * (d_ff + d) + 10 * d)


def _by_shapes(vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_heads: int) -> int:
    attention = [(d_model, d_model)] * 4
    feed_forward = [(d_model, d_ff), (d_ff,), (d_ff, d_model), (d_model,)]
    norm = [(d_model,), (d_model,)]
    encoder = attention + norm + feed_forward + norm
    decoder = attention + norm + attention + norm + feed_forward + norm
    shapes = [(vocab_size, d_model)] + (encoder + decoder) * n_layers
    return sum(torch.Size(shape).numel() for shape in shapes)


def _by_building_it(vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_heads: int) -> int:
    def attention() -> nn.Module:
        return nn.MultiheadAttention(d_model, n_heads, bias=False)

    def feed_forward() -> nn.Module:
        return nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    parts: list[nn.Module] = [nn.Embedding(vocab_size, d_model)]
    for _ in range(n_layers):
        parts += [attention(), feed_forward(), nn.LayerNorm(d_model), nn.LayerNorm(d_model)]
        parts += [attention(), attention(), feed_forward()]
        parts += [nn.LayerNorm(d_model) for _ in range(3)]
    return sum(weight.numel() for part in parts for weight in part.parameters())


def _sizes(vocab_size: int, d_model: int, d_ff: int, n_layers: int, n_heads: int) -> Case:
    def make(generator: torch.Generator, dtype: torch.dtype) -> Call:
        return call(vocab_size, d_model, d_ff, n_layers, n_heads)

    name = (
        f"vocab_size {vocab_size}, d_model {d_model}, d_ff {d_ff}, n_layers {n_layers}, "
        f"n_heads {n_heads}"
    )
    return Case(name, make, rtol=1e-9, atol=1e-9)


PARAMETER_COUNT = Exercise(
    id="model.parameter_count",
    title="Count the parameters",
    kind="number",
    difficulty=3,
    minutes=15,
    signature=(
        "transformer_parameter_count(vocab_size: int, d_model: int, d_ff: int, n_layers: int, "
        "n_heads: int) -> int"
    ),
    statement=(
        "Count the trained numbers of the paper's model: n_layers layers in the encoder and as "
        "many in the decoder. Attention projections have no bias, the feed-forward network has "
        "both biases, every LayerNorm has a gain and a bias, one table is shared by source, "
        "target and output, and positions are fixed. Post-norm: a LayerNorm after each sub-layer "
        "and none besides. d_model is a multiple of n_heads."
    ),
    objective="Say where the weights of a Transformer are, and check a printed count by hand.",
    prerequisite="decoder.layer",
    hints=(
        "Write down the shape of every matrix and vector of one encoder layer. Which does a "
        "decoder layer have besides?",
        "A head is d_model / n_heads wide. How many numbers have the matrices W^Q of all heads "
        "together? Do you need n_heads at all?",
        "One attention: 4 d_model². One feed-forward network: 2 d_model d_ff + d_ff + d_model. "
        "One LayerNorm: 2 d_model. An encoder layer has 1, 1 and 2 of them, a decoder layer 2, 1 "
        "and 3; the table is vocab_size d_model, once.",
    ),
    reference=transformer_parameter_count,
    explanation=(
        "The heads cut d_model into pieces of d_k = d_model / n_heads, so h matrices (d_model, "
        "d_k) are together (d_model, d_model): n_heads changes nothing. With the base sizes and "
        "a vocabulary of 37,000 the count is 63,045,632: 18.9 million in the table, 18.9 million "
        "in attention, 25.2 million in the feed-forward networks. The paper prints 65 million; "
        "the size of its vocabulary is given only as about 37,000."
    ),
    cases=(
        _sizes(11, 4, 6, 1, 2),
        _sizes(10, 6, 8, 2, 3),
        _sizes(50, 8, 20, 3, 4),
        _sizes(7, 12, 5, 2, 1),
        _sizes(100, 16, 64, 4, 2),
        _sizes(37, 10, 23, 5, 5),
    ),
    mistakes=mistakes_against(transformer_parameter_count),
    alternatives=(_head_by_head, _by_one_formula, _by_shapes, _by_building_it),
    starter=(
        "def transformer_parameter_count(vocab_size, d_model, d_ff, n_layers, n_heads):\n"
        '    """Five whole numbers -> how many numbers are trained in the paper\'s model."""\n'
        "    ...  # your code"
    ),
)
