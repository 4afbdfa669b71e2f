"""Configurations: the paper's defaults, the presets by name, sentences for what cannot be."""

import json
from dataclasses import FrozenInstanceError

import pytest
import torch

from annotated_transformer.config import PRESETS, TransformerConfig
from annotated_transformer.evidence.table3 import TABLE_3, table_3_row
from annotated_transformer.transformer import Transformer


def test_departures_are_choices_of_design_and_no_sizes():
    for name in PRESETS:
        named = TransformerConfig.preset(name, 100).departures()
        assert named == (["positions = learned"] if name == "E" else [])
    changes = {
        "norm": "pre",
        "positions": "none",
        "attention": "additive",
        "residual": False,
        "tie_embeddings": False,
        "embedding_scale": False,
        "attention_bias": True,
        "attention_dropout": 0.1,
        "layer_norm_eps": 1e-5,
    }
    config = TransformerConfig(100, dropout=0.0, max_positions=8, eos_id=3, **changes)
    assert config.departures() == [f"{name} = {value}" for name, value in changes.items()]
    assert config.departures(apart_from=tuple(changes)[1:]) == ["norm = pre"]


def test_the_defaults_are_the_papers_base_model():
    config = TransformerConfig(vocab_size=37_000)
    assert (config.num_layers, config.d_model, config.d_ff, config.num_heads) == (6, 512, 2048, 8)
    assert config.dropout == 0.1
    assert config.norm == "post"
    assert config.positions == "sinusoidal"
    assert config.tie_embeddings
    assert not config.attention_bias
    assert config.attention_dropout == 0
    assert not config.has_final_norm
    assert config == TransformerConfig.preset("base", 37_000)


def test_a_configuration_cannot_be_changed_only_copied():
    config = TransformerConfig(vocab_size=10)
    with pytest.raises(FrozenInstanceError):
        config.d_model = 4
    assert config.with_changes(d_ff=3) == TransformerConfig(vocab_size=10, d_ff=3)


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_survives_json(preset):
    config = TransformerConfig.preset(preset, 100)
    assert TransformerConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_a_row_of_table_3_is_found_by_its_preset_or_the_rows_are_named():
    assert [table_3_row(row.preset) for row in TABLE_3] == list(TABLE_3)
    with pytest.raises(ValueError, match=r"^Table 3 has no row 'A9'; its rows are base, A1, .*\.$"):
        table_3_row("A9")


def test_every_row_of_table_3_is_a_preset():
    assert {row.preset for row in TABLE_3} <= set(PRESETS)


@pytest.mark.parametrize(
    ("written", "same"),
    [("base/h=1", "A1"), ("base/N=2", "C1"), ("base/d_k=16", "B1"), ("base/P_drop=0.2", "D2")],
)
def test_a_preset_may_carry_changes_in_the_papers_symbols(written, same):
    assert TransformerConfig.preset(written, 9) == TransformerConfig.preset(same, 9)


def test_changes_win_over_the_preset():
    config = TransformerConfig.preset("tiny/N=2,h=2", 9, num_heads=8)
    assert (config.num_layers, config.num_heads, config.d_model) == (2, 8, 128)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("huge", "The preset 'huge' is not known. Known: tiny, small, base, big"),
        ("base/x=1", "the symbol 'x' is not known. Known: N, h, d_model"),
        ("base/h=many", "'many' is not a number"),
        ("base/h", "'' is not a number"),
    ],
)
def test_an_unknown_preset_is_a_sentence(name, sentence):
    with pytest.raises(ValueError, match=sentence):
        TransformerConfig.preset(name, 9)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"num_layers": 0}, "num_layers = 0: it must be at least 1"),
        ({"vocab_size": -1}, "vocab_size = -1: it must be at least 1"),
        ({"num_heads": 7}, "d_model = 512 cannot be shared evenly by num_heads = 7"),
        ({"dropout": 1.0}, "dropout = 1.0: a probability from 0 to below 1"),
        ({"layer_norm_eps": -1e-6}, "layer_norm_eps = -1e-06: a small number above 0"),
        ({"layer_norm_eps": float("nan")}, "layer_norm_eps = nan: a small number above 0"),
        ({"norm": "both"}, 'norm = \'both\': "post", "pre" or "none" is expected'),
        ({"positions": "rotary"}, "positions = 'rotary'"),
        ({"d_model": 9, "num_heads": 3}, "sinusoids need an even d_model"),
    ],
)
def test_what_cannot_be_is_a_sentence(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        TransformerConfig(**{"vocab_size": 9, **changes})


def test_heads_of_any_number_with_d_k_and_d_v():
    assert TransformerConfig(vocab_size=9, num_heads=7, d_k=3, d_v=5).num_heads == 7


def test_a_foreign_dictionary_is_a_sentence():
    with pytest.raises(ValueError, match="Unknown model settings: n_layer"):
        TransformerConfig.from_dict({"vocab_size": 9, "n_layer": 2})
    with pytest.raises(ValueError, match="lack vocab_size"):
        TransformerConfig.from_dict({"d_model": 8})


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "pre"},
        {"positions": "learned", "max_positions": 9},
        {"tie_embeddings": False, "attention_bias": True},
        {"d_k": 7, "d_v": 9, "attention_bias": True},
        {"attention": "additive", "d_k": 7, "norm": "none", "decoder_layers": 1},
    ],
)
def test_parameters_are_counted_as_in_the_model(preset, changes):
    config = TransformerConfig.preset(preset, 100, **changes)
    with torch.device("meta"):
        assert config.count_parameters() == Transformer(config).num_parameters()


@pytest.mark.parametrize("name", ["vocab_size", "d_model", "d_ff", "num_layers", "d_k"])
def test_a_size_beyond_every_machine_is_refused(name):
    with pytest.raises(ValueError, match=f"{name} = 9+: it must be at most 1,000,000,000"):
        TransformerConfig(**{"vocab_size": 100, name: int("9" * 40)})
