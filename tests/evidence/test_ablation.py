"""`ablate`: a plan is run row by row, stopped and gone on with, and compared with its base."""

import json
import math
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from annotated_transformer.cli import main, parse_command
from annotated_transformer.cli.train_run import MODEL_OPTIONS, configuration_of
from annotated_transformer.config import TransformerConfig
from annotated_transformer.errors import CallError, WorkError
from annotated_transformer.evidence.ablation import runner as runner_module
from annotated_transformer.evidence.ablation.differences import differences
from annotated_transformer.evidence.ablation.intervals import (
    T_975,
    pooled_deviation,
    t_975,
    welch_margin,
)
from annotated_transformer.evidence.ablation.plan import (
    Plan,
    Row,
    Task,
    load_plan,
    plan_names,
    read_plan,
    words_of,
)
from annotated_transformer.evidence.ablation.runner import Runner
from annotated_transformer.evidence.ledger import machine
from annotated_transformer.evidence.ledger.recorded_runs import load_run_record
from annotated_transformer.evidence.table3 import TABLE_3
from annotated_transformer.training.checkpoints import list_checkpoints
from annotated_transformer.transformer import Transformer

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
    return read_plan("small", small_plan_values(*rows, **options))


def small_plan_values(*rows: dict, **options) -> dict:
    return {
        "title": "Small",
        "question": "What?",
        "data": "copy",
        "split": "valid",
        "beam": 1,
        "options": {**OPTIONS, **options},
        "rows": [row("base"), *rows],
    }


def small_runner(folder: Path, told: list[str]) -> Runner:
    return Runner(folder / "runs", folder / "records", configuration_of, told.append)


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
        ([{**row("mirror", dropout=0.1), "table3": "F9"}], "Table 3 has no row F9"),
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


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"protocol": "taste"}, "'taste' is none of cased, lower-tokenised, chrf, exact-match"),
        ({"more_beams": [4, 1]}, "A beam stands twice"),
        ({"more_beams": [4, 4]}, "A beam stands twice"),
    ],
)
def test_an_unsound_way_of_scoring_is_refused(changed: dict, words: str) -> None:
    with pytest.raises(CallError, match=words):
        read_plan("small", {**small_plan_values(), **changed})


def test_options_are_typed_as_the_program_reads_them() -> None:
    options = {"max_tokens": 2048, "byte_dropout": True, "residual": False, "attention": "additive"}
    words = words_of(options)
    assert words == [
        *("--max-tokens", "2048", "--byte-dropout"),
        *("--no-residual", "--attention", "additive"),
    ]
    parsed = vars(parse_command(" ".join(["annotated-transformer train --run-dir r", *words])))
    assert {name: parsed[name] for name in options} == options


TABLE_3_PLANS = [name for name in plan_names() if any(r.table3 for r in load_plan(name).rows)]


@pytest.mark.parametrize("name", TABLE_3_PLANS)
def test_the_rows_of_table_3_change_their_base_by_the_papers_factors(name: str) -> None:
    plan = load_plan(name)
    mirrored = {row.table3: row for row in plan.rows if row.table3}
    assert set(mirrored) == {row.preset for row in TABLE_3} - {"big"}
    printed = {row.preset: row for row in TABLE_3}
    base = sizes_of(plan, mirrored["base"])
    papers = TransformerConfig.preset("base", 100)
    for preset, row in mirrored.items():
        ours, theirs = sizes_of(plan, row), TransformerConfig.preset(preset, 100)
        for of_ours, of_theirs in (
            (ours.num_layers / base.num_layers, theirs.num_layers / papers.num_layers),
            (ours.d_model / base.d_model, theirs.d_model / papers.d_model),
            (ours.d_ff / base.d_ff, theirs.d_ff / papers.d_ff),
            (
                ours.head_widths[0] / base.head_widths[0],
                theirs.head_widths[0] / papers.head_widths[0],
            ),
            (
                ours.head_widths[1] / base.head_widths[1],
                theirs.head_widths[1] / papers.head_widths[1],
            ),
            (ours.dropout / base.dropout, theirs.dropout / papers.dropout),
            (ours.num_heads, theirs.num_heads),
            (ours.positions, theirs.positions),
        ):
            assert of_ours == pytest.approx(of_theirs) if of_ours != of_theirs else True, preset
        asked = vars(parse_command(plan.choose([row.name], 1)[0].commands()[0]))
        assert asked["label_smoothing"] == printed[preset].label_smoothing
        assert ours.departures() == ([] if preset != "E" else ["positions = learned"])
    assert (base.d_ff, base.num_heads) == (4 * base.d_model, papers.num_heads)


