"""`ablate`: a plan is run row by row, stopped and gone on with, and compared with its base."""

import math
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.ablation import runner as runner_module
from annotated_transformer.ablation.differences import (
    T_975,
    differences,
    pooled_deviation,
    t_975,
)
from annotated_transformer.ablation.plan import Plan, Task, load_plan, plan_names, read_plan
from annotated_transformer.ablation.runner import Runner
from annotated_transformer.cli import main
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.ledger.checks import parse_command
from annotated_transformer.ledger.recorded_runs import load_run_record
from annotated_transformer.training.checkpoints import list_checkpoints

OPTIONS = {
    "preset": "tiny/N=1,d_model=32,d_ff=32,h=2",
    "steps": 12,
    "checkpoint_every": 4,
    "max_tokens": 256,
    "threads": 1,
    "device": "cpu",
    "precision": "fp32",
}


def row(name: str, seeds: int = 1, **change) -> dict:
    return {
        "name": name,
        "says": f"the change {name}",
        "change": change,
        "expect": "something",
        "seeds": seeds,
    }


def small_plan(*rows: dict, **options) -> Plan:
    values = {
        "title": "Small",
        "question": "What?",
        "data": "copy",
        "split": "valid",
        "beam": 1,
        "options": {**OPTIONS, **options},
        "rows": [row("base"), *rows],
    }
    return read_plan("small", values)


def small_runner(folder: Path, told: list[str]) -> Runner:
    return Runner(folder / "runs", folder / "records", parse_command, told.append)


# --- plans ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", plan_names())
def test_every_command_of_a_plan_is_understood(name: str) -> None:
    plan = load_plan(name)
    for task in plan.choose(None, None):
        for command in task.commands():
            parse_command(command)
        asked = vars(parse_command(task.commands()[0]))
        changed = {**plan.options, **task.row.change, "seed": task.seed}
        for option, value in changed.items():
            assert asked[option] == value or asked[option] == float(value), option


def test_no_plan_scores_its_runs_on_a_test_set() -> None:
    for name in plan_names():
        assert not load_plan(name).split.startswith("test")


def test_a_row_overrides_and_takes_away() -> None:
    plan = small_plan(row("quick", steps=3, threads=None))
    command = plan.choose(["quick"], None)[0].commands()[0]
    assert "--steps 3" in command
    assert "--steps 12" not in command
    assert "--threads" not in command
    assert command.endswith("--seed 0")


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([row("again", dropout=0.1), row("again", dropout=0.2)], "stands twice"),
        ([row("same")], "changes nothing"),
        ([row("none", seeds=0, dropout=0.1)], "has 0 seeds"),
        ([{**row("silent", dropout=0.1), "expect": ""}], "expects nothing"),
        ([{**row("odd", dropout=0.1), "colour": "red"}], "colour"),
    ],
)
def test_an_unsound_plan_is_refused(rows: list[dict], words: str) -> None:
    with pytest.raises(CallError, match=words):
        small_plan(*rows)


def test_unknown_rows_and_plans_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CallError, match="no row 'nobody'"):
        small_plan().choose(["nobody"], None)
    with pytest.raises(CallError, match="choose from"):
        load_plan("nothing")
    assert main(["ablate", "--plan", "recipe", "--rows", "nobody"]) == 2
    assert "no row 'nobody'; its rows are base" in capsys.readouterr().err


# --- running --------------------------------------------------------------------------------------


def test_rows_are_run_recorded_and_not_run_again(tmp_path: Path) -> None:
    told: list[str] = []
    runner = small_runner(tmp_path, told)
    plan = small_plan(row("dropout", seeds=2, dropout=0.3))
    assert runner.run(plan.choose(None, None), jobs=2)
    records = {path.name: load_run_record(path) for path in runner.records.iterdir()}
    assert sorted(records) == ["base_s0", "dropout_s0", "dropout_s1"]
    for name, record in records.items():
        assert record.status == "finished"
        assert record.configuration["model"]["dropout"] == (0.3 if "dropout" in name else 0.1)
        assert record.seeds["training"] == int(name[-1])
        assert record.score("valid", "lower-tokenised") is not None
    assert records["dropout_s0"].events("valid") != records["dropout_s1"].events("valid")
    assert [line[:8] for line in told] == ["[1 of 3]", "[2 of 3]", "[3 of 3]"]
    assert {line[9:].split(",")[0] for line in told} == set(records)
    before = (runner.records / "base_s0" / "run.json").read_bytes()
    told.clear()
    assert runner.run(plan.choose(None, None))
    assert told == ["3 of 3 runs have a record and are not run again"]
    assert (runner.records / "base_s0" / "run.json").read_bytes() == before


def test_a_stopped_study_goes_on_and_gives_the_same_weights(tmp_path: Path) -> None:
    whole = small_runner(tmp_path / "whole", [])
    tasks = small_plan(steps=400).choose(None, None)
    assert whole.run(tasks)

    told: list[str] = []
    runner = small_runner(tmp_path / "stopped", told)
    checkpoints = runner.work / "base_s0" / "checkpoints"

    def stop_soon() -> None:
        while not list_checkpoints(checkpoints):
            time.sleep(0.005)
        runner.stop("SIGINT")

    stopper = threading.Thread(target=stop_soon)
    stopper.start()
    assert not runner.run(tasks)
    stopper.join()
    assert not runner.is_recorded(tasks[0])
    assert told == []

    again = small_runner(tmp_path / "stopped", told)
    assert again.run(tasks)
    log = again.log(tasks[0]).read_text("utf-8")
    assert "stopped by SIGINT" in log
    assert "resumed after step" in log
    model = Path("base_s0") / "model.safetensors"
    assert (whole.work / model).read_bytes() == (again.work / model).read_bytes()


