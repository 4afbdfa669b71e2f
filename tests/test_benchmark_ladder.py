"""Every rung of the ladder takes the same step, and a ladder that is cut off loses nothing."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from annotated_transformer.benchmark import ladder, rungs
from annotated_transformer.benchmark.ladder import LadderSettings, climb, invented_pairs
from annotated_transformer.benchmark.rungs import RungSteps, Workload, in_order_of_chance, rungs_on
from annotated_transformer.cli import main
from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import CallError
from annotated_transformer.training import devices

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
    steps.loader.close()
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
        fast.loader.close()
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    compiled = fast.model.encoder._compiled_call_impl
    assert compiled is not None


def test_each_rung_changes_one_thing() -> None:
    changed = []
    for before, after in itertools.pairwise(EAGER):
        fields = {f for f in before.__dataclass_fields__ if f not in ("name", "says")}
        different = [f for f in fields if getattr(before, f) != getattr(after, f)]
        assert len(different) == 1
        changed += different
    assert len(set(changed)) == len(changed)
    names = [rung.name for rung in rungs_on(torch.device("cuda"))]
    assert names[-1] == "graphs"
    assert names[:-1] == [rung.name for rung in rungs_on(CPU)]


def test_the_parts_of_a_step_hold_a_quarter_each(workload: Workload) -> None:
    for parts in workload.batches(EAGER[-1]):
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
    out.write_text("".join(line + "\n" for line in out.read_text().splitlines()[:3]))
    said: list[str] = []
    rows = climb(SETTINGS, CPU, out, ["bf16", "length", "loss"], lambda row: said.append(str(row)))
    assert rows[:3] == first  # not measured again
    assert [row.get("rung") for row in rows[3:]] == ["length", "loss"]
    assert [json.loads(line) for line in out.read_text().splitlines()] == rows
    assert len(said) == 5
    plain, length = rows[1], rows[3]
    assert length["padding"] < plain["padding"] / 2
    for row in rows[1:]:
        assert row["share_of_peak"] == pytest.approx(
            row["operations"] / row["seconds"] / row["peak"], rel=0.5
        )
        assert row["counted_steps"] == 2
        assert 2 < row["loss"] < 7


def test_a_file_of_another_ladder_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "ladder.jsonl"
    climb(SETTINGS, CPU, out, ["plain"])
    with pytest.raises(CallError, match=r"a ladder with max_tokens 512, and this one has 256"):
        climb(replace(SETTINGS, max_tokens=256), CPU, out)


def test_a_rung_that_fails_is_written_down_and_the_next_is_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = RungSteps.take

    def failing(self: RungSteps, number: int) -> float:
        if self.rung.name == "bf16":
            raise RuntimeError("out of memory")
        return take(self, number)

    monkeypatch.setattr(RungSteps, "take", failing)
    rows = climb(SETTINGS, CPU, tmp_path / "ladder.jsonl", ["bf16", "attention"])
    assert rows[1]["error"] == "RuntimeError: out of memory"
    assert "failed: RuntimeError" in ladder.as_text(rows[1])
    assert rows[2]["seconds"] > 0


def test_a_rung_ends_when_its_time_is_over() -> None:
    rows = climb(replace(SETTINGS, rounds=1000, seconds=0.0), CPU, None, ["plain"])
    assert rows[1]["counted_steps"] == 1


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