def sizes_of(plan: Plan, row: Row) -> TransformerConfig:
    """The model of a row."""
    asked = vars(parse_command(plan.choose([row.name], 1)[0].commands()[0]))
    changes = {name: asked[name] for name in MODEL_OPTIONS if name in asked}
    return TransformerConfig.preset(asked["preset"], 100, **changes)


# What each row changes that Table 3 does not have: of the model, then of the training.
BESIDES_TABLE_3: dict[str, tuple[dict[str, object], dict[str, object]]] = {
    "no-positions": ({"positions": "none"}, {}),
    "no-scaling": ({"attention": "dot-product"}, {}),
    "no-scaling-1-head": ({"num_heads": 1, "attention": "dot-product"}, {}),
    "additive": ({"attention": "additive"}, {}),
    "no-residual": ({"residual": False}, {}),
    "no-norm": ({"norm": "none"}, {}),
    "no-residual-no-norm": ({"residual": False, "norm": "none"}, {}),
    "pre-norm": ({"norm": "pre"}, {}),
    "init-gain-1": ({}, {"init_gain": 1.0}),
    "pre-norm-gain-1": ({"norm": "pre"}, {"init_gain": 1.0}),
    "no-norm-gain-1": ({"norm": "none"}, {"init_gain": 1.0}),
    "no-residual-no-norm-gain-1": ({"residual": False, "norm": "none"}, {"init_gain": 1.0}),
    "warmup-40": ({}, {"warmup": 40}),
    "no-warmup": ({}, {"warmup": 1}),
    "pre-norm-no-warmup": ({"norm": "pre"}, {"warmup": 1}),
    "untied": ({"tie_embeddings": False}, {}),
    "no-embedding-scale": ({"embedding_scale": False}, {}),
    "encoder-5-decoder-1": ({"num_layers": 5, "decoder_layers": 1}, {}),
    "encoder-1-decoder-5": ({"num_layers": 1, "decoder_layers": 5}, {}),
}


@pytest.mark.parametrize("name", TABLE_3_PLANS)
def test_the_other_rows_change_what_they_name_and_nothing_else(name: str) -> None:
    plan = load_plan(name)
    base = sizes_of(plan, plan.row("base"))
    others = [row for row in plan.rows if not row.table3]
    assert others
    assert {row.name for row in others} <= set(BESIDES_TABLE_3)
    for row in others:
        model, training = BESIDES_TABLE_3[row.name]
        assert sizes_of(plan, row) == replace(base, **model), row.name
        of_model = (*MODEL_OPTIONS, "preset")
        rest = {key: value for key, value in row.change.items() if key not in of_model}
        assert rest == training, row.name


@pytest.mark.parametrize("name", TABLE_3_PLANS)
def test_every_row_of_a_plan_is_a_model_that_can_be_built(name: str) -> None:
    plan = load_plan(name)
    with torch.device("meta"):
        for row in plan.rows:
            model = Transformer(sizes_of(plan, row))
            assert model.num_parameters() == model.config.count_parameters()


def test_rows_go_by_the_papers_names_too() -> None:
    plan = load_plan("table3_grammar")

    def named(*names: str) -> list[str]:
        return [task.row.name for task in plan.choose(names, 1)]

    assert named("A1", "E") == ["heads-1", "learned-positions"]
    assert named("A") == ["heads-1", "heads-4", "heads-16", "heads-32"]
    assert named("B1", "d-k-2", "B") == ["d-k-2", "d-k-4"]  # each once
    with pytest.raises(CallError, match="no row ''"):
        named("")


def test_a_plan_of_ones_own_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(small_plan_values(row("dropout", dropout=0.3))), "utf-8")
    assert load_plan(str(path)) == replace(small_plan(row("dropout", dropout=0.3)), name="mine")
    path.write_text("{", "utf-8")
    with pytest.raises(CallError, match="is not JSON"):
        load_plan(str(path))


