"""What a training step asks of a machine, counted from the sizes: operations, bytes moved, memory.

Nothing here is measured. The tests hold the operations against PyTorch's own counter, the memory
against the tensors that autograd really keeps.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from annotated_transformer.config import TransformerConfig

FORWARD_AND_BACKWARD = 3  # each product is one forward, and two backward: by its two factors
FLOAT32, BFLOAT16 = 4, 2  # bytes


@dataclass(frozen=True)
class Sizes:
    """How many positions a batch has.

    Attributes:
        source: positions of the source.
        target: positions that the decoder reads.
        source_pairs: source positions times those they may attend to, summed over the sentences.
        target_pairs: likewise of the target.
        cross_pairs: target positions times the source positions of their sentence.
    """

    source: int
    target: int
    source_pairs: int
    target_pairs: int
    cross_pairs: int


def sizes_of(lengths: Iterable[tuple[int, int]]) -> Sizes:
    """Of sentence pairs of these (source, target) lengths. For a padded batch, repeat its widths.

    The causal mask saves nothing here: products are counted with all that it hides, as most
    programs compute them.
    """
    totals = [0] * 5
    for n_src, n_tgt in lengths:
        for place, count in enumerate((n_src, n_tgt, n_src**2, n_tgt**2, n_src * n_tgt)):
            totals[place] += count
    return Sizes(*totals)


def forward_operations(config: TransformerConfig, sizes: Sizes) -> dict[str, int]:
    """Multiplications and additions in the matrix products of one forward pass, by part.

    "projections" are the four of every attention, "attention" the scores and the weighted sums.
    """
    d, layers = config.d_model, config.num_layers
    d_k, d_v = config.d_k or d // config.num_heads, config.d_v or d // config.num_heads
    keys, values = config.num_heads * d_k, config.num_heads * d_v
    query_and_output, key_and_value = d * (keys + values), d * (keys + values)
    multiply_adds = {
        "projections": layers
        * (
            (query_and_output + key_and_value) * (sizes.source + sizes.target)  # to themselves
            + query_and_output * sizes.target  # decoder to encoder
            + key_and_value * sizes.source
        ),
        "attention": layers
        * (keys + values)
        * (sizes.source_pairs + sizes.target_pairs + sizes.cross_pairs),
        "feed-forward": layers * 2 * d * config.d_ff * (sizes.source + sizes.target),
        "logits": d * config.vocab_size * sizes.target,
    }
    return {name: 2 * count for name, count in multiply_adds.items()}


def step_operations(config: TransformerConfig, sizes: Sizes) -> int:
    """Of a whole training step: forward and backward, nothing computed twice.

    These are the operations of the *model*. A program may do more (padding, recomputation) and
    gets no credit for it.
    """
    return FORWARD_AND_BACKWARD * sum(forward_operations(config, sizes).values())


@dataclass(frozen=True)
class Part:
    """One kind of work in a step, for the roofline.

    Attributes:
        name: what it is.
        operations: multiplications and additions.
        bytes: read from and written to the device's memory.
    """

    name: str
    operations: float
    bytes: float

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.operations / self.bytes

    def floor(self, peak: float, bandwidth: float) -> float:
        """Seconds that it takes at the least.

        Args:
            peak: operations a second.
            bandwidth: bytes a second.
        """
        return max(self.operations / peak, self.bytes / bandwidth)


def roofline(config: TransformerConfig, sizes: Sizes, item: int = BFLOAT16) -> list[Part]:
    """The forward pass in parts, and Adam: operations and bytes of each.

    Each product reads both factors and writes its result once. Attention is counted fused, so that
    its scores never reach the memory. What lies around a sub-layer is counted both ways: in
    separate kernels, dropout (reads 1, writes 1), addition (2, 1) and norm (1, 1); and in one
    kernel, which reads 2 and writes 1.

    Args:
        item: bytes of an activation.
    """
    d, layers, both = config.d_model, config.num_layers, sizes.source + sizes.target
    operations = forward_operations(config, sizes)
    weights = config.count_parameters()
    square = 4 * both + 2 * sizes.target + 2 * sizes.source  # rows through a (d, d) matrix
    inner = 2 * both  # rows through (d, d_ff) and back
    attended = 4 * both + 2 * sizes.target + 2 * sizes.source  # queries, keys, values, outputs
    wrapped = 2 * sizes.source + 3 * sizes.target  # positions through a residual and a norm
    moved = {
        "projections": layers * (square * 2 * d + 12 * d * d),
        "attention": layers * attended * d,
        "feed-forward": layers * (inner * (d + config.d_ff) + 4 * d * config.d_ff),
        "logits": sizes.target * (d + config.vocab_size) + d * config.vocab_size,
    }
    parts = [Part(name, operations[name], item * moved[name]) for name in operations]
    around = layers * wrapped * d
    return [
        *parts,
        Part("dropout, sum, norm: three kernels", 10 * around, 7 * item * around),
        Part("dropout, sum, norm: one kernel", 10 * around, 3 * item * around),
        Part("Adam", 12 * weights, 7 * FLOAT32 * weights),  # reads w, g, m, v; writes w, m, v
    ]


def memory(
    config: TransformerConfig,
    sizes: Sizes,
    *,
    item: int = FLOAT32,
    dropout_item: int = 1,
    logits_rows: int | None = None,
) -> dict[str, int]:
    """Bytes that a training step holds at its fullest, by what they are for.

    Weights, gradients and Adam's two moments are float32 whatever the precision of the products.
    Activations are what autograd keeps of the fused path of this package's layers: of each encoder
    layer 8 d_model + d_ff numbers a position, of each decoder layer 12 d_model + d_ff and 2 d_model
    for each position of the memory. Logits are counted once in the activations' type and twice in
    float32, for their softmax and its gradient.

    Args:
        item: bytes of an activation: 4 in float32, 2 under bfloat16 autocast (roughly: norms and
            sums stay in float32).
        dropout_item: bytes of one decision of dropout: 1 on a GPU, 4 on a CPU.
        logits_rows: positions whose logits exist at a time; None is all of the target.
    """
    d, layers, heads = config.d_model, config.num_layers, config.num_heads
    parameters = config.count_parameters()
    encoder = sizes.source * (8 * d + config.d_ff)
    decoder = sizes.target * (12 * d + config.d_ff) + sizes.source * 2 * d
    statistics = sizes.source * (heads + 4) + sizes.target * (2 * heads + 6)  # of softmax and norms
    dropped = layers * d * (2 * sizes.source + 3 * sizes.target) + d * (sizes.source + sizes.target)
    rows = sizes.target if logits_rows is None else min(logits_rows, sizes.target)
    ends = d * (sizes.source + sizes.target)  # what enters both stacks
    return {
        "weights": FLOAT32 * parameters,
        "gradients": FLOAT32 * parameters,
        "Adam's moments": 2 * FLOAT32 * parameters,
        "activations": item * (layers * (encoder + decoder) + ends) + FLOAT32 * layers * statistics,
        "dropout": dropout_item * dropped if config.dropout else 0,
        "logits": rows * config.vocab_size * (item + 2 * FLOAT32),
    }
