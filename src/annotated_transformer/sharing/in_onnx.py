"""The model as two ONNX graphs, which any program that runs ONNX can search with.

`encoder.onnx` reads a sentence once and gives the keys and values that cross-attention looks at.
`decoder.onnx` makes one step: it takes the newest token and the keys and values of those before it,
and gives the logits of the next token and the keys and values with this one.
"""

import logging
import warnings
from pathlib import Path
from typing import cast

import torch
from torch import Tensor, nn
from torch.export import Dim

from annotated_transformer.after.config import LaterConfig
from annotated_transformer.config import TransformerConfig
from annotated_transformer.decoder import DecoderLayer
from annotated_transformer.decoding.incremental import LayerCache
from annotated_transformer.errors import CallError
from annotated_transformer.masks import padding_mask
from annotated_transformer.sharing.ports import LONGEST
from annotated_transformer.transformer import Transformer


class Encode(nn.Module):
    """From a source to what cross-attention looks at."""

    gives = ("memory_keys", "memory_values")

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, n_src) to keys and values, each (layers, batch, num_heads, n_src, d)."""
        memory = self.model.encode(source)
        looks = [
            cast(DecoderLayer, layer).cross_attention.project_key_value(memory, memory)
            for layer in self.model.decoder.layers
        ]
        return torch.stack([keys for keys, _ in looks]), torch.stack([value for _, value in looks])


class DecodeStep(nn.Module):
    """One position of the decoder, that of the newest token."""

    gives = ("logits", "keys", "values")
    places: Tensor

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.decoder, self.embedding = model.decoder, model.target_embedding
        self.projection, self.pad_id = model.projection, model.config.pad_id
        table, longest = model.target_embedding.positions, longest_of(model.config)
        places = torch.zeros(longest, model.config.d_model) if table is None else table(longest)
        self.register_buffer("places", places.detach().clone())

    def forward(
        self,
        token: Tensor,
        source: Tensor,
        memory_keys: Tensor,
        memory_values: Tensor,
        past_keys: Tensor,
        past_values: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The logits of the next token, and the past with this one.

        Args:
            token: the newest, (batch, 1).
            source: (batch, n_src), for its padding.
            memory_keys: of `Encode`, and so are the values.
            memory_values: see there.
            past_keys: (layers, batch, num_heads, n_past, d_k); n_past is 0 at the first step.
            past_values: (layers, batch, num_heads, n_past, d_v).

        Returns:
            Logits (batch, vocab), and keys and values of n_past + 1 positions.
        """
        source_mask = padding_mask(source, self.pad_id)  # (batch, 1, 1, n_src)
        embedding, place = self.embedding, past_keys.size(3)
        own_past = source_mask.new_ones(1, 1, 1, place + 1)  # one hypothesis: all of it is its own
        x = embedding.scale * embedding.table(token) + self.places[place]  # (batch, 1, d_model)
        caches = []
        for number, layer in enumerate(self.decoder.layers):
            cache = LayerCache(cast(DecoderLayer, layer), x[:, :0])  # empty: all of it is given
            cache.memory_keys, cache.memory_values = memory_keys[number], memory_values[number]
            cache.past_keys, cache.past_values = past_keys[number], past_values[number]
            x = cache.step(x, own_past, source_mask)
            caches.append(cache)
        norm = self.decoder.final_norm
        logits = self.projection(x if norm is None else norm(x))[:, 0]  # (batch, vocab)
        return (
            logits,
            torch.stack([cache.past_keys for cache in caches]),
            torch.stack([cache.past_values for cache in caches]),
        )


def longest_of(config: TransformerConfig) -> int:
    """How many positions a graph has."""
    return min(LONGEST, config.max_positions) if config.positions == "learned" else LONGEST


def onnx_files(model: Transformer, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx.

    Args:
        model: ours, in float32.
        folder: that is there.

    Raises:
        ImportError: if `onnx` and `onnxscript` are not installed.
        CallError: if it is no model of two stacks of the paper's parts.
    """
    import onnx  # noqa: F401  else torch says so later, and at length
    import onnxscript  # noqa: F401

    if type(model) is not Transformer or isinstance(model.config, LaterConfig):
        raise CallError(
            "ONNX files are written of the paper's encoder-decoder; this model has parts that came "
            "later, or one stack: take another run."
        )
    config = model.config
    if model.source_embedding.positions is not None:
        model.source_embedding.positions(longest_of(config))  # as long as the decoder's, at least
    heads, (d_k, d_v) = config.num_heads, config.head_widths
    layers, batch, n_src, n_past = config.depths[1], 2, 3, 2  # examples: any will do but 0 and 1
    source = torch.full((batch, n_src), config.eos_id)
    memory = [torch.zeros(layers, batch, heads, n_src, d) for d in (d_k, d_v)]
    past = [torch.zeros(layers, batch, heads, n_past, d) for d in (d_k, d_v)]
    write(Encode(model), {"source": source}, folder / "encoder.onnx")
    kinds = ("keys", "values")
    write(
        DecodeStep(model),
        {"token": source[:, :1].clone(), "source": source}
        | {f"memory_{kind}": given for kind, given in zip(kinds, memory, strict=True)}
        | {f"past_{kind}": given for kind, given in zip(kinds, past, strict=True)},
        folder / "decoder.onnx",
    )


def write(module: Encode | DecodeStep, inputs: dict[str, Tensor], path: Path) -> None:
    """One graph, for any number of sentences and any lengths.

    Args:
        module: in evaluation mode.
        inputs: examples by their names.
        path: the file.
    """
    any_size = Dim.DYNAMIC  # type: ignore[attr-defined]
    sizes = {
        name: dict.fromkeys((0,) if name == "token" else (0, 1), any_size)
        if given.dim() == 2
        else {1: any_size, 3: any_size}
        for name, given in inputs.items()
    }
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)  # else it misses torchvision aloud
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the exporter's own deprecations
        program = torch.export.export(module.eval(), (), inputs, dynamic_shapes=sizes)
        torch.onnx.export(
            program,
            (),
            str(path),
            input_names=list(inputs),
            output_names=list(module.gives),
            external_data=False,
            verbose=False,
        )
