"""Looking inside a model: the attention weights of every layer and head."""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from annotated_transformer.attention import MultiHeadAttention


@contextmanager
def recording_attention(model: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Keep the weights of every attention in `model` while the block runs.

    The model then takes the teaching path, which has weights to show.

    Yields:
        A dictionary, filled when the block ends: the module's name, such as
        "decoder.layers.0.cross_attention", to the weights of its last call,
        (batch, num_heads, n_queries, n_keys).
    """
    attentions = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention)
    }
    recorded: dict[str, Tensor] = {}
    for module in attentions.values():
        module.keep_weights = True
    try:
        yield recorded
    finally:
        for name, module in attentions.items():
            if module.weights is not None:
                recorded[name] = module.weights
            module.keep_weights, module.weights = False, None
