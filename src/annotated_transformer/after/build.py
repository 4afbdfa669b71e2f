"""The one place where a model of the paper's parts is given later ones."""

from collections.abc import Callable

from torch import nn

from annotated_transformer.after.attention import LaterAttention, LinearAttention
from annotated_transformer.after.config import LaterConfig
from annotated_transformer.after.families import OneStack
from annotated_transformer.after.networks import Experts, GELUNetwork, SiLUNetwork, SwiGLU
from annotated_transformer.after.norms import RMSNorm
from annotated_transformer.config import TransformerConfig
from annotated_transformer.feed_forward import FeedForward
from annotated_transformer.residual import LayerNorm
from annotated_transformer.transformer import Transformer, initialise


def build_transformer(config: TransformerConfig) -> Transformer:
    """The model of a configuration, with the paper's parts or with later ones."""
    if isinstance(config, LaterConfig) and config.family != "encoder-decoder":
        model: Transformer = OneStack(config)
    else:
        model = Transformer(config)
    if isinstance(config, LaterConfig):
        for layer in model.encoder.layers:
            layer.self_attention = attention(config)
        for layer in model.decoder.layers:
            layer.self_attention = attention(config)
            layer.cross_attention = attention(config, of_memory=True)
        for stack in (model.encoder, model.decoder):
            for layer in stack.layers:
                layer.feed_forward = network(config)
            if config.norm_kind == "rms":
                use_rms_norm(stack, config)
        if config.output_bias:
            add_output_bias(model)
    return model


def attention(config: LaterConfig, of_memory: bool = False) -> LaterAttention:
    """The multi-head attention of a configuration, with its starting values."""
    kind = LinearAttention if config.kernel == "linear" else LaterAttention
    return kind(config, of_memory).apply(initialise)


def network(config: LaterConfig) -> nn.Module:
    """The feed-forward network of a configuration, with its starting values."""
    sizes = config.d_model, config.d_ff
    kinds: dict[str, Callable[[], nn.Module]] = {
        "relu": lambda: FeedForward(*sizes),
        "gelu": lambda: GELUNetwork(*sizes),
        "silu": lambda: SiLUNetwork(*sizes),
        "swiglu": lambda: SwiGLU(*sizes),
        "experts": lambda: Experts(
            *sizes, config.experts, config.experts_used, config.expert_balance
        ),
    }
    return kinds[config.network]().apply(initialise)


def use_rms_norm(stack: nn.Module, config: LaterConfig) -> None:
    """RMSNorm in place of every LayerNorm of a stack."""
    for module in list(stack.modules()):
        for name, child in module.named_children():
            if isinstance(child, LayerNorm):
                setattr(module, name, RMSNorm(config.d_model, config.layer_norm_eps))


def add_output_bias(model: Transformer) -> None:
    """A number for each token, added to its logits; zero at the start."""
    table = model.projection.weight
    model.projection = nn.Linear(table.size(1), len(table))
    model.projection.weight = table
    nn.init.zeros_(model.projection.bias)
