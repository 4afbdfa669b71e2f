"""The encoder (section 3.1): N layers of self-attention and feed-forward."""

from torch import Tensor, nn

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.config import TransformerConfig
from annotated_transformer.feed_forward import FeedForward
from annotated_transformer.residual import LayerNorm, ResidualConnection
from annotated_transformer.variants import ATTENTIONS, SublayerAlone


def build_attention(config: TransformerConfig) -> MultiHeadAttention:
    """Multi-head attention of the configuration's kind and sizes."""
    return ATTENTIONS[config.attention](
        config.d_model,
        config.num_heads,
        config.d_k,
        config.d_v,
        bias=config.attention_bias,
        dropout=config.attention_dropout,
    )


def build_residual(config: TransformerConfig) -> ResidualConnection:
    """The wrapping of one sub-layer."""
    kind = ResidualConnection if config.residual else SublayerAlone
    return kind(config.d_model, config.dropout, config.norm, config.layer_norm_eps)


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each wrapped in a residual connection."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.self_attention = build_attention(config)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        # One for each sub-layer, in the order in which they act; checkpoints know them by number.
        self.residuals = nn.ModuleList(build_residual(config) for _ in range(2))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, n, d_model) -> (batch, n, d_model); every position may see every real one."""
        self_attention_residual, feed_forward_residual = self.residuals
        x = self_attention_residual(x, lambda x: self.self_attention(x, x, x, mask))
        x = feed_forward_residual(x, self.feed_forward)
        return x


class Encoder(nn.Module):
    """A stack of N encoder layers; its output is the memory that the decoder reads."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.depths[0]))
        self.final_norm = (
            LayerNorm(config.d_model, config.layer_norm_eps) if config.has_final_norm else None
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, n, d_model) -> (batch, n, d_model)."""
        for layer in self.layers:
            x = layer(x, mask)
        return x if self.final_norm is None else self.final_norm(x)
