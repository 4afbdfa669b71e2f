"""The small translators of chapter 8: their loop, their record, and what they read of results/."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from annotated_transformer.data import encode_split
from annotated_transformer.experiments import training_measured as measured
from annotated_transformer.experiments.training_measured import multi30k, multi30k_runs
from annotated_transformer.likelihood import teacher_forced
from annotated_transformer.training import TrainingConfig
from annotated_transformer.training.step import Part, add_gradients, count_tokens

RESULTS = Path(__file__).resolve().parent.parent / "results"
SMALL = measured.Recipe(
    steps=6, warmup=3, max_tokens=128, d_model=16, d_ff=32, num_heads=2, num_layers=1
)


@pytest.fixture(scope="module")
def data():
    corpus, vocabulary = measured.load_data(train=60, test=12)
    return corpus, vocabulary, encode_split(corpus["train"], vocabulary)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loop_is_adam_at_the_rate_of_the_schedule(data, smoothing):
    _, vocabulary, pairs = data
    recipe = replace(SMALL, smoothing=smoothing)
    model = recipe.model(len(vocabulary))
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98), eps=1e-9)
    batches = measured.endless_batches(pairs, recipe.max_tokens, recipe.seed)
    losses = []
    for step in range(1, 7):
        rate = min(step / 3, (3 / step) ** 0.5) * min(1.0, (1 - (step - 1) / 6) / recipe.decay)
        optimizer.param_groups[0]["lr"] = recipe.peak * rate
        hidden, labels = teacher_forced(model, next(batches))
        loss = cross_entropy(model.project(hidden), labels, label_smoothing=smoothing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    ours, trained = measured.train(pairs, vocabulary, recipe)
    assert np.allclose(ours, losses, atol=1e-3)
    assert not trained.training


def test_the_gradients_are_those_of_the_packages_step(data):
    _, vocabulary, pairs = data
    model, twin = (SMALL.model(len(vocabulary)) for _ in "12")
    batch = next(measured.endless_batches(pairs, SMALL.max_tokens, SMALL.seed))
    measured.batch_loss(model, batch, SMALL).backward()
    parts = [Part(batch.indices, 0, 0)]
    target, _ = count_tokens(pairs, parts)
    add_gradients(twin, TrainingConfig(steps=1, label_smoothing=0.1), pairs, parts, target)
    for ours, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.equal(ours.grad, theirs.grad)


def test_both_ways_to_the_loss_are_one_training(data):
    _, vocabulary, pairs = data
    fast, _ = measured.train(pairs, vocabulary, SMALL)
    plain, _ = measured.train(pairs, vocabulary, replace(SMALL, whole_logits=True))
    assert fast != plain  # the last bits: two ways, not one under two names
    assert np.allclose(fast, plain, atol=1e-4)


def test_a_stop_changes_no_bit_and_a_seed_does(data):
    _, vocabulary, pairs = data
    recipe = replace(SMALL, dropout=0.1)
    seen = [len(losses) for losses, _ in measured.training(pairs, vocabulary, recipe, (2, 4))]
    assert seen == [2, 4, 6]
    *_, (stopped, _) = measured.training(pairs, vocabulary, recipe, (2, 4))
    assert stopped == measured.train(pairs, vocabulary, recipe)[0]
    assert stopped != measured.train(pairs, vocabulary, replace(recipe, seed=1))[0]


def test_scores_are_of_this_split(data):
    corpus, vocabulary, pairs = data
    _, model = measured.train(pairs, vocabulary, SMALL)
    score = measured.evaluate(model, corpus["test"], vocabulary)
    assert score.perplexity == pytest.approx(np.exp(score.loss), rel=1e-3)
    assert 0 <= score.exact <= 1
    assert 0 <= score.accuracy <= 1
    assert "version:" in score.signature


def test_the_record_is_complete_and_of_the_recipe_in_the_code():
    record = measured.load_record()
    assert record["settings"] == json.loads(json.dumps(measured.settings()))
    assert {float(eps): set(runs) for eps, runs in record["runs"].items()} == {
        eps: {str(seed) for seed in measured.SEEDS} for eps in measured.SMOOTHINGS
    }
    for runs in record["runs"].values():
        for score in runs.values():
            assert measured.Score(**score).perplexity == pytest.approx(
                np.exp(score["loss"]), rel=1e-3
            )
    assert measured.recorded(0.1, "bleu").shape == (3,)


def test_a_record_is_written_after_every_run(tmp_path, monkeypatch):
    score = measured.Score(1.0, 2.7183, 0.5, 0.25, 10.0, "nrefs:1|version:x")
    little = measured.load_data(train=20, test=2)
    monkeypatch.setattr(measured, "load_data", lambda: little)
    monkeypatch.setattr(measured, "SEEDS", (5,))
    monkeypatch.setattr(measured, "SMOOTHINGS", (0.0, 0.3))
    monkeypatch.setattr(measured, "train", lambda pairs, vocabulary, recipe: ([], recipe))
    monkeypatch.setattr(measured, "evaluate", lambda model, split, vocabulary: score)
    path = tmp_path / "record.json"
    measured.make_record(path)
    runs = json.loads(path.read_text("utf-8"))["runs"]
    assert runs == {"0.0": {"5": asdict(score)}, "0.3": {"5": asdict(score)}}


def test_what_the_chapter_reads_is_what_the_run_recorded():
    run = multi30k.load_extract()
    assert run == multi30k.extract(RESULTS / "multi30k_tiny_postnorm")
    assert run["name"] == "multi30k_tiny_postnorm"
    assert len(run["valid"]) == run["recipe"]["epochs"]


def test_the_extract_is_written_as_it_is_read(tmp_path):
    path = tmp_path / "extract.json"
    multi30k.make_extract(RESULTS / "multi30k_tiny_postnorm", path)
    assert path.read_bytes() == multi30k.EXTRACT.read_bytes()


def test_the_chapter_s_lines_are_those_of_all_finished_runs(tmp_path):
    path = tmp_path / "runs.json"
    multi30k_runs.make_extract(RESULTS, path)
    assert path.read_bytes() == multi30k_runs.EXTRACT.read_bytes()
    lines = {line.name: line for line in multi30k_runs.load_runs()}
    records = {path.parent.name: path.parent for path in RESULTS.glob("multi30k_*/run.json")}
    assert lines.keys() == records.keys()  # all of them are finished
    for name, line in lines.items():
        scores = json.loads((records[name] / "scores.json").read_text("utf-8"))
        shown = {
            score["split"]: score["value"]
            for score in scores
            if score["protocol"] == "lower-tokenised"
        }
        assert line.tests == shown
        assert len(shown) == 2
        tried = json.loads((records[name] / "tuning.json").read_text("utf-8"))[0]["tried"]
        chosen = {score["alpha"] for score in scores if score["alpha"] is not None}
        assert {one["alpha"] for one in tried if one["score"] == line.valid} >= chosen
        assert (
            f"--epochs {line.epochs} "
            in json.loads((records[name] / "run.json").read_text("utf-8"))["command"]
        )


def test_a_run_that_was_not_finished_is_no_line(tmp_path):
    folder = shutil.copytree(RESULTS / "multi30k_tiny_prenorm", tmp_path / "broken")
    run = json.loads((folder / "run.json").read_text("utf-8"))
    (folder / "run.json").write_text(json.dumps({**run, "status": "interrupted"}), "utf-8")
    assert multi30k_runs.extract(tmp_path) == []
    (folder / "run.json").write_text(json.dumps(run), "utf-8")
    assert [line.epochs for line in multi30k_runs.extract(tmp_path)] == [50]