def test_a_run_that_cannot_begin_does_not_end_the_others(tmp_path: Path) -> None:
    told: list[str] = []
    runner = small_runner(tmp_path, told)
    plan = small_plan(row("broken", preset="tiny/h=3"))
    with pytest.raises(WorkError, match="1 runs did not end"):
        runner.run(plan.choose(["broken", "base"], None))
    assert "broken_s0 did not end: " in told[0]
    assert runner.is_recorded(plan.choose(["base"], None)[0])
    assert not runner.is_recorded(plan.choose(["broken"], None)[0])


def test_a_model_that_diverged_is_recorded_as_failed(tmp_path: Path) -> None:
    runner = small_runner(tmp_path, [])
    (task,) = small_plan(row("wild", learning_rate=1e30, warmup=1)).choose(["wild"], None)
    assert runner.run([task])
    record = load_run_record(runner.records / task.name)
    assert record.status == "failed"
    assert "no longer a number" in record.what_went_badly[0]


def test_a_model_that_was_not_scored_has_no_record_and_is_scored_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = small_runner(tmp_path, [])
    [task] = small_plan().choose(["base"], None)
    with monkeypatch.context() as broken:
        broken.setattr(Task, "evaluate_words", lambda *_: ["evaluate", "--beam", "none"])
        with pytest.raises(WorkError, match="1 runs did not end"):
            runner.run([task])
    assert not runner.is_recorded(task)
    assert runner.run([task])
    assert load_run_record(runner.records / task.name).scores


def test_what_was_begun_with_other_settings_is_not_recorded(tmp_path: Path) -> None:
    told: list[str] = []
    runner = small_runner(tmp_path, told)
    [task] = small_plan().choose(["base"], None)
    assert runner.run([task])
    shutil.rmtree(runner.records)
    [changed] = small_plan(dropout=0.37).choose(["base"], None)
    with pytest.raises(WorkError, match="1 runs did not end"):
        runner.run([changed])
    assert "--dropout 0.37 contradicts the run" in told[-1]
    assert not runner.is_recorded(changed)
    assert runner.run([task])  # the finished model is scored and recorded again


def test_a_record_names_the_commit_that_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    runner = small_runner(tmp_path, told)
    [task] = small_plan().choose(["base"], None)
    with monkeypatch.context() as then:
        then.setattr(runner_module, "code_version", lambda: {"commit": "a" * 40, "changed": False})
        assert runner.run([task])
    assert load_run_record(runner.records / task.name).code_version["commit"] == "a" * 40
    shutil.rmtree(runner.records)
    with pytest.raises(WorkError):
        runner.run([task])
    assert "begun by commit aaaaaaaaaaaa and the code is" in told[-1]


def test_without_a_repository_nothing_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = small_runner(tmp_path, [])
    monkeypatch.setattr(runner_module, "code_version", lambda: {"commit": "", "changed": False})
    with pytest.raises(CallError, match="does not lie in a clone"):
        runner.run(small_plan().choose(["base"], None))
    assert not runner.work.exists()


@pytest.mark.parametrize("wrong", [CallError("no such folder"), OSError("disk full")])
def test_whatever_goes_wrong_with_one_run_the_others_are_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: Exception
) -> None:
    told: list[str] = []
    runner = small_runner(tmp_path, told)

    def run_one(task: Task) -> str:
        if task.row.name == "base":
            raise wrong
        return "done well"

    monkeypatch.setattr(runner, "run_one", run_one)
    with pytest.raises(WorkError, match="1 runs did not end"):
        runner.run(small_plan(row("a", dropout=0.2)).choose(None, None))
    assert told == [f"base_s0 did not end: {wrong}", "[1 of 2] done well"]


# --- what was found -------------------------------------------------------------------------------


def test_students_t_against_its_density() -> None:
    for freedom in (1, 2, 5, 10, 30, 31, 60, 200):
        x = np.linspace(0, t_975(freedom), 200_001)
        constant = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2))
        density = (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
        density *= constant / math.sqrt(freedom * math.pi)
        assert np.trapezoid(density, x) == pytest.approx(0.475, abs=2e-5), freedom
    assert list(T_975) == sorted(T_975, reverse=True)


@given(st.lists(st.lists(st.floats(-50, 50), min_size=1, max_size=5), min_size=1, max_size=5))
def test_pooled_deviation_against_numpy(groups: list[list[float]]) -> None:
    spread, freedom = pooled_deviation(groups)
    squares = sum(np.var(group) * len(group) for group in groups)
    assert freedom == sum(map(len, groups)) - len(groups)
    if freedom:
        assert spread == pytest.approx(math.sqrt(squares / freedom), abs=1e-9)


def test_differences_by_hand() -> None:
    plan = small_plan(row("a", dropout=0.2), row("b", dropout=0.3), row("missing", dropout=0.4))
    found = differences(plan, {"base": [10.0, 12.0], "a": [11.5], "b": [30.0]})
    base, a, b = found
    # Spread sqrt(2) with one degree of freedom: 12.706 * sqrt(2) * sqrt(1 + 1/2) = 22.0
    assert (base.mean, base.difference) == (11, 0)
    assert a.difference == 0.5
    assert a.margin == pytest.approx(12.706 * math.sqrt(2) * math.sqrt(1.5))
    assert not a.decided
    assert b.difference == 19
    assert not b.decided
    alone = differences(plan, {"base": [10.0], "a": [90.0]})
    assert alone[1].margin is None
    assert not alone[1].decided


def test_the_plan_can_be_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = ["--records", str(tmp_path), "--work", str(tmp_path)]
    assert main(["ablate", "--plan", "recipe", "--rows", "base", "--list", *folders]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["to", "do"]] * 5
