"""The weights of one of our models in the models of others, so that all translate alike.

Hugging Face has two models that are ours with a trained model's weights: Marian, whose norms stand
where the paper has them, and Pegasus, which is Marian with the norms first. CTranslate2, a program
in C++ that runs trained Transformers, holds either.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import Vocabulary
from annotated_transformer.errors import CallError
from annotated_transformer.positional import sinusoidal_encoding
from annotated_transformer.transformer import Transformer

LONGEST = 512  # positions in their tables of sinusoids
BANNED = (Vocabulary.pad_id, Vocabulary.bos_id)  # what no search here ever writes
NEVER = -1e9  # added to the logits of banned tokens: they get no probability, the others get all


def refuse_what_peers_cannot_hold(config: TransformerConfig) -> None:
    """Raises CallError for a model that the others have no place for."""
    held = ("norm", "attention_bias", "attention_dropout", "layer_norm_eps", "decoder_layers")
    others = config.departures(held)
    others += ["norm = none"] * (config.norm == "none")
    others += [f"{name} = {size}" for name in ("d_k", "d_v") if (size := getattr(config, name))]
    if others:
        raise CallError(
            "Hugging Face's Marian and Pegasus and CTranslate2 hold models with a norm at each "
            "sub-layer, tied and scaled embeddings, sinusoids, residuals, scaled dot products and "
            f"d_k = d_v = d_model / h; this one has {', '.join(others)}: take another run."
        )


def hugging_face_sizes(config: TransformerConfig) -> dict[str, Any]:
    """Our sizes by the names of Hugging Face's encoder-decoders."""
    encoder_layers, decoder_layers = config.depths
    return {
        "vocab_size": config.vocab_size,
        "d_model": config.d_model,
        "encoder_layers": encoder_layers,
        "decoder_layers": decoder_layers,
        "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.d_ff,
        "encoder_attention_heads": config.num_heads,
        "decoder_attention_heads": config.num_heads,
        "dropout": config.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "activation_function": "relu",
        "max_position_embeddings": LONGEST,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "pad_token_id": config.pad_id,
        "bos_token_id": config.bos_id,
        "eos_token_id": config.eos_id,
        "decoder_start_token_id": config.bos_id,
    }


def hugging_face_of(model: Transformer, banned: tuple[int, ...] = ()) -> nn.Module:
    """Marian (post-norm) or Pegasus (pre-norm) with our weights, in evaluation mode.

    Args:
        model: ours.
        banned: tokens that have no probability.

    Raises:
        ImportError: if `transformers` is not installed.
        CallError: if it cannot hold this model.
    """
    import transformers

    config = model.config
    refuse_what_peers_cannot_hold(config)
    sizes = hugging_face_sizes(config) | {"forced_eos_token_id": None}
    twin: Any
    if config.norm == "post":
        twin = transformers.MarianMTModel(transformers.MarianConfig(**sizes))
    else:
        twin = transformers.PegasusForConditionalGeneration(transformers.PegasusConfig(**sizes))
    fill(twin, model)
    twin.final_logits_bias[0, list(banned)] = NEVER
    twin.to(model.device).eval()
    return cast(nn.Module, twin)


@torch.no_grad()
def fill(twin: nn.Module, model: Transformer) -> None:
    """Copy our weights into Marian or Pegasus, in our precision; biases that we lack are zero.

    Their sinusoids, which they make for themselves, have all sines before all cosines, and ours
    have them in turn. So the features of all vectors are put into their order: a model does not
    know which of its features is the first.
    """
    twin.to(model.projection.weight.dtype)
    for module in twin.modules():
        if isinstance(module, nn.LayerNorm):
            module.eps = model.config.layer_norm_eps
    ours = dict(model.named_parameters())
    for name, parameter in twin.named_parameters():
        if "embed_positions" not in name:
            parameter.copy_(hugging_face_parameter(name, ours))
    cast(Tensor, twin.final_logits_bias).zero_()


def hugging_face_parameter(name: str, ours: Mapping[str, Tensor]) -> Tensor:
    """What a parameter of Marian or Pegasus should hold, given ours by name."""
    place, axis = place_in_ours(name)
    if place not in ours:  # a bias that our attention lacks
        weight = ours[place.removesuffix("bias") + "weight"]
        return weight.new_zeros(len(weight))
    if axis is None:
        return ours[place]
    return ours[place].index_select(
        axis, sines_first(ours[place].size(axis)).to(ours[place].device)
    )


def sines_first(d_model: int) -> Tensor:
    """Which of our features is the first, the second, ... of theirs; (d_model,)."""
    features = torch.arange(d_model)
    return torch.cat([features[0::2], features[1::2]])


