"""Every rung takes the same step and does what it is called; a ladder cut off loses nothing."""

import itertools
import json
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from annotated_transformer.attention import MultiHeadAttention
from annotated_transformer.benchmark import ladder, rungs
from annotated_transformer.benchmark.dispatch import LiveBytes
from annotated_transformer.benchmark.ladder import LadderSettings, climb, invented_pairs
from annotated_transformer.benchmark.ladder_rows import as_text
from annotated_transformer.benchmark.rungs import (
    RungSteps,
    Workload,
    bytes_of,
    in_order_of_chance,
    plain_attend,
    rungs_on,
)
from annotated_transformer.cli import main
from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import CallError
from annotated_transformer.training import devices, loading

CPU = torch.device("cpu")
SMALL = TransformerConfig(90, d_model=32, d_ff=32, num_heads=2, num_layers=1, dropout=0.0, pad_id=0)
EAGER = [rung for rung in rungs_on(CPU) if not rung.compiled]
COMPILED = [rung for rung in rungs_on(CPU) if rung.compiled]


@pytest.fixture(autouse=True)
def small_peak(monkeypatch: pytest.MonkeyPatch) -> None:
    """Quick to measure; its value does not matter here."""
    monkeypatch.setattr(devices, "RATE_SIZE", 64)
    monkeypatch.setattr(devices, "COPY_BYTES", 4096)


@pytest.fixture(scope="module")
def workload() -> Workload:
    return Workload(SMALL, invented_pairs(400, SMALL), max_tokens=512, steps=2)


def weights_after(rung: rungs.Rung, workload: Workload, batches) -> tuple[float, dict]:
    """A step in float64 on given pairs, whatever batches the rung would have made."""
    steps = RungSteps(replace(rung, bf16=False), workload, CPU)
    steps.steps = batches
    steps.model.double()
    steps.optimizer.param_groups[0]["lr"] = 1e-3
    loss = steps.take(0)
    steps.gradients.close()
    return loss, {name: p.detach() for name, p in steps.model.named_parameters()}


@pytest.mark.parametrize("rung", EAGER[1:], ids=lambda rung: rung.name)
def test_every_rung_takes_the_plain_step(rung: rungs.Rung, workload: Workload) -> None:
    """Loss and weights after Adam, on the same pairs: speed is all that may differ."""
    batches = RungSteps(EAGER[0], workload, CPU).steps
    loss, weights = weights_after(EAGER[0], workload, batches)
    same_loss, same = weights_after(replace(rung, parts=1), workload, batches)
    assert same_loss == pytest.approx(loss, abs=1e-9)
    for name, tensor in weights.items():
        torch.testing.assert_close(same[name], tensor, rtol=0, atol=1e-7)


PLACE = {rung.name: place for place, rung in enumerate(EAGER)}


