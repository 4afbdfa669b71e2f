"""Multi-head attention with parts that came after the paper."""

from torch import Tensor, nn
from torch.nn import functional

from annotated_transformer.after.config import LaterConfig
from annotated_transformer.after.inputs import (
    Alibi,
    AttentionInputs,
    Places,
    QKNorm,
    Rotary,
    SharedKeys,
    Window,
)
from annotated_transformer.attention import MultiHeadAttention, masked_softmax, split_heads


class LaterAttention(MultiHeadAttention):
    """Section 3.2.2, with what the configuration puts between the projections and the scores.

    Args:
        config: names the parts.
        of_memory: whether this is cross-attention, in which distances mean nothing, so that neither
            places nor a window act there.
    """

    def __init__(self, config: LaterConfig, of_memory: bool = False) -> None:
        d_k, d_v = config.head_widths
        bias = config.attention_bias
        super().__init__(
            config.d_model, config.num_heads, d_k, d_v, bias, dropout=config.attention_dropout
        )
        self.num_key_value_heads = config.heads_of_keys
        self.key_projection = nn.Linear(config.d_model, self.num_key_value_heads * d_k, bias=bias)
        self.value_projection = nn.Linear(config.d_model, self.num_key_value_heads * d_v, bias=bias)
        parts: list[nn.Module] = []
        if config.qk_norm:
            parts.append(QKNorm(d_k, config.layer_norm_eps))
        if not of_memory and config.relative_positions == "rope":
            parts.append(Rotary(d_k, config.rope_stretch, config.rope_factor))
        if not of_memory and config.relative_positions == "alibi":
            parts.append(Alibi(config.num_heads))
        if not of_memory and config.window is not None:
            parts.append(Window(config.window, config.global_tokens))
        if self.num_key_value_heads < self.num_heads:
            parts.append(SharedKeys())
        self.parts = nn.ModuleList(parts)

    def project_key_value(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keys (batch, key-value heads, n_keys, d_k) and values (batch, the same, n_keys, d_v)."""
        keys = split_heads(self.key_projection(key), self.num_key_value_heads)
        return keys, split_heads(self.value_projection(value), self.num_key_value_heads)

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Every part in turn, then equation 1; (batch, num_heads, n_queries, d_v)."""
        inputs = self.prepare(queries, keys, values, mask)
        if inputs.bias is None:
            return super().attend(inputs.queries, inputs.keys, inputs.values, inputs.mask)
        return self.attend_with_bias(inputs, inputs.bias)

    def prepare(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None
    ) -> AttentionInputs:
        """What every part has acted on."""
        places = Places(mask, queries.size(-2), keys.size(-2), queries.device)
        inputs = AttentionInputs(queries, keys, values, mask, places)
        for part in self.parts:
            inputs = part(inputs)
        return inputs

    def attend_with_bias(self, inputs: AttentionInputs, bias: Tensor) -> Tensor:
        """Equation 1 with something added to the scores."""
        scale = inputs.queries.size(-1) ** -0.5
        scores = scale * inputs.queries @ inputs.keys.transpose(-2, -1) + bias
        weights = masked_softmax(scores, inputs.mask)
        if self.keep_weights:
            self.weights = weights.detach()
        heads: Tensor = self.dropout(weights) @ inputs.values
        return heads


class LinearAttention(LaterAttention):
    """φ(q)·φ(k) with φ(x) = elu(x) + 1 in place of exp(q·k / sqrt(d_k)).

    Where all queries may see the same keys, these are summed once for all of them, so that the
    arithmetic is linear in the length. In a decoder, where each query has keys of its own, the
    products are written out, which gives the same function. Source: Katharopoulos et al. (2020).
    """

    def attend(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """(batch, num_heads, n_queries, d_v); a query that may attend to nothing gets zeros."""
        inputs = self.prepare(queries, keys, values, mask)
        query, key = functional.elu(inputs.queries) + 1, functional.elu(inputs.keys) + 1
        mask, value = inputs.mask, inputs.values
        if (mask is None or mask.size(-2) == 1) and not self.keep_weights:
            seen = key if mask is None else key * mask.transpose(-2, -1)  # (..., n_keys, d_k)
            sums = seen.transpose(-2, -1) @ value  # (batch, h, d_k, d_v): one for all queries
            total = query @ seen.sum(-2)[..., None]  # (batch, h, n_queries, 1)
            return query @ sums / total.clamp(min=1e-9)
        products = query @ key.transpose(-2, -1)  # (batch, h, n_queries, n_keys)
        seen = products if mask is None else products * mask
        weights = seen / seen.sum(-1, keepdim=True).clamp(min=1e-9)
        if self.keep_weights:
            self.weights = weights.detach()
        heads: Tensor = weights @ value
        return heads
