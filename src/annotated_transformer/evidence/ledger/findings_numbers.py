"""Sections 5 and 6: what follows from the paper's own figures, and what our settings are."""

import inspect
import math
from collections.abc import Callable

import torch

from annotated_transformer.benchmark.counting import sizes_of, step_operations
from annotated_transformer.config import TransformerConfig
from annotated_transformer.data import token_batches
from annotated_transformer.decoding import beam_search
from annotated_transformer.evidence.ledger.facts import (
    load_facts,
    read_paper,
    scientific,
    table_2_value,
)
from annotated_transformer.evidence.ledger.measuring import VOCAB_SIZE, build_without_weights
from annotated_transformer.evidence.ledger.rows import Finding
from annotated_transformer.evidence.table3 import TABLE_3, table_3_row
from annotated_transformer.training.label_smoothing import label_smoothing_loss
from annotated_transformer.training.schedule import noam_rate
from annotated_transformer.training.settings import TrainingConfig


def value(fact_id: str) -> float:
    """The number of a fact."""
    return float(load_facts()[fact_id].value)


def training_default(field: str) -> float:
    """A default of `TrainingConfig`."""
    return float(getattr(TrainingConfig(steps=1), field))


def preset_dropout(preset: str) -> float:
    """P_drop of a preset."""
    return TransformerConfig.preset(preset, VOCAB_SIZE).dropout


def beam_search_default(argument: str) -> float:
    """A default of `beam_search`."""
    return float(inspect.signature(beam_search).parameters[argument].default)


def batches_by_length() -> Finding:
    """Padding of batches made by length, beside batches in random order."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randint(4, 40, (5_000,), generator=generator).tolist()
    lengths = [(n, n + 2) for n in drawn]
    budget = 2_000
    sorted_batches = token_batches(lengths, budget, seed=0, epoch=0)
    sentences = max(1, len(lengths) // len(sorted_batches))
    random_batches = [
        list(range(start, min(start + sentences, len(lengths))))
        for start in range(0, len(lengths), sentences)
    ]

    def padding(batches: list[list[int]]) -> float:
        padded = sum(len(batch) * max(lengths[i][0] for i in batch) for batch in batches)
        return 1 - sum(drawn) / padded

    ours, unsorted = padding(sorted_batches), padding(random_batches)
    return Finding(
        f"{ours:.1%} of a batch is padding, {unsorted:.0%} in random order "
        f"(5,000 lengths drawn from 4 to 39)",
        ours < unsorted / 4,
    )


def adam_settings() -> Finding:
    """Adam's three numbers as training uses them."""
    settings = TrainingConfig(steps=1)
    ours = {"beta1": settings.betas[0], "beta2": settings.betas[1], "epsilon": settings.adam_eps}
    text = f"β₁ = {settings.betas[0]}, β₂ = {settings.betas[1]}, ε = {settings.adam_eps:g}"
    return Finding(text, ours == load_facts()["s5_3.adam"].value)


def schedule_formula() -> Finding:
    """`noam_rate` against equation 3 written out, over the base model's 100,000 steps."""
    steps = range(1, int(value("s5_2.base_steps")) + 1, 97)
    warmup = int(value("s5_3.warmup"))
    worst = max(
        abs(noam_rate(step, 512, warmup) / (min(step**-0.5, step * warmup**-1.5) / 512**0.5) - 1)
        for step in steps
    )
    return Finding("`noam_rate` against the formula: equal within 1e-12", worst < 1e-12)


def peak_learning_rates() -> Finding:
    """The rate at step 4,000, for both widths."""
    warmup = int(value("s5_3.warmup"))
    base, big = (noam_rate(warmup, d_model, warmup) for d_model in (512, 1024))
    return Finding(f"{base:.3e} for base (d_model 512), {big:.3e} for big (1024), at step {warmup}")


TWELVE_HOURS = (
    "the paper prints 12 hours. 0.432 s a step would give them, and the paper prints about 0.4; or "
    "they hold more than the steps. The FLOPs of Table 2 follow from the 12"
)


def training_time(model: str, unit: str, seconds: float) -> Callable[[], Finding]:
    """Printed steps times printed seconds a step, beside the printed total."""

    def compute() -> Finding:
        steps, step_seconds = value(f"s5_2.{model}_steps"), value(f"s5_2.{model}_step_s")
        total = steps * step_seconds / seconds
        printed = value(f"s5_2.{model}_time")
        places = len(f"{printed:g}".partition(".")[2])  # as many as the paper prints
        return Finding(
            f"{steps:,.0f} steps × {step_seconds:g} s = {total:.1f} {unit}",
            round(total, places) == printed,
        )

    return compute


