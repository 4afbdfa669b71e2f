"""One stack in place of two: the source and the translation stand in one row.

The stack is the paper's encoder as it is. What makes it a decoder-only model or a prefix model is
its mask, and nothing else (`row_mask`).
"""

import torch
from torch import Tensor

from annotated_transformer.after.config import LaterConfig
from annotated_transformer.errors import CallError
from annotated_transformer.masks import causal_mask, target_mask
from annotated_transformer.transformer import Transformer


def row_mask(source: Tensor, target: Tensor, causal: bool) -> Tensor:
    """Who may attend to whom in a row of a source and its translation.

    The translation sees the whole source and what stands before it; the source sees nothing of the
    translation.

    Args:
        source: which source tokens are real, bool (batch, 1, 1, n_src).
        target: what target tokens see of each other, bool (batch, 1, n_tgt, n_tgt).
        causal: whether a source token too sees only what stands before it, as in a decoder-only
            model; without, the source is a prefix that sees itself in both directions.

    Returns:
        bool (batch, 1, n_src + n_tgt, n_src + n_tgt).
    """
    n_src, n_tgt = source.size(-1), target.size(-1)
    of_source = source_mask(source, causal)
    nothing = target.new_zeros(len(target), 1, n_src, n_tgt)
    above = torch.cat([of_source, nothing], dim=-1)  # (batch, 1, n_src, n_src + n_tgt)
    below = torch.cat([source.expand(-1, -1, n_tgt, -1), target], dim=-1)
    return torch.cat([above, below], dim=-2)


def source_mask(source: Tensor, causal: bool) -> Tensor:
    """What the source's tokens see of each other, (batch, 1, n_src, n_src)."""
    n_src = source.size(-1)
    of_source = source.expand(-1, -1, n_src, -1)
    return of_source & causal_mask(n_src, source.device) if causal else of_source


class OneStack(Transformer):
    """A decoder-only or a prefix model that translates, with the encoder-decoder's interface.

    An encoder-only model is one too; it has no more than `read`.

    Its "memory" is the embedded source, of which nothing has been computed: it passes through the
    stack together with the translation. Its decoder has no layers.
    """

    def __init__(self, config: LaterConfig) -> None:
        super().__init__(config)
        self.config: LaterConfig = config
        self.causal = config.family == "decoder-only"
        self.decoder.layers = torch.nn.ModuleList()
        self.decoder.final_norm = None
        # The row has one count of positions, and one table even where the projection has its own.
        self.target_embedding.positions = None
        self.target_embedding.table = self.source_embedding.table

    def encode(self, src: Tensor, src_mask: Tensor | None = None) -> Tensor:  # noqa: ARG002
        """The embedded source (batch, n_src, d_model)."""
        embedded: Tensor = self.source_embedding(src)
        return embedded

    def decode(
        self,
        memory: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """The stack's output at the target's positions (batch, n_tgt, d_model).

        Arguments as in `Transformer.decode`.
        """
        if self.config.family == "encoder-only":
            raise CallError(
                "an encoder-only model reads a text and writes none: use its `read`, or another "
                "family."
            )
        if src_mask is None:
            src_mask = memory.new_ones(len(memory), 1, 1, memory.size(1), dtype=torch.bool)
        if tgt_mask is None:
            tgt_mask = target_mask(tgt, self.config.pad_id)
        row = torch.cat([memory, self.embed_target(tgt, src_mask)], dim=1)
        hidden: Tensor = self.encoder(row, row_mask(src_mask, tgt_mask, self.causal))
        return hidden[:, memory.size(1) :]

    def read(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        """Logits at every position of a row of any text (batch, n, vocab_size).

        Under a causal mask each is of the token that follows: a language model. Without, every
        position sees both sides: an encoder-only model, which guesses what was hidden from it.

        Args:
            tokens: (batch, n).
            mask: broadcastable to (batch, num_heads, n, n); None hides nothing.
        """
        return self.project(self.encoder(self.source_embedding(tokens), mask))

    def embed_target(self, tgt: Tensor, src_mask: Tensor, start: int = 0) -> Tensor:
        """(batch, n_tgt, d_model), at positions that go on where each source ends."""
        embedding, positions = self.target_embedding, self.source_embedding.positions
        x = embedding.scale * embedding.table(tgt)
        if positions is not None:
            n_src, n_tgt = src_mask.size(-1), start + tgt.size(1)
            after = torch.arange(start, n_tgt, device=tgt.device)
            at = src_mask.sum(-1)[:, 0] + after  # (batch, n_tgt)
            x = x + positions(n_src + n_tgt)[at]
        embedded: Tensor = embedding.dropout(x)
        return embedded
