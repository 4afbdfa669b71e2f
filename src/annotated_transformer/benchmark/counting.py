"""What a training step asks of a machine, counted from the sizes: operations, bytes moved, memory.

Nothing here is measured. The tests hold the operations against PyTorch's own counter, the bytes
against counts by hand, the memory against the tensors that live in a whole step.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit

FORWARD_AND_BACKWARD = 3  # each product is one forward, and two backward: by its two factors
FLOAT32, BFLOAT16 = 4, 2  # bytes
WHOLE_LOSS = 5  # logits, log-probabilities and three gradients live at once, all in float32
PLAIN_ATTENTION = 3  # scores, exponentials and weights are kept where attention is not fused


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


def real_sizes(split: EncodedSplit, indices: Iterable[int]) -> Sizes:
    """Of these pairs without padding. The decoder reads all of a target but its end sign."""
    return sizes_of((len(split.source[i]), len(split.target[i]) - 1) for i in indices)


def forward_operations(config: TransformerConfig, sizes: Sizes) -> dict[str, int]:
    """Multiplications and additions in the matrix products of one forward pass, by part.

    "projections" are the four of every attention, "attention" the scores and the weighted sums. Of
    additive attention the product with its vector counts; its sums and tanh are no products.
    """
    d, (of_encoder, of_decoder) = config.d_model, config.depths
    keys_and_values = config.num_heads * sum(config.head_widths)
    two = d * keys_and_values  # two projections: query and output, or key and value
    multiply_adds = {
        "projections": of_encoder * 2 * two * sizes.source
        + of_decoder * two * (3 * sizes.target + sizes.source),  # to itself, and to the encoder
        "attention": keys_and_values
        * (of_encoder * sizes.source_pairs + of_decoder * (sizes.target_pairs + sizes.cross_pairs)),
        "feed-forward": 2
        * d
        * config.d_ff
        * (of_encoder * sizes.source + of_decoder * sizes.target),
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


def refuse_what_is_not_counted(config: TransformerConfig) -> None:
    """Bytes are counted for the paper's attention alone.

    Raises:
        ValueError: for attention of another kind or with dropout on its weights.
    """
    if config.attention != "scaled-dot-product" or config.attention_dropout:
        raise ValueError(
            f"attention = {config.attention!r} with attention_dropout = "
            f"{config.attention_dropout}: bytes are counted for scaled dot-product attention "
            "without dropout on its weights; operations are counted for every kind."
        )


def roofline(config: TransformerConfig, sizes: Sizes, item: int = BFLOAT16) -> list[Part]:
    """The forward pass in parts, and Adam: operations and bytes of each.

    Each product reads both factors and writes its result once. Attention is counted fused, so that
    its scores never reach the memory. What lies around a sub-layer is counted both ways: in
    separate kernels, dropout (reads 1, writes 1), addition (2, 1) and norm (1, 1); and in one
    kernel, which reads 2 and writes 1.

    Args:
        item: bytes of an activation.

    Raises:
        ValueError: for attention of another kind than the paper's, or layers without norms.
    """
    refuse_what_is_not_counted(config)
    if config.norm == "none":
        raise ValueError('norm = "none": what lies around a sub-layer is counted with its norm.')
    d, (of_encoder, of_decoder) = config.d_model, config.depths
    inner = config.num_heads * sum(config.head_widths)  # queries and heads, or keys and values
    operations = forward_operations(config, sizes)
    weights = config.count_parameters()
    source, target = of_encoder * sizes.source, of_decoder * sizes.target  # rows through layers
    sublayers = 2 * source + 3 * target  # positions through a sub-layer
    through = sublayers + of_decoder * sizes.source  # rows through two projections
    moved = {
        "projections": through * (2 * d + inner) + (2 * of_encoder + 4 * of_decoder) * d * inner,
        "attention": through * inner,  # queries, keys, values, outputs
        "feed-forward": 2 * (source + target) * (d + config.d_ff)
        + (of_encoder + of_decoder) * 2 * d * config.d_ff,
        "logits": sizes.target * (d + config.vocab_size) + d * config.vocab_size,
    }
    parts = [Part(name, operations[name], item * moved[name]) for name in operations]
    around = sublayers * d  # numbers through a residual and a norm
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
    chunk: int | None = None,
    fused: bool = True,
    on_cpu: bool = False,
) -> dict[str, int]:
    """Bytes that a training step holds at its fullest, by what they are for.

    That moment is the loss of the last part of a step: all activations are there, and the gradients
    of the parts before. A step of one part holds its gradients a little later, so its sum here is
    too high by them. Weights, gradients and Adam's two moments are float32 whatever the precision
    of the products; in bfloat16 the weights have a copy. Activations are what autograd keeps: of
    each encoder layer 8 d_model + d_ff numbers a position, of each decoder layer 12 d_model + d_ff
    and 2 d_model for each position of the memory; without norms 2 and 3 d_model less.

    "loss" is what the loss needs. With all logits at once five matrices of their size live
    together, in float32 (`label_smoothing_loss` and its gradient). In chunks it is the logits of
    one chunk and three tables for the gradient of the projection.

    Args:
        item: bytes of an activation: 4 in float32, 2 under bfloat16 autocast (roughly: on a GPU
            norms and sums stay in float32).
        chunk: rows of the loss at a time, `loss_chunk` in `train`; None is all logits at once.
        fused: attention by PyTorch's kernels (a CPU has none for d_k other than d_v); else its
            scores and weights are kept.
        on_cpu: a decision of dropout takes as much as an activation there, on a GPU one byte.

    Raises:
        ValueError: for attention of another kind than the paper's.
    """
    refuse_what_is_not_counted(config)
    d, heads, (of_encoder, of_decoder) = config.d_model, config.num_heads, config.depths
    parameters, table = config.count_parameters(), config.d_model * config.vocab_size
    inner = heads * sum(config.head_widths)  # queries and heads, or keys and values
    source, target = of_encoder * sizes.source, of_decoder * sizes.target
    sublayers = 2 * source + 3 * target  # positions through a sub-layer
    ends = sizes.source + sizes.target  # positions of what enters both stacks
    normed = {"post": sublayers, "pre": sublayers + ends, "none": 0}[config.norm]
    numbers = (
        (sublayers + of_decoder * sizes.source) * inner  # of every attention
        + (sublayers + ends) * d  # what enters the sub-layers, and what leaves the stacks
        + normed * d
        + (source + target) * config.d_ff
    )
    softmax_rows = (source + 2 * target) * heads
    if not fused:
        pairs = of_encoder * sizes.source_pairs
        pairs += of_decoder * (sizes.target_pairs + sizes.cross_pairs)
        numbers += PLAIN_ATTENTION * pairs * heads
    dropped = (sublayers + ends) * d if config.dropout else 0
    rows = sizes.target
    if chunk is None:
        loss = WHOLE_LOSS * FLOAT32 * rows * config.vocab_size
    else:
        at_once = min(chunk, rows)
        loss = config.vocab_size * item * at_once
        loss += table * (2 * FLOAT32 + item) + 2 * item * rows * d
    return {
        "weights": (FLOAT32 + (item if item < FLOAT32 else 0)) * parameters,
        "gradients": FLOAT32 * parameters,
        "Adam's moments": 2 * FLOAT32 * parameters,
        "activations": item * numbers + FLOAT32 * (softmax_rows + 2 * normed),
        "dropout": (item if on_cpu else 1) * dropped,
        "loss": loss,
    }