def training_flops(model: str, time: str, hours: float) -> Callable[[], Finding]:
    """Section 6.1's method with footnote 5's speed of a P100, beside Table 2."""

    def compute() -> Finding:
        gpus = value("s5_2.hardware")
        speed = load_facts()["s6_1.tflops"].value["P100"]
        flops = hours * 3600 * gpus * speed * 1e12
        printed = table_2_value(f"transformer_{model}", "flops")
        steps, step_seconds = value(f"s5_2.{model}_steps"), value(f"s5_2.{model}_step_s")
        counted = steps * step_seconds / 3600  # hours, from the printed step time
        other = scientific(flops * counted / hours)
        return Finding(
            f"{time} × {gpus:.0f} GPUs × {speed} TFLOPS = {scientific(flops)} ({flops:.4g}), "
            f"by the printed duration; steps × seconds a step are {counted:.1f} h and would give "
            f"{other}",
            f"{flops:.1e}" == f"{printed:.1e}",
        )

    return compute


def operations_of_a_step() -> Finding:
    """Operations that the model needs for a step of the paper's batch, beside Table 2's cost."""
    tokens = int(value("s5_1.batch_source_tokens"))
    sizes = sizes_of([(27, 27)] * (tokens // 27))  # the length has next to no influence
    parts = []
    for name in ("base", "big"):
        config = TransformerConfig.preset(name, VOCAB_SIZE)
        operations = step_operations(config, sizes)
        total = operations * value(f"s5_2.{name}_steps")
        share = total / table_2_value(f"transformer_{name}", "flops")
        parts.append(
            f"{name}: {operations / 1e12:.1f} TFLOP a step, {scientific(total)} in all, "
            f"{share:.0%} of Table 2's figure"
        )
    return Finding(f"counted at {tokens:,} tokens a side; {'; '.join(parts)}")


def best_earlier(column: str, group: str | None = None) -> tuple[str, float]:
    """The best system of Table 2 that is not the paper's: its name and its BLEU."""
    rows = [
        row
        for row in read_paper()["table_2"]
        if column in row and row["group"] != "this paper" and group in (None, row["group"])
    ]
    best = max(rows, key=lambda row: row[column])
    return best["model"], best[column]


def big_margin() -> Finding:
    """How far the big model is above everything earlier in Table 2."""
    name, earlier = best_earlier("bleu_en_de")
    margin = table_2_value("transformer_big", "bleu_en_de") - earlier
    return Finding(f"from Table 2: {margin:.2f} above {name} ({earlier})", margin > 2)


def base_margin() -> Finding:
    """How far the base model is above everything earlier in Table 2."""
    name, earlier = best_earlier("bleu_en_de")
    margin = table_2_value("transformer_base", "bleu_en_de") - earlier
    return Finding(f"from Table 2: {margin:.2f} above {name} ({earlier})", margin > 0)


def french_cost() -> Finding:
    """Training cost on English-French beside the best earlier single model's."""
    name, _ = best_earlier("bleu_en_fr", "single")
    earlier = next(row for row in read_paper()["table_2"] if row["model"] == name)
    share = table_2_value("transformer_big", "flops") / earlier["flops_en_fr"]
    return Finding(f"from Table 2: {share:.2f} of the cost of {name}", share < 0.25)


def single_head_gap() -> Finding:
    """Row A1 beside the best of base and rows A."""
    best = max(table_3_row(name).bleu for name in ("base", "A1", "A2", "A3", "A4"))
    gap = best - table_3_row("A1").bleu
    last = best - table_3_row("A4").bleu
    return Finding(
        f"from Table 3: {gap:.1f} for 1 head, {last:.1f} for 32 heads; 8 and 16 heads tie",
        round(gap, 1) == value("s6_2.single_head"),
    )


def smaller_keys() -> Finding:
    """Rows B beside base."""
    base, b1, b2 = (table_3_row(name).bleu for name in ("base", "B1", "B2"))
    return Finding(f"from Table 3: d_k = 16 {b1}, 32 {b2}, 64 {base}", b1 < b2 < base)


def bigger_is_better() -> Finding:
    """Rows C: more of anything, in BLEU."""
    ladders = {
        "layers 2, 4, 6, 8": ("C1", "C2", "base", "C3"),
        "d_model 256, 512, 1024": ("C4", "base", "C5"),
        "d_ff 1024, 2048, 4096": ("C6", "base", "C7"),
    }
    parts, rising = [], True
    for name, presets in ladders.items():
        scores = [table_3_row(preset).bleu for preset in presets]
        rising &= scores == sorted(scores)
        parts.append(f"{name}: {', '.join(map(str, scores))}")
    return Finding(f"from Table 3, {'; '.join(parts)}", rising)


def dropout_helps() -> Finding:
    """Row D1 beside base."""
    without, base = table_3_row("D1"), table_3_row("base")
    return Finding(
        f"from Table 3: {without.bleu} without, {base.bleu} with 0.1", base.bleu > without.bleu
    )


def smoothing_effect() -> Finding:
    """Row D3 beside base: perplexity and BLEU."""
    without, base = table_3_row("D3"), table_3_row("base")
    return Finding(
        f"from Table 3: ε_ls 0 to 0.1 takes perplexity {without.perplexity} to {base.perplexity} "
        f"and BLEU {without.bleu} to {base.bleu}",
        base.perplexity > without.perplexity and base.bleu > without.bleu,
    )


def learned_positions_effect() -> Finding:
    """Row E beside base."""
    learned, base = table_3_row("E"), table_3_row("base")
    return Finding(
        f"from Table 3: perplexity {learned.perplexity} and {base.perplexity}, "
        f"BLEU {learned.bleu} and {base.bleu}",
        abs(learned.bleu - base.bleu) < 0.2,
    )


def parameter_count(preset: str) -> Callable[[], Finding]:
    """Parameters of a row of Table 3 at 37,000 tokens, beside the printed millions."""

    def count() -> Finding:
        ours = build_without_weights(preset).num_parameters()
        printed = table_3_row(preset).printed_millions
        if printed is None:
            return Finding(f"{ours:,}")
        gap = (ours / 1e6 - printed) * 1e6
        return Finding(f"{ours:,} ({gap / 1e6:+.1f} million)", round(ours / 1e6) == printed)

    return count


def implied_vocabularies() -> Finding:
    """The vocabularies at which each printed count, which is rounded, could come out."""
    implied = {}
    for row in TABLE_3:
        if row.printed_millions is not None:
            model = build_without_weights(row.preset)
            width = model.config.d_model
            rest = model.num_parameters() - VOCAB_SIZE * width
            implied[row.preset] = tuple(
                ((row.printed_millions + half) * 1e6 - rest) / width for half in (-0.5, 0.5)
            )
    lowest = min(implied, key=lambda preset: implied[preset][1])
    highest = max(implied, key=lambda preset: implied[preset][0])
    asked = "; ".join(
        f"row {preset} asks for {implied[preset][0]:,.0f} to {implied[preset][1]:,.0f} tokens"
        for preset in (lowest, highest)
    )
    return Finding(
        f"{asked}; no single vocabulary gives every printed count",
        implied[lowest][1] < implied[highest][0],
    )


def parameters_by_part() -> Finding:
    """Where the base model's parameters are."""
    model = build_without_weights()
    counts = {"embedding": model.projection.weight.numel(), "attention": 0, "feed-forward": 0}
    for name, parameter in model.named_parameters():
        if "attention" in name:
            counts["attention"] += parameter.numel()
        elif "feed_forward" in name:
            counts["feed-forward"] += parameter.numel()
    total = model.num_parameters()
    share = counts["feed-forward"] / (total - counts["embedding"])
    parts = ", ".join(f"{name} {count:,}" for name, count in counts.items())
    return Finding(f"{total:,} in all: {parts}; feed-forward is {share:.0%} outside the embedding")


def smoothing_floor() -> Finding:
    """The lowest smoothed loss there is at ε = 0.1 and 37,000 tokens, from our own loss."""
    eps = training_default("label_smoothing")
    smoothed = torch.full((1, 1, VOCAB_SIZE), eps / VOCAB_SIZE, dtype=torch.float64)
    smoothed[0, 0, 5] += 1 - eps
    floor = label_smoothing_loss(smoothed.log(), torch.tensor([[5]]), eps).item()
    return Finding(
        f"{floor:.4f} nats, as a perplexity {math.exp(floor):.2f}: perplexity must be computed "
        "from the unsmoothed likelihood"
    )


def paper_gpu_hours(model: str) -> float:
    """What one training cost in P100 hours, by the paper's own figures."""
    hours = {"base": value("s5_2.base_time"), "big": value("s5_2.big_time") * 24}
    return hours[model] * value("s5_2.hardware")
