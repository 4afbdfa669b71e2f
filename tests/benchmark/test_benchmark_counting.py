"""What is counted on paper is what PyTorch does: operations, what autograd keeps, what lives."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from annotated_transformer.benchmark import hardware
from annotated_transformer.benchmark.counting import (
    forward_operations,
    memory,
    real_sizes,
    roofline,
    sizes_of,
    step_operations,
)
from annotated_transformer.benchmark.dispatch import LiveBytes
from annotated_transformer.benchmark.rungs import plain_attend
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import EncodedSplit, make_batch
from annotated_transformer.experiments.measurements import kept_for_backward
from annotated_transformer.fast.projected_loss import LOSS_CHUNK
from annotated_transformer.training.label_smoothing import label_smoothing_loss
from annotated_transformer.training.settings import TrainingConfig
from annotated_transformer.training.step import Part, add_gradients
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


SHAPES = [
    {},
    {"d_k": 4, "d_v": 16},
    {"num_layers": 1, "d_ff": 8},
    {"num_layers": 3, "decoder_layers": 1},
    {"num_layers": 1, "decoder_layers": 2, "d_k": 4, "d_v": 16},
    {"norm": "none"},
    {"norm": "pre"},
]


@pytest.mark.parametrize("changes", [*SHAPES, {"attention": "additive"}])
def test_operations_are_those_that_pytorch_counts(changes) -> None:
    config, model, src, tgt = small_model(**changes)
    for module in model.modules():
        if hasattr(module, "attend") and config.attention != "additive":
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


@pytest.mark.parametrize("changes", [{"d_k": 4, "d_v": 4}, *(s for s in SHAPES if "d_k" not in s)])
def test_what_autograd_keeps_is_what_is_counted(changes) -> None:
    """To the byte, but for the masks, which the CPU's kernel keeps as numbers."""
    config, model, src, tgt = small_model(**changes)
    kept = kept_by(model, src, tgt)
    counted = memory(config, sizes_of([(N_SRC, N_TGT)] * ROWS))["activations"]
    output = 4 * config.d_model * ROWS * N_TGT  # which the projection will keep
    of_encoder, of_decoder = config.depths
    masks = 4 * ROWS * (of_encoder * N_SRC + of_decoder * N_TGT**2)
    assert kept + output - masks == counted


def test_attention_that_is_not_fused_keeps_three_tables_of_scores() -> None:
    """Within a twentieth: the masks and the sums of the softmax are not counted."""
    config, model, src, tgt = small_model()
    fused = kept_by(model, src, tgt)
    for module in model.modules():
        if hasattr(module, "attend"):
            module.attend = plain_attend
    sizes = sizes_of([(N_SRC, N_TGT)] * ROWS)
    masks = 4 * config.num_layers * ROWS * (N_SRC + N_TGT**2)
    by_kind = {one: memory(config, sizes, fused=one)["activations"] for one in (True, False)}
    added = kept_by(model, src, tgt) - (fused - masks)
    assert added == pytest.approx(by_kind[False] - by_kind[True], rel=0.05)


def test_dropout_is_counted() -> None:
    config, model, src, tgt = small_model(dropout=0.1)
    _, without, _, _ = small_model()
    with_dropout, plain = (kept_by(one, src, tgt) for one in (model, without))
    sizes = sizes_of([(N_SRC, N_TGT)] * ROWS)
    assert with_dropout - plain == memory(config, sizes, on_cpu=True)["dropout"]
    assert memory(config, sizes)["dropout"] * 4 == with_dropout - plain


def test_bytes_of_other_attention_are_refused() -> None:
    sizes = sizes_of([(N_SRC, N_TGT)])
    for changes in ({"attention": "additive"}, {"attention_dropout": 0.1}):
        config = BASE.with_changes(**changes)
        for count in (memory, roofline):
            with pytest.raises(ValueError, match="counted for scaled dot-product attention"):
                count(config, sizes)
    with pytest.raises(ValueError, match="counted with its norm"):
        roofline(BASE.with_changes(norm="none"), sizes)


LARGE = TransformerConfig(
    20_000, d_model=32, d_ff=64, num_heads=4, num_layers=2, decoder_layers=1, dropout=0.1
)


def held_in_a_step(model: Transformer, rows: int, n: int, way: str) -> int:
    """The most bytes that a step of two parts holds, with weights and moments."""
    pairs = [torch.randint(3, LARGE.vocab_size, (2 * rows, m)).tolist() for m in (n, n + 1)]
    split = EncodedSplit(*pairs, range(2 * rows), 0)
    parts = [Part(list(range(rows * k, rows * (k + 1))), 0, k) for k in range(2)]
    recipe = TrainingConfig(steps=1)
    optimizer = torch.optim.Adam(model.parameters(), fused=True)

    def step() -> None:
        if way == "chunks":
            add_gradients(model, recipe, split, parts, 2 * rows * n)
        else:
            for part in parts:
                batch = make_batch(split, part.indices)
                logits = model(batch.src, batch.tgt[:, :-1])
                label_smoothing_loss(logits, batch.tgt[:, 1:]).backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    step()  # makes Adam's moments
    with LiveBytes() as live:
        step()
    weights = sum(p.nbytes for p in model.parameters())
    return live.peak + 3 * weights  # the weights and Adam's two moments were there before


