"""What stands at each place before the first layer of a stack and after each."""

from collections.abc import Iterator

import torch
from torch import Tensor

from annotated_transformer.masks import padding_mask, target_mask
from annotated_transformer.transformer import Transformer


@torch.no_grad()
def states_of_source(model: Transformer, src: Tensor) -> Iterator[Tensor]:
    """The encoder's, (batch, n_src, d_model), one more often than there are layers.

    Of a stack that ends with a norm each is given as that norm leaves it.

    Args:
        src: (batch, n_src), padded.
    """
    mask = padding_mask(src, model.config.pad_id)
    norm = model.encoder.final_norm
    x = model.source_embedding(src)
    yield x if norm is None else norm(x)
    for layer in model.encoder.layers:
        x = layer(x, mask)
        yield x if norm is None else norm(x)


@torch.no_grad()
def states_of_target(model: Transformer, src: Tensor, tgt: Tensor) -> Iterator[Tensor]:
    """The decoder's, (batch, n_tgt, d_model), likewise.

    Args:
        src: (batch, n_src), padded.
        tgt: what the decoder reads, (batch, n_tgt), padded.
    """
    src_mask = padding_mask(src, model.config.pad_id)
    tgt_mask = target_mask(tgt, model.config.pad_id)
    memory = model.encode(src, src_mask)
    norm = model.decoder.final_norm
    x = model.target_embedding(tgt)
    yield x if norm is None else norm(x)
    for layer in model.decoder.layers:
        x = layer(x, memory, src_mask, tgt_mask)
        yield x if norm is None else norm(x)
