"""A row of source and translation one token at a time (`after.families`)."""

import torch
from torch import Tensor

from annotated_transformer.after.families import OneStack, source_mask
from annotated_transformer.decoding.incremental import SelfAttentionCache
from annotated_transformer.encoder import EncoderLayer
from annotated_transformer.masks import padding_mask


class RowDecoder:
    """A row one token at a time, with the keys and values of all before it kept.

    The source passes through the stack once; then each call computes one position, as
    `CachedDecoder` does with two stacks.
    """

    def __init__(self, model: OneStack, src: Tensor, beam_size: int) -> None:
        self.model = model
        self.src_mask = padding_mask(src, model.config.pad_id)  # (live, 1, 1, n_src)
        mask = source_mask(self.src_mask, model.causal)
        x = model.encode(src)  # (live, n_src, d_model)
        self.layers: list[RowLayer] = []
        for layer in model.encoder.layers:
            assert isinstance(layer, EncoderLayer)
            self.layers.append(RowLayer(layer, x))
            x = self.layers[-1].step(x, mask)  # all of the source at once
        self.seen = self.src_mask.expand(-1, -1, beam_size, -1)  # (live, 1, beam, what is kept)

    def next_logits(self, prefixes: Tensor) -> Tensor:
        """(live, beam, length) tokens, bos first -> (live, beam, vocab_size)."""
        live, beam_size, length = prefixes.shape
        newest = prefixes[:, :, -1].reshape(live * beam_size, 1)
        of_each = self.src_mask.repeat_interleave(beam_size, dim=0)
        x = self.model.embed_target(newest, of_each, start=length - 1).view(live, beam_size, -1)
        itself = torch.eye(beam_size, dtype=torch.bool, device=x.device).expand(live, 1, -1, -1)
        past = self.seen[:, :, :beam_size]  # a search may begin with a beam that is not full
        self.seen = torch.cat([past, itself], dim=-1)
        for layer in self.layers:
            x = layer.step(x, self.seen)  # (live, beam, d_model)
        final_norm = self.model.encoder.final_norm
        return self.model.project(x if final_norm is None else final_norm(x))

    def select(self, sentences: Tensor, parents: Tensor) -> None:
        """Keep these sentences, and let each hypothesis go on from its parent."""
        if len(sentences) < len(self.seen):
            self.seen, self.src_mask = self.seen[sentences], self.src_mask[sentences]
            for layer in self.layers:
                layer.select(sentences)
        rows = parents[:, None, :, None].expand(-1, -1, -1, self.seen.shape[-1])
        self.seen = self.seen.gather(2, rows)


class RowLayer(SelfAttentionCache):
    """One layer of the stack with the keys and values of what it has already seen: nothing yet."""

    def __init__(self, layer: EncoderLayer, x: Tensor) -> None:
        super().__init__(layer.self_attention, x[:, :0])
        self.layer = layer

    def step(self, x: Tensor, seen: Tensor) -> Tensor:
        """The layer's output for new tokens x (live, n, d_model), of the same shape.

        Args:
            seen: what each of them may attend to of all tokens until now, (live, 1, n, tokens).
        """
        self_attention_residual, feed_forward_residual = self.layer.residuals
        x = self_attention_residual(x, lambda x: self.self_attention(x, seen))
        return feed_forward_residual(x, self.layer.feed_forward)
