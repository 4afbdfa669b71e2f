"""What a long context costs: bytes and multiply-adds of a decoder, from its sizes alone.

Chapter 13 shows them in a figure. Nothing is measured here; the formulas are held against the
package's own model and against counted products by tests.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class DecoderSizes:
    """The sizes of a decoder that its costs depend on.

    Attributes:
        kv_heads: heads of keys and values; fewer than num_heads where query heads share them.
        ffn_matrices: 2 in the paper's feed-forward network, 3 in a gated one.
        weights: numbers that the whole model learns.
    """

    num_layers: int
    d_model: int
    num_heads: int
    kv_heads: int
    d_ff: int
    ffn_matrices: int
    weights: int

    @property
    def d_k(self) -> int:
        return self.d_model // self.num_heads


def llama_2(
    num_layers: int, d_model: int, num_heads: int, kv_heads: int, d_ff: int
) -> DecoderSizes:
    """Sizes in the manner of Llama 2 (Touvron and others, 2023), vocabulary 32,000.

    No cross-attention, gated feed-forward networks without biases, norms with one vector each,
    an embedding and a read-out of their own.
    """
    a_layer = (
        2 * d_model * d_model  # of queries and of the output
        + 2 * d_model * (d_model // num_heads) * kv_heads  # of keys and of values
        + 3 * d_model * d_ff
        + 2 * d_model
    )
    weights = num_layers * a_layer + d_model + 2 * 32_000 * d_model
    return DecoderSizes(num_layers, d_model, num_heads, kv_heads, d_ff, 3, weights)


# The decoder of the paper's base model: sizes from section 3, weights of the whole translator at
# a vocabulary of 37,000. Its cross-attention is left out of all costs below.
BASE = DecoderSizes(6, 512, 8, 8, 2048, 2, 63_045_632)
MODELS = {
    "base": BASE,
    "Llama 2 7B": llama_2(32, 4096, 32, 32, 11_008),
    "Llama 2 70B": llama_2(80, 8192, 64, 8, 28_672),
}


def cache_bytes_at(sizes: DecoderSizes, n: int, window: int | None = None, width: int = 2) -> int:
    """Keys and values of n positions in all layers, of the last `window` if one is given.

    Args:
        width: bytes of a number: 2 for bfloat16.
    """
    kept = n if window is None else min(n, window)
    return 2 * sizes.num_layers * sizes.kv_heads * sizes.d_k * kept * width


def score_bytes(sizes: DecoderSizes, n: int, tile: int | None = None, width: int = 2) -> int:
    """The scores of one layer while it reads n positions, all of them or one tile a head."""
    side = n if tile is None else min(n, tile)
    return sizes.num_heads * side**2 * width


def multiply_adds_of_a_layer(sizes: DecoderSizes, n: int) -> tuple[int, int]:
    """Of one layer that reads n positions: what grows with n, and what grows with n².

    The first are projections and feed-forward network, the second q kᵀ and weights times v, each
    in full, as if no mask saved half of them.
    """
    projections = 2 * sizes.d_model**2 + 2 * sizes.d_model * sizes.kv_heads * sizes.d_k
    matrices = projections + sizes.ffn_matrices * sizes.d_model * sizes.d_ff
    return n * matrices, 2 * n**2 * sizes.d_model


def balance(sizes: DecoderSizes) -> float:
    """The n at which both parts of a layer's multiply-adds are the same."""
    linear, squared = multiply_adds_of_a_layer(sizes, 1)
    return linear / squared
