"""What the findings share: seeded draws, the base model's shapes, and two ways to compare."""

from collections.abc import Callable

import torch
from torch import Tensor

from annotated_transformer.config import TransformerConfig
from annotated_transformer.evidence.ledger.facts import load_facts
from annotated_transformer.evidence.ledger.rows import Finding
from annotated_transformer.transformer import Transformer

VOCAB_SIZE = 37_000  # "about 37000 tokens", section 5.1
SMALL = TransformerConfig(vocab_size=11, d_model=16, d_ff=32, num_heads=4, num_layers=2)


def build_without_weights(preset: str = "base", vocab_size: int = VOCAB_SIZE) -> Transformer:
    """A preset with the shapes of its weights but no numbers in them."""
    with torch.device("meta"):
        return Transformer(TransformerConfig.preset(preset, vocab_size))


def normal(*shape: int, seed: int = 0) -> Tensor:
    """Standard normal draws in float64, the same at every call with one seed."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def equality(what: str, ours: Tensor, formula: Tensor, tolerance: float) -> Finding:
    """Whether two tensors are the same within a tolerance."""
    difference = (ours - formula).abs().max().item()
    return Finding(f"{what}: equal within {tolerance:.0e}", difference <= tolerance)


def number(fact_id: str, measure: Callable[[], float], unit: str = "") -> Callable[[], Finding]:
    """A finding that compares one number of ours with the fact's value."""

    def compare() -> Finding:
        ours = measure()
        return Finding(f"{ours:,g} {unit}".strip(), ours == load_facts()[fact_id].value)

    return compare


def base_size(path: str) -> Callable[[], float]:
    """How many modules the base model has in the list at `path`."""
    return lambda: len(list(build_without_weights().get_submodule(path).children()))
