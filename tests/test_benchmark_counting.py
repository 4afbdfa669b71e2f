"""What is counted on paper is what PyTorch does: its operation counter, and what autograd keeps."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.benchmark import hardware
from annotated_transformer.benchmark.counting import (
    forward_operations,
    memory,
    roofline,
    sizes_of,
    step_operations,
)
from annotated_transformer.benchmark.rungs import plain_attend
from annotated_transformer.config import TransformerConfig
from annotated_transformer.measurements import LiveBytes, kept_for_backward
from annotated_transformer.transformer import Transformer

BASE = TransformerConfig.preset("base", 37_000)
ROWS, N_SRC, N_TGT = 5, 11, 7


def small_model(**changes) -> tuple[TransformerConfig, Transformer, torch.Tensor, torch.Tensor]:
    sizes = {"d_model": 32, "d_ff": 96, "num_heads": 4, "num_layers": 2, "dropout": 0.0}
    config = TransformerConfig(60, **{**sizes, **changes})
    torch.manual_seed(0)
    src, tgt = (torch.randint(3, 60, (ROWS, n)) for n in (N_SRC, N_TGT))
    return config, Transformer(config), src, tgt


def kept_by(model: Transformer, src: torch.Tensor, tgt: torch.Tensor) -> int:
    kept = kept_for_backward(lambda: model.decode(model.encode(src), tgt), model.parameters())
    return kept[torch.float32]


@pytest.mark.parametrize("changes", [{}, {"d_k": 4, "d_v": 16}, {"num_layers": 1, "d_ff": 8}])
def test_operations_are_those_that_pytorch_counts(changes) -> None:
    config, model, src, tgt = small_model(**changes)
    for module in model.modules():
        if hasattr(module, "attend"):
            module.attend = plain_attend  # a fused kernel on a CPU is not counted by PyTorch
    sizes = sizes_of([(N_SRC, N_TGT)] * ROWS)
    with FlopCounterMode(display=False) as forward:
        logits = model(src, tgt)
    assert forward.get_total_flops() == sum(forward_operations(config, sizes).values())
    with FlopCounterMode(display=False) as both:
        model(src, tgt).sum().backward()
    assert both.get_total_flops() == step_operations(config, sizes)
    assert logits.shape == (ROWS, N_TGT, 60)


def test_the_papers_step() -> None:
    """25,000 tokens a side in sentences of 27: about 9.5 TFLOP, a third of what Table 2 says."""
    sizes = sizes_of([(27, 27)] * (25_000 // 27))
    operations = step_operations(BASE, sizes)
    assert 9.2e12 < operations < 9.8e12
    assert 6 * BASE.count_parameters() * 25_000 == pytest.approx(operations, rel=0.05)


def test_what_autograd_keeps_is_what_is_counted() -> None:
    """To the byte, but for the masks, which the CPU's kernel keeps as numbers."""
    config, model, src, tgt = small_model()
    kept = kept_by(model, src, tgt)
    counted = memory(config, sizes_of([(N_SRC, N_TGT)] * ROWS))["activations"]
    output = 4 * config.d_model * ROWS * N_TGT  # which the projection will keep
    masks = 4 * config.num_layers * ROWS * (N_SRC + N_TGT**2)
    assert kept + output - masks == counted


def test_dropout_is_counted() -> None:
    config, model, src, tgt = small_model(dropout=0.1)
    _, without, _, _ = small_model()
    with_dropout, plain = (kept_by(one, src, tgt) for one in (model, without))
    sizes = sizes_of([(N_SRC, N_TGT)] * ROWS)
    assert with_dropout - plain == memory(config, sizes, dropout_item=4)["dropout"]
    assert memory(config, sizes)["dropout"] * 4 == with_dropout - plain


def test_weights_gradients_and_moments_are_what_training_holds() -> None:
    config, model, src, tgt = small_model()
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    model(src, tgt).sum().backward()
    optimizer.step()
    counted = memory(config, sizes_of([(N_SRC, N_TGT)]))
    assert sum(4 * p.numel() for p in model.parameters()) == counted["weights"]
    assert sum(4 * p.grad.numel() for p in model.parameters()) == counted["gradients"]
    moments = [
        value for state in optimizer.state.values() for key, value in state.items() if key != "step"
    ]
    assert sum(4 * value.numel() for value in moments) == counted["Adam's moments"]


def test_live_memory_sees_what_comes_and_goes() -> None:
    with LiveBytes() as bytes_of:
        a = torch.zeros(1000)  # 4,000 bytes
        view = a.view(10, 100)
        b = a + 1
        del b
        c = view * 2
        assert bytes_of.live == 8000
        del a
        assert bytes_of.live == 8000  # the view holds it
        del view, c
    assert bytes_of.live == 0
    assert bytes_of.peak == 8000


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 90), st.integers(1, 90)), min_size=1, max_size=20))
def test_sizes_add_up(lengths) -> None:
    together, parts = sizes_of(lengths), [sizes_of([pair]) for pair in lengths]
    for name in together.__dataclass_fields__:
        assert getattr(together, name) == sum(getattr(part, name) for part in parts)
    assert step_operations(BASE, together) == sum(step_operations(BASE, one) for one in parts)


def test_the_roofline_of_one_product() -> None:
    """The projections of one layer stack, by hand: S rows through square matrices."""
    config = TransformerConfig(100, d_model=64, d_ff=64, num_heads=4, num_layers=1)
    sizes = sizes_of([(10, 10)])
    part = next(part for part in roofline(config, sizes) if part.name == "projections")
    products = 4 + 4 + 4  # encoder, decoder to itself, decoder to encoder
    assert part.operations == products * 2 * 10 * 64 * 64
    assert part.bytes == products * 2 * (10 * 64 + 64 * 64 + 10 * 64)
    assert part.floor(peak=1e9, bandwidth=1e30) == part.operations / 1e9
    assert part.floor(peak=1e30, bandwidth=1e9) == part.bytes / 1e9


def test_hours_and_money() -> None:
    """The paper's own figures back: 12 hours at the sustained speed of footnote 5."""
    flops = 12 * 3600 * 8 * 9.5e12  # Table 2's method
    hours = hardware.training_hours(flops / 100_000, 100_000, 9.5e12, 1.0, gpus=8)
    assert hours == pytest.approx(12)
    assert hardware.money(hours, 8, 2.0) == pytest.approx(192)
    assert hardware.training_hours(1e12, 10, 1e12, 0.5) == pytest.approx(20 / 3600)
    for wrong in (0, -0.1, 1.1):
        with pytest.raises(ValueError, match="a share of the peak"):
            hardware.training_hours(1, 1, 1, wrong)


def test_machines_are_named_once_with_a_source() -> None:
    names = [one.name for one in hardware.MACHINES]
    assert len(set(names)) == len(names)
    assert all(one.source for one in hardware.MACHINES)
    assert hardware.machine("H200 SXM").ridge == pytest.approx(206, abs=1)
    with pytest.raises(KeyError):
        hardware.machine("abacus")


def test_the_preset_follows_from_the_time() -> None:
    choose = hardware.largest_that_learns
    hour = {"vocab_size": 10_000, "tokens": 800_000, "passes": 20}
    assert choose(**hour, seconds=600, rate=1e14) == "base"
    assert choose(**hour, seconds=600, rate=2e12) == "small"
    assert choose(**hour, seconds=600, rate=1e10) == "tiny"