@pytest.mark.parametrize("rung", EAGER, ids=lambda rung: rung.name)
def test_a_rung_does_what_it_is_called(
    rung: rungs.Rung, workload: Workload, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each change is seen in what the step does, from its own rung on and not before."""
    steps = RungSteps(rung, workload, CPU)
    place = PLACE[rung.name]
    makers: set[str] = set()
    types: set[torch.dtype] = set()
    make = loading.Loader._make

    def watched(self, split, part):
        makers.add(threading.current_thread().name)
        return make(self, split, part)

    monkeypatch.setattr(loading.Loader, "_make", watched)
    projection = steps.model.encoder.layers[0].self_attention.query_projection
    projection.register_forward_hook(lambda module, given, result: types.add(result.dtype))
    before = {name: weight.detach().clone() for name, weight in steps.model.named_parameters()}
    steps.take(0)
    steps.take(1)
    steps.gradients.close()
    attends = {
        module.attend is plain_attend
        for module in steps.model.modules()
        if isinstance(module, MultiHeadAttention)
    }
    assert types == {torch.bfloat16 if place >= PLACE["bf16"] else torch.float32}
    assert attends == {place < PLACE["attention"]}
    assert steps.optimizer.defaults["fused"] is (place >= PLACE["adam"])
    assert any(name.startswith("batches") for name in makers) is (place >= PLACE["ahead"])
    assert len(steps.steps[0]) == (rungs.PARTS if rung.name == "parts" else 1)
    for name, weight in steps.model.named_parameters():
        assert not torch.equal(weight, before[name]), name
    pairs = [index for parts in steps.steps for part in parts for index in part.indices]
    real = sum(sum(workload.split.lengths[index]) for index in pairs)
    padding = 1 - real / steps.padded_positions()
    assert (padding < 0.25) is (place >= PLACE["length"])


@pytest.mark.parametrize("rung", EAGER, ids=lambda rung: rung.name)
def test_all_logits_live_below_the_rung_of_the_loss_and_a_chunk_from_there_on(
    rung: rungs.Rung,
) -> None:
    """By the bytes that live at once: of a large vocabulary, logits are nearly all there is."""
    config = replace(SMALL, vocab_size=4_000)
    workload = Workload(config, invented_pairs(500, config), max_tokens=1_024, steps=1)
    steps = RungSteps(rung, workload, CPU)
    steps.take(0)  # Adam's moments are made here
    with LiveBytes() as live:
        steps.take(0)
    steps.gradients.close()
    once = 4 * config.vocab_size * 1_024  # bytes of the logits of every position of the budget
    if PLACE[rung.name] >= PLACE["loss"]:
        assert live.peak < 2 * once
    else:
        assert live.peak > 2 * once


@pytest.mark.parametrize("rung", EAGER, ids=lambda rung: rung.name)
def test_every_rung_learns(rung: rungs.Rung, workload: Workload) -> None:
    """The same pairs again and again: the loss falls by a tenth of a nat and more."""
    steps = RungSteps(rung, replace(workload, steps=1), CPU)
    steps.optimizer.param_groups[0]["lr"] = 1e-2
    losses = [steps.take(0) for _ in range(8)]
    steps.gradients.close()
    assert losses[-1] < losses[0] - 0.1


@pytest.mark.parametrize("name", ["plain", "attention", "loss"])
def test_bytes_of_a_rung_are_those_that_live(name: str) -> None:
    """What a ladder refuses by is what a step holds, or a little more: padding has no logits."""
    config = replace(SMALL, vocab_size=4_000, dropout=0.1)
    workload = Workload(config, invented_pairs(500, config), max_tokens=512, steps=1)
    rung = replace(EAGER[PLACE[name]], bf16=False)
    steps = RungSteps(rung, workload, CPU)
    steps.take(0)
    with LiveBytes() as live:
        steps.take(0)
    weights = config.count_parameters()
    held = live.peak + 3 * 4 * weights  # weights and moments are there before
    counted = bytes_of(rung, workload, CPU) - 4 * weights  # a step of one part: no gradients yet
    assert 0.9 * counted < held < 1.02 * counted


@pytest.mark.slow
@pytest.mark.parametrize("rung", COMPILED, ids=lambda rung: rung.name)
def test_a_compiled_rung_takes_the_plain_step(rung: rungs.Rung, workload: Workload) -> None:
    """In float32: the compiler may order sums anew."""
    torch.compiler.reset()
    plain, fast = (RungSteps(replace(one, bf16=False), workload, CPU) for one in (EAGER[0], rung))
    fast.steps = plain.steps
    try:
        losses = [[steps.take(number) for number in range(4)] for steps in (plain, fast)]
    except torch._dynamo.exc.BackendCompilerFailed as error:  # no C++ compiler on this machine
        pytest.skip(f"nothing compiles here: {type(error).__name__}")
    finally:
        fast.gradients.close()
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    assert [steps.settings.compile for steps in (plain, fast)] == [False, True]
    layers = [*fast.model.encoder.layers, *fast.model.decoder.layers]
    assert all(layer._compiled_call_impl is not None for layer in layers)


def values_of(rung: rungs.Rung) -> dict[str, object]:
    """What a rung changes, by name."""
    values = {name: getattr(rung, name) for name in rung.__dataclass_fields__}
    return {name: value for name, value in values.items() if name not in ("name", "says")}


def test_each_rung_changes_one_thing() -> None:
    changed = []
    ladder = [rung for rung in rungs_on(torch.device("cuda")) if rung.name != "parts"]
    aside = next(rung for rung in EAGER if rung.name == "parts")
    for before, after in [*itertools.pairwise(ladder), (EAGER[PLACE["ahead"]], aside)]:
        values = [values_of(rung) for rung in (before, after)]
        different = [name for name in values[0] if values[0][name] != values[1][name]]
        assert len(different) == 1
        changed += different
    assert len(set(changed)) == len(changed)
    names = [rung.name for rung in rungs_on(torch.device("cuda"))]
    assert names[-1] == "graph"
    assert names[:-1] == [rung.name for rung in rungs_on(CPU)]


def test_the_parts_of_a_step_hold_a_quarter_each(workload: Workload) -> None:
    for parts in workload.batches(EAGER[PLACE["parts"]]):
        assert len(parts) == rungs.PARTS
        for part in parts:
            longest = max(max(workload.split.lengths[index]) for index in part)
            assert len(part) * longest <= workload.max_tokens // rungs.PARTS


def test_batches_as_chance_brings_them_hold_every_pair_and_more_padding() -> None:
    lengths = invented_pairs(500, SMALL).lengths
    batches = in_order_of_chance(lengths, 512)
    assert sorted(index for batch in batches for index in batch) == list(range(500))
    for batch in batches:
        assert len(batch) * max(max(lengths[index]) for index in batch) <= 512


def test_a_budget_below_the_longest_sentence_is_refused() -> None:
    assert in_order_of_chance([], 8) == []
    assert in_order_of_chance([(3, 9)], 9) == [[0]]
    with pytest.raises(CallError, match="may hold 8 tokens and the longest sentence has 9"):
        in_order_of_chance([(3, 9)], 8)


def test_the_rung_attention_says_what_runs() -> None:
    """bfloat16 on a CPU never reaches the fused kernel, and the row does not say so."""
    said = {
        kind: next(r.says for r in rungs_on(torch.device(kind)) if r.name == "attention")
        for kind in ("cpu", "cuda")
    }
    assert said["cuda"] == "fused attention"
    assert "fused" not in said["cpu"]


def test_too_few_pairs_are_said(workload: Workload) -> None:
    with pytest.raises(ValueError, match="4000 batches of 512 tokens are asked for"):
        replace(workload, steps=4000).batches(EAGER[0])


def test_invented_pairs_have_the_lengths_of_news(workload: Workload) -> None:
    pairs = invented_pairs(4000, TransformerConfig.preset("base", 37_000))
    source = sorted(len(row) for row in pairs.source)
    assert 22 <= source[2000] <= 26
    assert 25 <= sum(source) / 4000 <= 29
    assert source[0] >= 3
    assert source[-1] <= 120
    assert max(map(max, pairs.source)) < 37_000
    assert all(row[0] == 1 and row[-1] == 2 and 0 not in row for row in pairs.target)


SETTINGS = LadderSettings("tiny/N=1,d_model=32,d_ff=32,h=2", 90, 512, steps=2, rounds=2)


def test_rows_are_written_as_they_come_and_gone_on_with(tmp_path: Path) -> None:
    out = tmp_path / "ladder.jsonl"
    first = climb(SETTINGS, CPU, out, ["plain", "bf16"])
    assert [row.get("rung") for row in first] == [None, "plain", "bf16"]
    out.write_text(out.read_text() + '{"rung": "atten')  # the machine went away
    said: list[str] = []
    rows = climb(SETTINGS, CPU, out, ["bf16", "length", "loss"], lambda row: said.append(str(row)))
    assert rows[:3] == first  # not measured again
    assert [row.get("rung") for row in rows[3:]] == ["length", "loss"]
    assert len(said) == 5
    assert climb(SETTINGS, CPU, out, ["plain", "length", "loss"]) == rows  # all are known now
    plain, length = rows[1], rows[3]
    assert length["padding"] < plain["padding"] / 2
    for row in rows[1:]:
        assert row["seconds_low"] <= row["seconds"] <= row["seconds_high"]
        at_median = row["operations"] / row["seconds"] / row["peak"]
        least, most = row["seconds"] / row["seconds_high"], row["seconds"] / row["seconds_low"]
        assert 0.5 * least < row["share_of_peak"] / at_median < 2 * most  # batches differ in size
        assert row["counted_steps"] == 2 * 2
        assert 2 < row["loss"] < 7


def test_a_file_of_a_torn_head_is_begun_anew(tmp_path: Path) -> None:
    out = tmp_path / "ladder.jsonl"
    out.write_text('{"package": "0.1')
    rows = climb(SETTINGS, CPU, out, ["plain"])
    assert climb(SETTINGS, CPU, out, ["plain"]) == rows


def test_a_file_of_another_ladder_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "ladder.jsonl"
    climb(SETTINGS, CPU, out, ["plain"])
    with pytest.raises(CallError, match=r"a ladder with max_tokens 512, and this one has 256"):
        climb(replace(SETTINGS, max_tokens=256), CPU, out)


def test_a_file_of_another_processor_or_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "ladder.jsonl"
    climb(SETTINGS, CPU, out, ["plain"])
    with monkeypatch.context() as changed:
        changed.setattr(ladder, "processor_name", lambda: "another")
        with pytest.raises(CallError, match="and this one has 'another'"):
            climb(SETTINGS, CPU, out, ["plain"])
    monkeypatch.setattr(ladder, "__version__", "0.0.1")
    with pytest.raises(CallError, match=r"with package .* and this one has '0.0.1'"):
        climb(SETTINGS, CPU, out, ["plain"])


def test_a_rung_that_fails_is_written_down_and_the_next_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = RungSteps.take

    def failing(self: RungSteps, number: int) -> float:
        if self.rung.name == "bf16":
            raise RuntimeError("out of memory")
        return take(self, number)

    out = tmp_path / "ladder.jsonl"
    with monkeypatch.context() as broken:
        broken.setattr(RungSteps, "take", failing)
        rows = climb(SETTINGS, CPU, out, ["bf16", "attention"])
    assert rows[1]["error"] == "RuntimeError: out of memory"
    assert "failed: RuntimeError" in as_text(rows[1])
    assert rows[2]["seconds"] > 0
    again = climb(SETTINGS, CPU, out, ["bf16", "attention"])  # what failed is tried again
    assert [row.get("rung") for row in again] == [None, "attention", "bf16"]
    assert not any("error" in row for row in again)
    assert climb(SETTINGS, CPU, out, ["bf16", "attention"]) == again  # the later row wins


def test_a_rung_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """One step to warm up and a round that counts; else it would warm up with three."""
    taken: list[int] = []
    take = RungSteps.take

    def kept(self: RungSteps, number: int) -> float:
        taken.append(number)
        return take(self, number)

    monkeypatch.setattr(RungSteps, "take", kept)
    rows = climb(replace(SETTINGS, rounds=1000, seconds=0.0), CPU, None, ["plain"])
    assert rows[1]["counted_steps"] == 2
    assert taken == [0, 0, 1]


def test_what_cannot_fit_is_not_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = bytes_of(EAGER[0], SETTINGS.workload(), CPU)
    monkeypatch.setattr(ladder, "memory_of", lambda device: needed - 1)
    out = tmp_path / "ladder.jsonl"
    with pytest.raises(CallError, match=r"The rung plain needs .* GB, as counted, and cpu has"):
        climb(SETTINGS, CPU, out, ["plain"])
    assert not out.exists()
    rows = climb(SETTINGS, CPU, out, ["plain", "loss"])  # whose logits come in chunks
    assert "as counted" in rows[1]["error"]
    assert rows[2]["seconds"] > 0
    monkeypatch.setattr(ladder, "memory_of", lambda device: needed)
    assert "error" not in climb(SETTINGS, CPU, None, ["plain"])[1]


def test_without_a_gpu_a_ladder_is_small() -> None:
    """The paper's batch would need some 30 GB there, by the count."""
    of_cpu, of_gpu = (LadderSettings.on(torch.device(kind), {}) for kind in ("cpu", "cuda"))
    assert (of_gpu.preset, of_gpu.vocab_size, of_gpu.max_tokens) == ("base", 37_000, 25_000)
    assert (of_cpu.preset, of_cpu.vocab_size, of_cpu.max_tokens) == ("tiny", 2_000, 2_048)
    assert bytes_of(EAGER[0], of_cpu.workload(), CPU) < 1e9
    assert LadderSettings.on(CPU, {"preset": "base"}).preset == "base"


def test_rates_are_work_over_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that moves a second at each look: a copy reads and writes, a product adds too."""
    clock = itertools.count()
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(clock)))
    assert devices.copy_rate(CPU) == 2 * devices.COPY_BYTES
    assert devices.matrix_rate(CPU, "fp32") == 2 * devices.RATE_SIZE**3


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ["benchmark", "ladder", "--sizes", "tiny", "--vocab-size", "90", "--max-tokens", "256"]
    out = tmp_path / "rows.jsonl"
    options = ["--rounds", "1", "--device", "cpu", "--threads", "1", "--rungs", "plain", "bf16"]
    assert main([*call, *options, "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert "256 tokens a side and step" in text
    assert "matrix products in bfloat16" in text
    assert main([*call, *options, "--out", str(out), "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["ladder"]
    assert [row.get("rung") for row in found] == [None, "plain", "bf16"]
    assert main([*call, "--device", "cpu", "--rungs", "graphs"]) == 2
    assert "no rung graphs on cpu" in capsys.readouterr().err
    assert main(["benchmark", "ladder", "--sizes", "trained"]) == 2
    capsys.readouterr()
    for option in (["--data", "multi30k"], ["--data-dir", "here"], ["--compile"]):
        assert main([*call, "--device", "cpu", *option]) == 2
        assert f"{option[0]} is not for the ladder" in capsys.readouterr().err