def test_without_a_plan_the_rows_are_those_of_table_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["ablate", "--rows", "C1", "--seeds", "1", "--list", "--records", str(tmp_path)]
    assert main(words) == 0
    assert capsys.readouterr().out == "to do     layers-1_s0: N 1\n"


@pytest.mark.parametrize(
    ("one", "words"),
    [
        ({}, "has no border"),
        ({"low": 2, "high": 1}, "begins at 2 and ends at 1"),
        ({"low": 2, "against": "nobody"}, "against 'nobody', which is no row"),
        ({"low": 2, "of": "median"}, "of the 'median'"),
        ({"low": 2, "of": "lowest"}, "only means are subtracted"),
        ({"low": 2, "figure": "beam"}, "of 'beam', not of score"),
        ({"low": 2, "figure": "beam 5"}, "of beam 5, by which nothing is scored"),
        ({"low": 2, "figure": "gain of beam 1"}, "gain of a search over itself"),
        ({"low": 2, "against": "dropout"}, "against the row itself"),
        ({"low": "2"}, "no number: '2', None"),
        ({"least": 2}, "a range low, high, figure, against, of"),
    ],
)
def test_a_range_that_cannot_be_judged_is_refused(one: dict, words: str) -> None:
    with pytest.raises(CallError, match=words):
        small_plan({**row("dropout", dropout=0.3), "ranges": [one]})


@pytest.mark.parametrize("name", plan_names())
def test_a_range_says_what_its_sentence_says(name: str) -> None:
    """Its borders are numbers of the sentence; or 0, or the least that can be told from 0."""
    for one in load_plan(name).rows:
        said = {float(number) for number in re.findall(r"\d+(?:\.\d+)?", one.expect)}
        for expected in one.ranges:
            borders = {abs(b) for b in (expected.low, expected.high) if b is not None}
            assert borders <= said | {0, 0.1}, (one.name, expected)


def test_unknown_rows_and_plans_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(CallError, match="no row 'nobody'"):
        small_plan().choose(["nobody"], None)
    with pytest.raises(CallError, match="choose from"):
        load_plan("nothing")
    assert main(["ablate", "--plan", "recipe", "--rows", "nobody"]) == 2
    assert "no row 'nobody'; its rows are base" in capsys.readouterr().err


# --- running --------------------------------------------------------------------------------------


@pytest.mark.slow
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
    kept = [path.parent.name for path in runner.records.glob("*/translations.valid.txt")]
    assert sorted(kept) == ["base_s0", "dropout_s0"]  # of one seed
    of_five = load_plan("table3_grammar").choose(["base", "heads-1"], None)
    kept = [task.name for task in of_five if task.keeps(1)]
    assert kept == [*(f"base_s{seed}" for seed in range(5)), "heads-1_s0"]  # of the base all
    assert [line[:8] for line in told] == ["[1 of 3]", "[2 of 3]", "[3 of 3]"]
    assert {line[9:].split(",")[0] for line in told} == set(records)
    before = (runner.records / "base_s0" / "run.json").read_bytes()
    told.clear()
    assert runner.run(plan.choose(None, None))
    assert told == ["3 of 3 runs have a record and are not run again"]
    assert (runner.records / "base_s0" / "run.json").read_bytes() == before


@pytest.mark.slow
def test_several_searches_of_one_model_are_scored_and_its_perplexity_stands_once(
    tmp_path: Path,
) -> None:
    runner = small_runner(tmp_path, [])
    values = small_plan_values({**row("dropout", seeds=2, dropout=0.3), "keep": [4]})
    plan = read_plan("small", {**values, "more_beams": [4]})
    [task, _, second] = plan.choose(None, None)
    assert runner.run([task, second])
    record = load_run_record(runner.records / task.name)
    kept = {path.name for path in (runner.records / task.name).glob("translations.*")}
    assert kept == {"translations.valid.txt"}
    kept = {path.name for path in (runner.records / second.name).glob("translations.*")}
    assert kept == {"translations.valid.beam4.txt"}  # of its second seed only what its row names
    assert [command.split("--beam ")[1][0] for command in record.evaluation_commands] == ["1", "4"]
    beams = [score.beam for score in record.scores if score.protocol == "exact-match"]
    assert beams == [1, 4]
    assert [score.protocol for score in record.scores].count("perplexity") == 1
    for beam in beams:
        found = record.score("valid", "lower-tokenised", beam)
        assert found is not None
        assert found.beam == beam


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_run_that_cannot_begin_does_not_end_the_others(tmp_path: Path) -> None:
    told: list[str] = []
    runner = small_runner(tmp_path, told)
    plan = small_plan(row("broken", preset="tiny/h=3"))
    with pytest.raises(WorkError, match="1 runs did not end"):
        runner.run(plan.choose(["broken", "base"], None))
    assert "broken_s0 did not end: " in told[0]
    assert runner.is_recorded(plan.choose(["base"], None)[0])
    assert not runner.is_recorded(plan.choose(["broken"], None)[0])


