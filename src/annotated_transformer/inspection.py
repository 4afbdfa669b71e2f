"""Looking inside a model: the attention weights of every layer and head; two results compared."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
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


def gap(ours: Any, theirs: Any) -> float:
    """The largest difference between two arrays of the same shape: tensors, arrays, nested lists.

    Raises:
        ValueError: the shapes differ. Nothing is repeated to fit.
    """
    ours, theirs = (torch.as_tensor(x, dtype=torch.float64).detach() for x in (ours, theirs))
    if ours.shape != theirs.shape:
        raise ValueError(
            f"shapes {tuple(ours.shape)} and {tuple(theirs.shape)} were given; "
            "expected two of the same"
        )
    return float((ours - theirs).abs().max())
