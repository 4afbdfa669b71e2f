"""One stack that translates: GPT-2 and torch's encoder on the same weights, and what it sees."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import GPT2Config, GPT2LMHeadModel

from annotated_transformer.after.build import build_transformer
from annotated_transformer.after.config import LaterConfig
from annotated_transformer.after.families import OneStack, row_mask
from annotated_transformer.errors import CallError
from annotated_transformer.training.run_directory import RunConfig
from annotated_transformer.training.settings import TrainingConfig
from torch_twin import TorchTwin

SRC = torch.tensor([[5, 9, 7, 11, 2], [8, 6, 4, 10, 2]])
TGT = torch.tensor([[1, 12, 4], [1, 9, 2]])
SIZES: dict[str, Any] = {"d_model": 24, "d_ff": 40, "num_heads": 4, "num_layers": 3, "dropout": 0.0}


def one_stack(**changes: Any) -> OneStack:
    """With random numbers where the starting values are zeros and ones."""
    torch.manual_seed(3)
    model = build_transformer(LaterConfig(30, **(SIZES | changes))).double().eval()
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 1:
                weight.add_(0.2 * torch.randn_like(weight))
    assert isinstance(model, OneStack)
    return model


def gpt_2(ours: OneStack) -> GPT2LMHeadModel:
    """GPT-2 of `transformers` with copies of our weights."""
    config = ours.config
    theirs = GPT2LMHeadModel(
        GPT2Config(
            **{"vocab_size": 30, "n_positions": config.max_positions, "n_embd": config.d_model},
            **{"n_layer": config.num_layers, "n_head": config.num_heads, "n_inner": config.d_ff},
            **{"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0},
            **{"activation_function": "gelu", "layer_norm_epsilon": config.layer_norm_eps},
        )
    ).double()
    own = dict(ours.named_parameters())

    def copy(name: str, *parts: Tensor) -> None:
        target = theirs.get_parameter(f"transformer.{name}")
        value = torch.cat(parts)
        transposed = name.startswith("h.") and target.dim() == 2  # theirs multiplies from the left
        target.data.copy_(value.T if transposed else value)

    copy("wte.weight", own["source_embedding.table.weight"])
    copy("wpe.weight", own["source_embedding.positions.table"])
    norms = {"weight": "gamma", "bias": "beta"}
    for kind, ours_kind in norms.items():
        copy(f"ln_f.{kind}", own[f"encoder.final_norm.{ours_kind}"])
    for number in range(config.num_layers):
        layer, place = f"encoder.layers.{number}", f"h.{number}"
        for kind, ours_kind in norms.items():
            for which in (0, 1):
                copy(
                    f"{place}.ln_{which + 1}.{kind}",
                    own[f"{layer}.residuals.{which}.norm.{ours_kind}"],
                )
            projections = (
                f"{layer}.self_attention.{part}_projection.{kind}"
                for part in ("query", "key", "value")
            )
            copy(f"{place}.attn.c_attn.{kind}", *(own[name] for name in projections))
            copy(
                f"{place}.attn.c_proj.{kind}",
                own[f"{layer}.self_attention.output_projection.{kind}"],
            )
            copy(f"{place}.mlp.c_fc.{kind}", own[f"{layer}.feed_forward.inner.{kind}"])
            copy(f"{place}.mlp.c_proj.{kind}", own[f"{layer}.feed_forward.outer.{kind}"])
    return theirs.eval()


def test_decoder_only_with_gpt_2s_parts_is_gpt_2() -> None:
    ours = one_stack(
        **{"family": "decoder-only", "norm": "pre", "network": "gelu", "positions": "learned"},
        **{"max_positions": 16, "attention_bias": True, "embedding_scale": False},
    )
    theirs = gpt_2(ours)
    assert ours.num_parameters() == theirs.num_parameters()
    expected = theirs(torch.cat([SRC, TGT], dim=1)).logits[:, SRC.size(1) :]
    torch.testing.assert_close(ours(SRC, TGT), expected)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("family", ["decoder-only", "prefix"])
def test_one_stack_is_torchs_encoder_under_a_mask(family: str, norm: str) -> None:
    ours = one_stack(family=family, norm=norm)
    config, own = ours.config, dict(ours.named_parameters())
    layer = nn.TransformerEncoderLayer(
        *(config.d_model, config.num_heads, config.d_ff, 0.0),
        layer_norm_eps=config.layer_norm_eps,
        batch_first=True,
        norm_first=norm == "pre",
    )
    final = nn.LayerNorm(config.d_model, config.layer_norm_eps) if norm == "pre" else None
    theirs = nn.TransformerEncoder(layer, config.num_layers, final, enable_nested_tensor=False)
    theirs = theirs.double().eval()
    with torch.no_grad():
        for name, weight in theirs.named_parameters():
            weight.copy_(TorchTwin.from_ours(f"encoder.{name}", own))
    row = torch.cat([SRC, TGT], dim=1)
    n_src, n = SRC.size(1), row.size(1)
    hidden_from = torch.ones(n, n, dtype=torch.bool).triu(1)  # True = may not attend, theirs
    if family == "prefix":
        hidden_from[:n_src, :n_src] = False
    expected = theirs(ours.source_embedding(row), hidden_from)[:, n_src:]
    torch.testing.assert_close(ours(SRC, TGT), ours.project(expected))


@pytest.mark.parametrize("causal", [True, False])
def test_who_sees_whom(causal: bool) -> None:
    source = torch.tensor([[True, True, False]])[:, None, None]
    target = torch.ones(2, 2, dtype=torch.bool).tril()[None, None]
    of_source = [1, 0, 0, 0, 0] if causal else [1, 1, 0, 0, 0]
    assert row_mask(source, target, causal)[0, 0].int().tolist() == [
        of_source,
        *[[1, 1, 0, 0, 0]] * 2,  # the second row is padding, which nobody reads
        [1, 1, 0, 1, 0],
        [1, 1, 0, 1, 1],
    ]


@pytest.mark.parametrize("family", ["decoder-only", "prefix"])
def test_only_a_prefix_is_read_in_both_directions(family: str) -> None:
    """The last source token changes what the first becomes, or does not."""
    model = one_stack(family=family)
    states: list[Tensor] = []
    model.encoder.layers[0].register_forward_hook(lambda _, __, output: states.append(output))
    changed = SRC.clone()
    changed[:, 3] = 20
    with torch.no_grad():
        model(SRC, TGT)
        model(changed, TGT)
    first, other = (state[:, 0] for state in states)
    assert torch.equal(first, other) == (family == "decoder-only")


def test_an_encoder_reads_and_does_not_write() -> None:
    model = one_stack(family="encoder-only")
    assert model.read(SRC).shape == (2, 5, 30)
    with pytest.raises(CallError, match="writes none"):
        model(SRC, TGT)


def test_rows_of_several_sentences_are_refused() -> None:
    model = LaterConfig(30, **SIZES, family="prefix")
    shared = TrainingConfig(steps=1, share_rows=True)
    with pytest.raises(ValueError, match="leave one of the two out"):
        RunConfig(model, shared, {})
    with pytest.raises(ValueError, match="first of a row"):
        RunConfig(LaterConfig(30, **SIZES, window=2, global_tokens=1), shared, {})
    with pytest.raises(ValueError, match="one stack"):
        LaterConfig(30, **SIZES, family="prefix", decoder_layers=2)