def test_what_went_wrong_is_told_by_the_last_command_alone(tmp_path: Path) -> None:
    told: list[str] = []
    runner = small_runner(tmp_path, told)
    [task] = small_plan(row("broken", preset="tiny/h=3")).choose(["broken"], None)
    runner.work.mkdir()
    runner.log(task).write_text("an older message\n", "utf-8")
    with pytest.raises(WorkError):
        runner.run([task])
    assert "h=3" in told[0] or "num_heads" in told[0]
    assert "an older message" not in told[0]
    assert runner.log(task).read_text("utf-8").startswith("an older message\n")


def test_records_that_cannot_be_written_are_told_before_the_training(tmp_path: Path) -> None:
    (tmp_path / "records").write_text("a file")
    runner = small_runner(tmp_path, [])
    with pytest.raises(CallError, match="records cannot be written to"):
        runner.run(small_plan().choose(None, None))
    assert not runner.work.exists()


def folder_of(path: Path, pairs: int) -> Path:
    """A corpus of one's own, its validation sentences those of its training."""
    path.mkdir()
    for split in ("train", "valid"):
        for language in ("en", "de"):
            lines = (f"{number} {language}\n" for number in range(pairs))
            (path / f"{split}.{language}").write_text("".join(lines), "utf-8")
    return path


@pytest.mark.slow
def test_a_study_is_of_one_corpus(tmp_path: Path) -> None:
    def runner(pairs: int) -> Runner:
        folder = tmp_path / f"of_{pairs}"
        data = folder if folder.exists() else folder_of(folder, pairs)
        return Runner(tmp_path / "runs", tmp_path / "records", configuration_of, print, data)

    values = {**small_plan_values(row("dropout", dropout=0.3)), "data": "folder"}
    tasks = read_plan("small", values).choose(None, None)
    assert runner(60).run(tasks[:1])
    with pytest.raises(CallError, match="other sentences in valid than the recorded run base_s0"):
        runner(50).run(tasks)
    assert runner(60).run(tasks)


def test_a_published_corpus_is_recorded_by_its_name_only_if_it_is_the_published_one(
    tmp_path: Path,
) -> None:
    folder = folder_of(tmp_path / "mine", 60)
    runner = Runner(tmp_path / "runs", tmp_path / "records", configuration_of, print, folder)
    tasks = read_plan("small", {**small_plan_values(), "data": "multi30k"}).choose(None, None)
    with pytest.raises(CallError, match="does not hold multi30k as it was published"):
        runner.run(tasks)
    assert not runner.work.exists()


def test_a_model_that_diverged_is_recorded_as_failed(tmp_path: Path) -> None:
    runner = small_runner(tmp_path, [])
    (task,) = small_plan(row("wild", learning_rate=1e30, warmup=1)).choose(["wild"], None)
    assert runner.run([task])
    record = load_run_record(runner.records / task.name)
    assert record.status == "failed"
    assert "no longer a number" in record.what_went_badly[0]


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_record_names_the_commit_that_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    runner = small_runner(tmp_path, told)
    [task] = small_plan().choose(["base"], None)
    with monkeypatch.context() as then:
        version = {"commit": "a" * 40, "changed": False, "last_change": "a" * 40}
        then.setattr(runner_module, "code_version", lambda: version)
        assert runner.run([task])
    assert load_run_record(runner.records / task.name).code_version["commit"] == "a" * 40
    shutil.rmtree(runner.records)
    with pytest.raises(WorkError):
        runner.run([task])
    assert "begun by commit aaaaaaaaaaaa and the code is" in told[-1]


