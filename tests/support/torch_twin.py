"""`torch.nn.Transformer` on the weights of ours, and batches to compare them on."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.masks import causal_mask
from annotated_transformer.positional import sinusoidal_encoding
from annotated_transformer.transformer import Transformer

PAD = 0
SIZES = {"d_model": 24, "d_ff": 40, "num_heads": 4, "num_layers": 3}


def our_model(dtype: torch.dtype, vocab_size: int = 31, **changes: Any) -> Transformer:
    """Random weights everywhere, also where the initialisation puts zeros and ones."""
    torch.manual_seed(7)
    model = Transformer(TransformerConfig(vocab_size, **{**SIZES, "dropout": 0.0, **changes}))
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.2 * torch.randn_like(parameter))
    return model.to(dtype)


def padded_tokens(lengths: list[int], vocab_size: int, seed: int) -> Tensor:
    """(batch, longest) random tokens, padded on the right."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(1, vocab_size, (len(lengths), max(lengths)), generator=generator)
    for row, length in enumerate(lengths):
        tokens[row, length:] = PAD
    return tokens


def a_batch(vocab_size: int = 31) -> tuple[Tensor, Tensor]:
    """Sources and targets of different lengths, some shorter and some longer than each other."""
    return padded_tokens([6, 2, 9, 1], vocab_size, 1), padded_tokens([4, 7, 1, 5], vocab_size, 2)


class TorchTwin(nn.Module):
    """`torch.nn.Transformer` with the weights of ours, between our embeddings and projection.

    The weights are copies: each side has its own gradients.
    """

    def __init__(self, ours: Transformer) -> None:
        super().__init__()
        config = ours.config
        self.config = config
        self.table = nn.Parameter(ours.projection.weight.detach().clone())
        self.transformer = nn.Transformer(
            config.d_model,
            config.num_heads,
            config.num_layers,
            config.num_layers,
            config.d_ff,
            dropout=0.0,
            layer_norm_eps=config.layer_norm_eps,
            batch_first=True,
            norm_first=config.norm == "pre",
            dtype=self.table.dtype,
        )
        self.transformer.encoder.use_nested_tensor = False  # a prototype that warns, no more
        if config.norm == "post":
            self.transformer.encoder.norm = self.transformer.decoder.norm = None
        ours_of = dict(ours.named_parameters())
        with torch.no_grad():
            for name, parameter in self.transformer.named_parameters():
                parameter.copy_(self.from_ours(name, ours_of))

    @staticmethod
    def from_ours(name: str, ours: dict[str, Tensor]) -> Tensor:
        """What a parameter of `nn.Transformer` should hold, given ours by name."""
        stack, *rest, kind = name.split(".")
        if rest == ["norm"]:
            return ours[f"{stack}.final_norm.{'gamma' if kind == 'weight' else 'beta'}"]
        layer = f"{stack}.layers.{rest[1]}"
        part = rest[2]
        if part.startswith("norm"):
            place = int(part.removeprefix("norm")) - 1
            return ours[f"{layer}.residuals.{place}.norm.{'gamma' if kind == 'weight' else 'beta'}"]
        if part.startswith("linear"):
            return ours[f"{layer}.feed_forward.{'inner' if part == 'linear1' else 'outer'}.{kind}"]
        attention = f"{layer}.{'self' if part == 'self_attn' else 'cross'}_attention"
        width = ours[f"{attention}.query_projection.weight"].size(0)
        if kind == "in_proj_weight":
            projections = ("query", "key", "value")
            return torch.cat([ours[f"{attention}.{p}_projection.weight"] for p in projections])
        if kind == "in_proj_bias":
            return torch.zeros(3 * width)
        if kind == "bias":
            return torch.zeros(width)
        return ours[f"{attention}.output_projection.weight"]

    def embed(self, tokens: Tensor) -> Tensor:
        d_model = self.config.d_model
        positions = sinusoidal_encoding(tokens.size(1), d_model).to(self.table)
        return math.sqrt(d_model) * self.table[tokens] + positions

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        hidden = self.transformer(
            self.embed(src),
            self.embed(tgt),
            tgt_mask=~causal_mask(tgt.size(1)),  # True = may not attend, on their side
            src_key_padding_mask=src == PAD,
            tgt_key_padding_mask=tgt == PAD,
            memory_key_padding_mask=src == PAD,
        )
        return hidden @ self.table.T
