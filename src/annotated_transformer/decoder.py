"""The decoder (section 3.1): N layers of masked self-attention, cross-attention, feed-forward."""

from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.encoder import build_attention, build_residual
from annotated_transformer.feed_forward import FeedForward
from annotated_transformer.residual import LayerNorm


class DecoderLayer(nn.Module):
    """Masked self-attention, attention to the memory, feed-forward, each with its residual."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = build_attention(config)
        self.cross_attention = build_attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        # One for each sub-layer, in the order in which they act; checkpoints know them by number.
        self.residuals = nn.ModuleList(build_residual(config) for _ in range(3))

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """(batch, n_tgt, d_model) -> (batch, n_tgt, d_model).

        Args:
            x: the target side, (batch, n_tgt, d_model).
            memory: the encoder's output, (batch, n_src, d_model): keys and values of the
                cross-attention, whose queries come from the decoder.
            src_mask: which memory positions may be attended to, (batch, 1, 1, n_src). None: all of
                them, padding included.
            tgt_mask: which target positions may be attended to, (batch, 1, n_tgt, n_tgt). None: all
                of them, the future included.
        """
        self_attention_residual, cross_attention_residual, feed_forward_residual = self.residuals
        x = self_attention_residual(x, lambda x: self.self_attention(x, x, x, tgt_mask))
        x = cross_attention_residual(x, lambda x: self.cross_attention(x, memory, memory, src_mask))
        x = feed_forward_residual(x, self.feed_forward)
        return x


class Decoder(nn.Module):
    """A stack of N decoder layers, all reading the same memory."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(DecoderLayer(config) for _ in range(config.depths[1]))
        self.final_norm = (
            LayerNorm(config.d_model, config.layer_norm_eps) if config.has_final_norm else None
        )

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
    ) -> Tensor:
        """(batch, n_tgt, d_model) -> (batch, n_tgt, d_model). A mask of None hides nothing."""
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        return x if self.final_norm is None else self.final_norm(x)