def test_only_what_trains_makes_another_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Figures are built into the package during a study, and pages are committed."""

    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True, capture_output=True)

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    monkeypatch.setattr(machine, "PACKAGE", tmp_path / "package")
    assert machine.code_version()["commit"] == ""
    for name in ("package/errors.py", "package/ablation/outcomes/a.json", "package/ledger/b.py"):
        write(name, "1")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "first")
    first = machine.code_version()
    assert first["commit"] == first["last_change"] != ""
    assert first["changed"] is False
    write("package/ablation/outcomes/a.json", "2")
    assert machine.code_version() == first
    write("page.md", "2")
    git("add", ".")
    git("commit", "-qm", "a figure and a page")
    second = machine.code_version()
    assert second == {**first, "commit": second["commit"]} != first
    write("package/errors.py", "2")
    assert machine.code_version() == {**second, "changed": True}
    git("commit", "-qam", "what trains")
    third = machine.code_version()
    assert third["last_change"] == third["commit"] != first["commit"]


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


def test_no_difference_is_never_decided() -> None:
    """The base's is 0 ± 0, and so is that of a row whose seeds all give what the base's give."""
    found = differences(
        small_plan(row("same", seeds=2, dropout=0.2)), {"base": [3.0, 3.0], "same": [3.0, 3.0]}
    )
    assert [(one.difference, one.margin, one.decided) for one in found] == [(0, 0, False)] * 2


def test_welchs_interval_by_hand() -> None:
    # Parts 2 / 2 and 0.02 / 2; freedom (1.01)^2 / (1^2 + 0.01^2) = 1.02, rounded down to 1
    margin = welch_margin([10.0, 12.0], [5.0, 5.2])
    assert margin == pytest.approx(12.706 * math.sqrt(1.01))
    assert welch_margin([3.0, 3.0], [5.0, 5.0, 5.0]) == 0


@pytest.mark.parametrize("spreads", [(1.0, 1.0), (1.0, 5.0), (5.0, 1.0)])
def test_welchs_interval_leaves_out_the_truth_in_one_case_of_twenty(spreads: tuple) -> None:
    """As often as it says, for five seeds and three, whichever of them spread more."""
    generator = np.random.default_rng(0)
    draws = [
        (generator.normal(3, spreads[0], 5), generator.normal(1, spreads[1], 3))
        for _ in range(2000)
    ]
    missed = sum(abs(a.mean() - b.mean() - 2) > welch_margin(list(a), list(b)) for a, b in draws)
    assert 0.02 < missed / len(draws) < 0.07


def test_rows_of_several_seeds_have_their_own_spread() -> None:
    plan = small_plan(row("a", seeds=2, dropout=0.2), row("b", dropout=0.3))
    base, a, b = differences(plan, {"base": [10.0, 12.0], "a": [5.0, 5.2], "b": [7.0]})
    assert base.margin == 0
    assert a.margin == pytest.approx(12.706 * math.sqrt(1.01))
    spread = math.sqrt((2 + 0.02) / 2)
    assert b.margin == pytest.approx(4.303 * spread * math.sqrt(1.5))


def test_the_plan_can_be_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = ["--records", str(tmp_path), "--work", str(tmp_path)]
    assert main(["ablate", "--plan", "recipe", "--rows", "base", "--list", *folders]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["to", "do"]] * 5


def test_whatever_a_training_imports_is_what_trains() -> None:
    """In a process of its own: of the package, rooms and section 3's modules."""
    asked = "import sys, annotated_transformer.training.trainer; print(*sys.modules)"
    names = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True
    ).stdout.split()
    inside = {name.split(".")[1] for name in names if name.startswith("annotated_transformer.")}
    rooms = {name for name in inside if (machine.PACKAGE / name).is_dir()}
    assert rooms == set(machine.ROOMS_THAT_TRAIN)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"rows": [1]}, "an object is expected, and 1 stands there"),
        ({"rows": [{"seeds": "x"}]}, 'seeds is "x", and int is expected'),
        ({"rows": [{"change": 7}]}, "change is 7, and dict is expected"),
        ({"beam": "1"}, 'beam is "1", and int is expected'),
    ],
)
def test_a_plan_whose_fields_are_of_another_kind_is_refused(
    changes: dict[str, Any], words: str
) -> None:
    with pytest.raises(WorkError, match=re.escape(words)):
        read_plan("mine", changes)
