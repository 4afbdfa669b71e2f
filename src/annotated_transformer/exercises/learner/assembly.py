"""`assemble`: the whole model out of the functions that the exercises ask for."""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor

from annotated_transformer.errors import CallError
from annotated_transformer.exercises.exercise import Candidate
from annotated_transformer.transformer import Transformer


def assemble(
    parts: Mapping[str, Candidate], model: Transformer
) -> Callable[[Tensor, Tensor], Tensor]:
    """Figure 1 out of `parts`, with the weights of `model`.

    Returns a function from source tokens (batch, n_src) and target tokens (batch, n_tgt) to logits
    (batch, n_tgt, vocab_size), which are those of `model.eval()`: the parts know no dropout. No
    gradients are kept. Self-attention is `multihead.attention`; attention to the source is put
    together from `split_heads`, `scaled_dot_product` and `merge_heads`, which is the same.

    Args:
        parts: as from `own_parts`, a function for each exercise of PARTS.
        model: a model as the paper describes it, post-norm, with one shared table and sinusoids.

    Raises:
        CallError: if the model departs from the paper where the exercises follow it.
    """
    config = model.config
    width = config.d_model // config.num_heads
    if config.departures(("layer_norm_eps", "attention_dropout")) or {
        config.d_k or width,
        config.d_v or width,
    } != {width}:
        raise CallError(
            "The exercises build the paper's model: post-norm, sinusoids, one shared table, no "
            "biases in attention, d_k = d_v = d_model / num_heads. This model has another "
            "configuration: take one made by TransformerConfig's defaults."
        )
    weights = {name: weight.detach() for name, weight in model.state_dict().items()}
    table = weights["projection.weight"]  # (vocab_size, d_model), shared

    def projections(name: str) -> list[Tensor]:
        """The four matrices of one attention, used as x @ w; (d_model, d_model) each."""
        kinds = ("query", "key", "value", "output")
        return [weights[f"{name}.{kind}_projection.weight"].T for kind in kinds]

    def self_attention(
        name: str, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
    ) -> Tensor:
        heads = config.num_heads
        return parts["multihead.attention"](query, key, value, *projections(name), heads, mask)

    def cross_attention(
        name: str, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
    ) -> Tensor:
        w_q, w_k, w_v, w_o = projections(name)
        q, k, v = (  # each (batch, num_heads, n, d_k)
            parts["multihead.split_heads"](x @ w, config.num_heads)
            for x, w in ((query, w_q), (key, w_k), (value, w_v))
        )
        heads, _ = parts["attention.scaled_dot_product"](q, k, v, mask)
        return parts["multihead.merge_heads"](heads) @ w_o

    def feed_forward(name: str, x: Tensor) -> Tensor:
        inner, outer = f"{name}.inner", f"{name}.outer"
        return parts["encoder.feed_forward"](
            x,
            weights[f"{inner}.weight"].T,
            weights[f"{inner}.bias"],
            weights[f"{outer}.weight"].T,
            weights[f"{outer}.bias"],
        )

    def norm(name: str, x: Tensor) -> Tensor:
        gamma, beta = weights[f"{name}.gamma"], weights[f"{name}.beta"]
        return parts["encoder.layer_norm"](x, gamma, beta, config.layer_norm_eps)

    def norms(layer: str, number: int) -> list[Callable[[Tensor], Tensor]]:
        return [partial(norm, f"{layer}.residuals.{i}.norm") for i in range(number)]

    def embed(tokens: Tensor) -> Tensor:
        positions = parts["positional.sinusoidal"](tokens.size(1), config.d_model)
        return parts["encoder.embed"](tokens, table, positions.to(table))

    @torch.no_grad()
    def logits(src: Tensor, tgt: Tensor) -> Tensor:
        src_mask = parts["masks.padding"](src, config.pad_id)  # (batch, 1, 1, n_src)
        tgt_mask = parts["masks.target"](tgt, config.pad_id)  # (batch, 1, n_tgt, n_tgt)
        memory = embed(src)  # (batch, n_src, d_model)
        for i in range(config.num_layers):
            layer = f"encoder.layers.{i}"
            memory = parts["encoder.layer"](
                memory,
                src_mask,
                partial(self_attention, f"{layer}.self_attention"),
                partial(feed_forward, f"{layer}.feed_forward"),
                norms(layer, 2),
            )
        x = embed(tgt)  # (batch, n_tgt, d_model)
        for i in range(config.num_layers):
            layer = f"decoder.layers.{i}"
            x = parts["decoder.layer"](
                x,
                memory,
                tgt_mask,
                src_mask,
                partial(self_attention, f"{layer}.self_attention"),
                partial(cross_attention, f"{layer}.cross_attention"),
                partial(feed_forward, f"{layer}.feed_forward"),
                norms(layer, 3),
            )
        return parts["model.tied_logits"](x, table)  # (batch, n_tgt, vocab_size)

    return logits