def place_in_ours(name: str) -> tuple[str, int | None]:
    """What a parameter of Marian or Pegasus is called here.

    Returns:
        Our name, and the axis along which the features of the model's vectors lie; None: nowhere.
    """
    if name.endswith(("shared.weight", "lm_head.weight", "embed_tokens.weight")):
        return "source_embedding.table.weight", 1
    _, stack, part, *rest, kind = name.split(".")
    gain_or_shift = "gamma" if kind == "weight" else "beta"
    if part == "layer_norm":  # behind the stack, in Pegasus
        return f"{stack}.final_norm.{gain_or_shift}", 0
    number, part, *rest = rest
    layer = f"{stack}.layers.{number}"
    norms = ["self_attn_layer_norm", "encoder_attn_layer_norm", "final_layer_norm"]
    if stack == "encoder":
        norms.remove("encoder_attn_layer_norm")
    if part in norms:
        return f"{layer}.residuals.{norms.index(part)}.norm.{gain_or_shift}", 0
    reads = part == "fc1" or (part != "fc2" and rest[0] != "out_proj")  # else it writes
    axis = {("weight", True): 1, ("bias", True): None}.get((kind, reads), 0)
    if part in ("fc1", "fc2"):
        return f"{layer}.feed_forward.{'inner' if reads else 'outer'}.{kind}", axis
    attention = f"{layer}.{'self' if part == 'self_attn' else 'cross'}_attention"
    projection = {"q_proj": "query", "k_proj": "key", "v_proj": "value", "out_proj": "output"}
    return f"{attention}.{projection[rest[0]]}_projection.{kind}", axis


def ctranslate2_folder(
    model: Transformer,
    folder: Path,
    precision: str,
    banned: tuple[int, ...] = (),
    words: Sequence[str] | None = None,
    longest: int = LONGEST,
) -> None:
    """Write our weights as a model of CTranslate2.

    Args:
        model: ours, in float32.
        folder: where to; it must not exist.
        precision: "float32" or "int8", of the matrices.
        banned: tokens that have no probability.
        words: what each token is called in it; its number if None.
        longest: positions in its table.

    Raises:
        ImportError: if `ctranslate2` is not installed.
        CallError: if it cannot hold this model.
    """
    import ctranslate2

    config = model.config
    refuse_what_peers_cannot_hold(config)
    spec = ctranslate2.specs.TransformerSpec.from_config(
        config.depths, config.num_heads, pre_norm=config.norm == "pre"
    )
    # Copies: CTranslate2 rounds in place.
    ours = {name: values.detach().cpu().clone() for name, values in model.named_parameters()}
    for stack, side in (("encoder", spec.encoder), ("decoder", spec.decoder)):
        embeddings = side.embeddings[0] if stack == "encoder" else side.embeddings
        embeddings.weight = ours["source_embedding.table.weight"].numpy()
        side.scale_embeddings = True
        side.position_encodings.encodings = sinusoidal_encoding(longest, config.d_model).numpy()
        if config.norm == "pre":
            fill_norm(side.layer_norm, f"{stack}.final_norm", ours)
        for number, layer in enumerate(side.layer):
            fill_layer(layer, f"{stack}.layers.{number}", ours)
    spec.decoder.projection.weight = ours["source_embedding.table.weight"].numpy()
    bias = torch.zeros(config.vocab_size)
    bias[list(banned)] = NEVER
    spec.decoder.projection.bias = bias.numpy()

    words = list(words or map(str, range(config.vocab_size)))
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.bos_token = words[config.bos_id]
    spec.config.eos_token = words[config.eos_id]
    spec.config.unk_token = words[Vocabulary.unk_id]
    spec.config.decoder_start_token = words[config.bos_id]
    spec.config.layer_norm_epsilon = config.layer_norm_eps
    spec.validate()
    spec.optimize(quantization=precision)
    folder.mkdir(parents=True)
    spec.save(str(folder))


def fill_layer(layer: Any, name: str, ours: dict[str, Tensor]) -> None:
    """One layer of CTranslate2's; it keeps the projections of queries, keys and values together."""
    is_decoder = name.startswith("decoder")
    fill_norm(layer.self_attention.layer_norm, f"{name}.residuals.0.norm", ours)
    fill_attention(layer.self_attention.linear, f"{name}.self_attention", ours, ["qkv", "o"])
    if is_decoder:
        fill_norm(layer.attention.layer_norm, f"{name}.residuals.1.norm", ours)
        fill_attention(layer.attention.linear, f"{name}.cross_attention", ours, ["q", "kv", "o"])
    fill_norm(layer.ffn.layer_norm, f"{name}.residuals.{1 + is_decoder}.norm", ours)
    for linear, part in ((layer.ffn.linear_0, "inner"), (layer.ffn.linear_1, "outer")):
        linear.weight = ours[f"{name}.feed_forward.{part}.weight"].numpy()
        linear.bias = ours[f"{name}.feed_forward.{part}.bias"].numpy()


def fill_attention(linears: Any, name: str, ours: dict[str, Tensor], groups: list[str]) -> None:
    """The projections of one attention, in the groups that CTranslate2 has: "qkv", "o"."""
    projection = {"q": "query", "k": "key", "v": "value", "o": "output"}
    for linear, group in zip(linears, groups, strict=True):
        places = [f"{name}.{projection[letter]}_projection" for letter in group]
        linear.weight = torch.cat([ours[f"{place}.weight"] for place in places]).numpy()
        if f"{places[0]}.bias" in ours:
            linear.bias = torch.cat([ours[f"{place}.bias"] for place in places]).numpy()


def fill_norm(norm: Any, name: str, ours: dict[str, Tensor]) -> None:
    """The gain and the shift of one norm."""
    norm.gamma, norm.beta = ours[f"{name}.gamma"].numpy(), ours[f"{name}.beta"].numpy()
