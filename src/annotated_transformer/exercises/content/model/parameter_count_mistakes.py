"""The wrong counts for `model.parameter_count`: each part left out, doubled or of another size."""

from collections.abc import Callable
from typing import Any

from annotated_transformer.exercises.content.faults import Fault, single, together, told_apart
from annotated_transformer.exercises.content.model.parameter_count_parts import (
    LEARNED_POSITIONS,
    ONE_TABLE,
    OTHER_FAULTS,
)
from annotated_transformer.exercises.exercise import Candidate, Mistake

Size = Callable[[int, int], int]


def _count(
    vocab_size: int,
    d_model: int,
    d_ff: int,
    n_layers: int,
    n_heads: int,
    *,
    table: Size = lambda v, d: v * d,
    attention: Size = lambda d, h: 4 * d * d,
    attention_biases: int = 0,
    in_encoder: int = 1,
    in_decoder: float = 2,
    inner: Size = lambda d, f: f,
    ffn_matrices: int = 2,
    ffn_biases: Size = lambda d, f: f + d,
    ffn_in_decoder: int = 1,
    norm: Size = lambda d, h: 2 * d,
    encoder_norms: int = 2,
    decoder_norms: int = 3,
    final_norms: int = 0,
    encoder_layers: Callable[[int], int] = lambda n: n,
    decoder_layers: Callable[[int], int] = lambda n: n,
    positions: int = 0,
    unit: Callable[[float], Any] = lambda total: total,
) -> Any:
    width = inner(d_model, d_ff)
    attend = attention(d_model, n_heads) + attention_biases * d_model
    ffn = ffn_matrices * d_model * width + ffn_biases(d_model, width)
    normalise = norm(d_model, n_heads)
    encoder = in_encoder * attend + ffn + encoder_norms * normalise
    decoder = in_decoder * attend + ffn_in_decoder * ffn + decoder_norms * normalise
    layers = encoder_layers(n_layers) * encoder + decoder_layers(n_layers) * decoder
    outside = table(vocab_size, d_model) + positions * d_model + final_norms * normalise
    return unit(layers + outside)


_HEADS = (
    "The attention weights are multiplied by n_heads. A head is only d_model / n_heads wide: the "
    "matrices of all heads together are (d_model, d_model), however many there are."
)
# Those that are often met, alone and together.
_COMMON = (
    Fault(
        "three-tables",
        {"table": lambda v, d: 3 * v * d},
        ONE_TABLE.format("three times"),
    ),
    Fault("two-tables", {"table": lambda v, d: 2 * v * d}, ONE_TABLE.format("twice")),
    Fault("times-heads", {"attention": lambda d, h: 4 * h * d * d}, _HEADS),
    Fault(
        "query-key-value-times-heads",
        {"attention": lambda d, h: (3 * h + 1) * d * d},
        "W^Q, W^K and W^V are multiplied by n_heads. A head's are (d_model, d_model / n_heads) "
        "each; those of all heads together are three times (d_model, d_model).",
    ),
    Fault(
        "no-output-projection",
        {"attention": lambda d, h: 3 * d * d},
        "The output projection W^O is missing: an attention has four matrices of d_model², W^Q, "
        "W^K, W^V and W^O.",
    ),
    Fault(
        "attention-biases",
        {"attention_biases": 4},
        "The attention projections are counted with biases (4 d_model an attention), which "
        "`nn.Linear` adds unless told not to. The paper's equations have none: each projection is "
        "a matrix alone.",
    ),
    Fault(
        "no-cross-attention",
        {"in_decoder": 1},
        "The decoder's second attention is missing: a decoder layer attends to itself and to the "
        "encoder's output, and each of the two has four matrices of its own.",
    ),
    Fault(
        "no-cross-attention-and-norm",
        {"in_decoder": 1, "decoder_norms": 2},
        "A decoder layer is counted like an encoder layer. It has a third sub-layer, attention to "
        "the encoder's output, with four matrices and a LayerNorm of its own.",
    ),
    Fault(
        "no-ffn-biases",
        {"ffn_biases": lambda d, f: 0},
        "The biases of the feed-forward network are missing: b_1 has d_ff numbers, b_2 has "
        "d_model, in every layer (equation 2 of the paper).",
    ),
    Fault(
        "no-norms",
        {"norm": lambda d, h: 0},
        "The LayerNorms are missing. Each has a gain and a bias of d_model numbers: 2 d_model, "
        "two in an encoder layer and three in a decoder layer.",
    ),
    Fault(
        "norm-without-bias",
        {"norm": lambda d, h: d},
        "A LayerNorm is counted with d_model numbers. It has a gain *and* a bias: 2 d_model.",
    ),
    Fault(
        "final-norms",
        {"final_norms": 2},
        "A final LayerNorm is counted after each stack. That belongs to pre-norm models and to "
        "`torch.nn.Transformer`; in the paper every LayerNorm follows a sub-layer.",
    ),
    Fault(
        "two-norms-in-decoder",
        {"decoder_norms": 2},
        "2 d_model are missing in an encoder and a decoder layer together: one LayerNorm (two in "
        "an encoder layer, three in a decoder layer), or the second bias of both feed-forward "
        "networks, b_2, which has d_model numbers.",
    ),
    Fault(
        "output-bias",
        {"table": lambda v, d: v * d + v},
        "A bias of vocab_size numbers is counted at the output. The output layer is the shared "
        "table alone.",
    ),
    Fault(
        "output-apart-with-bias",
        {"table": lambda v, d: 2 * v * d + v},
        "The output layer is counted apart, with a bias. It is the embedding table itself: "
        "vocab_size · d_model counts once, and there is no bias.",
    ),
    Fault(
        "three-tables-with-bias",
        {"table": lambda v, d: 3 * v * d + v},
        "Three tables and a bias at the output are counted. " + ONE_TABLE.format("three times"),
    ),
    Fault(
        "no-table",
        {"table": lambda v, d: 0},
        "The table of embeddings is missing: vocab_size · d_model trained numbers, once.",
    ),
    Fault(
        "final-norm",
        {"final_norms": 1},
        "One LayerNorm is counted outside of the layers. In the paper every LayerNorm follows a "
        "sub-layer; a final one belongs to pre-norm models.",
    ),
    Fault(
        "512-positions",
        {"positions": 512},
        LEARNED_POSITIONS.format(512),
    ),
    Fault(
        "5000-positions",
        {"positions": 5000},
        LEARNED_POSITIONS.format(5000),
    ),
)
_CORE = tuple(
    fault
    for fault in _COMMON
    if fault.name
    in (
        *("two-tables", "three-tables", "output-bias", "three-tables-with-bias"),
        *("output-apart-with-bias", "times-heads", "attention-biases", "no-cross-attention"),
        *("no-cross-attention-and-norm", "no-ffn-biases", "no-norms", "final-norms"),
    )
)

_PROBES = ((11, 4, 6, 1, 2), (10, 6, 8, 2, 3), (50, 8, 20, 3, 4), (37, 10, 23, 5, 5))


def mistakes_against(reference: Candidate) -> tuple[Mistake, ...]:
    """Each fault alone, the common ones in twos, a few of them in threes."""
    mistakes = [
        *single(_count, (*_COMMON, *OTHER_FAULTS)),
        *together(_count, _COMMON, 2),
        *together(_count, _CORE, 3),
    ]
    return told_apart(mistakes, reference, _PROBES)
