"""The scores of averaged checkpoints that chapter 9 shows: how they are made, and their record."""

import json
from pathlib import Path

import pytest
import torch

from annotated_transformer.data import Split, encode_split
from annotated_transformer.evaluation.likelihood import split_likelihood
from annotated_transformer.experiments import averaging_measured as measured
from annotated_transformer.experiments.averaging_measured import schedules
from annotated_transformer.experiments.training_measured import Recipe, load_data
from annotated_transformer.training import RunDirectory, load_run
from annotated_transformer.training.checkpoints import Checkpoint, save_checkpoint
from annotated_transformer.training.run_directory import average_checkpoints, model_weights
from toy_run import SPLITS, write_corpus, write_run

RESULTS = Path(__file__).resolve().parents[2] / "results"
VALID = Split([pair[0] for pair in SPLITS["valid"]], [pair[1] for pair in SPLITS["valid"]])


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run with three checkpoints of random weights."""
    path = write_run(tmp_path / "run", write_corpus(tmp_path / "data"))
    model, _, _ = load_run(path)
    torch.manual_seed(1)
    for step in (10, 20, 30):
        weights = {
            f"model/{name}": weight + 0.1 * torch.randn_like(weight)
            for name, weight in model_weights(model).items()
        }
        save_checkpoint(path / "checkpoints", Checkpoint(weights, {"step": step}), keep=3)
    return path


def test_each_by_itself_and_the_means_of_the_last(run_dir: Path) -> None:
    found = measured.measure_run(run_dir, VALID, averaged=(2, 3))
    assert [one["steps"] for one in found["single"]] == [[10], [20], [30]]
    assert [mean["steps"] for mean in found["means"]] == [[20, 30], [10, 20, 30]]
    for last, mean in ((2, found["means"][0]), (3, found["means"][1]), (1, found["single"][2])):
        averaged = average_checkpoints(RunDirectory(run_dir), last)  # the command's
        assert list(averaged.steps) == mean["steps"]
        model, vocabulary, _ = load_run(run_dir)
        loss = split_likelihood(model, encode_split(VALID, vocabulary), 2048).loss
        assert mean["loss"] == pytest.approx(loss, abs=1e-4)
        assert set(mean["bleu"]) == set(mean["signatures"]) == {"cased", "lower-tokenised"}
    assert len({one["loss"] for one in (*found["single"], *found["means"])}) == 5


def test_the_record_is_of_the_run_and_of_the_code() -> None:
    record = measured.load_record()
    assert record["command"] == measured.COMMAND
    assert record["run"] == measured.RUN
    assert [len(mean["steps"]) for mean in record["means"]] == list(measured.AVERAGED)
    steps = [one["steps"][0] for one in record["single"]]
    for mean in record["means"]:
        assert mean["steps"] == steps[-len(mean["steps"]) :]
    lines = (RESULTS / measured.RUN / "metrics.jsonl").read_text("utf-8").splitlines()
    validated = {
        line["step"]: line["loss"] for line in map(json.loads, lines) if line["event"] == "valid"
    }
    for one in record["single"]:  # the run's own validation saw the same loss, in bfloat16
        assert one["loss"] == pytest.approx(validated[one["steps"][0]], abs=0.01)
    difference = record["means"][-1]["bleu"]["cased"] - record["single"][-1]["bleu"]["cased"]
    against = record["largest_mean_against_last"]
    assert against["difference"] == pytest.approx(difference, abs=0.011)


def test_a_record_is_written_as_it_is_read(
    run_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measured, "AVERAGED", (2,))
    monkeypatch.setattr(measured, "load_corpus", lambda name, data_dir: {"valid": VALID})
    monkeypatch.setattr(measured, "RECORD", tmp_path / "record.json")
    measured.make_record(run_dir, path=tmp_path / "record.json")
    record = measured.load_record()
    assert record["sentences"] == len(VALID) == 2
    assert record["search"] == "greedy"
    assert len(record["single"]) == 3


def test_small_runs_are_measured_at_their_last_checkpoints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    little = load_data(train=40, test=6)
    monkeypatch.setattr(schedules, "load_data", lambda: little)
    monkeypatch.setattr(schedules, "SEEDS", (4,))
    monkeypatch.setattr(schedules, "EVERY", 1)
    monkeypatch.setattr(schedules, "RECORD", tmp_path / "schedules.json")
    schedules.make_record(steps=12, path=tmp_path / "schedules.json")
    runs = schedules.load_record()["runs"]
    assert {decay: set(seeds) for decay, seeds in runs.items()} == {"0.0": {"4"}, "0.6": {"4"}}
    for seeds in runs.values():
        assert len(seeds["4"]["alone"]) == schedules.CHECKPOINTS
        low, high = min(seeds["4"]["alone"]), max(seeds["4"]["alone"])
        assert low - 0.1 < seeds["4"]["means"]["2"] < high + 0.1
        assert set(seeds["4"]["means"]) == {"2", "5", "10"}


def test_the_record_of_small_runs_is_of_the_code() -> None:
    record = schedules.load_record()
    assert (record["command"], record["every"]) == (schedules.COMMAND, schedules.EVERY)
    assert record["steps"] == Recipe.steps
    assert {float(decay) for decay in record["runs"]} == set(schedules.DECAYS)
    for seeds in record["runs"].values():
        assert set(seeds) == {str(seed) for seed in schedules.SEEDS}
        assert all(len(one["alone"]) == schedules.CHECKPOINTS for one in seeds.values())
