"""Models that everybody names, as configurations of this package: sizes as published.

What a model has besides, no configuration here says; `KnownModel.besides` names and counts it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from annotated_transformer.after.config import LaterConfig


@dataclass(frozen=True)
class KnownModel:
    """One of them.

    Attributes:
        name: as its authors call it.
        config: its sizes and parts.
        context: the longest row that it was made for, in tokens; None where nothing bounds it.
        source: where the sizes are published: a key of the bibliography.
        besides: learned numbers that our configuration does not know, by what they are; below 0
            what it counts and the model lacks.
    """

    name: str
    config: LaterConfig
    context: int | None
    source: str
    besides: Mapping[str, int] = field(default_factory=dict)

    def count_parameters(self) -> int:
        """All that it learns."""
        return self.config.count_parameters() + sum(self.besides.values())


def bert(num_layers: int, d_model: int, num_heads: int) -> tuple[LaterConfig, dict[str, int]]:
    """BERT's sizes, and what it learns besides."""
    config = LaterConfig(
        30_522,
        d_model,
        4 * d_model,
        num_heads,
        num_layers,
        family="encoder-only",
        network="gelu",
        attention_bias=True,
        positions="learned",
        max_positions=512,
        embedding_scale=False,
    )
    besides = {
        "a vector for each of two segments": 2 * d_model,
        "a norm behind the embeddings": 2 * d_model,
        "a layer on the first token": d_model**2 + d_model,
    }
    return config, besides


def gpt(num_layers: int, d_model: int, num_heads: int, context: int) -> LaterConfig:
    """GPT-2 and GPT-3: pre-norm, GELU, learned positions."""
    return LaterConfig(
        50_257,
        d_model,
        4 * d_model,
        num_heads,
        num_layers,
        family="decoder-only",
        norm="pre",
        network="gelu",
        attention_bias=True,
        positions="learned",
        max_positions=context,
        embedding_scale=False,
    )


def t5(num_layers: int, d_model: int, num_heads: int) -> tuple[LaterConfig, dict[str, int]]:
    """T5's sizes, and what it learns besides."""
    config = LaterConfig(
        32_128,
        d_model,
        4 * d_model,
        num_heads,
        num_layers,
        norm="pre",
        norm_kind="rms",
        positions="none",
        embedding_scale=False,
    )
    besides = {
        "a number for each of 32 distances, in every head of a stack": 2 * 32 * num_heads,
        "its networks have no biases": -2 * num_layers * 5 * d_model,
    }
    return config, besides


def llama(
    vocab_size: int,
    sizes: tuple[int, int, int, int],
    num_key_value_heads: int | None = None,
    **changes: Any,
) -> LaterConfig:
    """LLaMA and those that followed it: RMSNorm before, SwiGLU, RoPE, no biases, nothing shared.

    Args:
        sizes: layers, d_model, heads, d_ff.
    """
    num_layers, d_model, num_heads, d_ff = sizes
    return LaterConfig(
        vocab_size,
        d_model,
        d_ff,
        num_heads,
        num_layers,
        norm="pre",
        norm_kind="rms",
        network="swiglu",
        family="decoder-only",
        positions="none",
        relative_positions="rope",
        embedding_scale=False,
        tie_embeddings=False,
        num_key_value_heads=num_key_value_heads,
        **changes,
    )


_BERT, _OF_BERT = bert(12, 768, 12)
_T5, _OF_T5 = t5(12, 768, 12)
_MISTRAL = llama(32_000, (32, 4096, 32, 14_336), 8)
_OF_MIXTRAL = {
    "seven more networks in each layer": 7 * 32 * 3 * 4096 * 14_336,
    "a router in each layer": 32 * 4096 * 8,
}
KNOWN_MODELS = (
    KnownModel("BERT base", _BERT, 512, "devlin2018", _OF_BERT),
    KnownModel("GPT-2", gpt(12, 768, 12, 1024), 1024, "radford2019"),
    KnownModel("GPT-2 XL", gpt(48, 1600, 25, 1024), 1024, "radford2019"),
    KnownModel("T5 base", _T5, None, "raffel2019", _OF_T5),
    KnownModel("GPT-3", gpt(96, 12_288, 96, 2048), 2048, "brown2020"),
    KnownModel("LLaMA 7B", llama(32_000, (32, 4096, 32, 11_008)), 2048, "touvron2023llama"),
    KnownModel("Llama 2 70B", llama(32_000, (80, 8192, 64, 28_672), 8), 4096, "touvron2023"),
    KnownModel("Mistral 7B", replace(_MISTRAL, window=4096), 8192, "jiang2023"),
    KnownModel("Mixtral 8x7B", _MISTRAL, 32_768, "jiang2024", _OF_MIXTRAL),
    KnownModel(
        "Qwen3 8B", llama(151_936, (36, 4096, 32, 12_288), 8, qk_norm=True), 40_960, "yang2025"
    ),
)
