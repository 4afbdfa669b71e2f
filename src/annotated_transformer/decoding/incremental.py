"""The decoder one token at a time, for generation (section 3.1's auto-regression).

Causal masking makes the keys and values of past positions final: a new token never changes them.
So they are computed once and kept, the key-value cache. That attention is a function of a set of
keys has two consequences, so that re-ranking copies no keys and no values:

- Hypotheses of one sentence are queries of one memory: the keys and values of the source are
  computed once for each sentence, however many hypotheses look at them.
- The cache of a sentence holds every token that any of its hypotheses ever had; a mask says which
  belong to a hypothesis's own past. Re-ranking hypotheses re-orders the mask and nothing else. The
  price: each query is multiplied with the keys of all hypotheses, beam times as many as its own.
"""

from typing import cast

import torch
from torch import Tensor

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.decoder import DecoderLayer
from annotated_transformer.masks import padding_mask
from annotated_transformer.transformer import Transformer


class PrefixDecoder:
    """No cache: every prefix is decoded anew at every step. The cached decoder must equal it."""

    def __init__(self, model: Transformer, src: Tensor, beam_size: int) -> None:
        self.model = model
        self.memory = model.encode(src)  # (live, n_src, d_model)
        self.src_mask = padding_mask(src, model.config.pad_id)  # (live, 1, 1, n_src)

    def next_logits(self, prefixes: Tensor) -> Tensor:
        live, beam_size, length = prefixes.shape
        hidden = self.model.decode(
            self.memory.repeat_interleave(beam_size, dim=0),
            prefixes.reshape(live * beam_size, length),
            self.src_mask.repeat_interleave(beam_size, dim=0),
        )  # (live * beam, length, d_model)
        return self.model.project(hidden[:, -1]).view(live, beam_size, -1)

    def select(self, sentences: Tensor, parents: Tensor) -> None:
        self.memory = self.memory[sentences]
        self.src_mask = self.src_mask[sentences]


class CachedDecoder:
    """Each call computes one position: that of the newest token of every hypothesis."""

    def __init__(self, model: Transformer, src: Tensor, beam_size: int) -> None:
        self.model = model
        memory = model.encode(src)  # (live, n_src, d_model)
        self.src_mask = padding_mask(src, model.config.pad_id)  # (live, 1, 1, n_src)
        self.layers = [
            LayerCache(cast(DecoderLayer, layer), memory) for layer in model.decoder.layers
        ]
        self.own_past = self.src_mask.new_empty(len(src), 1, beam_size, 0)

    def next_logits(self, prefixes: Tensor) -> Tensor:
        live, beam_size, length = prefixes.shape
        newest = prefixes[:, :, -1].reshape(live * beam_size, 1)
        x = self.model.target_embedding(newest, start=length - 1)  # (live * beam, 1, d_model)
        x = x.view(live, beam_size, -1)
        itself = torch.eye(beam_size, dtype=torch.bool, device=x.device).expand(live, 1, -1, -1)
        past = self.own_past[:, :, :beam_size]  # a search may begin with a beam that is not full
        self.own_past = torch.cat([past, itself], dim=-1)  # (live, 1, beam, length * beam)
        for layer in self.layers:
            x = layer.step(x, self.own_past, self.src_mask)  # (live, beam, d_model)
        final_norm = self.model.decoder.final_norm
        return self.model.project(x if final_norm is None else final_norm(x))

    def select(self, sentences: Tensor, parents: Tensor) -> None:
        if len(sentences) < len(self.own_past):
            self.own_past = self.own_past[sentences]
            self.src_mask = self.src_mask[sentences]
            for layer in self.layers:
                layer.select(sentences)
        rows = parents[:, None, :, None].expand(-1, -1, -1, self.own_past.shape[-1])
        self.own_past = self.own_past.gather(2, rows)


class SelfAttentionCache:
    """Self-attention with the keys and values of the positions that it has already seen.

    Args:
        attention: the layer's.
        x: what is seen at the beginning, (live, n, d_model); n may be 0.
    """

    def __init__(self, attention: MultiHeadAttention, x: Tensor) -> None:
        self.attention = attention
        # (live, num_heads, length * beam, d_k or d_v): the tokens of all hypotheses, step by step
        self.past_keys, self.past_values = attention.project_key_value(x, x)

    def self_attention(self, x: Tensor, own_past: Tensor) -> Tensor:
        """Remember the newest tokens, then let each attend to its own past and itself."""
        attention = self.attention
        keys, values = attention.project_key_value(x, x)  # (live, num_heads, beam, d_k or d_v)
        self.past_keys = torch.cat([self.past_keys, keys], dim=2)
        self.past_values = torch.cat([self.past_values, values], dim=2)
        queries = attention.project_query(x)  # (live, num_heads, beam, d_k)
        return attention.combine(
            attention.attend(queries, self.past_keys, self.past_values, own_past)
        )

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences (kept,) and forget the others."""
        self.past_keys = self.past_keys[sentences]
        self.past_values = self.past_values[sentences]


class LayerCache(SelfAttentionCache):
    """One decoder layer with the keys and values of what it has already seen.

    A sentence's hypotheses stand where a sequence's positions usually do, (live, beam, d_model):
    in all but its self-attention, the layer treats positions independently.
    """

    def __init__(self, layer: DecoderLayer, memory: Tensor) -> None:
        super().__init__(layer.self_attention, memory[:, :0])
        self.layer = layer
        keys, values = layer.cross_attention.project_key_value(memory, memory)
        # They are read at every step: once head by head in memory saves collecting them each time.
        self.memory_keys = keys.contiguous()  # (live, num_heads, n_src, d_k)
        self.memory_values = values.contiguous()  # (live, num_heads, n_src, d_v)

    def step(self, x: Tensor, own_past: Tensor, src_mask: Tensor) -> Tensor:
        """The layer's output for the newest tokens x (live, beam, d_model), of the same shape."""
        layer = self.layer
        self_attention_residual, cross_attention_residual, feed_forward_residual = layer.residuals
        x = self_attention_residual(x, lambda x: self.self_attention(x, own_past))
        x = cross_attention_residual(x, lambda x: self.cross_attention(x, src_mask))
        x = feed_forward_residual(x, layer.feed_forward)
        return x

    def cross_attention(self, x: Tensor, src_mask: Tensor) -> Tensor:
        """Let each hypothesis attend to the memory of its sentence, computed once."""
        attention = self.layer.cross_attention
        queries = attention.project_query(x)  # (live, num_heads, beam, d_k)
        return attention.combine(
            attention.attend(queries, self.memory_keys, self.memory_values, src_mask)
        )

    def select(self, sentences: Tensor) -> None:
        """Keep these sentences (kept,) and forget the others."""
        super().select(sentences)
        self.memory_keys = self.memory_keys[sentences]
        self.memory_values = self.memory_values[sentences]
