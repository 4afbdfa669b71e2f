"""What the decoder would say if it stopped early: the tied table read after each layer.

nostalgebraist (2020) called it the logit lens.
"""

from collections.abc import Iterable, Iterator

import torch
from torch import Tensor

from annotated_transformer.evaluation.likelihood import SentenceBatch
from annotated_transformer.masks import padding_mask, target_mask
from annotated_transformer.transformer import Transformer


@torch.no_grad()
def after_each_layer(model: Transformer, src: Tensor, tgt: Tensor) -> Iterator[Tensor]:
    """The logits of what stands before the first decoder layer and after each.

    Args:
        src: (batch, n_src).
        tgt: what the decoder reads, (batch, n_tgt).

    Yields:
        (batch, n_tgt, vocab_size), one more often than there are layers; the last is what the model
        says.
    """
    src_mask = padding_mask(src, model.config.pad_id)
    tgt_mask = target_mask(tgt, model.config.pad_id)
    memory = model.encode(src, src_mask)
    x = model.target_embedding(tgt)  # (batch, n_tgt, d_model)
    norm = model.decoder.final_norm
    yield model.project(x if norm is None else norm(x))
    for layer in model.decoder.layers:
        x = layer(x, memory, src_mask, tgt_mask)
        yield model.project(x if norm is None else norm(x))


def right_after_each_layer(model: Transformer, batches: Iterable[SentenceBatch]) -> Tensor:
    """Share of next tokens that are right before the first layer and after each, (layers + 1,)."""
    hits: list[Tensor] = []
    tokens = 0
    for batch in batches:
        wanted = batch.tgt[:, 1:]
        real = wanted != model.config.pad_id
        tokens += int(real.sum())
        hits.append(
            torch.stack(
                [
                    ((logits.argmax(-1) == wanted) & real).sum()
                    for logits in after_each_layer(model, batch.src, batch.tgt[:, :-1])
                ]
            )
        )
    return torch.stack(hits).sum(0).double() / tokens
