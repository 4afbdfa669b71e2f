"""Each bug is found by a measurement that does not know it, and the right run is not blamed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import museum_systems
from annotated_transformer.cli import main
from annotated_transformer.data import ParallelCorpus, Vocabulary
from annotated_transformer.museum import exhibit, recipe
from annotated_transformer.museum.bugs import BUGS, CONTROLS, Bug, bug_named
from annotated_transformer.museum.checks import CHECKS, diagnose, first_complaint
from annotated_transformer.museum.exhibit import Exhibit
from annotated_transformer.museum.of_run import planned_end
from annotated_transformer.museum.recipe import Recipe
from annotated_transformer.training import RunDirectory
from annotated_transformer.training.settings import TrainingConfig
from museum_systems import OF_WEIGHTS, small, system
from toy_run import write_corpus


def test_the_right_way_has_no_complaint(corpus: ParallelCorpus, vocabulary: Vocabulary) -> None:
    findings = diagnose(system(Recipe(), corpus, vocabulary))
    assert len(findings) == len(CHECKS)
    assert first_complaint(findings) is None
    assert all(one.says and "\n" not in one.says for one in findings)


@pytest.mark.parametrize("bug", [b for b in BUGS if b.name not in OF_WEIGHTS], ids=lambda b: b.name)
def test_the_first_complaint_is_the_bug(
    bug: Bug, corpus: ParallelCorpus, vocabulary: Vocabulary
) -> None:
    asked = system(bug.recipe, corpus, vocabulary)
    if "rate" not in bug.change:
        asked = replace(asked, log=None)  # a model that nobody has trained has none
    complaint = first_complaint(diagnose(asked))
    assert complaint
    assert complaint.bug == bug.name
    assert "\n" not in complaint.says


def test_a_mask_one_off_is_told_from_none_at_any_depth(
    corpus: ParallelCorpus, vocabulary: Vocabulary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lets one token more be seen in each layer: six after six layers."""
    monkeypatch.setattr(museum_systems, "small", small.with_changes(num_layers=6))
    for name in ("mask-off-by-one", "no-causal-mask"):
        complaint = first_complaint(diagnose(system(bug_named(name).recipe, corpus, vocabulary)))
        assert complaint
        assert complaint.bug == name


def test_names_are_unique_and_every_bug_is_a_change() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 24
    for bug in BUGS:
        assert bug.change
        assert bug.recipe != Recipe()


def test_each_bug_is_recorded_and_was_named() -> None:
    for bug in BUGS:
        runs = exhibit.recorded(bug.name)
        assert runs, bug.name
        assert {run.named for run in runs} == {bug.name}
        assert all(run.steps == recipe.STEPS for run in runs)


def test_a_bug_is_recorded_beside_its_control_with_the_same_seeds() -> None:
    assert len(exhibit.recorded("right")) >= 5
    for control in CONTROLS:
        runs = exhibit.recorded(control.name)
        assert len(runs) >= 3
        assert not any(run.named or run.says for run in runs)
    for bug in BUGS:
        seeds = [run.seed for run in exhibit.recorded(bug.name)]
        assert len(seeds) >= 3
        assert set(seeds) <= {run.seed for run in exhibit.recorded(bug.control)}, bug.name


def test_a_control_has_all_of_a_bug_but_the_bug() -> None:
    for bug in BUGS:
        harmless = {"parts", "beam"} & bug.change.keys()
        assert bug_named(bug.control).change == {name: bug.change[name] for name in harmless}


# What each shows that no run without a bug does. Seed 3 is recorded of none of them.
SHOWS: dict[str, Callable[[Exhibit], bool]] = {
    "no-causal-mask": lambda one: one.accuracy > 0.99 and one.bleu < 1,
    "no-eos": lambda one: one.length_ratio > 1.2 and one.accuracy > 0.97,
    "truncated-targets": lambda one: one.length_ratio < 0.8 and one.accuracy > 0.97,
}


@pytest.mark.parametrize("name", SHOWS)
def test_what_is_recorded_of_it_shows_in_no_run_without_it(name: str) -> None:
    assert all(map(SHOWS[name], exhibit.recorded(name)))
    assert not any(map(SHOWS[name], exhibit.recorded("right")))


@pytest.mark.slow  # three trainings as long as the recorded ones
@pytest.mark.parametrize("name", SHOWS)
def test_trained_anew_it_shows_what_is_recorded(name: str, tmp_path: Path) -> None:
    anew = exhibit.make(bug_named(name), 3, tmp_path)
    assert anew.named == name
    assert SHOWS[name](anew), anew
    losses = [run.loss for run in exhibit.recorded(name)]
    assert anew.loss == pytest.approx(sum(losses) / len(losses), rel=0.03)


def test_asking_leaves_the_system_as_it_was(corpus: ParallelCorpus, vocabulary: Vocabulary) -> None:
    asked = system(Recipe(), corpus, vocabulary)
    before = {name: weight.clone() for name, weight in asked.model.state_dict().items()}
    asked.model.train()
    diagnose(asked)
    assert asked.model.training
    assert all(torch.equal(w, before[name]) for name, w in asked.model.state_dict().items())
    assert all(w.grad is None for w in asked.model.parameters())


@pytest.mark.slow  # only training shows them: two runs of 150 steps
@pytest.mark.usefixtures("tiny")
def test_what_became_of_weights_is_found(tmp_path: Path) -> None:
    """Two runs averaged, and another vocabulary: each after a short training."""
    for name in sorted(OF_WEIGHTS):
        made = exhibit.make(bug_named(name), 0, tmp_path, steps=150)
        assert made.named == name, made.says
    assert exhibit.make(bug_named("right"), 0, tmp_path, steps=150).named == ""