@pytest.mark.parametrize(("way", "fused"), [("whole", True), ("whole", False), ("chunks", True)])
def test_a_whole_step_holds_what_is_counted(way: str, fused: bool) -> None:
    """Of a large vocabulary, with dropout: within a hundredth of all that lives at the fullest."""
    rows, n = 20, 9
    torch.manual_seed(0)
    model = Transformer(LARGE)
    for module in model.modules():
        if not fused and hasattr(module, "attend"):
            module.attend = plain_attend
    held = held_in_a_step(model, rows, n, way)
    chunk = LOSS_CHUNK if way == "chunks" else None
    sizes = sizes_of([(n, n)] * rows)
    counted = memory(LARGE, sizes, chunk=chunk, fused=fused, on_cpu=True)
    assert held == pytest.approx(sum(counted.values()), rel=0.01)
    assert counted["loss"] > 0.4 * held  # so that a hundredth would see it


def test_the_loss_in_chunks_holds_no_more_than_a_chunk() -> None:
    """By hand: the logits of 1,024 rows, three tables, the gradient of what came in."""
    many = sizes_of([(25, 25)] * 1_000)
    vocab_size, d = BASE.vocab_size, BASE.d_model
    assert LOSS_CHUNK == 1_024
    found = memory(BASE, many, chunk=LOSS_CHUNK)["loss"]
    assert found == 1_024 * vocab_size * 4 + 3 * 4 * vocab_size * d + 2 * 4 * 25_000 * d
    found = memory(BASE, many, item=2, chunk=LOSS_CHUNK)["loss"]
    assert found == 1_024 * vocab_size * 2 + (4 + 4 + 2) * vocab_size * d + 2 * 2 * 25_000 * d
    assert (
        memory(BASE, many)["loss"]
        == memory(BASE, many, item=2)["loss"]
        == 5 * 4 * 25_000 * vocab_size
    )


def test_bfloat16_halves_the_activations_and_copies_the_weights() -> None:
    config, *_ = small_model()
    sizes = sizes_of([(N_SRC, N_TGT)] * ROWS)
    full, half = memory(config, sizes), memory(config, sizes, item=2)
    assert half["weights"] == 1.5 * full["weights"]
    assert 0.5 * full["activations"] <= half["activations"] < 0.55 * full["activations"]
    assert half["Adam's moments"] == full["Adam's moments"]


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


def test_the_roofline_by_hand() -> None:
    """Every part of one encoder layer and two decoder layers, 10 source and 20 target positions."""
    d, ff, vocab_size = 64, 96, 100
    config = TransformerConfig(
        vocab_size, d_model=d, d_ff=ff, num_heads=4, num_layers=1, decoder_layers=2, dropout=0.1
    )
    parts = {part.name: part for part in roofline(config, sizes_of([(10, 20)]), item=2)}

    def product(rows: int, inner: int, columns: int) -> int:
        return 2 * (rows * inner + inner * columns + rows * columns)  # read both, write one; bf16

    through = [(10, 4), (20, 2 * 4), (20, 2 * 2), (10, 2 * 2)]  # rows, and how many projections
    part = parts["projections"]
    assert part.operations == sum(n * 2 * rows * d * d for rows, n in through)
    assert part.bytes == sum(n * product(rows, d, d) for rows, n in through)
    part = parts["attention"]  # queries, keys, values in; heads out
    assert part.bytes == 2 * d * (4 * 10 + 2 * 4 * 20 + 2 * (20 + 10 + 10 + 20))
    part = parts["feed-forward"]
    assert part.operations == 2 * 2 * d * ff * (10 + 2 * 20)
    assert part.bytes == sum(
        n * (product(rows, d, ff) + product(rows, ff, d)) for rows, n in ((10, 1), (20, 2))
    )
    assert parts["logits"].bytes == product(20, d, vocab_size)
    around = (2 * 10 + 2 * 3 * 20) * d
    assert parts["dropout, sum, norm: three kernels"].bytes == 2 * (2 + 3 + 2) * around
    assert parts["dropout, sum, norm: one kernel"].bytes == 2 * (2 + 1) * around
    weights = sum(p.numel() for p in Transformer(config).parameters())
    assert parts["Adam"].bytes == 4 * weights * (4 + 3)  # reads w, g, m, v; writes w, m, v
    assert parts["Adam"].operations == 12 * weights
    part = parts["projections"]
    assert part.floor(peak=1e9, bandwidth=1e30) == part.operations / 1e9
    assert part.floor(peak=1e30, bandwidth=1e9) == part.bytes / 1e9


def test_real_sizes_leave_the_padding_and_the_end_sign_out() -> None:
    split = EncodedSplit([[5, 2], [5, 6, 7, 2]], [[1, 5, 2], [1, 5, 6, 2]], range(2), 0)
    assert real_sizes(split, [0, 1]) == sizes_of([(2, 2), (4, 3)])


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
    one_pass = sizes_of([(15, 15)] * 29_000)
    hour = {"vocab_size": 10_000, "one_pass": one_pass, "passes": 20}
    assert choose(**hour, seconds=600, rate=1e14) == "base"
    assert choose(**hour, seconds=600, rate=1e12) == "small"
    assert choose(**hour, seconds=600, rate=1e10) == "tiny"


@pytest.mark.parametrize(("preset", "below"), [("base", "small"), ("small", "tiny")])
def test_the_preset_changes_where_its_passes_just_fit(preset: str, below: str) -> None:
    """Six operations a weight and piece of one side: both sides would be twice too many."""
    config = TransformerConfig.preset(preset, 10_000)
    one_pass = sizes_of([(15, 15)] * 1_000)
    needed = 20 * step_operations(config, one_pass)
    assert needed == pytest.approx(20 * 6 * config.count_parameters() * 15_000, rel=0.05)
    choose = hardware.largest_that_learns
    assert choose(10_000, one_pass, seconds=1, rate=needed, passes=20) == preset
    assert choose(10_000, one_pass, seconds=1, rate=needed - 1, passes=20) == below
