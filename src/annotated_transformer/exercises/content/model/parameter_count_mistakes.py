"""The mistakes of `model.parameter_count`: each part left out, doubled or of another size.

The count is written once, with every part that can be wrong as a keyword option, and each wrong
option is a `Fault`. Two at once are two options at once, and what to say to them is what is said to
each.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from annotated_transformer.exercises.exercise import Candidate, Mistake

Size = Callable[[int, int], int]


@dataclass(frozen=True)
class Fault:
    """One wrong step: options of the computation, and what to say to it."""

    name: str
    options: Mapping[str, Any]
    sentence: str


def single(computation: Candidate, faults: Iterable[Fault]) -> list[Mistake]:
    """A mistake for each fault alone."""
    return [Mistake(f.name, partial(computation, **f.options), f.sentence) for f in faults]


def combined(computation: Candidate, faults: Iterable[Fault], number: int) -> list[Mistake]:
    """A mistake for every `number` faults that are about different steps."""
    mistakes = []
    for chosen in combinations(faults, number):
        options = [option for fault in chosen for option in fault.options.items()]
        if len(dict(options)) == len(options):
            name = "+".join(fault.name for fault in chosen)
            sentence = " ".join(fault.sentence for fault in chosen)
            mistakes.append(Mistake(name, partial(computation, **dict(options)), sentence))
    return mistakes


def told_apart(
    mistakes: Iterable[Mistake], reference: Candidate, probes: Sequence[tuple[Any, ...]]
) -> tuple[Mistake, ...]:
    """The mistakes without those that do what the reference or an earlier one does on the probes.

    Two faults may cancel each other, or do together what a third does alone: its own sentence,
    which comes first, says it better.
    """
    seen = {_results(reference, probes)}
    kept = []
    for mistake in mistakes:
        results = _results(mistake.implementation, probes)
        if results not in seen:
            seen.add(results)
            kept.append(mistake)
    return tuple(kept)


def _results(function: Callable[..., Any], probes: Sequence[tuple[Any, ...]]) -> tuple[str, ...]:
    return tuple(_result(function, probe) for probe in probes)


def _result(function: Callable[..., Any], probe: tuple[Any, ...]) -> str:
    try:
        return repr(function(*probe))
    except Exception as error:
        return type(error).__name__


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


_ONE_TABLE = (
    "One table is shared by source, target and output: vocab_size · d_model counts once, not {}."
)
_FEW_NORMS = (
    "Every sub-layer is followed by its own LayerNorm: two in an encoder layer, three in a decoder "
    "layer."
)
_LEARNED_POSITIONS = (
    "A table of {} positions is counted. The sinusoids are computed, not trained, whatever length "
    "is computed in advance."
)
_HEADS = (
    "The attention weights are multiplied by n_heads. A head is only d_model / n_heads wide: the "
    "matrices of all heads together are (d_model, d_model), however many there are."
)
# Those that are often met, alone and together.
_COMMON = (
    Fault(
        "three-tables",
        {"table": lambda v, d: 3 * v * d},
        _ONE_TABLE.format("three times"),
    ),
    Fault("two-tables", {"table": lambda v, d: 2 * v * d}, _ONE_TABLE.format("twice")),
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
        "Three tables and a bias at the output are counted. " + _ONE_TABLE.format("three times"),
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
        _LEARNED_POSITIONS.format(512),
    ),
    Fault(
        "5000-positions",
        {"positions": 5000},
        _LEARNED_POSITIONS.format(5000),
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
# Those that are met alone.
_OTHER_FAULTS = (
    *(
        Fault(f"{length}-positions", {"positions": length}, _LEARNED_POSITIONS.format(length))
        for length in (50, 60, 64, 100, 128, 256, 1000, 1024, 2048, 4096, 10_000)
    ),
    Fault(
        "table-without-width",
        {"table": lambda v, d: v},
        "The table is counted as vocab_size numbers. It has a row of d_model numbers for each "
        "token: vocab_size · d_model.",
    ),
    Fault(
        "one-head-only",
        {"attention": lambda d, h: 4 * d * (d // h)},
        "An attention is counted with 4 · d_model · d_k: the matrices of a single head, or those "
        "of all heads as (d_k, d_k), as if each saw a slice of the input. Each of the n_heads "
        "heads projects all d_model numbers to d_k; together that is (d_model, d_model).",
    ),
    Fault(
        "one-head-and-output",
        {"attention": lambda d, h: 3 * d * (d // h) + d * d},
        "W^Q, W^K and W^V are counted with d_model · d_k numbers each: those of a single head, or "
        "of all heads as (d_k, d_k), as if each saw a slice of the input. Each of the n_heads "
        "heads projects all d_model numbers to d_k; together that is (d_model, d_model).",
    ),
    Fault(
        "output-projection-of-one-head",
        {"attention": lambda d, h: 3 * d * d + d * (d // h)},
        "W^O is counted as (d_k, d_model). It takes the results of all heads side by side: "
        "h · d_k = d_model rows, so d_model².",
    ),
    Fault(
        "output-projection-times-heads",
        {"attention": lambda d, h: 3 * d * d + h * d * d},
        "W^O is multiplied by n_heads. There is one for all heads together, (h · d_k, d_model), "
        "which is d_model².",
    ),
    Fault(
        "one-attention-matrix",
        {"attention": lambda d, h: d * d},
        "One matrix is counted for an attention. It has four: W^Q, W^K, W^V and W^O.",
    ),
    Fault(
        "two-attention-matrices",
        {"attention": lambda d, h: 2 * d * d},
        "6 d_model² are counted for the attentions of an encoder and a decoder layer, as if each "
        "had two matrices. There are three attentions, cross-attention included, with four "
        "matrices each, W^Q, W^K, W^V and W^O: 12 d_model².",
    ),
    Fault(
        "five-attention-matrices",
        {"attention": lambda d, h: 5 * d * d},
        "Five matrices are counted for an attention. It has four: W^Q, W^K, W^V and W^O.",
    ),
    Fault(
        "no-attention",
        {"attention": lambda d, h: 0},
        "The attention matrices are missing: four of d_model² in each attention.",
    ),
    Fault(
        "three-attention-biases",
        {"attention_biases": 3},
        "The projections of queries, keys and values are counted with biases. The paper's "
        "projections are matrices alone.",
    ),
    Fault(
        "output-projection-bias",
        {"attention_biases": 1},
        "W^O is counted with a bias. The paper's projections are matrices alone.",
    ),
    Fault(
        "cross-attention-in-encoder",
        {"in_encoder": 2},
        "One attention too many is counted: two in an encoder layer, or three in a decoder layer. "
        "The encoder has self-attention only; the decoder has that and attention to the encoder's "
        "output, and its third sub-layer is the feed-forward network.",
    ),
    Fault(
        "encoder-like-decoder",
        {"in_encoder": 2, "encoder_norms": 3},
        "An encoder layer is counted like a decoder layer. It has no cross-attention: one "
        "attention, one feed-forward network, two LayerNorms.",
    ),
    Fault(
        "no-self-attention-in-decoder",
        {"in_decoder": 0},
        "A decoder layer is counted without attention. It has two, masked self-attention and "
        "attention to the encoder's output.",
    ),
    Fault(
        "no-decoder-ffn",
        {"ffn_in_decoder": 0},
        "The decoder's feed-forward networks are missing: every layer of both stacks has one.",
    ),
    Fault(
        "two-decoder-ffns",
        {"ffn_in_decoder": 2},
        "A decoder layer is counted with two feed-forward networks. It has two attentions and one "
        "feed-forward network.",
    ),
    Fault(
        "one-ffn-matrix",
        {"ffn_matrices": 1},
        "One matrix of the feed-forward network is missing: W_1 is (d_model, d_ff) and W_2 "
        "(d_ff, d_model), so 2 d_model d_ff.",
    ),
    Fault(
        "three-ffn-matrices",
        {"ffn_matrices": 3},
        "The feed-forward network is counted with three matrices, as gated ones have. The paper's "
        "has two, W_1 and W_2.",
    ),
    Fault(
        "no-ffn",
        {"ffn_matrices": 0, "ffn_biases": lambda d, f: 0},
        "The feed-forward networks are missing: 2 d_model d_ff + d_ff + d_model in every layer.",
    ),
    Fault(
        "ffn-biases-only",
        {"ffn_matrices": 0},
        "Of the feed-forward network only the biases are counted. Its matrices are 2 d_model d_ff.",
    ),
    Fault(
        "four-times-d_model",
        {"inner": lambda d, f: 4 * d},
        "d_ff is taken as 4 d_model instead of from the argument. That is so in the base model "
        "(2048 = 4 · 512), not in every row of Table 3.",
    ),
    Fault(
        "2048",
        {"inner": lambda d, f: 2048},
        "d_ff is fixed at 2048 in the code instead of taken from the argument.",
    ),
    Fault(
        "second-ffn-bias-only",
        {"ffn_biases": lambda d, f: d},
        "The first bias of the feed-forward network is missing: b_1 has d_ff numbers.",
    ),
    Fault(
        "ffn-biases-both-inner",
        {"ffn_biases": lambda d, f: 2 * f},
        "Both biases of the feed-forward network are counted with d_ff numbers. The second, b_2, "
        "is added to the result, which is d_model wide.",
    ),
    Fault(
        "ffn-biases-both-outer",
        {"ffn_biases": lambda d, f: 2 * d},
        "Both biases of the feed-forward network are counted with d_model numbers. The first, "
        "b_1, is added to the inner layer, which is d_ff wide.",
    ),
    Fault(
        "scalar-norms",
        {"norm": lambda d, h: 2},
        "A LayerNorm is counted with two numbers. Gain and bias have one number for each of the "
        "d_model coordinates: 2 d_model.",
    ),
    Fault(
        "norm-of-a-head",
        {"norm": lambda d, h: 2 * (d // h)},
        "A LayerNorm is counted with the width of a head. It works on the whole vector: 2 d_model.",
    ),
    Fault(
        "norm-with-statistics",
        {"norm": lambda d, h: 4 * d},
        "A LayerNorm is counted with 4 d_model numbers (or biases are counted in the attention "
        "projections and one LayerNorm is not). Mean and variance are computed, not trained: gain "
        "and bias are 2 d_model, five times in an encoder and a decoder layer.",
    ),
    Fault(
        "one-norm-a-layer",
        {"encoder_norms": 1, "decoder_norms": 1},
        _FEW_NORMS + " Each has a gain and a bias, 2 d_model.",
    ),
    Fault(
        "cross-attention-of-two-matrices",
        {"in_decoder": 1.5},
        "Cross-attention is counted with two matrices. It has four of its own like every "
        "attention: W^Q for the decoder's side, W^K and W^V for the encoder's, and W^O.",
    ),
    Fault(
        "cross-attention-of-three-matrices",
        {"in_decoder": 1.75},
        "Cross-attention is counted with three matrices. It has four of its own like every "
        "attention: W^Q for the decoder's side, W^K and W^V for the encoder's, and W^O.",
    ),
    Fault(
        "no-ffn-and-no-norms",
        {"ffn_matrices": 0, "ffn_biases": lambda d, f: 0, "norm": lambda d, h: 0},
        "Only attention and the table are counted, 12 d_model² for an encoder and a decoder "
        "layer. Add the feed-forward networks, 2 d_model d_ff + d_ff + d_model in each layer, and "
        "the LayerNorms, 2 d_model each.",
    ),
    Fault(
        "no-biases-anywhere",
        {"ffn_biases": lambda d, f: 0, "norm": lambda d, h: d, "final_norms": 2},
        "This is `torch.nn.Transformer` with `bias=False`: the feed-forward networks and the "
        "LayerNorms have lost their biases, and a final LayerNorm after each stack is counted. "
        "In the paper only the attention projections have no bias.",
    ),
    Fault(
        "as-text",
        {"unit": str},
        "The count is returned as text. Return the whole number itself, without quotes.",
    ),
    Fault(
        "one-norm-in-encoder-two-in-decoder",
        {"encoder_norms": 1, "decoder_norms": 2},
        "A LayerNorm is missing in each layer, perhaps that after the feed-forward network. "
        + _FEW_NORMS,
    ),
    Fault(
        "three-norms-in-both",
        {"encoder_norms": 3},
        "2 d_model too many are counted for an encoder and a decoder layer: three LayerNorms in "
        "the encoder layer, which has two; or biases in the attention projections, which have "
        "none, and no LayerNorms at all.",
    ),
    Fault(
        "encoder-only",
        {"decoder_layers": lambda n: 0},
        "Only the encoder's layers are counted. The decoder has as many.",
    ),
    Fault(
        "decoder-only",
        {"encoder_layers": lambda n: 0},
        "Only the decoder's layers are counted. The encoder has as many.",
    ),
    Fault(
        "one-layer-each",
        {"encoder_layers": lambda n: 1, "decoder_layers": lambda n: 1},
        "n_layers is not used: one layer a stack is counted. Layers do not share their weights: "
        "multiply by n_layers.",
    ),
    Fault(
        "always-six-layers",
        {"encoder_layers": lambda n: 6, "decoder_layers": lambda n: 6},
        "Six layers a stack are counted, as in the paper, whatever n_layers is. Take the argument.",
    ),
    Fault(
        "one-decoder-layer",
        {"decoder_layers": lambda n: 1},
        "The decoder's layer is counted once. Each of its n_layers layers has its own weights.",
    ),
    Fault(
        "one-encoder-layer",
        {"encoder_layers": lambda n: 1},
        "The encoder's layer is counted once. Each of its n_layers layers has its own weights.",
    ),
    Fault(
        "layers-shared-out",
        {"encoder_layers": lambda n: n // 2, "decoder_layers": lambda n: n // 2},
        "n_layers is shared out between the stacks. Each of the two stacks has n_layers layers.",
    ),
    Fault(
        "layers-doubled",
        {"encoder_layers": lambda n: 2 * n, "decoder_layers": lambda n: 2 * n},
        "The layers are counted twice: encoder and decoder layers are already added up, so "
        "multiply by n_layers, not by 2 n_layers.",
    ),
    Fault(
        "layers-only-once-more",
        {"encoder_layers": lambda n: n + 1, "decoder_layers": lambda n: n + 1},
        "One layer too many is counted in each stack.",
    ),
    Fault(
        "positions-as-vocabulary",
        {"table": lambda v, d: v * d + d},
        "d_model numbers too many stand outside of the layers. Positions are fixed and the output "
        "layer has no bias: outside of the layers there is the table alone.",
    ),
    Fault(
        "in-millions",
        {"unit": lambda total: total / 1e6},
        "This is the count in millions. Return the whole number itself.",
    ),
    Fault(
        "bytes",
        {"unit": lambda total: 4 * total},
        "This is the memory in bytes, four a number. Return how many numbers there are.",
    ),
    Fault(
        "torch-transformer",
        {"attention_biases": 4, "final_norms": 2, "table": lambda v, d: v * d},
        "This is what `torch.nn.Transformer` has, with the table: biases in the attention "
        "projections and a final LayerNorm after each stack. The paper's model has neither.",
    ),
    Fault(
        "torch-transformer-with-output-bias",
        {"attention_biases": 4, "final_norms": 2, "table": lambda v, d: v * d + v},
        "Biases are counted in the attention projections and at the output, and a final LayerNorm "
        "after each stack, as in many PyTorch models. The paper's model has none of them.",
    ),
    Fault(
        "torch-transformer-untied",
        {"attention_biases": 4, "final_norms": 2, "table": lambda v, d: 3 * v * d + v},
        "This is a usual PyTorch model: three tables, biases in the attention projections and at "
        "the output, a final LayerNorm after each stack. Here one table is shared, the projections "
        "have no bias, and every LayerNorm follows a sub-layer.",
    ),
)

_PROBES = ((11, 4, 6, 1, 2), (10, 6, 8, 2, 3), (50, 8, 20, 3, 4), (37, 10, 23, 5, 5))


def mistakes_against(reference: Candidate) -> tuple[Mistake, ...]:
    """Each fault alone, the common ones in twos, a few of them in threes."""
    mistakes = [
        *single(_count, (*_COMMON, *_OTHER_FAULTS)),
        *combined(_count, _COMMON, 2),
        *combined(_count, _CORE, 3),
    ]
    return told_apart(mistakes, reference, _PROBES)
