"""torch.compile where it pays: layer by layer, with what a GPU wants."""

import torch

from annotated_transformer.fast.fused_relu import use_fused_relu
from annotated_transformer.transformer import Transformer

# For inductor, on a GPU. PyTorch's own kernel for dropout: the one that inductor writes draws four
# times as many numbers. And no kernel that makes the gradients of a LayerNorm's input and of its
# gain in one: two were faster on an H200 (benchmarks/README.md).
GPU_OPTIONS = {"fallback_random": True, "triton.mix_order_reduction": False}


def is_known(option: str) -> bool:
    """Whether this version's inductor has an option."""
    return option in torch._inductor.list_options()  # type: ignore[no-untyped-call]


def compile_layers(model: Transformer, one_shape: bool) -> None:
    """Compile each layer by itself, and for batches of one shape the embeddings too.

    All encoder layers share what is compiled for one, and so do all decoder layers.

    Args:
        one_shape: all batches have the same; else what is compiled has to fit many.
    """
    parts = [*model.encoder.layers, *model.decoder.layers]
    if one_shape:
        parts += [model.source_embedding, model.target_embedding]
    options = None
    if model.device.type == "cuda":
        options = {name: value for name, value in GPU_OPTIONS.items() if is_known(name)}
        use_fused_relu(model)
    for part in parts:
        part.compile(dynamic=False if one_shape else None, options=options)
