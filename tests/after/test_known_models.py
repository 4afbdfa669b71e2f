"""Models that everybody names, counted beside `transformers` on its own configurations."""

from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf

from annotated_transformer.after.known_models import KNOWN_MODELS

BY_NAME = {model.name: model for model in KNOWN_MODELS}


def as_llama(vocab: int, layers: int, d: int, heads: int, d_ff: int, kv: int) -> dict[str, Any]:
    sizes = {"vocab_size": vocab, "num_hidden_layers": layers, "hidden_size": d}
    heads_of = {"num_attention_heads": heads, "num_key_value_heads": kv}
    return {**sizes, **heads_of, "intermediate_size": d_ff}


THEIRS: dict[str, Any] = {
    "BERT base": lambda: hf.BertModel(hf.BertConfig()),
    "GPT-2": lambda: hf.GPT2Model(hf.GPT2Config()),
    "GPT-2 XL": lambda: hf.GPT2Model(hf.GPT2Config(n_layer=48, n_embd=1600, n_head=25)),
    "T5 base": lambda: hf.T5ForConditionalGeneration(
        hf.T5Config(d_model=768, d_ff=3072, num_layers=12, num_heads=12)
    ),
    "LLaMA 7B": lambda: hf.LlamaForCausalLM(
        hf.LlamaConfig(**as_llama(32_000, 32, 4096, 32, 11_008, 32))
    ),
    "Llama 2 70B": lambda: hf.LlamaForCausalLM(
        hf.LlamaConfig(**as_llama(32_000, 80, 8192, 64, 28_672, 8))
    ),
    "Mistral 7B": lambda: hf.MistralForCausalLM(
        hf.MistralConfig(**as_llama(32_000, 32, 4096, 32, 14_336, 8))
    ),
    "Mixtral 8x7B": lambda: hf.MixtralForCausalLM(
        hf.MixtralConfig(**as_llama(32_000, 32, 4096, 32, 14_336, 8))
    ),
    "Qwen3 8B": lambda: hf.Qwen3ForCausalLM(
        hf.Qwen3Config(**as_llama(151_936, 36, 4096, 32, 12_288, 8), head_dim=128)
    ),
}


@pytest.mark.parametrize("name", THEIRS)
def test_as_many_parameters_as_in_transformers(name: str) -> None:
    with torch.device("meta"):
        theirs = THEIRS[name]()
    assert BY_NAME[name].count_parameters() == theirs.num_parameters()


def test_gpt_3_has_the_sizes_that_its_paper_prints() -> None:
    """Table 2.1: 175 billion, without saying what is counted."""
    assert THEIRS.keys() | {"GPT-3"} == BY_NAME.keys()
    assert BY_NAME["GPT-3"].count_parameters() == pytest.approx(175e9, rel=0.005)


def test_where_their_sizes_are_published_is_in_the_bibliography() -> None:
    text = (Path(__file__).resolve().parents[2] / "book" / "references.bib").read_text("utf-8")
    missing = [model.source for model in KNOWN_MODELS if f"{{{model.source}," not in text]
    assert missing == []
