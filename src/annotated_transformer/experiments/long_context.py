"""What a long context costs: bytes and multiply-adds of a decoder, from its sizes alone.

Chapter 13 shows them in a figure. Nothing is measured here; the formulas are held against the
package's own model and against counted products by tests.
"""

from annotated_transformer.after.config import LaterConfig
from annotated_transformer.after.known_models import llama

# The paper's base, at a vocabulary of 37,000, and two models in the manner of Llama 2. The
# cross-attention of the first is left out of all costs below.
BASE = LaterConfig.preset("base", vocab_size=37_000)
MODELS = {
    "base": BASE,
    "Llama 2 7B": llama(32_000, (32, 4096, 32, 11_008)),
    "Llama 2 70B": llama(32_000, (80, 8192, 64, 28_672), 8),
}


def cache_bytes_at(config: LaterConfig, n: int, window: int | None = None, width: int = 2) -> int:
    """Keys and values of n positions in all layers, of the last `window` if one is given.

    Args:
        width: bytes of a number: 2 for bfloat16.
    """
    kept = n if window is None else min(n, window)
    return kept * config.cache_bytes(width)


def score_bytes(config: LaterConfig, n: int, tile: int | None = None, width: int = 2) -> int:
    """The scores of one layer while it reads n positions, all of them or one tile a head."""
    side = n if tile is None else min(n, tile)
    return config.num_heads * side**2 * width


def multiply_adds_of_a_layer(config: LaterConfig, n: int) -> tuple[int, int]:
    """Of one layer that reads n positions: what grows with n, and what grows with n².

    The first are projections and feed-forward network, the second q kᵀ and weights times v, each
    in full, as if no mask saved half of them.
    """
    width = sum(config.head_widths)  # of a key and a value
    projections = config.d_model * width * (config.num_heads + config.heads_of_keys)
    network = (3 if config.network == "swiglu" else 2) * config.d_model * config.d_ff
    return n * (projections + network), n**2 * width * config.num_heads


def balance(config: LaterConfig) -> float:
    """The n at which both parts of a layer's multiply-adds are the same."""
    linear, squared = multiply_adds_of_a_layer(config, 1)
    return linear / squared