@pytest.mark.usefixtures("tiny")
def test_the_command_makes_an_exhibit_and_records_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    to = ["--work", str(tmp_path / "work"), "--record", str(tmp_path / "records")]
    for seed in ("1", "0"):
        assert main(["museum", "no-eos", "--seed", seed, "--steps", "10", *to]) == 0
    assert "diagnose: no-eos" in capsys.readouterr().out
    runs = exhibit.recorded("no-eos", tmp_path / "records")
    assert [one.seed for one in runs] == [0, 1]
    assert all(one.steps == 10 and one.named == "no-eos" for one in runs)


def test_the_command_lists_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["museum"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(BUGS) + len(CONTROLS)
    assert main(["museum", "no-such-bug"]) == 2
    assert "no-causal-mask" in capsys.readouterr().err


@pytest.mark.usefixtures("tiny")
def test_the_command_loses_no_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("mine")
    for option in ("--record", "--work"):
        for path in (tmp_path / "file", tmp_path / "file" / "below"):
            assert main(["museum", "dropout-when-asked", option, str(path)]) == 2
            assert "cannot be made a folder" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"
    [long] = [run for run in exhibit.recorded("no-eos") if run.seed == 0]
    exhibit.record(long, tmp_path / "records")
    before = (tmp_path / "records" / "no-eos.json").read_text()
    record = ["--record", str(tmp_path / "records")]
    assert main(["museum", "no-eos", "--steps", "3", *record]) == 1
    assert "does not replace it" in capsys.readouterr().err
    assert (tmp_path / "records" / "no-eos.json").read_text() == before
    damaged = before.replace('"steps": 1200', '"steps": null')
    assert damaged != before
    for text in ("[{}]", "{}", "3", "[", damaged):
        (tmp_path / "records" / "no-eos.json").write_text(text)
        assert main(["museum", "no-eos", "--steps", "3", *record]) == 1
        assert "move it away" in capsys.readouterr().err
        assert (tmp_path / "records" / "no-eos.json").read_text() == text
    for option, wrong in (
        *(("--seed", text) for text in ("-1", str(10**26), "x")),
        *(("--steps", text) for text in ("0", str(recipe.STEPS + 1))),
    ):
        with pytest.raises(SystemExit):
            main(["museum", "no-eos", option, wrong])


def trained_run(folder: Path, *options: str) -> Path:
    corpus = str(write_corpus(folder / "corpus"))
    how = ["--data", "folder", "--data-dir", corpus, "--steps", "70", "--max-tokens", "64"]
    how += ["--vocab-size", "60", "--device", "cpu", "--precision", "fp32", "--threads", "1"]
    sizes = ["--preset", "tiny/N=1,d_model=16,d_ff=16,h=2"]
    assert main(["train", "--run-dir", str(folder / "run"), *sizes, *how, *options]) == 0
    return folder / "run"


@pytest.mark.parametrize(
    "options",
    [
        ("--decay", "0.5", "--lowercase"),
        ("--norm", "pre", "--schedule", "cosine"),
        ("--positions", "none", "--later", "relative_positions=rope,network=swiglu"),
        ("--no-tie-embeddings", "--no-residual", "--positions", "learned"),
        ("--attention", "additive", "--r-drop", "1"),
    ],
    ids=" ".join,
)
def test_a_run_of_ours_has_nothing_to_complain_of(
    options: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained_run(tmp_path, *options)
    capsys.readouterr()
    assert main(["diagnose", "--run-dir", str(run)]) == 0, capsys.readouterr().out
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "Of the run:",
        "Of this package's code, whoever's code trained the run:",
    ]
    answers = [line.split() for line in lines if line.startswith(" ")]
    assert len(answers) == len(CHECKS)
    assert {mark for mark, *_ in answers} == {"fine", "note"}


def test_weights_of_another_run_are_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = trained_run(tmp_path)
    [line] = [line for line in RunDirectory(run).read_metrics() if line["event"] == "train"]
    text = (run / "metrics.jsonl").read_text("utf-8")
    (run / "metrics.jsonl").write_text(text.replace(f"{line['loss']}", "0.5"), "utf-8")
    capsys.readouterr()
    assert main(["diagnose", "--run-dir", str(run), "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["kept_weights"]["bug"] == ""  # what it was the weights do not say
    assert found["kept_weights"]["of"] == "run"
    assert found["future"]["of"] == "code"
    wrong = [name for name, one in found.items() if one["mark"] == "wrong"]
    assert wrong == ["kept_weights"]


def test_a_run_that_was_stopped_is_not_blamed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its rates are those of a run that was to go on."""
    run = trained_run(tmp_path, "--decay", "0.5")
    lines = (run / "metrics.jsonl").read_text("utf-8").splitlines()
    kept = [line for line in lines if json.loads(line)["step"] <= 60]
    (run / "metrics.jsonl").write_text("\n".join(kept) + "\n", "utf-8")
    capsys.readouterr()
    assert main(["diagnose", "--run-dir", str(run), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["rates"]["mark"] == "fine"


@pytest.mark.parametrize(
    ("settings", "end"),
    [({"steps": 90}, 90), ({"epochs": 2}, 40), ({"epochs": 3}, None), ({"minutes": 1.0}, None)],
)
def test_where_a_run_was_to_end(settings: dict[str, Any], end: int | None) -> None:
    lines = [{"event": "valid", "epoch": epoch, "step": 20 * epoch} for epoch in (1, 2)]
    assert planned_end(TrainingConfig(**settings), lines) == end


def test_a_run_of_one_stack_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = trained_run(tmp_path, "--later", "family=decoder-only")
    assert main(["diagnose", "--run-dir", str(run)]) == 2
    assert "one stack" in capsys.readouterr().err
